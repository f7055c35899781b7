//! The keys of a hub in memory: the private half that signs, from its file, and the public halves, as the database has them.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use identity::client::ClientId;
use identity::event::Event;
use identity::keys::rotation::KeyRing;
use identity::keys::{KeyId, KeySet, PrivateKey};
use identity::token::{Claims, SecurityEvent, sign};
use store::events::Occasion;
use store::records::Records;

use crate::boot_error::{BootError, unusable};
use crate::clock;
use crate::config::{Config, KeyMode};
use crate::http::etag::Tagged;
use crate::key_files;
use crate::problem::oauth::OauthError;

/// The private keys that this process has files of: the one that signs, and the next one beside it.
#[derive(Debug)]
pub(crate) struct KeyFiles {
    path: PathBuf,
    first: Arc<PrivateKey>,
}

impl KeyFiles {
    /// Reads the key file that every strategy but `none` needs.
    pub(crate) fn read(config: &Config) -> Result<Self, BootError> {
        let path = &config.private_key_path;
        let needed = format!("; OAUTH_STRATEGY={} needs one, and `peristyle keys generate` makes it", config.strategy.as_str());
        let first = key_files::read_private(path).map_err(|problem| {
            let end = if path.exists() { "" } else { &needed };
            BootError(format!("OAUTH_PRIVATE_KEY_PATH: the private key {} {problem}{end}", path.display()))
        })?;
        if key_files::others_can_read(path) {
            let open = format!("the private key {} can be read by other users of this machine; chmod 600 it", path.display());
            if config.key_mode == KeyMode::Strict {
                return Err(BootError(format!("OAUTH_KEY_MODE is strict, and {open}")));
            }
            tracing::warn!("{open}");
        }
        Ok(KeyFiles { path: path.clone(), first: Arc::new(first) })
    }

    /// The private half of a key, from either file as they are now.
    fn find(&self, id: &KeyId) -> Option<Arc<PrivateKey>> {
        if self.first.public().id() == id {
            return Some(self.first.clone());
        }
        let read = |path: &PathBuf| key_files::read_private(path).ok().filter(|key| key.public().id() == id);
        [self.path.clone(), key_files::next_to(&self.path)].iter().find_map(read).map(Arc::new)
    }
}

/// What is said of a key that signed here for too long after it was retired elsewhere.
const UNTRUSTED: &str = "the key that signs here is published no more, and nothing is signed with it";

/// What signs and what is published now.
#[derive(Debug)]
pub(super) struct Keys {
    signing: Arc<PrivateKey>,
    set: KeySet,
    document: Tagged,
}

impl Keys {
    /// Whether the key that signs is published: one that was retired elsewhere is for a day.
    fn are_trusted(&self) -> bool {
        self.set.find(self.signing()).is_some()
    }

    /// The published keys, to verify with.
    pub(super) fn set(&self) -> &KeySet {
        &self.set
    }

    /// The key that signs.
    pub(super) fn signing(&self) -> &KeyId {
        self.signing.public().id()
    }

    /// Signs a change for a client. One that cannot be signed is told to nobody; the log knows.
    pub(super) fn sign_event(&self, event: &SecurityEvent, issuer: &str, audience: &ClientId) -> Option<String> {
        let signed = event.sign(issuer, audience, clock::now(), &self.signing);
        signed.inspect_err(|error| tracing::error!(%error, "a change could not be signed")).ok()
    }

    /// The published keys, as the document.
    pub(super) fn document(&self) -> &Tagged {
        &self.document
    }
}

/// The keys, read again every so often.
#[derive(Debug)]
pub(super) struct Keyring {
    files: KeyFiles,
    current: RwLock<Arc<Keys>>,
}

impl Keyring {
    /// Registers the key of the file where the hub is new, and reads the ring.
    pub(super) async fn open(files: KeyFiles, records: &Records) -> Result<Self, BootError> {
        let ring = register(&files, records).await.map_err(unusable)?;
        let keys = private_half(&files, None, &ring)
            .and_then(|signing| published(signing, &ring))
            .map_err(|problem| BootError(format!("OAUTH_PRIVATE_KEY_PATH: {problem}")))?;
        Ok(Keyring { files, current: RwLock::new(Arc::new(keys)) })
    }

    /// Reads the ring again: another replica may have announced, promoted or dropped a key. Gives what is wrong with it. Where the key that
    /// signs is in no file of ours, the one of before signs on; the keys of others are published and trusted all the same.
    pub(super) async fn refresh(&self, records: &Records) -> Result<Option<String>, store::Error> {
        let Some(ring) = store::signing_keys::load(records).await? else { return Ok(None) };
        let before = self.current().signing.clone();
        let (signing, problem) = match private_half(&self.files, Some(&before), &ring) {
            Ok(signing) => (signing, None),
            Err(problem) => (before, Some(problem)),
        };
        let keys = match published(signing, &ring) {
            Ok(keys) => Arc::new(keys),
            Err(problem) => return Ok(Some(problem)),
        };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = keys.clone();
        Ok(problem.map(|problem| if keys.are_trusted() { problem } else { format!("{problem}; {UNTRUSTED}") }))
    }

    pub(super) fn current(&self) -> Arc<Keys> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Signs claims, unless nobody would trust them.
    pub(super) fn sign<C: Claims>(&self, claims: &C) -> Result<String, OauthError> {
        let keys = self.current();
        if !keys.are_trusted() {
            return Err(OauthError::Internal(UNTRUSTED));
        }
        sign(claims, &keys.signing).map_err(|_| OauthError::Internal("a token could not be signed"))
    }
}

/// The ring, with the key of the file in it: as its first key in a new hub, or in place of one whose private half is gone.
async fn register(files: &KeyFiles, records: &Records) -> Result<KeyRing, store::Error> {
    let mut transaction = records.begin().await?;
    let own = files.first.public();
    let now = clock::now();
    // Replicas that start together register one after the other.
    store::signing_keys::lock(&mut transaction).await?;
    let ring = match store::signing_keys::load(&mut transaction).await? {
        None => KeyRing::begin(own.clone(), now),
        Some(ring) => {
            if files.find(ring.signing().id()).is_some() || ring.knows(own.id()) {
                return Ok(ring);
            }
            match ring.clone().replace(own.clone(), now) {
                Ok(ring) => {
                    tracing::warn!(key = %own.id(), "the key file holds a key that the database does not know: it signs from now on, and the one before is retired");
                    let event = Event::KeyRotated { key: own.id().as_str().to_owned(), state: "signing" };
                    store::events::append(&mut transaction, &event, Occasion { now, address: None }).await?;
                    ring
                }
                Err(fault) => {
                    tracing::error!(key = %own.id(), "the key file holds a key that the database does not know, and it cannot sign: {fault}");
                    return Ok(ring);
                }
            }
        }
    };
    store::signing_keys::save(&mut transaction, &ring).await?;
    transaction.commit().await?;
    Ok(ring)
}

/// The private half of the key that signs. The key in use until now is not read from its file again.
fn private_half(files: &KeyFiles, in_use: Option<&Arc<PrivateKey>>, ring: &KeyRing) -> Result<Arc<PrivateKey>, String> {
    let signing = ring.signing().id();
    let held = in_use.filter(|key| key.public().id() == signing).cloned();
    held.or_else(|| files.find(signing)).ok_or_else(|| {
        format!(
            "the key that signs is {signing}, and neither {} nor its .next holds it; put its file back, or, if it is lost, make a key with `peristyle keys generate --out FOLDER` and name that one",
            files.path.display()
        )
    })
}

/// What is published by a ring, and what signs here.
fn published(signing: Arc<PrivateKey>, ring: &KeyRing) -> Result<Keys, String> {
    let set = ring.published(clock::now()).map_err(|fault| format!("the key set {fault}"))?;
    let document = Tagged::new("application/json", set.to_json().to_string());
    Ok(Keys { signing, set, document })
}
