//! TLS to PostgreSQL as libpq says it: `sslmode` from `disable` to `verify-full`, and `sslrootcert`.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;

/// What is found of a certificate.
type Verdict = Result<ServerCertVerified, rustls::Error>;

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
    /// The chain and, as far as is asked, the name.
    Chain(Chain),
}

#[derive(Debug)]
struct Chain {
    web: Arc<WebPkiServerVerifier>,
    /// The authorities, as their bytes.
    roots: Vec<CertificateDer<'static>>,
    name: Name,
}

/// Whether a certificate has to name the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Any,
    OfHost,
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
        Mode::VerifyCa | Mode::VerifyFull => {
            let (store, roots) = roots(settings)?;
            let web = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
                .build()
                .map_err(|error| Error::Setting(format!("TLS cannot be set up: {error}")))?;
            let name = if mode == Mode::VerifyFull { Name::OfHost } else { Name::Any };
            let chain = Verifier::Chain(Chain { web, roots, name });
            builder.dangerous().with_custom_certificate_verifier(Arc::new(chain)).with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// The certificates that are trusted, also as they were read.
fn roots(settings: &TlsSettings) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), Error> {
    let (mut store, mut read) = (RootCertStore::empty(), Vec::new());
    match settings.root.as_deref() {
        None | Some("system") => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            let unusable = |what: String| Error::Setting(format!("sslrootcert {path:?} {what}"));
            let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| unusable(format!("is no PEM certificate: {error}")))?;
                store.add(certificate.clone()).map_err(|error| unusable(format!("holds a certificate that cannot be used: {error}")))?;
                read.push(certificate);
            }
        }
    }
    if store.is_empty() {
        return Err(Error::Setting("no certificate authority to verify PostgreSQL with; name one with sslrootcert".to_owned()));
    }
    Ok((store, read))
}

impl Chain {
    fn verify(&self, certificate: &CertificateDer<'_>, name: &ServerName<'_>, web: Verdict) -> Verdict {
        match web {
            Err(rustls::Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }))
                if self.name == Name::Any =>
            {
                Ok(ServerCertVerified::assertion())
            }
            // A certificate that signed itself, as the manuals make one, calls itself an authority. Named as one, it is trusted as itself;
            // that it is in force was found out before.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(ref error)))
                if matches!(error.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity)) && self.roots.contains(certificate) =>
            {
                if self.name == Name::OfHost {
                    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }
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
            Verifier::Chain(chain) => {
                let web = chain.web.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
                chain.verify(end_entity, server_name, web)
            }
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
            Verifier::Chain(chain) => chain.web.verify_tls12_signature(message, cert, dss),
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
            Verifier::Chain(chain) => chain.web.verify_tls13_signature(message, cert, dss),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        match self {
            Verifier::Nothing(provider) => provider.signature_verification_algorithms.supported_schemes(),
            Verifier::Chain(chain) => chain.web.supported_verify_schemes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A certificate for `localhost` as PostgreSQL's manual makes one: it signed itself, and calls itself an authority.
    fn certificate(folder: &std::path::Path, name: &str) -> String {
        let path = folder.join(format!("{name}.crt"));
        let made = Command::new("openssl")
            .args(["req", "-new", "-x509", "-days", "2", "-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
            .arg("-keyout")
            .arg(folder.join("key"))
            .arg("-out")
            .arg(&path)
            .stderr(Stdio::null())
            .status();
        assert!(made.expect("openssl runs").success());
        path.display().to_string()
    }

    #[test]
    fn a_certificate_that_signed_itself_is_trusted_as_itself() {
        // contract B1.2
        let folder = tempfile::tempdir().expect("a folder");
        let (own, other) = (certificate(folder.path(), "own"), certificate(folder.path(), "other"));
        let shown = CertificateDer::from_pem_file(&own).expect("a certificate");
        let verdict = |root: &str, name: Name, host: &'static str, days: u64| {
            let (store, roots) = roots(&TlsSettings { mode: Mode::VerifyFull, root: Some(root.to_owned()) }).expect("roots");
            let provider = Arc::new(aws_lc_rs::default_provider());
            let web = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider).build().expect("a verifier");
            let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(UnixTime::now().as_secs() + days * 86_400));
            let host = ServerName::try_from(host).expect("a name");
            Verifier::Chain(Chain { web, roots, name }).verify_server_cert(&shown, &[], &host, &[], time).is_ok()
        };
        assert!(verdict(&own, Name::OfHost, "localhost", 0));
        assert!(verdict(&own, Name::Any, "elsewhere", 0));
        assert!(!verdict(&own, Name::OfHost, "elsewhere", 0), "another name");
        assert!(!verdict(&own, Name::OfHost, "localhost", 3), "its time is over");
        assert!(!verdict(&other, Name::Any, "localhost", 0), "another certificate");
    }
}
