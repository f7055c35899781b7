//! Passwords, stored as Argon2id or imported. Hashing is slow: callers run it off their asynchronous threads and limit how many run.

pub mod foreign;
pub mod phc;

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use zeroize::Zeroizing;

use crate::secret_token::equal;

use foreign::Foreign;

/// Memory in KiB, passes and lanes: OWASP's first choice for Argon2id.
pub const MEMORY_KIB: u32 = 19_456;
pub const PASSES: u32 = 2;
pub const LANES: u32 = 1;
/// The longest password; longer ones are refused before any work.
pub const MAX_PASSWORD_BYTES: usize = 1_024;
pub const MAX_HASH_BYTES: usize = 2_000;
pub const MIN_PASSWORD_CHARACTERS: usize = 8;
const HASH_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordFault {
    #[error("the password is longer than 1024 bytes")]
    Long,
    #[error("the password has fewer than 8 characters")]
    Short,
    #[error("the password could not be hashed")]
    Unhashable,
}

/// A password in plain text. It has no `Display`, its `Debug` is redacted, and its memory is wiped.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

redacted!(Password);

impl Password {
    /// A password that is typed to sign in.
    pub fn presented(text: &str) -> Result<Self, PasswordFault> {
        if text.len() > MAX_PASSWORD_BYTES {
            return Err(PasswordFault::Long);
        }
        Ok(Password(Zeroizing::new(text.to_owned())))
    }

    /// A new password: length is the only rule, as in NIST SP 800-63B.
    pub fn chosen(text: &str) -> Result<Self, PasswordFault> {
        if text.chars().count() < MIN_PASSWORD_CHARACTERS {
            return Err(PasswordFault::Short);
        }
        Password::presented(text)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A stored hash: ours, or an imported one until the next sign-in. `Debug` shows only the kind.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    text: String,
    kind: Kind,
}

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    // Argon2id with our parameters.
    Ours { salt: Vec<u8>, output: Vec<u8> },
    Foreign(Foreign),
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self.kind {
            Kind::Ours { .. } => "PasswordHash(argon2id, …)",
            Kind::Foreign(_) => "PasswordHash(foreign, …)",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the password hash is in no accepted format, or its cost is out of bounds; accepted are Argon2 ($argon2id$…, $argon2i$…, $argon2d$…), \
     bcrypt ($2a$…, $2b$…, $2y$…, Django's bcrypt_sha256$$2b$…), scrypt ($scrypt$…, Django's scrypt$…) and PBKDF2 with SHA-1, SHA-256 or SHA-512 \
     ($pbkdf2-sha256$…, Django's pbkdf2_sha256$…)"
)]
pub struct UnknownFormat;

impl PasswordHash {
    /// Hashes a password with 16 random bytes of salt.
    pub fn make(password: &Password, salt: [u8; 16]) -> Result<Self, PasswordFault> {
        PasswordHash::make_in(&mut Workspace::default(), password, salt)
    }

    pub fn make_in(workspace: &mut Workspace, password: &Password, salt: [u8; 16]) -> Result<Self, PasswordFault> {
        let output = argon2id(workspace, password, &salt)?.to_vec();
        let parameters = format!("$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}");
        let text = format!("{parameters}${}${}", STANDARD_NO_PAD.encode(salt), STANDARD_NO_PAD.encode(&output));
        Ok(PasswordHash { text, kind: Kind::Ours { salt: salt.to_vec(), output } })
    }

    /// Reads a hash, stored or imported. It refuses unknown formats and costs out of bounds here, not at the next sign-in.
    pub fn parse(text: &str) -> Result<Self, UnknownFormat> {
        let foreign = Foreign::parse(text).ok_or(UnknownFormat)?;
        let kind = match foreign {
            Foreign::Argon2 { algorithm: Algorithm::Argon2id, version: Version::V0x13, ref cost, ref salt, ref output }
                if *cost == [MEMORY_KIB, PASSES, LANES] && output.len() == HASH_BYTES =>
            {
                Kind::Ours { salt: salt.clone(), output: output.clone() }
            }
            other => Kind::Foreign(other),
        };
        Ok(PasswordHash { text: text.to_owned(), kind })
    }

    /// Whether a comparison takes more memory than a [`Workspace`]: an imported hash may take 256 MiB.
    pub fn is_large(&self) -> bool {
        match &self.kind {
            Kind::Ours { .. } => false,
            Kind::Foreign(foreign) => foreign.memory_kib() > u64::from(MEMORY_KIB),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordCheck {
    Matches { rehash: Rehash },
    // Also if there is no hash.
    Differs,
}

/// Whether a hash is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rehash {
    Current,
    /// It was imported or is old.
    Needed,
}

/// Compares a password with the stored hash. Without a hash it does the same work, so that the time reveals nothing.
pub fn verify(kept: Option<&PasswordHash>, password: &Password) -> PasswordCheck {
    verify_in(&mut Workspace::default(), kept, password)
}

pub fn verify_in(workspace: &mut Workspace, kept: Option<&PasswordHash>, password: &Password) -> PasswordCheck {
    match kept.map(|hash| &hash.kind) {
        None => {
            let compared = argon2id(workspace, password, &[0; 16]).map(|output| equal(&output, &[0; HASH_BYTES]));
            // Keeps the compiler from removing the comparison.
            std::hint::black_box(compared.is_ok());
            PasswordCheck::Differs
        }
        Some(Kind::Ours { salt, output }) => match argon2id(workspace, password, salt) {
            Ok(found) if equal(&found, output) => PasswordCheck::Matches { rehash: Rehash::Current },
            _ => PasswordCheck::Differs,
        },
        Some(Kind::Foreign(foreign)) => {
            if foreign.memory_kib() > 0 {
                // The comparison allocates its own memory, so ours is freed first.
                *workspace = Workspace::default();
            }
            if foreign.admits(password) { PasswordCheck::Matches { rehash: Rehash::Needed } } else { PasswordCheck::Differs }
        }
    }
}

/// The memory of Argon2id, 19 MiB after its first use. Reuse it: allocating takes about a tenth of the time of hashing.
#[derive(Default)]
pub struct Workspace(Vec<argon2::Block>);

impl std::fmt::Debug for Workspace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Workspace")
    }
}

fn argon2id(workspace: &mut Workspace, password: &Password, salt: &[u8]) -> Result<[u8; HASH_BYTES], PasswordFault> {
    let mut output = [0; HASH_BYTES];
    let parameters = Params::new(MEMORY_KIB, PASSES, LANES, Some(HASH_BYTES)).map_err(|_| PasswordFault::Unhashable)?;
    workspace.0.resize(parameters.block_count(), argon2::Block::default());
    let hasher = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let done = hasher.hash_password_into_with_memory(password.bytes(), salt, &mut output, &mut workspace.0);
    done.map_err(|_| PasswordFault::Unhashable)?;
    Ok(output)
}

/// A right password, as long as the compared hash is still the stored one: each transaction checks that. Only [`prove_in`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    compared: PasswordHash,
    renewed: Option<PasswordHash>,
}

impl Proof {
    pub fn compared(&self) -> &PasswordHash {
        &self.compared
    }

    /// The new hash of the same password, if the compared one is out of date.
    pub fn renewed(&self) -> Option<&PasswordHash> {
        self.renewed.as_ref()
    }
}

/// Compares a password with the stored hash (without one it does the same work), and hashes it again with this salt if that is out of date.
pub fn prove_in(workspace: &mut Workspace, kept: Option<PasswordHash>, password: &Password, salt: [u8; 16]) -> Option<Proof> {
    let verdict = verify_in(workspace, kept.as_ref(), password);
    let (PasswordCheck::Matches { rehash }, Some(compared)) = (verdict, kept) else { return None };
    let renewed = match rehash {
        Rehash::Current => None,
        Rehash::Needed => PasswordHash::make_in(workspace, password, salt).ok(),
    };
    Some(Proof { compared, renewed })
}
