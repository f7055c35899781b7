//! Warns of write rules of fields that no operation of their resource obeys.

use query::catalog::write_rules::{WriteOperation, WriteRules};
use query::catalog::{Field, Resource};
use query::messages::quoted_list;

use super::Checker;

impl<'c> Checker<'c> {
    pub(super) fn ineffective_rules(&mut self, resource: &'c Resource) {
        let Some(rules) = resource.write_rules() else { return self.unwritable(resource) };
        for message in ineffective_keys(resource, rules) {
            self.warning(rules.line, format!("resource `{}`: {message}", resource.full_name));
        }
        for field in &resource.fields {
            if let Some(message) = ineffective(resource, field) {
                self.warning(field.line, format!("field `{}` of `{}`: {message}", field.name, resource.full_name));
            }
        }
    }

    /// Reports the rules of a resource without operations, all in one.
    fn unwritable(&mut self, resource: &Resource) {
        let names: Vec<&str> = resource.fields.iter().filter(|field| has_rules(field)).map(|field| field.name.as_str()).collect();
        if names.is_empty() {
            return;
        }
        let (listed, name) = (quoted_list(&names), &resource.full_name);
        let reason = format!("the write rules of {listed} have no effect without `[resource.{name}.write]`");
        self.warning(resource.line, format!("resource `{name}`: {reason}; name its operations there, or remove the rules"));
    }
}

fn has_rules(field: &Field) -> bool {
    let is_preset = |operation| field.has_preset(operation);
    field.rules.write.is_some() || !field.rules.values.is_empty() || is_preset(WriteOperation::Create) || is_preset(WriteOperation::Update)
}

/// The keys of `[….write]` that no operation obeys.
fn ineffective_keys(resource: &Resource, rules: &WriteRules) -> Vec<String> {
    let has = |operation| resource.has_write(operation);
    let (updates, deletes, restores) = (has(WriteOperation::Update), has(WriteOperation::Delete), has(WriteOperation::Restore));
    let marks = resource.soft_delete().is_some() && deletes;
    let keys = [
        ("scope", rules.has_scope() && !(updates || deletes || restores), "`update`, no `delete` and no `restore`"),
        ("check", rules.has_check() && !(has(WriteOperation::Create) || updates || restores || marks), "`create` and no `update`"),
        ("max-rows", rules.max_rows > 1 && !(updates || deletes), "`update` and no `delete`"),
    ];
    let ineffective = keys.into_iter().filter(|(_, is_ineffective, _)| *is_ineffective);
    ineffective.map(|(key, _, lacking)| format!("`{key}` has no effect, since the resource has no {lacking}")).collect()
}

fn ineffective(resource: &Resource, field: &Field) -> Option<String> {
    let (creates, updates) = (resource.has_write(WriteOperation::Create), resource.has_write(WriteOperation::Update));
    // A soft delete and a restore change the row too.
    let marks =
        resource.soft_delete().is_some() && (resource.has_write(WriteOperation::Delete) || resource.has_write(WriteOperation::Restore));
    let needs = |key: &str, operation: &str| Some(format!("`{key}` has no effect, since the resource has no `{operation}`"));
    match field.rules.write {
        None if !field.rules.values.is_empty() => return Some("its value rules have no effect without `write`".to_owned()),
        Some(write) if !(write.create && creates || write.update && updates) => {
            return match (write.create, write.update) {
                (true, true) => Some("`write` has no effect, since the resource has no `create` and no `update`".to_owned()),
                (true, false) => needs("write", "create"),
                _ => needs("write", "update"),
            };
        }
        _ => {}
    }
    match () {
        () if field.has_preset(WriteOperation::Create) && !creates => needs("preset.create", "create"),
        () if field.has_preset(WriteOperation::Update) && !updates && !marks => needs("preset.update", "update"),
        () => None,
    }
}
