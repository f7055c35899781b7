//! The key set (RFC 7517): how a hub publishes it, and how a satellite reads one that may be malformed or hostile.

use serde_json::{Value, json};

use crate::base64url;
use crate::json::{self, Object};
use crate::keys::public::{KeyId, PublicKey};

pub const MAX_KEY_SET_BYTES: usize = 64 * 1024;
pub const MAX_KEYS: usize = 16;

/// Members that only a private or symmetric key has.
const SECRET_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetFault {
    #[error("is too large")]
    TooLarge,
    /// No JSON object with an array of objects in `keys`.
    #[error("must be a JSON object with an array `keys`")]
    Malformed,
    /// A private or symmetric key is published: every reader can sign with it.
    #[error("publishes a private or symmetric key")]
    Secret,
    #[error("has two keys with the same kid")]
    Repeated,
    /// A key for RS256 that is too short, or has an even or trivial exponent.
    #[error("holds a key for RS256 that is malformed or too weak")]
    Weak,
    #[error("holds no key for RS256")]
    Empty,
}

/// Keys, at least one, each with its own `kid`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet(Vec<PublicKey>);

impl PublicKey {
    /// Reads one entry of a key set, as the hub's database stores its public keys.
    pub fn from_jwk(bytes: &[u8]) -> Result<Self, KeySetFault> {
        let entry = json::object(bytes).ok_or(KeySetFault::Malformed)?;
        read_key(&entry)?.ok_or(KeySetFault::Empty)
    }
}

impl KeySet {
    pub fn new(keys: Vec<PublicKey>) -> Result<Self, KeySetFault> {
        if keys.len() > MAX_KEYS {
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

    /// Reads a published set. It ignores keys of another kind, use or algorithm, as RFC 7517 says, and invalid keys, and
    /// returns the faults of the invalid ones. It refuses a set that is malformed, repeats a `kid` or has no valid key; the caller then keeps its last set.
    pub fn read(bytes: &[u8]) -> Result<(Self, Vec<KeySetFault>), KeySetFault> {
        if bytes.len() > MAX_KEY_SET_BYTES {
            return Err(KeySetFault::TooLarge);
        }
        let set = json::object(bytes).ok_or(KeySetFault::Malformed)?;
        let Some(Value::Array(entries)) = set.get("keys") else { return Err(KeySetFault::Malformed) };
        if entries.len() > MAX_KEYS {
            return Err(KeySetFault::TooLarge);
        }
        let (mut keys, mut invalid, mut published) = (Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            let read = match entry {
                Value::Object(entry) => read_key(entry).inspect_err(|fault| {
                    // The same key may be in the set a second time, without its private part.
                    if *fault == KeySetFault::Secret {
                        published.extend(["kid", "n"].into_iter().filter_map(|member| json::text(entry, member)).map(str::to_owned));
                    }
                }),
                _ => Err(KeySetFault::Malformed),
            };
            match read {
                Ok(key) => keys.extend(key),
                Err(fault) => invalid.push(fault),
            }
        }
        keys.retain(|key: &PublicKey| !published.iter().any(|text| text == key.id().as_str() || *text == key.modulus));
        match (KeySet::new(keys), invalid.first()) {
            (Err(KeySetFault::Empty), Some(fault)) => Err(*fault),
            (set, _) => Ok((set?, invalid)),
        }
    }

    pub fn find(&self, id: &KeyId) -> Option<&PublicKey> {
        self.0.iter().find(|key| key.id() == id)
    }

    pub fn keys(&self) -> &[PublicKey] {
        &self.0
    }

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
