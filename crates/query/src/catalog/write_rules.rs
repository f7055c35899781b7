//! What may be written: the operations of a resource, and the rules of each field.

use regex::Regex;

use crate::json::Json;
use crate::manifest::{FieldWrite, OperationRight};
use crate::value::Value;

use super::{ColumnLimit, Constraint, Field, FieldId, Identifier, Relation, Resource, TableName, TypeName};

words! {
    /// The operations that change rows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WriteOperation {
        Create = "create",
        Update = "update",
        Delete = "delete",
        Restore = "restore",
    }
}

/// The writes of a resource. An operation without a right does not exist.
#[derive(Debug)]
pub struct WriteRules {
    pub line: usize,
    pub(crate) create: Option<OperationRight>,
    pub(crate) update: Option<OperationRight>,
    pub(crate) delete: Option<OperationRight>,
    pub(crate) restore: Option<OperationRight>,
    /// The permissions of these operations, each with its line.
    pub(crate) permissions: Vec<(String, usize)>,
    /// What a row must be before it is changed or deleted.
    pub(crate) scope: Option<Constraint>,
    /// What a row must be after it was created or changed.
    pub(crate) check: Option<Constraint>,
    /// How many rows an update or a delete by query may change.
    pub max_rows: u64,
    /// The number that every update raises by one.
    pub version: Option<FieldId>,
    /// The unique keys beside the primary key that the manifest names.
    pub keys: Vec<(Vec<FieldId>, usize)>,
    /// From a key to the row with this key.
    pub(crate) key_relation: Relation,
    pub facts: TableFacts,
}

/// What the database enforces in a table. Read while a catalog is made.
#[derive(Clone, Debug, Default)]
pub struct TableFacts {
    /// The unique keys, the primary key among them. Partial indexes and indexes on expressions are constraints only.
    pub unique_keys: Vec<Vec<FieldId>>,
    pub constraints: Vec<TableConstraint>,
    /// The unique indexes on expressions, or on some rows only.
    pub indexes: Vec<UniqueIndex>,
    /// The foreign keys whose columns all have fields, and whose targets the database user may read.
    pub foreign_keys: Vec<TableForeignKey>,
    /// The foreign keys of other tables that lead to this one: their names on PostgreSQL, empty strings on SQLite.
    pub referring: Vec<String>,
    /// The fields that they lead to.
    pub referred: Vec<FieldId>,
    /// The generated columns, with the fields that each is computed from.
    pub sources: Vec<(String, Vec<FieldId>)>,
    /// SQLite: whether a constraint of the table says itself what a conflict does, such as `ON CONFLICT REPLACE`.
    pub decides_conflicts: bool,
    /// PostgreSQL: what columns hold that are narrower than the types of their fields.
    pub limits: Vec<(FieldId, ColumnLimit)>,
}

impl TableFacts {
    /// Whether the table has a foreign key of these fields.
    pub(crate) fn has_foreign_key(&self, fields: &[FieldId]) -> bool {
        let is_of =
            |constraint: &&TableConstraint| constraint.kind == ConstraintKind::ForeignKey && constraint.fields.len() == fields.len();
        self.constraints.iter().filter(is_of).any(|constraint| constraint.fields.iter().all(|field| fields.contains(field)))
    }
}

/// A constraint of the database, found by its name where a write breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableConstraint {
    /// On PostgreSQL its name. SQLite names checks only; its other errors name columns.
    pub name: String,
    pub kind: ConstraintKind,
    /// The fields of its columns; columns without a field are left out.
    pub fields: Vec<FieldId>,
}

/// A unique index on expressions, or on some rows only.
#[derive(Clone, Debug)]
pub struct UniqueIndex {
    /// Those of its constraint.
    pub fields: Vec<FieldId>,
    /// The columns of its key and of its condition.
    pub columns: Vec<IndexColumn>,
    pub parts: Vec<IndexPart>,
    /// As the database writes it.
    pub condition: Option<String>,
}

/// A column that an index depends on.
#[derive(Clone, Debug)]
pub struct IndexColumn {
    pub name: Identifier,
    pub field: Option<FieldId>,
    /// Whether the database has a value for a new row without one.
    pub is_filled: bool,
    pub is_generated: bool,
}

/// A column or an expression of an index.
#[derive(Clone, Debug)]
pub struct IndexPart {
    /// As the database writes it.
    pub expression: String,
    /// SQLite: how it compares.
    pub collation: Option<Identifier>,
}

/// A foreign key, and the columns that it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableForeignKey {
    pub(crate) fields: Vec<FieldId>,
    pub(crate) target: TableName,
    /// In the order of the fields.
    pub(crate) target_columns: Vec<Identifier>,
}

impl TableForeignKey {
    pub fn new(fields: Vec<FieldId>, (schema, target): (Option<&str>, &str), target_columns: &[String]) -> Self {
        let target = TableName { schema: schema.map(Identifier::new), name: Identifier::new(target) };
        TableForeignKey { fields, target, target_columns: target_columns.iter().map(|column| Identifier::new(column)).collect() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    Unique,
    ForeignKey,
    Check,
    Exclusion,
}

impl WriteRules {
    pub fn right(&self, operation: WriteOperation) -> Option<&OperationRight> {
        match operation {
            WriteOperation::Create => self.create.as_ref(),
            WriteOperation::Update => self.update.as_ref(),
            WriteOperation::Delete => self.delete.as_ref(),
            WriteOperation::Restore => self.restore.as_ref(),
        }
    }

    /// Every permission of the operations and of their rules, with its line.
    pub(super) fn permissions(&self) -> impl Iterator<Item = (&str, usize)> {
        let of_operations = self.permissions.iter().map(|(name, line)| (name.as_str(), *line));
        let rules = [&self.scope, &self.check].into_iter().flatten();
        of_operations.chain(rules.filter_map(|rule| Some((rule.unless.as_deref()?, rule.line))))
    }

    /// Whether it says which rows can be changed.
    pub fn has_scope(&self) -> bool {
        self.scope.is_some()
    }

    /// Whether it says what a row must be after a write.
    pub fn has_check(&self) -> bool {
        self.check.is_some()
    }

    /// The operations that everyone may use.
    pub fn open_operations(&self) -> impl Iterator<Item = WriteOperation> + '_ {
        self.operations().filter(|operation| self.right(*operation) == Some(&OperationRight::Everyone))
    }

    /// The operations that exist.
    pub fn operations(&self) -> impl Iterator<Item = WriteOperation> + '_ {
        WriteOperation::ALL.into_iter().filter(|operation| self.right(*operation).is_some())
    }
}

/// The rules for writing a field.
#[derive(Debug, Default)]
pub struct FieldRules {
    /// When a payload may have it.
    pub write: Option<FieldWrite>,
    /// The permission that a caller needs to write it.
    pub permission: Option<String>,
    pub(crate) create_preset: Option<Preset>,
    pub(crate) update_preset: Option<Preset>,
    pub values: ValueRules,
    /// Whether the database has a value for a row without one. Read while a catalog is made.
    pub has_default: bool,
    /// PostgreSQL: the enum type that a text, or each text of an array, is cast to. Read while a catalog is made.
    pub enum_type: Option<TypeName>,
}

/// The value that the server writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Preset {
    /// `$account.…`
    Account(String),
    /// `$now`: the instant of the transaction.
    Now,
    /// `$uuid`: a new one for each row.
    Uuid,
    Literal(Value),
}

/// Bounds of the values that a payload may have.
#[derive(Debug, Default)]
pub struct ValueRules {
    pub(crate) min: Option<Bound>,
    pub(crate) max: Option<Bound>,
    /// In characters.
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub(crate) pattern: Option<Pattern>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
}

/// The smallest or largest value.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) value: Value,
    /// As the manifest writes it, for messages and descriptions.
    pub(crate) json: Json,
}

/// A pattern that the whole value must match.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// As the manifest writes it.
    pub(crate) source: String,
    pub(crate) regex: Regex,
}

impl ValueRules {
    pub fn is_empty(&self) -> bool {
        let ValueRules { min, max, min_length, max_length, pattern, min_items, max_items } = self;
        min.is_none()
            && max.is_none()
            && pattern.is_none()
            && [min_length, max_length, min_items, max_items].into_iter().all(Option::is_none)
    }

    /// `min` as the manifest has it.
    pub fn min_json(&self) -> Option<&Json> {
        self.min.as_ref().map(|bound| &bound.json)
    }

    /// `max` as the manifest has it.
    pub fn max_json(&self) -> Option<&Json> {
        self.max.as_ref().map(|bound| &bound.json)
    }

    /// The pattern as a regular expression of the whole value.
    pub fn pattern(&self) -> Option<String> {
        self.pattern.as_ref().map(|pattern| format!("^(?:{})$", pattern.source))
    }
}

impl Field {
    /// Whether a payload of this operation may have the field at all.
    pub fn is_writable(&self, operation: WriteOperation) -> bool {
        self.rules.write.is_some_and(|write| match operation {
            WriteOperation::Create => write.create,
            WriteOperation::Update => write.update,
            WriteOperation::Delete | WriteOperation::Restore => false,
        })
    }

    pub(crate) fn preset(&self, operation: WriteOperation) -> Option<&Preset> {
        match operation {
            WriteOperation::Create => self.rules.create_preset.as_ref(),
            // A soft delete and a restore change the row.
            WriteOperation::Update | WriteOperation::Delete | WriteOperation::Restore => self.rules.update_preset.as_ref(),
        }
    }

    /// Whether an update can add to it.
    pub fn is_number(&self) -> bool {
        self.kind.is_number()
    }

    /// Whether the server writes it in this operation.
    pub fn has_preset(&self, operation: WriteOperation) -> bool {
        self.preset(operation).is_some()
    }

    /// Whether a new row needs a value of the payload.
    pub fn is_required(&self) -> bool {
        self.is_writable(WriteOperation::Create) && !self.nullable && !self.rules.has_default
    }
}

impl Resource {
    /// The writes of the resource, if it has any.
    pub fn write_rules(&self) -> Option<&WriteRules> {
        self.write.as_ref()
    }

    /// The fields by which a row can refer to another row of the resource.
    pub(crate) fn references_to_itself(&self) -> impl Iterator<Item = Vec<FieldId>> + '_ {
        let own = self.write.as_ref().map(|write| write.key_relation.target);
        let leads_back = move |relation: &&Relation| !relation.many && Some(relation.target) == own;
        self.relations.iter().filter(leads_back).map(|relation| relation.join_columns.own_fields())
    }

    /// Whether the operation exists.
    pub fn has_write(&self, operation: WriteOperation) -> bool {
        self.write.as_ref().is_some_and(|write| write.right(operation).is_some())
    }
}
