//! The operations of the declared resources in the document.

use identity::strategy::Strategy;
use query::catalog::write_rules::{WriteOperation, WriteRules};
use query::catalog::{Catalog, Resource};
use query::describe::json_schema::{Defined, DefinedKeyset};
use query::describe::{UniqueNames, is_findable, shown_version, upper_first};
use query::json::Json;
use query::json::build::texts;
use query::object;

use crate::query_service::explain;
use crate::query_service::operation::ReadOperation;

use super::{ALWAYS, id_parameter, json, member, problems, reference, success, token_optional, token_required, writes};

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";

pub(super) fn paths(catalog: &Catalog, strategy: Strategy, defined: &[Defined], claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let mut paths = Vec::new();
    for (resource, defined) in catalog.resources().iter().zip(defined) {
        let base = resource.path();
        for operation in ReadOperation::ALL.into_iter().filter(|operation| !operation.needs_key() || is_findable(resource)) {
            let id = claims.claim(&operation_id(operation, resource));
            paths.push((
                format!("{base}/{}", operation.path_end()),
                object! { "post" => describe(operation, resource, strategy, defined, id) },
            ));
        }
        paths.extend(writes::paths(resource, strategy, defined, claims));
    }
    paths
}

fn operation_id(operation: ReadOperation, resource: &Resource) -> String {
    let (context, name, plural) = (&resource.context, upper_first(&resource.name), upper_first(&resource.plural));
    match operation {
        ReadOperation::Find => format!("{context}Find{name}"),
        ReadOperation::FindById => format!("{context}Find{name}ById"),
        other => format!("{context}{}{plural}", upper_first(other.name())),
    }
}

fn summary(operation: ReadOperation) -> &'static str {
    match operation {
        ReadOperation::Paginate => "A page of rows, with the total",
        ReadOperation::KeysetPaginate => "A page of rows, with the statement of the next page",
        ReadOperation::List => "All rows that match",
        ReadOperation::Get => "All rows that match; the same as list",
        ReadOperation::Find => "The first row that matches",
        ReadOperation::FindById => "The row with this key",
        ReadOperation::Explain => "The SQL of a statement, level by level",
    }
}

fn describe(operation: ReadOperation, resource: &Resource, strategy: Strategy, defined: &Defined, id: String) -> Json {
    let mut permissions: Vec<&str> = resource.permission.as_deref().into_iter().collect();
    if operation == ReadOperation::Explain {
        permissions.push(explain::PERMISSION);
    }
    let description = match &permissions[..] {
        [] => format!("`{}`; public.", resource.full_name),
        needed => format!("`{}`; needs the permission `{}`.", resource.full_name, needed.join("` and `")),
    };
    let mut entries = vec![
        member("operationId", Json::from(id)),
        member("tags", texts([&resource.context])),
        member("summary", Json::from(summary(operation))),
        member("description", Json::from(description)),
    ];
    if !permissions.is_empty() {
        entries.push(member("x-permission", texts(&permissions)));
    }
    if strategy != Strategy::None {
        entries.push(member("security", if permissions.is_empty() { token_optional() } else { token_required() }));
    }
    entries.push(member("parameters", Json::Array(parameters(operation, resource))));
    let body = match &defined.writes {
        Some(writes) if operation == ReadOperation::Explain => {
            let writes = writes.requests.iter().map(|(_, request)| reference(request));
            object! { "anyOf" => std::iter::once(reference(&defined.request)).chain(writes).collect::<Vec<Json>>() }
        }
        _ => reference(keyset(operation, defined).map_or(&defined.request, |keyset| &keyset.request)),
    };
    entries.push(member("requestBody", object! { "required" => false, "content" => json(body) }));
    let mut answer = answer(operation, defined);
    if operation == ReadOperation::FindById && shown_version(resource).is_some() {
        answer = writes::with_headers(answer, &[writes::ETAG]);
    }
    let mut responses = vec![member("200", answer)];
    let mut statuses = ALWAYS.to_vec();
    if !permissions.is_empty() {
        statuses.push(403);
    }
    if strategy != Strategy::None {
        statuses.push(401);
    }
    if matches!(operation, ReadOperation::Find | ReadOperation::FindById) {
        statuses.push(404);
    }
    // QUERY_MAX_COST and QUERY_MAX_ROWS.
    if operation != ReadOperation::Explain {
        statuses.push(422);
    }
    statuses.sort_unstable();
    responses.extend(problems::references(&statuses));
    entries.push(member("responses", Json::Object(responses)));
    Json::Object(entries)
}

fn parameters(operation: ReadOperation, resource: &Resource) -> Vec<Json> {
    let fields = object! {
        "name" => "fields",
        "in" => "query",
        "description" => "The fields to show, with commas between: `id,name,orders.total`. A relation named here must be loaded in `relations`. \
            A row then has these fields only: `x-fields` beside `schema` describes the answer",
        "schema" => object! { "type" => "string" },
    };
    match operation {
        ReadOperation::Explain => explain_parameters(resource),
        ReadOperation::FindById => vec![id_parameter(resource), fields],
        _ => vec![fields],
    }
}

fn explain_parameters(resource: &Resource) -> Vec<Json> {
    let words: Vec<&str> = resource.write_rules().into_iter().flat_map(WriteRules::operations).map(WriteOperation::as_str).collect();
    let operations = explain::OPERATIONS.iter().map(|(name, _)| *name).chain(words.iter().copied());
    let mut parameters = vec![
        object! {
            "name" => "analyze",
            "in" => "query",
            "description" => "Run the statement and add the database's own plan",
            "schema" => object! { "type" => "boolean" },
        },
        object! {
            "name" => "operation",
            "in" => "query",
            "description" => "The operation to explain; `paginate` if it is left out",
            "schema" => object! { "type" => "string", "enum" => texts(operations) },
        },
        object! {
            "name" => "fields",
            "in" => "query",
            "description" => "The fields that rows show, with commas between; only for reads",
            "schema" => object! { "type" => "string" },
        },
    ];
    if !words.is_empty() {
        parameters.push(object! {
            "name" => "id",
            "in" => "query",
            "description" => "The key of the row, for a write of one row",
            "schema" => object! { "type" => "string" },
        });
        if shown_version(resource).is_some() {
            parameters.push(writes::if_match("The `ETag` of the row, for a write of one row. The condition is shown, and not checked"));
        }
    }
    parameters
}

fn answer(operation: ReadOperation, defined: &Defined) -> Json {
    let content = match operation {
        ReadOperation::Paginate => object! { JSON => answer_of(defined, page) },
        ReadOperation::KeysetPaginate => {
            let statement = keyset(operation, defined).map_or(&defined.statement, |keyset| &keyset.statement);
            let page = |row: &str| keyset_page(reference(row), statement);
            object! { JSON => object! { "schema" => page(&defined.row), "x-fields" => page(&defined.partial_row) } }
        }
        ReadOperation::List | ReadOperation::Get => object! { JSON => answer_of(defined, rows), NDJSON => lines(defined) },
        ReadOperation::Find | ReadOperation::FindById => object! { JSON => answer_of(defined, |row| row) },
        ReadOperation::Explain => json(object! { "type" => "object" }),
    };
    success(summary(operation), content)
}

/// An answer with rows. Under keys of our own is the same answer with groups, and with the rows that `fields` narrows: a union would take the
/// types from the rows of every generated client.
fn answer_of(defined: &Defined, shape: impl Fn(Json) -> Json) -> Json {
    object! {
        "schema" => shape(reference(&defined.row)),
        "x-aggregation" => shape(reference("Group")),
        "x-fields" => shape(reference(&defined.partial_row)),
    }
}

/// The rows as a stream. Its schema is that of all lines together, so that a client reads both media types into one type.
fn lines(defined: &Defined) -> Json {
    let lines = |item: Json| object! { "description" => "One row on each line", "type" => "array", "items" => item };
    answer_of(defined, lines)
}

fn rows(item: Json) -> Json {
    object! { "type" => "array", "items" => item }
}

/// What the operation takes, if that is less than a whole statement.
fn keyset(operation: ReadOperation, defined: &Defined) -> Option<&DefinedKeyset> {
    defined.keyset.as_ref().filter(|_| operation == ReadOperation::KeysetPaginate)
}

fn keyset_page(row: Json, statement: &str) -> Json {
    let next = object! {
        "description" => "The statement of the next page: send it as `query`. Null at the end",
        "anyOf" => [reference(statement), object! { "type" => "null" }],
    };
    object! {
        "type" => "object",
        "properties" => object! {
            "count" => object! { "type" => "integer", "description" => "The rows of this page" },
            "rows" => rows(row),
            "next" => next,
        },
        "required" => texts(["count", "rows", "next"]),
    }
}

fn page(item: Json) -> Json {
    object! {
        "type" => "object",
        "properties" => object! {
            "total" => object! { "type" => "integer", "description" => "All rows that match, without limit and offset" },
            "count" => object! { "type" => "integer", "description" => "The rows of this page" },
            "rows" => rows(item),
        },
        "required" => texts(["total", "count", "rows"]),
    }
}
