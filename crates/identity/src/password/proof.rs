//! A password that was found right, bound to what it was compared with: comparing is slow, and a password may be changed in the meantime.

use super::{Password, PasswordHash, Rehash, Verdict, Workspace, verify_in};

/// Somebody's password, found right, as long as the hash that it was compared with is still the one that is kept. Only [`prove_in`] makes
/// one, and who saves what comes of it asks in the same transaction whether that is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    compared: PasswordHash,
    renewed: Option<PasswordHash>,
}

impl Proof {
    /// What the password was compared with.
    pub fn compared(&self) -> &PasswordHash {
        &self.compared
    }

    /// The hash of the same password to keep in its place, where that one is of another time or place.
    pub fn renewed(&self) -> Option<&PasswordHash> {
        self.renewed.as_ref()
    }
}

/// Compares a password with what is kept, and hashes it anew, with this salt, where that is out of date. Without an account the same work
/// is done for nothing.
pub fn prove_in(workspace: &mut Workspace, kept: Option<PasswordHash>, password: &Password, salt: [u8; 16]) -> Option<Proof> {
    let verdict = verify_in(workspace, kept.as_ref(), password);
    let (Verdict::Matches { rehash }, Some(compared)) = (verdict, kept) else { return None };
    let renewed = match rehash {
        Rehash::Current => None,
        Rehash::Needed => PasswordHash::make_in(workspace, password, salt).ok(),
    };
    Some(Proof { compared, renewed })
}
