//! `peristyle explain`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use query::error::{Code, Error};
use query::parse;
use query::policy::{self, Viewer};
use serde_json::Value;
use store::run::PlanDetail;

use crate::boot;
use crate::caller::viewer_of_row;
use crate::config::Config;
use crate::problem::Problem;
use crate::query_service::explain::{Analyze, explain};

use super::Failure;
use super::print::print;

/// What is typed after `explain`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The resource, such as shop.customer
    resource: String,
    /// A file with a Query Statement; `-` reads standard input
    statement: PathBuf,
    /// Explain it as it is for this account: a file with what GET /auth/me answers to it
    #[arg(long, value_name = "FILE")]
    account: Option<PathBuf>,
    /// Run it and show the database's own plan of each level
    #[arg(long)]
    analyze: bool,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> Result<ExitCode, Failure> {
    let mut catalog = boot::catalog(config)?;
    let database = boot::open("DATABASE_URL", &config.database_url, &config.database, &catalog).await?;
    boot::bind(&mut catalog, &database).await?;
    let resource = super::resource(&catalog, &arguments.resource)?;
    let name = arguments.statement.display();
    let bytes = if arguments.statement.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes)?;
        bytes
    } else {
        read(&arguments.statement)?
    };
    let statement = parse::document(&bytes).map_err(|error| Failure(format!("{name}: {error}")))?;
    let viewer = arguments.account.as_deref().map_or_else(|| Ok(Viewer::operator()), viewer)?;
    let entrance = policy::enter(&catalog, resource, &viewer)?;
    let analyze = if arguments.analyze { Analyze::Yes(PlanDetail::Figures) } else { Analyze::No };
    let explained = explain(&database, entrance, statement, analyze).await.map_err(|problem| match problem {
        Problem::Statement(error) => Failure(format!("{name}: {}", in_file(error))),
        Problem::Store(error) => Failure(error.to_string()),
        // Whatever else a request can be refused for is none of a command's.
        _ => Failure("the statement cannot be explained".to_owned()),
    })?;
    print(&if arguments.json { explained.to_string() } else { readable(&explained) })?;
    Ok(ExitCode::SUCCESS)
}

/// Faults with places in the file, which holds the statement itself and not a body around it.
fn in_file(mut error: Error) -> Error {
    // Keys that stand twice are found before anybody knows what the text stands for: their places are the file's already.
    for fault in error.faults.iter_mut().filter(|fault| fault.code != Code::DuplicateKey) {
        if let Some(path) = fault.path.strip_prefix("/query") {
            fault.path = path.to_owned();
        }
    }
    error
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure(format!("{} cannot be read: {error}", file.display())))
}

/// The account that a file tells of.
fn viewer(file: &Path) -> Result<Viewer, Failure> {
    let account = serde_json::from_slice(&read(file)?).map_err(|error| Failure(format!("{}: {error}", file.display())))?;
    viewer_of_row(&account).ok_or_else(|| {
        let needed = r#"an account has "dPermissions": {"all": [...]}, as in the answer of GET /auth/me"#;
        Failure(format!("{}: {needed}", file.display()))
    })
}

fn readable(explained: &Value) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>().join(", ");
    // Writing to a String cannot fail.
    _ = writeln!(out, "{} {}", text(&explained["resource"]), explained["statement"]);
    for level in explained["levels"].as_array().into_iter().flatten() {
        let path = text(&level["path"]);
        _ = writeln!(out, "\n{}\n  {}", if path.is_empty() { "root" } else { &path }, text(&level["sql"]));
        _ = writeln!(out, "  parameters: {}", list(&level["parameters"]));
        for predicate in level["predicates"].as_array().into_iter().flatten() {
            _ = writeln!(out, "  {:<10} {}: {}", text(&predicate["source"]), text(&predicate["resource"]), text(&predicate["sql"]));
        }
        for line in level["plan"].as_array().into_iter().flatten() {
            _ = writeln!(out, "  | {}", text(line));
        }
    }
    if let Some(sql) = explained["total"]["sql"].as_str() {
        _ = writeln!(out, "\ntotal\n  {sql}\n  parameters: {}", list(&explained["total"]["parameters"]));
    }
    out
}
