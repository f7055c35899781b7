//! What the parts of the document have in common: schemas by reference, answers, refusals and the ways in.

use query::json::Json;
use query::json::build::texts;
use query::object;

use super::{BEARER, SCHEMAS};

/// What a body can bring on any operation.
pub(super) const ALWAYS: [u16; 7] = [400, 408, 413, 415, 500, 503, 504];

/// What a token can bring wherever it is looked at, public addresses included.
pub(super) const WITH_TOKEN: [u16; 4] = [401, 500, 503, 504];

/// A context has no hyphen, so none is called this.
pub(super) const OWN_TAG: &str = "the-server";

/// The schema of a refusal in the words of OAuth.
const REFUSAL: &str = "OAuthError";

/// With a token.
pub(super) fn by_account() -> Json {
    Json::Array(vec![object! { BEARER => Json::Array(Vec::new()) }])
}

/// With a token or without one; one that is not good is refused all the same.
pub(super) fn perhaps_by_account() -> Json {
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

pub(super) fn text(description: &str) -> Json {
    object! { "type" => "string", "description" => description }
}

pub(super) fn member(name: &str, schema: Json) -> (String, Json) {
    (name.to_owned(), schema)
}

pub(super) fn answer(description: &str, schema: Option<Json>) -> Json {
    match schema {
        Some(schema) => object! { "description" => description, "content" => json(schema) },
        None => object! { "description" => description },
    }
}

/// A refusal in the words of OAuth.
pub(super) fn fault() -> Json {
    answer("Refused", Some(reference(REFUSAL)))
}

/// What such a refusal is.
pub(super) fn error() -> (String, Json) {
    let schema = object! {
        "type" => "object",
        "description" => "In the shape of RFC 6749, 5.2",
        "properties" => object! { "error" => text("The code"), "error_description" => text("For people") },
        "required" => texts(["error", "error_description"]),
    };
    member(REFUSAL, schema)
}
