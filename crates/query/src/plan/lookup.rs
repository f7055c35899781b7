//! Values of derived fields that are computed from related rows. A query looks each of them up once for a row.

use crate::catalog::{Field, FieldId, RelatedValue, Relation, Resource};
use crate::error::Code;
use crate::manifest::RelatedFunction;

use super::predicate::{Alias, Column, Predicate};
use super::{MAX_JOINED_TABLES, Planner, Rights, Subject, Table};

/// A value computed from the related rows of each row of a table.
#[derive(Debug)]
pub(crate) struct Lookup<'c> {
    pub(crate) alias: Alias,
    pub(crate) used: LookupUse,
    /// The table that declares the field.
    pub(crate) parent: Alias,
    pub(crate) parent_resource: &'c Resource,
    pub(crate) relation: &'c Relation,
    pub(crate) pivot: Alias,
    pub(crate) table: Table<'c>,
    pub(crate) filter: Predicate<'c>,
    pub(crate) function: RelatedFunction,
    pub(crate) measured: Option<Column<'c>>,
    /// The first field with this declaration.
    pub(crate) field: &'c Field,
    /// The account lacks a variable that decides which related rows count.
    closed: bool,
}

/// What a value is looked up for. The later ones need it earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LookupUse {
    /// For the rows of the answer only.
    Shown,
    /// To sort, group or measure rows.
    Order,
    /// To choose rows.
    Filter,
}

impl<'c> Planner<'c, '_> {
    /// The column of a field. The value of a derived field is looked up, once for all its uses.
    pub(super) fn column(&mut self, subject: Subject<'c>, id: FieldId, used: LookupUse) -> Column<'c> {
        let field = &subject.resource.fields[id];
        let Some(related) = field.related().filter(|_| !self.is_at_boot()) else {
            return Column { alias: subject.alias, field };
        };
        let first = &subject.resource.fields[related.same_as];
        let is_same = |lookup: &Lookup<'c>| lookup.parent == subject.alias && std::ptr::eq(lookup.field, first);
        let found = self.lookups.iter().position(is_same).or_else(|| {
            let lookup = self.look_up(subject, first, related, used)?;
            self.lookups.push(lookup);
            Some(self.lookups.len() - 1)
        });
        // There are too many tables, which is a fault.
        let Some(lookup) = found.map(|index| &mut self.lookups[index]) else { return Column { alias: subject.alias, field } };
        lookup.used = lookup.used.max(used);
        if subject.rights == Rights::Manifest {
            self.closed |= lookup.closed;
        }
        Column { alias: lookup.alias, field }
    }

    fn look_up(&mut self, subject: Subject<'c>, field: &'c Field, related: &'c RelatedValue, used: LookupUse) -> Option<Lookup<'c>> {
        let alias = self.alias();
        let relation = &subject.resource.relations[related.relation];
        // The viewer knows the field, so it may read the target.
        let mut table = Table::with_policy(self, relation.target, Rights::Manifest)?;
        let pivot = self.alias();
        let target = Subject { resource: table.resource, alias: table.alias, rights: Rights::Manifest };
        let filter = related.filter.as_ref().map_or(Predicate::Always, |statement| self.closing(target, &statement.filters));
        let measured = related.measured.map(|id| self.column(target, id, LookupUse::Filter));
        self.attach_lookups(&mut table);
        let closed = table.is_closed() || matches!(filter, Predicate::Never);
        let (parent, parent_resource, function) = (subject.alias, subject.resource, related.function);
        Some(Lookup { alias, used, parent, parent_resource, relation, pivot, table, filter, function, measured, field, closed })
    }

    /// Attaches the lookups of its fields to a table. Called once all its uses are planned.
    pub(super) fn attach_lookups(&mut self, table: &mut Table<'c>) {
        self.move_lookups(table);
        self.check_joined(table.joined_lookups());
    }

    pub(super) fn move_lookups(&mut self, table: &mut Table<'c>) {
        let of_table = |lookup: &mut Lookup<'c>| lookup.parent == table.alias;
        table.lookups.extend(self.lookups.extract_if(.., of_table));
    }

    /// Refuses a query that joins too many tables and lookups.
    pub(super) fn check_joined(&mut self, joined: usize) {
        if joined > MAX_JOINED_TABLES {
            let message = format!("a statement joins at most {MAX_JOINED_TABLES} tables and derived fields of related rows at one level");
            self.faults.add(Code::Entries, || "/query".into(), message);
        }
    }
}
