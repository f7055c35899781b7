//! The selected fields of a row, and how rows are written with them. Values stay the bytes that the store wrote.

use std::borrow::Cow;
use std::fmt;

use apollo_compiler::ExecutableDocument;
use query::json::write_text;
use query::statement::FieldSelection;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::arguments::Variables;
use super::schema::AGGREGATION;
use super::selection::SelectedField;

#[derive(Debug)]
pub(super) struct RowShape<'d> {
    parts: Vec<(Vec<u8>, Part<'d>)>,
}

#[derive(Debug)]
enum Part<'d> {
    Typename(Vec<u8>),
    Aggregation,
    Value(&'d str),
    /// A whole number that must fit 32 bits.
    Int(&'d str),
    One(&'d str, RowShape<'d>),
    Many(&'d str, RowShape<'d>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    Row,
    Group,
}

impl<'d> RowShape<'d> {
    pub(super) fn of(document: &'d ExecutableDocument, selected: &SelectedField<'d>, variables: &Variables) -> Self {
        let owner = &selected.field().selection_set.ty;
        let part = |below: SelectedField<'d>| {
            let field = below.field();
            let (name, kind) = (field.name.as_str(), &field.definition.ty);
            let part = match name {
                "__typename" => Part::Typename(quoted(owner)),
                AGGREGATION => Part::Aggregation,
                _ if !field.selection_set.is_empty() => {
                    let shape = RowShape::of(document, &below, variables);
                    if kind.is_list() { Part::Many(name, shape) } else { Part::One(name, shape) }
                }
                _ if kind.is_named() && kind.inner_named_type() == "Int" => Part::Int(name),
                _ => Part::Value(name),
            };
            (key(below.key), part)
        };
        RowShape { parts: selected.subfields(document, variables).into_iter().map(part).collect() }
    }

    /// The selected relations with their own shapes. A relation with two aliases is here twice.
    pub(super) fn relations(&self) -> impl Iterator<Item = (&'d str, &RowShape<'d>)> {
        self.parts.iter().filter_map(|(_, part)| match part {
            Part::One(name, shape) | Part::Many(name, shape) => Some((*name, shape)),
            Part::Typename(_) | Part::Aggregation | Part::Value(_) | Part::Int(_) => None,
        })
    }

    /// What the store reads for this shape.
    pub(super) fn field_selection(&self) -> FieldSelection {
        let mut selection = FieldSelection::of_document();
        self.select(&mut selection);
        selection
    }

    fn select(&self, selection: &mut FieldSelection) {
        for (_, part) in &self.parts {
            match part {
                Part::Typename(_) | Part::Aggregation => {}
                Part::Value(name) | Part::Int(name) => selection.add(name),
                Part::One(name, shape) | Part::Many(name, shape) => selection.add_below(name, |below| shape.select(below)),
            }
        }
    }

    pub(super) fn has_relations(&self) -> bool {
        self.relations().next().is_some()
    }

    /// Writes rows; `None` if the text is not as the store writes it.
    pub(super) fn rows(&self, rows: &str, kind: RowKind, out: &mut RowWriter<'_>) -> Option<()> {
        match kind {
            RowKind::Group => {
                for group in serde_json::Deserializer::from_str(rows).into_iter::<&RawValue>() {
                    let group = group.ok()?;
                    out.next();
                    self.object(&Row(Vec::new()), group.get(), out.buffer)?;
                }
            }
            RowKind::Row => {
                for row in serde_json::Deserializer::from_str(rows).into_iter::<Row<'_>>() {
                    let row = row.ok()?;
                    out.next();
                    self.object(&row, "null", out.buffer)?;
                }
            }
        }
        Some(())
    }

    /// Writes one object. A group is an empty row with an aggregation, a row has the aggregation `null`.
    fn object(&self, row: &Row<'_>, aggregation: &str, out: &mut Vec<u8>) -> Option<()> {
        out.push(b'{');
        for (index, (key, part)) in self.parts.iter().enumerate() {
            comma(index, out);
            out.extend_from_slice(key);
            match part {
                Part::Typename(name) => out.extend_from_slice(name),
                Part::Aggregation => out.extend_from_slice(aggregation.as_bytes()),
                Part::Value(name) => out.extend_from_slice(row.get(name).as_bytes()),
                Part::Int(name) => {
                    let text = row.get(name);
                    // As everywhere, an invalid value reads as null.
                    let fits = text.len() < 10 || text.parse::<i32>().is_ok();
                    out.extend_from_slice(if fits { text.as_bytes() } else { b"null" });
                }
                Part::One(name, shape) => match row.get(name) {
                    "null" => out.extend_from_slice(b"null"),
                    inner => shape.object(&serde_json::from_str(inner).ok()?, "null", out)?,
                },
                Part::Many(name, shape) => match row.get(name) {
                    "null" => out.extend_from_slice(b"null"),
                    inner => {
                        let rows: Vec<Row<'_>> = serde_json::from_str(inner).ok()?;
                        out.push(b'[');
                        for (index, row) in rows.iter().enumerate() {
                            comma(index, out);
                            shape.object(row, "null", out)?;
                        }
                        out.push(b']');
                    }
                },
            }
        }
        out.push(b'}');
        Some(())
    }
}

#[derive(Debug)]
pub(super) struct RowWriter<'b> {
    pub(super) buffer: &'b mut Vec<u8>,
    pub(super) count: usize,
}

impl RowWriter<'_> {
    fn next(&mut self) {
        comma(self.count, self.buffer);
        self.count += 1;
    }
}

/// A row whose values are still JSON text.
struct Row<'r>(Vec<(Cow<'r, str>, &'r RawValue)>);

impl<'r> Row<'r> {
    /// A group has none of the fields, and a record that the caller may not read only its key.
    fn get(&self, name: &str) -> &'r str {
        self.0.iter().find(|(key, _)| key == name).map_or("null", |(_, value)| value.get())
    }
}

impl<'de> Deserialize<'de> for Row<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Row<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a row")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Row<'de>, M::Error> {
                let mut entries = Vec::with_capacity(16);
                while let Some(entry) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    entries.push((entry.0.0, entry.1));
                }
                Ok(Row(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

/// A key, borrowed unless it was escaped.
#[derive(serde::Deserialize)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

pub(super) fn comma(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

pub(super) fn key(name: &str) -> Vec<u8> {
    let mut key = quoted(name);
    key.push(b':');
    key
}

pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 3);
    write_text(&mut out, text);
    out
}
