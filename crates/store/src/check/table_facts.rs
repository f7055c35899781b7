//! Notes in the catalog what the database enforces in the tables of writable resources: defaults, unique keys and constraints.

use query::catalog::write_rules::{IndexColumn, IndexPart, TableConstraint, TableFacts, TableForeignKey, UniqueIndex};
use query::catalog::{Catalog, ColumnLimit, FieldId, Identifier, Resource, TypeName};
use query::sql::Dialect;

use crate::schema::{ForeignKey, NamedConstraint, OwnValue, Schema, Table, same};

pub(super) fn learn(catalog: &mut Catalog, schema: &Schema, dialect: Dialect) {
    let (mut defaults, mut enum_types, mut facts) = (Vec::new(), Vec::new(), Vec::new());
    for (id, resource) in catalog.resources().iter().enumerate().filter(|(_, resource)| resource.write_rules().is_some()) {
        let Some(table) = schema.table(&resource.table, dialect) else { continue };
        for (field, declared) in resource.stored_fields() {
            let column = table.column(declared.column.plain(), dialect);
            defaults.extend(column.filter(|column| column.own_value != OwnValue::None).map(|_| (id, field)));
            let enumeration = column.filter(|column| !column.schema_forbidden).and_then(|column| column.enumeration.as_ref());
            enum_types.extend(enumeration.map(|found| (id, field, TypeName::new(&found.schema, &found.name))));
        }
        facts.push((id, of(resource, table, schema, dialect)));
    }
    for (resource, field) in defaults {
        catalog.set_default(resource, field);
    }
    for (resource, field, name) in enum_types {
        catalog.set_enum_type(resource, field, name);
    }
    for (resource, facts) in facts {
        catalog.set_table_facts(resource, facts);
    }
}

fn of(resource: &Resource, table: &Table, schema: &Schema, dialect: Dialect) -> TableFacts {
    let field = |column: &String| field_of(resource, column, dialect);
    let mut unique_keys: Vec<Vec<FieldId>> = table.keys().filter_map(|key| key.iter().map(field).collect()).collect();
    // The database does not tell the keys of a view or a foreign table, so the manifest's key counts.
    if (table.is_view || table.is_foreign_table) && !unique_keys.contains(&resource.key) {
        unique_keys.push(resource.key.clone());
    }
    let constraints = table.constraints.iter().map(|constraint| TableConstraint {
        name: constraint.name.clone(),
        kind: constraint.kind,
        fields: table.with_sources(&constraint.columns).iter().filter_map(field).collect(),
    });
    TableFacts {
        unique_keys,
        constraints: constraints.collect(),
        indexes: table.constraints.iter().filter_map(|constraint| index(resource, table, constraint, dialect)).collect(),
        foreign_keys: foreign_keys(resource, table, schema, dialect),
        referring: table.referring.clone(),
        referred: referred(resource, table, schema, dialect),
        sources: sources(resource, table, dialect),
        decides_conflicts: table.decides_conflicts,
        limits: if dialect == Dialect::Sqlite { Vec::new() } else { limits(resource, table, dialect) },
    }
}

fn index(resource: &Resource, table: &Table, constraint: &NamedConstraint, dialect: Dialect) -> Option<UniqueIndex> {
    let text = constraint.index.as_ref()?;
    let names = constraint.columns.iter().chain(constraint.condition.iter().filter(|column| !constraint.columns.contains(column)));
    let column = |name: &String| {
        let own_value = table.column(name, dialect)?.own_value;
        let field = field_of(resource, name, dialect);
        let (is_filled, is_generated) = (own_value != OwnValue::None, own_value == OwnValue::Generated);
        Some(IndexColumn { name: Identifier::new(name), field, is_filled, is_generated })
    };
    let part = |(place, expression): (usize, &String)| {
        let collation = text.collations.get(place).map(|name| Identifier::new(name));
        IndexPart { expression: expression.clone(), collation }
    };
    Some(UniqueIndex {
        fields: table.with_sources(&constraint.columns).iter().filter_map(|column| field_of(resource, column, dialect)).collect(),
        columns: names.map(column).collect::<Option<_>>()?,
        parts: text.parts.iter().enumerate().map(part).collect(),
        condition: text.condition.clone(),
    })
}

fn foreign_keys(resource: &Resource, table: &Table, schema: &Schema, dialect: Dialect) -> Vec<TableForeignKey> {
    let of = |found: &ForeignKey| {
        let schema_name = dialect.is_postgres().then_some(found.schema.as_str());
        let target = schema.find(schema_name, &found.table, dialect).filter(|target| !target.unread_by_writes)?;
        let is_readable = |column: &String| target.column(column, dialect).is_some_and(|column| !column.forbidden);
        let fields = found.columns.iter().map(|column| field_of(resource, column, dialect)).collect::<Option<_>>()?;
        let is_read = found.target_columns.iter().all(is_readable);
        is_read.then(|| TableForeignKey::new(fields, (schema_name, &found.table), &found.target_columns))
    };
    table.foreign_keys.iter().filter_map(of).collect()
}

/// The fields that foreign keys of other tables lead to.
fn referred(resource: &Resource, table: &Table, schema: &Schema, dialect: Dialect) -> Vec<FieldId> {
    let foreign_keys = schema.tables.iter().flat_map(|other| &other.foreign_keys);
    let leads_here = |found: &&ForeignKey| same(&found.schema, &table.schema, dialect) && same(&found.table, &table.name, dialect);
    let columns = foreign_keys.filter(leads_here).flat_map(|found| &found.target_columns);
    let mut fields: Vec<FieldId> = columns.filter_map(|column| field_of(resource, column, dialect)).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// The generated columns, and the fields of the columns that they are computed from.
fn sources(resource: &Resource, table: &Table, dialect: Dialect) -> Vec<(String, Vec<FieldId>)> {
    let generated = table.columns.iter().filter(|column| !column.generated_from.is_empty());
    let fields = |columns: &[String]| columns.iter().filter_map(|column| field_of(resource, column, dialect)).collect();
    generated.map(|column| (column.name.clone(), fields(&column.generated_from))).collect()
}

/// The columns that are narrower than the types of their fields.
fn limits(resource: &Resource, table: &Table, dialect: Dialect) -> Vec<(FieldId, ColumnLimit)> {
    let mut limits = Vec::new();
    for (id, field) in resource.stored_fields() {
        let Some(column) = table.column(field.column.plain(), dialect) else { continue };
        let limit = match (&column.enumeration, column.native.as_str()) {
            (Some(enumeration), _) => Some(ColumnLimit::Labels(enumeration.labels.clone())),
            (None, "int2") => Some(ColumnLimit::Whole { min: i16::MIN.into(), max: i16::MAX.into() }),
            (None, "int4") => Some(ColumnLimit::Whole { min: i32::MIN.into(), max: i32::MAX.into() }),
            (None, "float4") => Some(ColumnLimit::Single),
            (None, "varchar" | "bpchar") => column.max_length.map(ColumnLimit::Characters),
            (None, "numeric") => column.digits.map(|(whole, scale)| ColumnLimit::Digits { whole, scale }),
            (None, _) => None,
        };
        limits.extend(limit.map(|limit| (id, limit)));
    }
    limits
}

/// The field of a column. Of several fields the key comes first, then one that clients write, then one that they see.
pub(super) fn field_of(resource: &Resource, column: &str, dialect: Dialect) -> Option<FieldId> {
    let fields = resource.stored_fields().filter(|(_, field)| same(field.column.plain(), column, dialect));
    let rank = |(id, field): &(FieldId, &query::catalog::Field)| (!resource.key.contains(id), field.rules.write.is_none(), field.hidden);
    fields.min_by_key(rank).map(|(id, _)| id)
}
