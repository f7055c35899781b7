//! The fixed endpoints of the document: `/auth/…`, and the OAuth and OpenID endpoints of a hub.
//!
//! `endpoints.json` describes them in OpenAPI, shortened: a string is a property or a response with this description; `refusals` and
//! `problems` are the responses with these statuses; `schema` is the content of a response as JSON, and of a request as JSON or as a form;
//! `json` is the content of a request as JSON alone.

use identity::strategy::Strategy;
use query::describe::{UniqueNames, upper_first};
use query::json::Json;
use query::json::build::{compact, entries, texts};
use query::object;

use super::{OWN_TAG, json, member, problems, reference};

const DESCRIPTIONS: &str = include_str!("endpoints.json");
const FORM: &str = "application/x-www-form-urlencoded";
const OAUTH_TAG: &str = "oAuth";

fn section(name: &str) -> Vec<(String, Json)> {
    let sections = query::json::data(DESCRIPTIONS.as_bytes()).map(entries).unwrap_or_default();
    sections.into_iter().find(|(key, _)| key == name).map(|(_, section)| entries(section)).unwrap_or_default()
}

pub(super) fn schemas(strategy: Strategy) -> Vec<(String, Json)> {
    let names: &[&str] = match strategy {
        Strategy::None => &[],
        Strategy::LocalProvider => &["schemas", "hub schemas"],
        Strategy::PlatformHub => &["schemas", "satellite schemas"],
    };
    names.iter().flat_map(|name| section(name)).map(|(name, schema)| (name, with_properties(schema))).collect()
}

/// `me` and `verify` under every strategy, and the login at a satellite. Each path is under `/api` too.
pub(super) fn auth_paths(strategy: Strategy, claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let names: &[&str] = match strategy {
        Strategy::None => &["me without accounts", "verify"],
        Strategy::LocalProvider => &["me", "verify"],
        Strategy::PlatformHub => &["me", "verify", "satellite auth"],
    };
    let mut endpoints: Vec<(String, Json)> = names.iter().flat_map(|name| section(name)).collect();
    if strategy == Strategy::None {
        for (_, operation) in &mut endpoints {
            if let Json::Object(members) = operation {
                members.retain(|(name, _)| name != "security");
            }
        }
    }
    let mut paths = mounted(&endpoints, OWN_TAG, ("/auth", "auth"), claims);
    paths.extend(mounted(&endpoints, OWN_TAG, ("/api/auth", "apiAuth"), claims));
    paths
}

/// The OAuth endpoints of a hub, which are at the root and under `/api/o-auth`, and the OpenID endpoints.
pub(super) fn oauth_paths(claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let endpoints = section("oauth");
    let mut paths = mounted(&endpoints, OAUTH_TAG, ("", ""), claims);
    paths.extend(mounted(&endpoints, OAUTH_TAG, ("/api/o-auth", "oAuth"), claims));
    paths.extend(mounted(&section("openid"), OAUTH_TAG, ("", ""), claims));
    paths
}

fn mounted(endpoints: &[(String, Json)], tag: &str, (base, prefix): (&str, &str), claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let mut paths: Vec<(String, Json)> = Vec::new();
    for (endpoint, described) in endpoints {
        let (method, path) = endpoint.split_once(' ').unwrap_or_default();
        let mut members = vec![member("tags", texts([tag]))];
        members.extend(entries(described.clone()).into_iter().map(|(name, value)| match (name.as_str(), value) {
            ("operationId", Json::Text(id)) => {
                let id = if prefix.is_empty() { id } else { format!("{prefix}{}", upper_first(&id)) };
                (name, Json::from(claims.claim(&id)))
            }
            ("requestBody", body) => (name, with_content(body, &[FORM, "application/json"])),
            ("responses", described) => (name, responses(described)),
            (_, value) => (name, value),
        }));
        let (path, operation) = (format!("{base}{path}"), (method.to_owned(), Json::Object(members)));
        match paths.last_mut() {
            Some((last, Json::Object(methods))) if *last == path => methods.push(operation),
            _ => paths.push((path, Json::Object(vec![operation]))),
        }
    }
    paths
}

fn responses(described: Json) -> Json {
    let response = |(status, response): (String, Json)| match (status.as_str(), response) {
        ("refusals", Json::Array(statuses)) => {
            let refusal = object! { "description" => "Refused", "content" => json(reference("OAuthError")) };
            statuses.iter().map(|status| (compact(status), refusal.clone())).collect()
        }
        ("problems", Json::Array(statuses)) => statuses.iter().map(|status| problems::reference(&compact(status))).collect(),
        (_, Json::Text(description)) => vec![(status, object! { "description" => description })],
        (_, response) => vec![(status, with_content(response, &["application/json"]))],
    };
    Json::Object(entries(described).into_iter().flat_map(response).collect())
}

fn with_content(described: Json, media_types: &[&str]) -> Json {
    let content = |(name, value): (String, Json)| match name.as_str() {
        "schema" => {
            let schema = object! { "schema" => with_properties(value) };
            member("content", Json::Object(media_types.iter().map(|media_type| member(media_type, schema.clone())).collect()))
        }
        "json" => member("content", json(with_properties(value))),
        _ => (name, value),
    };
    Json::Object(entries(described).into_iter().map(content).collect())
}

fn with_properties(mut schema: Json) -> Json {
    if let Json::Object(members) = &mut schema
        && let Some((_, Json::Object(properties))) = members.iter_mut().find(|(name, _)| name == "properties")
    {
        for (_, property) in properties {
            if let Json::Text(description) = property {
                *property = object! { "type" => "string", "description" => std::mem::take(description) };
            }
        }
    }
    schema
}
