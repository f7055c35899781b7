//! `peristyle check`: compares the manifest with the database and prints what to fix.

use std::process::ExitCode;

use identity::account::Permission;
use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::manifest::{ManifestError, ManifestFault};
use serde_json::{Value, json};
use store::Database;
use store::check::{Finding, Severity};
use store::hub_records::Records;

use crate::boot::{self, CatalogError};
use crate::boot_error::unusable;
use crate::config::Config;

use super::output::{OutputFormat, print};
use super::{CommandError, replica_check};

/// What to run if the hub's own tables need a migration, which no change of the manifest can replace.
async fn migration_hint(config: &Config, database: &Database) -> Result<Option<&'static str>, CommandError> {
    if config.strategy != Strategy::LocalProvider {
        return Ok(None);
    }
    let state = Records::read_only(database).map_err(unusable)?.tables_state().await.map_err(unusable)?;
    Ok(boot::migration_hint(state))
}

/// Warnings about permissions of the manifest that no role can hold, because their names are invalid.
fn ungrantable_permissions(catalog: &Catalog) -> impl Iterator<Item = Finding> {
    catalog.permissions().filter_map(|(name, line)| {
        let fault = Permission::parse(name).err()?;
        let message = format!("{name:?} is a permission that no role but `administrator` can hold: {fault}");
        Some(Finding { severity: Severity::Warning, line, message })
    })
}

pub(super) async fn run(config: &Config, output: OutputFormat) -> Result<ExitCode, CommandError> {
    let file = config.manifest.path().display().to_string();
    let mut catalog = match boot::resolve_catalog(config) {
        Err(CatalogError::Manifest(ManifestError(faults))) if output == OutputFormat::Json => {
            let to_json = |fault: &ManifestFault| finding(Severity::Error, &file, fault.line, &fault.message);
            let findings: Vec<Value> = faults.iter().map(to_json).collect();
            print(&json!({ "errors": findings.len(), "warnings": 0, "resources": 0, "findings": findings }).to_string())?;
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(error.in_file(config).into()),
        Ok(catalog) => catalog,
    };
    let database = boot::open_existing(config, &catalog).await?;
    let mut report = boot::bind(config, &mut catalog, &database).await?;
    report.findings.extend(database.invalid_values(&catalog).await.map_err(unusable)?);
    report.findings.extend(ungrantable_permissions(&catalog));
    report.findings.sort_by_key(|finding| finding.line);
    let open_resources = boot::open_resources(config, &catalog, usize::MAX);
    // Warnings about no line of the manifest.
    let mut others: Vec<String> = open_resources.into_iter().chain(migration_hint(config, &database).await?.map(str::to_owned)).collect();
    others.extend(replica_check::warnings(config, &catalog, &database).await?);
    let resources = catalog.resources().len();
    let (errors, warnings) = (report.errors().count(), report.warnings().count() + others.len());
    if output == OutputFormat::Json {
        let to_json = |found: &Finding| finding(found.severity, &file, found.line, &found.message);
        let mut findings: Vec<Value> = report.findings.iter().map(to_json).collect();
        findings.extend(others.iter().map(|message| json!({ "severity": "warning", "message": message })));
        print(&json!({ "errors": errors, "warnings": warnings, "resources": resources, "findings": findings }).to_string())?;
    } else {
        let line = |finding: &Finding| format!("{}: {file}:{}: {}", finding.severity.as_str(), finding.line, finding.message);
        let mut lines: Vec<String> = report.findings.iter().map(line).collect();
        lines.extend(others.iter().map(|message| format!("warning: {message}")));
        lines.push(format!("{resources} resource(s): {errors} error(s), {warnings} warning(s)"));
        print(&lines.join("\n"))?;
    }
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn finding(severity: Severity, file: &str, line: usize, message: &str) -> Value {
    json!({ "severity": severity.as_str(), "file": file, "line": line, "message": message })
}
