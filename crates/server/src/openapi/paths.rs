//! The addresses of the document: every operation of every resource, and what stands beside them.

use query::catalog::{Catalog, Resource, kebab};
use query::describe::document::texts;
use query::describe::json_schema::Defined;
use query::describe::{Claims, upper_first, usable};
use query::json::Json;
use query::object;

use super::{BEARER, SCHEMAS, Serving, auth, oauth, operations, problems};
use crate::explain;

/// What a body can bring on any operation.
pub(super) const ALWAYS: [u16; 7] = [400, 408, 413, 415, 500, 503, 504];

/// What a token can bring wherever it is looked at, public addresses included.
pub(super) const WITH_TOKEN: [u16; 4] = [401, 500, 503, 504];

/// One tag a context.
pub(super) fn tags(catalog: &Catalog) -> Json {
    let mut contexts: Vec<&str> = Vec::new();
    for resource in catalog.resources() {
        if !contexts.contains(&resource.context.as_str()) {
            contexts.push(&resource.context);
        }
    }
    let tag = |context: &str| object! { "name" => context, "description" => format!("Resources of `{context}`") };
    let mut tags: Vec<Json> = contexts.into_iter().map(tag).collect();
    tags.push(object! { "name" => OWN_TAG, "description" => "The server itself" });
    Json::Array(tags)
}

/// A context has no hyphen, so none is called this.
pub(super) const OWN_TAG: &str = "the-server";

pub(super) fn paths(catalog: &Catalog, serving: Serving, defined: &[Defined]) -> Vec<(String, Json)> {
    let mut claims = Claims::default();
    let mut paths = beside(serving, &mut claims);
    paths.extend(auth::paths(serving, &mut claims));
    for (resource, defined) in catalog.resources().iter().zip(defined) {
        let base = format!("/api/{}/{}", kebab(&resource.context), kebab(&resource.plural));
        for operation in operations(resource) {
            let id = claims.claim(&operation.id(resource));
            paths.push((format!("{base}/{}", operation.path), object! { "post" => operation.describe((resource, serving), defined, id) }));
        }
    }
    paths.extend(operations::paths(catalog, &mut claims));
    if serving == Serving::Hub {
        paths.extend(oauth::paths(&mut claims));
    }
    paths
}

/// An operation of a resource.
struct Operation {
    path: &'static str,
    verb: &'static str,
    summary: &'static str,
    answer: Answer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Page,
    Rows,
    Row,
    RowById,
    Explained,
}

fn operations(resource: &Resource) -> Vec<Operation> {
    let operation = |path, verb, summary, answer| Operation { path, verb, summary, answer };
    let mut all = vec![
        operation("paginate", "Paginate", "A page of rows, with the total", Answer::Page),
        operation("list", "List", "All rows that match", Answer::Rows),
        operation("get", "Get", "All rows that match; another name of list", Answer::Rows),
        operation("find", "Find", "The first row that matches", Answer::Row),
    ];
    let has_key = !resource.key.is_empty();
    if has_key && resource.key.iter().all(|id| usable(resource).any(|field| std::ptr::eq(field, &raw const resource.fields[*id]))) {
        all.push(operation("find/{id}", "Find", "The row with this key", Answer::RowById));
    }
    all.push(operation("explain", "Explain", "What a statement becomes: its SQL, level by level", Answer::Explained));
    all
}

impl Operation {
    fn id(&self, resource: &Resource) -> String {
        let (context, verb) = (&resource.context, self.verb);
        match self.answer {
            Answer::Row => format!("{context}{verb}{}", upper_first(&resource.name)),
            Answer::RowById => format!("{context}{verb}{}ById", upper_first(&resource.name)),
            _ => format!("{context}{verb}{}", upper_first(&resource.plural)),
        }
    }

    fn describe(&self, (resource, serving): (&Resource, Serving), defined: &Defined, id: String) -> Json {
        let mut permissions: Vec<&str> = resource.permission.as_deref().into_iter().collect();
        if self.answer == Answer::Explained {
            permissions.push(explain::PERMISSION);
        }
        let description = match &permissions[..] {
            [] => format!("`{}`; public.", resource.full_name),
            needed => format!("`{}`; takes the permission `{}`.", resource.full_name, needed.join("` and `")),
        };
        let mut entries = vec![
            ("operationId".to_owned(), Json::from(id)),
            ("tags".to_owned(), texts([&resource.context])),
            ("summary".to_owned(), Json::from(self.summary)),
            ("description".to_owned(), Json::from(description)),
        ];
        if !permissions.is_empty() {
            entries.push(("x-permission".to_owned(), texts(&permissions)));
        }
        if serving.knows_accounts() {
            entries.push(("security".to_owned(), security(&permissions)));
        }
        if let Some(parameter) = self.parameter(resource) {
            entries.push(("parameters".to_owned(), Json::Array(vec![parameter])));
        }
        let body = object! { "application/json" => object! { "schema" => reference(&defined.request) } };
        entries.push(("requestBody".to_owned(), object! { "required" => false, "content" => body }));
        let mut responses = vec![("200".to_owned(), self.success(&defined.row))];
        let mut statuses = ALWAYS.to_vec();
        if !permissions.is_empty() {
            statuses.push(403);
        }
        if serving.knows_accounts() {
            statuses.push(401);
        }
        if matches!(self.answer, Answer::Row | Answer::RowById) {
            statuses.push(404);
        }
        statuses.sort_unstable();
        responses.extend(problems::references(&statuses));
        entries.push(("responses".to_owned(), Json::Object(responses)));
        Json::Object(entries)
    }

    fn parameter(&self, resource: &Resource) -> Option<Json> {
        let names: Vec<&str> = resource.key.iter().map(|id| resource.fields[*id].name.as_str()).collect();
        let schema = object! { "type" => "string" };
        match self.answer {
            Answer::RowById => Some(object! {
                "name" => "id",
                "in" => "path",
                "required" => true,
                "description" => format!("The key: `{}`", names.join(",")),
                "schema" => schema,
            }),
            Answer::Explained => Some(object! {
                "name" => "analyze",
                "in" => "query",
                "description" => "Run the statement and add the database's own plan",
                "schema" => object! { "type" => "boolean" },
            }),
            _ => None,
        }
    }

    fn success(&self, row: &str) -> Json {
        // An aggregation is answered by groups.
        let row = object! { "anyOf" => [reference(row), reference("Group")] };
        let rows = object! { "type" => "array", "items" => row.clone() };
        let content = match self.answer {
            Answer::Page => json(object! {
                "type" => "object",
                "properties" => object! {
                    "total" => object! { "type" => "integer", "description" => "All that match, whatever limit and offset" },
                    "count" => object! { "type" => "integer", "description" => "The rows of this page" },
                    "rows" => rows,
                },
                "required" => texts(["total", "count", "rows"]),
            }),
            Answer::Rows => object! {
                "application/json" => object! { "schema" => rows },
                "application/x-ndjson" => object! { "schema" => object! { "description" => "One row a line", "anyOf" => [row] } },
            },
            Answer::Row | Answer::RowById => json(row),
            Answer::Explained => json(object! { "type" => "object" }),
        };
        success(self.summary, content)
    }
}

/// A token where one is needed; where none is, it may be shown all the same.
pub(super) fn security(permissions: &[&str]) -> Json {
    let mut ways = vec![object! { BEARER => Json::Array(Vec::new()) }];
    if permissions.is_empty() {
        ways.push(object! {});
    }
    Json::Array(ways)
}

pub(super) fn reference(name: &str) -> Json {
    object! { "$ref" => format!("{SCHEMAS}{name}") }
}

pub(super) fn json(schema: Json) -> Json {
    object! { "application/json" => object! { "schema" => schema } }
}

pub(super) fn success(description: &str, content: Json) -> Json {
    object! {
        "description" => description,
        "headers" => object! { "X-Request-Id" => object! { "$ref" => "#/components/headers/RequestId" } },
        "content" => content,
    }
}

/// What stands beside the resources.
fn beside(serving: Serving, claims: &mut Claims) -> Vec<(String, Json)> {
    let status = |word: &str| {
        json(object! {
            "type" => "object",
            "properties" => object! { "status" => object! { "const" => word } },
            "required" => texts(["status"]),
        })
    };
    let mut get = |id: &str, summary: &str, content: Json, (others, statuses): (Vec<(String, Json)>, &[u16])| {
        let mut entries = vec![
            ("operationId".to_owned(), Json::from(claims.claim(id))),
            ("tags".to_owned(), texts([OWN_TAG])),
            ("summary".to_owned(), Json::from(summary)),
        ];
        let mut statuses = statuses.to_vec();
        if serving.knows_accounts() {
            entries.push(("security".to_owned(), security(&[])));
            statuses.extend(WITH_TOKEN);
        }
        statuses.sort_unstable();
        statuses.dedup();
        let mut responses = vec![("200".to_owned(), success(summary, content))];
        responses.extend(others);
        responses.extend(problems::references(&statuses));
        entries.push(("responses".to_owned(), Json::Object(responses)));
        object! { "get" => entries }
    };
    let known = vec![("304".to_owned(), object! { "description" => "It is the one that `If-None-Match` names" })];
    vec![
        ("/health".to_owned(), get("health", "The process lives", status("live"), (Vec::new(), &[]))),
        ("/ready".to_owned(), get("ready", "The database answers", status("ready"), (Vec::new(), &[500, 503, 504]))),
        ("/api/openapi.json".to_owned(), get("openapi", "This document", json(object! { "type" => "object" }), (known, &[]))),
    ]
}
