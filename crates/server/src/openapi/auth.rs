//! `/auth/…` in the document: `me` and `verify` under every strategy, and the login at a satellite. Each path is under `/api` too.

use query::describe::{UniqueNames, upper_first};
use query::json::Json;
use query::json::build::texts;
use query::object;

use super::parts::{OWN_TAG, answer, member, oauth_error, oauth_error_schema, reference, text, token_required};
use super::{Serving, problems};

const LOGIN: &str = "Login";

/// The schemas of a satellite's answers.
pub(super) fn schemas() -> Vec<(String, Json)> {
    let tokens = object! {
        "type" => "object",
        "properties" => object! {
            "access_token" => text("A JWT of the hub"),
            "token_type" => object! { "type" => "string", "const" => "Bearer" },
            "expires_in" => object! { "type" => "integer", "description" => "Seconds" },
            "refresh_token" => text("Valid for one use"),
            "scope" => text("The granted scope"),
            "return_to" => text("Only from `callback`: the path of the app where the login began"),
        },
        "required" => texts(["access_token", "token_type", "expires_in", "refresh_token"]),
    };
    vec![oauth_error_schema(), member(LOGIN, tokens)]
}

pub(super) fn paths(serving: Serving, claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let mut endpoints = vec![me(serving), verify(serving)];
    if serving == Serving::Satellite {
        endpoints.extend([login(), callback(), refresh(), logout()]);
    }
    let mut paths = Vec::new();
    for (base, prefix) in [("/auth", "auth"), ("/api/auth", "apiAuth")] {
        for Endpoint { name, method, entries } in &endpoints {
            let mut entries = entries.clone();
            entries.insert(0, member("operationId", Json::from(claims.claim(&format!("{prefix}{}", upper_first(name))))));
            paths.push((format!("{base}/{name}"), object! { *method => entries }));
        }
    }
    paths
}

struct Endpoint {
    name: &'static str,
    method: &'static str,
    entries: Vec<(String, Json)>,
}

fn endpoint(name: &'static str, method: &'static str, summary: &str, rest: Vec<(String, Json)>) -> Endpoint {
    let entries = [vec![member("tags", texts([OWN_TAG])), member("summary", Json::from(summary))], rest].concat();
    Endpoint { name, method, entries }
}

fn bearer(serving: Serving) -> Vec<(String, Json)> {
    if serving.has_accounts() { vec![member("security", token_required())] } else { Vec::new() }
}

/// The success response, and the problems of these statuses.
fn responses(good: (&str, Json), statuses: &[u16]) -> (String, Json) {
    let all = [vec![member(good.0, good.1)], problems::references(statuses)].concat();
    member("responses", Json::Object(all))
}

/// The success response, and refusals in the shape of OAuth.
fn refusals(good: (&str, Json), statuses: &[&str]) -> (String, Json) {
    let mut all = vec![member(good.0, good.1)];
    all.extend(statuses.iter().map(|status| member(status, oauth_error())));
    member("responses", Json::Object(all))
}

fn me(serving: Serving) -> Endpoint {
    let account = answer("The account", Some(object! { "type" => "object" }));
    let statuses: &[u16] = if serving.has_accounts() { &[401, 500, 503, 504] } else { &[500] };
    endpoint("me", "get", "The account of the caller", [bearer(serving), vec![responses(("200", account), statuses)]].concat())
}

fn verify(serving: Serving) -> Endpoint {
    let parameter = object! {
        "name" => "permission",
        "in" => "query",
        "description" => "Permissions, of which the caller needs one; without this parameter, any account passes",
        "schema" => object! { "type" => "array", "items" => object! { "type" => "string", "minLength" => 1 } },
    };
    let good = answer("The request may pass; headers `X-Account-…` describe the account", None);
    let rest = vec![member("parameters", Json::Array(vec![parameter])), responses(("200", good), &[400, 401, 403, 500, 503, 504])];
    endpoint("verify", "get", "Tells a proxy whether to let a request pass", [bearer(serving), rest].concat())
}

fn login() -> Endpoint {
    let parameter = object! {
        "name" => "return_to",
        "in" => "query",
        "description" => "The path of the app to return to after the login",
        "schema" => object! { "type" => "string" },
    };
    let led = answer("Redirects to the hub, with a cookie that binds the login to this browser", None);
    let rest = vec![member("parameters", Json::Array(vec![parameter])), refusals(("302", led), &["400", "429", "500", "503"])];
    endpoint("login", "get", "Starts a login at the hub", rest)
}

/// An endpoint that takes an object of strings by POST.
fn posted(name: &'static str, summary: &str, members: &[(&str, &str)], required: &[&str], good: Json) -> Endpoint {
    let properties = members.iter().map(|(name, description)| member(name, text(description))).collect();
    let schema = object! {
        "type" => "object",
        "properties" => Json::Object(properties),
        "required" => texts(required),
        "additionalProperties" => false,
    };
    let content = object! { "application/json" => object! { "schema" => schema } };
    let body = object! { "required" => true, "content" => content };
    let limited = if name == "callback" { None } else { Some("429") };
    let refused: Vec<&str> = ["400", "401", "403", "413", "415"].into_iter().chain(limited).chain(["500", "502", "503"]).collect();
    endpoint(name, "post", summary, vec![member("requestBody", body), refusals(("200", good), &refused)])
}

fn callback() -> Endpoint {
    let members = [("code", "From the hub"), ("state", "From the hub"), ("iss", "From the hub, if the app sends it")];
    let tokens = answer("Signed in", Some(reference(LOGIN)));
    posted("callback", "Finishes a login with the code and state from the hub", &members, &["code", "state"], tokens)
}

fn refresh() -> Endpoint {
    let members = [("refresh_token", "From the last response; valid for one use")];
    posted("refresh", "Exchanges a refresh token for new tokens", &members, &["refresh_token"], answer("Renewed", Some(reference(LOGIN))))
}

fn logout() -> Endpoint {
    let members = [("refresh_token", "From the last response")];
    let signed_out = object! {
        "type" => "object",
        "properties" => object! { "logout_url" => text("A URL that clears the hub's cookie in the browser") },
        "required" => texts(["logout_url"]),
    };
    posted("logout", "Signs out, and ends the session at the hub", &members, &["refresh_token"], answer("Signed out", Some(signed_out)))
}
