//! The OAuth and OpenID endpoints of a hub in the document. The OAuth endpoints are at the root and under `/api/o-auth`.

use query::describe::{UniqueNames, upper_first};
use query::json::Json;
use query::json::build::texts;
use query::object;

use super::parts::{WITH_TOKEN, answer, member, oauth_error, oauth_error_schema, reference, text, token_optional, token_required};
use super::{CLIENT, problems};

const FORM: &str = "application/x-www-form-urlencoded";
const TAG: &str = "oAuth";
const TOKEN: &str = "TokenResponse";
/// The parameters of `authorize`.
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

/// The schemas of requests and responses.
pub(super) fn schemas() -> Vec<(String, Json)> {
    let grants = ["authorization_code", "refresh_token", "password"];
    vec![
        oauth_error_schema(),
        member(
            "TokenRequest",
            object! {
                "type" => "object",
                "properties" => object! {
                    "grant_type" => object! { "enum" => texts(grants) },
                    "code" => text("The authorization code"),
                    "redirect_uri" => text("The redirect of the authorization request, byte for byte"),
                    "code_verifier" => text("The PKCE verifier of the challenge"),
                    "refresh_token" => text("From an earlier response"),
                    "username" => text("A username or email"),
                    "password" => text("The password"),
                    "scope" => text("The requested scope; it grants no rights"),
                    "client_id" => text("Unless the client uses HTTP Basic"),
                    "client_secret" => text("Unless the client uses HTTP Basic"),
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
                    "refresh_token" => text("Valid for one use"),
                    "scope" => text("The granted scope"),
                    "id_token" => text("If the scope has `openid`"),
                },
                "required" => texts(["access_token", "token_type", "expires_in", "refresh_token", "scope"]),
            },
        ),
    ]
}

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
    paths.extend(root_paths(claims));
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
            "end_session" => object! { "type" => "string", "enum" => texts(["true", "false"]), "description" => "Also end the session that the token comes from" },
        },
        "required" => texts(["token"]),
    };
    let access = object! {
        "type" => "object",
        "properties" => object! { "access_token" => text("An access token of the password grant, at most five minutes old") },
        "required" => texts(["access_token"]),
    };
    let ok = |schema: Json| answer("The answer", Some(schema));
    let active = object! {
        "type" => "object",
        "properties" => object! { "active" => object! { "type" => "boolean" } },
        "required" => texts(["active"]),
    };
    let logout_parameters = ["id_token_hint", "post_logout_redirect_uri", "client_id", "state"];
    let members: Vec<(String, Json)> = logout_parameters.iter().map(|name| member(name, object! { "type" => "string" })).collect();
    let logout_body = object! { "type" => "object", "properties" => members };
    let signed_out = || vec![("204", answer("Signed out", None)), ("302", answer("Redirects to post_logout_redirect_uri", None))];
    vec![
        authorize(),
        one(
            "token",
            "post",
            operation(
                "Exchanges a code, a refresh token or a password for tokens",
                Vec::new(),
                Some(RequestBody::by_client(reference("TokenRequest"))),
                &[("200", ok(reference(TOKEN))), ("400", oauth_error()), ("401", oauth_error()), ("429", oauth_error())],
            ),
        ),
        one(
            "session",
            "post",
            operation(
                "Exchanges a fresh access token for the session cookie",
                Vec::new(),
                Some(RequestBody::by_anybody(access)),
                &[
                    ("204", answer("The cookie `hub_session` is set", None)),
                    ("400", oauth_error()),
                    ("401", oauth_error()),
                    ("403", oauth_error()),
                ],
            ),
        ),
        Endpoint {
            name: "logout",
            methods: vec![
                (
                    "get",
                    operation(
                        "Ends the session of `id_token_hint`, or asks for confirmation",
                        parameters(&logout_parameters, &[]),
                        None,
                        &[
                            signed_out(),
                            vec![
                                ("200", answer("A page that asks for confirmation", None)),
                                ("400", oauth_error()),
                                ("503", oauth_error()),
                            ],
                        ]
                        .concat(),
                    ),
                ),
                (
                    "post",
                    operation(
                        "Ends the session and its grants",
                        Vec::new(),
                        Some(RequestBody { required: false, ..RequestBody::by_anybody(logout_body) }),
                        &[
                            ("204", answer("Signed out", None)),
                            ("303", answer("Redirects to post_logout_redirect_uri", None)),
                            ("400", oauth_error()),
                            ("403", oauth_error()),
                        ],
                    ),
                ),
            ],
        },
        one(
            "revoke",
            "post",
            operation(
                "Revokes the family of a token (RFC 7009)",
                Vec::new(),
                Some(RequestBody::by_client(ended)),
                &[
                    ("200", answer("Done, also for an unknown token", Some(object! { "type" => "object" }))),
                    ("400", oauth_error()),
                    ("401", oauth_error()),
                    ("429", oauth_error()),
                ],
            ),
        ),
        one("events", "get", events()),
        one(
            "introspect",
            "post",
            operation(
                "Tells whether a token is active (RFC 7662)",
                Vec::new(),
                Some(RequestBody::by_client(token)),
                &[("200", ok(active)), ("400", oauth_error()), ("401", oauth_error()), ("429", oauth_error())],
            ),
        ),
    ]
}

fn authorize() -> Endpoint {
    let summary = "Redirects to the sign-in page, or to the client with a code";
    let responses = [
        ("302", answer("To the sign-in page, or to the redirect URI of the client with `code`, `state` and `iss`", None)),
        ("400", oauth_error()),
        ("401", oauth_error()),
    ];
    let by_get =
        operation(summary, parameters(&AUTHORIZE, &AUTHORIZE_REQUIRED), None, &[&responses[..], &[("503", oauth_error())]].concat());
    let members: Vec<(String, Json)> = AUTHORIZE.iter().map(|name| member(name, parameter_schema(name))).collect();
    let form = object! { "type" => "object", "properties" => members, "required" => texts(AUTHORIZE_REQUIRED) };
    let repeated = [("303", answer("To the same request by GET, if a page of another site posted it", None))];
    let by_post = operation(summary, Vec::new(), Some(RequestBody::by_anybody(form)), &[&responses[..], &repeated].concat());
    Endpoint { name: "authorize", methods: vec![("get", by_get), ("post", by_post)] }
}

/// The change feed, which a client opens with its secret.
fn events() -> Vec<(String, Json)> {
    let stream = object! { "text/event-stream" => object! { "schema" => text("Security event tokens (RFC 8417), numbered") } };
    let good = object! { "description" => "Account changes as they happen", "content" => stream };
    let responses = [("200", good), ("400", oauth_error()), ("401", oauth_error()), ("429", oauth_error()), ("503", oauth_error())];
    let mut entries = operation(
        "Streams changes of the accounts that signed in through the client",
        parameters(&["after", "audience"], &[]),
        None,
        &responses,
    );
    entries.insert(2, member("security", Json::Array(vec![object! { CLIENT => Json::Array(Vec::new()) }])));
    entries
}

/// How the caller authenticates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientAuthentication {
    /// A client secret, in the header or in the body.
    Secret,
    None,
}

/// A request body.
struct RequestBody {
    schema: Json,
    authentication: ClientAuthentication,
    required: bool,
}

impl RequestBody {
    fn by_client(schema: Json) -> Self {
        RequestBody { schema, authentication: ClientAuthentication::Secret, required: true }
    }

    fn by_anybody(schema: Json) -> Self {
        RequestBody { schema, authentication: ClientAuthentication::None, required: true }
    }
}

type Responses = [(&'static str, Json)];

fn operation(summary: &str, parameters: Vec<Json>, body: Option<RequestBody>, responses: &Responses) -> Vec<(String, Json)> {
    let mut entries = vec![member("tags", texts([TAG])), member("summary", Json::from(summary))];
    if !parameters.is_empty() {
        entries.push(member("parameters", Json::Array(parameters)));
    }
    let mut responses: Vec<(String, Json)> = responses.iter().map(|(status, response)| member(status, response.clone())).collect();
    if let Some(RequestBody { schema, authentication, required }) = body {
        if authentication == ClientAuthentication::Secret {
            let none = object! {};
            entries.push(member("security", Json::Array(vec![object! { CLIENT => Json::Array(Vec::new()) }, none])));
        }
        let schema = object! { "schema" => schema };
        let content = object! { FORM => schema.clone(), "application/json" => schema };
        entries.push(member("requestBody", object! { "required" => required, "content" => content }));
        responses.extend([member("413", oauth_error()), member("415", oauth_error()), member("503", oauth_error())]);
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

/// The endpoints that are only at the root.
fn root_paths(claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let mut operation = |id: &str, summary: &str, schema: Json, security: Json, statuses: &[u16]| {
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
    let summary = "The account of a token, as OpenID claims";
    let by_get = operation("userinfo", summary, subject.clone(), token_required(), &WITH_TOKEN);
    let mut by_post = operation("userinfoByPost", summary, subject, token_optional(), &[400, 401, 408, 413, 500, 503, 504]);
    let form = object! { "type" => "object", "properties" => object! { "access_token" => text("The token, in place of the header") } };
    by_post.push(member("requestBody", object! { "content" => object! { FORM => object! { "schema" => form } } }));
    let mut get =
        |id: &str, summary: &str, schema: Json, security: Json| object! { "get" => operation(id, summary, schema, security, &WITH_TOKEN) };
    vec![
        member("/userinfo", object! { "get" => by_get, "post" => by_post }),
        member(
            "/api/iam/me",
            get("iamMeAccount", "The account of a token, with its roles and tenants", reference("IamAccount"), token_required()),
        ),
        member("/.well-known/jwks.json", get("jwks", "The public keys", keys, token_optional())),
        member("/.well-known/openid-configuration", get("openidConfiguration", "The metadata of this hub", any(), token_optional())),
        member(
            "/.well-known/oauth-authorization-server",
            get("oauthAuthorizationServer", "The metadata of this hub", any(), token_optional()),
        ),
    ]
}
