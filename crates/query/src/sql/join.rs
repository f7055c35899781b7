//! How rows of two tables are joined: for a relation filter, for a dot-path, and from the keys of a batch of parents.

use crate::catalog::{Field, FieldId, Identifier, JoinColumns, Repeats, Resource, TableName};
use crate::plan::predicate::{Alias, Column, Exists};
use crate::plan::{Child, Join};

use super::dialect::{self, Dialect, PathJoin, PivotJoin};
use super::tree::{
    ColumnNames, ColumnUse, Condition, Conditions, ExistsForm, Expression, FromItem, JoinCondition, JoinConditions, JoinKind, KeyIn,
    Operand, PivotColumn, PivotUse, SelectList, SqlJoin, SqlSelect, TableAlias,
};

/// A table on one side of a join.
#[derive(Clone, Copy)]
pub(super) struct Side<'p> {
    pub(super) resource: &'p Resource,
    pub(super) alias: Alias,
}

impl<'p> Side<'p> {
    pub(super) fn table(self) -> FromItem<'p> {
        FromItem::Table(&self.resource.table, TableAlias::Plan(self.alias))
    }

    pub(super) fn field(self, id: FieldId) -> &'p Field {
        &self.resource.fields[id]
    }

    pub(super) fn column(self, id: FieldId) -> Column<'p> {
        Column { alias: self.alias, field: self.field(id) }
    }

    pub(super) fn operand(self, id: FieldId) -> Operand<'p> {
        Operand::Column(self.column(id))
    }

    /// The column of a pivot that stands for a field of this table.
    pub(super) fn pivot_column(self, alias: Alias, column: &'p Identifier, id: FieldId) -> PivotColumn<'p> {
        PivotColumn { alias: Some(alias), column, field: self.field(id) }
    }
}

type Sources<'p> = (FromItem<'p>, Vec<SqlJoin<'p>>);

/// A relation filter: at least one related row meets the filters.
pub(super) fn relation_filter<'p>(
    exists: &'p Exists<'p>,
    form: ExistsForm,
    filters: Vec<Condition<'p>>,
    lookups: Vec<SqlJoin<'p>>,
    dialect: Dialect,
) -> Condition<'p> {
    let own = Side { resource: exists.parent_resource, alias: exists.parent };
    let target = Side { resource: exists.table.resource, alias: exists.table.alias };
    let pivot = exists.pivot;
    let (from, mut joins) = match &exists.relation.join_columns {
        JoinColumns::Direct(_) => (target.table(), Vec::new()),
        JoinColumns::Through { pivot: table, own: pairs, other, .. } => {
            let pairs_of_pivot = match dialect::strategies(dialect).path_join {
                PathJoin::Table => FromItem::Table(table, TableAlias::Plan(pivot)),
                // The keys are a set, so no pair must be removed.
                PathJoin::Columns => {
                    let separate = exists.relation.placement.is_separate_from_pivot;
                    let all = SqlSelect { separate, ..pivot_pairs(table, [own, target], (pairs, other), Repeats::Never) };
                    FromItem::Query(Box::new(all), TableAlias::Plan(pivot))
                }
            };
            let on = other
                .iter()
                .map(|(column, id)| JoinCondition::Equal(target.operand(*id), Operand::Pivot(target.pivot_column(pivot, column, *id))));
            (pairs_of_pivot, vec![inner_join(JoinKind::Inner, target.table(), on.collect())])
        }
    };
    joins.extend(lookups);
    if form == ExistsForm::KeyIn {
        return key_in(exists, [own, target], (from, joins), filters);
    }
    let join = match &exists.relation.join_columns {
        JoinColumns::Direct(pairs) => direct_columns(own, target, pairs),
        JoinColumns::Through { own: pairs, .. } => own_columns(own, pivot, pairs).collect(),
    };
    let fenced = form == ExistsForm::Fenced;
    let conditions = Conditions { join, filters };
    Condition::Exists(Box::new(SqlSelect { joins, conditions, fenced, ..SqlSelect::new(SelectList::text("1"), from) }))
}

/// The keys of all rows that have such a related row. Neither side of the `IN` is ever NULL, so that it is true or false, as `EXISTS` is.
fn key_in<'p>(
    exists: &'p Exists<'p>,
    [own, target]: [Side<'p>; 2],
    (from, joins): Sources<'p>,
    filters: Vec<Condition<'p>>,
) -> Condition<'p> {
    let (keys, columns, join) = match &exists.relation.join_columns {
        JoinColumns::Direct(pairs) => (
            pairs.iter().map(|(left, right)| (own.column(*left), ColumnUse::JoinedTo(target.field(*right)))).collect(),
            pairs.iter().map(|(left, right)| Expression::Column(target.column(*right), ColumnUse::JoinedTo(own.field(*left)))).collect(),
            pairs.iter().map(|(_, right)| JoinCondition::NotNull(target.operand(*right))).collect(),
        ),
        JoinColumns::Through { own: pairs, .. } => {
            let pivot = || pairs.iter().map(|(id, column)| own.pivot_column(exists.pivot, column, *id));
            (
                pairs.iter().map(|(id, _)| (own.column(*id), ColumnUse::JoinedToPivot)).collect(),
                pivot().map(|column| Expression::Pivot(column, PivotUse::Compared)).collect(),
                pivot().map(|column| JoinCondition::NotNull(Operand::Pivot(column))).collect(),
            )
        }
    };
    let conditions = Conditions { join, filters };
    let separate = exists.relation.placement.is_separate;
    let select = SqlSelect { joins, conditions, fenced: true, separate, ..SqlSelect::new(SelectList::unnamed(columns), from) };
    Condition::In(Box::new(KeyIn { keys, select }))
}

/// What a dot-path joins: the table with its lookups, and the policy that is not part of the table yet.
pub(super) struct PathTarget<'p> {
    pub(super) table: FromItem<'p>,
    pub(super) lookups: Vec<SqlJoin<'p>>,
    pub(super) policy: Vec<Condition<'p>>,
}

/// A LEFT join whose ON holds the target's policy: a row without a match stays.
pub(super) fn left_join<'p>(join: &'p Join<'p>, path: PathTarget<'p>, dialect: Dialect) -> SqlJoin<'p> {
    let own = Side { resource: join.parent_resource, alias: join.parent };
    let target = Side { resource: join.table.resource, alias: join.table.alias };
    let PathTarget { table, lookups, policy } = path;
    // The condition may name the lookups.
    let table = if lookups.is_empty() { table } else { FromItem::Joined(Box::new((table, lookups))) };
    let (from, on) = match &join.relation.join_columns {
        JoinColumns::Direct(pairs) => (table, Conditions { join: direct_columns(own, target, pairs), filters: policy }),
        JoinColumns::Through { pivot, own: pairs, other, .. } if dialect::strategies(dialect).pivot_join == PivotJoin::KeyIn => {
            let column = |column: &'p Identifier, id: FieldId| target.pivot_column(join.pivot, column, id);
            let columns = other.iter().map(|(name, id)| Expression::Pivot(column(name, *id), PivotUse::Compared)).collect();
            let fits = other.iter().map(|(name, id)| JoinCondition::Fits(column(name, *id)));
            let conditions = Conditions { join: own_columns(own, join.pivot, pairs).chain(fits).collect(), filters: Vec::new() };
            let select = SqlSelect {
                conditions,
                ..SqlSelect::new(SelectList::unnamed(columns), FromItem::Table(pivot, TableAlias::Plan(join.pivot)))
            };
            let keys = other.iter().map(|(_, id)| (target.column(*id), ColumnUse::JoinedToPivot)).collect();
            let key_in = JoinCondition::In(Box::new(KeyIn { keys, select }));
            (table, Conditions { join: JoinConditions::One(key_in), filters: policy })
        }
        JoinColumns::Through { pivot, own: pairs, other, repeats } => {
            let read = |column: &'p Identifier| Operand::ReadPivot(join.pivot, column);
            let to_target = other.iter().map(|(column, id)| JoinCondition::Equal(target.operand(*id), read(column))).collect();
            let on = Conditions { join: to_target, filters: policy };
            let to_target = SqlJoin { kind: JoinKind::Inner, from: table, on };
            let read_pivot =
                FromItem::Query(Box::new(pivot_pairs(pivot, [own, target], (pairs, other), *repeats)), TableAlias::Plan(join.pivot));
            let from_own = pairs.iter().map(|(id, column)| JoinCondition::Equal(read(column), own.operand(*id))).collect();
            (FromItem::Joined(Box::new((read_pivot, vec![to_target]))), Conditions { join: from_own, filters: Vec::new() })
        }
    };
    SqlJoin { kind: JoinKind::Left, from, on }
}

type OwnAndOther<'p> = (&'p [(FieldId, Identifier)], &'p [(Identifier, FieldId)]);

/// All pairs of a pivot, each once.
pub(super) fn pivot_pairs<'p>(
    table: &'p TableName,
    [own, target]: [Side<'p>; 2],
    (pairs, other): OwnAndOther<'p>,
    repeats: Repeats,
) -> SqlSelect<'p> {
    let own_fields = pairs.iter().map(|(id, column)| (column, own.field(*id)));
    let other_fields = other.iter().map(|(column, id)| (column, target.field(*id)));
    // A column that both sides share, as a tenant's, is one column.
    let other_fields = other_fields.filter(|(column, _)| pairs.iter().all(|(_, shared)| shared != *column));
    let column = |(column, field)| Expression::Pivot(PivotColumn { alias: None, column, field }, PivotUse::PassedIfFit);
    let columns = SelectList { first: "", list: own_fields.chain(other_fields).map(column).collect(), names: ColumnNames::OfPivot };
    SqlSelect { distinct: is_distinct(repeats), ..SqlSelect::new(columns, FromItem::Table(table, TableAlias::None)) }
}

/// A pivot may name a pair twice, the relation has it once. DISTINCT is dear, and no planner looks through it.
fn is_distinct(repeats: Repeats) -> bool {
    repeats == Repeats::Perhaps
}

pub(super) fn direct_columns<'p>(own: Side<'p>, target: Side<'p>, pairs: &'p [(FieldId, FieldId)]) -> JoinConditions<'p> {
    pairs.iter().map(|(left, right)| JoinCondition::Equal(target.operand(*right), own.operand(*left))).collect()
}

/// The pairs of a pivot for one row of `own`, each once: the columns of the target as `x0`, …
pub(super) fn pairs_of_row<'p>(
    [own, target]: [Side<'p>; 2],
    pivot: Alias,
    table: &'p TableName,
    (pairs, other): OwnAndOther<'p>,
    repeats: Repeats,
) -> SqlSelect<'p> {
    let fits = other.iter().map(|(column, id)| JoinCondition::Fits(target.pivot_column(pivot, column, *id)));
    let conditions = Conditions { join: own_columns(own, pivot, pairs).chain(fits).collect(), filters: Vec::new() };
    let select = SqlSelect::new(passed_columns(target, pivot, other, ""), FromItem::Table(table, TableAlias::Plan(pivot)));
    SqlSelect { distinct: is_distinct(repeats), conditions, ..select }
}

fn passed_columns<'p>(target: Side<'p>, pivot: Alias, other: &'p [(Identifier, FieldId)], first: &'static str) -> SelectList<'p> {
    let column = |(column, id): &'p (Identifier, FieldId)| Expression::Pivot(target.pivot_column(pivot, column, *id), PivotUse::Passed);
    SelectList { first, list: other.iter().map(column).collect(), names: ColumnNames::Numbered("x") }
}

pub(super) fn passed_equals<'p>(target: Side<'p>, other: &'p [(Identifier, FieldId)], name: &'static str) -> JoinConditions<'p> {
    let equal = |(index, (_, id)): (usize, &(Identifier, FieldId))| JoinCondition::Equal(target.operand(*id), Operand::Passed(name, index));
    other.iter().enumerate().map(equal).collect()
}

fn own_columns<'p>(own: Side<'p>, pivot: Alias, pairs: &'p [(FieldId, Identifier)]) -> impl Iterator<Item = JoinCondition<'p>> {
    pairs.iter().map(move |(id, column)| JoinCondition::Equal(Operand::Pivot(own.pivot_column(pivot, column, *id)), own.operand(*id)))
}

fn inner_join<'p>(kind: JoinKind, from: FromItem<'p>, join: JoinConditions<'p>) -> SqlJoin<'p> {
    SqlJoin { kind, from, on: Conditions { join, filters: Vec::new() } }
}

/// How the keys of a batch of parents lead to the related rows.
#[derive(Clone, Copy)]
pub(super) struct FromKeys<'p> {
    parent: &'p Resource,
    child: &'p Child<'p>,
    target: Side<'p>,
}

impl<'p> FromKeys<'p> {
    pub(super) fn new(parent: &'p Resource, child: &'p Child<'p>) -> Self {
        let table = &child.select.source.table;
        FromKeys { parent, child, target: Side { resource: table.resource, alias: table.alias } }
    }

    /// The keys as a table.
    pub(super) fn keys(self) -> FromItem<'p> {
        let own: Vec<FieldId> = self.child.relation.join_columns.own_fields();
        FromItem::Keys(own.into_iter().map(|id| &self.parent.fields[id]).collect())
    }

    /// All related rows of all keys: where they come from, and the joins.
    pub(super) fn all_rows(self, lookups: Vec<SqlJoin<'p>>) -> Sources<'p> {
        let (from, on) = match &self.child.relation.join_columns {
            JoinColumns::Direct(pairs) => (self.keys(), self.key_equals_target(pairs)),
            JoinColumns::Through { pivot, own, other, repeats } => {
                let to_pivot = inner_join(JoinKind::KeysFirst, self.pivot(pivot), self.key_equals_pivot(own, other));
                let joins = vec![to_pivot];
                let columns = passed_columns(self.target, self.child.pivot, other, "k.n");
                let separate = self.child.relation.placement.is_separate_from_pivot;
                let select = SqlSelect { distinct: is_distinct(*repeats), joins, separate, ..SqlSelect::new(columns, self.keys()) };
                (FromItem::Query(Box::new(select), TableAlias::Text("k")), passed_equals(self.target, other, "k.x"))
            }
        };
        (from, self.to_target(on, lookups))
    }

    /// The related rows of one key, for a subquery inside a query of the keys.
    pub(super) fn rows_of_one_key(self, columns: SelectList<'p>, filters: Conditions<'p>, lookups: Vec<SqlJoin<'p>>) -> SqlSelect<'p> {
        match &self.child.relation.join_columns {
            JoinColumns::Direct(pairs) => {
                let conditions = Conditions { join: self.key_equals_target(pairs), ..filters };
                SqlSelect { joins: lookups, conditions, ..SqlSelect::new(columns, self.target.table()) }
            }
            JoinColumns::Through { pivot, own, other, repeats } => {
                let conditions = Conditions { join: self.key_equals_pivot(own, other), filters: Vec::new() };
                let select = SqlSelect::new(passed_columns(self.target, self.child.pivot, other, ""), self.pivot(pivot));
                let select = SqlSelect { distinct: is_distinct(*repeats), conditions, ..select };
                let on = passed_equals(self.target, other, "x.x");
                let joins = std::iter::once(inner_join(JoinKind::Inner, self.target.table(), on)).chain(lookups).collect();
                let from = FromItem::Query(Box::new(select), TableAlias::Text("x"));
                SqlSelect { joins, conditions: filters, ..SqlSelect::new(columns, from) }
            }
        }
    }

    /// The joins of the keys with the target and its lookups.
    pub(super) fn to_target(self, on: JoinConditions<'p>, lookups: Vec<SqlJoin<'p>>) -> Vec<SqlJoin<'p>> {
        std::iter::once(inner_join(JoinKind::KeysFirst, self.target.table(), on)).chain(lookups).collect()
    }

    fn pivot(self, table: &'p TableName) -> FromItem<'p> {
        FromItem::Table(table, TableAlias::Plan(self.child.pivot))
    }

    fn key_equals_target(self, pairs: &'p [(FieldId, FieldId)]) -> JoinConditions<'p> {
        let equal = |(index, (own, other)): (usize, &(FieldId, FieldId))| {
            JoinCondition::Equal(self.target.operand(*other), Operand::Key(index, &self.parent.fields[*own]))
        };
        pairs.iter().enumerate().map(equal).collect()
    }

    fn key_equals_pivot(self, own: &'p [(FieldId, Identifier)], other: &'p [(Identifier, FieldId)]) -> JoinConditions<'p> {
        let pivot = self.child.pivot;
        let equal = own.iter().enumerate().map(|(index, (id, column))| {
            let field = &self.parent.fields[*id];
            let column = PivotColumn { alias: Some(pivot), column, field };
            JoinCondition::Equal(Operand::Pivot(column), Operand::Key(index, field))
        });
        let fits = other.iter().map(|(column, id)| JoinCondition::Fits(self.target.pivot_column(pivot, column, *id)));
        equal.chain(fits).collect()
    }
}
