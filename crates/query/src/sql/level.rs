//! The rows of one level: the root, or a relation's rows for all parents of a batch at once.

use crate::catalog::{Field, Mask};
use crate::plan::predicate::Column;
use crate::plan::{Child, Select, Show};

use super::dialect::{self, Cut, Related};
use super::keys::{KeySource, Single, Way};
use super::predicate::Conjunction;
use super::scope::conditions;
use super::{ChildLevel, Decode, Dialect, Level, Output, Owner, Sql, Writer};

/// The root's rows.
pub(super) fn root(select: &Select<'_>, dialect: Dialect) -> Level {
    let mut writer = Writer::new(dialect);
    let columns = Columns::of(select, 0, dialect);
    writer.begin_joined(&select.scope);
    writer.raw("SELECT ");
    columns.write(&mut writer, select, Naming::Bare);
    writer.from(&select.scope);
    writer.filtered(&select.scope, Conjunction::new(" WHERE "));
    order(&mut writer, select, " ORDER BY ");
    writer.bounded(select.scope.bounds);
    columns.level(writer, select)
}

/// How many rows the root has without limit and offset. Joins made for an order cannot change it and stay out.
pub(super) fn total(select: &Select<'_>, dialect: Dialect) -> Sql {
    let mut writer = Writer::new(dialect);
    writer.begin(conditions(&select.scope));
    writer.raw("SELECT count(*) FROM ");
    writer.named_table(&select.scope);
    writer.filtered(&select.scope, Conjunction::new(" WHERE "));
    writer.finish()
}

fn order(writer: &mut Writer, select: &Select<'_>, before: &'static str) {
    if select.scope.order.is_empty() {
        return;
    }
    writer.raw(before);
    writer.separated(", ", &select.scope.order, |writer, sort| dialect::sort(writer, sort, select.scope.table.alias));
}

/// The columns of a level: those that are shown, then the keys its relations start from and that are not shown.
struct Columns {
    outputs: Vec<Output>,
    /// Column number to field and purpose.
    selected: Vec<(usize, Purpose)>,
    first: usize,
    dialect: Dialect,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Shown,
    Key,
}

#[derive(Clone, Copy)]
enum Naming {
    Bare,
    /// `AS c0`, for an enclosing select.
    Numbered,
}

impl Columns {
    fn of(select: &Select<'_>, first: usize, dialect: Dialect) -> Self {
        let mut columns = Columns { outputs: Vec::with_capacity(select.shown.len()), selected: Vec::new(), first, dialect };
        for (id, show) in &select.shown {
            let field = &select.scope.table.resource.fields[*id];
            let decode = match show {
                Show::Masked(Mask::Redact) if field.masks_to_text() => Decode::Redacted,
                Show::Masked(Mask::Redact) => Decode::RedactedNull,
                _ => Decode::of(field),
            };
            let column = first + columns.selected.len();
            if !matches!(decode, Decode::Redacted | Decode::RedactedNull) {
                columns.selected.push((*id, Purpose::Shown));
            }
            columns.outputs.push(Output {
                key: field.json_key.clone(),
                column,
                decode,
                show: *show,
                values: field.fitting_values().cloned(),
            });
        }
        for child in &select.children {
            for id in child.relation.link.own_fields() {
                columns.key(select, id);
            }
        }
        columns
    }

    /// The column that serves as key for this field; it is added where there is none.
    fn key(&mut self, select: &Select<'_>, id: usize) -> usize {
        self.position(select, id).unwrap_or_else(|| {
            self.selected.push((id, Purpose::Key));
            self.first + self.selected.len() - 1
        })
    }

    /// The column that can serve as key for this field.
    fn position(&self, select: &Select<'_>, id: usize) -> Option<usize> {
        self.selected
            .iter()
            .position(|(selected, purpose)| {
                *selected == id
                    && (*purpose == Purpose::Key || dialect::shown_is_key(self.dialect, &select.scope.table.resource.fields[id]))
            })
            .map(|position| self.first + position)
    }

    fn write(&self, writer: &mut Writer, select: &Select<'_>, naming: Naming) {
        let mut number = 0;
        writer.separated(", ", &self.selected, |writer, (id, purpose)| {
            let column = select.scope.table.column(*id);
            match purpose {
                Purpose::Shown => dialect::shown(writer, column),
                Purpose::Key => dialect::key(writer, column),
            }
            if let Naming::Numbered = naming {
                writer.raw(" AS c");
                writer.number(number);
                number += 1;
            }
        });
        // A table may have nothing to show: every field hidden. A row still counts.
        if self.selected.is_empty() {
            writer.raw("1");
            if let Naming::Numbered = naming {
                writer.raw(" AS c0");
            }
        }
    }

    fn count(&self) -> usize {
        self.selected.len().max(1)
    }

    /// What was written with these columns, and the levels below.
    fn level(self, writer: Writer, select: &Select<'_>) -> Level {
        Level { sql: writer.finish(), children: children(select, &self, self.dialect), outputs: self.outputs }
    }
}

fn children(select: &Select<'_>, columns: &Columns, dialect: Dialect) -> Vec<ChildLevel> {
    select
        .children
        .iter()
        .map(|child| {
            let (owner, level) = child_level(select, child, dialect);
            let parent_columns = child.relation.link.own_fields().into_iter().filter_map(|id| columns.position(select, id)).collect();
            ChildLevel { key: child.relation.json_key.clone(), many: child.relation.many, parent_columns, owner, level }
        })
        .collect()
}

fn child_level(parent: &Select<'_>, child: &Child<'_>, dialect: Dialect) -> (Owner, Level) {
    let select = &child.select;
    let mut writer = Writer::new(dialect);
    writer.begin(conditions(&select.scope));
    let keys = KeySource::new(parent.scope.table.resource, child);
    if !select.scope.bounds.given()
        && let Some(Single { own, other }) = keys.single()
        && dialect::related(dialect, own, &select.scope.table.resource.fields[other]) == Related::Listed
    {
        let mut columns = Columns::of(select, 0, dialect);
        let owner = Owner::Key(columns.key(select, other));
        listed(&mut writer, child, &columns, own, other);
        return (owner, columns.level(writer, select));
    }
    let columns = Columns::of(select, 1, dialect);
    match dialect::cut(dialect) {
        _ if !select.scope.bounds.given() => unbounded(&mut writer, child, &columns, &keys),
        Cut::Lateral => lateral(&mut writer, child, &columns, &keys),
        Cut::ByKey if select.scope.table.resource.key_is_certain => picked(&mut writer, child, &columns, &keys),
        Cut::ByKey => numbered(&mut writer, child, &columns, &keys),
    }
    (Owner::Number, columns.level(writer, select))
}

/// All rows whose column is one of the parents' keys.
fn listed(writer: &mut Writer, child: &Child<'_>, columns: &Columns, own: &Field, other: usize) {
    let select = &child.select;
    writer.raw("SELECT ");
    columns.write(writer, select, Naming::Bare);
    writer.raw(" FROM ");
    writer.named_table(&select.scope);
    writer.raw(" WHERE ");
    dialect::among_keys(writer, select.scope.table.column(other), own);
    writer.filtered(&select.scope, Conjunction::started());
    order(writer, select, " ORDER BY ");
}

/// All related rows of all parents.
fn unbounded(writer: &mut Writer, child: &Child<'_>, columns: &Columns, keys: &KeySource<'_>) {
    let select = &child.select;
    writer.raw("SELECT k.n, ");
    columns.write(writer, select, Naming::Bare);
    let conjunction = joined(writer, child, keys);
    writer.filtered(&select.scope, conjunction);
    order(writer, select, " ORDER BY ");
}

/// `FROM` the parents' keys and the relation's rows.
fn joined(writer: &mut Writer, child: &Child<'_>, keys: &KeySource<'_>) -> Conjunction {
    let select = &child.select;
    writer.raw(" FROM ");
    match keys.way {
        Way::Direct(_) => keys.write(writer),
        Way::Through(crossing) => keys.write_crossed(writer, crossing),
    }
    dialect::forced_join(writer);
    writer.named_table(&select.scope);
    writer.raw(" ON ");
    match keys.way {
        Way::Direct(pairs) => keys.equal_target(writer, pairs),
        Way::Through(crossing) => keys.equal_crossed(writer, crossing, "k.x"),
    }
    Conjunction::new(" WHERE ")
}

/// The parents' keys, and for each the first rows by a lateral subquery that can stop early.
fn lateral(writer: &mut Writer, child: &Child<'_>, columns: &Columns, keys: &KeySource<'_>) {
    let select = &child.select;
    writer.raw("SELECT k.n, s.* FROM ");
    keys.write(writer);
    writer.raw(" CROSS JOIN LATERAL (SELECT ");
    columns.write(writer, select, Naming::Numbered);
    first_of_key(writer, child, keys);
    writer.raw(") AS s");
}

/// The parents' keys, and for each the rows whose keys are those of the first, found by a subquery that can stop early. What it calls by the
/// name of the table is its own.
fn picked(writer: &mut Writer, child: &Child<'_>, columns: &Columns, keys: &KeySource<'_>) {
    let select = &child.select;
    let table = &select.scope.table;
    let key: Vec<Column<'_>> = table.resource.key.iter().map(|id| table.column(*id)).collect();
    writer.raw("SELECT k.n, ");
    columns.write(writer, select, Naming::Bare);
    writer.raw(" FROM ");
    keys.write(writer);
    dialect::forced_join(writer);
    writer.named_table(&select.scope);
    writer.raw(" ON (");
    writer.separated(", ", &key, |writer, column| dialect::told_apart(writer, *column));
    writer.raw(") IN (SELECT ");
    writer.separated(", ", &key, |writer, column| writer.column(*column));
    first_of_key(writer, child, keys);
    writer.raw(") ORDER BY k.n");
    order(writer, select, ", ");
}

/// ` FROM …`: the first related rows of one key.
fn first_of_key(writer: &mut Writer, child: &Child<'_>, keys: &KeySource<'_>) {
    let select = &child.select;
    writer.raw(" FROM ");
    let conjunction = match keys.way {
        Way::Direct(pairs) => {
            writer.named_table(&select.scope);
            writer.raw(" WHERE ");
            keys.equal_target(writer, pairs);
            Conjunction::started()
        }
        Way::Through(crossing) => {
            keys.crossed_of_key(writer, crossing);
            writer.raw(" JOIN ");
            writer.named_table(&select.scope);
            writer.raw(" ON ");
            keys.equal_crossed(writer, crossing, "x.x");
            Conjunction::new(" WHERE ")
        }
    };
    writer.filtered(&select.scope, conjunction);
    order(writer, select, " ORDER BY ");
    writer.bounded(select.scope.bounds);
}

/// Rows numbered within their parent, then cut.
fn numbered(writer: &mut Writer, child: &Child<'_>, columns: &Columns, keys: &KeySource<'_>) {
    let select = &child.select;
    writer.raw("SELECT s.n");
    for number in 0..columns.count() {
        writer.raw(", s.c");
        writer.number(number);
    }
    writer.raw(" FROM (SELECT k.n AS n, ");
    columns.write(writer, select, Naming::Numbered);
    writer.raw(", row_number() OVER (PARTITION BY k.n");
    order(writer, select, " ORDER BY ");
    writer.raw(") AS r");
    let conjunction = joined(writer, child, keys);
    writer.filtered(&select.scope, conjunction);
    writer.raw(") AS s WHERE s.r > ");
    let offset = select.scope.bounds.offset.unwrap_or(0);
    writer.bind_count(offset);
    writer.raw(" AND s.r <= ");
    writer.bind_count(select.scope.bounds.limit.map_or(u64::MAX, |limit| offset.saturating_add(limit)));
    writer.raw(" ORDER BY s.n, s.r");
}
