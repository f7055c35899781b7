//! `peristyle explain`: shows the SQL of a statement or of a write, and with `--analyze` the plan of the database.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use query::catalog::write_rules::WriteOperation;
use query::error::{Code, Error};
use query::merge::merged;
use query::payload::WriteForm;
use query::plan::Operation;
use query::plan::write::WriteError;
use query::policy::{self, Viewer, WriteAccess};
use query::sql::Dialect;
use query::{parse, payload};
use serde_json::Value;
use store::hub_records::Records;
use store::run::PlanDetail;

use crate::boot::{self, Content};
use crate::boot_error::unusable;
use crate::caller::viewer_of_row;
use crate::config::Config;
use crate::problem::Problem;
use crate::query_service::explain::{Analyze, OPERATIONS, explain, explain_write, find_write};
use crate::query_service::key_parts;
use crate::query_service::write::WriteTarget;

use super::CommandError;
use super::output::print;

#[derive(Debug, clap::Args)]
pub(super) struct ExplainArguments {
    /// The resource, such as shop.customer
    resource: String,
    /// A file with a Query Statement, alone or as `query` of a request body, or with the body of a write; `-` reads standard input
    statement: PathBuf,
    /// Explain for the account in this file, the JSON of GET /auth/me
    #[arg(long, value_name = "FILE")]
    account: Option<PathBuf>,
    /// The operation to explain
    #[arg(long, value_name = "NAME", default_value = OPERATIONS[0].0, value_parser = PossibleValuesParser::new(operations()))]
    operation: String,
    /// The key of the row that a write changes; without it, the write of several rows is explained
    #[arg(long, value_name = "KEY")]
    id: Option<String>,
    /// The fields that rows show, with commas between, such as id,name,orders.total
    #[arg(long, value_name = "NAMES")]
    fields: Option<String>,
    /// Run the statement and show the database's plan of each level
    #[arg(long)]
    analyze: bool,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, arguments: ExplainArguments) -> Result<(), CommandError> {
    let mut catalog = boot::catalog(config)?;
    let resource = super::find_resource(&catalog, &arguments.resource)?;
    let is_own = catalog.resources()[resource].is_own();
    let database = boot::open_existing(config, &catalog, if is_own { Content::HubRecords } else { Content::Tables }).await?;
    let report = boot::check_catalog(config, &mut catalog, &database).await?;
    if is_own {
        boot::require_tables(&Records::read_only(&database).map_err(unusable)?).await?;
    }
    warn_of_errors(report.errors().count());
    let name = arguments.statement.display();
    let bytes = if arguments.statement.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut bytes)?;
        bytes
    } else {
        read(&arguments.statement)?
    };
    let viewer = arguments.account.as_deref().map_or_else(|| Ok(Viewer::operator()), viewer)?;
    let show = |explained: Value| print(&if arguments.json { explained.to_string() } else { text(&explained, database.dialect()) });
    if WriteOperation::ALL.into_iter().any(|write| write.as_str() == arguments.operation) {
        if arguments.fields.is_some() {
            return Err(CommandError(format!("--fields names what rows show; `{}` takes none", arguments.operation)));
        }
        let form = write_form(&arguments)?;
        let access = policy::authorize_write(&catalog, resource, form.operation(), &viewer)?;
        return show(write(&arguments, access, form, &bytes, database.dialect())?);
    }
    if arguments.id.is_some() {
        return Err(CommandError(format!("--id names the row of a write; `{}` takes none", arguments.operation)));
    }
    let is_body = parse::is_body(&bytes);
    let statement = if is_body { parse::body(&bytes).map(merged) } else { parse::document(&bytes) };
    let statement = statement.map_err(|error| CommandError(format!("{name}: {error}")))?;
    let statement = statement.showing_parameter(arguments.fields.as_deref().map(parse::field_selection).transpose());
    let access = policy::authorize_read(&catalog, resource, &viewer)?;
    let named = OPERATIONS.into_iter().find(|(name, _)| *name == arguments.operation);
    let operation = named.map_or(Operation::Paginate, |(_, operation)| operation);
    let analyze = if arguments.analyze { Analyze::Yes(PlanDetail::Figures) } else { Analyze::No };
    let explained = explain(&database, access, (operation, statement), analyze).await.map_err(|problem| match problem {
        Problem::Statement(error) if is_body => CommandError(format!("{name}: {error}")),
        Problem::Statement(error) => CommandError(format!("{name}: {}", in_file(error))),
        Problem::Store(error) => CommandError(error.to_string()),
        problem => CommandError(format!("{name}: {problem}")),
    })?;
    show(explained)
}

/// The SQL of a manifest that does not fit the database may fail. Standard error may be closed.
fn warn_of_errors(errors: usize) {
    if errors > 0 {
        let text = format!("the manifest has {errors} error(s), so the SQL may fail in this database; `peristyle check` lists them");
        _ = writeln!(std::io::stderr(), "warning: {text}");
    }
}

/// The names of all operations that can be explained, reads first.
fn operations() -> Vec<&'static str> {
    OPERATIONS.into_iter().map(|(name, _)| name).chain(WriteOperation::ALL.map(WriteOperation::as_str)).collect()
}

/// The write that the arguments name, of one row or of several.
fn write_form(arguments: &ExplainArguments) -> Result<WriteForm, CommandError> {
    if arguments.analyze {
        return Err(CommandError("--analyze runs the statement, and a write is not run; leave it out".to_owned()));
    }
    let operation = &arguments.operation;
    find_write(operation, arguments.id.is_some()).ok_or_else(|| {
        let message = if arguments.id.is_some() { "takes no --id: a new row has none yet" } else { "needs --id KEY" };
        CommandError(format!("`{operation}` {message}"))
    })
}

/// The statements of a write. It changes nothing.
fn write(
    arguments: &ExplainArguments,
    access: WriteAccess<'_, '_>,
    form: WriteForm,
    bytes: &[u8],
    dialect: Dialect,
) -> Result<Value, CommandError> {
    let fault = |error: WriteError| CommandError(format!("{}: {error}", arguments.statement.display()));
    let body = payload::body(form, bytes).map_err(WriteError::from).map_err(fault)?;
    let key = arguments.id.as_deref().map(|id| key_parts(id, access.resource().key.len()));
    let key = key.transpose().map_err(WriteError::from).map_err(fault)?;
    let target = WriteTarget { key: key.as_deref(), if_match: None };
    explain_write(access, form, &body, target, dialect).map_err(fault)
}

/// Makes pointers relative to a file that holds the statement itself; a request body holds it under `query`.
fn in_file(mut error: Error) -> Error {
    // The JSON reader finds duplicate keys; their pointers are relative to the file already.
    for fault in error.faults.iter_mut().filter(|fault| fault.code != Code::DuplicateKey) {
        if let Some(path) = fault.path.strip_prefix("/query") {
            fault.path = path.to_owned();
        }
    }
    error
}

fn read(file: &Path) -> Result<Vec<u8>, CommandError> {
    std::fs::read(file).map_err(|error| CommandError(format!("{} cannot be read: {error}", file.display())))
}

fn viewer(file: &Path) -> Result<Viewer, CommandError> {
    let account = serde_json::from_slice(&read(file)?).map_err(|error| CommandError(format!("{}: {error}", file.display())))?;
    viewer_of_row(&account).ok_or_else(|| {
        let expected = r#""dPermissions": {"all": [...]} is missing; the answer of GET /auth/me is expected"#;
        CommandError(format!("{}: {expected}", file.display()))
    })
}

fn text(explained: &Value, dialect: Dialect) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // As the SQL numbers them.
    let sign = if dialect.is_postgres() { '$' } else { '?' };
    let list = |value: &Value| {
        let kinds = (1..).zip(value.as_array().into_iter().flatten());
        kinds.map(|(number, kind)| format!("{sign}{number} {}", string(kind))).collect::<Vec<_>>().join(", ")
    };
    // Writing to a String cannot fail.
    let about = explained.get("statement").map_or_else(|| string(&explained["operation"]), Value::to_string);
    _ = writeln!(out, "{} {about}", string(&explained["resource"]));
    for level in explained["levels"].as_array().into_iter().flatten() {
        let path = string(&level["path"]);
        _ = writeln!(out, "\n{}\n  {}", if path.is_empty() { "root" } else { &path }, string(&level["sql"]));
        _ = writeln!(out, "  parameters: {}", list(&level["parameters"]));
        for predicate in level["predicates"].as_array().into_iter().flatten() {
            let field = predicate["field"].as_str().map(|name| format!(" {name}")).unwrap_or_default();
            let lifted = predicate["unless"].as_str().map_or_else(String::new, |name| format!(", lifted by the permission {name}"));
            let (source, resource, sql) =
                (string(&predicate["source"]) + &field, string(&predicate["resource"]), string(&predicate["sql"]));
            _ = writeln!(out, "  {source:<10} {resource}: {sql}{lifted}");
        }
        for line in level["plan"].as_array().into_iter().flatten() {
            _ = writeln!(out, "  | {}", string(line));
        }
    }
    if let Some(sql) = explained["total"]["sql"].as_str() {
        _ = writeln!(out, "\ntotal\n  {sql}\n  parameters: {}", list(&explained["total"]["parameters"]));
    }
    out
}
