//! The signing keys of a hub: the private key from its file, and the public keys from the database.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use identity::audit_event::AuditEvent;
use identity::client::ClientId;
use identity::keys::rotation::KeyRing;
use identity::keys::{KeyId, KeySet, PrivateKey};
use identity::token::{AccountChange, Claims, sign};
use store::hub_records::audit_log::{self, AuditContext};
use store::hub_records::{Records, signing_keys};

use crate::boot_error::{BootError, unusable};
use crate::clock;
use crate::config::{Config, KeyMode};
use crate::http::etag::StaticDocument;
use crate::key_files;
use crate::problem::oauth::OauthError;

/// The private key files of this process: the signing key, and the next one beside it.
#[derive(Debug)]
pub(crate) struct KeyFiles {
    path: PathBuf,
    first: Arc<PrivateKey>,
}

impl KeyFiles {
    /// Reads the key file. Every strategy but `none` needs it.
    pub(crate) fn read(config: &Config) -> Result<Self, BootError> {
        let path = &config.private_key_path;
        let needed = format!("; OAUTH_STRATEGY={} needs one, and `peristyle keys generate` makes it", config.strategy.as_str());
        let first = key_files::read_private(path).map_err(|problem| {
            let end = if path.exists() { "" } else { &needed };
            BootError(format!("OAUTH_PRIVATE_KEY_PATH: the private key {} {problem}{end}", path.display()))
        })?;
        if key_files::others_can_read(path) {
            let open = format!("other users of this machine can read the private key {}; chmod 600 it", path.display());
            if config.key_mode == KeyMode::Strict {
                return Err(BootError(format!("OAUTH_KEY_MODE is strict, and {open}")));
            }
            tracing::warn!("{open}");
        }
        Ok(KeyFiles { path: path.clone(), first: Arc::new(first) })
    }

    fn find(&self, id: &KeyId) -> Option<Arc<PrivateKey>> {
        if self.first.public().id() == id {
            return Some(self.first.clone());
        }
        let read = |path: &PathBuf| key_files::read_private(path).ok().filter(|key| key.public().id() == id);
        [self.path.clone(), key_files::next_to(&self.path)].iter().find_map(read).map(Arc::new)
    }
}

/// The signing key was retired elsewhere too long ago.
const UNPUBLISHED: &str = "the signing key of this process is no longer published, so it signs nothing";

#[derive(Debug)]
pub(super) struct CurrentKeys {
    signing: Arc<PrivateKey>,
    /// The published keys, and the same as JSON.
    pub(super) set: KeySet,
    pub(super) document: StaticDocument,
}

impl CurrentKeys {
    /// Whether the signing key is published. A retired key still is for a day.
    fn is_published(&self) -> bool {
        self.set.find(self.signing()).is_some()
    }

    pub(super) fn signing(&self) -> &KeyId {
        self.signing.public().id()
    }

    pub(super) fn sign_event(&self, event: &AccountChange, issuer: &str, audience: &ClientId) -> Option<String> {
        let signed = event.sign(issuer, audience, clock::now(), &self.signing);
        signed.inspect_err(|error| tracing::error!(%error, "could not sign an account change")).ok()
    }
}

#[derive(Debug)]
pub(super) struct SigningKeys {
    files: KeyFiles,
    current: RwLock<Arc<CurrentKeys>>,
}

impl SigningKeys {
    /// Registers the key of the file at a new hub, and loads all keys.
    pub(super) async fn open(files: KeyFiles, records: &Records) -> Result<Self, BootError> {
        let ring = register(&files, records).await.map_err(unusable)?;
        let keys = private_key(&files, None, &ring)
            .and_then(|signing| published(signing, &ring))
            .map_err(|problem| BootError(format!("OAUTH_PRIVATE_KEY_PATH: {problem}")))?;
        Ok(SigningKeys { files, current: RwLock::new(Arc::new(keys)) })
    }

    /// Reloads the keys: another replica may have announced, promoted or dropped one. Returns what is wrong with them. If no file holds the
    /// signing key, the previous one signs on; the other keys are published all the same.
    pub(super) async fn refresh(&self, records: &Records) -> Result<Option<String>, store::Error> {
        let Some(ring) = signing_keys::load(records).await? else { return Ok(None) };
        let before = self.current().signing.clone();
        let (signing, problem) = match private_key(&self.files, Some(&before), &ring) {
            Ok(signing) => (signing, None),
            Err(problem) => (before, Some(problem)),
        };
        let keys = match published(signing, &ring) {
            Ok(keys) => Arc::new(keys),
            Err(problem) => return Ok(Some(problem)),
        };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = keys.clone();
        Ok(problem.map(|problem| if keys.is_published() { problem } else { format!("{problem}; {UNPUBLISHED}") }))
    }

    pub(super) fn current(&self) -> Arc<CurrentKeys> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Signs claims, unless the key is no longer published.
    pub(super) fn sign<C: Claims>(&self, claims: &C) -> Result<String, OauthError> {
        let keys = self.current();
        if !keys.is_published() {
            return Err(OauthError::Internal(UNPUBLISHED));
        }
        sign(claims, &keys.signing).map_err(|_| OauthError::Internal("could not sign a token"))
    }
}

/// Loads the keys, with the key of the file among them: as the first key of a new hub, or in place of one whose private key is lost.
async fn register(files: &KeyFiles, records: &Records) -> Result<KeyRing, store::Error> {
    let mut transaction = records.begin().await?;
    let own = files.first.public();
    let now = clock::now();
    // Replicas that start together register one after the other.
    signing_keys::lock(&mut transaction).await?;
    let ring = match signing_keys::load(&mut transaction).await? {
        None => KeyRing::begin(own.clone(), now),
        Some(ring) => {
            if files.find(ring.signing().id()).is_some() || ring.knows(own.id()) {
                return Ok(ring);
            }
            match ring.clone().replace(own.clone(), now) {
                Ok(ring) => {
                    tracing::warn!(key = %own.id(), "the key file holds a new key: it signs from now on, and the previous one is retired");
                    let event = AuditEvent::KeyRotated { key: own.id().as_str().to_owned(), state: "signing" };
                    audit_log::append(&mut transaction, &event, AuditContext { now, address: None }).await?;
                    ring
                }
                Err(fault) => {
                    tracing::error!(key = %own.id(), "the key file holds a new key, and it cannot sign: {fault}");
                    return Ok(ring);
                }
            }
        }
    };
    signing_keys::save(&mut transaction, &ring).await?;
    transaction.commit().await?;
    Ok(ring)
}

/// The private signing key. The one in use is not read from its file again.
fn private_key(files: &KeyFiles, in_use: Option<&Arc<PrivateKey>>, ring: &KeyRing) -> Result<Arc<PrivateKey>, String> {
    let signing = ring.signing().id();
    let held = in_use.filter(|key| key.public().id() == signing).cloned();
    held.or_else(|| files.find(signing)).ok_or_else(|| {
        format!(
            "the signing key is {signing}, and neither {} nor its .next holds it; restore its file, or, if it is lost, make a key with `peristyle keys generate --out FOLDER` and name that one",
            files.path.display()
        )
    })
}

fn published(signing: Arc<PrivateKey>, ring: &KeyRing) -> Result<CurrentKeys, String> {
    let set = ring.published(clock::now()).map_err(|fault| format!("the key set {fault}"))?;
    let document = StaticDocument::new("application/json", set.to_json().to_string());
    Ok(CurrentKeys { signing, set, document })
}
