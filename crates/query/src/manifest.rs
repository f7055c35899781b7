//! The manifest file as written. Every fault names its line and what is accepted.

mod reader;

use std::fmt;

use crate::json::Json;

/// A parsed manifest: names and shapes are checked, references are not.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The resources in the order of the file.
    pub resources: Vec<ResourceDeclaration>,
}

/// `[resource.context.name]`
#[derive(Clone, Debug)]
pub struct ResourceDeclaration {
    /// The line of its header.
    pub line: usize,
    /// The context: the first part of its name.
    pub context: String,
    /// The resource's own name.
    pub name: String,
    /// `table`, when written.
    pub table: Option<String>,
    /// `plural`, when written.
    pub plural: Option<String>,
    /// `permission`, when written.
    pub permission: Option<String>,
    /// `soft-delete`, when written.
    pub soft_delete: Option<(String, usize)>,
    /// `constraint`, when written.
    pub constraint: Option<(Json, usize)>,
    /// `fields`
    pub fields: Vec<FieldDeclaration>,
    /// `relations`
    pub relations: Vec<RelationDeclaration>,
}

/// One entry of `fields`.
#[derive(Clone, Debug, Default)]
pub struct FieldDeclaration {
    /// Its line.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// `type`, `T` or `T[]`.
    pub kind: String,
    /// `key = true`
    pub key: bool,
    /// `column`
    pub column: Option<String>,
    /// `null = false`
    pub null: Option<bool>,
    /// `hidden = true`
    pub hidden: bool,
    /// `mask`
    pub mask: Option<String>,
    /// `unmask`
    pub unmask: Option<String>,
    /// `values` of an enum
    pub values: Option<Vec<String>>,
    /// `stored`, how a SQLite file stores a timestamp
    pub stored: Option<String>,
}

/// One entry of `relations`.
#[derive(Clone, Debug, Default)]
pub struct RelationDeclaration {
    /// Its line.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// `one` or `many`
    pub many: bool,
    /// The target resource, `context.name`.
    pub target: String,
    /// `through`: the pivot table.
    pub through: Option<String>,
    /// `on`: own field to field of the target, or to column of the pivot.
    pub on: Vec<(String, String)>,
    /// `to`: column of the pivot to field of the target.
    pub to: Vec<(String, String)>,
}

/// A fault of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what is accepted.
    pub message: String,
}

/// All faults of a manifest. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError(pub Vec<ManifestFault>);

impl ManifestError {
    /// The faults as `file:line: message`.
    pub fn in_file(&self, file: &str) -> String {
        let lines: Vec<String> = self.0.iter().map(|fault| format!("{file}:{}: {}", fault.line, fault.message)).collect();
        lines.join("\n")
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.in_file("manifest"))
    }
}

impl std::error::Error for ManifestError {}

impl Manifest {
    /// Parses a manifest.
    pub fn read(text: &str) -> Result<Self, ManifestError> {
        reader::read(text)
    }
}
