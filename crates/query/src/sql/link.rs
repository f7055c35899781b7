//! How rows of two tables are connected: EXISTS, and LEFT joins for dot-paths.

use crate::catalog::{Field, FieldId, Identifier, Link, Repeats, Resource, TableName};
use crate::plan::Join;
use crate::plan::predicate::{Alias, Column, Exists};

use super::Writer;
use super::dialect::{self, Pairs};
use super::predicate::Conjunction;

/// The ways to write a relation filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// From each row to its related rows.
    Followed,
    /// The same, kept apart from the planner of the query around.
    Fenced,
    /// The keys of all rows that have one, found once.
    Set,
}

/// At least one related row, its policy and the filter.
pub(super) fn exists(writer: &mut Writer, exists: &Exists<'_>, way: Writing) {
    if way == Writing::Set {
        return set(writer, exists);
    }
    writer.raw("EXISTS (SELECT 1 FROM ");
    let target = exists.table.resource;
    match &exists.relation.link {
        Link::Direct(pairs) => {
            named(writer, &target.table, exists.table.alias);
            writer.raw(" WHERE ");
            direct(writer, pairs, (exists.parent_resource, exists.parent), (target, exists.table.alias));
        }
        Link::Through { pivot, own, other, .. } => {
            pivot_and_target(writer, exists, pivot, other);
            writer.raw(" WHERE ");
            from_own(writer, own, (exists.parent_resource, exists.parent), Pivot::Table(exists.pivot));
        }
    }
    wanted(writer, exists);
    if way == Writing::Fenced {
        dialect::fence(writer);
    }
    writer.raw(")");
}

/// `(key IS NOT NULL AND key IN (SELECT … FROM …))`: the same, where the query inside does not look at the row around it. Neither side
/// of the IN is ever NULL, so that it is true or false, as EXISTS is.
fn set(writer: &mut Writer, exists: &Exists<'_>) {
    let target = exists.table.resource;
    let own = |id: FieldId| Column { alias: exists.parent, field: &exists.parent_resource.fields[id] };
    writer.raw("(");
    match &exists.relation.link {
        Link::Direct(pairs) => {
            let keys: Vec<_> = pairs.iter().map(|(left, right)| (own(*left), &target.fields[*right])).collect();
            key_in(writer, &keys, |writer, (key, other)| dialect::linked(writer, *key, other));
            let related = |right: FieldId| Column { alias: exists.table.alias, field: &target.fields[right] };
            writer.separated(", ", pairs, |writer, (left, right)| dialect::linked(writer, related(*right), own(*left).field));
            writer.raw(" FROM ");
            named(writer, &target.table, exists.table.alias);
            writer.raw(" WHERE ");
            writer.separated(" AND ", pairs, |writer, (_, right)| {
                writer.column(related(*right));
                writer.raw(" IS NOT NULL");
                dialect::connected(writer, related(*right));
            });
        }
        Link::Through { pivot, own: owns, other, .. } => {
            let keys: Vec<_> = owns.iter().map(|(id, _)| (own(*id), own(*id).field)).collect();
            key_in(writer, &keys, |writer, (key, _)| dialect::linked_to_pivot(writer, *key));
            let side = Pivot::Table(exists.pivot);
            writer.separated(", ", owns, |writer, (id, column)| pivot_side(writer, side, column, own(*id).field));
            writer.raw(" FROM ");
            pivot_and_target(writer, exists, pivot, other);
            writer.raw(" WHERE ");
            writer.separated(" AND ", owns, |writer, (id, column)| {
                pivot_side(writer, side, column, own(*id).field);
                writer.raw(" IS NOT NULL");
                dialect::pivot_fits(writer, own(*id).field, |writer| pivot_column(writer, exists.pivot, column));
            });
        }
    }
    wanted(writer, exists);
    dialect::fence(writer);
    writer.raw("))");
    dialect::fence_set(writer);
}

/// `key IS NOT NULL AND key IN (SELECT `, each key with the field it is compared with.
fn key_in<'f>(writer: &mut Writer, keys: &[(Column<'f>, &'f Field)], linked: impl Fn(&mut Writer, &(Column<'f>, &'f Field))) {
    for (key, _) in keys {
        writer.column(*key);
        writer.raw(" IS NOT NULL");
        dialect::connected(writer, *key);
        writer.raw(" AND ");
    }
    let several = keys.len() > 1;
    writer.raw(if several { "(" } else { "" });
    writer.separated(", ", keys, linked);
    writer.raw(if several { ") IN (SELECT " } else { " IN (SELECT " });
}

fn pivot_and_target(writer: &mut Writer, exists: &Exists<'_>, pivot: &TableName, other: &[(Identifier, FieldId)]) {
    let target = exists.table.resource;
    named(writer, pivot, exists.pivot);
    writer.raw(" JOIN ");
    named(writer, &target.table, exists.table.alias);
    writer.raw(" ON ");
    to_target(writer, other, Pivot::Table(exists.pivot), (target, exists.table.alias));
}

/// What must hold of the related row, after what connects it.
fn wanted(writer: &mut Writer, exists: &Exists<'_>) {
    Conjunction::started().write(writer, [exists.table.policy(), &exists.filter]);
}

/// A LEFT join whose ON holds the target's policy: a root without a match stays.
pub(super) fn left_join(writer: &mut Writer, join: &Join<'_>) {
    let target = join.table.resource;
    writer.raw(" LEFT JOIN ");
    match &join.relation.link {
        Link::Direct(pairs) => {
            named(writer, &target.table, join.table.alias);
            writer.raw(" ON ");
            direct(writer, pairs, (join.parent_resource, join.parent), (target, join.table.alias));
            Conjunction::started().write(writer, [join.table.policy()]);
        }
        Link::Through { pivot, own, other, .. } if dialect::pairs(writer.dialect) == Pairs::LookedUp => {
            named(writer, &target.table, join.table.alias);
            writer.raw(" ON ");
            let key = |id: FieldId| Column { alias: join.table.alias, field: &target.fields[id] };
            let keys: Vec<_> = other.iter().map(|(_, id)| (key(*id), key(*id).field)).collect();
            key_in(writer, &keys, |writer, (key, _)| dialect::linked_to_pivot(writer, *key));
            let side = Pivot::Table(join.pivot);
            writer.separated(", ", other, |writer, (column, id)| pivot_side(writer, side, column, key(*id).field));
            writer.raw(" FROM ");
            named(writer, pivot, join.pivot);
            writer.raw(" WHERE ");
            from_own(writer, own, (join.parent_resource, join.parent), side);
            for (column, id) in other {
                dialect::pivot_fits(writer, key(*id).field, |writer| pivot_column(writer, join.pivot, column));
            }
            writer.raw(")");
            Conjunction::started().write(writer, [join.table.policy()]);
        }
        Link::Through { pivot, own, other, repeats } => {
            writer.raw("(");
            writer.raw(select_pairs(*repeats));
            let own_fields = own.iter().map(|(id, column)| (column, &join.parent_resource.fields[*id]));
            let other_fields = other.iter().map(|(column, id)| (column, &target.fields[*id]));
            let mut columns: Vec<(&Identifier, &Field)> = own_fields.collect();
            // One that both sides share, as tenants do, is one column.
            columns.extend(other_fields.filter(|(column, _)| own.iter().all(|(_, shared)| shared != *column)));
            writer.separated(", ", columns, |writer, (column, field)| {
                dialect::pivot_read(writer, field, |writer| writer.identifier(column));
                dialect::pivot_collation(writer, field);
                writer.raw(" AS ");
                writer.identifier(column);
            });
            writer.raw(" FROM ");
            writer.table_name(pivot);
            writer.raw(") AS ");
            writer.alias(join.pivot);
            writer.raw(" JOIN ");
            named(writer, &target.table, join.table.alias);
            writer.raw(" ON ");
            to_target(writer, other, Pivot::Read(join.pivot), (target, join.table.alias));
            Conjunction::started().write(writer, [join.table.policy()]);
            writer.raw(") ON ");
            from_own(writer, own, (join.parent_resource, join.parent), Pivot::Read(join.pivot));
        }
    }
}

/// The beginning of a query for the pairs of a pivot: it may name one twice, the relation knows it once. To tell pairs apart is dear, and
/// no planner does anything with them before that is done.
pub(super) fn select_pairs(repeats: Repeats) -> &'static str {
    match repeats {
        Repeats::Perhaps => "(SELECT DISTINCT ",
        Repeats::Never => "(SELECT ",
    }
}

pub(super) fn named(writer: &mut Writer, table: &TableName, alias: Alias) {
    writer.table_name(table);
    writer.raw(" AS ");
    writer.alias(alias);
}

type Side<'c> = (&'c Resource, Alias);

fn direct(writer: &mut Writer, pairs: &[(FieldId, FieldId)], own: Side<'_>, other: Side<'_>) {
    writer.separated(" AND ", pairs, |writer, (left, right)| {
        let left = Column { alias: own.1, field: &own.0.fields[*left] };
        let right = Column { alias: other.1, field: &other.0.fields[*right] };
        dialect::linked(writer, right, left.field);
        writer.raw(" = ");
        dialect::linked(writer, left, right.field);
        dialect::found_by(writer, right, left);
        dialect::connected(writer, right);
        dialect::connected_to(writer, left, right.field);
    });
}

pub(super) fn pivot_column(writer: &mut Writer, pivot: Alias, column: &Identifier) {
    writer.alias(pivot);
    writer.raw(".");
    writer.identifier(column);
}

/// Where a pivot's columns come from.
#[derive(Clone, Copy)]
pub(super) enum Pivot {
    /// The table itself.
    Table(Alias),
    /// A query that has brought them to their form.
    Read(Alias),
}

pub(super) fn pivot_side(writer: &mut Writer, pivot: Pivot, column: &Identifier, field: &Field) {
    match pivot {
        Pivot::Table(alias) => dialect::pivot(writer, field, |writer| pivot_column(writer, alias, column)),
        Pivot::Read(alias) => pivot_column(writer, alias, column),
    }
}

fn to_target(writer: &mut Writer, other: &[(Identifier, FieldId)], pivot: Pivot, target: Side<'_>) {
    writer.separated(" AND ", other, |writer, (column, id)| {
        let field = Column { alias: target.1, field: &target.0.fields[*id] };
        dialect::linked_to_pivot(writer, field);
        writer.raw(" = ");
        pivot_side(writer, pivot, column, field.field);
        found(writer, pivot, column, field);
        dialect::connected(writer, field);
    });
}

fn from_own(writer: &mut Writer, own: &[(FieldId, Identifier)], parent: Side<'_>, pivot: Pivot) {
    writer.separated(" AND ", own, |writer, (id, column)| {
        let field = Column { alias: parent.1, field: &parent.0.fields[*id] };
        pivot_side(writer, pivot, column, field.field);
        writer.raw(" = ");
        dialect::linked_to_pivot(writer, field);
        found(writer, pivot, column, field);
        dialect::connected(writer, field);
    });
}

/// What else is to be said of a pivot's column that equals a field.
fn found(writer: &mut Writer, pivot: Pivot, column: &Identifier, field: Column<'_>) {
    if let Pivot::Table(alias) = pivot {
        let side = |writer: &mut Writer| pivot_column(writer, alias, column);
        dialect::pivot_found_by_text(writer, field.field, side, |writer| writer.column(field));
        dialect::pivot_fits(writer, field.field, side);
    }
}
