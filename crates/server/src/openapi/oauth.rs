//! The OAuth and OpenID endpoints of a hub in the document. Each of the first seven stands at the root and under `/api/o-auth`.

use query::describe::{UniqueNames, upper_first};
use query::json::Json;
use query::json::build::texts;
use query::object;

use super::parts::{WITH_TOKEN, answer, by_account, error, fault, member, perhaps_by_account, reference, text};
use super::{CLIENT, problems};

const FORM: &str = "application/x-www-form-urlencoded";
const TAG: &str = "oAuth";
const TOKEN: &str = "TokenResponse";
/// What `authorize` takes.
const AUTHORIZE: [&str; 12] = [
    "client_id",
    "redirect_uri",
    "state",
    "code_challenge",
    "code_challenge_method",
    "response_type",
    "scope",
    "nonce",
    "prompt",
    "max_age",
    "id_token_hint",
    "login_hint",
];
const AUTHORIZE_REQUIRED: [&str; 4] = ["client_id", "redirect_uri", "state", "code_challenge"];

/// What the endpoints take and answer.
pub(super) fn schemas() -> Vec<(String, Json)> {
    let grants = ["authorization_code", "refresh_token", "password"];
    vec![
        error(),
        member(
            "TokenRequest",
            object! {
                "type" => "object",
                "properties" => object! {
                    "grant_type" => object! { "enum" => texts(grants) },
                    "code" => text("Of authorize"),
                    "redirect_uri" => text("The registered redirect, byte for byte"),
                    "code_verifier" => text("PKCE: what the challenge was made of"),
                    "refresh_token" => text("Of an earlier answer"),
                    "username" => text("A username or email"),
                    "password" => text("Its password"),
                    "scope" => text("What is asked for; it grants nothing"),
                    "client_id" => text("Where the client does not prove itself by HTTP Basic"),
                    "client_secret" => text("Where the client does not prove itself by HTTP Basic"),
                },
                "required" => texts(["grant_type"]),
            },
        ),
        member(
            TOKEN,
            object! {
                "type" => "object",
                "properties" => object! {
                    "access_token" => text("A JWT (RFC 9068)"),
                    "token_type" => object! { "type" => "string", "const" => "Bearer" },
                    "expires_in" => object! { "type" => "integer", "description" => "Seconds" },
                    "refresh_token" => text("To be used once"),
                    "scope" => text("What was granted"),
                    "id_token" => text("Where `openid` was asked for"),
                },
                "required" => texts(["access_token", "token_type", "expires_in", "refresh_token", "scope"]),
            },
        ),
    ]
}

/// Every endpoint.
pub(super) fn paths(claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let mut paths = Vec::new();
    for (base, prefix) in [("", ""), ("/api/o-auth", "oAuth")] {
        for endpoint in endpoints() {
            let methods = endpoint.methods.into_iter().map(|(method, mut entries)| {
                let end = match (method, endpoint.name) {
                    ("get", "logout") => "Ask",
                    ("post", "authorize") => "ByPost",
                    _ => "",
                };
                let wanted = format!("{}{end}", endpoint.name);
                let wanted = if prefix.is_empty() { wanted } else { format!("{prefix}{}", upper_first(&wanted)) };
                entries.insert(0, member("operationId", Json::from(claims.claim(&wanted))));
                (method.to_owned(), Json::Object(entries))
            });
            paths.push((format!("{base}/{}", endpoint.name), Json::Object(methods.collect())));
        }
    }
    paths.extend(documents(claims));
    paths
}

struct Endpoint {
    name: &'static str,
    methods: Vec<(&'static str, Vec<(String, Json)>)>,
}

fn endpoints() -> Vec<Endpoint> {
    let one = |name, method, entries| Endpoint { name, methods: vec![(method, entries)] };
    let token = object! { "type" => "object", "properties" => object! { "token" => text("The token") }, "required" => texts(["token"]) };
    let ended = object! {
        "type" => "object",
        "properties" => object! {
            "token" => text("The token"),
            "end_session" => object! { "type" => "string", "enum" => texts(["true", "false"]), "description" => "End the session that it came out of, too" },
        },
        "required" => texts(["token"]),
    };
    let access = object! {
        "type" => "object",
        "properties" => object! { "access_token" => text("Of the password grant, at most five minutes ago") },
        "required" => texts(["access_token"]),
    };
    let answered = |schema: Json| answer("What it says", Some(schema));
    let active = object! {
        "type" => "object",
        "properties" => object! { "active" => object! { "type" => "boolean" } },
        "required" => texts(["active"]),
    };
    let leaving = ["id_token_hint", "post_logout_redirect_uri", "client_id", "state"];
    let members: Vec<(String, Json)> = leaving.iter().map(|name| member(name, object! { "type" => "string" })).collect();
    let farewell = object! { "type" => "object", "properties" => members };
    let left = || vec![("204", answer("Signed out", None)), ("302", answer("To post_logout_redirect_uri", None))];
    vec![
        authorize(),
        one(
            "token",
            "post",
            operation(
                "Trades a code, a refresh token or a password for tokens",
                Vec::new(),
                Some(Sent::by_client(reference("TokenRequest"))),
                &[("200", answered(reference(TOKEN))), ("400", fault()), ("401", fault()), ("429", fault())],
            ),
        ),
        one(
            "session",
            "post",
            operation(
                "Trades a fresh access token for the session cookie",
                Vec::new(),
                Some(Sent::by_anybody(access)),
                &[("204", answer("The cookie `hub_session` is set", None)), ("400", fault()), ("401", fault()), ("403", fault())],
            ),
        ),
        Endpoint {
            name: "logout",
            methods: vec![
                (
                    "get",
                    operation(
                        "Ends the session that the hint is of, or asks first",
                        parameters(&leaving, &[]),
                        None,
                        &[left(), vec![("200", answer("A page that asks", None)), ("400", fault()), ("503", fault())]].concat(),
                    ),
                ),
                (
                    "post",
                    operation(
                        "Ends the session and what it gave",
                        Vec::new(),
                        Some(Sent { required: false, ..Sent::by_anybody(farewell) }),
                        &[
                            ("204", answer("Signed out", None)),
                            ("303", answer("To post_logout_redirect_uri", None)),
                            ("400", fault()),
                            ("403", fault()),
                        ],
                    ),
                ),
            ],
        },
        one(
            "revoke",
            "post",
            operation(
                "Ends the family of a token (RFC 7009)",
                Vec::new(),
                Some(Sent::by_client(ended)),
                &[
                    ("200", answer("Done, whatever it was", Some(object! { "type" => "object" }))),
                    ("400", fault()),
                    ("401", fault()),
                    ("429", fault()),
                ],
            ),
        ),
        one("events", "get", events()),
        one(
            "introspect",
            "post",
            operation(
                "Says what a token is worth now (RFC 7662)",
                Vec::new(),
                Some(Sent::by_client(token)),
                &[("200", answered(active)), ("400", fault()), ("401", fault()), ("429", fault())],
            ),
        ),
    ]
}

fn authorize() -> Endpoint {
    let summary = "Leads to the sign-in page, or back to the client with a code";
    let led = [
        ("302", answer("To the sign-in page, or to the client's redirect with `code`, `state` and `iss`", None)),
        ("400", fault()),
        ("401", fault()),
    ];
    let by_get = operation(summary, parameters(&AUTHORIZE, &AUTHORIZE_REQUIRED), None, &[&led[..], &[("503", fault())]].concat());
    let members: Vec<(String, Json)> = AUTHORIZE.iter().map(|name| member(name, parameter_schema(name))).collect();
    let form = object! { "type" => "object", "properties" => members, "required" => texts(AUTHORIZE_REQUIRED) };
    let again = [("303", answer("To the same request by GET, where a page of another site posted it", None))];
    let by_post = operation(summary, Vec::new(), Some(Sent::by_anybody(form)), &[&led[..], &again].concat());
    Endpoint { name: "authorize", methods: vec![("get", by_get), ("post", by_post)] }
}

/// The stream of changes, which a client opens by its secret.
fn events() -> Vec<(String, Json)> {
    let stream = object! { "text/event-stream" => object! { "schema" => text("Security event tokens (RFC 8417), each with its number") } };
    let good = object! { "description" => "Changes of accounts, as they happen", "content" => stream };
    let responses = [("200", good), ("400", fault()), ("401", fault()), ("429", fault()), ("503", fault())];
    let mut entries =
        operation("Changes of the accounts that signed in through the client", parameters(&["after", "audience"], &[]), None, &responses);
    entries.insert(2, member("security", Json::Array(vec![object! { CLIENT => Json::Array(Vec::new()) }])));
    entries
}

/// How a caller proves itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// By its client's secret, in the header or in the body.
    Client,
    Nothing,
}

/// What is posted.
struct Sent {
    schema: Json,
    proof: Proof,
    required: bool,
}

impl Sent {
    fn by_client(schema: Json) -> Self {
        Sent { schema, proof: Proof::Client, required: true }
    }

    fn by_anybody(schema: Json) -> Self {
        Sent { schema, proof: Proof::Nothing, required: true }
    }
}

type Responses = [(&'static str, Json)];

fn operation(summary: &str, parameters: Vec<Json>, body: Option<Sent>, responses: &Responses) -> Vec<(String, Json)> {
    let mut entries = vec![member("tags", texts([TAG])), member("summary", Json::from(summary))];
    if !parameters.is_empty() {
        entries.push(member("parameters", Json::Array(parameters)));
    }
    let mut responses: Vec<(String, Json)> = responses.iter().map(|(status, response)| member(status, response.clone())).collect();
    if let Some(Sent { schema, proof, required }) = body {
        if proof == Proof::Client {
            let none = object! {};
            entries.push(member("security", Json::Array(vec![object! { CLIENT => Json::Array(Vec::new()) }, none])));
        }
        let schema = object! { "schema" => schema };
        let content = object! { FORM => schema.clone(), "application/json" => schema };
        entries.push(member("requestBody", object! { "required" => required, "content" => content }));
        responses.extend([member("413", fault()), member("415", fault()), member("503", fault())]);
    }
    entries.push(member("responses", Json::Object(responses)));
    entries
}

fn parameter_schema(name: &str) -> Json {
    match name {
        "code_challenge_method" => object! { "type" => "string", "const" => "S256" },
        "response_type" => object! { "type" => "string", "const" => "code" },
        _ => object! { "type" => "string" },
    }
}

fn parameters(names: &[&str], required: &[&str]) -> Vec<Json> {
    let parameter = |name: &&str| {
        let required = required.contains(name);
        object! { "name" => *name, "in" => "query", "required" => required, "schema" => parameter_schema(name) }
    };
    names.iter().map(parameter).collect()
}

/// What stands at the root alone.
fn documents(claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let mut told = |id: &str, summary: &str, schema: Json, security: Json, statuses: &[u16]| {
        let mut responses = vec![member("200", answer(summary, Some(schema)))];
        responses.extend(problems::references(statuses));
        vec![
            member("operationId", Json::from(claims.claim(id))),
            member("tags", texts([TAG])),
            member("summary", Json::from(summary)),
            member("security", security),
            member("responses", Json::Object(responses)),
        ]
    };
    let any = || object! { "type" => "object" };
    let keys = object! {
        "type" => "object",
        "properties" => object! { "keys" => object! { "type" => "array", "items" => any() } },
        "required" => texts(["keys"]),
    };
    let subject =
        object! { "type" => "object", "properties" => object! { "sub" => text("The account's id") }, "required" => texts(["sub"]) };
    let whose = "The account of a token, in OpenID's words";
    let asked = told("userinfo", whose, subject.clone(), by_account(), &WITH_TOKEN);
    let mut posted = told("userinfoByPost", whose, subject, perhaps_by_account(), &[400, 401, 408, 413, 500, 503, 504]);
    let form = object! { "type" => "object", "properties" => object! { "access_token" => text("The token, in place of the header") } };
    posted.push(member("requestBody", object! { "content" => object! { FORM => object! { "schema" => form } } }));
    let mut get =
        |id: &str, summary: &str, schema: Json, security: Json| object! { "get" => told(id, summary, schema, security, &WITH_TOKEN) };
    vec![
        member("/userinfo", object! { "get" => asked, "post" => posted }),
        member(
            "/api/iam/me",
            get("iamMeAccount", "The account of a token, with its roles and tenants", reference("IamAccount"), by_account()),
        ),
        member("/.well-known/jwks.json", get("jwks", "The public keys", keys, perhaps_by_account())),
        member("/.well-known/openid-configuration", get("openidConfiguration", "Where all this is", any(), perhaps_by_account())),
        member(
            "/.well-known/oauth-authorization-server",
            get("oauthAuthorizationServer", "Where all this is", any(), perhaps_by_account()),
        ),
    ]
}
