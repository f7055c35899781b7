//! OpenAPI 3.1 of everything this process serves, made once from the catalog: `GET /api/openapi.json`.

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

/// Where schemas stand in the document.
const SCHEMAS: &str = "#/components/schemas/";
const ABOUT: &str = "The declared resources, asked by Query Statements. An address that takes another method answers 405 with `Allow`; \
    one that leads nowhere answers 404. Errors are `application/problem+json`, but for those of signing in, which have OAuth's shape, and \
    those of GraphQL.";

/// The names of the two ways in: an account by its token, a client by its secret.
const BEARER: &str = "bearer";
const CLIENT: &str = "client";

/// The whole document, of a process in this role.
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
    if let Some(ways) = security_schemes(serving) {
        components.push(("securitySchemes".to_owned(), ways));
    }
    components.insert(0, ("schemas".to_owned(), Json::Object(schemas)));
    components.push(("responses".to_owned(), problems::responses(serving)));
    let request_id = object! {
        "description" => "The request's id, as the log has it",
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
        // Public, unless an operation says otherwise.
        "security" => Json::Array(Vec::new()),
        "tags" => paths::tags(catalog),
        "paths" => paths,
        "components" => components,
    }
}

/// What the process is that the document describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Serving {
    /// The declared resources alone.
    Resources,
    /// A hub: its own records, its administration and its OAuth endpoints too.
    Hub,
    /// A satellite: the way to its hub and back too.
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

    /// Whether a caller can show who they are.
    fn knows_accounts(self) -> bool {
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

/// The document as it is served, rendered once.
pub(crate) fn served(catalog: &Catalog, strategy: Strategy) -> StaticDocument {
    StaticDocument::new("application/json", compact(&document(catalog, strategy)))
}
