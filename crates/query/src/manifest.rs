//! The manifest file as written. Every fault names its line and what is accepted.

mod reader;

use std::fmt;

use crate::json::Json;

/// The most rows that `max-rows` may allow.
pub const MAX_WRITE_ROWS: u64 = 10_000;

/// A parsed manifest: names and shapes are checked, references are not.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    pub resources: Vec<ResourceDeclaration>,
    /// The faults of names and shapes. The catalog reports them together with its own.
    pub(crate) faults: Vec<ManifestFault>,
    /// The resources that are left out because they have a fault.
    pub(crate) broken: Vec<String>,
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
    pub permission_line: usize,
    /// `public = true`: that it has no permission is meant.
    pub public: bool,
    pub soft_delete: Option<(String, usize)>,
    pub constraint: Option<(Json, usize)>,
    pub write: Option<WriteDeclaration>,
    pub fields: Vec<FieldDeclaration>,
    pub relations: Vec<RelationDeclaration>,
    /// The fields, relations and keys that are left out because they have a fault. What needs one of them is not judged.
    pub(crate) broken: Vec<String>,
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
    /// When a client may write it; `None` means never.
    pub write: Option<FieldWrite>,
    pub write_permission: Option<String>,
    pub preset: PresetDeclaration,
    pub rules: RuleDeclarations,
}

/// `[….write]`: the operations that a resource has, and their rules.
#[derive(Clone, Debug, Default)]
pub struct WriteDeclaration {
    pub line: usize,
    pub create: Option<OperationRight>,
    pub update: Option<OperationRight>,
    pub delete: Option<OperationRight>,
    pub restore: Option<(OperationRight, usize)>,
    /// The permissions of these operations, each with its line.
    pub permissions: Vec<(String, usize)>,
    pub scope: Option<(Json, usize)>,
    pub check: Option<(Json, usize)>,
    pub max_rows: Option<u64>,
    pub version: Option<(String, usize)>,
    pub keys: Vec<(Vec<String>, usize)>,
}

/// The right to use an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationRight {
    /// `true`
    Everyone,
    Permission(String),
}

/// `write` of a field: the operations in which a payload may have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldWrite {
    pub create: bool,
    pub update: bool,
}

/// `preset` of a field: the value that the server writes.
#[derive(Clone, Debug, Default)]
pub struct PresetDeclaration {
    pub create: Option<Json>,
    pub update: Option<Json>,
}

/// The value rules of a field.
#[derive(Clone, Debug, Default)]
pub struct RuleDeclarations {
    pub min: Option<Json>,
    pub max: Option<Json>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<String>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
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
