//! The fields that decide whether a row is in reach, for the warnings of `check` about what a refused write reveals.

use crate::catalog::{Catalog, Constraint, FieldId, JoinColumns, Relation, Resource, ResourceId};
use crate::manifest::OperationRight;
use crate::statement::{Clause, Entry, Inside};

/// A field that a constraint depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstraintField {
    pub id: FieldId,
    /// Whether a payload that writes it is checked before the database is asked: it refers to one row, which must be in reach.
    pub is_reference: bool,
}

impl Catalog {
    /// The fields that decide whether the constraint holds for a row: rows that are equal in all of them are in reach together or not at all.
    pub fn constraint_fields(&self, resource: &Resource) -> Vec<ConstraintField> {
        let mut found = Vec::new();
        let constraint = resource.constraint.as_ref();
        let clauses = constraint.iter().flat_map(|constraint| &constraint.statement.filters);
        clauses.for_each(|clause| self.add_fields(resource, clause, &mut found));
        found
    }

    fn add_fields(&self, resource: &Resource, clause: &Clause, found: &mut Vec<ConstraintField>) {
        for entry in &clause.entries {
            match entry {
                Entry::And(_, clauses) | Entry::Or(_, clauses) => {
                    for clause in clauses {
                        self.add_fields(resource, clause, found);
                    }
                }
                Entry::Not(_, clause) => self.add_fields(resource, clause, found),
                Entry::Named { name, .. } => match (resource.relation(name), resource.field(name)) {
                    (Some(relation), _) => self.add_join_fields(resource, relation, found),
                    (None, Some((id, field))) => match (field.source(), field.related()) {
                        (Some(source), _) => add(found, source, false),
                        (None, Some(related)) => self.add_join_fields(resource, &resource.relations[related.relation], found),
                        (None, None) => add(found, id, false),
                    },
                    (None, None) => {}
                },
                Entry::Refused | Entry::Malformed { .. } => {}
            }
        }
    }

    /// The related rows of a row depend on its join columns alone. Only a caller who can read the target is held to rows in reach.
    fn add_join_fields(&self, resource: &Resource, relation: &Relation, found: &mut Vec<ConstraintField>) {
        let is_direct = !relation.many && matches!(relation.join_columns, JoinColumns::Direct(_));
        let is_reference = is_direct && is_read_by_writers(resource, self.resource(relation.target));
        relation.join_columns.own_fields().into_iter().for_each(|field| add(found, field, is_reference));
    }
}

/// Whether every account that may write the resource can read the target, as far as permissions tell. A reader of the resource counts.
fn is_read_by_writers(resource: &Resource, target: &Resource) -> bool {
    let Some(permission) = &target.permission else { return true };
    let is_needed = |right: &OperationRight| matches!(right, OperationRight::Permission(name) if name == permission);
    let rights = resource.write_rules().into_iter().flat_map(|rules| [rules.create.as_ref(), rules.update.as_ref()]).flatten();
    resource.permission.as_ref() == Some(permission) || rights.clone().next().is_some() && rights.clone().all(is_needed)
}

fn add(found: &mut Vec<ConstraintField>, field: FieldId, is_reference: bool) {
    match found.iter_mut().find(|known| known.id == field) {
        Some(known) => known.is_reference &= is_reference,
        None => found.push(ConstraintField { id: field, is_reference }),
    }
}

impl Catalog {
    /// Whether the rows that refer to a row in reach are all in reach: each condition of their constraint asks for that row, or is one that the
    /// constraint of the row has on an equal field. `pairs` are the fields of a foreign key, and the fields that they refer to.
    pub fn is_in_reach_with(&self, referring: ResourceId, pairs: &[(FieldId, FieldId)], target: ResourceId) -> bool {
        let (own, other) = (self.resource(referring), self.resource(target));
        let Some(Constraint { statement, .. }) = &own.constraint else { return true };
        let others = other.constraint.iter().flat_map(|constraint| joined_conditions(&constraint.statement.filters));
        let others: Vec<(FieldId, &Inside)> = others
            .filter_map(|entry| match entry {
                Entry::Named { name, inside, .. } => Some((other.field(name)?.0, inside)),
                _ => None,
            })
            .collect();
        joined_conditions(&statement.filters).into_iter().all(|entry| match entry {
            Entry::Named { name, inside, .. } => match (own.relation(name), inside) {
                (Some(relation), Inside::Object(clause)) => {
                    relation.target == target && clause.entries.is_empty() && joins(relation, pairs)
                }
                (Some(_), Inside::Plain(_)) => false,
                (None, _) => {
                    let paired = own.field(name).and_then(|(id, _)| pairs.iter().find(|(field, _)| *field == id));
                    paired.is_some_and(|(_, field)| others.iter().any(|(id, other)| id == field && is_same(inside, other)))
                }
            },
            _ => false,
        })
    }
}

/// The conditions that all must hold.
fn joined_conditions(clauses: &[Clause]) -> Vec<&Entry> {
    let entries = clauses.iter().flat_map(|clause| &clause.entries);
    entries.flat_map(|entry| if let Entry::And(_, clauses) = entry { joined_conditions(clauses) } else { vec![entry] }).collect()
}

fn joins(relation: &Relation, pairs: &[(FieldId, FieldId)]) -> bool {
    matches!(&relation.join_columns, JoinColumns::Direct(joined) if !relation.many && joined.iter().all(|pair| pairs.contains(pair)))
}

/// Whether two conditions on a field are written alike.
fn is_same(left: &Inside, right: &Inside) -> bool {
    match (left, right) {
        (Inside::Plain(left), Inside::Plain(right)) => left == right,
        (Inside::Object(left), Inside::Object(right)) => {
            left.entries.len() == right.entries.len()
                && left.entries.iter().zip(&right.entries).all(|(left, right)| match (left, right) {
                    (Entry::Named { name, inside, .. }, Entry::Named { name: other, inside: others, .. }) => {
                        name == other && is_same(inside, others)
                    }
                    _ => false,
                })
        }
        _ => false,
    }
}
