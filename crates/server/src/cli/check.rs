//! `peristyle check`

use std::process::ExitCode;

use identity::strategy::Strategy;
use serde_json::json;
use store::Database;
use store::check::{Finding, Severity};
use store::records::Records;

use crate::boot;
use crate::config::Config;
use crate::refusal::BootError;

use super::print::print;
use super::{Failure, Output};

const UNMADE: &str = "the hub's own tables are not all there yet; `peristyle migrate` makes them, and so does `peristyle serve`";

/// Whether tables of the hub itself are missing, which are not the manifest's to mend.
async fn unmade(config: &Config, database: &Database) -> Result<bool, Failure> {
    if config.strategy != Strategy::LocalProvider {
        return Ok(false);
    }
    let failed = |error: store::Error| Failure(format!("DATABASE_URL: {error}"));
    Records::of(database).map_err(failed)?.is_pending().await.map_err(failed)
}

pub(super) async fn run(config: &Config, output: Output) -> Result<ExitCode, Failure> {
    let mut catalog = boot::catalog(config)?;
    let database = boot::open(("DATABASE_URL", &config.database_url), &config.database, &catalog)?;
    let mut report = boot::bind(&mut catalog, &database).await.map_err(|BootError(message)| Failure(message))?;
    report.findings.extend(database.misfits(&catalog).await.map_err(|error| Failure(format!("DATABASE_URL: {error}")))?);
    report.findings.sort_by_key(|finding| finding.line);
    let unmade = unmade(config, &database).await?;
    let file = config.manifest.path().display().to_string();
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let word = |severity: Severity| if severity == Severity::Error { "error" } else { "warning" };
    let warnings = report.findings.len() - errors + usize::from(unmade);
    if output == Output::Json {
        let mut findings: Vec<_> = report
            .findings
            .iter()
            .map(|finding| json!({ "severity": word(finding.severity), "file": file, "line": finding.line, "message": finding.message }))
            .collect();
        if unmade {
            findings.push(json!({ "severity": "warning", "message": UNMADE }));
        }
        print(
            &json!({ "errors": errors, "warnings": warnings, "resources": catalog.resources().len(), "findings": findings }).to_string(),
        )?;
    } else {
        let told = |finding: &Finding| format!("{}: {file}:{}: {}", word(finding.severity), finding.line, finding.message);
        let mut lines: Vec<String> = report.findings.iter().map(told).collect();
        lines.extend(unmade.then(|| format!("warning: {UNMADE}")));
        lines.push(format!("{} resource(s): {errors} error(s), {warnings} warning(s)", catalog.resources().len()));
        print(&lines.join("\n"))?;
    }
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
