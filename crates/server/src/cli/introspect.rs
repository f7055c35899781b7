//! `peristyle introspect`: writes a manifest from the database, or adds to one.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use query::catalog::Catalog;
use query::manifest::{Manifest, ManifestError};
use query::messages::counted;
use query::sql::Dialect;
use serde_json::json;
use store::Database;
use store::check::{check, check_write_privileges};
use store::introspect::{Introspected, OfferedAccess, Update, UpdateError};
use store::schema::Schema;

use crate::boot::{self, Content};
use crate::boot_error::unusable;
use crate::config::Config;
use crate::graphql;

use super::CommandError;
use super::output::{print, print_change};

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(super) struct IntrospectArguments {
    /// Write to this file instead of PERISTYLE_MANIFEST; `-` prints and writes no file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add new tables and columns to the manifest; edits and deletions in it stay
    #[arg(long)]
    update: bool,
    /// Declare writes too, as far as the tables and the database user allow them; each needs a permission
    #[arg(long)]
    writable: bool,
    /// Replace an existing manifest
    #[arg(long, conflicts_with = "update")]
    force: bool,
    /// Print one JSON object for programs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(config: &Config, arguments: IntrospectArguments) -> Result<(), CommandError> {
    let path = arguments.out.clone().unwrap_or_else(|| config.manifest.path().clone());
    let printed = path.as_os_str() == "-";
    let name = path.display().to_string();
    let database = boot::open_existing(config, &Catalog::default(), Content::Tables).await?;
    let mut schema = database.sampled_schema().await.map_err(unusable)?;
    if schema.tables.is_empty() && !arguments.update {
        let problem = format!("no table or view can be read in {}", database.describe());
        return Err(CommandError(format!(
            "DATABASE_URL: {problem}; check that it is your database, and create its tables or grant SELECT on them"
        )));
    }
    if arguments.writable {
        take_write_privileges(config, &database, &mut schema).await?;
    }
    let (dialect, access) = (database.dialect(), if arguments.writable { OfferedAccess::Writable } else { OfferedAccess::ReadOnly });
    let manifest = if arguments.update {
        // With `--out -`, update the manifest in use and print it.
        NewManifest::updated(if printed { config.manifest.path() } else { &path }, &schema, dialect, access)?
    } else {
        if !printed && !arguments.force && path.exists() {
            return Err(CommandError(format!(
                "{name} exists already: use --update to add what is new, --force to replace it, or --out FILE"
            )));
        }
        NewManifest::of(store::introspect::introspect(&schema, dialect, access))
    };
    let NewManifest { text, tables, added, notes, errors } = &manifest;
    if printed {
        let object = json!({ "manifest": text, "tables": tables, "added": added, "notes": notes, "errors": errors });
        return print(&if arguments.json { object.to_string() } else { text.trim_end().to_owned() });
    }
    atomic_write(&path, text).map_err(|error| CommandError(format!("{name} cannot be written: {error}")))?;
    if arguments.json {
        let object = json!({ "file": name, "tables": tables, "added": added, "notes": notes, "errors": errors });
        return print_change(&object.to_string());
    }
    let mut lines: Vec<String> = added.iter().map(|item| format!("added {item}")).collect();
    if arguments.update {
        lines.extend(notes.iter().map(|note| format!("note: {note}")));
    }
    lines.push(if arguments.update {
        let hint = if *errors == 0 { String::new() } else { format!("; {errors} error(s) remain, see `peristyle check`") };
        format!("{name}: {} addition(s){hint}", added.len())
    } else {
        let comments = if notes.is_empty() { String::new() } else { format!("; see its {} on what is left out", counted(notes.len() as u64, "comment")) };
        format!(
            "wrote {name} from {tables} table(s) and view(s){comments}; remove what clients must not read, then run `peristyle check` and `peristyle serve`"
        )
    });
    print_change(&lines.join("\n"))
}

/// Takes what the role of writes may change, or why no write succeeds.
async fn take_write_privileges(config: &Config, database: &Database, schema: &mut Schema) -> Result<(), CommandError> {
    let Some(url) = config.database_write_url.as_deref() else {
        schema.refuses_writes = database.refuses_writes().await.map_err(unusable)?;
        return Ok(());
    };
    let refused = |error| CommandError(format!("DATABASE_WRITE_URL: {error}"));
    let writes = Database::open(url, &config.database).map_err(refused)?;
    schema.take_write_privileges(&writes.schema().await.map_err(refused)?, database.dialect());
    schema.refuses_writes = writes.refuses_writes().await.map_err(refused)?;
    Ok(())
}

struct NewManifest {
    text: String,
    tables: usize,
    added: Vec<String>,
    notes: Vec<String>,
    /// How many errors `check` finds: tables and columns that the database lost stay declared.
    errors: usize,
}

impl NewManifest {
    fn of(Introspected { text, tables, notes }: Introspected) -> Self {
        NewManifest { text, tables, added: Vec::new(), notes, errors: 0 }
    }

    fn updated(source: &Path, schema: &Schema, dialect: Dialect, access: OfferedAccess) -> Result<Self, CommandError> {
        let name = source.display().to_string();
        let existing = fs::read_to_string(source)
            .map_err(|error| CommandError(format!("{name} cannot be read: {error}; without --update, a new one is written")))?;
        let Update { text, added, notes, tables } =
            store::introspect::update(&existing, schema, dialect, access).map_err(|error| match error {
                UpdateError::Manifest(error) => CommandError(error.in_file(&name)),
                error => CommandError(format!("{name}: {error}")),
            })?;
        let catalog = Manifest::read(&text).and_then(|manifest| Catalog::resolve(&manifest));
        let catalog = catalog.map_err(|error| CommandError(error.in_file(&name)))?;
        let unnameable = graphql::sdl(&catalog).err().map_or(0, |ManifestError(faults)| faults.len());
        let errors = check(&catalog, schema, dialect).errors().count() + check_write_privileges(&catalog, schema, dialect).len();
        let errors = errors + unnameable;
        Ok(NewManifest { text, tables, added, notes, errors })
    }
}

/// Writes a file. The file at the path is the old one, or none, until all of the new text is on disk.
fn atomic_write(path: &Path, text: &str) -> io::Result<()> {
    // Follow a symbolic link. What is not a regular file, such as a terminal, has no content to lose.
    let existing = match fs::canonicalize(path) {
        Ok(file) if !file.is_file() => return fs::write(path, text),
        Ok(file) => Some(file),
        Err(_) if path.is_symlink() => return fs::write(path, text),
        Err(_) => None,
    };
    let file = existing.clone().unwrap_or_else(|| path.to_owned());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    // The process id keeps the name apart from other files.
    name.push(format!(".{}.new", std::process::id()));
    let temporary = file.with_file_name(name);
    let written = write_like(&temporary, text, existing.as_deref()).and_then(|()| fs::rename(&temporary, &file));
    if written.is_err() {
        _ = fs::remove_file(&temporary);
    }
    written
}

/// Writes a new file, with the permissions of an existing one.
fn write_like(path: &Path, text: &str, like: Option<&Path>) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    if let Some(like) = like {
        file.set_permissions(fs::metadata(like)?.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
