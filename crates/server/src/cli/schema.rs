//! `peristyle schema`: the descriptions, from the manifest and, on a hub, from what is compiled in. No database is opened.

use std::process::ExitCode;

use clap::Subcommand;
use query::catalog::Catalog;
use query::describe::{json_schema, typescript};
use query::json::Json;
use query::json::build::{compact, pretty};
use query::object;

use crate::config::Config;
use crate::operations::describe;
use crate::{boot, graphql, openapi};

use super::print::{Reader, print};
use super::{Failure, Output};

/// What is typed after `schema`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    document: Document,
    /// Print one JSON object on one line for programs
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Document {
    /// OpenAPI 3.1, as `GET /api/openapi.json` serves it
    #[command(after_help = "Example:\n  peristyle schema openapi > openapi.json")]
    Openapi,
    /// The GraphQL schema that `/graphql` serves
    #[command(after_help = "Example:\n  peristyle schema graphql > schema.graphql")]
    Graphql,
    /// JSON Schema 2020-12 of statements and rows
    #[command(
        after_help = "Examples:\n  peristyle schema json-schema > peristyle.schema.json\n  peristyle schema json-schema shop.customer > customer.schema.json"
    )]
    JsonSchema {
        /// One resource, such as shop.customer; all when left out
        resource: Option<String>,
    },
    /// TypeScript types of statements and rows
    #[command(after_help = "Example:\n  peristyle schema typescript > peristyle.ts")]
    Typescript,
}

pub(super) fn run(config: &Config, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let catalog = boot::catalog(config)?;
    let output = Output::of(arguments.json);
    match &arguments.document {
        Document::Openapi => document(&openapi::document(&catalog, config.strategy), output)?,
        Document::Graphql => text("graphql", &graphql::sdl(&catalog).map_err(|error| Failure(error.to_string()))?, output)?,
        Document::JsonSchema { resource: None } => document(&of_all(&catalog), output)?,
        Document::JsonSchema { resource: Some(name) } => document(&of_resource(&catalog, name)?, output)?,
        Document::Typescript => text("typescript", &(typescript::module(&catalog) + &describe::typescript(&catalog)), output)?,
    };
    Ok(ExitCode::SUCCESS)
}

/// Every definition, those of a hub's operations among them.
fn of_all(catalog: &Catalog) -> Json {
    let Json::Object(mut entries) = json_schema::document(catalog) else { return Json::Null };
    if let Some((_, Json::Object(definitions))) = entries.iter_mut().find(|(name, _)| name == "$defs") {
        definitions.extend(describe::schemas(catalog, "#/$defs/"));
    }
    Json::Object(entries)
}

fn of_resource(catalog: &Catalog, name: &str) -> Result<Json, Failure> {
    Ok(json_schema::of_resource(catalog, super::resource(catalog, name)?))
}

fn document(document: &Json, output: Output) -> Result<Reader, Failure> {
    print(&if output == Output::Json { compact(document) } else { pretty(document) })
}

/// A description that is no JSON itself.
fn text(key: &str, text: &str, output: Output) -> Result<Reader, Failure> {
    print(&if output == Output::Json { compact(&object! { key => text }) } else { text.trim_end().to_owned() })
}
