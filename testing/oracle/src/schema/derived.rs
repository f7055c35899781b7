//! Derived fields: their declarations, types and required permissions.

use super::{Field, Kind, Resource, json};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How the value of a field without a column is computed.
#[derive(Debug, Clone)]
pub enum Derived {
    /// From the rows of a to-many relation; `count` and `exists` measure no field.
    Related { function: String, relation: String, measured: Option<String>, filter: Option<Value> },
    /// A value inside a json field.
    JsonPath { of: String, path: Vec<String> },
    /// The start of the period of a date or timestamp.
    Bucket { of: String, unit: String, zone: Option<String> },
}

impl Derived {
    /// Reads a declaration; `None` for a field with a column.
    pub(super) fn read(declared: &toml::Value) -> Option<Self> {
        let text = |key: &str| declared.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        if let Some(of) = text("json") {
            let path = declared["path"].as_array().expect("a path is an array").iter();
            return Some(Self::JsonPath { of, path: path.map(|part| part.as_str().expect("a name").to_owned()).collect() });
        }
        if let Some(unit) = text("bucket") {
            return Some(Self::Bucket { of: text("of").expect("a bucket names a field"), unit, zone: text("zone") });
        }
        // Beside a type, `min` and `max` are bounds of what is written.
        if declared.get("type").is_some() {
            return None;
        }
        let functions = ["count", "exists", "sum", "avg", "min", "max"];
        let (function, of) = functions.into_iter().find_map(|function| Some((function, text(function)?)))?;
        let (relation, measured) = match of.split_once('.') {
            Some((relation, measured)) => (relation.to_owned(), Some(measured.to_owned())),
            None => (of, None),
        };
        Some(Self::Related { function: function.to_owned(), relation, measured, filter: declared.get("where").map(json) })
    }
}

/// Sets the types of all derived fields, then the permissions that their values need.
pub(super) fn settle(resources: &mut BTreeMap<String, Resource>) {
    // A field that measures another derived field gets its type in a later round.
    for _ in 0..8 {
        let known = resources.clone();
        for resource in resources.values_mut() {
            let types: Vec<Option<(Kind, Vec<String>)>> =
                known[&resource.name].fields.iter().map(|field| type_of(&known, &known[&resource.name], field)).collect();
            for (field, found) in resource.fields.iter_mut().zip(types) {
                if let Some((kind, values)) = found {
                    field.kind = kind;
                    field.values = values;
                }
            }
        }
    }
    let known = resources.clone();
    for resource in resources.values_mut() {
        for field in &mut resource.fields {
            let mut permissions = BTreeSet::new();
            required(&known, &known[&resource.name], &field.name, &mut permissions);
            field.requires = permissions.into_iter().collect();
        }
    }
}

fn target<'r>(resources: &'r BTreeMap<String, Resource>, resource: &Resource, relation: &str) -> &'r Resource {
    &resources[&resource.relation(relation).expect("a relation").target]
}

/// The type of a derived field; that of a json path is declared.
fn type_of(resources: &BTreeMap<String, Resource>, resource: &Resource, field: &Field) -> Option<(Kind, Vec<String>)> {
    let (function, relation, measured) = match field.derived.as_ref()? {
        Derived::JsonPath { .. } => return None,
        Derived::Bucket { of, .. } => return Some((resource.field(of).expect("a field").kind, Vec::new())),
        Derived::Related { function, relation, measured, .. } => (function.as_str(), relation, measured),
    };
    let measured = measured.as_ref().map(|name| target(resources, resource, relation).field(name).expect("a measured field"));
    Some(match (function, measured) {
        ("exists", _) => (Kind::Bool, Vec::new()),
        ("min" | "max", Some(measured)) => (measured.kind, measured.values.clone()),
        ("sum" | "avg", Some(measured)) if measured.kind == Kind::Float => (Kind::Float, Vec::new()),
        ("sum", Some(measured)) if measured.kind == Kind::Int => (Kind::Bigint, Vec::new()),
        ("sum" | "avg", Some(_)) => (Kind::Decimal, Vec::new()),
        _ => (Kind::Bigint, Vec::new()),
    })
}

/// The permissions of all resources that a value is computed from, and those that unmask what it measures.
fn required(resources: &BTreeMap<String, Resource>, resource: &Resource, name: &str, permissions: &mut BTreeSet<String>) {
    match &resource.field(name).expect("a field").derived {
        None => {}
        Some(Derived::JsonPath { of, .. } | Derived::Bucket { of, .. }) => {
            permissions.extend(resource.field(of).expect("a field").unmask.clone());
        }
        Some(Derived::Related { relation, measured, filter, .. }) => {
            let target = target(resources, resource, relation);
            permissions.extend(target.permission.clone());
            if let Some(measured) = measured {
                permissions.extend(target.field(measured).expect("a field").unmask.clone());
                required(resources, target, measured, permissions);
            }
            if let Some(filter) = filter {
                required_by_filter(resources, target, filter, permissions);
            }
        }
    }
}

/// A filter may test masked fields, but follows only what the viewer may read.
fn required_by_filter(resources: &BTreeMap<String, Resource>, resource: &Resource, clause: &Value, permissions: &mut BTreeSet<String>) {
    for (key, value) in clause.as_object().expect("a clause is an object") {
        match (key.as_str(), resource.relation(key)) {
            ("and" | "or", _) => {
                for clause in value.as_array().expect("a connector holds a list") {
                    required_by_filter(resources, resource, clause, permissions);
                }
            }
            ("not", _) => required_by_filter(resources, resource, value, permissions),
            (_, Some(relation)) => {
                let target = &resources[&relation.target];
                permissions.extend(target.permission.clone());
                required_by_filter(resources, target, value, permissions);
            }
            (name, None) => {
                if matches!(resource.field(name).expect("a field").derived, Some(Derived::Related { .. })) {
                    required(resources, resource, name, permissions);
                }
            }
        }
    }
}
