//! Which identity role a process plays: chosen once, at boot, for its whole life.

/// The role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// No authority: every caller is the anonymous account.
    None,
    /// A hub that issues tokens.
    LocalProvider,
    /// A satellite that trusts a hub.
    PlatformHub,
}

/// The words for them.
pub const STRATEGIES: [(&str, Strategy); 3] =
    [("none", Strategy::None), ("local-provider", Strategy::LocalProvider), ("platform-hub", Strategy::PlatformHub)];

/// A word that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of none, local-provider, platform-hub")]
pub struct UnknownStrategy(String);

impl Strategy {
    /// The role a word names, exactly as written; nothing means none.
    pub fn from_word(word: &str) -> Result<Self, UnknownStrategy> {
        if word.is_empty() {
            return Ok(Strategy::None);
        }
        STRATEGIES.iter().find(|(name, _)| *name == word).map(|(_, strategy)| *strategy).ok_or_else(|| UnknownStrategy(word.to_owned()))
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::None => "none",
            Strategy::LocalProvider => "local-provider",
            Strategy::PlatformHub => "platform-hub",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_words_are_known() {
        assert_eq!(Strategy::from_word(""), Ok(Strategy::None));
        for (word, strategy) in STRATEGIES {
            assert_eq!(Strategy::from_word(word), Ok(strategy));
            assert_eq!(strategy.as_str(), word);
            assert!(Strategy::from_word(&word.to_uppercase()).is_err());
            assert!(Strategy::from_word(&format!("{word} ")).is_err());
        }
    }
}
