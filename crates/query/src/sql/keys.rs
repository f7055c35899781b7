//! How a relation's rows are found for a whole batch of parents: their keys are bound as one table, and joined with the target's, by way of
//! a pivot where there is one.

use crate::catalog::{Field, FieldId, Identifier, Link, Repeats, Resource, TableName};
use crate::plan::Child;
use crate::plan::predicate::{Alias, Column};

use super::Writer;
use super::dialect;
use super::link::{Pivot, named, pivot_column, pivot_side, select_pairs};

/// The keys of all parents of a batch, as the table `k` with their number `n`.
pub(super) struct KeySource<'c> {
    own: Vec<&'c Field>,
    target: &'c Resource,
    /// The target's name in the query.
    alias: Alias,
    pub(super) way: Way<'c>,
}

/// A key of one column that equals one field of the target.
pub(super) struct Single<'c> {
    pub(super) own: &'c Field,
    pub(super) other: FieldId,
}

/// How the keys lead to the target.
#[derive(Clone, Copy)]
pub(super) enum Way<'c> {
    /// They equal these fields of it.
    Direct(&'c [(FieldId, FieldId)]),
    /// They equal columns of a pivot, whose others equal fields of it.
    Through(Crossing<'c>),
}

/// A pivot, and what it connects.
#[derive(Clone, Copy)]
pub(super) struct Crossing<'c> {
    pivot: &'c TableName,
    alias: Alias,
    own: &'c [(FieldId, Identifier)],
    other: &'c [(Identifier, FieldId)],
    repeats: Repeats,
}

impl<'c> KeySource<'c> {
    pub(super) fn new(parent: &'c Resource, child: &Child<'c>) -> Self {
        let link = &child.relation.link;
        let own = link.own_fields().into_iter().map(|id| &parent.fields[id]).collect();
        let way = match link {
            Link::Direct(pairs) => Way::Direct(pairs),
            Link::Through { pivot, own, other, repeats } => {
                Way::Through(Crossing { pivot, alias: child.pivot, own, other, repeats: *repeats })
            }
        };
        let table = &child.select.scope.table;
        KeySource { own, target: table.resource, alias: table.alias, way }
    }

    /// The only column of the keys, where it equals a field of the target itself.
    pub(super) fn single(&self) -> Option<Single<'c>> {
        match (self.own.as_slice(), self.way) {
            ([own], Way::Direct([(_, other)])) => Some(Single { own, other: *other }),
            _ => None,
        }
    }

    /// The keys themselves.
    pub(super) fn write(&self, writer: &mut Writer) {
        dialect::keys(writer, &self.own);
    }

    /// The parents' numbers and the pivot's columns that lead to the target, each pair once.
    pub(super) fn write_crossed(&self, writer: &mut Writer, crossing: Crossing<'_>) {
        writer.raw(select_pairs(crossing.repeats));
        writer.raw("k.n, ");
        self.crossed_columns(writer, crossing);
        writer.raw(" FROM ");
        self.write(writer);
        dialect::forced_join(writer);
        named(writer, crossing.pivot, crossing.alias);
        writer.raw(" ON ");
        self.equal_pivot(writer, crossing);
        writer.raw(") AS k");
    }

    /// For one key: the pivot's columns that lead to the target, each once.
    pub(super) fn crossed_of_key(&self, writer: &mut Writer, crossing: Crossing<'_>) {
        writer.raw(select_pairs(crossing.repeats));
        self.crossed_columns(writer, crossing);
        writer.raw(" FROM ");
        named(writer, crossing.pivot, crossing.alias);
        writer.raw(" WHERE ");
        self.equal_pivot(writer, crossing);
        writer.raw(") AS x");
    }

    fn crossed_columns(&self, writer: &mut Writer, crossing: Crossing<'_>) {
        writer.enumerated(", ", crossing.other, |writer, index, (column, id)| {
            pivot_side(writer, Pivot::Table(crossing.alias), column, &self.target.fields[*id]);
            dialect::pivot_collation(writer, &self.target.fields[*id]);
            writer.raw(" AS x");
            writer.number(index);
        });
    }

    fn equal_pivot(&self, writer: &mut Writer, crossing: Crossing<'_>) {
        writer.enumerated(" AND ", crossing.own, |writer, index, (_, column)| {
            pivot_side(writer, Pivot::Table(crossing.alias), column, self.own[index]);
            dialect::pivot_collation(writer, self.own[index]);
            let key = |writer: &mut Writer| numbered(writer, "k.v", index);
            writer.raw(" = ");
            key(writer);
            let column = |writer: &mut Writer| pivot_column(writer, crossing.alias, column);
            dialect::pivot_found_by_text(writer, self.own[index], column, key);
            dialect::pivot_fits(writer, self.own[index], column);
        });
        for (column, id) in crossing.other {
            dialect::pivot_fits(writer, &self.target.fields[*id], |writer| pivot_column(writer, crossing.alias, column));
        }
    }

    /// Target = key.
    pub(super) fn equal_target(&self, writer: &mut Writer, pairs: &[(FieldId, FieldId)]) {
        writer.enumerated(" AND ", pairs, |writer, index, (_, right)| {
            let column = Column { alias: self.alias, field: &self.target.fields[*right] };
            let key = |writer: &mut Writer| numbered(writer, "k.v", index);
            dialect::linked_to_key(writer, column, self.own[index]);
            writer.raw(" = ");
            key(writer);
            dialect::found_by_text(writer, column, key);
            dialect::connected(writer, column);
        });
    }

    /// Target = pivot, where the pivot's columns are `k.x0`, … or `x.x0`, …
    pub(super) fn equal_crossed(&self, writer: &mut Writer, crossing: Crossing<'_>, crossed: &'static str) {
        writer.enumerated(" AND ", crossing.other, |writer, index, (_, id)| {
            let field = Column { alias: self.alias, field: &self.target.fields[*id] };
            let crossed = |writer: &mut Writer| numbered(writer, crossed, index);
            dialect::linked_to_pivot(writer, field);
            writer.raw(" = ");
            crossed(writer);
            dialect::found_by_text(writer, field, crossed);
            dialect::connected(writer, field);
        });
    }
}

/// `k.v0`
fn numbered(writer: &mut Writer, name: &'static str, number: usize) {
    writer.raw(name);
    writer.number(number);
}
