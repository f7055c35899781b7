//! The faults of an input with their stable codes, and the errors of administration as problems.

use query::error::{Code, MAX_FAULTS};

use crate::administration::AdminError;
use crate::problem::oauth;
use crate::problem::{InputFault, Problem};

use super::PAYLOAD;

macro_rules! codes {
    ($($name:ident = $text:literal,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum InputCode { $($name,)+ }

        impl InputCode {
            pub(crate) const ALL: &'static [InputCode] = &[$(InputCode::$name),+];

            pub(crate) fn as_str(self) -> &'static str {
                match self { $(InputCode::$name => $text,)+ }
            }
        }
    };
}

codes! {
    NotJson = "IN100",
    DuplicateKey = "IN101",
    UnknownKey = "IN102",
    WrongType = "IN103",
    Missing = "IN104",
    Value = "IN105",
    Limit = "IN106",
    NoRecord = "IN107",
    Identifier = "IN108",
}

#[derive(Debug, Default)]
pub(super) struct InputFaults(Vec<InputFault>);

impl InputFaults {
    pub(super) fn add(&mut self, code: InputCode, path: String, message: impl Into<String>) {
        if !self.is_full() {
            self.0.push(InputFault { code: code.as_str(), path, message: message.into() });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    /// Whether there is a fault at this pointer or below it.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.0.iter().any(|fault| fault.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    pub(super) fn finish(self) -> Result<(), Problem> {
        if self.is_empty() { Ok(()) } else { Err(Problem::Input(self.0)) }
    }
}

pub(super) fn one(code: InputCode, path: String, message: impl Into<String>) -> Problem {
    Problem::Input(vec![InputFault { code: code.as_str(), path, message: message.into() }])
}

pub(super) fn invalid_json(error: query::error::Error) -> Problem {
    let convert = |fault: query::error::Fault| {
        let code = match fault.code {
            Code::DuplicateKey => InputCode::DuplicateKey,
            Code::JsonDepth => InputCode::Limit,
            _ => InputCode::NotJson,
        };
        InputFault { code: code.as_str(), path: fault.path, message: fault.message }
    };
    Problem::Input(error.faults.into_iter().map(convert).collect())
}

impl From<AdminError> for Problem {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Forbidden(permission) => Problem::MissingPermission(permission.into()),
            AdminError::Rights(fault) => Problem::Rights(fault),
            AdminError::Invalid(message) => one(InputCode::Value, String::new(), message),
            AdminError::UnknownReference { path, message } => one(InputCode::NoRecord, path, message),
            AdminError::NotFound(_) => Problem::NotFound("there is no such record"),
            AdminError::Exists { message, fields } => {
                let fault = |name: &str| InputFault { code: "EXISTS", path: format!("/{name}"), message: message.clone() };
                let faults = fields.into_iter().map(fault).collect();
                Problem::Exists(message, faults)
            }
            AdminError::Randomness(_) => Problem::Internal("the system gives no random bytes"),
            AdminError::Store(error) => Problem::of_records(error),
        }
    }
}

/// Prefixes the pointers of faults with the pointer of the payload. A conflict is at the fields that the input has.
pub(super) fn below_payload(problem: Problem, is_sent: impl Fn(&str) -> bool) -> Problem {
    let below = |fault: InputFault| InputFault { path: format!("/{PAYLOAD}{}", fault.path), ..fault };
    match problem {
        Problem::Input(faults) => Problem::Input(faults.into_iter().map(below).collect()),
        Problem::Exists(message, faults) => {
            let sent = |fault: &InputFault| is_sent(fault.path.trim_start_matches('/'));
            let mut faults: Vec<InputFault> = faults.into_iter().filter(sent).map(below).collect();
            if faults.is_empty() {
                faults.push(InputFault { code: "EXISTS", path: format!("/{PAYLOAD}"), message: message.clone() });
            }
            Problem::Exists(message, faults)
        }
        other => other,
    }
}

pub(super) fn not_hashed(fault: &oauth::OauthError) -> Problem {
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
