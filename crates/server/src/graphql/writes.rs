//! Resolves a mutation that changes rows of a resource: the same write as over REST.

use query::json::Json;
use query::payload::{self, WriteForm};
use serde_json::value::RawValue;
use store::Answer;

use crate::problem::{Problem, Refusal};
use crate::query_service::key_parts;
use crate::query_service::write::{WriteAnswer, WriteTarget};
use crate::traces;

use super::answer::rows_answer;
use super::arguments::{argument, coerced_argument};
use super::output::Output;
use super::root_fields::FieldContext;
use super::row_shape::{self, RowKind, RowShape};
use super::schema::{QueryField, WriteField};
use super::selected_relations;
use super::selection::SelectedField;

pub(super) async fn resolve(context: &FieldContext<'_>, root: &SelectedField<'_>, write: WriteField) -> Result<Output, Problem> {
    let FieldContext { execution, document, variables, .. } = *context;
    let (service, caller) = (execution.service, execution.caller);
    let resource = service.queries.catalog.resource(write.resource);
    traces::note(&resource.full_name, root.field().name.as_str());
    // Permission comes before the arguments are read.
    let access = service.queries.enter_write(write.resource, write.form, caller)?;
    let parts = if write.is_list { root.subfields(document, variables) } else { Vec::new() };
    let shapes: Vec<RowShape<'_>> = if write.is_list {
        parts.iter().filter(|part| part.field().name == "rows").map(|part| RowShape::of(document, part, variables)).collect()
    } else {
        vec![RowShape::of(document, root, variables)]
    };
    let mut members = members(context, root, write)?;
    let key = take_key(context, root, write, &mut members)?;
    members.push(("returning".to_owned(), returning(&shapes)));
    // Several shapes of the same rows need all fields.
    let selection = match shapes.as_slice() {
        [shape] => Some(shape.field_selection()),
        _ => None,
    };
    let read = || Ok(payload::members(write.form, members).showing(selection));
    let target = WriteTarget { key: key.as_deref(), if_match: None };
    let answer = service.queries.write(caller, access, write.form, read, (target, execution.input_bytes)).await?;
    if write.is_list { list(context, (&root.field().selection_set.ty, &parts), &answer).await } else { one(context, &shapes, answer).await }
}

/// The arguments as the keys of a REST body.
fn members(context: &FieldContext<'_>, root: &SelectedField<'_>, write: WriteField) -> Result<Vec<(String, Json)>, Problem> {
    let (field, variables, schema) = (root.field(), context.variables, &context.execution.service.engine.schema);
    let mut members = Vec::new();
    for key in write.form.keys().iter().filter(|key| **key != "returning") {
        let value = match *key {
            "payload" | "increment" => coerced_argument(schema, field, key, variables)?,
            _ => argument(field, key, variables)?,
        };
        members.extend(value.map(|value| ((*key).to_owned(), value)));
    }
    let by_query = members.iter().any(|(key, value)| matches!(key.as_str(), "query" | "all" | "increment") && *value != Json::Null);
    // GraphQL takes one object for a list of one.
    if write.form == WriteForm::Update
        && by_query
        && let Some((_, payload)) = members.iter_mut().find(|(key, _)| key == "payload")
        && let Json::Array(items) = payload
        && items.len() == 1
    {
        *payload = items.remove(0);
    }
    Ok(members)
}

/// The key of the row: an argument, or, in an update, a part of the payload.
fn take_key(
    context: &FieldContext<'_>,
    root: &SelectedField<'_>,
    write: WriteField,
    members: &mut [(String, Json)],
) -> Result<Option<Vec<String>>, Problem> {
    let resource = context.execution.service.queries.catalog.resource(write.resource);
    match write.form {
        WriteForm::DeleteById | WriteForm::RestoreById => {
            let id = match argument(root.field(), "id", context.variables)? {
                Some(Json::Text(text)) => text,
                Some(Json::Number(digits)) => digits.into(),
                _ => return Err(Problem::Graphql(Refusal::Input, "`id` must be a string or a whole number".to_owned())),
            };
            Ok(Some(if resource.key.len() == 1 { vec![id] } else { key_parts(&id, resource.key.len()) }))
        }
        WriteForm::UpdateById => {
            let payload = members.iter_mut().find(|(key, _)| key == "payload").map(|(_, value)| value);
            let Some(Json::Object(entries)) = payload else { return Ok(Some(Vec::new())) };
            let mut key = Vec::new();
            for field in resource.key_fields() {
                let part = entries.iter().find(|(name, _)| *name == field.name).map(|(_, value)| value);
                key.push(match part {
                    Some(Json::Text(text)) => text.clone(),
                    Some(Json::Number(digits)) => digits.to_string(),
                    Some(Json::Bool(value)) => value.to_string(),
                    _ => {
                        let message = format!("`payload` needs `{}`, the key of the row", field.name);
                        return Err(Problem::Graphql(Refusal::Input, message));
                    }
                });
            }
            Ok(Some(key))
        }
        WriteForm::Create | WriteForm::Update | WriteForm::Delete => Ok(None),
    }
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
