//! Notices of what the hub has just done. A redirect names one by a word in the URL; only the words listed here show anything.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) enum Notice {
    PasswordSet,
    PasswordChanged,
    SessionEnded,
    SignedOutEverywhere,
    /// Nothing was done: another account has signed in in this browser since the page was shown.
    AnotherAccount,
    Over,
}

impl Notice {
    const ALL: [Notice; 6] = [
        Notice::PasswordSet,
        Notice::PasswordChanged,
        Notice::SessionEnded,
        Notice::SignedOutEverywhere,
        Notice::AnotherAccount,
        Notice::Over,
    ];

    /// Its word in a URL, and its text.
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Notice::PasswordSet => ("password-set", "Your password is set. Sign in with it now."),
            Notice::PasswordChanged => ("password-changed", "Your password was changed. Every other session was signed out."),
            Notice::SessionEnded => ("session-ended", "That session was signed out."),
            Notice::SignedOutEverywhere => ("signed-out-everywhere", "You are signed out everywhere."),
            Notice::AnotherAccount => ("another-account", "Nothing was done: this browser is signed in as somebody else now."),
            Notice::Over => ("over", "Nothing was done: you were signed out before. Sign in and try again."),
        }
    }

    pub(in crate::hub) fn from_word(word: Option<&str>) -> Option<Self> {
        Notice::ALL.into_iter().find(|notice| Some(notice.parts().0) == word)
    }

    pub(in crate::hub) fn at(self, path: &'static str) -> String {
        format!("{path}?done={}", self.parts().0)
    }

    pub(super) fn text(self) -> &'static str {
        self.parts().1
    }
}
