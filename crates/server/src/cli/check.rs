//! `peristyle check`

use std::process::ExitCode;

use serde_json::json;
use store::check::Severity;

use crate::boot;
use crate::config::Config;
use crate::refusal::BootError;

use super::{Failure, Output, print};

pub(super) async fn run(config: &Config, output: Output) -> Result<ExitCode, Failure> {
    let mut catalog = boot::catalog(config)?;
    let database = boot::open(("DATABASE_URL", &config.database_url), &config.database, &catalog)?;
    let report = boot::bind(&mut catalog, &database).await.map_err(|BootError(message)| Failure(message))?;
    let file = config.manifest.path().display().to_string();
    let errors = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let word = |severity: Severity| if severity == Severity::Error { "error" } else { "warning" };
    if output == Output::Json {
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|finding| json!({ "severity": word(finding.severity), "file": file, "line": finding.line, "message": finding.message }))
            .collect();
        print(&json!({ "errors": errors, "warnings": report.findings.len() - errors, "resources": catalog.resources().len(), "findings": findings }).to_string());
    } else {
        for finding in &report.findings {
            print(&format!("{}: {file}:{}: {}", word(finding.severity), finding.line, finding.message));
        }
        print(&format!("{} resource(s): {errors} error(s), {} warning(s)", catalog.resources().len(), report.findings.len() - errors));
    }
    Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
