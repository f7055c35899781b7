//! `peristyle introspect`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use query::catalog::Catalog;
use query::manifest::Manifest;
use query::sql::Dialect;
use serde_json::json;
use store::Database;
use store::check::check;
use store::introspect::{Introspected, Update, UpdateError};
use store::schema::Schema;

use crate::boot;
use crate::boot_error::unusable;
use crate::config::Config;

use super::Failure;
use super::print::{print, report};
use super::replace::replace;

/// What is typed after `introspect`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Write to this file instead of the one PERISTYLE_MANIFEST names; `-` prints, and writes no file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add what is new in the database to the manifest and keep every edit; what was deleted stays deleted
    #[arg(long)]
    update: bool,
    /// Replace a manifest that is there already
    #[arg(long, conflicts_with = "update")]
    force: bool,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, arguments: Arguments) -> Result<ExitCode, Failure> {
    let path = arguments.out.clone().unwrap_or_else(|| config.manifest.path().clone());
    let printed = path.as_os_str() == "-";
    let name = path.display().to_string();
    if let Some(file) = Database::sqlite_path(&config.database_url).filter(|file| !Path::new(file).exists()) {
        return Err(Failure(format!("DATABASE_URL: the SQLite file {file:?} does not exist")));
    }
    let database = boot::open("DATABASE_URL", &config.database_url, &config.database, &query::catalog::Catalog::default()).await?;
    let schema = database.sampled_schema().await.map_err(unusable)?;
    let written = if arguments.update {
        // What is printed is the manifest that is in use, with what is new.
        Written::updated(if printed { config.manifest.path() } else { &path }, &schema, database.dialect())?
    } else {
        if !printed && !arguments.force && path.exists() {
            return Err(Failure(format!("{name} exists already: use --update to add what is new, --force to replace it, or --out FILE")));
        }
        Written::of(store::introspect::introspect(&schema, database.dialect()))
    };
    let Written { text, tables, added, notes, errors } = &written;
    if printed && arguments.json {
        print(&json!({ "manifest": text, "tables": tables, "added": added, "notes": notes, "errors": errors }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if printed {
        print(text.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    replace(&path, text).map_err(|error| Failure(format!("{name} cannot be written: {error}")))?;
    if arguments.json {
        report(&json!({ "file": name, "tables": tables, "added": added, "notes": notes, "errors": errors }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines: Vec<String> = added.iter().map(|item| format!("added {item}")).collect();
    if arguments.update {
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
    }
    lines.push(if arguments.update {
        let left = if *errors == 0 {
            String::new()
        } else {
            format!("; {errors} error(s) are left, which `peristyle check` tells: nothing is removed")
        };
        format!("{name}: {} addition(s){left}", added.len())
    } else {
        let left_out = if notes.is_empty() { String::new() } else { format!("; {} left out, as its comments say", notes.len()) };
        format!(
            "wrote {name} from {tables} table(s) and view(s){left_out}; trim it to what may be asked, then run `peristyle check` and `peristyle serve`"
        )
    });
    report(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// A manifest to be written, and what is told of it.
struct Written {
    text: String,
    /// How many tables and views it declares.
    tables: usize,
    added: Vec<String>,
    notes: Vec<String>,
    /// How many errors `check` finds in it: what is gone from the database stays declared.
    errors: usize,
}

impl Written {
    fn of(Introspected { text, tables, notes }: Introspected) -> Self {
        Written { text, tables, added: Vec::new(), notes, errors: 0 }
    }

    fn updated(source: &Path, schema: &Schema, dialect: Dialect) -> Result<Self, Failure> {
        let name = source.display().to_string();
        let existing = std::fs::read_to_string(source)
            .map_err(|error| Failure(format!("{name} cannot be read: {error}; without --update a new one is written")))?;
        let Update { text, added, notes, tables } = store::introspect::update(&existing, schema, dialect).map_err(|error| match error {
            UpdateError::Manifest(error) => Failure(error.in_file(&name)),
            error => Failure(format!("{name}: {error}")),
        })?;
        let catalog = Manifest::read(&text).and_then(|manifest| Catalog::resolve(&manifest));
        let catalog = catalog.map_err(|error| Failure(error.in_file(&name)))?;
        let errors = check(&catalog, schema, dialect).errors().count();
        Ok(Written { text, tables, added, notes, errors })
    }
}
