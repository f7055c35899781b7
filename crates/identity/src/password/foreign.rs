//! Imported password hashes. Their costs are limited when they are read, so that no imported row can slow a hub down at a sign-in.

use std::num::NonZeroU32;

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::pbkdf2;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::password::phc::Phc;
use crate::password::{MAX_HASH_BYTES, Password};
use crate::secret_token::{equal, sha256};

const MAX_MEMORY_KIB: u64 = 256 * 1024;
/// scrypt counts in 128 bytes.
const BLOCKS_IN_A_KIB: u64 = 8;
const MAX_PASSES: u32 = 64;
const MAX_LANES: u32 = 16;
const MAX_BCRYPT_COST: u32 = 16;
const MAX_ITERATIONS: u32 = 10_000_000;
const OUTPUT_BYTES: std::ops::RangeInclusive<usize> = 16..=128;

/// A hash that can be compared but is never made.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Foreign {
    Argon2 { algorithm: Algorithm, version: Version, cost: [u32; 3], salt: Vec<u8>, output: Vec<u8> },
    Bcrypt(Before, String),
    Scrypt { logarithm: u8, block: u32, lanes: u32, salt: Vec<u8>, output: Vec<u8> },
    Pbkdf2 { hash: Hash, iterations: NonZeroU32, salt: Vec<u8>, output: Vec<u8> },
}

/// What happens to a password before bcrypt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// Its SHA-256 in hexadecimal, so that bcrypt, which reads 72 bytes, sees all of it: Django's `bcrypt_sha256`.
    Sha256,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
    Sha512,
}

impl Foreign {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_HASH_BYTES {
            return None;
        }
        // Django writes its name for the algorithm before the PHC string.
        let text = text.strip_prefix("argon2").filter(|rest| rest.starts_with("$argon2")).unwrap_or(text);
        let (before, text) = match ["bcrypt$", "bcrypt_sha256$"].map(|name| text.strip_prefix(name).filter(|rest| rest.starts_with("$2"))) {
            [Some(rest), _] => (Before::Nothing, rest),
            [_, Some(rest)] => (Before::Sha256, rest),
            [None, None] => (Before::Nothing, text),
        };
        let found = match text.split('$').nth(usize::from(text.starts_with('$')))? {
            "2a" | "2b" | "2y" => bcrypt(before, text),
            "scrypt" | "pbkdf2" | "pbkdf2-sha1" | "pbkdf2-sha256" | "pbkdf2-sha512" | "argon2id" | "argon2i" | "argon2d"
                if text.starts_with('$') =>
            {
                phc(&Phc::parse(text)?)
            }
            _ => django(text),
        }?;
        found.is_within_bounds().then_some(found)
    }

    /// Whether the password matches, compared in constant time.
    pub(crate) fn admits(&self, password: &Password) -> bool {
        match self {
            Foreign::Argon2 { algorithm, version, cost: [memory, passes, lanes], salt, output } => {
                let mut found = vec![0; output.len()];
                let Ok(parameters) = Params::new(*memory, *passes, *lanes, Some(output.len())) else { return false };
                let hasher = Argon2::new(*algorithm, *version, parameters);
                hasher.hash_password_into(password.bytes(), salt, &mut found).is_ok() && equal(&found, output)
            }
            Foreign::Bcrypt(Before::Nothing, text) => ::bcrypt::verify(password.bytes(), text).unwrap_or(false),
            Foreign::Bcrypt(Before::Sha256, text) => {
                ::bcrypt::verify(hexadecimal(&sha256(password.bytes())).as_bytes(), text).unwrap_or(false)
            }
            Foreign::Scrypt { logarithm, block, lanes, salt, output } => {
                let mut found = vec![0; output.len()];
                let Ok(parameters) = ::scrypt::Params::new(*logarithm, *block, *lanes) else { return false };
                ::scrypt::scrypt(password.bytes(), salt, &parameters, &mut found).is_ok() && equal(&found, output)
            }
            Foreign::Pbkdf2 { hash, iterations, salt, output } => {
                let algorithm = match hash {
                    Hash::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
                    Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
                    Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
                };
                pbkdf2::verify(algorithm, *iterations, salt, password.bytes(), output).is_ok()
            }
        }
    }

    /// The memory of a comparison; 0 for formats that take a few KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        match self {
            Foreign::Argon2 { cost: [memory, ..], .. } => u64::from(*memory),
            Foreign::Scrypt { logarithm, block, .. } => scrypt_blocks(*logarithm, *block).unwrap_or(u64::MAX) / BLOCKS_IN_A_KIB,
            Foreign::Bcrypt(..) | Foreign::Pbkdf2 { .. } => 0,
        }
    }

    fn is_within_bounds(&self) -> bool {
        match self {
            Foreign::Argon2 { cost: [memory, passes, lanes], output, salt, .. } => {
                u64::from(*memory) <= MAX_MEMORY_KIB
                    && (1..=MAX_PASSES).contains(passes)
                    && (1..=MAX_LANES).contains(lanes)
                    && OUTPUT_BYTES.contains(&output.len())
                    && salt.len() >= argon2::MIN_SALT_LEN
                    && Params::new(*memory, *passes, *lanes, Some(output.len())).is_ok()
            }
            Foreign::Bcrypt(..) => true,
            Foreign::Scrypt { logarithm, block, lanes, output, .. } => {
                scrypt_blocks(*logarithm, *block).is_some_and(|blocks| (1..=MAX_MEMORY_KIB * BLOCKS_IN_A_KIB).contains(&blocks))
                    && (1..=MAX_LANES).contains(lanes)
                    && OUTPUT_BYTES.contains(&output.len())
                    && ::scrypt::Params::new(*logarithm, *block, *lanes).is_ok()
            }
            Foreign::Pbkdf2 { iterations, output, .. } => iterations.get() <= MAX_ITERATIONS && OUTPUT_BYTES.contains(&output.len()),
        }
    }
}

/// The number of scrypt's blocks of 128 bytes.
fn scrypt_blocks(logarithm: u8, block: u32) -> Option<u64> {
    1_u64.checked_shl(u32::from(logarithm)).and_then(|count| count.checked_mul(u64::from(block)))
}

/// `$2b$12$` and 53 characters.
fn bcrypt(before: Before, text: &str) -> Option<Foreign> {
    let (cost, rest) = text.get(4..)?.split_once('$')?;
    let cost_fits = cost.len() == 2 && (4..=MAX_BCRYPT_COST).contains(&cost.parse().ok()?);
    let whole = rest.len() == 53 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/');
    (cost_fits && whole && text.parse::<::bcrypt::HashParts>().is_ok()).then(|| Foreign::Bcrypt(before, text.to_owned()))
}

fn hexadecimal(bytes: &[u8]) -> Zeroizing<String> {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Zeroizing::new(nibbles.map(|nibble| DIGITS[usize::from(nibble)]).collect())
}

fn phc(text: &Phc<'_>) -> Option<Foreign> {
    let (salt, output) = (text.salt.clone(), text.output.clone());
    match text.name {
        "scrypt" => Some(Foreign::Scrypt {
            logarithm: text.parameter("ln")?.try_into().ok()?,
            block: text.parameter("r")?,
            lanes: text.parameter("p")?,
            salt,
            output,
        }),
        "argon2id" | "argon2i" | "argon2d" => Some(Foreign::Argon2 {
            algorithm: Algorithm::new(text.name).ok()?,
            version: match text.version {
                None | Some(16) => Version::V0x10,
                Some(19) => Version::V0x13,
                Some(_) => return None,
            },
            cost: [text.parameter("m")?, text.parameter("t")?, text.parameter("p")?],
            salt,
            output,
        }),
        name => Some(Foreign::Pbkdf2 {
            hash: match name {
                // passlib's short name for SHA-1.
                "pbkdf2" | "pbkdf2-sha1" => Hash::Sha1,
                "pbkdf2-sha256" => Hash::Sha256,
                "pbkdf2-sha512" => Hash::Sha512,
                _ => return None,
            },
            // `i=…` by the PHC, a bare number by passlib.
            iterations: NonZeroU32::new(text.parameter("i").or_else(|| text.parameter(""))?)?,
            salt,
            output,
        }),
    }
}

/// `pbkdf2_sha256$iterations$salt$hash` and `scrypt$n$salt$r$p$hash`, where the salt is the text itself.
fn django(text: &str) -> Option<Foreign> {
    let parts: Vec<&str> = text.split('$').collect();
    match parts.as_slice() {
        [name @ ("pbkdf2_sha256" | "pbkdf2_sha1" | "pbkdf2_sha512"), iterations, salt, output] => Some(Foreign::Pbkdf2 {
            hash: match *name {
                "pbkdf2_sha1" => Hash::Sha1,
                "pbkdf2_sha512" => Hash::Sha512,
                _ => Hash::Sha256,
            },
            iterations: iterations.parse().ok()?,
            salt: salt.as_bytes().to_vec(),
            output: STANDARD.decode(output).ok()?,
        }),
        ["scrypt", cost, salt, block, lanes, output] => {
            let cost: u32 = cost.parse().ok()?;
            Some(Foreign::Scrypt {
                logarithm: u8::try_from(cost.checked_ilog2().filter(|_| cost.is_power_of_two())?).ok()?,
                block: block.parse().ok()?,
                lanes: lanes.parse().ok()?,
                salt: salt.as_bytes().to_vec(),
                output: STANDARD.decode(output).ok()?,
            })
        }
        _ => None,
    }
}
