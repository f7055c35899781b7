//! Resolves a mutation that changes rows of a resource: the same write as over REST.

use query::catalog::Resource;
use query::error::{Code, Error};
use query::json::Json;
use query::payload::{self, WriteForm};
use serde_json::value::RawValue;
use store::Answer;

use crate::problem::{Problem, WriteProblem};
use crate::query_service::write::{WriteAnswer, WriteTarget};
use crate::traces;

use super::answer::rows_answer;
use super::arguments::{argument, coerced_argument};
use super::context::{ExecutionContext, FieldContext};
use super::output::Output;
use super::response_notes::MutationEnd;
use super::root_fields;
use super::row_shape::{self, RowKind, RowShape};
use super::schema::{QueryField, WriteField};
use super::selected_relations;
use super::selection::SelectedField;
use super::unreadable::{self, AnsweredRows};

pub(super) async fn resolve(context: &FieldContext<'_>, root: &SelectedField<'_>, write: WriteField) -> Result<Output, Problem> {
    let FieldContext { execution, document, variables, .. } = *context;
    let (service, caller) = (execution.service, execution.caller);
    let resource = service.queries.catalog.resource(write.resource);
    traces::note(&resource.full_name, root.field().name.as_str());
    // Permission comes before the arguments are read.
    let access = service.queries.begin_write(write.resource, write.form, caller)?;
    let parts = if write.is_list { root.subfields(document, variables) } else { Vec::new() };
    let shapes: Vec<RowShape<'_>> = if write.is_list {
        parts.iter().filter(|part| part.field().name == "rows").map(|part| RowShape::of(document, part, variables)).collect()
    } else {
        vec![RowShape::of(document, root, variables)]
    };
    let mut members = members(context, root, write)?;
    let key = key(context, root, write)?;
    members.push(("returning".to_owned(), returning(&shapes)));
    // Several shapes of the same rows need all fields.
    let selection = match shapes.as_slice() {
        [shape] => Some(shape.field_selection()),
        _ => None,
    };
    if execution.has_if_match {
        let message = "a mutation takes no `If-Match`; send the version in `payload`, or a condition in `expect`";
        return Err(WriteProblem::Input(Error::one(Code::IfMatch, "", message)).into());
    }
    let body = payload::members(write.form, members).showing(selection);
    let is_dry_run = body.dry_run;
    let target = WriteTarget { key: key.as_deref(), if_match: None };
    let answer = service.queries.write(caller, access, write.form, || Ok(body), (target, execution.input_bytes)).await;
    if is_dry_run && answer.is_err() {
        execution.notes.mutation(MutationEnd::DryRun);
    }
    let answer = answer?;
    execution.notes.mutation(if answer.dry_run { MutationEnd::DryRun } else { MutationEnd::Changed });
    if write.is_list {
        unreadable::report(context, resource, AnsweredRows::Many(root, &parts, answer.count));
        list(context, (&root.field().selection_set.ty, &parts), &answer).await
    } else {
        unreadable::report(context, resource, AnsweredRows::One(root));
        one(context, &shapes, answer).await
    }
}

/// The arguments as the keys of a REST body.
fn members(context: &FieldContext<'_>, root: &SelectedField<'_>, write: WriteField) -> Result<Vec<(String, Json)>, Problem> {
    let ExecutionContext { service, .. } = *context.execution;
    let (field, variables, schema) = (root.field(), context.variables, &service.engine.schema);
    let mut members = Vec::new();
    for key in write.form.keys().iter().filter(|key| **key != "returning") {
        let value = match *key {
            "payload" | "increment" => coerced_argument(schema, field, key, variables)?,
            _ => argument(field, key, variables)?,
        };
        members.extend(value.map(|value| ((*key).to_owned(), value)));
    }
    if write.form == WriteForm::Update {
        let resource = service.queries.catalog.resource(write.resource);
        let means_others = |(key, value): &(String, Json)| {
            matches!(key.as_str(), "query" | "all" | "increment") && !matches!(value, Json::Null | Json::Bool(false))
        };
        let by_query = members.iter().any(means_others);
        if let Some((_, payload)) = members.iter_mut().find(|(key, _)| key == "payload") {
            let is_one = |item: &Json| by_query || !names_row(resource, item);
            if let Json::Array(items) = payload
                && let [_] = &items[..]
                && is_one(&items[0])
            {
                *payload = items.remove(0);
            }
        }
    }
    Ok(members)
}

/// Whether an item of a payload has a part of the key of its row. GraphQL turns one object into a list of one, which then names no row.
fn names_row(resource: &Resource, item: &Json) -> bool {
    let Json::Object(entries) = item else { return true };
    resource.key_fields().any(|key| entries.iter().any(|(name, _)| *name == key.name))
}

/// The key of the row, where an argument names it. An update has it in its payload.
fn key(context: &FieldContext<'_>, root: &SelectedField<'_>, write: WriteField) -> Result<Option<Vec<String>>, Problem> {
    if !matches!(write.form, WriteForm::DeleteById | WriteForm::RestoreById) {
        return Ok(None);
    }
    let resource = context.execution.service.queries.catalog.resource(write.resource);
    root_fields::key(root.field(), context.variables, resource.key.len()).map(Some)
}

/// The relations that the selection loads; the number alone if it has no rows.
fn returning(shapes: &[RowShape<'_>]) -> Json {
    if shapes.is_empty() {
        return Json::Bool(false);
    }
    let mut statement = Some(Json::Null);
    for shape in shapes {
        statement = selected_relations::with_selected(shape, statement);
    }
    match statement {
        Some(Json::Object(entries)) => Json::Object(entries.into_iter().filter(|(key, _)| key == "relations").collect()),
        _ => Json::Bool(true),
    }
}

async fn one(context: &FieldContext<'_>, shapes: &[RowShape<'_>], answer: WriteAnswer) -> Result<Output, Problem> {
    let (Some(shape), Some(row)) = (shapes.first(), answer.rows) else { return Err(Problem::Internal("a write has no row")) };
    rows_answer(Answer::Whole(row), shape, RowKind::Row, QueryField::Find, context.execution.budget).await
}

/// `{count, rows}`, as selected.
async fn list(
    context: &FieldContext<'_>,
    (root_type, parts): (&str, &[SelectedField<'_>]),
    answer: &WriteAnswer,
) -> Result<Output, Problem> {
    let mut out = Output::default();
    out.extend(b"{");
    for (index, part) in parts.iter().enumerate() {
        row_shape::comma(index, out.buffer());
        out.extend(&row_shape::key(part.key));
        match part.field().name.as_str() {
            "count" => out.extend(answer.count.to_string().as_bytes()),
            "rows" => {
                let shape = RowShape::of(context.document, part, context.variables);
                let lines = lines(answer.rows.as_deref().unwrap_or(b"[]"))?;
                let rows = rows_answer(Answer::Whole(lines.into()), &shape, RowKind::Row, QueryField::Get, context.execution.budget);
                out.append(rows.await?);
            }
            _ => out.extend(&row_shape::quoted(root_type)),
        }
    }
    out.extend(b"}");
    Ok(out)
}

/// A row on each line.
fn lines(rows: &[u8]) -> Result<Vec<u8>, Problem> {
    let rows: Vec<&RawValue> = serde_json::from_slice(rows).map_err(|_| Problem::Internal("could not read the rows of a write"))?;
    let mut lines = Vec::new();
    for row in rows {
        lines.extend_from_slice(row.get().as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}
