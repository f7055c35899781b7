//! The identity strategy of a process, chosen at boot.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// No identity: every caller is the anonymous account.
    None,
    /// A hub that issues tokens.
    LocalProvider,
    /// A satellite that trusts a hub.
    PlatformHub,
}

impl Strategy {
    pub const ALL: [Strategy; 3] = [Strategy::None, Strategy::LocalProvider, Strategy::PlatformHub];

    /// The strategy with exactly this word; an empty one means none.
    pub fn from_word(word: &str) -> Option<Self> {
        if word.is_empty() {
            return Some(Strategy::None);
        }
        Strategy::ALL.into_iter().find(|strategy| strategy.as_str() == word)
    }

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
        assert_eq!(Strategy::from_word(""), Some(Strategy::None));
        for (word, strategy) in ["none", "local-provider", "platform-hub"].into_iter().zip(Strategy::ALL) {
            assert_eq!(Strategy::from_word(word), Some(strategy));
            assert_eq!(Strategy::from_word(&word.to_uppercase()), None);
            assert_eq!(Strategy::from_word(&format!("{word} ")), None);
        }
    }
}
