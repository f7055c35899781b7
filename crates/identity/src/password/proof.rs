//! The proof of a password, bound to the hash it was compared with: comparing is slow, and the password may change meanwhile.

use super::{Password, PasswordCheck, PasswordHash, Rehash, Workspace, verify_in};

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
