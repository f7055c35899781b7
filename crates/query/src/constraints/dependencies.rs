//! The relations and account variables that the conditions of a manifest depend on, for `check` and for the search for cycles.

use std::collections::BTreeSet;

use crate::catalog::{Catalog, Constraint, Field, FieldId, Relation, Resource, ResourceId};
use crate::json::Json;
use crate::statement::{self, Clause, Entry, Inside, Statement};

/// What a condition of the manifest depends on.
#[derive(Clone, Debug)]
pub enum ConditionDependency<'c> {
    /// The last relation of a dotted path such as `customer.country`.
    Relation {
        path: String,
        relation: &'c Relation,
        polarity: Polarity,
    },
    /// A derived field of related rows.
    Field {
        resource: ResourceId,
        field: FieldId,
    },
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
    pub dependencies: Vec<ConditionDependency<'c>>,
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
            Some(RowCondition { kind, line: *line, dependencies: dependencies_of_statement(self, id, statement) })
        });
        let derived = resource.fields.iter().filter_map(|field| {
            let related = field.related()?;
            let dependencies = dependencies_of_statement(self, resource.relations[related.relation].target, related.filter.as_ref()?);
            Some(RowCondition { kind: ConditionKind::DerivedField(field), line: field.line, dependencies })
        });
        conditions.chain(derived).collect()
    }

    /// The resources whose rows every write of a resource reads: its own, those that a new reference can lead to, and all that constraints,
    /// `scope`, `check` and derived fields follow from there. A write with `returning` may read more.
    pub fn read_by_writes(&self, id: ResourceId) -> BTreeSet<ResourceId> {
        let resource = self.resource(id);
        let mut open: Vec<ResourceId> = vec![id];
        open.extend(resource.relations.iter().filter(|relation| !relation.many).map(|relation| relation.target));
        let own = self.conditions(id).into_iter().flat_map(|condition| condition.dependencies);
        let shown = (0..resource.fields.len()).flat_map(|field| dependencies_of_field(self, id, field));
        let mut dependencies: Vec<ConditionDependency<'_>> = own.chain(shown).collect();
        let (mut reached, mut fields) = (BTreeSet::new(), BTreeSet::new());
        loop {
            for dependency in std::mem::take(&mut dependencies) {
                match dependency {
                    ConditionDependency::Relation { relation, .. } => open.push(relation.target),
                    ConditionDependency::Field { resource, field } if fields.insert((resource, field)) => {
                        dependencies.extend(dependencies_of_field(self, resource, field));
                    }
                    ConditionDependency::Field { .. } | ConditionDependency::Variable(_) => {}
                }
            }
            let Some(next) = open.pop() else { break };
            if reached.insert(next) {
                dependencies.extend(dependencies_of_constraint(self, next));
            }
        }
        reached
    }
}

/// What the `where` of a constraint depends on.
pub(super) fn dependencies_of_constraint(catalog: &Catalog, id: ResourceId) -> Vec<ConditionDependency<'_>> {
    let mut walk = Walk { catalog, dependencies: Vec::new() };
    if let Some(constraint) = &catalog.resource(id).constraint {
        let start = Position::of(id, catalog.resource(id));
        constraint.statement.filters.iter().for_each(|clause| walk.clause(&start, clause));
    }
    walk.dependencies
}

/// What a condition on rows of a resource depends on, with the relations that it loads.
fn dependencies_of_statement<'c>(catalog: &'c Catalog, id: ResourceId, statement: &'c Statement) -> Vec<ConditionDependency<'c>> {
    let mut walk = Walk { catalog, dependencies: Vec::new() };
    let start = Position::of(id, catalog.resource(id));
    statement.filters.iter().for_each(|clause| walk.clause(&start, clause));
    statement.relations.iter().for_each(|node| walk.node(&start, node));
    walk.dependencies
}

/// What the value of a derived field depends on: its relation, what it measures, and what its `where` names.
pub(super) fn dependencies_of_field(catalog: &Catalog, id: ResourceId, field: FieldId) -> Vec<ConditionDependency<'_>> {
    let resource = catalog.resource(id);
    let mut walk = Walk { catalog, dependencies: Vec::new() };
    if let Some(related) = resource.fields[field].related() {
        let relation = &resource.relations[related.relation];
        let target = Position::of(id, resource).below(catalog, relation);
        walk.dependencies.push(ConditionDependency::Relation { path: relation.name.clone(), relation, polarity: Polarity::Positive });
        walk.dependencies.extend(related.measured.and_then(|field| target.derived(field)));
        related.filter.iter().flat_map(|statement| &statement.filters).for_each(|clause| walk.clause(&target, clause));
    }
    walk.dependencies
}

struct Walk<'c> {
    catalog: &'c Catalog,
    dependencies: Vec<ConditionDependency<'c>>,
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

    /// The dependency on a field, if it is computed from related rows.
    fn derived(&self, field: FieldId) -> Option<ConditionDependency<'c>> {
        self.resource.fields[field].related()?;
        Some(ConditionDependency::Field { resource: self.id, field })
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
                self.dependencies.push(ConditionDependency::Relation { path: below.path.clone(), relation, polarity: below.polarity });
                self.clause(&below, clause);
            }
            // The operators of a field have the shape of a clause.
            (None, Inside::Object(clause)) => {
                self.dependencies.extend(position.resource.field(name).and_then(|(id, _)| position.derived(id)));
                self.clause(position, clause);
            }
            (_, Inside::Plain(json)) => self.value(json),
        }
    }

    fn value(&mut self, json: &'c Json) {
        match json {
            Json::Text(text) if text.starts_with("$account.") => self.dependencies.push(ConditionDependency::Variable(text)),
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
