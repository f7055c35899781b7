//! What a satellite needs to know of its hub, and of what it is there.

use std::fmt;

use identity::client::{ClientId, Redirect};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use zeroize::Zeroizing;

use super::variable::repeatable;
use super::{ConfigError, Variable, origin, wrong};

const CLIENT: &str = "the id of this satellite's client at the hub, such as shop";
const REDIRECT: &str = "the address of the app's callback, such as https://shop.example.com/callback";
const SECRET: &str = "the secret that `peristyle client add` printed";

/// A satellite's place at its hub.
#[derive(Clone, Debug)]
pub struct SatelliteSettings {
    /// The hub's address as browsers know it: what its tokens name as their issuer.
    pub hub_url: String,
    /// Where this process reaches the hub.
    pub hub_internal_url: String,
    /// Its id at the hub.
    pub client: ClientId,
    /// Its secret at the hub.
    pub secret: ClientPassword,
    /// The address of the app's callback.
    pub redirect: Redirect,
    /// Further audiences whose tokens count here.
    pub audiences: Vec<String>,
    /// Whether a login is finished only by the browser that began it.
    pub binding: Binding,
}

/// The client's secret. Its `Debug` tells nothing, and its memory is wiped.
#[derive(Clone)]
pub struct ClientPassword(Zeroizing<String>);

impl ClientPassword {
    /// This text.
    pub fn new(text: &str) -> Self {
        ClientPassword(Zeroizing::new(text.to_owned()))
    }

    /// The text, to send to the hub and to nobody else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ClientPassword {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ClientPassword(…)")
    }
}

/// Whether a login is finished only by the browser that began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// By a cookie.
    On,
    /// Not at all, for apps that are not same-site with their satellite.
    Off,
}

/// The variables of a satellite.
#[derive(Clone, Copy)]
pub(super) struct Read<'v> {
    pub(super) hub_url: Variable<'v>,
    pub(super) hub_internal_url: Variable<'v>,
    pub(super) client: Variable<'v>,
    pub(super) secret: Variable<'v>,
    pub(super) secret_file: Variable<'v>,
    pub(super) redirect: Variable<'v>,
    pub(super) audiences: Variable<'v>,
    pub(super) binding: Variable<'v>,
    pub(super) authorities: Variable<'v>,
}

impl Read<'_> {
    /// The settings, or what of them is missing, which only a satellite minds. What is malformed is a fault of every process.
    pub(super) fn settings(&self) -> Result<Result<SatelliteSettings, ConfigError>, ConfigError> {
        let hub_url = self.hub_url.value.map(|url| self.hub_url(url)).transpose()?;
        let hub_internal_url = self.hub_internal_url.value.map(|url| origin(self.hub_internal_url.variable, url)).transpose()?;
        let client = self.client.value.map(|text| ClientId::parse(text).map_err(|fault| refused(&self.client, &fault, CLIENT)));
        let redirect = self.redirect.value.map(|text| Redirect::register(text).map_err(|fault| refused(&self.redirect, &fault, REDIRECT)));
        let (client, redirect) = (client.transpose()?, redirect.transpose()?);
        let binding = match self.binding.word("on", &["on", "off"])? {
            "off" => Binding::Off,
            _ => Binding::On,
        };
        if let Some(text) = self.secret.value {
            one_line(self.secret.variable, bare(text))?;
        }
        let audiences: Vec<String> = self.audiences.list().map(str::to_owned).collect();
        if audiences.iter().any(String::is_empty) {
            let found = self.audiences.value.unwrap_or_default();
            return Err(wrong(self.audiences.variable, found, "a comma list of ids of clients, none of them empty"));
        }
        let settings = || {
            let hub_url = hub_url.ok_or_else(|| self.hub_url.missing("the hub's origin, such as https://hub.example.com"))?;
            let hub_internal_url = hub_internal_url.unwrap_or_else(|| hub_url.clone());
            if hub_internal_url.starts_with("https://") {
                self.check_authorities()?;
            }
            Ok(SatelliteSettings {
                hub_internal_url,
                hub_url,
                client: client.ok_or_else(|| self.client.missing(CLIENT))?,
                redirect: redirect.ok_or_else(|| self.redirect.missing(REDIRECT))?,
                secret: self.secret()?,
                audiences,
                binding,
            })
        };
        Ok(settings())
    }

    fn hub_url(&self, text: &str) -> Result<String, ConfigError> {
        let url = origin(self.hub_url.variable, text)?;
        if is_private(&url) {
            return Ok(url);
        }
        let accepted = "an https origin; http is for hubs on this machine (set OAUTH_HUB_INTERNAL_URL where this process reaches the hub by http inside a closed network)";
        Err(wrong(self.hub_url.variable, &url, accepted))
    }

    /// A file of authorities that was named holds one, if the hub is to be believed by it.
    fn check_authorities(&self) -> Result<(), ConfigError> {
        let Some(path) = self.authorities.value else { return Ok(()) };
        let wrong = |reason: &str| ConfigError {
            variable: self.authorities.variable,
            problem: format!("the file {path:?} {reason}; accepted is a PEM file of certificate authorities"),
        };
        let text = std::fs::read(path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
        // What else stands in the file is passed over, as it is where it is used.
        let certificates = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
        let (usable, _) = RootCertStore::empty().add_parsable_certificates(certificates);
        if usable == 0 { Err(wrong("holds no certificate")) } else { Ok(()) }
    }

    /// The secret itself or the file it stands in; neither is repeated in a message.
    fn secret(&self) -> Result<ClientPassword, ConfigError> {
        let text = match (self.secret.value, self.secret_file.value) {
            (Some(_), Some(_)) => {
                let problem = format!("is set beside {}; one of them is accepted", self.secret_file.variable);
                return Err(ConfigError { variable: self.secret.variable, problem });
            }
            (Some(text), None) => Zeroizing::new(text.to_owned()),
            (None, Some(path)) => std::fs::read_to_string(path).map(Zeroizing::new).map_err(|error| ConfigError {
                variable: self.secret_file.variable,
                problem: format!("the file {path:?} cannot be read: {error}; accepted is a file that holds {SECRET}"),
            })?,
            (None, None) => {
                let problem = format!("is missing, and so is {}; accepted is {SECRET}", self.secret_file.variable);
                return Err(ConfigError { variable: self.secret.variable, problem });
            }
        };
        let text = bare(&text);
        let variable = if self.secret.value.is_some() { self.secret.variable } else { self.secret_file.variable };
        one_line(variable, text)?;
        Ok(ClientPassword::new(text))
    }
}

/// Without a newline at its end.
fn bare(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

fn one_line(variable: &'static str, secret: &str) -> Result<(), ConfigError> {
    if secret.is_empty() || secret.chars().any(char::is_control) {
        return Err(ConfigError { variable, problem: format!("found something empty or of several lines; accepted is {SECRET}") });
    }
    Ok(())
}

/// A value that a rule of identity refuses: what it says, and what is accepted.
fn refused(variable: &Variable<'_>, fault: &dyn fmt::Display, accepted: &str) -> ConfigError {
    let problem = format!("found {:?}: {fault}; accepted is {accepted}", repeatable(variable.value.unwrap_or_default()));
    ConfigError { variable: variable.variable, problem }
}

/// Whether what goes to this address stays between us and it: encrypted, or on this machine.
fn is_private(origin: &str) -> bool {
    origin.starts_with("https://") || Redirect::register(origin).is_ok()
}
