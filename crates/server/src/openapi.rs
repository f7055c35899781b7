//! OpenAPI 3.1 of everything this process serves, made once from the catalog: `GET /api/openapi.json`.

mod paths;
mod problems;

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Response};
use query::catalog::Catalog;
use query::describe::document::compact;
use query::describe::json_schema;
use query::json::Json;
use query::object;

use crate::error;

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

/// The document as it is served: its bytes and their tag, rendered once.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    bytes: Bytes,
    tag: HeaderValue,
}

impl Served {
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let bytes = Bytes::from(compact(&document(catalog)));
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        // Weak, since the same document may travel compressed.
        let tag = HeaderValue::from_str(&format!("W/\"{:016x}\"", hasher.finish())).unwrap_or(HeaderValue::from_static("W/\"0\""));
        Served { bytes, tag }
    }

    /// The document, or word that the client has it already.
    pub(crate) fn answer(&self, headers: &HeaderMap) -> Response<Body> {
        let mut response = if self.is_known(headers) { error::not_modified() } else { Response::new(Body::from(self.bytes.clone())) };
        let own = response.headers_mut();
        own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        own.insert(ETAG, self.tag.clone());
        // Kept by clients and asked for again each time: a new version of the manifest shows at once.
        own.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        let own = bare(self.tag.to_str().unwrap_or_default());
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
        known.map(bare).any(|tag| tag == own || tag == "*")
    }
}
