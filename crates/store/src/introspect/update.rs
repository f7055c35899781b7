//! Adds new tables, columns and foreign keys to a manifest, and changes no other byte of it.

use query::catalog::Catalog;
use query::manifest::{Manifest, ManifestError};
use query::sql::Dialect;
use toml_edit::{DocumentMut, InlineTable, Item, RawString, Table, TableLike, TomlError, Value};

use crate::schema::Schema;

use super::model::Draft;
use super::offered_list::OfferedList;
use super::{OfferedAccess, draft, offered_now, relation_names, write, writes};

#[derive(Clone, Debug)]
pub struct Update {
    /// The new text; the old one when nothing is new.
    pub text: String,
    /// The additions, such as `field shop.customer.phone`, in the order of the database.
    pub added: Vec<String>,
    pub notes: Vec<String>,
    /// How many tables and views it declares, pivots included.
    pub tables: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("not TOML: {0}")]
    Toml(#[from] TomlError),
    #[error("this layout has no place for additions ({0}); write each resource as [resource.<context>.<name>]")]
    Layout(String),
}

/// Adds what neither the manifest nor its list has, and comments for what cannot be added. Only the list is rewritten.
pub fn update(existing: &str, schema: &Schema, dialect: Dialect, access: OfferedAccess) -> Result<Update, UpdateError> {
    let catalog = Catalog::resolve(&Manifest::read(existing)?)?;
    let (bare, seen) = OfferedList::take(existing, dialect);
    let had_list = seen.is_some();
    let mut model = draft::draft(schema, dialect, Some((&catalog, seen.unwrap_or_default())));
    relation_names::connect(&mut model);
    if access == OfferedAccess::Writable {
        writes::offer(&mut model);
    }
    let mut document: DocumentMut = bare.parse()?;
    let (mut added, mut fresh, mut notes) = (Vec::new(), String::new(), Vec::new());
    for draft in model.resources.iter().filter(|draft| !draft.left_out) {
        if draft.is_new {
            write::resource(&mut fresh, draft);
            added.push(format!("resource {}", draft.full_name()));
        } else {
            extend(&mut document, draft, &mut added)?;
            notes.extend(draft.notes.iter().map(|note| format!("{}: {note}", draft.full_name())));
        }
    }
    notes.extend(model.notes.iter().filter(|note| !existing.contains(*note)).cloned());
    let known = offered_now::offered_now(&model);
    if added.is_empty() && notes.is_empty() && had_list && known.says_the_same(&model.seen) {
        return Ok(Update { text: existing.to_owned(), added, notes, tables: model.resources.len() });
    }
    let mut text = if added.is_empty() { bare } else { document.to_string() };
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&fresh);
    if !notes.is_empty() {
        text.push('\n');
        for note in &notes {
            write::note(&mut text, note);
        }
    }
    known.write(&mut text);
    let text = spelled_as(existing, &text);
    let valid = Manifest::read(&text).and_then(|manifest| Catalog::resolve(&manifest));
    valid.map_err(|error| UpdateError::Layout(error.to_string()))?;
    Ok(Update { text, added, notes, tables: model.resources.len() })
}

/// Restores line ends and the byte order mark, which the editor does not keep.
fn spelled_as(existing: &str, text: &str) -> String {
    let mark = if existing.starts_with('\u{feff}') && !text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    if existing.contains("\r\n") {
        return format!("{mark}{}", text.replace("\r\n", "\n").replace('\n', "\r\n"));
    }
    format!("{mark}{text}")
}

fn extend(document: &mut DocumentMut, draft: &Draft, added: &mut Vec<String>) -> Result<(), UpdateError> {
    let full_name = draft.full_name();
    let fields: Vec<_> =
        draft.fields.iter().filter(|field| field.is_new).map(|field| (field.name.as_str(), write::field_value(field))).collect();
    let relations: Vec<_> = draft.relations.iter().map(|relation| (relation.name.as_str(), write::relation_value(relation))).collect();
    for (part, word, entries) in [("fields", "field", fields), ("relations", "relation", relations)] {
        if entries.is_empty() {
            continue;
        }
        let table = part_of(document, draft, part).ok_or_else(|| UpdateError::Layout(full_name.clone()))?;
        let layout = Layout::of(table);
        for (name, value) in entries {
            let value: Value = value.parse()?;
            table.insert(name, Item::Value(value));
            layout.apply(table, name);
            added.push(format!("{word} {full_name}.{name}"));
        }
    }
    Ok(())
}

fn part_of<'d>(document: &'d mut DocumentMut, draft: &Draft, part: &str) -> Option<&'d mut dyn TableLike> {
    let is_there = document.get("resource")?.get(&draft.context)?.get(&draft.name)?.get(part).is_some();
    let ending = if is_there { String::new() } else { take_ending(document, &draft.context, &draft.name) };
    let contexts = document.get_mut("resource")?.as_table_like_mut()?;
    let resource = contexts.get_mut(&draft.context)?.as_table_like_mut()?.get_mut(&draft.name)?;
    let made = if resource.is_inline_table() { Item::Value(Value::InlineTable(InlineTable::new())) } else { Item::Table(after(&ending)) };
    let resource = resource.as_table_like_mut()?;
    if !is_there {
        resource.insert(part, made);
    }
    resource.get_mut(part)?.as_table_like_mut()
}

/// Takes the comments at the end of a resource's last table, for the header of the table that will follow it: the editor attaches them to
/// the next header, so a new table would come before them.
fn take_ending(document: &mut DocumentMut, context: &str, name: &str) -> String {
    let Some(last) = position(document, context, name) else { return String::new() };
    if let Some(next) = next_position(document.as_table(), last)
        && let Some(table) = at(document.as_table_mut(), next)
    {
        let (ending, rest) = split(&decor_text(table.decor().prefix()));
        // A comment right above a header belongs to that header.
        if !rest.trim_start_matches([' ', '\t']).starts_with('\n') {
            return String::new();
        }
        table.decor_mut().set_prefix(rest);
        return ending;
    }
    let (ending, rest) = split(&decor_text(Some(document.trailing())));
    document.set_trailing(rest);
    ending
}

/// The position of a resource's last table, or of the table that holds it under dotted keys.
fn position(document: &DocumentMut, context: &str, name: &str) -> Option<isize> {
    let context = document.get("resource")?.get(context)?.as_table()?;
    last_position(context.get(name)?.as_table()?).or(context.position())
}

fn decor_text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().replace("\r\n", "\n")
}

fn split(text: &str) -> (String, String) {
    let length = text.split_inclusive('\n').take_while(|line| line.trim_start().starts_with('#')).map(str::len).sum();
    let (comments, rest) = text.split_at(length);
    let end = if comments.is_empty() || comments.ends_with('\n') { "" } else { "\n" };
    (format!("{comments}{end}"), rest.to_owned())
}

fn tables(table: &Table) -> impl Iterator<Item = &Table> {
    table.iter().filter_map(|(_, item)| item.as_table())
}

fn last_position(table: &Table) -> Option<isize> {
    tables(table).filter_map(last_position).last().or(table.position())
}

fn next_position(table: &Table, after: isize) -> Option<isize> {
    let own = table.position().filter(|position| *position > after && !table.is_implicit());
    tables(table).filter_map(|table| next_position(table, after)).chain(own).min()
}

fn at(table: &mut Table, position: isize) -> Option<&mut Table> {
    if table.position() == Some(position) && !table.is_implicit() {
        return Some(table);
    }
    table.iter_mut().filter_map(|(_, item)| item.as_table_mut()).find_map(|table| at(table, position))
}

fn after(comments: &str) -> Table {
    let mut table = Table::new();
    if !comments.is_empty() {
        table.decor_mut().set_prefix(format!("{comments}\n"));
    }
    table
}

/// The layout of a table: the indentation of its entries, and the column of their `=` if they share one.
struct Layout {
    indentation: String,
    width: Option<usize>,
}

impl Layout {
    fn of(table: &dyn TableLike) -> Self {
        let mut indentation = String::new();
        let mut widths = Vec::new();
        for (name, _) in table.iter() {
            let Some(key) = table.key(name) else { continue };
            let decor = key.leaf_decor();
            let before = decor_text(decor.prefix());
            let line = before.rsplit('\n').next().unwrap_or_default();
            indentation = if line.trim().is_empty() { line.to_owned() } else { String::new() };
            widths.push(key.display_repr().len() + decor_text(decor.suffix()).len());
        }
        let shared = widths.first().copied().filter(|first| widths.len() > 1 && widths.iter().all(|width| width == first));
        Layout { indentation, width: shared }
    }

    fn apply(&self, table: &mut dyn TableLike, name: &str) {
        // For inline tables the editor's own spacing is right.
        if table.get(name).is_none() || self.width.is_none() && self.indentation.is_empty() {
            return;
        }
        if let Some(mut key) = table.key_mut(name) {
            let padding = self.width.unwrap_or(0).saturating_sub(name.len()).max(1);
            key.leaf_decor_mut().set_prefix(self.indentation.clone());
            key.leaf_decor_mut().set_suffix(" ".repeat(padding));
        }
    }
}
