//! Writes a manifest from a live database: tables and views, types, keys, and relations from the foreign keys.
//!
//! [`manifest`] declares everything, and lists it in comments at the end. [`update`] adds only what is in neither the manifest nor that list,
//! so deliberate deletions stay deleted.

mod draft;
mod fields;
mod kind;
mod model;
mod naming;
mod native;
mod offered_list;
mod offered_now;
mod relation_names;
mod sample;
mod through;
mod update;
mod write;
mod writes;

use query::sql::Dialect;

use crate::schema::Schema;

pub(crate) use kind::kind_of;
pub use naming::OWN_TYPES;
pub(crate) use native::{native, takes_values};
pub use sample::sample;
pub use update::{Update, UpdateError, update};

const HEADER: &str = "\
# Written by `peristyle introspect` from the live database.
# What is not declared here cannot be read, filtered, sorted, grouped or loaded. This file declares everything and
# protects nothing: trim it, and add permissions, masks and constraints, before others can reach the server.
";

const WRITABLE_HEADER: &str = "\
# An account that writes needs the permissions of [….write].
";

/// What a manifest offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedAccess {
    ReadOnly,
    /// Writes too, as far as the table and the database user allow them.
    Writable,
}

#[derive(Clone, Debug)]
pub struct Introspected {
    pub text: String,
    /// How many tables and views it declares, pivots included.
    pub tables: usize,
    /// Its comments on what is left out or needs a look.
    pub notes: Vec<String>,
}

/// A manifest of all tables and views, without writes. It passes `check` unedited.
pub fn manifest(schema: &Schema, dialect: Dialect) -> String {
    introspect(schema, dialect, OfferedAccess::ReadOnly).text
}

/// A manifest of all tables and views, with its notes. It passes `check` unedited.
pub fn introspect(schema: &Schema, dialect: Dialect, access: OfferedAccess) -> Introspected {
    let mut model = draft::draft(schema, dialect, None);
    relation_names::connect(&mut model);
    let mut text = String::from(HEADER);
    if access == OfferedAccess::Writable {
        writes::offer(&mut model);
        text.push_str(WRITABLE_HEADER);
    }
    for note in &model.notes {
        write::note(&mut text, note);
    }
    for resource in model.resources.iter().filter(|resource| !resource.left_out) {
        write::resource(&mut text, resource);
    }
    offered_now::offered_now(&model).write(&mut text);
    let drafts = model.resources.iter().filter(|draft| !draft.left_out);
    let of_resources = drafts.flat_map(|draft| draft.notes.iter().map(|note| format!("{}: {note}", draft.full_name())));
    let notes = model.notes.iter().cloned().chain(of_resources).collect();
    Introspected { text, tables: model.resources.len(), notes }
}
