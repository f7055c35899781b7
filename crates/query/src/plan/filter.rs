//! `where` → predicates: connectors, relation filters, the bounds of depth and nodes, and the constraints of the manifest.

use crate::catalog::{Catalog, Field, Relation, Resource, ResourceId};
use crate::error::{Code, Error, shorten};
use crate::json::Json;
use crate::json::build::compact;
use crate::messages::did_you_mean;
use crate::parse::MAX_DEPTH;
use crate::pointer::{Layer, Location};
use crate::policy::Viewer;
use crate::statement::{Clause, Entry, Inside, Statement};
use crate::types::Type;

use super::order::OrderPosition;
use super::predicate::{Alias, Exists, Predicate};
use super::{Planner, Rights, Stage, Subject, Table};

impl<'c> Planner<'c, '_> {
    /// The clauses of all layers, each with its layer.
    pub(super) fn filters(&mut self, table: &Table<'c>, clauses: &[Clause]) -> Vec<(Layer, Predicate<'c>)> {
        clauses
            .iter()
            .map(|clause| {
                let layer = clause.at.layer;
                let subject = Subject { resource: table.resource, alias: table.alias, rights: Rights::of(layer) };
                let predicate = match layer {
                    _ if layer.is_manifest() => self.closing(subject, std::slice::from_ref(clause)),
                    _ => self.clause(subject, clause, 0),
                };
                (layer, predicate)
            })
            .collect()
    }

    pub(super) fn clause(&mut self, subject: Subject<'c>, clause: &Clause, depth: usize) -> Predicate<'c> {
        let all = clause.entries.iter().map(|entry| self.entry(subject, entry, depth)).collect();
        Predicate::all(all)
    }

    fn entry(&mut self, subject: Subject<'c>, entry: &Entry, depth: usize) -> Predicate<'c> {
        if self.faults.is_full() {
            return Predicate::Never;
        }
        match entry {
            Entry::And(at, _) | Entry::Or(at, _) | Entry::Not(at, _) if !self.descend(*at, depth) => Predicate::Never,
            Entry::And(_, clauses) => Predicate::all(clauses.iter().map(|clause| self.branch(subject, clause, depth + 1)).collect()),
            Entry::Or(_, clauses) => Predicate::any(clauses.iter().map(|clause| self.branch(subject, clause, depth + 1)).collect()),
            Entry::Not(_, clause) => self.clause(subject, clause, depth + 1).negate(),
            Entry::Refused => Predicate::Never,
            Entry::Malformed { at, code, message, .. } => {
                self.fault(*code, *at, message.clone());
                Predicate::Never
            }
            Entry::Named { name, at, inside } => self.named(subject, name, *at, inside, depth),
        }
    }

    /// One clause of a connector. Its entries count as nodes; an empty clause counts as one node.
    fn branch(&mut self, subject: Subject<'c>, clause: &Clause, depth: usize) -> Predicate<'c> {
        if clause.entries.is_empty() && !self.count_node(clause.at) {
            return Predicate::Never;
        }
        self.clause(subject, clause, depth)
    }

    /// Counts one more level of nesting. False if that is too deep.
    fn descend(&mut self, at: Location, depth: usize) -> bool {
        if depth >= MAX_DEPTH {
            self.fault(Code::Depth, at, format!("`where` nests at most {MAX_DEPTH} connectors and relation names; found {}", depth + 1));
            return false;
        }
        self.count_node(at)
    }

    fn named(&mut self, subject: Subject<'c>, name: &str, at: Location, inside: &Inside, depth: usize) -> Predicate<'c> {
        if let Some(relation) = self.usable_relation(subject.resource, name, subject.rights) {
            return match inside {
                Inside::Object(clause) => self.exists(subject, relation, clause, at, depth),
                Inside::Plain(json) => {
                    let message =
                        format!("`{name}` is a relation and takes a where clause, `{{}}` for \"has at least one\"; found {}", json.noun());
                    self.fault(Code::WrongShape, at, message);
                    Predicate::Never
                }
            };
        }
        let is_known = |(_, field): (_, &Field)| subject.rights == Rights::Manifest || self.viewer.knows(field);
        if !subject.resource.field(name).is_some_and(is_known) {
            if self.count_node(at) {
                self.unknown_name(subject, name, at);
            }
            return Predicate::Never;
        }
        let usable = self.usable_field(subject.resource, name, at, subject.rights).is_some();
        let Some((id, field)) = subject.resource.field(name) else {
            return Predicate::Never;
        };
        // Faults of the operators are reported even if the field cannot be used.
        let predicate = match inside {
            Inside::Object(clause) => self.operators(subject, id, clause),
            Inside::Plain(_) if !usable => Predicate::Never,
            Inside::Plain(json) => {
                self.bare(field, at, json);
                Predicate::Never
            }
        };
        if usable { predicate } else { Predicate::Never }
    }

    fn unknown_name(&mut self, Subject { resource, rights, .. }: Subject<'c>, name: &str, at: Location) {
        let known = match rights {
            Rights::Viewer => [self.field_names(resource), self.relation_names(resource)].concat(),
            Rights::Manifest => all_names(resource).collect(),
        };
        let hint = did_you_mean(name, &known);
        let name = shorten(name);
        self.fault(Code::UnknownField, at, format!("`{}` has no field or relation `{name}`{hint}", resource.full_name));
    }

    /// A value without an operator: the message suggests one.
    fn bare(&mut self, field: &Field, at: Location, json: &Json) {
        let name = &field.name;
        // A message never shows values of a constraint.
        let value = if at.layer == Layer::Constraint { "…".to_owned() } else { shorten(&compact(json)) };
        let (code, meant) = match (&field.kind, json) {
            (_, Json::Null) => (Code::BareValue, "{\"isNull\": true}".to_owned()),
            (Type::Array(_), Json::Array(_)) => (Code::WrongShape, format!("{{\"contains\": {value}}}")),
            (Type::Array(_), _) => (Code::BareValue, format!("{{\"contains\": [{value}]}}")),
            (Type::One(_), Json::Array(_)) => (Code::WrongShape, format!("{{\"in\": {value}}}")),
            (Type::One(_), _) => (Code::BareValue, format!("{{\"eq\": {value}}}")),
        };
        self.fault(code, at, format!("`{name}` takes an object of operators; write {{\"{name}\": {meant}}}"));
    }

    fn exists(&mut self, subject: Subject<'c>, relation: &'c Relation, clause: &Clause, at: Location, depth: usize) -> Predicate<'c> {
        if !self.descend(at, depth) {
            return Predicate::Never;
        }
        let Some(mut table) = Table::with_policy(self, relation.target, subject.rights) else {
            return Predicate::Never;
        };
        if subject.rights == Rights::Manifest && table.is_closed() {
            self.closed = true;
        }
        let pivot = self.alias();
        let inner = Subject { resource: table.resource, alias: table.alias, rights: subject.rights };
        let filter = self.clause(inner, clause, depth + 1);
        self.attach_lookups(&mut table);
        Predicate::Exists(Box::new(Exists { parent: subject.alias, parent_resource: subject.resource, relation, pivot, table, filter }))
    }

    pub(crate) fn constraint(&mut self, resource: &'c Resource, alias: Alias, constraint: &Statement) -> Predicate<'c> {
        self.closing(Subject { resource, alias, rights: Rights::Manifest }, &constraint.filters)
    }

    /// The clauses of a constraint. An absent or unfit variable closes all of them, also below `or` and `not`: they match no row. So does
    /// a relation to a resource with a closed constraint, because its missing rows would make a `not` true.
    pub(super) fn closing(&mut self, subject: Subject<'c>, clauses: &[Clause]) -> Predicate<'c> {
        let outer = std::mem::replace(&mut self.closed, false);
        let all = clauses.iter().map(|clause| self.clause(subject, clause, 0)).collect();
        let predicate = if self.closed { Predicate::Never } else { Predicate::all(all) };
        self.closed = outer;
        predicate
    }
}

/// Checks a constraint while a catalog is made: names, operators, and every value that is not a variable.
pub(crate) fn check_constraint(catalog: &Catalog, resource: ResourceId, constraint: &Statement) -> Result<(), Error> {
    let viewer = Viewer::operator();
    let mut planner = Planner::new(catalog, &viewer, constraint);
    planner.stage = Stage::Boot;
    if let Some(table) = Table::with_policy(&mut planner, resource, Rights::Manifest) {
        let subject = Subject { resource: table.resource, alias: table.alias, rights: Rights::Manifest };
        for clause in &constraint.filters {
            planner.clause(subject, clause, 0);
        }
        planner.ordered(&table, &constraint.order, OrderPosition::Root);
        for relation in &constraint.relations {
            planner.child(&table, relation, None);
        }
    }
    planner.faults.finish()
}

fn all_names(resource: &Resource) -> impl Iterator<Item = &str> {
    let relations = resource.relations.iter().map(|relation| relation.name.as_str());
    resource.fields.iter().map(|field| field.name.as_str()).chain(relations)
}
