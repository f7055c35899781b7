//! Parses the values of flags, and turns an error of the argument parser into one line.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use uuid::Uuid;

use super::CommandError;

/// Where clap's usage hints begin; ours are shorter.
const HINTS: [&str; 2] = ["Usage:", "For more information"];

/// The error, and the help to read. `command` is the whole program, `typed` the words after its name.
pub(super) fn error(error: &clap::Error, command: &Command, typed: impl IntoIterator<Item = OsString>) -> CommandError {
    let (mut here, mut path) = (command, command.get_name().to_owned());
    for word in typed {
        if let Some(inner) = word.to_str().and_then(|word| here.find_subcommand(word)) {
            path = format!("{path} {}", inner.get_name());
            here = inner;
        }
    }
    let message = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            let names: Vec<&str> = here.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name).collect();
            format!("a command is missing, one of {}", names.join(", "))
        }
        _ => one_line(&error.render().to_string()),
    };
    let first = message.split("; ").next().unwrap_or(&message);
    // The demo ignores settings.
    let flag = unknown_flag(error).filter(|_| here.get_name() != "demo");
    let message = match (unknown_command(error).and_then(|word| synonym(word, here)), flag.and_then(setting)) {
        (Some(name), _) => format!("{first}; did you mean `{path} {name}`"),
        (None, Some(variable)) => format!("{first}; set the environment variable {variable} instead"),
        (None, None) => message,
    };
    CommandError(format!("{message}; see `{path} --help`"))
}

fn unknown_command(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => Some(word),
        _ => None,
    }
}

fn unknown_flag(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag.strip_prefix("--"),
        _ => None,
    }
}

/// The setting for which other programs have this flag.
fn setting(flag: &str) -> Option<&'static str> {
    Some(match flag {
        "port" | "host" | "listen" | "bind" | "address" | "addr" => "LISTEN",
        "database" | "database-url" | "db" | "dsn" | "url" => "DATABASE_URL",
        "manifest" | "config" | "file" => "PERISTYLE_MANIFEST",
        "verbose" | "quiet" | "debug" | "log" | "log-level" => "LOG",
        "pid-file" | "pidfile" => "PID_FILE",
        "strategy" => "OAUTH_STRATEGY",
        _ => return None,
    })
}

/// The command, or the flag of the program, for which other programs have this name.
fn synonym(word: &str, here: &Command) -> Option<&'static str> {
    if word == "version" && here.get_version().is_some() {
        return Some("--version");
    }
    let names: &[&str] = match word.to_ascii_lowercase().as_str() {
        "start" | "run" | "server" | "up" | "listen" | "dev" => &["serve"],
        "restart" | "rehash" | "refresh" => &["reload"],
        "dump" | "restore" | "export" => &["backup"],
        "init" | "inspect" | "pull" | "scan" | "import" => &["introspect"],
        "validate" | "lint" | "verify" | "doctor" | "status" | "test" => &["check"],
        "upgrade" | "migration" | "migrations" | "setup" | "db" => &["migrate"],
        "openapi" | "graphql" | "typescript" | "types" | "codegen" | "describe" => &["schema"],
        "sql" | "plan" | "query" | "analyze" => &["explain"],
        "user" | "users" | "admin" | "superuser" | "password" | "login" | "signup" => &["account"],
        "log" | "logs" | "audit" => &["event"],
        "try" | "example" | "quickstart" | "playground" | "tutorial" => &["demo"],
        "permission" | "permissions" => &["role"],
        "key" | "jwks" | "keygen" => &["keys"],
        "create" | "new" | "insert" | "register" => &["add", "generate"],
        "ls" | "all" => &["list"],
        "rm" | "delete" | "del" | "drop" => &["remove", "end"],
        "get" | "view" | "info" => &["show"],
        "edit" | "set" | "change" | "modify" => &["update"],
        "tail" | "watch" | "stream" => &["follow"],
        "revoke" | "kill" | "logout" => &["end"],
        _ => &[],
    };
    names.iter().copied().find(|name| here.find_subcommand(name).is_some())
}

fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !HINTS.iter().any(|hint| line.starts_with(hint)));
    let words = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").replace(" tip: ", "; ");
    let words = words.strip_prefix("error: ").unwrap_or(&words);
    // The message repeats what was typed.
    words.chars().map(|letter| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter }).collect()
}

pub(super) fn id(text: &str) -> Result<Uuid, String> {
    Uuid::try_parse(text).map_err(|_| "an id is expected, such as 0b8f1c1e-6a1f-4a39-9d0c-2f5a3b7c9d10".to_owned())
}

pub(super) fn count(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("a whole number from 0 to {} is expected", u32::MAX))
}

pub(super) fn seconds(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("a whole number of seconds is expected, such as {}", 15 * 60))
}

/// A port; 0 is any free port.
pub(super) fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("a port from 0 to {} is expected", u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_without_the_usage() {
        // contract B3.1
        let error = "error: invalid value 'a\u{1b}\nb' for '--active <ACTIVE>'\n  [possible values: true, false]\n\nUsage: peristyle x\n";
        assert_eq!(one_line(error), "invalid value 'a\u{fffd} b' for '--active <ACTIVE>' [possible values: true, false]");
        assert_eq!(one_line("error: no such thing\n\n  tip: another exists\n\nUsage: x"), "no such thing; another exists");
    }
}
