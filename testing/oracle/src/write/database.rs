//! What the database enforces in a table: defaults, unique keys, foreign keys and checks.

use crate::cell::Cell;
use crate::schema::Resource;
use crate::session::Session;
use crate::viewer::Viewer;
use crate::world::{Row, World};
use serde_json::Value;

#[derive(Debug, Clone, Default)]
pub struct Table {
    /// The fields with a default, and its value.
    pub defaults: Vec<(&'static str, Value)>,
    /// Whether the database makes the key of a new row.
    pub makes_key: bool,
    pub unique: Vec<&'static [&'static str]>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
}

impl Table {
    /// A table that takes every row.
    pub const fn unruled() -> Self {
        Self { defaults: Vec::new(), makes_key: false, unique: Vec::new(), foreign_keys: Vec::new(), checks: Vec::new() }
    }
}

#[derive(Debug, Clone)]
pub struct ForeignKey {
    pub fields: &'static [&'static str],
    pub target: &'static str,
    pub target_fields: &'static [&'static str],
}

#[derive(Debug, Clone)]
pub struct Check {
    pub fields: &'static [&'static str],
    /// A where clause that no row may make false.
    pub clause: Value,
}

/// A broken constraint: the code of its fault and its fields.
pub(super) type Broken = (&'static str, Vec<&'static str>);

/// The constraints that a row of a table breaks. The row stands in the world.
pub(super) fn broken(world: &World, resource: &Resource, index: usize) -> Vec<Broken> {
    let table = world.table(&resource.name);
    let row = &world.rows(&resource.name)[index];
    let mut broken: Vec<Broken> = Vec::new();
    // A database looks at the row alone first.
    let nobody = Viewer { name: "database", permissions: Vec::new(), account: Value::Null };
    let session = Session::new(world, &nobody);
    let declared = session.resource(&resource.name);
    for check in &table.checks {
        if session.meets(declared, row, &check.clause) == Some(false) {
            broken.push(("REFUSED", check.fields.to_vec()));
        }
    }
    if !broken.is_empty() {
        return broken;
    }
    for key in &table.unique {
        let same = |(other, held): (usize, &Row)| {
            other != index && Tuple { resource, row, fields: key }.equals(&Tuple { resource, row: held, fields: key })
        };
        if world.rows(&resource.name).iter().enumerate().any(same) {
            broken.push(("EXISTS", key.to_vec()));
        }
    }
    if !broken.is_empty() {
        return broken;
    }
    for key in table.foreign_keys.iter().filter(|key| !leads(world, resource, row, key)) {
        broken.push(("NO_SUCH_ROW", key.fields.to_vec()));
    }
    broken
}

/// Whether the foreign key of a row is NULL or leads to a row.
pub(super) fn leads(world: &World, resource: &Resource, row: &Row, key: &ForeignKey) -> bool {
    let target = world.schema.resource(key.target);
    let is_null = key.fields.iter().any(|field| row[resource.index(field)].is_null());
    let own = Tuple { resource, row, fields: key.fields };
    is_null || world.rows(key.target).iter().any(|other| own.equals(&Tuple { resource: target, row: other, fields: key.target_fields }))
}

/// Whether a row of any table refers to this row.
pub(super) fn is_in_use(world: &World, resource: &Resource, row: &Row) -> bool {
    world.schema.resources().any(|other| {
        let keys = world.table(&other.name).foreign_keys.iter().filter(|key| key.target == resource.name);
        keys.into_iter().any(|key| {
            let own = Tuple { resource, row, fields: key.target_fields };
            world.rows(&other.name).iter().any(|referring| Tuple { resource: other, row: referring, fields: key.fields }.equals(&own))
        })
    })
}

/// The values that a row has in these fields.
struct Tuple<'r> {
    resource: &'r Resource,
    row: &'r Row,
    fields: &'r [&'static str],
}

impl Tuple<'_> {
    fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.fields.iter().map(|field| &self.row[self.resource.index(field)])
    }

    /// Whether the values are equal and not NULL.
    fn equals(&self, other: &Tuple<'_>) -> bool {
        self.cells().zip(other.cells()).all(|(own, theirs)| own.equals(theirs) == Some(true))
    }
}

/// The value of a new row without one.
pub(super) fn default(world: &World, resource: &Resource, index: usize) -> Cell {
    let field = &resource.fields[index];
    let table = world.table(&resource.name);
    let found = table.defaults.iter().find(|(name, _)| *name == field.name);
    found.map_or(Cell::Null, |(_, value)| Cell::given_or_null(field, value))
}
