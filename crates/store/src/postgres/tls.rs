//! TLS to PostgreSQL with libpq's settings: `sslmode` from `disable` to `verify-full`, and `sslrootcert`.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsSettings {
    pub(super) mode: TlsMode,
    pub(super) root: Option<String>,
}

/// libpq's `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl TlsMode {
    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "disable" => TlsMode::Disable,
            "allow" | "prefer" => TlsMode::Prefer,
            "require" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" => TlsMode::VerifyFull,
            _ => return None,
        })
    }

    pub(super) fn driver(self) -> SslMode {
        match self {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        }
    }
}

#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// Without roots every certificate is accepted: `prefer` and `require` protect against listeners, not against impostors.
    roots: Option<Roots>,
    /// `VerifyFull` also compares the host name.
    mode: TlsMode,
}

#[derive(Debug)]
struct Roots {
    store: RootCertStore,
    certificates: Vec<CertificateDer<'static>>,
}

pub(super) fn connector(settings: &TlsSettings) -> Result<MakeRustlsConnect, Error> {
    let verifier = Verifier::new(settings)?;
    let config = ClientConfig::builder_with_provider(verifier.provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Setting(format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

impl Verifier {
    fn new(settings: &TlsSettings) -> Result<Self, Error> {
        let roots = match settings.mode {
            TlsMode::VerifyCa | TlsMode::VerifyFull => Some(Roots::read(settings.root.as_deref())?),
            // As in libpq, `require` verifies the chain if there is a root certificate.
            TlsMode::Require => settings.root.as_deref().map(|root| Roots::read(Some(root))).transpose()?,
            TlsMode::Disable | TlsMode::Prefer => None,
        };
        Ok(Verifier { provider: Arc::new(aws_lc_rs::default_provider()), roots, mode: settings.mode })
    }
}

impl Roots {
    fn read(root: Option<&str>) -> Result<Self, Error> {
        let (mut store, mut read) = (RootCertStore::empty(), Vec::new());
        match root {
            None | Some("system") => {
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Some(path) => {
                let unusable = |what: String| Error::Setting(format!("sslrootcert {path:?} {what}"));
                let certificates = CertificateDer::pem_file_iter(path).map_err(|error| unusable(format!("cannot be read: {error}")))?;
                for certificate in certificates {
                    let certificate = certificate.map_err(|error| unusable(format!("is no PEM certificate: {error}")))?;
                    store
                        .add(certificate.clone())
                        .map_err(|error| unusable(format!("holds a certificate that cannot be used: {error}")))?;
                    read.push(certificate);
                }
            }
        }
        if store.is_empty() {
            return Err(Error::Setting("no certificate authority to verify PostgreSQL with; name one with sslrootcert".to_owned()));
        }
        Ok(Roots { store, certificates: read })
    }

    /// Whether `sslrootcert` names this self-signed certificate. As an authority it cannot be verified; it is trusted as itself.
    fn is_pinned(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> Result<bool, rustls::Error> {
        if !self.certificates.contains(certificate) {
            return Ok(false);
        }
        let parsed = Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?.tbs_certificate;
        let [from, to] = [parsed.validity.not_before, parsed.validity.not_after].map(|time| time.to_unix_duration().as_secs());
        if now.as_secs() < from {
            return Err(CertificateError::NotValidYet.into());
        }
        if now.as_secs() > to {
            return Err(CertificateError::Expired.into());
        }
        Ok(parsed.issuer == parsed.subject)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            if !roots.is_pinned(end_entity, now)? {
                let algorithms = self.provider.signature_verification_algorithms.all;
                verify_server_cert_signed_by_trust_anchor(&certificate, &roots.store, intermediates, now, algorithms)?;
            }
            if self.mode == TlsMode::VerifyFull {
                verify_server_name(&certificate, server_name)?;
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A self-signed certificate for `localhost`, as PostgreSQL's manual makes one.
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
    fn a_self_signed_certificate_is_trusted_as_itself() {
        // contract B1.2
        let folder = tempfile::tempdir().expect("a folder");
        let (own, other) = (certificate(folder.path(), "own"), certificate(folder.path(), "other"));
        let shown = CertificateDer::from_pem_file(&own).expect("a certificate");
        let verdict = |root: &str, mode: TlsMode, host: &'static str, days: u64| {
            let verifier = Verifier::new(&TlsSettings { mode, root: Some(root.to_owned()) }).expect("a verifier");
            let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(UnixTime::now().as_secs() + days * 86_400));
            let host = ServerName::try_from(host).expect("a name");
            verifier.verify_server_cert(&shown, &[], &host, &[], time).is_ok()
        };
        assert!(verdict(&own, TlsMode::VerifyFull, "localhost", 0));
        assert!(verdict(&own, TlsMode::VerifyCa, "elsewhere", 0));
        assert!(!verdict(&own, TlsMode::VerifyFull, "elsewhere", 0), "another name");
        assert!(!verdict(&own, TlsMode::VerifyFull, "localhost", 3), "it has expired");
        assert!(!verdict(&other, TlsMode::VerifyCa, "localhost", 0), "another certificate");
    }
}
