//! `peristyle check`: checks the settings of the strategy, compares the manifest with the database, and prints what to fix.

use std::process::ExitCode;

use identity::account::Permission;
use identity::strategy::Strategy;
use query::catalog::Catalog;
use query::manifest::ManifestError;
use serde_json::{Value, json};
use store::Database;
use store::check::{Finding, Severity};
use store::hub_records::Records;

use crate::boot::{self, CatalogError, Content};
use crate::boot_error::{BootError, unusable};
use crate::config::{Config, ConfigErrors};

use super::output::{OutputFormat, print};
use super::{CommandError, replica_check};

/// What is to fix, and where.
#[derive(Default)]
struct Comparison {
    findings: Vec<Finding>,
    /// Errors and warnings about no line of the manifest.
    others: Vec<(Severity, String)>,
    resources: usize,
}

pub(super) async fn run(config: &Config, output: OutputFormat) -> Result<ExitCode, CommandError> {
    let settings = boot::check_role(config).err();
    let mut compared = match (compare(config).await, output) {
        (Ok(compared), _) => compared,
        (Err(error), OutputFormat::Text) => {
            let settings = settings.map_or(String::new(), |error| format!("{error}; "));
            return Err(CommandError(format!("{settings}{}", error.in_file(config))));
        }
        (Err(CatalogError::Manifest(ManifestError(faults))), OutputFormat::Json) => {
            let finding =
                |fault: query::manifest::ManifestFault| Finding { severity: Severity::Error, line: fault.line, message: fault.message };
            Comparison { findings: faults.into_iter().map(finding).collect(), ..Comparison::default() }
        }
        (Err(CatalogError::Boot(BootError(message))), OutputFormat::Json) => {
            Comparison { others: vec![(Severity::Error, message)], ..Comparison::default() }
        }
    };
    // A machine that checks the manifest need not have the secrets of the server.
    compared.others.extend(settings.map(|BootError(message)| (Severity::Warning, format!("`serve` refuses these settings: {message}"))));
    compared.print(&config.manifest.path().display().to_string(), output)
}

/// Prints invalid settings as `check` prints everything that is to fix.
pub(super) fn print_config_errors(errors: &ConfigErrors) -> Result<ExitCode, CommandError> {
    let others = errors.iter().map(|error| (Severity::Error, error.to_string())).collect();
    Comparison { others, ..Comparison::default() }.print("", OutputFormat::Json)
}

async fn compare(config: &Config) -> Result<Comparison, CatalogError> {
    let mut catalog = boot::resolve_catalog(config)?;
    let content = if config.strategy == Strategy::LocalProvider { Content::HubRecords } else { Content::Tables };
    let database = boot::open_existing(config, &catalog, content).await?;
    let mut findings = boot::check_catalog(config, &mut catalog, &database).await?.findings;
    findings.extend(database.invalid_values(&catalog).await.map_err(unusable)?);
    findings.extend(ungrantable_permissions(&catalog));
    findings.sort_by_key(|finding| finding.line);
    let open_resources = boot::open_resources(config, &catalog, usize::MAX);
    let warnings = open_resources.into_iter().chain(migration_hint(config, &database).await?.map(str::to_owned));
    let warnings = warnings.chain(replica_check::warnings(config, &catalog, &database).await?);
    let others = warnings.map(|warning| (Severity::Warning, warning)).collect();
    Ok(Comparison { findings, others, resources: catalog.resources().len() })
}

/// What to run if the hub's own tables need a migration, which no change of the manifest can replace.
async fn migration_hint(config: &Config, database: &Database) -> Result<Option<&'static str>, BootError> {
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

impl Comparison {
    fn print(&self, file: &str, output: OutputFormat) -> Result<ExitCode, CommandError> {
        let severities = || self.findings.iter().map(|finding| finding.severity).chain(self.others.iter().map(|(severity, _)| *severity));
        let errors = severities().filter(|severity| *severity == Severity::Error).count();
        let warnings = severities().count() - errors;
        print(&match output {
            OutputFormat::Text => self.text(file, (errors, warnings)),
            OutputFormat::Json => self.to_json(file, (errors, warnings)).to_string(),
        })?;
        Ok(if errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn text(&self, file: &str, (errors, warnings): (usize, usize)) -> String {
        let line = |finding: &Finding| format!("{}: {file}:{}: {}", finding.severity.as_str(), finding.line, finding.message);
        let mut lines: Vec<String> = self.findings.iter().map(line).collect();
        lines.extend(self.others.iter().map(|(severity, message)| format!("{}: {message}", severity.as_str())));
        lines.push(format!("{} resource(s): {errors} error(s), {warnings} warning(s)", self.resources));
        lines.join("\n")
    }

    fn to_json(&self, file: &str, (errors, warnings): (usize, usize)) -> Value {
        let at_line =
            |found: &Finding| json!({ "severity": found.severity.as_str(), "file": file, "line": found.line, "message": found.message });
        let mut findings: Vec<Value> = self.findings.iter().map(at_line).collect();
        findings.extend(self.others.iter().map(|(severity, message)| json!({ "severity": severity.as_str(), "message": message })));
        json!({ "errors": errors, "warnings": warnings, "resources": self.resources, "findings": findings })
    }
}
