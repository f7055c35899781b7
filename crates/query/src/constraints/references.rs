//! The relations and account variables that a constraint refers to, for `check` and for the search for cycles.

use crate::catalog::{Catalog, FieldId, Relation, Resource, ResourceId};
use crate::json::Json;
use crate::statement::{self, Clause, Entry, Inside};

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

impl Catalog {
    /// The line of a resource's constraint and its references.
    pub fn constraint_references<'c>(&'c self, resource: &'c Resource) -> Option<(usize, Vec<Reference<'c>>)> {
        let constraint = resource.constraint.as_ref()?;
        let mut walk = Walk { catalog: self, references: Vec::new() };
        let start = Position::of(self.by_name(&resource.full_name)?, resource);
        constraint.statement.filters.iter().for_each(|clause| walk.clause(&start, clause));
        constraint.statement.relations.iter().for_each(|node| walk.node(&start, node));
        Some((constraint.line, walk.references))
    }
}

impl Resource {
    /// The fields that every row in reach of an account has in common with it: the constraint compares them with a variable of the account.
    /// `None` without a constraint.
    pub fn account_fields(&self) -> Option<Vec<FieldId>> {
        let mut fields = Vec::new();
        self.constraint.as_ref()?.statement.filters.iter().for_each(|clause| add_account_fields(self, clause, &mut fields));
        Some(fields)
    }
}

fn add_account_fields(resource: &Resource, clause: &Clause, fields: &mut Vec<FieldId>) {
    for entry in &clause.entries {
        match entry {
            Entry::And(_, clauses) => clauses.iter().for_each(|clause| add_account_fields(resource, clause, fields)),
            Entry::Named { name, inside: Inside::Object(operators), .. } => {
                let id = resource.field(name).map(|(id, _)| id);
                fields.extend(id.filter(|_| operators.entries.iter().any(equals_variable)));
            }
            _ => {}
        }
    }
}

/// Whether an operator is `eq` or `in` with a variable of the account.
fn equals_variable(operator: &Entry) -> bool {
    match operator {
        Entry::Named { name, inside: Inside::Plain(Json::Text(text)), .. } => {
            matches!(&**name, "eq" | "in") && text.starts_with("$account.")
        }
        _ => false,
    }
}

/// What the `where` of a constraint refers to.
pub(super) fn references_of_constraint(catalog: &Catalog, id: ResourceId) -> Vec<Reference<'_>> {
    let resource = catalog.resource(id);
    let mut walk = Walk { catalog, references: Vec::new() };
    if let Some(constraint) = &resource.constraint {
        let start = Position::of(id, resource);
        constraint.statement.filters.iter().for_each(|clause| walk.clause(&start, clause));
    }
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
