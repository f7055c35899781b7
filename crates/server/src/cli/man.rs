//! `peristyle man`: prints or writes the manual pages, made from the definition of the command line.

use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use serde_json::json;

use super::CommandError;
use super::output::{OutputFormat, print, print_change};

#[derive(Debug, clap::Args)]
pub(super) struct ManArguments {
    /// Print the page of this command, such as `account add`; the page of the program by default
    command: Vec<String>,
    /// Write the pages of the program and of all commands into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    out: Option<PathBuf>,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

/// A manual page in roff. Its name is the command with hyphens, such as `peristyle-account-add`.
struct Page {
    name: String,
    text: String,
}

pub(super) fn run(program: Command, arguments: &ManArguments) -> Result<(), CommandError> {
    let output = OutputFormat::of(arguments.json);
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    collect(&program, &mut pages)?;
    let Some(folder) = &arguments.out else {
        let name = [program.get_name()].into_iter().chain(arguments.command.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
        let page = pages.into_iter().find(|page| page.name == name);
        let page =
            page.ok_or_else(|| CommandError(format!("no command {:?}; `peristyle --help` lists them", arguments.command.join(" "))))?;
        return print(&output.choose(page.text.trim_end(), &json!({ "name": page.name, "text": page.text })));
    };
    let fault = |error| CommandError(format!("--out {}: the pages cannot be written: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(fault)?;
    for page in &pages {
        std::fs::write(folder.join(format!("{}.1", page.name)), &page.text).map_err(fault)?;
    }
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    print_change(&output.choose(&format!("wrote {} pages to {}", names.len(), folder.display()), &json!({ "written": names })))
}

/// Adds the page of a command, and those of its commands.
fn collect(command: &Command, pages: &mut Vec<Page>) -> Result<(), CommandError> {
    let mut text = Vec::new();
    Man::new(command.clone()).source(concat!("peristyle ", env!("CARGO_PKG_VERSION"))).render(&mut text)?;
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    pages.push(Page { name, text: String::from_utf8(text)? });
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        collect(inner, pages)?;
    }
    Ok(())
}
