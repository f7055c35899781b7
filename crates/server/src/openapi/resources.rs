//! The operations of the declared resources in the document.

use query::catalog::{Catalog, Resource};
use query::describe::json_schema::Defined;
use query::describe::{Claims, is_findable, upper_first};
use query::json::Json;
use query::json::build::texts;
use query::object;

use crate::explain;

use super::parts::{ALWAYS, by_account, json, member, perhaps_by_account, reference, success};
use super::{Serving, problems};

/// Every operation of every resource.
pub(super) fn paths(catalog: &Catalog, serving: Serving, defined: &[Defined], claims: &mut Claims) -> Vec<(String, Json)> {
    let mut paths = Vec::new();
    for (resource, defined) in catalog.resources().iter().zip(defined) {
        let base = resource.address();
        for operation in operations(resource) {
            let id = claims.claim(&operation.id(resource));
            paths.push((format!("{base}/{}", operation.path), object! { "post" => operation.describe((resource, serving), defined, id) }));
        }
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
    if is_findable(resource) {
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
            member("operationId", Json::from(id)),
            member("tags", texts([&resource.context])),
            member("summary", Json::from(self.summary)),
            member("description", Json::from(description)),
        ];
        if !permissions.is_empty() {
            entries.push(member("x-permission", texts(&permissions)));
        }
        if serving.knows_accounts() {
            entries.push(member("security", if permissions.is_empty() { perhaps_by_account() } else { by_account() }));
        }
        if let Some(parameter) = self.parameter(resource) {
            entries.push(member("parameters", Json::Array(vec![parameter])));
        }
        let body = object! { "application/json" => object! { "schema" => reference(&defined.request) } };
        entries.push(member("requestBody", object! { "required" => false, "content" => body }));
        let mut responses = vec![member("200", self.success(&defined.row))];
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
        entries.push(member("responses", Json::Object(responses)));
        Json::Object(entries)
    }

    fn parameter(&self, resource: &Resource) -> Option<Json> {
        let names: Vec<&str> = resource.key_fields().map(|field| field.name.as_str()).collect();
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
