//! `peristyle check`

use std::process::ExitCode;

use identity::account::Permission;
use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::manifest::{ManifestError, ManifestFault};
use serde_json::{Value, json};
use store::Database;
use store::check::{Finding, Severity};
use store::hub_records::Records;

use crate::boot::{self, Unresolved};
use crate::boot_error::unusable;
use crate::config::Config;

use super::print::print;
use super::{Failure, Output};

const UNMADE: &str = "the hub's own tables are not all there yet; `peristyle migrate` makes them, and so does `peristyle serve`";

/// Whether tables of the hub itself are missing, which are not the manifest's to mend.
async fn unmade(config: &Config, database: &Database) -> Result<bool, Failure> {
    if config.strategy != Strategy::LocalProvider {
        return Ok(false);
    }
    Ok(Records::of(database).map_err(unusable)?.is_pending().await.map_err(unusable)?)
}

/// Permissions of the manifest that a hub gives to no role, since they are not named as permissions are.
fn ungrantable(catalog: &Catalog) -> impl Iterator<Item = Finding> {
    catalog.permissions().filter_map(|(name, line)| {
        let fault = Permission::parse(name).err()?;
        let message = format!("{name:?} is a permission that no role but `administrator` can hold: {fault}");
        Some(Finding { severity: Severity::Warning, line, message })
    })
}

pub(super) async fn run(config: &Config, output: Output) -> Result<ExitCode, Failure> {
    let file = config.manifest.path().display().to_string();
    let mut catalog = match boot::judged(config) {
        Err(Unresolved::Manifest(ManifestError(faults))) if output == Output::Json => {
            let told = |fault: &ManifestFault| finding(Severity::Error, &file, fault.line, &fault.message);
            let findings: Vec<Value> = faults.iter().map(told).collect();
            print(&json!({ "errors": findings.len(), "warnings": 0, "resources": 0, "findings": findings }).to_string())?;
            return Ok(ExitCode::FAILURE);
        }
        Err(unresolved) => return Err(unresolved.in_file(config).into()),
        Ok(catalog) => catalog,
    };
    let database = boot::open("DATABASE_URL", &config.database_url, &config.database, &catalog).await?;
    let mut report = boot::bind(&mut catalog, &database).await?;
    report.findings.extend(database.misfits(&catalog).await.map_err(unusable)?);
    report.findings.extend(ungrantable(&catalog));
    report.findings.sort_by_key(|finding| finding.line);
    let unmade = unmade(config, &database).await?;
    let (errors, warnings) = (report.errors().count(), report.warnings().count() + usize::from(unmade));
    if output == Output::Json {
        let told = |found: &Finding| finding(found.severity, &file, found.line, &found.message);
        let mut findings: Vec<Value> = report.findings.iter().map(told).collect();
        if unmade {
            findings.push(json!({ "severity": "warning", "message": UNMADE }));
        }
        print(
            &json!({ "errors": errors, "warnings": warnings, "resources": catalog.resources().len(), "findings": findings }).to_string(),
        )?;
    } else {
        let told = |finding: &Finding| format!("{}: {file}:{}: {}", finding.severity, finding.line, finding.message);
        let mut lines: Vec<String> = report.findings.iter().map(told).collect();
        lines.extend(unmade.then(|| format!("warning: {UNMADE}")));
        lines.push(format!("{} resource(s): {errors} error(s), {warnings} warning(s)", catalog.resources().len()));
        print(&lines.join("\n"))?;
    }
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A finding for programs.
fn finding(severity: Severity, file: &str, line: usize, message: &str) -> Value {
    json!({ "severity": severity.as_str(), "file": file, "line": line, "message": message })
}
