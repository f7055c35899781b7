//! A draft of a manifest: a resource for each table, and the existing ones.

use std::collections::HashSet;

use query::catalog::{Stored, snake};
use query::manifest::FieldWrite;
use query::sql::Dialect;
use query::types::Type;

use crate::schema::{Changes, ForeignKey, Schema, Table};

use super::offered_list::OfferedList;

pub(super) struct Model<'s> {
    pub(super) schema: &'s Schema,
    pub(super) dialect: Dialect,
    /// The list in the manifest's comments.
    pub(super) seen: OfferedList,
    /// In the order of the schema's tables.
    pub(super) resources: Vec<Draft<'s>>,
    pub(super) known_pivots: HashSet<(String, String)>,
    /// Foreign keys that are relations, or that a relation leads through.
    pub(super) linked: Vec<(&'s Table, &'s ForeignKey)>,
    pub(super) unlinked: Vec<(&'s Table, &'s ForeignKey)>,
    pub(super) unreadable: Vec<&'s Table>,
    /// Tables that are left out, and why.
    pub(super) notes: Vec<String>,
}

impl<'s> Model<'s> {
    pub(super) fn place(&self, foreign_key: &ForeignKey) -> Option<usize> {
        self.resources.iter().position(|draft| draft.table.schema == foreign_key.schema && draft.table.name == foreign_key.table)
    }

    /// Records a table without a readable column, and notes it once.
    pub(super) fn leave_out_table(&mut self, draft: &Draft<'s>) {
        let table = draft.table;
        self.unreadable.push(table);
        if self.seen.left_out.has(table, self.dialect) && draft.notes.is_empty() {
            return;
        }
        let reason = match (&table.unreadable, &table.unseen) {
            (Some(reason), _) => format!("it cannot be read ({reason})"),
            (None, Some(reason)) => format!("it has no column that can be read; its rows could not be looked at ({reason})"),
            (None, None) => "it has no column that can be read".to_owned(),
        };
        self.notes.push(format!("table {:?}.{:?} is left out: {reason}", table.schema, table.name));
    }

    /// Records a foreign key that cannot be a relation, and notes why once.
    pub(super) fn leave_out(&mut self, from: usize, foreign_key: &'s ForeignKey, reason: &str) {
        let draft = &self.resources[from];
        self.unlinked.push((draft.table, foreign_key));
        if self.seen.has_left_out_link(draft.table, foreign_key, self.dialect) {
            return;
        }
        let target = self.place(foreign_key).map_or(&foreign_key.table, |to| &self.resources[to].table_text);
        let columns = foreign_key.columns.join(", ");
        // A foreign key to a missing primary key names no columns.
        let target_columns = match foreign_key.target_columns.as_slice() {
            [] => String::new(),
            columns => format!(" ({})", columns.join(", ")),
        };
        let note = format!("foreign key ({columns}) -> {target}{target_columns} is left out: {reason}");
        self.resources[from].notes.push(note);
    }
}

pub(super) fn is_among(links: &[(&Table, &ForeignKey)], table: &Table, foreign_key: &ForeignKey) -> bool {
    links.iter().any(|(other, link)| std::ptr::eq(*other, table) && *link == foreign_key)
}

pub(super) struct Draft<'s> {
    pub(super) table: &'s Table,
    /// The table as the manifest names it.
    pub(super) table_text: String,
    pub(super) context: String,
    pub(super) name: String,
    pub(super) plural: String,
    pub(super) is_new: bool,
    /// A table that only joins two others.
    pub(super) left_out: bool,
    pub(super) fields: Vec<DraftField>,
    pub(super) relations: Vec<DraftRelation>,
    pub(super) known_relations: Vec<KnownRelation>,
    /// The writes that it offers, or has already.
    pub(super) writes: Changes,
    /// Why it offers no writes although its table takes them.
    pub(super) unwritable: Option<String>,
    /// The unique keys of an upsert, as fields.
    pub(super) keys: Vec<Vec<String>>,
    /// Why columns and foreign keys were left out.
    pub(super) notes: Vec<String>,
}

pub(super) struct DraftField {
    pub(super) name: String,
    pub(super) column: String,
    pub(super) kind: Type,
    pub(super) key: bool,
    pub(super) not_null: bool,
    pub(super) stored: Stored,
    pub(super) is_new: bool,
    pub(super) write: Option<FieldWrite>,
    pub(super) max_length: Option<u32>,
}

pub(super) struct DraftRelation {
    pub(super) name: String,
    pub(super) many: bool,
    pub(super) target: String,
    pub(super) on: Vec<(String, String)>,
    /// The through table and its columns that lead to the other's fields.
    pub(super) through: Option<(String, Vec<(String, String)>)>,
}

pub(super) struct KnownRelation {
    pub(super) name: String,
    pub(super) target: String,
    /// Own field = field of the other; empty when it leads through a table.
    pub(super) on: Vec<(String, String)>,
}

impl<'s> Draft<'s> {
    pub(super) fn empty(table: &'s Table, context: String, name: String, plural: String) -> Self {
        Draft {
            table,
            table_text: String::new(),
            context,
            name,
            plural,
            is_new: true,
            left_out: false,
            fields: Vec::new(),
            relations: Vec::new(),
            known_relations: Vec::new(),
            writes: Changes::default(),
            unwritable: None,
            keys: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn full_name(&self) -> String {
        format!("{}.{}", self.context, self.name)
    }

    pub(super) fn field(&self, column: &str) -> Option<&DraftField> {
        self.fields.iter().find(|field| field.column == column)
    }

    pub(super) fn has_key(&self) -> bool {
        self.fields.iter().any(|field| field.key)
    }

    /// The relation that connects the same rows already.
    pub(super) fn known_relation(&self, target: &str, on: &[(String, String)]) -> Option<&KnownRelation> {
        let has_all = |known: &KnownRelation| known.on.len() == on.len() && on.iter().all(|pair| known.on.contains(pair));
        self.known_relations.iter().find(|known| known.target == target && has_all(known))
    }

    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
            || self.known_relations.iter().any(|known| known.name == name)
            || self.relations.iter().any(|relation| relation.name == name)
    }
}

pub(super) fn column_is_implied(field: &DraftField) -> bool {
    snake(&field.name) == field.column
}
