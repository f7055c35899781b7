//! The paths of the document: the operations of the resources, and the endpoints of the server itself.

use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::describe::UniqueNames;
use query::describe::json_schema::Defined;
use query::json::Json;
use query::json::build::texts;
use query::object;

use super::parts::{OWN_TAG, WITH_TOKEN, json, member, success, token_optional};
use super::{administration, endpoints, problems, resources};

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

pub(super) fn paths(catalog: &Catalog, strategy: Strategy, defined: &[Defined]) -> Vec<(String, Json)> {
    let mut claims = UniqueNames::default();
    let mut paths = server_paths(strategy, &mut claims);
    paths.extend(endpoints::auth_paths(strategy, &mut claims));
    paths.extend(resources::paths(catalog, strategy, defined, &mut claims));
    paths.extend(administration::paths(catalog, &mut claims));
    if strategy == Strategy::LocalProvider {
        paths.extend(endpoints::oauth_paths(&mut claims));
    }
    paths
}

fn server_paths(strategy: Strategy, claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let status = |word: &str| {
        json(object! {
            "type" => "object",
            "properties" => object! { "status" => object! { "type" => "string", "const" => word } },
            "required" => texts(["status"]),
        })
    };
    let mut get = |id: &str, summary: &str, content: Json, (others, statuses): (Vec<(String, Json)>, &[u16])| {
        let mut entries = vec![
            member("operationId", Json::from(claims.claim(id))),
            member("tags", texts([OWN_TAG])),
            member("summary", Json::from(summary)),
        ];
        let mut statuses = statuses.to_vec();
        if strategy != Strategy::None {
            entries.push(member("security", token_optional()));
            statuses.extend(WITH_TOKEN);
        }
        statuses.sort_unstable();
        statuses.dedup();
        let mut responses = vec![member("200", success(summary, content))];
        responses.extend(others);
        responses.extend(problems::references(&statuses));
        entries.push(member("responses", Json::Object(responses)));
        object! { "get" => entries }
    };
    let not_modified = vec![member("304", object! { "description" => "`If-None-Match` names the current document" })];
    vec![
        member("/health", get("health", "The process is alive", status("live"), (Vec::new(), &[]))),
        member("/ready", get("ready", "The database answers", status("ready"), (Vec::new(), &[500, 503, 504]))),
        member("/api/openapi.json", get("openapi", "This document", json(object! { "type" => "object" }), (not_modified, &[]))),
    ]
}
