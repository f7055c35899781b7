//! The keys that make a resource writable: `[….write]`, and `write`, `preset` and the value rules of its fields.

use toml::Spanned;
use toml::de::DeValue;

use crate::json::Json;
use crate::manifest::{FieldDeclaration, FieldWrite, OperationRight, PresetDeclaration, WriteDeclaration};
use crate::messages::quoted_list;

use super::{KeyValue, Reader, json};

const WRITE_KEYS: [&str; 9] = ["create", "update", "delete", "restore", "scope", "check", "max-rows", "version", "keys"];
const PRESET_KEYS: [&str; 2] = ["create", "update"];
/// The keys of a field that its writes obey.
pub(super) const FIELD_WRITE_KEYS: [&str; 10] =
    ["write", "write-permission", "preset", "min", "max", "min-length", "max-length", "pattern", "min-items", "max-items"];

impl Reader {
    pub(super) fn write(&mut self, offset: usize, value: &Spanned<DeValue<'_>>) -> WriteDeclaration {
        let mut write = WriteDeclaration { line: self.line(offset), ..WriteDeclaration::default() };
        for (key, value, offset) in self.entries(value, "`write`", &WRITE_KEYS) {
            match key {
                "create" => write.create = self.right(value, key),
                "update" => write.update = self.right(value, key),
                "delete" => write.delete = self.right(value, key),
                "restore" => write.restore = self.right(value, key),
                "scope" => write.scope = Some((json(value.get_ref()), self.line(offset))),
                "check" => write.check = Some((json(value.get_ref()), self.line(offset))),
                "max-rows" => write.max_rows = self.whole(value, key),
                "version" => write.version = self.text(value, key).map(|name| (name, self.line(offset))),
                _ => write.keys = self.unique_keys(value),
            }
        }
        write
    }

    /// A permission, or `true` for everyone.
    fn right(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<OperationRight> {
        match value.get_ref() {
            DeValue::Boolean(true) => Some(OperationRight::Everyone),
            DeValue::String(name) if !name.is_empty() => Some(OperationRight::Permission(name.to_string())),
            _ => {
                let message = format!(
                    "`{key}` must be the name of a permission, such as \"shop.order.{key}\", or true for everyone; leave it out to forbid it"
                );
                self.fault(value.span().start, message);
                None
            }
        }
    }

    fn whole(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<u64> {
        let number = match json(value.get_ref()) {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        };
        if number.is_none() {
            self.fault(value.span().start, format!("`{key}` must be a whole number from 0"));
        }
        number
    }

    fn unique_keys(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(Vec<String>, usize)> {
        let Some(items) = value.get_ref().as_array() else {
            self.fault(
                value.span().start,
                "`keys` must be a list of lists of fields, such as [[\"number\"], [\"customerId\", \"externalRef\"]]",
            );
            return Vec::new();
        };
        let mut keys = Vec::new();
        for item in items {
            keys.extend(self.texts(item, "keys").map(|names| (names, self.line(item.span().start))));
        }
        keys
    }

    /// Reads a key of [`FIELD_WRITE_KEYS`].
    pub(super) fn field_write(&mut self, field: &mut FieldDeclaration, (key, value, _): KeyValue<'_>) {
        let rules = &mut field.rules;
        match key {
            "write" => field.write = self.field_times(value),
            "write-permission" => field.write_permission = self.text(value, key),
            "preset" => field.preset = self.preset(value),
            "min" => rules.min = Some(json(value.get_ref())),
            "max" => rules.max = Some(json(value.get_ref())),
            "min-length" => rules.min_length = self.whole(value, key),
            "max-length" => rules.max_length = self.whole(value, key),
            "pattern" => rules.pattern = self.text(value, key),
            "min-items" => rules.min_items = self.whole(value, key),
            _ => rules.max_items = self.whole(value, key),
        }
    }

    fn field_times(&mut self, value: &Spanned<DeValue<'_>>) -> Option<FieldWrite> {
        match value.get_ref() {
            DeValue::Boolean(true) => Some(FieldWrite { create: true, update: true }),
            DeValue::Boolean(false) => None,
            DeValue::String(word) if word == "create" => Some(FieldWrite { create: true, update: false }),
            DeValue::String(word) if word == "update" => Some(FieldWrite { create: false, update: true }),
            _ => {
                self.fault(value.span().start, "`write` must be true, \"create\" (only in a new row) or \"update\" (only later)");
                None
            }
        }
    }

    fn preset(&mut self, value: &Spanned<DeValue<'_>>) -> PresetDeclaration {
        let mut preset = PresetDeclaration::default();
        for (key, value, _) in self.entries(value, "`preset`", &PRESET_KEYS) {
            match key {
                "create" => preset.create = Some(json(value.get_ref())),
                _ => preset.update = Some(json(value.get_ref())),
            }
        }
        if preset.create.is_none() && preset.update.is_none() {
            let accepted = quoted_list(&PRESET_KEYS);
            self.fault(value.span().start, format!("`preset` needs {accepted} or both, such as {{ create = \"$now\" }}"));
        }
        preset
    }
}
