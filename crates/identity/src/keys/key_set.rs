//! The key set (RFC 7517): what a hub publishes, and how a satellite reads one from a hub that might be broken or taken over.

use serde_json::{Value, json};

use crate::base64url;
use crate::json::{self, Object};
use crate::keys::public::{KeyId, PublicKey};

/// The longest key set that is read.
pub const LONGEST_KEY_SET: usize = 64 * 1024;
/// The most keys that one may hold.
pub const MOST_KEYS: usize = 16;

/// Members that only a private or symmetric key has.
const SECRET_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Why a key, or a whole key set, is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetFault {
    /// Too many bytes or keys.
    #[error("is too large")]
    TooLarge,
    /// No JSON object with an array of objects in `keys`.
    #[error("is no JSON object with an array `keys`")]
    Malformed,
    /// A private or symmetric key is published: whoever read it can sign with it.
    #[error("publishes a private or symmetric key")]
    Secret,
    /// Two keys of one name.
    #[error("names two keys alike")]
    Repeated,
    /// A key for RS256 that is too short, or has an even or trivial exponent.
    #[error("holds a key for RS256 that is malformed or too weak")]
    Weak,
    /// No key that could verify anything.
    #[error("holds no key for RS256")]
    Empty,
}

/// Keys by name, at least one, no name twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet(Vec<PublicKey>);

impl PublicKey {
    /// Reads one entry of a key set, as a hub's database keeps the public halves of its keys.
    pub fn from_jwk(bytes: &[u8]) -> Result<Self, KeySetFault> {
        let entry = json::object(bytes).ok_or(KeySetFault::Malformed)?;
        read_key(&entry)?.ok_or(KeySetFault::Empty)
    }
}

impl KeySet {
    /// A set of keys to publish.
    pub fn new(keys: Vec<PublicKey>) -> Result<Self, KeySetFault> {
        if keys.len() > MOST_KEYS {
            return Err(KeySetFault::TooLarge);
        }
        let mut names: Vec<&KeyId> = keys.iter().map(PublicKey::id).collect();
        names.sort();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(KeySetFault::Repeated);
        }
        if keys.is_empty() {
            return Err(KeySetFault::Empty);
        }
        Ok(KeySet(keys))
    }

    /// Reads a published set. Keys of another kind, use or algorithm are passed over, as RFC 7517 wants, and so is a single key that does
    /// not fit, which is told beside the set. What cannot be read at all, names two good keys alike or holds no good key is refused as a
    /// whole: a reader keeps the last good set then.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<KeySetFault>), KeySetFault> {
        if bytes.len() > LONGEST_KEY_SET {
            return Err(KeySetFault::TooLarge);
        }
        let set = json::object(bytes).ok_or(KeySetFault::Malformed)?;
        let Some(Value::Array(entries)) = set.get("keys") else { return Err(KeySetFault::Malformed) };
        if entries.len() > MOST_KEYS {
            return Err(KeySetFault::TooLarge);
        }
        let (mut keys, mut unfit, mut published) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let read = match entry {
                Value::Object(entry) => read_key(entry).inspect_err(|fault| {
                    // The same key may stand in the set once more, without its private half.
                    if *fault == KeySetFault::Secret {
                        published.extend(["kid", "n"].into_iter().filter_map(|member| json::text(entry, member)).map(str::to_owned));
                    }
                }),
                _ => Err(KeySetFault::Malformed),
            };
            match read {
                Ok(key) => keys.extend(key),
                Err(fault) => unfit.push(fault),
            }
        }
        keys.retain(|key: &PublicKey| !published.iter().any(|text| text == key.id().as_str() || text == key.modulus()));
        match (KeySet::new(keys), unfit.first()) {
            (Err(KeySetFault::Empty), Some(fault)) => Err(*fault),
            (set, _) => Ok((set?, unfit)),
        }
    }

    /// The key of this name.
    pub fn find(&self, id: &KeyId) -> Option<&PublicKey> {
        self.0.iter().find(|key| key.id() == id)
    }

    /// All keys.
    pub fn keys(&self) -> &[PublicKey] {
        &self.0
    }

    /// The document to publish.
    pub fn to_json(&self) -> Value {
        json!({"keys": self.0.iter().map(PublicKey::to_jwk).collect::<Vec<_>>()})
    }
}

fn read_key(entry: &Object) -> Result<Option<PublicKey>, KeySetFault> {
    let kind = json::text(entry, "kty").ok_or(KeySetFault::Malformed)?;
    if kind == "oct" || SECRET_MEMBERS.iter().any(|member| entry.contains_key(*member)) {
        return Err(KeySetFault::Secret);
    }
    let signs = entry.get("use").is_none_or(|value| value == "sig") && entry.get("alg").is_none_or(|value| value == "RS256");
    let Some(id) = json::text(entry, "kid").and_then(KeyId::parse) else { return Ok(None) };
    if kind != "RSA" || !signs {
        return Ok(None);
    }
    let component = |name: &str| json::text(entry, name).and_then(base64url::decode).ok_or(KeySetFault::Weak);
    let key = PublicKey::from_components(&component("n")?, &component("e")?).ok_or(KeySetFault::Weak)?;
    Ok(Some(key.named(id)))
}
