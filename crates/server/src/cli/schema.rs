//! `peristyle schema`: prints descriptions of the manifest and, on a hub, of its own resources. It opens no database.

use clap::Subcommand;
use query::catalog::Catalog;
use query::describe::{json_schema, typescript};
use query::json::Json;
use query::json::build::{compact, pretty};
use query::object;

use crate::admin_operations::describe;
use crate::config::Config;
use crate::{boot, graphql, openapi};

use super::CommandError;
use super::output::{OutputFormat, print};

#[derive(Debug, clap::Args)]
pub(super) struct SchemaArguments {
    #[command(subcommand)]
    document: SchemaDocument,
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

pub(super) fn run(config: &Config, arguments: &SchemaArguments) -> Result<(), CommandError> {
    let catalog = boot::catalog(config)?;
    let output = OutputFormat::of(arguments.json);
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
