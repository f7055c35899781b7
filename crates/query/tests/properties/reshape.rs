//! Replaces the values of a statement: the same types, lists of other lengths, and strings with a mark.

use query::catalog::{Catalog, Resource};
use query::types::{Scalar, Type};
use serde_json::{Value, json};

/// In every string and alias of a reshaped statement.
pub(crate) const MARK: &str = "zqxMARK";

/// Replaces every value, limit, offset and alias; the shape stays.
pub(crate) fn other_values(catalog: &Catalog, resource: usize, statement: &Value) -> Value {
    let Value::Object(entries) = statement else { return statement.clone() };
    let target = catalog.resource(resource);
    let replaced = |key: &str, value: &Value| match key {
        "where" if value.is_object() => clause(catalog, target, value),
        "relations" if value.is_object() => {
            let nodes = value.as_object().expect("relations").iter();
            nodes
                .map(|(name, node)| (name.clone(), other_values(catalog, target.relation(name).expect("a relation").target, node)))
                .collect()
        }
        "limit" | "offset" if value.is_number() => json!(value.as_u64().map_or(1, |number| (number + 7) % 10_000)),
        "aggregation" if value.is_object() => aggregation(value),
        _ => value.clone(),
    };
    entries.iter().map(|(key, value)| (key.clone(), replaced(key, value))).collect()
}

fn aggregation(block: &Value) -> Value {
    let mut block = block.clone();
    for (index, field) in block["fields"].as_array_mut().expect("fields").iter_mut().enumerate() {
        if field.get("as").is_some_and(Value::is_string) {
            field["as"] = json!(format!("{MARK}{index}"));
        }
    }
    block
}

fn clause(catalog: &Catalog, resource: &Resource, value: &Value) -> Value {
    let entries = value.as_object().expect("a clause").iter();
    let replaced = |key: &str, value: &Value| match key {
        "and" | "or" => value.as_array().expect("clauses").iter().map(|inner| clause(catalog, resource, inner)).collect(),
        "not" => clause(catalog, resource, value),
        name => match resource.relation(name) {
            Some(relation) => clause(catalog, catalog.resource(relation.target), value),
            None => operators(&resource.field(name).expect("a field").1.kind, value),
        },
    };
    entries.map(|(key, value)| (key.clone(), replaced(key, value))).collect()
}

fn operators(kind: &Type, values: &Value) -> Value {
    let other = scalar(kind.scalar());
    let replaced = |operator: &str, value: &Value| match operator {
        // True or false changes the SQL.
        "isNull" => value.clone(),
        "iLike" => json!(format!("%{MARK}%'; --")),
        "between" => json!([other, other]),
        "in" | "notIn" | "contains" | "overlap" => {
            let length = value.as_array().map_or(1, Vec::len);
            json!(vec![other.clone(); (length + 2) % 5])
        }
        _ => other.clone(),
    };
    let entries = values.as_object().expect("operators").iter();
    entries.map(|(operator, value)| (operator.clone(), replaced(operator, value))).collect()
}

fn scalar(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Bool => json!(true),
        Scalar::Int => json!(77_001),
        Scalar::BigInt => json!("77001"),
        Scalar::Float => json!(77.25),
        Scalar::Decimal => json!("77.001"),
        Scalar::Text | Scalar::ReadAsText | Scalar::Json => json!(format!("{MARK}'; DROP TABLE customers; --\"$1?1")),
        Scalar::Uuid => json!("77000000-0000-4000-8000-000000000077"),
        Scalar::Date => json!("1977-07-07"),
        Scalar::Time => json!("07:07:07.7"),
        Scalar::Timestamp => json!("1977-07-07T07:07:07.7+07:00"),
        Scalar::Enum(values) => json!(*values[0]),
    }
}
