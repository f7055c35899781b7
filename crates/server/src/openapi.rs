//! The OpenAPI 3.1 document of this process, made once from the catalog: `GET /api/openapi.json`.

mod endpoints;
mod operations;
mod parts;
mod paths;
mod problems;
mod resources;

use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::describe::json_schema;
use query::json::Json;
use query::json::build::compact;
use query::object;

use crate::http::etag::StaticDocument;
use crate::operations::describe;

const SCHEMAS: &str = "#/components/schemas/";
const ABOUT: &str = "The declared resources, queried by Query Statements. A wrong method is answered by 405 with `Allow`, an unknown \
    path by 404. Errors are `application/problem+json`; those of the OAuth endpoints have the shape of OAuth, those of GraphQL its own.";

const BEARER: &str = "bearer";

pub fn document(catalog: &Catalog, strategy: Strategy) -> Json {
    let definitions = json_schema::definitions(catalog, SCHEMAS);
    let paths = paths::paths(catalog, strategy, &definitions.resources);
    let mut schemas = definitions.entries;
    schemas.push(("Problem".to_owned(), problems::schema(strategy)));
    schemas.extend(describe::schemas(catalog, SCHEMAS));
    schemas.extend(endpoints::schemas(strategy));
    let request_id = object! { "description" => "The request id, as in the log", "schema" => object! { "type" => "string" } };
    let mut components = vec![
        ("schemas".to_owned(), Json::Object(schemas)),
        ("responses".to_owned(), problems::responses(strategy)),
        ("headers".to_owned(), object! { "RequestId" => request_id }),
    ];
    components.extend(security_schemes(strategy).map(|schemes| ("securitySchemes".to_owned(), schemes)));
    object! {
        "openapi" => "3.1.0",
        "info" => object! { "title" => "Peristyle", "version" => env!("CARGO_PKG_VERSION"), "description" => ABOUT },
        "jsonSchemaDialect" => json_schema::DIALECT,
        "servers" => [object! { "url" => "/" }],
        // An operation is public unless it says otherwise.
        "security" => Json::Array(Vec::new()),
        "tags" => paths::tags(catalog),
        "paths" => paths,
        "components" => components,
    }
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
