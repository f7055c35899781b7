//! Answers writes, for every protocol: permission, validation, one transaction, and the faults of a refusal.

use axum::body::Bytes;
use query::catalog::write_rules::WriteOperation;
use query::catalog::{FieldId, Resource, ResourceId};
use query::error::MAX_FAULTS;
use query::payload::{WriteBody, WriteForm};
use query::plan::write::{ServerValues, WriteAddress, WriteError, WritePlan, plan_write};
use query::pointer::Pointer;
use query::policy::{WriteAccess, WriteDenied, authorize_write};
use query::sql::write::{WriteQuery, diagnosis, render};
use store::Writers;
use store::writes::{WriteFailure, WriteFault, WriteFaultKind, WriteRefusal, Written};

use crate::budget::Slot;
use crate::caller::Caller;
use crate::clock;
use crate::problem::{NO_SUCH_PATH, Problem, WriteFaultCode, WriteProblem};
use crate::random;
use crate::traces::StatementLabels;

use super::QueryService;
use super::statement_log;

/// How often a write is tried if the database refuses it and a diagnosis finds no fault, the first time included.
const MAX_UNEXPLAINED: usize = 3;

/// What a request says beside its body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteTarget<'r> {
    pub(crate) key: Option<&'r [String]>,
    pub(crate) if_match: Option<&'r str>,
}

/// The answer to a write.
#[derive(Debug)]
pub(crate) struct WriteAnswer {
    pub(crate) count: usize,
    pub(crate) rows: Option<Bytes>,
    pub(crate) is_one: bool,
    pub(crate) dry_run: bool,
    /// The slot of the write, which a large answer holds until it was sent.
    pub(crate) slot: Slot,
}

impl QueryService {
    /// Decides permission. This comes before the body is read.
    pub(crate) fn authorize_write<'s, 'c>(
        &'s self,
        resource: ResourceId,
        form: WriteForm,
        caller: &'c Caller,
    ) -> Result<WriteAccess<'s, 'c>, Problem> {
        let access = authorize_write(&self.catalog, resource, form.operation(), caller.viewer()).map_err(|denied| match denied {
            WriteDenied::NoOperation => NO_SUCH_PATH,
            WriteDenied::Permission(permission) => caller.refusal(permission),
        })?;
        if form.takes_id() && !caller.viewer().sees_key(access.resource()) {
            return Err(Problem::NotFound("this resource has no visible key; name rows by `query.where`"));
        }
        caller.may_write()?;
        Ok(access)
    }

    /// Decides permission for a write that is to run. A refusal is noted, as each write is.
    pub(crate) fn begin_write<'s, 'c>(
        &'s self,
        resource: ResourceId,
        form: WriteForm,
        caller: &'c Caller,
    ) -> Result<WriteAccess<'s, 'c>, Problem> {
        self.authorize_write(resource, form, caller).inspect_err(|problem| {
            let resource = self.catalog.resource(resource);
            // An operation that does not exist is no write.
            if resource.has_write(form.operation()) {
                self.note(caller, resource, form, (0, problem.code()));
            }
        })
    }

    /// Validates a write and runs it. Each write is noted, also a refused one.
    pub(crate) async fn write(
        &self,
        caller: &Caller,
        access: WriteAccess<'_, '_>,
        form: WriteForm,
        read: impl FnOnce() -> Result<WriteBody, query::error::Error>,
        sent: (WriteTarget<'_>, usize),
    ) -> Result<WriteAnswer, Problem> {
        let answer = self.answer_write(caller, access, form, read, sent).await;
        let end = match &answer {
            Ok(written) => (written.count, if written.dry_run { "dry-run" } else { "done" }),
            Err(problem) => (0, problem.code()),
        };
        self.note(caller, access.resource(), form, end);
        answer
    }

    async fn answer_write(
        &self,
        caller: &Caller,
        access: WriteAccess<'_, '_>,
        form: WriteForm,
        read: impl FnOnce() -> Result<WriteBody, query::error::Error>,
        (target, size): (WriteTarget<'_>, usize),
    ) -> Result<WriteAnswer, Problem> {
        let writers = self.writers.as_ref().ok_or(Problem::Internal("a resource with writes has no connections for them"))?;
        let dialect = self.reader.primary.dialect();
        let make = || {
            let body = read().map_err(WriteProblem::Input)?;
            let plan = plan_request(access, form, &body, target).map_err(|error| plan_problem(caller, error))?;
            let query = render(&plan, dialect);
            Ok::<_, Problem>((plan, query))
        };
        let (plan, query) = self.validate(caller.key(), size, make).await??;
        let slot = self.budgets.writes.acquire(caller.key()).await.map_err(|reason| self.reader.busy(reason))?;
        let labels = StatementLabels { resource: &access.resource().full_name, operation: form.as_str() };
        let context = statement_log::for_write(&self.reader.primary, self.reader.slow_statements(), labels, self.catalog.max_rows());
        let written = self.run(&writers.for_answer(context), &plan, query).await?;
        let is_one = form.takes_id() || (form == WriteForm::Create && !plan.is_list);
        Ok(WriteAnswer { count: written.count, rows: written.rows, is_one, dry_run: plan.dry_run, slot })
    }

    async fn run(&self, writers: &Writers, plan: &WritePlan<'_>, query: WriteQuery) -> Result<Written, Problem> {
        let mut tried = 0;
        loop {
            tried += 1;
            match writers.write(query.clone()).await {
                Ok(written) => return Ok(written),
                Err(WriteFailure::Refused(refusal)) => return Err(refusal_problem(refusal).into()),
                Err(WriteFailure::InDoubt(error)) => return Err(WriteProblem::InDoubt(error).into()),
                Err(WriteFailure::Store(error)) => return Err(store_problem(error)),
                Err(WriteFailure::Unexplained) => {}
            }
            // Boxed, so that good writes do not carry the size of this larger future.
            let diagnosis = diagnosis(plan, &query);
            let faults = match Box::pin(writers.diagnose(diagnosis)).await {
                Ok(faults) => faults,
                Err(WriteFailure::Refused(refusal)) => return Err(refusal_problem(refusal).into()),
                Err(WriteFailure::InDoubt(error) | WriteFailure::Store(error)) => return Err(store_problem(error)),
                Err(WriteFailure::Unexplained) => Vec::new(),
            };
            if !faults.is_empty() {
                return Err(WriteProblem::Faults(faults_for_client(plan, &faults)).into());
            }
            // Another write may have been in the way.
            if tried == MAX_UNEXPLAINED {
                let fault = WriteFault { kind: WriteFaultKind::Refused, item: None, fields: Vec::new() };
                return Err(WriteProblem::Faults(faults_for_client(plan, &[fault])).into());
            }
        }
    }

    /// One line in the log, without values.
    fn note(&self, caller: &Caller, resource: &Resource, form: WriteForm, (count, outcome): (usize, &'static str)) {
        let account = caller.account().map(|id| id.to_string());
        let operation = form.operation().as_str();
        tracing::info!(account, resource = resource.full_name, operation, count, outcome, "write");
        self.writes.count(&resource.full_name, operation, outcome);
    }
}

/// Plans a write of a request, or says why it is refused.
pub(super) fn plan_request<'s>(
    access: WriteAccess<'s, '_>,
    form: WriteForm,
    body: &WriteBody,
    target: WriteTarget<'_>,
) -> Result<WritePlan<'s>, WriteError> {
    let parts: Option<Vec<&str>> = target.key.map(|parts| parts.iter().map(String::as_str).collect());
    let address = WriteAddress { id: parts.as_deref(), if_match: target.if_match };
    let server_values = ServerValues { now: clock::unix_microseconds(), random: &mut || *random::uuid().as_bytes() };
    plan_write(access, form, body, address, server_values)
}

pub(super) fn plan_problem(caller: &Caller, error: WriteError) -> Problem {
    match error {
        WriteError::Faults(error) => WriteProblem::Input(error).into(),
        WriteError::NoVariable => WriteProblem::NoVariable.into(),
        WriteError::NeedsRead(permission) => caller.refusal(&permission),
    }
}

/// The faults with their pointers into the body, for the client.
fn faults_for_client(plan: &WritePlan<'_>, faults: &[WriteFault]) -> Vec<WriteFaultCode> {
    let mut described = Vec::new();
    for fault in faults {
        let fields: Vec<&str> = fault.fields.iter().filter_map(|id| plan.payload_name(*id, fault.item)).collect();
        let message = message(fault.kind, &fields);
        if fields.is_empty() {
            // Two keys without a field of the payload are one fault to the client.
            let whole = WriteFaultCode { kind: fault.kind, path: pointer(plan, fault, None), message: message.clone() };
            if !described.contains(&whole) {
                described.push(whole);
            }
        }
        for id in &fault.fields {
            let Some(name) = plan.payload_name(*id, fault.item) else { continue };
            let path = pointer(plan, fault, Some((*id, name)));
            described.push(WriteFaultCode { kind: fault.kind, path, message: message.clone() });
        }
    }
    described.truncate(MAX_FAULTS);
    described
}

/// The pointer to a fault in the body.
fn pointer(plan: &WritePlan<'_>, fault: &WriteFault, field: Option<(FieldId, &str)>) -> String {
    let has_payload = matches!(plan.form.operation(), WriteOperation::Create | WriteOperation::Update);
    if !has_payload {
        return String::new();
    }
    let is_increment = !plan.has_payload || field.is_some_and(|(id, _)| plan.adds_to(id));
    let mut path = Pointer::at(if is_increment { "/increment" } else { "/payload" });
    if let Some(item) = fault.item.filter(|_| plan.is_list) {
        path.index(item);
    }
    if let Some((_, name)) = field {
        path.key(name);
    }
    path.finish()
}

fn message(kind: WriteFaultKind, fields: &[&str]) -> String {
    let names = fields.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ");
    match kind {
        WriteFaultKind::Exists if fields.is_empty() => "a row with the same unique key exists already".to_owned(),
        WriteFaultKind::Exists => format!("a row with this value of {names} exists already"),
        WriteFaultKind::NoSuchRow if fields.is_empty() => "a reference leads to no row that you can read".to_owned(),
        WriteFaultKind::NoSuchRow => format!("{names} leads to no row that you can read"),
        WriteFaultKind::InUse => "other rows refer to this row".to_owned(),
        WriteFaultKind::Refused if fields.is_empty() => "the database refuses this row".to_owned(),
        WriteFaultKind::Refused => format!("the database refuses this value of {names}"),
        WriteFaultKind::OutOfRange => format!("{names} would leave its range"),
        WriteFaultKind::CheckFailed => "the row would not be as this resource requires".to_owned(),
    }
}

/// A write that ran too long may have waited for another one, which no narrower statement helps.
fn store_problem(error: store::Error) -> Problem {
    match error {
        store::Error::Timeout => WriteProblem::Timeout.into(),
        error => error.into(),
    }
}

fn refusal_problem(refusal: WriteRefusal) -> WriteProblem {
    match refusal {
        WriteRefusal::NotFound => WriteProblem::NotFound,
        WriteRefusal::OutOfScope => WriteProblem::OutOfScope,
        WriteRefusal::Stale => WriteProblem::Stale,
        WriteRefusal::TooManyRows { max } => WriteProblem::TooManyRows { max },
        WriteRefusal::AnswerTooLarge => WriteProblem::AnswerTooLarge,
    }
}
