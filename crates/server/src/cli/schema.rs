//! `peristyle schema`: prints descriptions of the manifest and, on a hub, of its own resources. With a database they are those that are served.

use clap::{Subcommand, ValueEnum};
use query::catalog::Catalog;
use query::describe::{json_schema, typescript};
use query::json::Json;
use query::json::build::{compact, pretty};
use query::object;

use crate::admin_operations::describe;
use crate::boot::Content;
use crate::boot_error::unusable;
use crate::config::{Config, DEFAULT_DATABASE_URL};
use crate::{boot, graphql, openapi};

use super::CommandError;
use super::output::{OutputFormat, print};

#[derive(Debug, clap::Args)]
pub(super) struct SchemaArguments {
    #[command(subcommand)]
    document: SchemaDocument,
    /// Where the types and defaults of columns come from [default: database if it answers, else manifest]
    #[arg(long, global = true, value_enum, value_name = "SOURCE")]
    from: Option<SchemaSource>,
    /// Print one JSON object on one line for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum SchemaDocument {
    /// OpenAPI 3.1, as GET /api/openapi.json serves it
    #[command(after_help = "Example:\n  peristyle schema openapi > openapi.json")]
    Openapi,
    /// The GraphQL schema of /graphql
    #[command(after_help = "Example:\n  peristyle schema graphql > schema.graphql")]
    Graphql,
    /// JSON Schema 2020-12 of statements and rows
    #[command(
        after_help = "Examples:\n  peristyle schema json-schema > peristyle.schema.json\n  peristyle schema json-schema shop.customer > customer.schema.json"
    )]
    JsonSchema {
        /// One resource, such as shop.customer; all by default
        resource: Option<String>,
    },
    /// TypeScript types of statements and rows
    #[command(after_help = "Example:\n  peristyle schema typescript > peristyle.ts")]
    Typescript,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SchemaSource {
    /// The documents that the server serves; fails if the database does not answer
    Database,
    /// The manifest alone: a column has the type that the manifest says, and no default
    Manifest,
}

pub(super) async fn run(config: &Config, arguments: &SchemaArguments) -> Result<(), CommandError> {
    let mut catalog = boot::catalog(config)?;
    let output = OutputFormat::of(arguments.json);
    if let SchemaDocument::JsonSchema { resource: Some(name) } = &arguments.document {
        super::find_resource(&catalog, name)?;
    }
    match arguments.from {
        Some(SchemaSource::Manifest) => {}
        Some(SchemaSource::Database) => catalog = bound_catalog(config).await?,
        None => match bound_catalog(config).await {
            Ok(bound) => catalog = bound,
            // Nobody named a database.
            Err(_) if config.database_url == DEFAULT_DATABASE_URL => {}
            Err(CommandError(reason)) => {
                super::print_warning(&format!("{reason}; described by the manifest alone, which may differ from what is served"));
            }
        },
    }
    match &arguments.document {
        SchemaDocument::Openapi => print_json(&openapi::document(&catalog, config.strategy), output),
        SchemaDocument::Graphql => print_text("graphql", &graphql::sdl(&catalog).map_err(|error| CommandError(error.to_string()))?, output),
        SchemaDocument::JsonSchema { resource: None } => print_json(&schema_of_all(&catalog), output),
        SchemaDocument::JsonSchema { resource: Some(name) } => {
            print_json(&json_schema::of_resource(&catalog, super::find_resource(&catalog, name)?), output)
        }
        SchemaDocument::Typescript => print_text("typescript", &(typescript::module(&catalog) + &describe::typescript(&catalog)), output),
    }
}

/// The catalog with what the descriptions of a server take from the database: the types and defaults of columns.
async fn bound_catalog(config: &Config) -> Result<Catalog, CommandError> {
    let mut catalog = boot::catalog(config)?;
    let database = boot::open_existing(config, &catalog, Content::Tables).await?;
    let schema = database.schema().await.map_err(unusable)?;
    store::check::add_database_facts(&mut catalog, &schema);
    match store::check::check(&catalog, &schema, database.dialect()).errors().count() {
        0 => Ok(catalog),
        errors => Err(CommandError(format!("the manifest does not fit the database: {errors} error(s), see `peristyle check`"))),
    }
}

fn schema_of_all(catalog: &Catalog) -> Json {
    let Json::Object(mut entries) = json_schema::document(catalog) else { return Json::Null };
    if let Some((_, Json::Object(definitions))) = entries.iter_mut().find(|(name, _)| name == "$defs") {
        definitions.extend(describe::schemas(catalog, "#/$defs/"));
    }
    Json::Object(entries)
}

fn print_json(document: &Json, output: OutputFormat) -> Result<(), CommandError> {
    print(&if output == OutputFormat::Json { compact(document) } else { pretty(document) })
}

fn print_text(key: &str, text: &str, output: OutputFormat) -> Result<(), CommandError> {
    print(&if output == OutputFormat::Json { compact(&object! { key => text }) } else { text.trim_end().to_owned() })
}
