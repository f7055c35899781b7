//! Keyset pages: takes the cursor out of a statement, checks what the operation needs, and keeps what the next statement is made from.

mod cursor;
mod next;

use crate::catalog::{Catalog, Field, Resource};
use crate::error::Code;
use crate::json::Json;
use crate::pointer::Layer;
use crate::policy::{ReadAccess, Viewer};
use crate::statement::{Clause, Direction, Entry, Order, Statement};
use crate::value::{self, Value};

use super::order::append;
use super::{PlanBody, Planner, Table};

use cursor::CursorKey;
pub use next::{MAX_NEXT_BYTES, NextStatement, PositionValue};

/// The rows of a page if its statement names no limit.
pub const DEFAULT_LIMIT: u64 = 100;

/// Where a keyset page begins, and how the next one is asked for.
#[derive(Debug)]
pub(crate) struct KeysetPage {
    /// A value for each sort key, `Null` for NULL; none on the first page.
    pub(crate) position: Option<Vec<Value>>,
    pub(crate) next: NextStatement,
}

/// A keyset page before its statement is planned.
pub(super) struct KeysetRequest(KeysetPage);

impl KeysetRequest {
    /// Takes the cursor out of a merged statement. None if a name cannot be resolved, which the plan reports.
    pub(super) fn split(mut statement: Statement, access: ReadAccess<'_, '_>) -> (Statement, Option<Self>) {
        let ReadAccess { catalog, viewer, .. } = access;
        let resource = access.resource();
        let key_of = |entry: &Order| cursor_key(catalog, viewer, resource, entry);
        // The manifest may order by a field that the viewer does not see, and a cursor must not name it.
        statement.order.retain(|entry| entry.at.layer != Layer::Policy || key_of(entry).is_some());
        // A second entry for one field orders nothing.
        let mut seen: Vec<Box<str>> = Vec::new();
        statement.order.retain(|entry| {
            let is_first = !seen.contains(&entry.field);
            if is_first {
                seen.push(entry.field.clone());
            }
            is_first
        });
        let Some(mut keys) = statement.order.iter().map(key_of).collect::<Option<Vec<_>>>() else { return (statement, None) };
        for (key, entry) in keys.iter_mut().zip(&statement.order).filter(|(_, entry)| !entry.at.layer.is_manifest()) {
            key.at = statement.pointer(entry.at).into();
        }
        // Entries after the whole key order nothing.
        let is_unique = |keys: &[CursorKey]| keys.iter().filter(|key| key.is_key).count() == resource.key.len();
        if let Some(end) = (1..=keys.len()).find(|end| is_unique(&keys[..*end])) {
            keys.truncate(end);
            statement.order.truncate(end);
        }
        for field in resource.key_fields() {
            if !keys.iter().any(|key| *key.path == *field.name) {
                keys.push(own_key(resource, field, Direction::Ascending));
            }
        }
        let position = take_cursor(&mut statement, &keys);
        let default_limit = catalog.max_rows().map_or(DEFAULT_LIMIT, |max| max.min(DEFAULT_LIMIT));
        let next = NextStatement::of(&statement, keys, default_limit);
        (statement, Some(KeysetRequest(KeysetPage { position, next })))
    }
}

fn own_key(resource: &Resource, field: &Field, direction: Direction) -> CursorKey {
    let is_key = resource.key_fields().any(|part| std::ptr::eq(part, field));
    let (path, scalar) = (field.name.as_str().into(), field.kind.scalar().clone());
    // The caller wrote no entry for the key, nor for what the manifest orders by.
    CursorKey { path, at: "/query/order".into(), direction, nullable: field.may_read_null(), is_key, scalar }
}

/// The sort key of an order entry, if the viewer may order by it.
fn cursor_key(catalog: &Catalog, viewer: &Viewer, resource: &Resource, entry: &Order) -> Option<CursorKey> {
    let usable = |resource: &Resource, name: &str| {
        let (_, field) = resource.field(name)?;
        let key = own_key(resource, field, entry.direction);
        (viewer.knows(field) && viewer.sees_unmasked(field) && field.kind.is_sortable()).then_some(key)
    };
    let Some((relation, name)) = entry.field.split_once('.') else { return usable(resource, &entry.field) };
    let relation = resource.relation(relation).filter(|relation| !relation.many)?;
    let target = catalog.resource(relation.target);
    let key = usable(target, name).filter(|_| viewer.can_read(target))?;
    Some(CursorKey { path: entry.field.clone(), nullable: true, is_key: false, ..key })
}

/// Removes the cursor, the last clause of the top-level `and` of the query, and returns its position.
fn take_cursor(statement: &mut Statement, keys: &[CursorKey]) -> Option<Vec<Value>> {
    let filter = statement.filters.iter_mut().find(|clause| clause.at.layer == Layer::Query)?;
    let place = filter.entries.iter().position(|entry| matches!(entry, Entry::And(..)))?;
    let Entry::And(_, clauses) = &mut filter.entries[place] else { return None };
    let position = position(clauses.last()?, keys)?;
    clauses.pop();
    if clauses.is_empty() {
        filter.entries.remove(place);
    }
    Some(position)
}

/// The position of a cursor. A clause with a value of another type is none, and the plan reports the value.
fn position(clause: &Clause, keys: &[CursorKey]) -> Option<Vec<Value>> {
    let position = cursor::read(keys, &next::clause_json(clause))?;
    let is_clean = |json: &Json| !matches!(json, Json::Text(text) if text.contains('\0'));
    keys.iter().zip(&position).map(|(key, json)| value::check(&key.scalar, json).ok().filter(|_| is_clean(json))).collect()
}

impl<'c> Planner<'c, '_> {
    /// Reports what a keyset page cannot have.
    pub(super) fn check_keyset(&mut self, table: &Table<'c>) {
        let statement = self.statement;
        if statement.offset.is_some() {
            let message = "`keyset-paginate` takes no `offset`; continue with the `next` of the page before";
            self.faults.add(Code::OperationKey, || format!("/{}/offset", Layer::Query.as_str()), message);
        }
        if let Some(aggregation) = &statement.aggregation {
            self.fault(Code::OperationKey, aggregation.at, "`keyset-paginate` takes no `aggregation`: groups have no key; use `paginate`");
        }
        let resource = table.resource;
        if !self.viewer.sees_key(resource) {
            let reason = if resource.key.is_empty() { "has no key" } else { "has a key that is hidden or masked for you" };
            let message =
                format!("`keyset-paginate` continues after the key of a row, and `{}` {reason}; use `paginate`", resource.full_name);
            self.faults.add(Code::NoVisibleKey, String::new, message);
        }
    }

    /// Appends the key to the order of the rows.
    pub(super) fn keyset_page(&mut self, KeysetRequest(page): KeysetRequest, body: &mut PlanBody<'c>) -> Option<KeysetPage> {
        let PlanBody::Rows(select) = body else { return None };
        let source = &mut select.source;
        for id in &source.table.resource.key {
            append(&mut source.order, source.table.column(*id));
        }
        if source.order.len() != page.next.width() && self.faults.is_empty() {
            // A dot-path of the manifest gave way.
            let message = "the `order` of the query and of the manifest join too many tables; order by fewer dot-paths";
            self.faults.add(Code::Entries, || format!("/{}/order", Layer::Query.as_str()), message);
        }
        Some(page)
    }
}
