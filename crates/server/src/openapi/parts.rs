//! Parts that the whole document shares: references, responses and security requirements.

use query::json::Json;
use query::object;

use super::{BEARER, SCHEMAS};

/// The error statuses of every operation with a body.
pub(super) const ALWAYS: [u16; 7] = [400, 408, 413, 415, 500, 503, 504];

/// The error statuses of a token, which public paths check too.
pub(super) const WITH_TOKEN: [u16; 4] = [401, 500, 503, 504];

/// The name of a context has no hyphen, so that none equals this.
pub(super) const OWN_TAG: &str = "the-server";

pub(super) fn token_required() -> Json {
    Json::Array(vec![object! { BEARER => Json::Array(Vec::new()) }])
}

/// A token is optional; an invalid one is refused.
pub(super) fn token_optional() -> Json {
    Json::Array(vec![object! { BEARER => Json::Array(Vec::new()) }, object! {}])
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

pub(super) fn member(name: &str, schema: Json) -> (String, Json) {
    (name.to_owned(), schema)
}
