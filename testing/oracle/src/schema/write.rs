//! The write rules of the manifest.

use super::json;
use serde_json::Value;

/// The writes of a resource. An operation that is absent does not exist.
#[derive(Debug, Clone)]
pub struct Writes {
    rights: Value,
    pub scope: Option<Rule>,
    pub check: Option<Rule>,
    pub max_rows: usize,
    pub version: Option<String>,
}

/// A condition on rows, with the permission that lifts it.
#[derive(Debug, Clone)]
pub struct Rule {
    pub clause: Value,
    pub unless: Option<String>,
}

/// The writes of a field.
#[derive(Debug, Clone, Default)]
pub struct FieldWrites {
    pub create: bool,
    pub update: bool,
    pub permission: Option<String>,
    pub create_preset: Option<Value>,
    pub update_preset: Option<Value>,
    /// The field as the manifest has it, with its value rules.
    pub rules: Value,
}

impl Writes {
    pub(super) fn read(declared: &toml::Value) -> Option<Self> {
        let write = json(declared.get("write")?);
        let rule = |key: &str| {
            write.get(key).map(|rule| Rule { clause: rule["where"].clone(), unless: rule["unless"].as_str().map(str::to_owned) })
        };
        Some(Self {
            scope: rule("scope"),
            check: rule("check"),
            max_rows: write["max-rows"].as_u64().map_or(1, |rows| rows as usize),
            version: write["version"].as_str().map(str::to_owned),
            rights: write,
        })
    }

    /// The right to an operation: `true`, or a permission.
    pub fn right(&self, operation: &str) -> Option<&Value> {
        self.rights.get(operation)
    }

    /// Every permission of the operations and of their rules.
    pub(super) fn permissions(&self) -> impl Iterator<Item = String> {
        let rights = ["create", "update", "delete", "restore"].into_iter().filter_map(|name| self.right(name)?.as_str().map(str::to_owned));
        let rules = [&self.scope, &self.check].into_iter().flatten().filter_map(|rule| rule.unless.clone());
        rights.chain(rules)
    }
}

impl FieldWrites {
    pub(super) fn read(declared: &toml::Value) -> Self {
        let rules = json(declared);
        let (create, update) = match &rules["write"] {
            Value::Bool(true) => (true, true),
            Value::String(word) => (word == "create", word == "update"),
            _ => (false, false),
        };
        let preset = |operation: &str| rules.get("preset").and_then(|preset| preset.get(operation)).cloned();
        Self {
            create,
            update,
            permission: rules["write-permission"].as_str().map(str::to_owned),
            create_preset: preset("create"),
            update_preset: preset("update"),
            rules,
        }
    }

    pub fn is_any(&self) -> bool {
        self.create || self.update
    }

    /// A whole number of the value rules.
    pub fn bound(&self, name: &str) -> Option<usize> {
        self.rules[name].as_u64().map(|number| number as usize)
    }
}
