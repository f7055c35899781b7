//! The operations of administration in the document: paths, inputs and answers.

use query::catalog::Catalog;
use query::describe::UniqueNames;
use query::json::Json;
use query::json::build::texts;
use query::object;

use crate::admin_operations::describe::offered;
use crate::admin_operations::{Operation, OperationTarget, PAYLOAD};

use super::{ALWAYS, SCHEMAS, json, member, problems, reference, success, token_required};

pub(super) fn paths(catalog: &Catalog, claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let described = |operation: &'static Operation| {
        let id = claims.claim(&operation.name());
        (operation.path(catalog), object! { "post" => describe(operation, id) })
    };
    offered(catalog).map(described).collect()
}

fn describe(operation: &Operation, id: String) -> Json {
    let context = operation.resource.split('.').next().unwrap_or_default();
    let mut entries = vec![
        member("operationId", Json::from(id)),
        member("tags", texts([context])),
        member("summary", Json::from(operation.summary)),
        member("description", Json::from(description(operation))),
        member("x-permission", texts([operation.permission])),
        member("security", token_required()),
    ];
    if operation.target == OperationTarget::RecordById {
        entries.push((
            "parameters".to_owned(),
            Json::Array(vec![object! {
                "name" => "id",
                "in" => "path",
                "required" => true,
                "description" => format!("The key of the record of `{}`", operation.resource),
                "schema" => object! { "type" => "string" },
            }]),
        ));
    }
    if !operation.fields.is_empty() {
        let body = object! {
            "type" => "object",
            "properties" => object! { PAYLOAD => reference(&operation.input_name()) },
            "required" => texts([PAYLOAD]),
            "additionalProperties" => false,
        };
        entries.push(member("requestBody", object! { "required" => true, "content" => json(body) }));
    }
    let (status, mut statuses) = match operation.target {
        OperationTarget::NewRecord => ("201", [&ALWAYS[..], &[401, 403, 409]].concat()),
        OperationTarget::RecordById => ("200", [&ALWAYS[..], &[401, 403, 404, 409]].concat()),
    };
    statuses.sort_unstable();
    let mut responses = vec![(status.to_owned(), success(operation.summary, json(operation.answer_schema(SCHEMAS))))];
    responses.extend(problems::references(&statuses));
    entries.push(member("responses", Json::Object(responses)));
    Json::Object(entries)
}

fn description(operation: &Operation) -> String {
    let reading = format!("{}.get", operation.resource);
    format!(
        "Needs the permission `{}` and a token of a client with the flag `administers`. The answer holds what the caller may read of the record: without `{reading}`, only its `id`.",
        operation.permission
    )
}
