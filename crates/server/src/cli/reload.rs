//! `peristyle reload`: asks the serving process to read its manifest again, and waits for the outcome.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::config::Config;
use crate::reload::pid_file::{ReloadOutcome, ReloadStatus, RunningServer};

use super::CommandError;
use super::output::{OutputFormat, print_change};

const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a reload may read the schema of the database, beside its statements.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(30);

pub(super) async fn run(config: &Config, output: OutputFormat) -> Result<(), CommandError> {
    let refused = |problem: String| CommandError(format!("PID_FILE: {problem}"));
    let Some(path) = &config.pid_file else {
        let accepted = "accepted is the path that `peristyle serve` has in the same variable; or send SIGHUP to the process yourself";
        return Err(refused(format!("is missing; {accepted}")));
    };
    let server = RunningServer::find(path).map_err(refused)?;
    // A reload with this number may have read the manifest already. A later one reads it after this moment.
    let before = server.status().map_or(0, |status| status.number);
    server.hang_up().map_err(refused)?;
    match wait(&server, before, config.database.timeout + SCHEMA_TIMEOUT).await? {
        ReloadOutcome::Refused(reason) => Err(CommandError(format!("process {} kept the old manifest: {reason}", server.id()))),
        ReloadOutcome::Reading => Err(CommandError(format!("process {} did not finish in time; its log has the outcome", server.id()))),
        ReloadOutcome::Taken(resources) => {
            let text = format!("process {} reloaded the manifest: {resources} resource(s)", server.id());
            print_change(&output.choose(&text, &json!({ "process": server.id(), "resources": resources })))
        }
    }
}

/// Waits for the outcome of a reload after this number.
async fn wait(server: &RunningServer, before: u64, timeout: Duration) -> Result<ReloadOutcome, CommandError> {
    let deadline = Instant::now() + timeout;
    loop {
        match server.status() {
            Some(ReloadStatus { number, outcome: outcome @ (ReloadOutcome::Taken(_) | ReloadOutcome::Refused(_)) }) if number > before => {
                return Ok(outcome);
            }
            _ if !server.is_running() => return Err(CommandError(format!("process {} has ended", server.id()))),
            _ if Instant::now() > deadline => return Ok(ReloadOutcome::Reading),
            _ => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}
