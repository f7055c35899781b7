//! Constraints of the manifest: checked at boot, planned for each viewer.

use crate::catalog::{Catalog, Resource, ResourceId};
use crate::error::Error;
use crate::policy::Viewer;
use crate::statement::{Clause, Statement};

use super::filter::Subject;
use super::predicate::{Alias, Predicate};
use super::{Planner, Rights, Stage, Table};

impl<'c> Planner<'c, '_> {
    /// The constraint of a resource for this viewer.
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

/// Checks a constraint at boot: names, operators, and every value that is not a variable.
pub(crate) fn check_constraint(catalog: &Catalog, resource: ResourceId, constraint: &Statement) -> Result<(), Error> {
    let viewer = Viewer::operator();
    let mut planner = Planner::new(catalog, &viewer, constraint);
    planner.stage = Stage::Boot;
    if let Some(table) = Table::reach(&mut planner, resource, Rights::Manifest) {
        let subject = Subject { resource: table.resource, alias: table.alias, rights: Rights::Manifest };
        for clause in &constraint.filters {
            planner.clause(subject, clause, 0);
        }
        planner.ordered(&table, &constraint.order, super::order::OrderPosition::Root);
        for relation in &constraint.relations {
            planner.child(&table, relation);
        }
    }
    planner.faults.finish()
}
