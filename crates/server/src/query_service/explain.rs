//! `explain`: the SQL of a statement, and the plan of the database, over HTTP and on the command line.

use axum::extract::Request;
use axum::response::Response;
use query::error::Error;
use query::merge::merged;
use query::parse;
use query::payload::{self, WriteBody, WriteForm};
use query::plan::write::WriteError;
use query::plan::{self, Operation};
use query::policy::{ReadAccess, WriteAccess};
use query::sql::{self, Dialect};
use query::statement::Statement;
use serde_json::{Value, json};
use store::Database;
use store::run::PlanDetail;

use crate::caller::Caller;
use crate::http::{body, etag};
use crate::problem::{NO_SUCH_PATH, Problem, WriteProblem};
use crate::response;

use super::field_parameter::field_parameter;
use super::write::{WriteTarget, plan_problem, plan_request};
use super::{QueryService, key_parts};

pub const PERMISSION: &str = identity::account::EXPLAIN;

/// The operations that can be explained, the default first.
pub const OPERATIONS: [(&str, Operation); 2] = [("paginate", Operation::Paginate), ("keyset-paginate", Operation::KeysetPaginate)];

/// Whether the database is asked for its own plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analyze {
    Yes(PlanDetail),
    No,
}

/// Answers `POST …/explain`; `?analyze=true` adds the database's own plan, `?operation=` names another operation than `paginate`, and
/// `?fields=` the fields that rows show.
pub(crate) async fn answer(
    queries: &QueryService,
    (caller, access): (&Caller, ReadAccess<'_, '_>),
    request: Request,
) -> Result<Response, Problem> {
    let analyze = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "analyze" || pair == "analyze=true"));
    if let Some(form) = write_form(request.uri().query())? {
        if analyze {
            return Err(Problem::Malformed("`analyze` runs the statement, and a write is not run; leave it out"));
        }
        return write(queries, (caller, access), form, request).await;
    }
    let operation = operation(request.uri().query())?;
    if parameter(request.uri().query(), "id").is_some() {
        return Err(Problem::Malformed("`id` names the row of a write; `operation` must be `update`, `delete` or `restore` beside it"));
    }
    let (head, body) = request.into_parts();
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let read = || {
        let body = parse::body(&bytes)?;
        Ok::<_, Error>(merged(parse::Body { query: body.query.showing_parameter(field_parameter(head.uri.query())), ..body }))
    };
    let statement = queries.validate(caller.key(), bytes.len(), read).await??;
    let _slot = queries.reader.slot(caller.key()).await?;
    // A caller over HTTP sees only what the policy allows.
    let analyze = if analyze { Analyze::Yes(PlanDetail::Result) } else { Analyze::No };
    let explained = explain(&queries.reader.primary, access, (operation, statement), analyze).await?;
    Ok(response::json(explained.to_string()))
}

fn parameter<'q>(query: Option<&'q str>, name: &str) -> Option<&'q str> {
    query.unwrap_or_default().split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value))
}

/// The write that the parameter `operation` names; with the parameter `id`, the one of a row.
fn write_form(query: Option<&str>) -> Result<Option<WriteForm>, Problem> {
    let Some(operation) = parameter(query, "operation") else { return Ok(None) };
    let has_id = parameter(query, "id").is_some();
    let form = find_write(operation, has_id);
    if form.is_some() || find_write(operation, !has_id).is_none() {
        return Ok(form);
    }
    Err(Problem::Malformed(if has_id {
        "`create` takes no `id`: a new row has none yet"
    } else {
        "`restore` needs `id`, the key of the row"
    }))
}

/// The write of this name, of one row or of several.
pub(crate) fn find_write(operation: &str, has_id: bool) -> Option<WriteForm> {
    WriteForm::ALL.into_iter().find(|form| form.operation().as_str() == operation && form.takes_id() == has_id)
}

/// Answers `POST …/explain?operation=update&id=7` with the body of the write. It changes nothing.
async fn write(
    queries: &QueryService,
    (caller, read_access): (&Caller, ReadAccess<'_, '_>),
    form: WriteForm,
    request: Request,
) -> Result<Response, Problem> {
    if field_parameter(request.uri().query())?.is_some() {
        return Err(Problem::Malformed("`fields` narrows the rows of reads; the answer of a write is narrowed by `returning`"));
    }
    let resource = queries.catalog.by_name(&read_access.resource().full_name).ok_or(NO_SUCH_PATH)?;
    let access = queries.authorize_write(resource, form, caller)?;
    let (head, body) = request.into_parts();
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let key = parameter(head.uri.query(), "id").map(|id| key_parts(id, access.resource().key.len()));
    let key = key.transpose().map_err(WriteProblem::Input)?;
    let if_match = etag::if_match(&head.headers);
    let explained = queries.validate(caller.key(), bytes.len(), || {
        let body = payload::body(form, &bytes).map_err(WriteProblem::Input)?;
        let target = WriteTarget { key: key.as_deref(), if_match: if_match.as_deref() };
        explain_write(access, form, &body, target, queries.reader.primary.dialect()).map_err(|error| plan_problem(caller, error))
    });
    Ok(response::json(explained.await??.to_string()))
}

/// The statements of a write, in their order.
pub(crate) fn explain_write(
    access: WriteAccess<'_, '_>,
    form: WriteForm,
    body: &WriteBody,
    target: WriteTarget<'_>,
    dialect: Dialect,
) -> Result<Value, WriteError> {
    let plan = plan_request(access, form, body, target)?;
    let query = sql::write::render(&plan, dialect);
    let mut described = query::explain::write(&plan, &query, dialect);
    described["resource"] = json!(access.resource().full_name);
    Ok(described)
}

/// The parameter `operation`.
fn operation(query: Option<&str>) -> Result<Operation, Problem> {
    let Some(name) = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("operation=")) else {
        return Ok(Operation::Paginate);
    };
    let found = OPERATIONS.into_iter().find(|(word, _)| *word == name).map(|(_, operation)| operation);
    found
        .ok_or(Problem::Malformed("`operation` must be `paginate`, `keyset-paginate`, or a write: `create`, `update`, `delete`, `restore`"))
}

/// The merged statement, the SQL of each level, and perhaps the database's own plan of each.
pub async fn explain(
    database: &Database,
    access: ReadAccess<'_, '_>,
    (operation, statement): (Operation, Statement),
    analyze: Analyze,
) -> Result<Value, Problem> {
    let merged = query::explain::statement(&statement);
    let (mut described, query) = {
        let plan = plan::plan(access, statement, operation, None)?;
        let query = sql::render(&plan, database.dialect());
        (query::explain::levels(&plan, &query, database.dialect()), query)
    };
    if let Analyze::Yes(detail) = analyze {
        for (path, lines) in database.analyze(&query, detail).await? {
            let level = described["levels"].as_array_mut().into_iter().flatten().find(|level| level["path"] == path.as_str());
            if let Some(level) = level {
                level["plan"] = json!(lines);
            }
        }
    }
    described["resource"] = json!(access.resource().full_name);
    described["statement"] = merged;
    Ok(described)
}
