//! Changes what a viewer cannot see: values of rows out of reach, and hidden values of all rows.

use super::database;
use super::reach::is_permitted;
use crate::cell::Cell;
use crate::decimal::Decimal;
use crate::random::Random;
use crate::schema::{Field, Kind, Resource};
use crate::viewer::Viewer;
use crate::world::{Row, World};

/// The same state for this viewer, with other rows out of reach, and how many cells and rows differ.
pub fn twisted(world: &World, viewer: &Viewer, random: &mut Random) -> (World, usize) {
    let (mut twisted, restored) = (world.clone(), restored(world));
    let mut changes = 0;
    for resource in world.schema.resources() {
        let mut kept: Vec<Row> = Vec::new();
        let last = world.rows(&resource.name).len();
        for (index, row) in world.rows(&resource.name).iter().enumerate() {
            // A restore may bring the rows into reach that depend on a deleted one.
            let is_hidden = !is_permitted(&restored, viewer, resource, &restored.rows(&resource.name)[index]);
            // The last row stays, because a new key follows it. The database alone decides on references to rows that the viewer may not read.
            if is_hidden && viewer.can_read(resource) && index + 1 < last && random.one_in(4) && !database::is_in_use(world, resource, row)
            {
                changes += 1;
                continue;
            }
            let mut row = row.clone();
            for (cell, field) in row.iter_mut().zip(&resource.fields) {
                if (is_hidden && !is_fixed(world, resource, field)) || field.hidden {
                    changes += 1;
                    *cell = other(field, cell, random);
                }
            }
            kept.push(row);
        }
        *twisted.rows_mut(&resource.name) = kept;
    }
    (twisted, changes)
}

/// The same state with all rows back that a write can restore.
fn restored(world: &World) -> World {
    let mut restored = world.clone();
    let has_restore = |resource: &&Resource| resource.writes.as_ref().is_some_and(|writes| writes.right("restore").is_some());
    for resource in world.schema.resources().filter(has_restore) {
        let Some(field) = &resource.soft_delete else { continue };
        let index = resource.index(field);
        restored.rows_mut(&resource.name).iter_mut().for_each(|row| row[index] = Cell::Null);
    }
    restored
}

/// Whether the field decides on reach or on references.
fn is_fixed(world: &World, resource: &Resource, field: &Field) -> bool {
    let is_own = |pairs: &[(String, String)]| pairs.iter().any(|(own, _)| *own == field.name);
    let is_reference = resource.relations.iter().any(|relation| is_own(&relation.on));
    let is_key = world.table(&resource.name).foreign_keys.iter().any(|key| key.fields.contains(&field.name.as_str()));
    let is_version = resource.writes.as_ref().is_some_and(|writes| writes.version.as_ref() == Some(&field.name));
    field.key || is_reference || is_key || is_version || ["tenant", "owner", "ownerId"].contains(&field.name.as_str())
}

/// Another value of the type.
fn other(field: &Field, cell: &Cell, random: &mut Random) -> Cell {
    let number = random.below(1_000_000);
    match field.kind {
        _ if field.array => cell.clone(),
        Kind::Bool => Cell::Bool(random.one_in(2)),
        Kind::Int | Kind::Bigint => Cell::Whole(number as i64),
        Kind::Float => Cell::Float(number as f64),
        Kind::Decimal => Cell::Decimal(Decimal::whole(number as i64)),
        Kind::Text => Cell::Text(format!("t{number}")),
        Kind::Enum => Cell::Text(random.pick(&field.values).clone()),
        Kind::Timestamp if field.name == "deletedAt" => Cell::Null,
        Kind::Timestamp => Cell::Text(format!("2001-01-01T00:00:{:02}.000000Z", number % 60)),
        Kind::Date => Cell::Text(format!("2001-01-{:02}", number % 28 + 1)),
        Kind::Uuid | Kind::Time | Kind::Json => cell.clone(),
    }
}
