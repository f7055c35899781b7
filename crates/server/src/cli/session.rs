//! `peristyle session`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use store::sessions::{self, Seen};
use uuid::Uuid;

use crate::config::Config;

use super::desk::Desk;
use super::{Administered, Failure, usage};

/// The most sessions that are listed.
const MOST: i64 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// List live sessions
    #[command(after_help = "Example:\n  peristyle session list --username ana")]
    List {
        /// Those of this username or email only
        #[arg(long)]
        username: Option<String>,
    },
    /// End a session, or all sessions and grants of an account
    #[command(after_help = "Example:\n  peristyle session end --username ana")]
    End(End),
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct End {
    /// The session's id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
    /// The account's username or email
    #[arg(long)]
    username: Option<String>,
}

fn shown(seen: &Seen) -> Value {
    json!({
        "id": seen.session.id.to_string(), "account": seen.session.account.to_string(), "device": seen.device, "address": seen.address,
        "authenticatedAt": seen.session.authenticated_at.unix(), "lastUsedAt": seen.last_used_at.unix(),
        "expiresAt": seen.session.expires_at.unix(),
    })
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    match arguments.action {
        Action::List { username } => {
            let seen = match username {
                Some(name) => sessions::of_account(&desk.records, desk.account(&name).await?.id, None, MOST, desk.now).await?.seen,
                None => sessions::list(&desk.records, MOST, desk.now).await?,
            };
            let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            let line = |seen: &Seen| {
                format!("{}\t{}\t{}\t{}", seen.session.id, seen.session.account, or_dash(&seen.address), or_dash(&seen.device))
            };
            desk.list("sessions", &seen.iter().map(line).collect::<Vec<_>>(), seen.iter().map(shown).collect())
        }
        Action::End(End { id, username }) => {
            let over = match (id, username) {
                (Some(id), _) => desk.administration().end_session(id).await?,
                (None, Some(name)) => desk.administration().end_sessions_of(desk.account(&name).await?.id).await?,
                (None, None) => return Err(Failure("name --id or --username".to_owned())),
            };
            let text = format!("{} session(s) and {} grant(s) were ended", over.sessions.len(), over.families.len());
            desk.answer(&text, &json!({ "sessions": over.sessions.len(), "grants": over.families.len() }))
        }
    }
}
