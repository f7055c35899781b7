//! [`WriteBody`] → [`WritePlan`]: names, types, value rules, rights, and the policy before and after. A table is written only by a plan, and
//! a plan has the scope and the check of its resource.

mod bounds;
mod postcondition;
mod preconditions;
mod references;
mod row;
mod target;
mod values;

use crate::catalog::write_rules::{WriteOperation, WriteRules};
use crate::catalog::{Field, FieldId, Relation, Resource};
use crate::error::{Code, Error, Faults};
use crate::payload::{Payload, Returning, WriteBody, WriteForm};
use crate::pointer::Layer;
use crate::policy::{Viewer, WriteAccess};
use crate::statement::Statement;

use super::predicate::Predicate;
use super::{Bounds, Child, MAX_TABLES, Planner, Rights, RowSource, Select, Table};

pub(crate) use references::ReferencePlan;
pub use row::ServerValues;
pub(crate) use row::{Change, RowChange};
pub(crate) use target::TargetPlan;

/// A write with resolved names, checked values and the policy of each table.
#[derive(Debug)]
pub struct WritePlan<'c> {
    pub form: WriteForm,
    pub(crate) resource: &'c Resource,
    pub(crate) rules: &'c WriteRules,
    /// The rows to change; none for a create.
    pub(crate) target: Option<TargetPlan<'c>>,
    /// One for each row of the payload; for all rows the same if the payload is no list.
    pub(crate) rows: Vec<RowChange>,
    /// What locked rows must be, each with its refusal.
    pub(crate) preconditions: Vec<(Layer, Child<'c>)>,
    /// What rows must be after the change.
    pub(crate) postcondition: Option<Child<'c>>,
    /// The postcondition without the references, so that a diagnosis can tell the two apart.
    pub(crate) postcondition_without_references: Option<Child<'c>>,
    /// The rows to lock, where `order` or `limit` chooses them.
    pub(crate) lock: Option<Child<'c>>,
    /// The fields that the write adds to, if they have bounds, with the rows within the bounds.
    pub(crate) ranges: Vec<(FieldId, Child<'c>)>,
    /// The references that the payload writes, and where each leads.
    pub(crate) references: Vec<ReferencePlan<'c>>,
    /// What the answer shows of each row.
    pub(crate) answer: Option<Child<'c>>,
    /// The rules of the manifest that do not bind the viewer, each with the permission that lifts it.
    pub(crate) lifted: Vec<(Layer, &'c str)>,
    /// Whether the body has a payload, and not an increment alone.
    pub has_payload: bool,
    /// Whether the payload is a list.
    pub is_list: bool,
    pub dry_run: bool,
}

impl WritePlan<'_> {
    /// The name of a field, if this row of the caller's payload has it. Other fields are not named to a client.
    pub fn payload_name(&self, id: FieldId, item: Option<usize>) -> Option<&str> {
        let field = &self.resource.fields[id];
        let row = self.rows.get(item.filter(|_| self.is_list).unwrap_or(0))?;
        let is_written = row.fields().any(|written| written == id);
        (is_written && field.rules.write.is_some()).then_some(field.name.as_str())
    }

    /// Whether the write adds to the field.
    pub fn adds_to(&self, id: FieldId) -> bool {
        let added = |(field, change): &(FieldId, Change)| *field == id && matches!(change, Change::Add(_));
        self.rows.iter().any(|row| row.changes.iter().any(added))
    }
}

/// Why a write is refused before it takes a connection.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Faults(#[from] Error),
    #[error("the account lacks the variable of a preset")]
    NoVariable,
    #[error("a condition on rows, a version or an increment needs the permission {0} to read them, which the account lacks")]
    NeedsRead(String),
}

/// What a request says of its rows beside the body.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteAddress<'r> {
    /// The key in the path; without one, an update of one row has it in its payload.
    pub id: Option<&'r [&'r str]>,
    /// The version in `If-Match`.
    pub if_match: Option<&'r str>,
}

/// Plans a write, or reports all its faults.
pub fn plan_write<'c>(
    access: WriteAccess<'c, '_>,
    form: WriteForm,
    body: &WriteBody,
    address: WriteAddress<'_>,
    server_values: ServerValues<'_>,
) -> Result<WritePlan<'c>, WriteError> {
    let resource = access.resource();
    let mut planner = WritePlanner { access, form, faults: body.faults.clone(), lacks_variable: false };
    if let Some(permission) = &resource.permission
        && !access.viewer.has_permission(permission)
        && planner.asks_of_rows(body, &address)
    {
        return Err(WriteError::NeedsRead(permission.clone()));
    }
    planner.check_parts(body);
    planner.check_unused(body);
    let mut rows = planner.rows(body, &address, server_values);
    let target = planner.target(body, &mut rows, &address);
    let preconditions = planner.preconditions(body, &rows, &address);
    let references = planner.references(&rows);
    let bounded: Vec<FieldId> = planner.bounded_increments(&rows);
    // A read of the answer finds the rows that are as they must be. Without one, a statement of its own does.
    let is_read = matches!(body.returning, Returning::Rows(_)) && access.viewer.can_read(resource);
    let postcondition = if is_read { None } else { planner.postcondition(&rows, &bounded) };
    let postcondition_without_references = planner.postcondition(&[], &[]);
    let ranges = bounded.iter().filter_map(|id| Some((*id, planner.range(*id)?))).collect();
    let is_chosen = target.as_ref().is_some_and(|target| target.is_chosen) && planner.faults.is_empty();
    let lock = if is_chosen { planner.lock(body) } else { None };
    let answer = planner.answer(&body.returning, &rows, &bounded);
    let lifted = planner.lifted();
    let WritePlanner { faults, lacks_variable, .. } = planner;
    faults.finish()?;
    if lacks_variable {
        return Err(WriteError::NoVariable);
    }
    Ok(WritePlan {
        form,
        resource,
        rules: access.rules,
        target,
        rows,
        preconditions,
        postcondition,
        postcondition_without_references,
        lock,
        ranges,
        references,
        answer,
        lifted,
        has_payload: body.payload.is_some(),
        is_list: matches!(body.payload, Some(Payload::Many(_))),
        dry_run: body.dry_run,
    })
}

/// Makes a plan and collects the faults of all its parts.
struct WritePlanner<'c, 'v> {
    access: WriteAccess<'c, 'v>,
    form: WriteForm,
    faults: Faults,
    /// The account lacks the variable of a preset.
    lacks_variable: bool,
}

impl<'c> WritePlanner<'c, '_> {
    fn resource(&self) -> &'c Resource {
        self.access.resource()
    }

    fn viewer(&self) -> &Viewer {
        self.access.viewer
    }

    /// Whether the answer depends on what stored rows hold, beside their keys: which of them match, what their version is, or how far a
    /// number is from its bounds.
    fn asks_of_rows(&self, body: &WriteBody, address: &WriteAddress<'_>) -> bool {
        let version = self.access.rules.version.map(|id| &self.resource().fields[id]).filter(|field| self.viewer().knows(field));
        let names_version = |field: &Field| {
            let mut rows = body.payload.as_ref().map_or(&[][..], Payload::rows).iter();
            rows.any(|row| row.iter().any(|(name, _)| *name == field.name))
        };
        body.query.is_some()
            || body.expect.is_some()
            || body.constraint.is_some()
            || body.all
            || !body.increment.is_empty()
            || address.if_match.is_some()
            || (self.form.operation() == WriteOperation::Update && version.is_some_and(names_version))
    }

    /// Checks which parts of a body come together.
    fn check_parts(&mut self, body: &WriteBody) {
        let form = self.form;
        let mut fault = |code, path: &str, message: String| self.faults.add(code, || path.to_owned(), message);
        let has_list = matches!(body.payload, Some(Payload::Many(_)));
        if has_list && form == WriteForm::UpdateById {
            fault(
                Code::WriteShape,
                "/payload",
                "`update/{id}` takes one object; `update` takes a list of objects with their keys".to_owned(),
            );
        }
        if form == WriteForm::Create && body.payload.is_none() && body.faults.is_empty() {
            fault(Code::WriteMissingKey, "", "`create` needs `payload`: an object of fields and values, or a list of them".to_owned());
        }
        if form.operation() == WriteOperation::Update && body.payload.is_none() && body.increment.is_empty() && body.faults.is_empty() {
            fault(Code::WriteMissingKey, "", "an update needs `payload` or `increment`".to_owned());
        }
        if has_list && form == WriteForm::Update {
            for (key, given) in [("query", body.query.is_some()), ("all", body.all), ("increment", !body.increment.is_empty())] {
                if given {
                    fault(
                        Code::WriteKey,
                        &format!("/{key}"),
                        format!("a list in `payload` names its rows by their keys, so it takes no `{key}`"),
                    );
                }
            }
        }
        let by_query = matches!(form, WriteForm::Update | WriteForm::Delete) && !has_list && !body.faults.has_path("/payload");
        if !by_query {
            return;
        }
        let has_where = body.query.as_ref().is_some_and(|query| query.filters.iter().any(|clause| !clause.entries.is_empty()));
        if body.all && has_where {
            fault(Code::WriteKey, "/all", "`all` means every row, so it takes no `where` beside it".to_owned());
        }
        let is_clean = body.query.as_ref().is_none_or(|query| query.faults.is_empty());
        if !body.all && !has_where && is_clean {
            let message = "name the rows in `query.where`; an empty `where` is refused, and every row takes \"all\": true".to_owned();
            fault(Code::EmptyWhere, if body.query.is_some() { "/query/where" } else { "/query" }, message);
        }
    }

    /// Checks what a write ignores in its wire constraint: `relations`, and `order` where keys name the rows.
    fn check_unused(&mut self, body: &WriteBody) {
        let Some(constraint) = &body.constraint else { return };
        if constraint.offset.is_some() {
            let message = "the `constraint` of a write takes no `offset`: no row is left out by its place";
            self.faults.add(Code::OperationKey, || "/constraint/offset".to_owned(), message);
        }
        let mut unused = Statement { filters: Vec::new(), faults: Faults::default(), ..constraint.clone() };
        if !self.form.takes_id() && !matches!(body.payload, Some(Payload::Many(_))) {
            unused.order.clear();
        }
        if unused.relations.is_empty() && unused.order.is_empty() {
            return;
        }
        self.part(&unused, |planner, table| planner.rows(table, Vec::new(), Bounds { limit: None, offset: None }));
    }

    /// Plans one statement over the resource by itself.
    fn part<T>(&mut self, statement: &Statement, plan: impl FnOnce(&mut Planner<'c, '_>, Table<'c>) -> T) -> Option<T> {
        let mut planner = Planner::new(self.access.catalog, self.access.viewer, statement);
        // The operation has its own permission.
        let table = Table::with_policy(&mut planner, self.access.resource, Rights::Manifest)?;
        let part = plan(&mut planner, table);
        if planner.tables > MAX_TABLES {
            // A filter that reached no table would match nothing, and its negation everything.
            let message = format!("a write reads at most {MAX_TABLES} tables, including those of constraints");
            planner.faults.add(Code::FilterNodes, || "/query".into(), message);
        }
        self.faults.absorb(std::mem::take(&mut planner.faults));
        Some(part)
    }

    /// The rows with given keys that meet these filters.
    fn rows_by_key(
        planner: &mut Planner<'c, '_>,
        key_relation: &'c Relation,
        mut table: Table<'c>,
        filters: Vec<(Layer, Predicate<'c>)>,
    ) -> Child<'c> {
        planner.attach_lookups(&mut table);
        let source = RowSource { table, filters, joins: Vec::new(), order: Vec::new(), bounds: Bounds { limit: None, offset: None } };
        Child { relation: key_relation, pivot: planner.alias(), select: Select { source, shown: Vec::new(), children: Vec::new() } }
    }

    /// Refuses derived fields: a locked row cannot be chosen by what other rows say.
    fn refuse_derived(&mut self, statement: &Statement) {
        let resource = self.resource();
        let mut found = Vec::new();
        statement.filters.iter().for_each(|clause| target::derived_names(resource, clause, &mut found));
        found.extend(
            statement.order.iter().filter(|entry| target::is_derived(resource, &entry.field)).map(|entry| (entry.field.clone(), entry.at)),
        );
        for (name, at) in found {
            let message = format!("`{name}` is a derived field; a write chooses its rows by stored fields");
            self.faults.add(Code::WriteDerived, || statement.pointer(at), message);
        }
    }
}
