//! The fields that an update of a record changed, with their values unless these are secret or personal.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// At most so many added or removed members of a list are shown; of the rest only the number.
const MAX_MEMBERS: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ChangedFields(BTreeMap<String, Option<Value>>);

impl ChangedFields {
    /// Compares two descriptions of one record. It keeps the values of the `shown` fields only: others may be private or secret.
    pub fn between(before: &Map<String, Value>, after: &Map<String, Value>, shown: &[&str]) -> Self {
        let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
        let changed = names.filter(|name| before.get(*name) != after.get(*name));
        let kept = changed.map(|name| {
            let (old, new) = (before.get(name).unwrap_or(&Value::Null), after.get(name).unwrap_or(&Value::Null));
            (name.clone(), shown.contains(&name.as_str()).then(|| compared(old, new)))
        });
        ChangedFields(kept.collect())
    }

    /// Writes the data of an event: the names in `changed`, the shown values in `values`.
    pub(super) fn write(&self, data: &mut Map<String, Value>) {
        data.insert("changed".to_owned(), self.0.keys().cloned().collect());
        let values: Map<String, Value> = self.0.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
        if !values.is_empty() {
            data.insert("values".to_owned(), Value::Object(values));
        }
    }
}

/// The added and removed members of a list, else both values.
fn compared(before: &Value, after: &Value) -> Value {
    let (Value::Array(old), Value::Array(new)) = (before, after) else { return json!({ "from": before, "to": after }) };
    json!({ "added": missing_from(old, new), "removed": missing_from(new, old) })
}

fn missing_from(other: &[Value], list: &[Value]) -> Vec<Value> {
    let mut members: Vec<Value> = list.iter().filter(|member| !other.contains(member)).cloned().collect();
    if members.len() > MAX_MEMBERS {
        let more = members.len() - MAX_MEMBERS;
        members.truncate(MAX_MEMBERS);
        members.push(format!("and {more} more").into());
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        let Value::Object(object) = value else { panic!("an object") };
        object
    }

    #[test]
    fn only_what_changed_is_named_and_only_what_is_harmless_is_told() {
        // contract I27.20
        let before = object(json!({"name": "a", "email": "a@b.c", "isActive": true, "roles": ["x", "y"], "kept": 1}));
        let after = object(json!({"name": "b", "email": "d@e.f", "isActive": false, "roles": ["y", "z"], "kept": 1, "new": 2}));
        let mut data = Map::new();
        ChangedFields::between(&before, &after, &["name", "isActive", "roles", "kept"]).write(&mut data);
        let expected = json!({
            "changed": ["email", "isActive", "name", "new", "roles"],
            "values": {
                "isActive": {"from": true, "to": false},
                "name": {"from": "a", "to": "b"},
                "roles": {"added": ["z"], "removed": ["x"]},
            },
        });
        assert_eq!(Value::Object(data), expected);
        let mut data = Map::new();
        ChangedFields::between(&after, &after, &["name"]).write(&mut data);
        assert_eq!(Value::Object(data), json!({"changed": []}));
    }

    #[test]
    fn a_long_list_is_cut() {
        // contract I27.20
        let long: Vec<String> = (0..120).map(|number| format!("a.b.c{number}")).collect();
        let (before, after) = (object(json!({"permissions": []})), object(json!({"permissions": long})));
        let mut data = Map::new();
        ChangedFields::between(&before, &after, &["permissions"]).write(&mut data);
        let added = data["values"]["permissions"]["added"].as_array().cloned().unwrap_or_default();
        assert_eq!((added.len(), added.last()), (51, Some(&json!("and 70 more"))));
    }
}
