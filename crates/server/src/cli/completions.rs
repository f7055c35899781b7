//! `peristyle completions`: prints the completion script of a shell, made from the definition of the command line.

use clap::{Command, ValueEnum};
use clap_complete::Shell;
use serde_json::json;

use super::CommandError;
use super::output::{OutputFormat, print};

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArguments {
    /// The shell that reads the script
    shell: CompletionShell,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

pub(super) fn run(mut program: Command, arguments: &CompletionsArguments) -> Result<(), CommandError> {
    let shell = match arguments.shell {
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Zsh => Shell::Zsh,
        CompletionShell::Fish => Shell::Fish,
    };
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    let script = String::from_utf8(script)?;
    print(&OutputFormat::of(arguments.json).choose(script.trim_end(), &json!({ "shell": shell.to_string(), "script": script })))
}
