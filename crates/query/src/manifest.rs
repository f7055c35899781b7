//! The manifest file as written. Every fault names its line and what is accepted.

mod reader;

use std::fmt;

use crate::json::Json;

/// A parsed manifest: names and shapes are checked, references are not.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    pub resources: Vec<ResourceDeclaration>,
}

/// `[resource.context.name]`
#[derive(Clone, Debug)]
pub struct ResourceDeclaration {
    pub line: usize,
    pub context: String,
    pub name: String,
    pub table: Option<String>,
    pub plural: Option<String>,
    pub permission: Option<String>,
    /// `public = true`: that it has no permission is meant.
    pub public: bool,
    pub soft_delete: Option<(String, usize)>,
    pub constraint: Option<(Json, usize)>,
    pub fields: Vec<FieldDeclaration>,
    pub relations: Vec<RelationDeclaration>,
}

#[derive(Clone, Debug, Default)]
pub struct FieldDeclaration {
    pub line: usize,
    pub name: String,
    /// `type`, `T` or `T[]`.
    pub kind: String,
    pub key: bool,
    pub column: Option<String>,
    pub null: Option<bool>,
    pub hidden: bool,
    pub mask: Option<String>,
    pub unmask: Option<String>,
    pub values: Option<Vec<String>>,
    /// `stored`, how a SQLite file stores a timestamp
    pub stored: Option<String>,
    /// How its value is computed, if it has no column.
    pub derived: Option<DerivedDeclaration>,
    pub eager: Option<bool>,
}

/// The declaration of a derived field.
#[derive(Clone, Debug)]
pub enum DerivedDeclaration {
    /// `count = "orders"`, `sum = "orders.total"`
    Related { function: RelatedFunction, of: String, filter: Option<Json> },
    /// `json = "profile", path = ["plan", "tier"]`
    JsonPath { of: String, path: Vec<String> },
    /// `bucket = "month", of = "placedAt", zone = "Europe/Berlin"`
    Bucket { unit: String, of: String, zone: Option<String> },
}

words! {
    /// What a derived field computes from related rows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RelatedFunction {
        Count = "count",
        Sum = "sum",
        Min = "min",
        Max = "max",
        Avg = "avg",
        Exists = "exists",
    }
}

#[derive(Clone, Debug, Default)]
pub struct RelationDeclaration {
    pub line: usize,
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFault {
    /// The line, from 1.
    pub line: usize,
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
