//! The relations and account variables that the conditions of a manifest refer to, for `check` and for the search for cycles.

use std::collections::BTreeSet;

use crate::catalog::{Catalog, Constraint, Field, FieldId, Relation, Resource, ResourceId};
use crate::json::Json;
use crate::statement::{self, Clause, Entry, Inside, Statement};

#[derive(Clone, Debug)]
pub enum Reference<'c> {
    // The last relation of a dotted path such as `customer.country`.
    Relation { path: String, relation: &'c Relation, polarity: Polarity },
    // A derived field of related rows.
    Field { resource: ResourceId, field: FieldId },
    Variable(&'c str),
}

/// Whether a condition is below a `not`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    Positive,
    Negated,
}

/// A condition of the manifest on rows.
#[derive(Clone, Debug)]
pub struct RowCondition<'c> {
    pub kind: ConditionKind<'c>,
    pub line: usize,
    pub references: Vec<Reference<'c>>,
}

/// Where the manifest declares a condition.
#[derive(Clone, Copy, Debug)]
pub enum ConditionKind<'c> {
    Constraint,
    Scope,
    Check,
    /// The `where` of a derived field.
    DerivedField(&'c Field),
}

impl Catalog {
    /// The conditions of a resource: its constraint, `scope` and `check` of its writes, and the `where` of its derived fields.
    pub fn conditions(&self, id: ResourceId) -> Vec<RowCondition<'_>> {
        let resource = self.resource(id);
        let rules = resource.write.as_ref();
        let declared = [
            (ConditionKind::Constraint, resource.constraint.as_ref()),
            (ConditionKind::Scope, rules.and_then(|rules| rules.scope.as_ref())),
            (ConditionKind::Check, rules.and_then(|rules| rules.check.as_ref())),
        ];
        let conditions = declared.into_iter().filter_map(|(kind, constraint)| {
            let Constraint { statement, line, .. } = constraint?;
            Some(RowCondition { kind, line: *line, references: references_of_statement(self, id, statement) })
        });
        let derived = resource.fields.iter().filter_map(|field| {
            let related = field.related()?;
            let references = references_of_statement(self, resource.relations[related.relation].target, related.filter.as_ref()?);
            Some(RowCondition { kind: ConditionKind::DerivedField(field), line: field.line, references })
        });
        conditions.chain(derived).collect()
    }

    /// The resources whose rows every write of a resource reads: its own, those that a new reference can lead to, and all that constraints,
    /// `scope`, `check` and derived fields follow from there. A write with `returning` may read more.
    pub fn read_by_writes(&self, id: ResourceId) -> BTreeSet<ResourceId> {
        let resource = self.resource(id);
        let mut open: Vec<ResourceId> = vec![id];
        open.extend(resource.relations.iter().filter(|relation| !relation.many).map(|relation| relation.target));
        let own = self.conditions(id).into_iter().flat_map(|condition| condition.references);
        let shown = (0..resource.fields.len()).flat_map(|field| references_of_field(self, id, field));
        let mut references: Vec<Reference<'_>> = own.chain(shown).collect();
        let (mut reached, mut fields) = (BTreeSet::new(), BTreeSet::new());
        loop {
            for reference in std::mem::take(&mut references) {
                match reference {
                    Reference::Relation { relation, .. } => open.push(relation.target),
                    Reference::Field { resource, field } if fields.insert((resource, field)) => {
                        references.extend(references_of_field(self, resource, field));
                    }
                    Reference::Field { .. } | Reference::Variable(_) => {}
                }
            }
            let Some(next) = open.pop() else { break };
            if reached.insert(next) {
                references.extend(references_of_constraint(self, next));
            }
        }
        reached
    }
}

/// What the `where` of a constraint refers to.
pub(super) fn references_of_constraint(catalog: &Catalog, id: ResourceId) -> Vec<Reference<'_>> {
    let mut walk = Walk { catalog, references: Vec::new() };
    if let Some(constraint) = &catalog.resource(id).constraint {
        let start = Position::of(id, catalog.resource(id));
        constraint.statement.filters.iter().for_each(|clause| walk.clause(&start, clause));
    }
    walk.references
}

/// What a condition on rows of a resource refers to, with the relations that it loads.
fn references_of_statement<'c>(catalog: &'c Catalog, id: ResourceId, statement: &'c Statement) -> Vec<Reference<'c>> {
    let mut walk = Walk { catalog, references: Vec::new() };
    let start = Position::of(id, catalog.resource(id));
    statement.filters.iter().for_each(|clause| walk.clause(&start, clause));
    statement.relations.iter().for_each(|node| walk.node(&start, node));
    walk.references
}

/// What the value of a derived field refers to: its relation, what it measures, and what its `where` names.
pub(super) fn references_of_field(catalog: &Catalog, id: ResourceId, field: FieldId) -> Vec<Reference<'_>> {
    let resource = catalog.resource(id);
    let mut walk = Walk { catalog, references: Vec::new() };
    if let Some(related) = resource.fields[field].related() {
        let relation = &resource.relations[related.relation];
        let target = Position::of(id, resource).below(catalog, relation);
        walk.references.push(Reference::Relation { path: relation.name.clone(), relation, polarity: Polarity::Positive });
        walk.references.extend(related.measured.and_then(|field| target.derived(field)));
        related.filter.iter().flat_map(|statement| &statement.filters).for_each(|clause| walk.clause(&target, clause));
    }
    walk.references
}

struct Walk<'c> {
    catalog: &'c Catalog,
    references: Vec<Reference<'c>>,
}

/// The place of a clause in a constraint.
struct Position<'c> {
    id: ResourceId,
    resource: &'c Resource,
    path: String,
    polarity: Polarity,
}

impl<'c> Position<'c> {
    fn of(id: ResourceId, resource: &'c Resource) -> Self {
        Position { id, resource, path: String::new(), polarity: Polarity::Positive }
    }

    /// A reference to a field, if it is computed from related rows.
    fn derived(&self, field: FieldId) -> Option<Reference<'c>> {
        self.resource.fields[field].related()?;
        Some(Reference::Field { resource: self.id, field })
    }

    fn below(&self, catalog: &'c Catalog, relation: &'c Relation) -> Self {
        let path = if self.path.is_empty() { relation.name.clone() } else { format!("{}.{}", self.path, relation.name) };
        Position { id: relation.target, resource: catalog.resource(relation.target), path, polarity: self.polarity }
    }

    fn negated(&self) -> Self {
        Position { id: self.id, resource: self.resource, path: self.path.clone(), polarity: Polarity::Negated }
    }
}

impl<'c> Walk<'c> {
    fn clause(&mut self, position: &Position<'c>, clause: &'c Clause) {
        for entry in &clause.entries {
            match entry {
                Entry::And(_, clauses) | Entry::Or(_, clauses) => clauses.iter().for_each(|clause| self.clause(position, clause)),
                Entry::Not(_, clause) => self.clause(&position.negated(), clause),
                Entry::Named { name, inside, .. } => self.named(position, name, inside),
                Entry::Refused | Entry::Malformed { .. } => {}
            }
        }
    }

    fn named(&mut self, position: &Position<'c>, name: &str, inside: &'c Inside) {
        match (position.resource.relation(name), inside) {
            (Some(relation), Inside::Object(clause)) => {
                let below = position.below(self.catalog, relation);
                self.references.push(Reference::Relation { path: below.path.clone(), relation, polarity: below.polarity });
                self.clause(&below, clause);
            }
            // The operators of a field have the shape of a clause.
            (None, Inside::Object(clause)) => {
                self.references.extend(position.resource.field(name).and_then(|(id, _)| position.derived(id)));
                self.clause(position, clause);
            }
            (_, Inside::Plain(json)) => self.value(json),
        }
    }

    fn value(&mut self, json: &'c Json) {
        match json {
            Json::Text(text) if text.starts_with("$account.") => self.references.push(Reference::Variable(text)),
            Json::Array(items) => items.iter().for_each(|item| self.value(item)),
            _ => {}
        }
    }

    /// A relation that the constraint loads.
    fn node(&mut self, position: &Position<'c>, node: &'c statement::RelationNode) {
        let Some(relation) = position.resource.relation(&node.name) else { return };
        let below = position.below(self.catalog, relation);
        node.filters.iter().for_each(|clause| self.clause(&below, clause));
        node.relations.iter().for_each(|nested| self.node(&below, nested));
    }
}
