//! The OpenAPI 3.1 document of this process, made once from the catalog: `GET /api/openapi.json`.

mod administration;
mod endpoints;
mod problems;
mod resources;
mod writes;

use identity::strategy::Strategy;
use query::catalog::{Catalog, Resource};
use query::describe::UniqueNames;
use query::describe::json_schema::{self, Defined};
use query::json::Json;
use query::json::build::{compact, texts};
use query::object;

use crate::admin_operations::describe;
use crate::http::etag::StaticDocument;

const SCHEMAS: &str = "#/components/schemas/";
const ABOUT: &str = "The declared resources, queried by Query Statements. A wrong method is answered by 405 with `Allow`, an unknown \
    path by 404. Errors are `application/problem+json`; those of the OAuth endpoints have the shape of OAuth, those of GraphQL its own.";

const BEARER: &str = "bearer";

/// The error statuses of every operation with a body.
const ALWAYS: [u16; 8] = [400, 408, 413, 415, 500, 501, 503, 504];

/// The error statuses of a token, which public paths check too.
const WITH_TOKEN: [u16; 4] = [401, 500, 503, 504];

/// The name of a context has no hyphen, so that none equals this.
const OWN_TAG: &str = "the-server";

pub fn document(catalog: &Catalog, strategy: Strategy) -> Json {
    let definitions = json_schema::definitions(catalog, SCHEMAS);
    let paths = all_paths(catalog, strategy, &definitions.resources);
    let mut schemas = definitions.entries;
    let described = problems::Described::of(catalog, strategy);
    schemas.push(("Problem".to_owned(), described.schema()));
    schemas.extend(describe::schemas(catalog, SCHEMAS));
    schemas.extend(endpoints::schemas(strategy));
    let request_id = object! { "description" => "The request id, as in the log", "schema" => object! { "type" => "string" } };
    let mut components = vec![
        ("schemas".to_owned(), Json::Object(schemas)),
        ("responses".to_owned(), described.responses()),
        ("headers".to_owned(), headers(request_id, catalog)),
    ];
    components.extend(security_schemes(strategy).map(|schemes| ("securitySchemes".to_owned(), schemes)));
    object! {
        "openapi" => "3.1.0",
        "info" => object! { "title" => "Peristyle", "version" => env!("CARGO_PKG_VERSION"), "description" => ABOUT },
        "jsonSchemaDialect" => json_schema::DIALECT,
        "servers" => [object! { "url" => "/" }],
        // An operation is public unless it says otherwise.
        "security" => Json::Array(Vec::new()),
        "tags" => tags(catalog),
        "paths" => paths,
        "components" => components,
    }
}

fn headers(request_id: Json, catalog: &Catalog) -> Json {
    let mut headers = vec![member("RequestId", request_id)];
    if problems::has_writes(catalog) {
        headers.extend(writes::headers());
    }
    Json::Object(headers)
}

fn security_schemes(strategy: Strategy) -> Option<Json> {
    let bearer = |issuer: &str| object! { "type" => "http", "scheme" => "bearer", "bearerFormat" => "JWT", "description" => format!("An access token of {issuer}") };
    match strategy {
        Strategy::None => None,
        Strategy::LocalProvider => Some(object! {
            BEARER => bearer("this hub"),
            "client" => object! { "type" => "http", "scheme" => "basic", "description" => "A client's id and secret, both form-encoded" },
        }),
        Strategy::PlatformHub => Some(object! { BEARER => bearer("the hub") }),
    }
}

pub(crate) fn served(catalog: &Catalog, strategy: Strategy) -> StaticDocument {
    StaticDocument::new("application/json", compact(&document(catalog, strategy)))
}

fn tags(catalog: &Catalog) -> Json {
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

fn all_paths(catalog: &Catalog, strategy: Strategy, defined: &[Defined]) -> Vec<(String, Json)> {
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

fn token_required() -> Json {
    Json::Array(vec![object! { BEARER => Json::Array(Vec::new()) }])
}

/// A token is optional; an invalid one is refused.
fn token_optional() -> Json {
    Json::Array(vec![object! { BEARER => Json::Array(Vec::new()) }, object! {}])
}

/// The key of a row in a path.
fn id_parameter(resource: &Resource) -> Json {
    let names: Vec<&str> = resource.key_fields().map(|field| field.name.as_str()).collect();
    object! {
        "name" => "id",
        "in" => "path",
        "required" => true,
        "description" => format!("The key: `{}`", names.join(",")),
        "schema" => object! { "type" => "string" },
    }
}

fn reference(name: &str) -> Json {
    object! { "$ref" => format!("{SCHEMAS}{name}") }
}

fn json(schema: Json) -> Json {
    object! { "application/json" => object! { "schema" => schema } }
}

fn success(description: &str, content: Json) -> Json {
    object! {
        "description" => description,
        "headers" => object! { "X-Request-Id" => object! { "$ref" => "#/components/headers/RequestId" } },
        "content" => content,
    }
}

fn member(name: &str, schema: Json) -> (String, Json) {
    (name.to_owned(), schema)
}
