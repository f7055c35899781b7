//! `peristyle introspect`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use store::introspect::UpdateError;

use crate::boot;
use crate::config::Config;
use crate::refusal::unusable;

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
    if let Some(file) = config.database_url.strip_prefix("sqlite://").filter(|file| !std::path::Path::new(file).exists()) {
        return Err(Failure(format!("DATABASE_URL: the SQLite file {file:?} does not exist")));
    }
    let database = boot::open(("DATABASE_URL", &config.database_url), &config.database, &query::catalog::Catalog::default())?;
    let schema = database.sampled_schema().await.map_err(unusable)?;
    let (text, added, notes) = if arguments.update {
        // What is printed is the manifest that is in use, with what is new.
        let source = if printed { config.manifest.path() } else { &path };
        let name = source.display();
        let existing = std::fs::read_to_string(source)
            .map_err(|error| Failure(format!("{name} cannot be read: {error}; without --update a new one is written")))?;
        let update = store::introspect::update(&existing, &schema, database.dialect()).map_err(|error| match error {
            UpdateError::Manifest(error) => Failure(error.in_file(&name.to_string())),
            error => Failure(format!("{name}: {error}")),
        })?;
        (update.text, update.added, update.notes)
    } else {
        if !printed && !arguments.force && path.exists() {
            return Err(Failure(format!("{name} exists already: use --update to add what is new, --force to replace it, or --out FILE")));
        }
        (store::introspect::manifest(&schema, database.dialect()), Vec::new(), Vec::new())
    };
    if printed && arguments.json {
        print(&json!({ "manifest": text, "tables": schema.tables.len(), "added": added, "notes": notes }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    if printed {
        print(text.trim_end())?;
        return Ok(ExitCode::SUCCESS);
    }
    replace(&path, &text).map_err(|error| Failure(format!("{name} cannot be written: {error}")))?;
    if arguments.json {
        report(&json!({ "file": name, "tables": schema.tables.len(), "added": added, "notes": notes }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines: Vec<String> = added.iter().map(|item| format!("added {item}")).collect();
    lines.extend(notes.iter().map(|note| format!("note: {note}")));
    lines.push(if arguments.update {
        format!("{name}: {} addition(s)", added.len())
    } else {
        format!(
            "wrote {name} from {} table(s) and view(s); trim it to what may be asked, then run `peristyle check` and `peristyle serve`",
            schema.tables.len()
        )
    });
    report(&lines.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}
