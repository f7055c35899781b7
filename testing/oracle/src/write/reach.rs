//! What a write may have changed, whatever it does: rows in the reach of its viewer, to rows in this reach.

use super::WriteRequest;
use crate::cell::Cell;
use crate::policy;
use crate::schema::Resource;
use crate::session::Session;
use crate::viewer::Viewer;
use crate::world::{Row, World};

/// Checks two states, before and after a write of this viewer.
pub fn check_reach(before: &World, after: &World, viewer: &Viewer, request: &WriteRequest) -> Result<(), String> {
    for resource in before.schema.resources() {
        let (old, new) = (before.rows(&resource.name), after.rows(&resource.name));
        let of_key = |rows: &[Row], row: &Row| rows.iter().find(|other| key(resource, other) == key(resource, row)).cloned();
        for row in old {
            let is_same = of_key(new, row).is_some_and(|other| text(&other) == text(row));
            if !is_same && resource.name != request.resource {
                return Err(format!("a write to {} changed {} {}", request.resource, resource.name, key(resource, row)));
            }
            if !is_same && !is_permitted(before, viewer, resource, row) {
                return Err(format!("a row out of reach changed: {} {}", resource.name, key(resource, row)));
            }
        }
        for row in new {
            let is_same = of_key(old, row).is_some_and(|other| text(&other) == text(row));
            if !is_same && !is_permitted(after, viewer, resource, row) {
                return Err(format!("a row left the reach: {} {}", resource.name, key(resource, row)));
            }
            if !is_same && request.form.operation() != "delete" && !meets_check(after, viewer, resource, row) {
                return Err(format!("a row breaks the check: {} {}", resource.name, key(resource, row)));
            }
        }
    }
    Ok(())
}

/// Whether the constraint allows the row, deleted or not.
pub(super) fn is_permitted(world: &World, viewer: &Viewer, resource: &Resource, row: &Row) -> bool {
    let session = Session::new(world, viewer);
    match policy::scope(world, viewer, resource) {
        policy::Scope::Everything => true,
        policy::Scope::Nothing => false,
        policy::Scope::Where(clause) => session.meets(session.resource(&resource.name), row, &clause) == Some(true),
    }
}

fn meets_check(world: &World, viewer: &Viewer, resource: &Resource, row: &Row) -> bool {
    let Some(check) = resource.writes.as_ref().and_then(|writes| writes.check.as_ref()) else { return true };
    let is_lifted = check.unless.as_deref().is_some_and(|permission| viewer.has_permission(permission));
    let session = Session::new(world, viewer);
    is_lifted
        || policy::resolve_clause(world, viewer, resource, &check.clause)
            .is_some_and(|clause| session.meets(session.resource(&resource.name), row, &clause) == Some(true))
}

fn key(resource: &Resource, row: &Row) -> String {
    let parts: Vec<&Cell> = resource.keys().iter().map(|field| &row[resource.index(&field.name)]).collect();
    format!("{parts:?}")
}

fn text(row: &Row) -> String {
    format!("{row:?}")
}
