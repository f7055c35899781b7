//! What is typed: how values are read, and what is said of a fault, in one line.

use std::ffi::OsString;

use clap::Command;
use clap::error::ErrorKind;
use uuid::Uuid;

use super::Failure;

/// Where clap's own words on how to go on begin; ours are shorter.
const REST: [&str; 2] = ["Usage:", "For more information"];

/// What is wrong, and where to look it up. `command` is the whole program, `typed` what came after its name.
pub(super) fn fault(error: &clap::Error, command: &Command, typed: impl IntoIterator<Item = OsString>) -> Failure {
    let (mut here, mut path) = (command, command.get_name().to_owned());
    for word in typed {
        if let Some(inner) = word.to_str().and_then(|word| here.find_subcommand(word)) {
            path = format!("{path} {}", inner.get_name());
            here = inner;
        }
    }
    let wrong = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => missing(here),
        _ => sentence(&error.render().to_string()),
    };
    Failure(format!("{wrong}; see `{path} --help`"))
}

fn missing(here: &Command) -> String {
    let names: Vec<&str> = here.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name).collect();
    format!("a command is missing, one of {}", names.join(", "))
}

/// The fault itself, without what follows it, as one line.
fn sentence(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !REST.iter().any(|rest| line.starts_with(rest)));
    let words = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").replace(" tip: ", "; ");
    let words = words.strip_prefix("error: ").unwrap_or(&words);
    // What was typed is repeated in it.
    words.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

/// An id.
pub(super) fn id(text: &str) -> Result<Uuid, String> {
    Uuid::try_parse(text).map_err(|_| "an id is expected, such as 0b8f1c1e-6a1f-4a39-9d0c-2f5a3b7c9d10".to_owned())
}

/// How many.
pub(super) fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {} is expected", u32::MAX))
}

/// For how long.
pub(super) fn seconds(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("a whole number of seconds is expected, such as {}", 15 * 60))
}

/// A port, 0 for any that is free.
pub(super) fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("a port from 0 to {} is expected", u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_one_sentence_without_the_usage() {
        // contract B3.1
        let told = "error: invalid value 'a\u{1b}\nb' for '--active <ACTIVE>'\n  [possible values: true, false]\n\nUsage: peristyle x\n";
        assert_eq!(sentence(told), "invalid value 'a\u{fffd} b' for '--active <ACTIVE>' [possible values: true, false]");
        assert_eq!(sentence("error: no such thing\n\n  tip: another exists\n\nUsage: x"), "no such thing; another exists");
    }
}
