//! TLS to PostgreSQL as libpq says it: `sslmode` from `disable` to `verify-full`, and `sslrootcert`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// What the address asks of TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsSettings {
    pub(super) mode: Mode,
    pub(super) root: Option<String>,
}

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "disable" => Mode::Disable,
            "allow" | "prefer" => Mode::Prefer,
            "require" => Mode::Require,
            "verify-ca" => Mode::VerifyCa,
            "verify-full" => Mode::VerifyFull,
            _ => return None,
        })
    }

    pub(super) fn driver(self) -> SslMode {
        match self {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        }
    }
}

/// How much of a certificate is verified.
#[derive(Debug)]
enum Verifier {
    /// Nothing: TLS against listeners, not against impostors. What `prefer` and `require` mean.
    Nothing(Arc<CryptoProvider>),
    /// The chain, not the name.
    Chain(Arc<WebPkiServerVerifier>),
}

pub(super) fn connector(settings: &TlsSettings) -> Result<MakeRustlsConnect, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Setting(format!("TLS cannot be set up: {error}")))?;
    // libpq's rule: with a root certificate at hand, `require` verifies the chain too.
    let mode = if settings.mode == Mode::Require && settings.root.is_some() { Mode::VerifyCa } else { settings.mode };
    let config = match mode {
        Mode::Disable | Mode::Prefer | Mode::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Verifier::Nothing(provider))).with_no_client_auth()
        }
        Mode::VerifyCa => {
            let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(settings)?), provider)
                .build()
                .map_err(|error| Error::Setting(format!("TLS cannot be set up: {error}")))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Verifier::Chain(chain))).with_no_client_auth()
        }
        Mode::VerifyFull => builder.with_root_certificates(roots(settings)?).with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(settings: &TlsSettings) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    match settings.root.as_deref() {
        None | Some("system") => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            let unusable = |what: String| Error::Setting(format!("sslrootcert {path:?} {what}"));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unusable(format!("is no PEM certificate: {error}")))?;
                store.add(certificate).map_err(|error| unusable(format!("holds a certificate that cannot be used: {error}")))?;
            }
        }
    }
    if store.is_empty() {
        return Err(Error::Setting("no certificate authority to verify PostgreSQL with; name one with sslrootcert".to_owned()));
    }
    Ok(store)
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match self {
            Verifier::Nothing(_) => Ok(ServerCertVerified::assertion()),
            Verifier::Chain(chain) => match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
                Err(rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
                )) => Ok(ServerCertVerified::assertion()),
                other => other,
            },
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self {
            Verifier::Nothing(provider) => verify_tls12_signature(message, cert, dss, &provider.signature_verification_algorithms),
            Verifier::Chain(chain) => chain.verify_tls12_signature(message, cert, dss),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match self {
            Verifier::Nothing(provider) => verify_tls13_signature(message, cert, dss, &provider.signature_verification_algorithms),
            Verifier::Chain(chain) => chain.verify_tls13_signature(message, cert, dss),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Verifier::Nothing(provider) => provider.signature_verification_algorithms.supported_schemes(),
            Verifier::Chain(chain) => chain.supported_verify_schemes(),
        }
    }
}
