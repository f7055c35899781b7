//! `/auth/…` in the document: who is asking, under every strategy, and the way to the hub and back at a satellite. Each address stands
//! under `/api` too.

use query::describe::{UniqueNames, upper_first};
use query::json::Json;
use query::json::build::texts;
use query::object;

use super::parts::{OWN_TAG, answer, by_account, error, fault, member, reference, text};
use super::{Serving, problems};

const LOGIN: &str = "Login";

/// What a satellite answers.
pub(super) fn schemas() -> Vec<(String, Json)> {
    let tokens = object! {
        "type" => "object",
        "properties" => object! {
            "access_token" => text("A JWT of the hub"),
            "token_type" => object! { "type" => "string", "const" => "Bearer" },
            "expires_in" => object! { "type" => "integer", "description" => "Seconds" },
            "refresh_token" => text("To be used once"),
            "scope" => text("What was granted"),
            "return_to" => text("Of `callback`: where in the app the login began"),
        },
        "required" => texts(["access_token", "token_type", "expires_in", "refresh_token"]),
    };
    vec![error(), member(LOGIN, tokens)]
}

/// Every address.
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
    if serving.knows_accounts() { vec![member("security", by_account())] } else { Vec::new() }
}

/// The answer, and the problems of these statuses.
fn responses(good: (&str, Json), statuses: &[u16]) -> (String, Json) {
    let all = [vec![member(good.0, good.1)], problems::references(statuses)].concat();
    member("responses", Json::Object(all))
}

/// The answer, and refusals in the words of OAuth.
fn refusals(good: (&str, Json), statuses: &[&str]) -> (String, Json) {
    let mut all = vec![member(good.0, good.1)];
    all.extend(statuses.iter().map(|status| member(status, fault())));
    member("responses", Json::Object(all))
}

fn me(serving: Serving) -> Endpoint {
    let account = answer("The account", Some(object! { "type" => "object" }));
    let statuses: &[u16] = if serving.knows_accounts() { &[401, 500, 503, 504] } else { &[500] };
    endpoint("me", "get", "The account that asks", [bearer(serving), vec![responses(("200", account), statuses)]].concat())
}

fn verify(serving: Serving) -> Endpoint {
    let parameter = object! {
        "name" => "permission",
        "in" => "query",
        "description" => "Permissions of which one is enough; without any, an account is",
        "schema" => object! { "type" => "array", "items" => object! { "type" => "string", "minLength" => 1 } },
    };
    let good = answer("It may; headers `X-Account-…` say who it is", None);
    let rest = vec![member("parameters", Json::Array(vec![parameter])), responses(("200", good), &[400, 401, 403, 500, 503, 504])];
    endpoint("verify", "get", "Whether a proxy should let the request pass", [bearer(serving), rest].concat())
}

fn login() -> Endpoint {
    let parameter = object! {
        "name" => "return_to",
        "in" => "query",
        "description" => "A path of the app, where the login is to end",
        "schema" => object! { "type" => "string" },
    };
    let led = answer("To the hub, with a cookie that ties the login to this browser", None);
    let rest = vec![member("parameters", Json::Array(vec![parameter])), refusals(("302", led), &["400", "429", "500", "503"])];
    endpoint("login", "get", "Leads to the hub", rest)
}

/// What is posted: texts, those of `required` at least.
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
    let members = [("code", "Of the hub"), ("state", "Of the hub"), ("iss", "Of the hub, if the app passes it on")];
    let tokens = answer("Signed in", Some(reference(LOGIN)));
    posted("callback", "Finishes a login with what the hub sent the browser back with", &members, &["code", "state"], tokens)
}

fn refresh() -> Endpoint {
    let members = [("refresh_token", "Of the last answer; it is used up")];
    posted("refresh", "New tokens for a refresh token", &members, &["refresh_token"], answer("Renewed", Some(reference(LOGIN))))
}

fn logout() -> Endpoint {
    let members = [("refresh_token", "Of the last answer")];
    let left = object! {
        "type" => "object",
        "properties" => object! { "logout_url" => text("May be opened, to clear the hub's cookie") },
        "required" => texts(["logout_url"]),
    };
    posted("logout", "Ends the login and the hub's session", &members, &["refresh_token"], answer("Signed out", Some(left)))
}
