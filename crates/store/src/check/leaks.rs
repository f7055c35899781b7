//! Warns of writes whose refusal or effect reveals rows out of reach: conflicts on unique keys, references that only a foreign key judges,
//! and deletes that affect the rows of other tables.

use query::catalog::write_rules::{ConstraintKind, WriteOperation, WriteRules};
use query::catalog::{Field, FieldId, JoinColumns, Relation, Resource, ResourceId, TableName};
use query::manifest::OperationRight;
use query::messages::quoted_list;

use crate::schema::{ForeignKey, NamedConstraint, OnDelete, Table, same};

use super::Checker;
use super::table_facts::field_of;
use super::write_columns::is_written;

impl<'c> Checker<'c> {
    /// Warns of unique keys that rows out of reach share with rows in reach: a conflict reveals that such a row exists.
    pub(super) fn conflict_leaks(&mut self, resource: &'c Resource, table: &Table, rules: &WriteRules) {
        let mut found: Vec<(&[String], &[String])> = Vec::new();
        for constraint in &table.constraints {
            let key = (constraint.columns.as_slice(), constraint.condition.as_slice());
            let is_unique = matches!(constraint.kind, ConstraintKind::Unique | ConstraintKind::Exclusion);
            // The partitions of a table repeat its keys.
            if !is_unique || !self.is_payload(resource, &table.with_sources(key.0)) || found.contains(&key) {
                continue;
            }
            found.push(key);
            let messages =
                [self.reveals_rows_hidden_by_constraint(resource, constraint), self.reveals_deleted_rows(resource, table, constraint)];
            for message in messages.into_iter().flatten() {
                self.warning(rules.line, format!("resource `{}`: {message}, if that matters", resource.full_name));
            }
        }
    }

    /// Whether a payload can choose a value of the key.
    fn is_payload(&self, resource: &Resource, columns: &[String]) -> bool {
        let fields = columns.iter().filter_map(|column| field_of(resource, column, self.dialect));
        fields.map(|id| &resource.fields[id]).any(|field| is_written(resource, field))
    }

    fn has_column(&self, columns: &[String], field: &Field) -> bool {
        columns.iter().any(|column| same(field.column.plain(), column, self.dialect))
    }

    /// How a conflict reveals rows that the constraint hides.
    fn reveals_rows_hidden_by_constraint(&self, resource: &Resource, constraint: &NamedConstraint) -> Option<String> {
        let columns = &constraint.columns;
        let fields = self.catalog.constraint_fields(resource);
        let (inside, outside): (Vec<_>, Vec<_>) =
            fields.into_iter().partition(|field| self.has_column(columns, &resource.fields[field.id]));
        let names = |ids: Vec<FieldId>| quoted_list(&ids.into_iter().map(|id| resource.fields[id].name.as_str()).collect::<Vec<_>>());
        let key = columns.join(", ");
        if !outside.is_empty() {
            let outside_count = outside.len();
            let missing = names(outside.into_iter().map(|field| field.id).collect());
            let message = format!("a conflict on the unique key ({key}) tells a caller of rows that `constraint` hides");
            let noun = if outside_count == 1 { "column" } else { "columns" };
            return Some(format!("{message}; add the {noun} of {missing} to the unique key"));
        }
        let is_chosen = |id: &FieldId| is_written(resource, &resource.fields[*id]);
        let chosen: Vec<FieldId> = inside.iter().filter(|field| !field.is_reference).map(|field| field.id).filter(is_chosen).collect();
        if chosen.is_empty() {
            return None;
        }
        let written = names(chosen);
        let message = format!(
            "a payload can have {written}, by which `constraint` hides rows, so a conflict on the unique key ({key}) tells of them"
        );
        Some(format!("{message}; set it by `preset` instead of `write`"))
    }

    /// How a conflict reveals deleted rows.
    fn reveals_deleted_rows(&self, resource: &Resource, table: &Table, constraint: &NamedConstraint) -> Option<String> {
        let mark = resource.soft_delete()?;
        if self.has_column(&constraint.condition, mark) || self.has_column(&constraint.columns, mark) {
            return None;
        }
        let (key, column) = (constraint.columns.join(", "), mark.column.plain());
        let is_primary = constraint.columns == table.primary_key;
        let accepted = if is_primary {
            "let the database or a `preset` make the key".to_owned()
        } else {
            format!("make it a unique index with a condition on {column}, such as WHERE {column} IS NULL")
        };
        Some(format!("a conflict on the unique key ({key}) tells of deleted rows, whose values cannot be used again; {accepted}"))
    }

    /// Warns of foreign keys that alone judge what a payload refers to: by 201 or 422 they tell whether a row exists that the caller cannot read.
    pub(super) fn reference_leaks(&mut self, resource: &'c Resource, table: &Table, rules: &WriteRules) {
        for foreign_key in &table.foreign_keys {
            if !self.is_payload(resource, &foreign_key.columns) {
                continue;
            }
            let fields: Vec<FieldId> = foreign_key.columns.iter().filter_map(|column| field_of(resource, column, self.dialect)).collect();
            let Some((what, accepted)) = self.unread_target(resource, (&fields, foreign_key)) else { continue };
            let written = fields.iter().map(|id| &resource.fields[*id]).filter(|field| is_written(resource, field));
            let written = quoted_list(&written.map(|field| field.name.as_str()).collect::<Vec<_>>());
            let key = foreign_key.columns.join(", ");
            let message = format!("by the foreign key ({key}), a write of {written} tells {what}");
            self.warning(
                rules.line,
                format!("resource `{}`: {message}; {accepted}, or set {written} by `preset`, if that matters", resource.full_name),
            );
        }
    }

    /// The rows that a writer may not be able to read although the foreign key tells of them, and how to keep them secret.
    fn unread_target(&self, resource: &Resource, (fields, foreign_key): (&[FieldId], &ForeignKey)) -> Option<(String, String)> {
        let table = self.schema.find(Some(&foreign_key.schema), &foreign_key.table, self.dialect);
        let is_target =
            |name: &TableName| self.schema.table(name, self.dialect).zip(table).is_some_and(|(found, table)| std::ptr::eq(found, table));
        // A relation over the foreign key leads to rows that the caller can read, or the write is refused before.
        let judges = |relation: &&Relation| {
            let JoinColumns::Direct(pairs) = &relation.join_columns else { return false };
            !relation.many && is_target(&self.catalog.resource(relation.target).table) && pairs.iter().all(|(own, _)| fields.contains(own))
        };
        let untold = |target: &Resource, permission: &str| {
            format!("a caller without the permission `{permission}` whether a row of `{}` exists", target.full_name)
        };
        let mut lacking = None;
        for relation in resource.relations.iter().filter(judges) {
            let target = self.catalog.resource(relation.target);
            let permission = target.permission.as_deref().filter(|permission| !needs(resource, fields, permission))?;
            lacking = Some((untold(target, permission), format!("give `{permission}` to everybody who may write")));
        }
        if lacking.is_some() {
            return lacking;
        }
        let accepted = "declare a `one` relation over it, which must lead to a row that the caller can read".to_owned();
        let mut behind = self.catalog.resources().iter().filter(|resource| is_target(&resource.table)).peekable();
        if behind.peek().is_none() {
            return Some((format!("whether a row of `{}` exists, and no resource shows its rows", foreign_key.table), accepted));
        }
        let reasons = behind.map(|target| {
            let name = &target.full_name;
            match &target.permission {
                _ if target.has_constraint() => Some(format!("whether a row of `{name}` exists, also one that its constraint hides")),
                _ if target.soft_delete().is_some() => Some(format!("whether a row of `{name}` exists, also a deleted one")),
                Some(permission) if !needs(resource, fields, permission) => Some(untold(target, permission)),
                _ => None,
            }
        });
        // One resource that shows all of them is enough.
        let reasons = reasons.collect::<Option<Vec<String>>>()?;
        Some((reasons.into_iter().next()?, accepted))
    }

    /// Warns of foreign keys by which a delete affects rows that the caller may not see.
    pub(super) fn delete_leaks(&mut self, id: ResourceId, table: &Table, rules: &WriteRules) {
        let resource = self.catalog.resource(id);
        if rules.right(WriteOperation::Delete).is_none() || resource.soft_delete().is_some() {
            return;
        }
        let schema = self.schema;
        for (other, foreign_key) in self.referring(table) {
            if let Some(rows) = self.unseen_rows((id, WriteOperation::Delete), other, foreign_key) {
                let effect = match foreign_key.on_delete {
                    OnDelete::Refuse => "are told by 409 `IN_USE`, since they refuse the delete",
                    OnDelete::Delete => "are deleted too (ON DELETE CASCADE)",
                    OnDelete::Change => "are changed (ON DELETE SET NULL or SET DEFAULT)",
                };
                let (columns, shown) = (foreign_key.columns.join(", "), schema.shown(other, self.dialect));
                let message = format!("by the foreign key ({columns}) of `{shown}`, {rows} {effect}");
                let accepted = "declare `soft-delete`, or remove `delete`, if that matters";
                self.warning(
                    rules.line,
                    format!("resource `{}`: `delete` meets rows out of reach: {message}; {accepted}", resource.full_name),
                );
            }
        }
    }

    /// Warns of foreign keys to unique columns that an update changes: rows that the caller may not see stop it, or change too.
    pub(super) fn update_leaks(&mut self, id: ResourceId, table: &Table, rules: &WriteRules) {
        let resource = self.catalog.resource(id);
        if rules.right(WriteOperation::Update).is_none() {
            return;
        }
        let (schema, dialect) = (self.schema, self.dialect);
        let is_changed = |column: &String| {
            let field = field_of(resource, column, dialect).map(|id| &resource.fields[id]);
            field.is_some_and(|field| field.is_writable(WriteOperation::Update))
        };
        for (other, foreign_key) in self.referring(table) {
            if foreign_key.target_columns.iter().any(is_changed)
                && let Some(rows) = self.unseen_rows((id, WriteOperation::Update), other, foreign_key)
            {
                let (columns, shown) = (foreign_key.columns.join(", "), schema.shown(other, dialect));
                let changed = foreign_key.target_columns.join(", ");
                let message = format!("by the foreign key ({columns}) of `{shown}`, {rows} refuse it with 409 `IN_USE`, or change too");
                self.warning(
                    rules.line,
                    format!(
                        "resource `{}`: an update of ({changed}) meets rows out of reach: {message}; use `write = \"create\"`, if that matters",
                        resource.full_name
                    ),
                );
            }
        }
    }

    /// The foreign keys that lead to a table, with their tables.
    fn referring(&self, table: &Table) -> Vec<(&'c Table, &'c ForeignKey)> {
        let dialect = self.dialect;
        let is_target = |key: &&ForeignKey| same(&key.schema, &table.schema, dialect) && same(&key.table, &table.name, dialect);
        let others = self.schema.tables.iter().filter(|other| !other.is_partition_or_extension);
        others.flat_map(|other| other.foreign_keys.iter().filter(is_target).map(move |key| (other, key))).collect()
    }

    /// The rows of a referring table that a caller may not see although it may write the row that they refer to by this operation.
    fn unseen_rows(&self, (target, operation): (ResourceId, WriteOperation), table: &Table, foreign_key: &ForeignKey) -> Option<String> {
        let is_table = |name: &TableName| self.schema.table(name, self.dialect).is_some_and(|found| std::ptr::eq(found, table));
        let resources = || self.catalog.resources().iter();
        let is_pivot = |join: &JoinColumns| matches!(join, JoinColumns::Through { pivot, .. } if is_table(pivot));
        if resources().flat_map(|resource| &resource.relations).any(|relation| is_pivot(&relation.join_columns)) {
            return None;
        }
        let mut behind = resources().enumerate().filter(|(_, resource)| is_table(&resource.table)).peekable();
        if behind.peek().is_none() {
            return Some("rows that no resource shows".to_owned());
        }
        let right = self.catalog.resource(target).write_rules().and_then(|rules| rules.right(operation));
        let is_needed = |permission: &str| matches!(right, Some(OperationRight::Permission(needed)) if needed == permission);
        let reasons = behind.map(|(id, resource)| {
            let column = |resource: ResourceId, name: &str| field_of(self.catalog.resource(resource), name, self.dialect);
            let pairs = foreign_key.columns.iter().zip(&foreign_key.target_columns);
            let pairs: Vec<(FieldId, FieldId)> =
                pairs.filter_map(|(own, other)| Some((column(id, own)?, column(target, other)?))).collect();
            match () {
                () if !self.catalog.is_in_reach_with(id, &pairs, target) => {
                    Some(format!("rows of `{}` that its constraint hides", resource.full_name))
                }
                () if resource.soft_delete().is_some() => Some(format!("deleted rows of `{}`", resource.full_name)),
                () => {
                    let permission = resource.permission.as_deref().filter(|permission| !is_needed(permission))?;
                    Some(format!("rows of `{}` that a caller without the permission `{permission}` cannot see", resource.full_name))
                }
            }
        });
        // One resource that shows all of them is enough.
        reasons.collect::<Option<Vec<String>>>().and_then(|reasons| reasons.into_iter().next())
    }
}

/// Whether every write of one of these fields needs the permission.
fn needs(resource: &Resource, fields: &[FieldId], permission: &str) -> bool {
    let field_needs = |id: &FieldId| resource.fields[*id].rules.permission.as_deref() == Some(permission);
    let is_needed = |operation: WriteOperation| {
        let mut written = fields.iter().filter(|id| resource.fields[**id].is_writable(operation));
        match resource.write_rules().and_then(|rules| rules.right(operation)) {
            Some(OperationRight::Permission(needed)) if needed == permission => true,
            Some(_) => written.all(field_needs),
            None => true,
        }
    };
    is_needed(WriteOperation::Create) && is_needed(WriteOperation::Update)
}
