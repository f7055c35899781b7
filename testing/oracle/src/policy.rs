//! The manifest's constraint for one viewer: with the variables of the account, or closed if they do not fit.

use crate::cell::Cell;
use crate::schema::{Derived, Field, Resource};
use crate::statement::Statement;
use crate::viewer::Viewer;
use crate::world::World;
use serde_json::{Map, Value};

/// The rows of a resource that a constraint allows.
#[derive(Debug)]
pub(crate) enum Scope {
    Everything,
    Nothing,
    Where(Value),
}

pub(crate) fn scope(world: &World, viewer: &Viewer, resource: &Resource) -> Scope {
    let clause = viewer.constraint(resource).and_then(|constraint| constraint.get("where"));
    let Some(clause) = clause else {
        return Scope::Everything;
    };
    match resolve_clause(world, viewer, resource, clause) {
        Some(resolved) => Scope::Where(resolved),
        None => Scope::Nothing,
    }
}

/// The relations, order and limit that a constraint adds to the root.
pub(crate) fn additions(world: &World, viewer: &Viewer, resource: &Resource) -> Statement {
    let mut statement = Statement::parse_optional(viewer.constraint(resource));
    statement.wheres.clear();
    statement.relations.retain(|name, _| {
        let relation = resource.relation(name).expect("the constraint names a relation");
        viewer.can_read(world.schema.resource(&relation.target))
    });
    statement
}

/// A clause of the manifest with the account's values; `None` if it is closed.
pub(crate) fn resolve_clause(world: &World, viewer: &Viewer, resource: &Resource, clause: &Value) -> Option<Value> {
    let mut resolved = Map::new();
    for (key, value) in clause.as_object().expect("a clause is an object") {
        let value = match key.as_str() {
            "and" | "or" => {
                let clauses = value.as_array().expect("a connector holds a list").iter();
                Value::Array(clauses.map(|clause| resolve_clause(world, viewer, resource, clause)).collect::<Option<_>>()?)
            }
            "not" => resolve_clause(world, viewer, resource, value)?,
            name => {
                if let Some(relation) = resource.relation(name) {
                    let target = world.schema.resource(&relation.target);
                    // A constraint on a resource with a closed constraint is closed too.
                    if let Scope::Nothing = scope(world, viewer, target) {
                        return None;
                    }
                    resolve_clause(world, viewer, target, value)?
                } else {
                    let field = resource.field(name).expect("the constraint names a field");
                    if is_closed(world, viewer, resource, field) {
                        return None;
                    }
                    resolve_operators(viewer, field, value)?
                }
            }
        };
        resolved.insert(key.clone(), value);
    }
    Some(Value::Object(resolved))
}

/// Whether the account lacks a variable that the value of a derived field depends on.
fn is_closed(world: &World, viewer: &Viewer, resource: &Resource, field: &Field) -> bool {
    let Some(Derived::Related { relation, measured, filter, .. }) = &field.derived else {
        return false;
    };
    let target = world.schema.resource(&resource.relation(relation).expect("a relation").target);
    matches!(scope(world, viewer, target), Scope::Nothing)
        || filter.as_ref().is_some_and(|clause| resolve_clause(world, viewer, target, clause).is_none())
        || measured.as_ref().is_some_and(|name| is_closed(world, viewer, target, target.field(name).expect("a field")))
}

fn resolve_operators(viewer: &Viewer, field: &Field, values: &Value) -> Option<Value> {
    let operators = values.as_object().expect("operators are an object").iter();
    operators.map(|(operator, value)| Some((operator.clone(), resolve_value(viewer, field, operator, value)?))).collect()
}

fn resolve_value(viewer: &Viewer, field: &Field, operator: &str, value: &Value) -> Option<Value> {
    if let Value::Array(items) = value {
        return items.iter().map(|item| resolve_value(viewer, field, "eq", item)).collect();
    }
    let Some(path) = value.as_str().and_then(|text| text.strip_prefix("$account.")) else {
        return Some(value.clone());
    };
    let found = path.split('.').try_fold(&viewer.account, |value, name| value.get(name))?;
    let fits = match operator {
        "in" | "notIn" => found.as_array().is_some_and(|items| items.iter().all(|item| Cell::scalar(field, item).is_some())),
        _ => Cell::scalar(field, found).is_some(),
    };
    fits.then(|| found.clone())
}
