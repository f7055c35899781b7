//! A schema with the rows of its resources and pivot tables.

use crate::cell::Cell;
use crate::schema::{Resource, Schema};
use crate::write::Table;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One row, its cells in the order of the resource's fields. The cells of derived fields are NULL; a session computes their values.
pub(crate) type Row = Vec<Cell>;

#[derive(Debug, Clone)]
pub struct World {
    pub schema: Arc<Schema>,
    rows: BTreeMap<String, Vec<Row>>,
    pivots: BTreeMap<String, Vec<Value>>,
    /// What the database enforces, for writes.
    tables: Arc<BTreeMap<String, Table>>,
}

impl World {
    /// Rows are objects by field name, an absent field being NULL; rows of a pivot are objects by column name.
    pub fn new(schema: Schema, data: &BTreeMap<String, Vec<Value>>, pivots: BTreeMap<String, Vec<Value>>) -> Self {
        let mut rows = BTreeMap::new();
        for resource in schema.resources() {
            let stored = data.get(&resource.name).map(Vec::as_slice).unwrap_or_default();
            rows.insert(resource.name.clone(), stored.iter().map(|value| read_row(resource, value)).collect());
        }
        Self { schema: Arc::new(schema), rows, pivots, tables: Arc::default() }
    }

    pub fn rows(&self, resource: &str) -> &[Row] {
        self.rows.get(resource).map(Vec::as_slice).unwrap_or_default()
    }

    /// The same rows in tables that enforce this.
    #[must_use]
    pub fn with_tables(self, tables: BTreeMap<String, Table>) -> Self {
        Self { tables: Arc::new(tables), ..self }
    }

    pub fn table(&self, resource: &str) -> &Table {
        static UNRULED: Table = Table::unruled();
        self.tables.get(resource).unwrap_or(&UNRULED)
    }

    pub(crate) fn rows_mut(&mut self, resource: &str) -> &mut Vec<Row> {
        self.rows.get_mut(resource).expect("a resource")
    }

    pub fn pivot(&self, table: &str) -> &[Value] {
        self.pivots.get(table).map(Vec::as_slice).unwrap_or_default()
    }
}

fn read_row(resource: &Resource, value: &Value) -> Row {
    let object = value.as_object().expect("a row is an object");
    for name in object.keys() {
        let stored = resource.field(name).is_some_and(|field| field.derived.is_none());
        assert!(stored, "{} has no field {name:?} with a column", resource.name);
    }
    let row: Row = resource.fields.iter().map(|field| Cell::stored(field, object.get(&field.name))).collect();
    for (field, cell) in resource.fields.iter().zip(&row) {
        assert!(field.nullable || field.derived.is_some() || !cell.is_null(), "{}.{} is NULL", resource.name, field.name);
    }
    row
}
