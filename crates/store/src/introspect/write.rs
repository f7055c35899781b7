//! Writes drafts as TOML, in the short form where a field has only a type.

use std::fmt::Write;

use query::catalog::Stored;
use query::manifest::FieldWrite;
use query::types::Scalar;

use crate::schema::Changes;

use super::model::{Draft, DraftField, DraftRelation, column_is_implied};
use super::naming::quoted;

pub(super) fn note(text: &mut String, note: &str) {
    // Writing to a string never fails.
    let _ = writeln!(text, "# {}", note.replace(char::is_control, " "));
}

pub(super) fn resource(text: &mut String, resource: &Draft) {
    let full_name = resource.full_name();
    let _ = writeln!(text, "\n[resource.{full_name}]");
    let mut keys = vec![("table".to_owned(), quoted(&resource.table_text))];
    if resource.plural != format!("{}s", resource.name) {
        keys.push(("plural".to_owned(), quoted(&resource.plural)));
    }
    aligned(text, &keys);
    writes(text, resource);
    let _ = writeln!(text, "\n[resource.{full_name}.fields]");
    let fields: Vec<_> = resource.fields.iter().map(|field| (field.name.clone(), field_value(field))).collect();
    aligned(text, &fields);
    for line in &resource.notes {
        note(text, line);
    }
    if !resource.relations.is_empty() {
        let _ = writeln!(text, "\n[resource.{full_name}.relations]");
        let relations: Vec<_> = resource.relations.iter().map(|relation| (relation.name.clone(), relation_value(relation))).collect();
        aligned(text, &relations);
    }
}

/// `[resource.shop.order.write]`, with a permission for each operation.
fn writes(text: &mut String, resource: &Draft) {
    let Changes { insert, update, delete } = resource.writes;
    let full_name = resource.full_name();
    let operations = [("create", insert), ("update", update), ("delete", delete)].into_iter().filter(|(_, is_offered)| *is_offered);
    // Each word of a permission begins with a letter.
    let subject = full_name.split('.').map(|word| word.strip_prefix('_').map_or(word.to_owned(), |digits| format!("n{digits}")));
    let subject = subject.collect::<Vec<_>>().join(".");
    let mut keys: Vec<_> = operations.map(|(word, _)| (word.to_owned(), quoted(&format!("{subject}.{word}")))).collect();
    if keys.is_empty() {
        return;
    }
    if !resource.keys.is_empty() {
        let list = |names: &Vec<String>| format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "));
        keys.push(("keys".to_owned(), format!("[{}]", resource.keys.iter().map(list).collect::<Vec<_>>().join(", "))));
    }
    let _ = writeln!(text, "\n[resource.{full_name}.write]");
    aligned(text, &keys);
}

fn aligned(text: &mut String, entries: &[(String, String)]) {
    let width = entries.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
    for (key, value) in entries {
        let _ = writeln!(text, "{key:width$} = {value}");
    }
}

/// `"text"` or `{ type = "text", … }`
pub(super) fn field_value(field: &DraftField) -> String {
    let kind = quoted(&field.kind.name());
    let mut rest = String::new();
    if let Scalar::Enum(values) = field.kind.scalar() {
        let values: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        let _ = write!(rest, ", values = [{}]", values.join(", "));
    }
    if !column_is_implied(field) {
        let _ = write!(rest, ", column = {}", quoted(&field.column));
    }
    match field.stored {
        Stored::Standard => {}
        Stored::Datetime => rest.push_str(", stored = \"datetime\""),
        Stored::Unix => rest.push_str(", stored = \"unix\""),
    }
    if field.key {
        rest.push_str(", key = true");
    }
    if field.not_null {
        rest.push_str(", null = false");
    }
    match field.write {
        None => {}
        Some(FieldWrite { create: true, update: false }) => rest.push_str(", write = \"create\""),
        Some(FieldWrite { create: false, .. }) => rest.push_str(", write = \"update\""),
        Some(FieldWrite { create: true, update: true }) => rest.push_str(", write = true"),
    }
    if let Some(length) = field.max_length {
        let _ = write!(rest, ", max-length = {length}");
    }
    if rest.is_empty() { kind } else { format!("{{ type = {kind}{rest} }}") }
}

/// `{ many = "shop.order", on = { id = "customerId" } }`
pub(super) fn relation_value(relation: &DraftRelation) -> String {
    let word = if relation.many { "many" } else { "one" };
    let mut text = format!("{{ {word} = {}, ", quoted(&relation.target));
    if let Some((table, _)) = &relation.through {
        let _ = write!(text, "through = {}, ", quoted(table));
    }
    let _ = write!(text, "on = {}", pairs(&relation.on));
    if let Some((_, to)) = &relation.through {
        let _ = write!(text, ", to = {}", pairs(to));
    }
    text.push_str(" }");
    text
}

fn pairs(pairs: &[(String, String)]) -> String {
    let entries: Vec<String> = pairs.iter().map(|(left, right)| format!("{} = {}", key(left), quoted(right))).collect();
    format!("{{ {} }}", entries.join(", "))
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if bare { name.to_owned() } else { quoted(name) }
}
