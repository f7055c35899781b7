//! Secret tokens: 256 random bits, shown once, stored as SHA-256. The purpose is part of the type: a refresh token cannot pass as a code.

use std::fmt;
use std::marker::PhantomData;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use zeroize::Zeroizing;

use crate::base64url;

pub mod purpose {
    macro_rules! purposes {
        ($($name:ident),*) => {$(
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum $name {}
        )*};
    }
    purposes!(Code, Refresh, Link, Client, State, Binding);
}

pub type Code = SecretToken<purpose::Code>;
pub type RefreshToken = SecretToken<purpose::Refresh>;
/// The secret part of an invitation or a password reset.
pub type LinkToken = SecretToken<purpose::Link>;
pub type ClientSecret = SecretToken<purpose::Client>;
/// The `state` of a satellite's login.
pub type LoginState = SecretToken<purpose::State>;
/// The value of a satellite's login cookie.
pub type LoginBinding = SecretToken<purpose::Binding>;

/// A token in plain text. It has no `Display`, its `Debug` is redacted, and its memory is wiped.
#[derive(Clone)]
pub struct SecretToken<Purpose> {
    bytes: Zeroizing<[u8; 32]>,
    purpose: PhantomData<Purpose>,
}

impl<Purpose> fmt::Debug for SecretToken<Purpose> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SecretToken(…)")
    }
}

impl<Purpose> SecretToken<Purpose> {
    /// A new token from 32 bytes of a cryptographic generator.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        SecretToken { bytes: Zeroizing::new(bytes), purpose: PhantomData }
    }

    /// Parses a presented token: 43 characters of canonical base64url.
    pub fn parse(text: &str) -> Option<Self> {
        base64url::decode_32(text).map(Self::from_random)
    }

    /// The text to show, once.
    pub fn expose(&self) -> Zeroizing<String> {
        Zeroizing::new(base64url::encode(*self.bytes))
    }

    pub fn digest(&self) -> Digest<Purpose> {
        Digest::of_text(&self.expose())
    }

    /// The random bytes, to derive a key from.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

/// The SHA-256 of a token's text, as the database stores it. 256 random bits need no slow hash. Equality takes constant time.
#[derive(Clone, Copy)]
pub struct Digest<Purpose> {
    bytes: [u8; 32],
    purpose: PhantomData<Purpose>,
}

impl<Purpose> Digest<Purpose> {
    /// The digest of any presented string.
    pub(crate) fn of_text(text: &str) -> Self {
        Digest::from_bytes(sha256(text.as_bytes()))
    }

    /// From the bytes in the database.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Digest { bytes, purpose: PhantomData }
    }

    /// The bytes to store and to look a row up by.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

impl<Purpose> PartialEq for Digest<Purpose> {
    fn eq(&self, other: &Self) -> bool {
        equal(&self.bytes, &other.bytes)
    }
}

impl<Purpose> Eq for Digest<Purpose> {}

impl<Purpose> fmt::Debug for Digest<Purpose> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Digest(…)")
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(digest(&SHA256, bytes).as_ref());
    out
}

/// Equality in constant time.
pub(crate) fn equal(left: &[u8], right: &[u8]) -> bool {
    verify_slices_are_equal(left, right).is_ok()
}
