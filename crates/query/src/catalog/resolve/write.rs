//! Writes: resolves the operations of a resource and the rules of its fields.

use regex::RegexBuilder;

use crate::account_variables::{ACCOUNT_VARIABLES, VariableKind, is_account_variable, variable_kind};
use crate::catalog::write_rules::{Bound, FieldRules, Pattern, Preset, TableFacts, ValueRules, WriteRules};
use crate::catalog::{Field, FieldId, JoinColumns, Relation, RelationPlacement, Resource, ResourceId};
use crate::json::{self, Json};
use crate::manifest::{FieldDeclaration, ResourceDeclaration, RuleDeclarations, WriteDeclaration};
use crate::messages::{did_you_mean, quoted_list};
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

use super::Resolver;

/// How large the program of a pattern may be, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

impl Resolver {
    /// The writes of a resource, except `scope` and `check`, which are planned over the resolved catalog.
    pub(super) fn write_rules(&mut self, resource: &Resource, id: ResourceId, declaration: &ResourceDeclaration) -> Option<WriteRules> {
        let write = declaration.write.as_ref()?;
        let line = write.line;
        let WriteDeclaration { create, update, delete, restore, .. } = write.clone();
        let has_none = [&create, &update, &delete].into_iter().all(Option::is_none) && restore.is_none();
        if has_none && !self.broken.has(&resource.full_name, "write") {
            self.fault(line, "`write` allows nothing; name at least one of `create`, `update`, `delete` and `restore`");
        }
        if resource.key.is_empty() && !self.broken.has_any_of(&resource.full_name) {
            self.fault(line, format!("`{}` has no key, and writes need one: declare it with `key = true`", resource.full_name));
        }
        let soft_delete = resource.soft_delete.map(|id| &resource.fields[id]);
        if let Some((_, line)) = &restore
            && declaration.soft_delete.is_none()
            && !self.broken.has(&resource.full_name, "soft-delete")
        {
            self.fault(*line, "`restore` needs `soft-delete`: without it a deleted row is gone");
        }
        if let (Some(field), Some((_, line)), true) = (soft_delete, &declaration.soft_delete, delete.is_some() || restore.is_some())
            && field.kind != Type::One(Scalar::Timestamp)
        {
            let needs = if delete.is_some() { "a delete" } else { "a restore" };
            let message = format!("`soft-delete` names `{}` of type {}; {needs} needs a timestamp there", field.name, field.kind.name());
            self.fault(*line, message);
        }
        let (max_rows, restore) = (write.max_rows.unwrap_or(1), restore.map(|(right, _)| right));
        let version = write.version.as_ref().and_then(|(name, line)| self.version(resource, name, *line));
        let keys = write.keys.iter().filter_map(|(names, line)| Some((self.unique_key(resource, names, *line)?, *line))).collect();
        let pairs = resource.key.iter().map(|id| (*id, *id)).collect();
        let key_relation = Relation {
            name: String::new(),
            line,
            target: id,
            many: false,
            join_columns: JoinColumns::Direct(pairs),
            placement: RelationPlacement { is_colocated: true, ..RelationPlacement::default() },
            json_key: json::key("row"),
        };
        Some(WriteRules {
            line,
            create,
            update,
            delete,
            restore,
            permissions: write.permissions.clone(),
            scope: None,
            check: None,
            max_rows,
            version,
            keys,
            key_relation,
            facts: TableFacts::default(),
        })
    }

    fn stored_field<'r>(&mut self, resource: &'r Resource, name: &str, line: usize, key: &str) -> Option<(FieldId, &'r Field)> {
        let found = resource.field(name).filter(|(_, field)| field.derived.is_none());
        if found.is_none() && !self.broken.has(&resource.full_name, name) {
            let known: Vec<&str> = resource.stored_fields().map(|(_, field)| field.name.as_str()).collect();
            let hint = did_you_mean(name, &known);
            self.fault(line, format!("`{key}` names `{name}`, which is not a field with a column of `{}`{hint}", resource.full_name));
        }
        found
    }

    fn version(&mut self, resource: &Resource, name: &str, line: usize) -> Option<FieldId> {
        let (id, field) = self.stored_field(resource, name, line, "version")?;
        if !matches!(field.kind, Type::One(Scalar::Int | Scalar::BigInt)) {
            self.fault(line, format!("`version` names `{name}` of type {}; it takes an int or a bigint", field.kind.name()));
        }
        let FieldRules { write, create_preset, update_preset, .. } = &field.rules;
        if write.is_some() || create_preset.is_some() || update_preset.is_some() || resource.key.contains(&id) {
            self.fault(line, format!("`version` names `{name}`: every update raises it, so it takes no `write`, no `preset` and no `key`"));
        }
        Some(id)
    }

    fn unique_key(&mut self, resource: &Resource, names: &[String], line: usize) -> Option<Vec<FieldId>> {
        if names.is_empty() {
            self.fault(line, "an entry of `keys` needs at least one field");
        }
        names.iter().map(|name| self.stored_field(resource, name, line, "keys").map(|(id, _)| id)).collect()
    }

    /// The rules for writing a field with a column.
    pub(super) fn field_rules(&mut self, declaration: &FieldDeclaration, kind: &Type) -> FieldRules {
        let FieldDeclaration { line, name, write, write_permission, preset, .. } = declaration;
        let mut fault = |message: &str| self.fault(*line, format!("field `{name}`: {message}"));
        if declaration.key && write.is_some_and(|write| write.update) {
            fault("a key never changes, so `write` of a key field is \"create\"");
        }
        if write_permission.is_some() && write.is_none() {
            fault("`write-permission` needs `write`");
        }
        let has_preset = preset.create.is_some() || preset.update.is_some();
        if write.is_some() && has_preset {
            fault("it has `write` and `preset`; a preset field is never in a payload, so it takes one of them");
        }
        if declaration.key && preset.update.is_some() {
            fault("a key never changes, so `preset` of a key field has `create` only");
        }
        let create_preset = preset.create.as_ref().and_then(|json| self.preset(declaration, kind, json));
        let update_preset = preset.update.as_ref().and_then(|json| self.preset(declaration, kind, json));
        let values = self.value_rules(declaration, kind);
        FieldRules {
            write: *write,
            permission: write_permission.clone(),
            create_preset,
            update_preset,
            values,
            has_default: false,
            enum_type: None,
        }
    }

    fn preset(&mut self, declaration: &FieldDeclaration, kind: &Type, json: &Json) -> Option<Preset> {
        let FieldDeclaration { line, name, .. } = declaration;
        let unfit = |word: &str, types: &str| Err(format!("`preset` `{word}` fits {types}; this field has type {}", kind.name()));
        let preset = match (json, kind) {
            (Json::Text(word), Type::One(Scalar::Timestamp | Scalar::Date)) if word == "$now" => Ok(Preset::Now),
            (Json::Text(word), _) if word == "$now" => unfit(word, "a timestamp or a date"),
            (Json::Text(word), Type::One(Scalar::Uuid | Scalar::Text)) if word == "$uuid" => Ok(Preset::Uuid),
            (Json::Text(word), _) if word == "$uuid" => unfit(word, "a uuid or a text"),
            (Json::Text(word), _) if is_account_variable(word) => match variable_kind(word) {
                Some(variable) if !fits(variable, kind) => unfit(word, accepted_types(variable)),
                _ => Ok(Preset::Account(word.clone())),
            },
            (Json::Text(word), _) if is_variable(word) => Err(format!(
                "unknown `preset` {word:?}; accepted are `$now`, `$uuid`, {}, `$account.meta.…`, or a value that does not begin with `$` and a letter",
                quoted_list(&ACCOUNT_VARIABLES)
            )),
            (json, _) if value::has_nul(json) => Err("its `preset` cannot contain U+0000".to_owned()),
            (json, _) => value::written(kind, json).map(Preset::Literal).map_err(|message| format!("its `preset` {message}")),
        };
        preset.map_err(|message| self.fault(*line, format!("field `{name}`: {message}"))).ok()
    }

    fn value_rules(&mut self, declaration: &FieldDeclaration, kind: &Type) -> ValueRules {
        let FieldDeclaration { line, name, rules, .. } = declaration;
        let is_text = matches!(kind, Type::One(Scalar::Text));
        let is_array = matches!(kind, Type::Array(_));
        let is_measured = kind.is_number() || matches!(kind, Type::One(Scalar::Date | Scalar::Time | Scalar::Timestamp));
        let given = [
            ("min", rules.min.is_some(), is_measured, "a number, a date, a time or a timestamp"),
            ("max", rules.max.is_some(), is_measured, "a number, a date, a time or a timestamp"),
            ("min-length", rules.min_length.is_some(), is_text, "a text"),
            ("max-length", rules.max_length.is_some(), is_text, "a text"),
            ("pattern", rules.pattern.is_some(), is_text, "a text"),
            ("min-items", rules.min_items.is_some(), is_array, "an array"),
            ("max-items", rules.max_items.is_some(), is_array, "an array"),
        ];
        for (key, _, _, types) in given.into_iter().filter(|(_, given, fits, _)| *given && !fits) {
            self.fault(*line, format!("field `{name}`: `{key}` fits {types}; this field has type {}", kind.name()));
        }
        if rules.min_length.zip(rules.max_length).is_some_and(|(min, max)| min > max) {
            self.fault(*line, format!("field `{name}`: `min-length` is more than `max-length`, so no value fits"));
        }
        if rules.min_items.zip(rules.max_items).is_some_and(|(min, max)| min > max) {
            self.fault(*line, format!("field `{name}`: `min-items` is more than `max-items`, so no value fits"));
        }
        let mut bound = |key: &str, json: &Option<Json>| {
            let json = json.as_ref().filter(|_| is_measured)?;
            match value::check(kind.scalar(), json) {
                Ok(value) if value != Value::Null => Some(Bound { value, json: json.clone() }),
                Ok(_) => None,
                Err(message) => {
                    let hint = if is_path(json) { "; to compute the value from related rows, leave out `type`" } else { "" };
                    self.fault(*line, format!("field `{name}`: `{key}` {message}{hint}"));
                    None
                }
            }
        };
        let (min, max) = (bound("min", &rules.min), bound("max", &rules.max));
        if let (Some(min), Some(max)) = (&min, &max)
            && value::order(&min.value, &max.value).is_gt()
        {
            self.fault(*line, format!("field `{name}`: `min` is more than `max`, so no value fits"));
        }
        let pattern = rules.pattern.as_ref().filter(|_| is_text).and_then(|source| self.pattern(declaration, source));
        let RuleDeclarations { min_length, max_length, min_items, max_items, .. } = *rules;
        ValueRules { min, max, min_length, max_length, pattern, min_items, max_items }
    }

    fn pattern(&mut self, declaration: &FieldDeclaration, source: &str) -> Option<Pattern> {
        let FieldDeclaration { line, name, .. } = declaration;
        let compiled = |pattern: &str| RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
        // The parts of an alternative are parts of the whole pattern.
        let whole = |source: String| compiled(&format!("^(?:{source})$")).map(|regex| Pattern { source, regex });
        // By itself too, so that it does not end the brackets around it. A comment of `(?x)` at its end would swallow them.
        let pattern =
            compiled(source).and_then(|_| whole(source.to_owned()).or_else(|error| whole(format!("{source}\n")).map_err(|_| error)));
        match pattern {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let reason = error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                self.fault(
                    *line,
                    format!("field `{name}`: `pattern` is not a regular expression that is matched in linear time: {reason}"),
                );
                None
            }
        }
    }
}

/// Whether it is `relation.field`, which a derived field would be computed from.
fn is_path(json: &Json) -> bool {
    let is_name = |name: &str| name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    matches!(json, Json::Text(text) if text.split_once('.').is_some_and(|(relation, field)| is_name(relation) && is_name(field)))
}

/// Whether a text is written as a variable, rather than as a price such as `$5`.
fn is_variable(text: &str) -> bool {
    text.strip_prefix('$').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
}

/// Whether the value of a variable can fit a field.
fn fits(variable: VariableKind, kind: &Type) -> bool {
    match (variable, kind) {
        (_, Type::One(Scalar::Json)) => true,
        (VariableKind::Id, Type::One(scalar)) => matches!(scalar, Scalar::Uuid | Scalar::Text),
        (VariableKind::Text, Type::One(scalar)) => !matches!(scalar, Scalar::Bool | Scalar::Int | Scalar::Float),
        (VariableKind::Bool, Type::One(scalar)) => *scalar == Scalar::Bool,
        (VariableKind::Ids, Type::Array(scalar)) => matches!(scalar, Scalar::Uuid | Scalar::Text | Scalar::Json),
        (VariableKind::Texts, Type::Array(scalar)) => matches!(scalar, Scalar::Text | Scalar::Enum(_) | Scalar::Json),
        _ => false,
    }
}

fn accepted_types(variable: VariableKind) -> &'static str {
    match variable {
        VariableKind::Id => "a uuid, a text or json",
        VariableKind::Text => "a text, another type that is written as a string, or json",
        VariableKind::Bool => "a bool or json",
        VariableKind::Ids => "uuid[], text[] or json",
        VariableKind::Texts => "text[], enum[] or json",
    }
}
