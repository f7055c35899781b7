//! What is wrong with an input, in codes that stay, and the refusals of administration as problems.

use query::error::{Code, MOST_FAULTS};

use crate::administration::Fault;
use crate::problem::oauth;
use crate::problem::{InputFault, Problem};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The stable code of a fault of an input.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum InputCode { $($(#[doc = $doc])+ $name,)+ }

        impl InputCode {
            /// Every code there is, in order.
            pub(crate) const ALL: &'static [InputCode] = &[$(InputCode::$name),+];

            /// The code as it stands in an answer.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(InputCode::$name => $text,)+ }
            }
        }
    };
}

codes! {
    /// The text is not JSON.
    NotJson = "IN100",
    /// A key stands twice in one object.
    DuplicateKey = "IN101",
    /// A key that the operation does not take.
    UnknownKey = "IN102",
    /// A value of another type was expected.
    WrongType = "IN103",
    /// Something that is needed is missing.
    Missing = "IN104",
    /// The value is not accepted.
    Value = "IN105",
    /// Too much, or nested too deeply.
    Limit = "IN106",
    /// It names a record that does not exist.
    NoRecord = "IN107",
    /// The id does not fit what it is the id of.
    Identifier = "IN108",
}

/// Faults as they are found, up to as many as one answer holds.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<InputFault>);

impl Faults {
    pub(super) fn add(&mut self, code: InputCode, path: String, message: impl Into<String>) {
        if !self.is_full() {
            self.0.push(InputFault { code: code.as_str(), path, message: message.into() });
        }
    }

    /// Whether no more are told.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST_FAULTS
    }

    /// Whether something at this place is wrong.
    pub(super) fn mention(&self, path: &str) -> bool {
        self.0.iter().any(|fault| fault.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    pub(super) fn finish(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::Input(self.0)) }
    }
}

/// An input with one fault.
pub(super) fn one(code: InputCode, path: String, message: impl Into<String>) -> Problem {
    Problem::Input(vec![InputFault { code: code.as_str(), path, message: message.into() }])
}

/// What the reader of JSON found, as faults of an input.
pub(super) fn unreadable(error: query::error::Error) -> Problem {
    let told = |fault: query::error::Fault| {
        let code = match fault.code {
            Code::DuplicateKey => InputCode::DuplicateKey,
            Code::JsonDepth => InputCode::Limit,
            _ => InputCode::NotJson,
        };
        InputFault { code: code.as_str(), path: fault.path, message: fault.message }
    };
    Problem::Input(error.faults.into_iter().map(told).collect())
}

/// A refusal of administration, for an input that stands at this place.
pub(super) fn refused(fault: Fault, base: &str) -> Problem {
    match fault {
        Fault::Forbidden(permission) => Problem::Lacking(permission),
        Fault::Rights(fault) => Problem::Rights(fault),
        Fault::Invalid(message) => one(InputCode::Value, base.to_owned(), message),
        Fault::Absent { path, message } => one(InputCode::NoRecord, format!("{base}{path}"), message),
        Fault::Unknown(_) => Problem::NotFound("there is no such record"),
        Fault::Exists(message) => Problem::Exists(message),
        Fault::Chance(_) => Problem::Internal("the system gives no random bytes"),
        Fault::Store(error) => Problem::of_records(error),
    }
}

/// What keeps a password from being hashed.
pub(super) fn unhashed(fault: &oauth::OauthError) -> Problem {
    match fault {
        oauth::OauthError::Busy => Problem::Busy,
        _ => Problem::Internal("a password cannot be hashed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_explained() {
        // contract I26.1
        let guide = include_str!("../../../../docs/guide/errors.md");
        for code in InputCode::ALL {
            assert!(guide.contains(&format!("| `{}` |", code.as_str())), "{}", code.as_str());
        }
    }
}
