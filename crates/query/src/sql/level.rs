//! The rows of one level: the root, or a relation's rows for all parents of a batch at once.

use crate::catalog::Link;
use crate::catalog::Mask;
use crate::plan::predicate::Predicate;
use crate::plan::{Child, Select, Show};

use super::dialect::{self, Cut};
use super::link::{self, KeySource};
use super::predicate::Conjunction;
use super::{ChildLevel, Decode, Dialect, Level, Output, Sql, Writer};

/// The root's rows.
pub(super) fn root(select: &Select<'_>, dialect: Dialect) -> Level {
    let mut writer = Writer::new(dialect);
    let columns = Columns::of(select, 0, dialect);
    writer.begin(select.joins.iter().map(|join| join.table.policy()).chain(conditions(select)));
    writer.raw("SELECT ");
    columns.write(&mut writer, select, Naming::Bare);
    from(&mut writer, select);
    Conjunction::new(" WHERE ").write(&mut writer, conditions(select));
    order(&mut writer, select, " ORDER BY ");
    bounds(&mut writer, select);
    Level { sql: writer.finish(), children: children(select, &columns, dialect), outputs: columns.outputs }
}

/// How many rows the root has without limit and offset. Joins made for an order cannot change it and stay out.
pub(super) fn total(select: &Select<'_>, dialect: Dialect) -> Sql {
    let mut writer = Writer::new(dialect);
    writer.begin(conditions(select));
    writer.raw("SELECT count(*) FROM ");
    writer.table_name(&select.table.resource.table);
    writer.raw(" AS ");
    writer.alias(select.table.alias);
    Conjunction::new(" WHERE ").write(&mut writer, conditions(select));
    writer.finish()
}

fn from(writer: &mut Writer, select: &Select<'_>) {
    writer.raw(" FROM ");
    writer.table_name(&select.table.resource.table);
    writer.raw(" AS ");
    writer.alias(select.table.alias);
    for join in &select.joins {
        link::left_join(writer, join);
    }
}

/// The policy and the filters of all layers.
fn conditions<'p, 'c>(select: &'p Select<'c>) -> impl Iterator<Item = &'p Predicate<'c>> {
    std::iter::once(select.table.policy()).chain(select.filters.iter().map(|(_, predicate)| predicate))
}

fn order(writer: &mut Writer, select: &Select<'_>, before: &'static str) {
    if select.order.is_empty() {
        return;
    }
    writer.raw(before);
    writer.separated(", ", &select.order, |writer, sort| dialect::sort(writer, sort, select.table.alias));
}

fn bounds(writer: &mut Writer, select: &Select<'_>) {
    match (select.limit, select.offset) {
        (None, None) => {}
        (None, Some(_)) => dialect::no_limit(writer),
        (Some(limit), _) => {
            writer.raw(" LIMIT ");
            writer.bind_count(limit);
        }
    }
    if let Some(offset) = select.offset {
        writer.raw(" OFFSET ");
        writer.bind_count(offset);
    }
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
            let field = &select.table.resource.fields[*id];
            let decode = match show {
                Show::Masked(Mask::Redact) if field.masks_to_text() => Decode::Redacted,
                Show::Masked(Mask::Redact) => Decode::RedactedNull,
                _ => Decode::of(field),
            };
            let column = first + columns.selected.len();
            columns.outputs.push(Output { key: field.json_key.clone(), column, decode, show: *show });
            if !matches!(decode, Decode::Redacted | Decode::RedactedNull) {
                columns.selected.push((*id, Purpose::Shown));
            }
        }
        for child in &select.children {
            for id in child.relation.link.own_fields() {
                if columns.position(select, id).is_none() {
                    columns.selected.push((id, Purpose::Key));
                }
            }
        }
        columns
    }

    /// The column that can serve as key for this field.
    fn position(&self, select: &Select<'_>, id: usize) -> Option<usize> {
        self.selected
            .iter()
            .position(|(selected, purpose)| {
                *selected == id && (*purpose == Purpose::Key || dialect::shown_is_key(self.dialect, &select.table.resource.fields[id]))
            })
            .map(|position| self.first + position)
    }

    fn write(&self, writer: &mut Writer, select: &Select<'_>, naming: Naming) {
        let mut number = 0;
        writer.separated(", ", &self.selected, |writer, (id, purpose)| {
            let column = select.table.column(*id);
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
}

fn children(select: &Select<'_>, columns: &Columns, dialect: Dialect) -> Vec<ChildLevel> {
    select
        .children
        .iter()
        .map(|child| ChildLevel {
            key: child.relation.json_key.clone(),
            many: child.relation.many,
            parent_columns: child.relation.link.own_fields().into_iter().filter_map(|id| columns.position(select, id)).collect(),
            level: child_level(select, child, dialect),
        })
        .collect()
}

fn child_level(parent: &Select<'_>, child: &Child<'_>, dialect: Dialect) -> Level {
    let select = &child.select;
    let columns = Columns::of(select, 1, dialect);
    let mut writer = Writer::new(dialect);
    writer.begin(conditions(select));
    let keys = KeySource::new(parent.table.resource, child);
    if select.limit.is_none() && select.offset.is_none() {
        unbounded(&mut writer, child, &columns, &keys);
    } else {
        match dialect::cut(dialect) {
            Cut::Lateral => lateral(&mut writer, child, &columns, &keys),
            Cut::Numbered => numbered(&mut writer, child, &columns, &keys),
        }
    }
    Level { sql: writer.finish(), children: children(select, &columns, dialect), outputs: columns.outputs }
}

/// All related rows of all parents.
fn unbounded(writer: &mut Writer, child: &Child<'_>, columns: &Columns, keys: &KeySource<'_>) {
    let select = &child.select;
    writer.raw("SELECT k.n, ");
    columns.write(writer, select, Naming::Bare);
    let conjunction = joined(writer, child, keys);
    conjunction.write(writer, conditions(select));
    order(writer, select, " ORDER BY ");
}

/// `FROM` the parents' keys and the relation's rows.
fn joined(writer: &mut Writer, child: &Child<'_>, keys: &KeySource<'_>) -> Conjunction {
    let select = &child.select;
    writer.raw(" FROM ");
    match &child.relation.link {
        Link::Direct(_) => keys.write(writer),
        Link::Through { .. } => keys.write_with_pivot(writer, child),
    }
    dialect::forced_join(writer);
    writer.table_name(&select.table.resource.table);
    writer.raw(" AS ");
    writer.alias(select.table.alias);
    writer.raw(" ON ");
    match &child.relation.link {
        Link::Direct(_) => keys.equal_target(writer, select.table.alias),
        Link::Through { .. } => keys.equal_pivot_target(writer, child),
    }
    Conjunction::new(" WHERE ")
}

/// PostgreSQL: the parents' keys, and for each the first rows by a lateral subquery that can stop early.
fn lateral(writer: &mut Writer, child: &Child<'_>, columns: &Columns, keys: &KeySource<'_>) {
    let select = &child.select;
    writer.raw("SELECT k.n, s.* FROM ");
    keys.write(writer);
    writer.raw(" CROSS JOIN LATERAL (SELECT ");
    columns.write(writer, select, Naming::Numbered);
    writer.raw(" FROM ");
    let conjunction = match &child.relation.link {
        Link::Direct(_) => {
            writer.table_name(&select.table.resource.table);
            writer.raw(" AS ");
            writer.alias(select.table.alias);
            writer.raw(" WHERE ");
            keys.equal_target(writer, select.table.alias);
            Conjunction::started()
        }
        Link::Through { .. } => {
            keys.pivot_of_key(writer, child);
            writer.raw(" JOIN ");
            writer.table_name(&select.table.resource.table);
            writer.raw(" AS ");
            writer.alias(select.table.alias);
            writer.raw(" ON ");
            keys.equal_pivot_alias(writer, child);
            Conjunction::new(" WHERE ")
        }
    };
    conjunction.write(writer, conditions(select));
    order(writer, select, " ORDER BY ");
    bounds(writer, select);
    writer.raw(") AS s");
}

/// SQLite: rows numbered within their parent, then cut.
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
    conjunction.write(writer, conditions(select));
    writer.raw(") AS s WHERE s.r > ");
    let offset = select.offset.unwrap_or(0);
    writer.bind_count(offset);
    writer.raw(" AND s.r <= ");
    writer.bind_count(select.limit.map_or(u64::MAX, |limit| offset.saturating_add(limit)));
    writer.raw(" ORDER BY s.n, s.r");
}
