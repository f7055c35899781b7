//! What a page says has just been done. It arrives as a word in the address after a redirect, and only words of ours say anything.

/// Something that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A password was set by a link.
    PasswordSet,
    /// A password was changed by its owner.
    PasswordChanged,
    /// One session was ended.
    SessionEnded,
    /// All sessions were.
    SignedOutEverywhere,
    /// Nothing: somebody else has signed in in this browser since the page was shown.
    AnotherAccount,
    /// Nothing: nobody was signed in any more.
    Over,
}

const ALL: [(&str, Notice, &str); 6] = [
    ("password-set", Notice::PasswordSet, "Your password is set. Sign in with it now."),
    ("password-changed", Notice::PasswordChanged, "Your password was changed. Every other session was signed out."),
    ("session-ended", Notice::SessionEnded, "That session was signed out."),
    ("signed-out-everywhere", Notice::SignedOutEverywhere, "You are signed out everywhere."),
    ("another-account", Notice::AnotherAccount, "Nothing was done: this browser is signed in as somebody else now."),
    ("over", Notice::Over, "Nothing was done: you were signed out before. Sign in and try again."),
];

impl Notice {
    /// The notice that a word stands for.
    pub(crate) fn from_word(word: Option<&str>) -> Option<Self> {
        ALL.iter().find(|(known, ..)| Some(*known) == word).map(|(_, notice, _)| *notice)
    }

    /// A page of ours that will show it.
    pub(crate) fn at(self, path: &'static str) -> String {
        let word = ALL.iter().find(|(_, notice, _)| *notice == self).map_or("", |(word, ..)| *word);
        format!("{path}?done={word}")
    }

    /// It in a sentence that is announced.
    pub(super) fn told(self) -> String {
        let text = ALL.iter().find(|(_, notice, _)| *notice == self).map_or("", |(.., text)| *text);
        format!("<p class=\"done\" role=\"status\">{text}</p>")
    }
}
