//! Notices of what the hub has just done. A redirect names one by a word in the URL; only the words listed here show anything.

/// The word in a URL, and the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hub) struct Notice(&'static str, &'static str);

pub(in crate::hub) const PASSWORD_SET: Notice = Notice("password-set", "Your password is set. Sign in with it now.");
pub(in crate::hub) const PASSWORD_CHANGED: Notice =
    Notice("password-changed", "Your password was changed. Every other session was signed out.");
pub(in crate::hub) const SESSION_ENDED: Notice = Notice("session-ended", "That session was signed out.");
pub(in crate::hub) const SIGNED_OUT_EVERYWHERE: Notice = Notice("signed-out-everywhere", "You are signed out everywhere.");
/// Another account has signed in in this browser since the page was shown.
pub(in crate::hub) const ANOTHER_ACCOUNT: Notice =
    Notice("another-account", "Nothing was done: this browser is signed in as somebody else now.");
pub(in crate::hub) const OVER: Notice = Notice("over", "Nothing was done: you were signed out before. Sign in and try again.");

const ALL: [Notice; 6] = [PASSWORD_SET, PASSWORD_CHANGED, SESSION_ENDED, SIGNED_OUT_EVERYWHERE, ANOTHER_ACCOUNT, OVER];

impl Notice {
    pub(in crate::hub) fn from_word(word: Option<&str>) -> Option<Self> {
        ALL.into_iter().find(|notice| Some(notice.0) == word)
    }

    pub(in crate::hub) fn at(self, path: &'static str) -> String {
        format!("{path}?done={}", self.0)
    }

    pub(super) fn text(self) -> &'static str {
        self.1
    }
}
