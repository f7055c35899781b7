//! The OpenAPI 3.1 document of this process, made once from the catalog: `GET /api/openapi.json`.

mod auth;
mod oauth;
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

/// The place of schemas in the document.
const SCHEMAS: &str = "#/components/schemas/";
const ABOUT: &str = "The declared resources, queried by Query Statements. A wrong method is answered by 405 with `Allow`, an unknown \
    path by 404. Errors are `application/problem+json`; those of the OAuth endpoints have the shape of OAuth, those of GraphQL its own.";

/// The security schemes: an account by its access token, a client by its secret.
const BEARER: &str = "bearer";
const CLIENT: &str = "client";

/// The whole document for a process with this strategy.
pub fn document(catalog: &Catalog, strategy: Strategy) -> Json {
    let definitions = json_schema::definitions(catalog, SCHEMAS);
    let serving = Serving::of(strategy);
    let paths = paths::paths(catalog, serving, &definitions.resources);
    let mut schemas = definitions.entries;
    schemas.push(("Problem".to_owned(), problems::schema(serving)));
    schemas.extend(describe::schemas(catalog, SCHEMAS));
    let mut components = Vec::new();
    match serving {
        Serving::Resources => {}
        Serving::Hub => schemas.extend(oauth::schemas()),
        Serving::Satellite => schemas.extend(auth::schemas()),
    }
    if let Some(schemes) = security_schemes(serving) {
        components.push(("securitySchemes".to_owned(), schemes));
    }
    components.insert(0, ("schemas".to_owned(), Json::Object(schemas)));
    components.push(("responses".to_owned(), problems::responses(serving)));
    let request_id = object! {
        "description" => "The request id, as in the log",
        "schema" => object! { "type" => "string" },
    };
    components.push(("headers".to_owned(), object! { "RequestId" => request_id }));
    object! {
        "openapi" => "3.1.0",
        "info" => object! {
            "title" => "Peristyle",
            "version" => env!("CARGO_PKG_VERSION"),
            "description" => ABOUT,
        },
        "jsonSchemaDialect" => json_schema::DIALECT,
        "servers" => [object! { "url" => "/" }],
        // An operation is public unless it says otherwise.
        "security" => Json::Array(Vec::new()),
        "tags" => paths::tags(catalog),
        "paths" => paths,
        "components" => components,
    }
}

/// What the process serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serving {
    /// The declared resources alone.
    Resources,
    /// A hub: its own records, its administration and its OAuth endpoints too.
    Hub,
    /// A satellite: its login endpoints too.
    Satellite,
}

impl Serving {
    fn of(strategy: Strategy) -> Self {
        match strategy {
            Strategy::None => Serving::Resources,
            Strategy::LocalProvider => Serving::Hub,
            Strategy::PlatformHub => Serving::Satellite,
        }
    }

    /// Whether callers can authenticate.
    fn has_accounts(self) -> bool {
        self != Serving::Resources
    }
}

fn security_schemes(serving: Serving) -> Option<Json> {
    let bearer = |whose: &str| object! { "type" => "http", "scheme" => "bearer", "bearerFormat" => "JWT", "description" => format!("An access token of {whose}") };
    match serving {
        Serving::Resources => None,
        Serving::Hub => Some(object! {
            BEARER => bearer("this hub"),
            CLIENT => object! { "type" => "http", "scheme" => "basic", "description" => "A client's id and secret, both form-encoded" },
        }),
        Serving::Satellite => Some(object! { BEARER => bearer("the hub") }),
    }
}

/// The document with its ETag.
pub(crate) fn served(catalog: &Catalog, strategy: Strategy) -> StaticDocument {
    StaticDocument::new("application/json", compact(&document(catalog, strategy)))
}
