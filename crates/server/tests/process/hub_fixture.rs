//! A hub that the commands set up: keys, an account and a client; several processes can serve it on one database.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Output, Stdio};

use identity::form;
use serde_json::Value;

use crate::program::{Finished, Folder, Serving};
use crate::support::{Backend, Database, Request, Response, get};

pub(crate) const ISSUER: &str = "http://hub.test";
pub(crate) const PASSWORD: &str = "marker-password-1";
pub(crate) const REDIRECT: &str = "http://localhost:9/callback";
pub(crate) const VERIFIER: &str = "marker-verifier-0123456789012345678901234567890";

/// A folder and a database for the commands.
pub(crate) struct HubCommands {
    pub(crate) folder: Folder,
    pub(crate) database: Database,
    more: Vec<(&'static str, &'static str)>,
}

impl HubCommands {
    pub(crate) async fn open(backend: Backend) -> Self {
        HubCommands { folder: Folder::new(), database: Database::with(backend, "SELECT 1").await, more: Vec::new() }
    }

    pub(crate) fn variables(&self) -> Vec<(&str, &str)> {
        let mut variables = vec![("DATABASE_URL", self.database.url.as_str())];
        variables.extend(&self.more);
        variables
    }

    pub(crate) fn finished(&self, line: &str) -> Finished {
        self.folder.run(&line.split(' ').collect::<Vec<_>>(), &self.variables())
    }

    pub(crate) fn run(&self, line: &str) -> String {
        self.finished(line).good()
    }

    pub(crate) fn refused(&self, line: &str) -> String {
        self.finished(line).refused()
    }

    /// Runs a command with this standard input.
    pub(crate) fn run_with_input(&self, line: &str, input: &str) -> Output {
        let mut command = self.folder.command(&line.split(' ').collect::<Vec<_>>());
        let mut child = command.envs(self.variables()).stdin(Stdio::piped()).spawn().expect("the program starts");
        child.stdin.take().expect("standard input").write_all(input.as_bytes()).expect("it reads");
        child.wait_with_output().expect("the program ends")
    }

    /// The same: whether it succeeded, and what it printed.
    pub(crate) fn succeeded_with_input(&self, line: &str, input: &str) -> (bool, String) {
        let output = self.run_with_input(line, input);
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8(text).expect("UTF-8"))
    }
}

/// The object on the one line of an output.
pub(crate) fn object(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// A hub with one account and one client, and the standard error of its commands.
pub(crate) struct HubFixture {
    pub(crate) commands: HubCommands,
    pub(crate) secret: String,
    pub(crate) errors: String,
}

impl HubFixture {
    pub(crate) async fn open(backend: Backend) -> Self {
        HubFixture::with(backend, &[]).await
    }

    pub(crate) async fn with(backend: Backend, more: &[(&'static str, &'static str)]) -> Self {
        let mut commands = HubCommands::open(backend).await;
        commands.more = [&[("OAUTH_STRATEGY", "local-provider"), ("APP_URL", ISSUER)], more].concat();
        commands.run("keys generate");
        let add = "account add --username ada --email ada@example.com --role administrator --password-stdin";
        let added = commands.run_with_input(add, PASSWORD);
        assert!(added.status.success(), "{added:?}");
        let made = commands.finished(&format!(
            "client add --id shop --name Shop --redirect {REDIRECT} --grant authorization_code --grant refresh_token --grant password --administers --json"
        ));
        let secret = object(&made.good())["secret"].as_str().expect("a secret").to_owned();
        let errors = String::from_utf8(added.stderr).expect("UTF-8") + &made.err();
        HubFixture { commands, secret, errors }
    }

    pub(crate) fn serve(&self) -> Serving {
        self.commands.folder.serve(&self.commands.variables())
    }

    /// A request for tokens by the client.
    pub(crate) fn token(&self, pairs: &[(&str, &str)]) -> Request {
        posted("/token", &[pairs, &[("client_id", "shop"), ("client_secret", &self.secret)]].concat())
    }

    pub(crate) fn redemption(&self, code: &str) -> Request {
        self.token(&[("grant_type", "authorization_code"), ("code", code), ("redirect_uri", REDIRECT), ("code_verifier", VERIFIER)])
    }

    pub(crate) fn password(&self) -> Request {
        self.token(&[("grant_type", "password"), ("username", "ada"), ("password", PASSWORD)])
    }
}

pub(crate) fn posted(path: &str, pairs: &[(&str, &str)]) -> Request {
    Request::new("POST", path).header("content-type", "application/x-www-form-urlencoded").body(form::write(pairs.iter().copied()))
}

/// Signs in on the sign-in page; returns the cookie.
pub(crate) async fn sign_in(address: SocketAddr) -> String {
    let signed = posted("/sign-in", &[("username", "ada"), ("password", PASSWORD)]).send(address).await;
    assert_eq!(signed.status(), 303, "{}", signed.text());
    signed.header("set-cookie").and_then(|value| value.split(';').next()).expect("a cookie").to_owned()
}

/// The answer of the authorize endpoint to a browser with this cookie.
pub(crate) async fn authorize(address: SocketAddr, cookie: &str) -> Response {
    let challenge = identity::pkce::Verifier::parse(VERIFIER).expect("a verifier").challenge();
    let pairs =
        [("client_id", "shop"), ("redirect_uri", REDIRECT), ("state", "s"), ("scope", "openid"), ("code_challenge", challenge.as_str())];
    get(&format!("/authorize?{}", form::write(pairs))).header("cookie", cookie).send(address).await
}

pub(crate) async fn code(address: SocketAddr, cookie: &str) -> String {
    let led = authorize(address, cookie).await;
    let location = led.header("location").expect("a URL");
    location.split("code=").nth(1).and_then(|rest| rest.split('&').next()).unwrap_or_else(|| panic!("a code in {location}")).to_owned()
}

/// The account of an access token.
pub(crate) async fn me(address: SocketAddr, tokens: &Value) -> Response {
    let token = tokens["access_token"].as_str().expect("a token");
    get("/api/iam/me").header("authorization", &format!("Bearer {token}")).send(address).await
}
