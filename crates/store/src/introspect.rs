//! Writes a manifest from a live database: tables and views, types, keys, and relations from the foreign keys.
//!
//! [`manifest`] declares everything, and lists it in comments at the end. [`update`] adds only what is in neither the manifest nor that list,
//! so deliberate deletions stay deleted.

mod draft;
mod fields;
mod kind;
mod model;
mod naming;
mod offered_list;
mod offered_now;
mod relation_names;
mod sample;
mod through;
mod update;
mod write;

use query::sql::Dialect;

use crate::schema::Schema;

pub(crate) use kind::{foreign_form, kind_of};
pub use naming::OWN_TYPES;
pub use sample::sample;
pub use update::{Update, UpdateError, update};

const HEADER: &str = "\
# Written by `peristyle introspect` from the live database.
# What is not declared here cannot be read, filtered, sorted, grouped or loaded. This file declares everything and
# protects nothing: trim it, and add permissions, masks and constraints, before others can reach the server.
";

#[derive(Clone, Debug)]
pub struct Introspected {
    pub text: String,
    /// How many tables and views it declares, pivots included.
    pub tables: usize,
    pub notes: Vec<String>,
}

/// A manifest of all tables and views. It passes `check` unedited.
pub fn manifest(schema: &Schema, dialect: Dialect) -> String {
    introspect(schema, dialect).text
}

pub fn introspect(schema: &Schema, dialect: Dialect) -> Introspected {
    let mut model = draft::draft(schema, dialect, None);
    relation_names::connect(&mut model);
    let mut text = String::from(HEADER);
    for note in &model.notes {
        write::note(&mut text, note);
    }
    for resource in model.resources.iter().filter(|resource| !resource.left_out) {
        write::resource(&mut text, resource);
    }
    offered_now::offered_now(&model).write(&mut text);
    Introspected { text, tables: model.resources.len(), notes: model.notes }
}
