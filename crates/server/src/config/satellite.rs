//! The settings of a satellite: its hub, and its client at the hub.

use std::fmt;

use identity::client::{ClientId, Redirect};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use zeroize::Zeroizing;

use super::setting::without_credentials;
use super::{ConfigError, ConfigErrors, Environment, Setting, invalid, origin, secret_files};

const HUB: &str = "the hub's origin, such as https://hub.example.com";
const CLIENT: &str = "the id of this satellite's client at the hub, such as shop";
const REDIRECT: &str = "the URL of the app's callback, such as https://shop.example.com/callback";
const SECRET: &str = "the secret that `peristyle client add` printed";

#[derive(Clone, Debug)]
pub struct SatelliteSettings {
    /// The URL of the hub for browsers: the issuer of its tokens.
    pub hub_url: String,
    pub hub_internal_url: String,
    pub client: ClientId,
    pub secret: Secret,
    pub redirect: Redirect,
    pub audiences: Vec<String>,
    pub binding: Binding,
}

/// A secret string. `Debug` does not show it, and its memory is wiped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: &str) -> Self {
        Secret(Zeroizing::new(text.to_owned()))
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// Whether only the browser that began a login can finish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    On,
    /// For apps that are not same-site with their satellite.
    Off,
}

/// An invalid setting is an error of every process. A missing one is the inner error, which matters only to a satellite.
pub(super) fn read(env: Environment<'_>) -> Result<Result<SatelliteSettings, ConfigErrors>, ConfigError> {
    let (client, redirect, secret) =
        (env.setting("OAUTH_CLIENT_ID"), env.setting("OAUTH_REDIRECT_URI"), env.setting("OAUTH_CLIENT_SECRET"));
    let hub_url = env.setting("OAUTH_HUB_URL").optional(hub_url)?;
    let hub_internal_url = env.setting("OAUTH_HUB_INTERNAL_URL").optional(|url| origin("OAUTH_HUB_INTERNAL_URL", url))?;
    let client_id = client.optional(|text| ClientId::parse(text).map_err(|fault| refused(&client, &fault, CLIENT)))?;
    let redirect_uri = redirect.optional(|text| Redirect::register(text).map_err(|fault| refused(&redirect, &fault, REDIRECT)))?;
    let binding = env.setting("LOGIN_BINDING").choice(&[("on", Binding::On), ("off", Binding::Off)])?;
    secret.optional(|text| one_line(secret.name, text))?;
    let audiences: Vec<String> = env.setting("OAUTH_AUDIENCES").list().map(str::to_owned).collect();
    if audiences.iter().any(String::is_empty) {
        return Err(invalid("OAUTH_AUDIENCES", &audiences.join(","), "a comma-separated list of client ids, none of them empty"));
    }
    let settings = || {
        let hub_url = hub_url.ok_or_else(|| env.setting("OAUTH_HUB_URL").missing(HUB));
        let client = client_id.ok_or_else(|| client.missing(CLIENT));
        let redirect = redirect_uri.ok_or_else(|| redirect.missing(REDIRECT));
        let secret = read_secret(&secret, &env.setting("OAUTH_CLIENT_SECRET_FILE"));
        let is_https = hub_internal_url.as_ref().or(hub_url.as_ref().ok()).is_some_and(|url| url.starts_with("https://"));
        let authorities = if is_https { check_authorities(&env.setting("SSL_CERT_FILE")) } else { Ok(()) };
        let errors =
            [hub_url.as_ref().err(), client.as_ref().err(), redirect.as_ref().err(), secret.as_ref().err(), authorities.as_ref().err()];
        ConfigErrors(errors.into_iter().flatten().cloned().collect()).ok()?;
        let hub_url = hub_url?;
        let hub_internal_url = hub_internal_url.unwrap_or_else(|| hub_url.clone());
        Ok(SatelliteSettings { hub_internal_url, hub_url, client: client?, redirect: redirect?, secret: secret?, audiences, binding })
    };
    Ok(settings())
}

fn hub_url(text: &str) -> Result<String, ConfigError> {
    let url = origin("OAUTH_HUB_URL", text)?;
    // A redirect URI may be http only on this machine.
    if url.starts_with("https://") || Redirect::register(&url).is_ok() {
        return Ok(url);
    }
    let accepted = "an https origin; http is for hubs on this machine (set OAUTH_HUB_INTERNAL_URL if this process reaches the hub by http inside a closed network)";
    Err(invalid("OAUTH_HUB_URL", &url, accepted))
}

fn check_authorities(file: &Setting<'_>) -> Result<(), ConfigError> {
    let Some(path) = file.value else { return Ok(()) };
    let error = |reason: &str| ConfigError {
        variable: file.name,
        problem: format!("the file {path:?} {reason}; accepted is a PEM file of certificate authorities"),
    };
    let text = std::fs::read(path).map_err(|cause| error(&format!("cannot be read: {cause}")))?;
    // Other parts of the file are skipped, as they are when it is used.
    let certificates = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
    let (usable, _) = RootCertStore::empty().add_parsable_certificates(certificates);
    if usable == 0 { Err(error("holds no certificate")) } else { Ok(()) }
}

/// The secret from its variable or its file. No message repeats it.
fn read_secret(secret: &Setting<'_>, file: &Setting<'_>) -> Result<Secret, ConfigError> {
    let error = |variable, problem| ConfigError { variable, problem };
    match (secret.value, file.value) {
        (Some(_), Some(_)) => Err(error(secret.name, format!("is set together with {}; only one of them is accepted", file.name))),
        (Some(text), None) => one_line(secret.name, text),
        (None, Some(path)) => {
            let refused = |reason| error(file.name, format!("the file {path:?} {reason}; accepted is a file that holds {SECRET}"));
            Ok(Secret::new(&secret_files::one_line(path).map_err(refused)?))
        }
        (None, None) => Err(error(secret.name, format!("is missing, and so is {}; accepted is {SECRET}", file.name))),
    }
}

/// A secret in a variable; a final newline is dropped.
fn one_line(name: &'static str, text: &str) -> Result<Secret, ConfigError> {
    let secret = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    if secret.is_empty() || secret.chars().any(char::is_control) {
        return Err(ConfigError { variable: name, problem: format!("the value is empty or has several lines; accepted is {SECRET}") });
    }
    Ok(Secret::new(secret))
}

fn refused(setting: &Setting<'_>, fault: &dyn fmt::Display, accepted: &str) -> ConfigError {
    let problem = format!("found {:?}: {fault}; accepted is {accepted}", without_credentials(setting.value.unwrap_or_default()));
    ConfigError { variable: setting.name, problem }
}
