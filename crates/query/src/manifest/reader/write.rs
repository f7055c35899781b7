//! The keys that make a resource writable: `[….write]`, and `write`, `preset` and the value rules of its fields.

use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::DeValue;

use crate::json::Json;
use crate::manifest::{FieldDeclaration, FieldWrite, MAX_WRITE_ROWS, OperationRight, PresetDeclaration, WriteDeclaration};
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
            let line = self.line(offset);
            let mut right = || {
                let right = self.right(value, key);
                if let OperationRight::Permission(name) = &right {
                    write.permissions.push((name.clone(), line));
                }
                right
            };
            match key {
                "create" => write.create = Some(right()),
                "update" => write.update = Some(right()),
                "delete" => write.delete = Some(right()),
                "restore" => write.restore = Some((right(), line)),
                "scope" => write.scope = Some((json(value.get_ref()), self.line(offset))),
                "check" => write.check = Some((json(value.get_ref()), self.line(offset))),
                "max-rows" => write.max_rows = self.whole(value, key, 1..=MAX_WRITE_ROWS),
                "version" => write.version = self.text(value, key).map(|name| (name, self.line(offset))),
                _ => write.keys = self.unique_keys(value),
            }
        }
        write
    }

    /// A permission, or `true` for everyone. A fault counts as `true`: the operation is meant to exist.
    fn right(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> OperationRight {
        match value.get_ref() {
            DeValue::Boolean(true) => {}
            DeValue::String(name) if !name.is_empty() => return OperationRight::Permission(name.to_string()),
            _ => {
                let message = format!(
                    "`{key}` must be the name of a permission, such as \"shop.order.{key}\", or true for everyone; leave it out to forbid it"
                );
                self.fault(value.span().start, message);
            }
        }
        OperationRight::Everyone
    }

    fn whole(&mut self, value: &Spanned<DeValue<'_>>, key: &str, accepted: RangeInclusive<u64>) -> Option<u64> {
        let number = match json(value.get_ref()) {
            Json::Number(text) => text.parse().ok().filter(|number| accepted.contains(number)),
            _ => None,
        };
        if number.is_none() {
            let (first, last) = (accepted.start(), accepted.end());
            let end = if *last == u64::MAX { String::new() } else { format!(" to {last}") };
            self.fault(value.span().start, format!("`{key}` must be a whole number from {first}{end}"));
        }
        number
    }

    fn unique_keys(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(Vec<String>, usize)> {
        let mut keys: Vec<(Vec<String>, usize)> = Vec::new();
        for item in value.get_ref().as_array().into_iter().flatten() {
            let names = item.get_ref().as_array().map(|names| names.iter().map(|name| name.get_ref().as_str().map(str::to_owned)));
            let Some(mut names) = names.and_then(Iterator::collect::<Option<Vec<String>>>) else { return self.bad_keys(value) };
            let line = self.line(item.span().start);
            if let Some(place) = (1..names.len()).find(|place| names[..*place].contains(&names[*place])) {
                let message = format!("an entry of `keys` names `{}` twice", names.remove(place));
                self.fault(item.span().start, message);
            } else if keys.iter().any(|(known, _)| known.len() == names.len() && names.iter().all(|name| known.contains(name))) {
                self.fault(item.span().start, format!("`keys` has ({}) twice", names.join(", ")));
            } else {
                keys.push((names, line));
            }
        }
        if value.get_ref().as_array().is_none() { self.bad_keys(value) } else { keys }
    }

    fn bad_keys(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(Vec<String>, usize)> {
        let accepted = "`keys` must be a list of keys, each a list of fields, such as [[\"number\"], [\"customerId\", \"externalRef\"]]";
        self.fault(value.span().start, accepted);
        Vec::new()
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
            "min-length" => rules.min_length = self.whole(value, key, 0..=u64::MAX),
            "max-length" => rules.max_length = self.whole(value, key, 0..=u64::MAX),
            "pattern" => rules.pattern = self.text(value, key),
            "min-items" => rules.min_items = self.whole(value, key, 0..=u64::MAX),
            _ => rules.max_items = self.whole(value, key, 0..=u64::MAX),
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
