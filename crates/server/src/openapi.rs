//! OpenAPI 3.1 of everything this process serves, made once from the catalog: `GET /api/openapi.json`.

mod paths;
mod problems;

use query::catalog::Catalog;
use query::describe::document::compact;
use query::describe::json_schema;
use query::json::Json;
use query::object;

use crate::tagged::Tagged;

/// Where schemas stand in the document.
const SCHEMAS: &str = "#/components/schemas/";
const ABOUT: &str = "The declared resources, asked by Query Statements. An address that takes another method answers 405 with `Allow`; \
    one that leads nowhere answers 404. Errors are `application/problem+json`.";

/// The whole document.
pub fn document(catalog: &Catalog) -> Json {
    let definitions = json_schema::definitions(catalog, SCHEMAS);
    let paths = paths::paths(catalog, &definitions.resources);
    let mut schemas = definitions.entries;
    schemas.push(("Problem".to_owned(), problems::schema()));
    object! {
        "openapi" => "3.1.0",
        "info" => object! {
            "title" => "Peristyle",
            "version" => env!("CARGO_PKG_VERSION"),
            "description" => ABOUT,
        },
        "jsonSchemaDialect" => json_schema::DIALECT,
        "servers" => [object! { "url" => "/" }],
        "tags" => paths::tags(catalog),
        "paths" => paths,
        "components" => object! {
            "schemas" => schemas,
            "responses" => problems::responses(),
            "headers" => object! {
                "RequestId" => object! {
                    "description" => "The request's id, as the log has it",
                    "schema" => object! { "type" => "string" },
                },
            },
        },
    }
}

/// The document as it is served, rendered once.
pub(crate) fn served(catalog: &Catalog) -> Tagged {
    Tagged::new("application/json", compact(&document(catalog)))
}
