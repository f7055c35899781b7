//! How this process connects to other HTTP servers: with a timeout, and with TLS that trusts the authorities of the machine.

use std::sync::Arc;
use std::time::Duration;

use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::{ClientConfig, RootCertStore};

use crate::boot_error::BootError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// A connector for a URL of this setting.
pub(crate) fn connector(setting: &str, url: &str) -> Result<HttpsConnector<HttpConnector>, BootError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    http.set_nodelay(true);
    let mut roots = RootCertStore::empty();
    if url.starts_with("https://") {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let problem = "this machine has no CA certificates, so no server can be trusted; install ca-certificates, or name a file in SSL_CERT_FILE";
            let reason = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
            return Err(BootError(format!("{setting}: {problem}{reason}")));
        }
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| BootError(format!("TLS is unavailable: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(HttpsConnectorBuilder::new().with_tls_config(config).https_or_http().enable_http1().wrap_connector(http))
}

/// The innermost cause: the outer ones say only that something failed.
pub(crate) fn reason(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
