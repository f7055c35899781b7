//! `peristyle session`

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};
use store::hub_records::sessions::{self, SessionDetails};
use store::hub_records::summaries::{self, ClientInUse};
use uuid::Uuid;

use crate::clock;
use crate::config::Config;
use crate::hub::user_agent;

use super::desk::Desk;
use super::show::{Table, unknown};
use super::{Administered, Failure, usage};

/// The most sessions that are listed.
const MOST: i64 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// List live sessions: id, account, name, clients, start, last use, client address, browser
    #[command(after_help = "Example:\n  peristyle session list --username ana")]
    List {
        /// Those of this username or email only
        #[arg(long)]
        username: Option<String>,
    },
    /// Show one session, live or ended
    #[command(after_help = "Example:\n  peristyle session show --id 0b8f1c1e-6a1f-4a39-9d0c-2f5a3b7c9d10")]
    Show {
        /// Its id
        #[arg(long, value_parser = usage::id)]
        id: Uuid,
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

/// A session with the names that belong to it.
struct Named {
    seen: SessionDetails,
    account: String,
    clients: Vec<ClientInUse>,
}

impl Named {
    fn client_ids(&self) -> Vec<&str> {
        self.clients.iter().map(|used| used.client.as_str()).collect()
    }

    fn app_codes(&self) -> BTreeSet<&str> {
        self.clients.iter().filter_map(|used| used.app.as_deref()).collect()
    }

    fn line(&self) -> String {
        let seen = &self.seen;
        let clients = if self.clients.is_empty() { "-".to_owned() } else { self.client_ids().join(",") };
        let (started, used) = (clock::rfc3339(seen.session.authenticated_at), clock::rfc3339(seen.last_used_at));
        let address = seen.address.as_deref().unwrap_or("-");
        let device = user_agent::name(seen.device.as_deref());
        let (id, account, name) = (seen.session.id, seen.session.account, &self.account);
        format!("{id}\t{account}\t{name}\t{clients}\t{started}\t{used}\t{address}\t{device}")
    }

    fn shown(&self) -> Value {
        let SessionDetails { session, device, address, last_used_at } = &self.seen;
        json!({
            "id": session.id.to_string(), "account": session.account.to_string(), "accountName": self.account, "device": device,
            "address": address, "clients": self.client_ids(), "apps": self.app_codes(), "authenticatedAt": session.authenticated_at.unix(),
            "lastUsedAt": last_used_at.unix(), "expiresAt": session.expires_at.unix(),
        })
    }
}

/// Looks up what accounts are called, and which clients are used.
async fn named(desk: &Desk, all: Vec<SessionDetails>) -> Result<Vec<Named>, Failure> {
    let accounts: Vec<Uuid> = all.iter().map(|seen| seen.session.account).collect();
    let names = summaries::account_names(&desk.records, &accounts).await?;
    let ids: Vec<Uuid> = all.iter().map(|seen| seen.session.id).collect();
    let clients = summaries::clients_in_use(&desk.records, &ids).await?;
    let with_names = |seen: SessionDetails| Named {
        account: names.get(&seen.session.account).cloned().unwrap_or_else(|| "-".to_owned()),
        clients: clients.iter().filter(|used| used.session == seen.session.id).cloned().collect(),
        seen,
    };
    Ok(all.into_iter().map(with_names).collect())
}

async fn show(desk: &Desk, id: Uuid) -> Result<ExitCode, Failure> {
    let found = sessions::find(&desk.records, id).await?;
    let Some(named) = named(desk, found.into_iter().collect()).await?.pop() else {
        return Err(unknown(&format!("session {id}"), "", &[], "session"));
    };
    let SessionDetails { session, device: browser, address, last_used_at } = &named.seen;
    let state = match session.ended_at {
        Some(_) => "ended",
        None if session.expires_at <= desk.now => "expired",
        None => "live",
    };
    let in_app = |used: &ClientInUse| match &used.app {
        Some(app) => format!("{} (app {app})", used.client),
        None => used.client.clone(),
    };
    let table = Table::default()
        .row("id", session.id.to_string())
        .row("account", format!("{} ({})", named.account, session.account))
        .row("state", state)
        .list("clients", &named.clients.iter().map(in_app).collect::<Vec<_>>())
        .row("started", clock::rfc3339(session.authenticated_at))
        .row("last used", clock::rfc3339(*last_used_at))
        .row("expires", clock::rfc3339(session.expires_at))
        .maybe("ended", session.ended_at.map(clock::rfc3339).as_deref())
        .maybe("address", address.as_deref())
        .row("device", user_agent::name(browser.as_deref()))
        .maybe("user agent", browser.as_deref());
    let object = json!({
        "id": session.id.to_string(), "account": session.account.to_string(), "accountName": named.account, "state": state,
        "clients": named.client_ids(), "apps": named.app_codes(), "address": address, "device": browser,
        "startedAt": clock::rfc3339(session.authenticated_at), "lastUsedAt": clock::rfc3339(*last_used_at),
        "expiresAt": clock::rfc3339(session.expires_at), "endedAt": session.ended_at.map(clock::rfc3339),
    });
    desk.show(&table, &object)
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    match arguments.action {
        Action::List { username } => {
            let seen = match username {
                Some(name) => sessions::of_account(&desk.records, desk.account(&name).await?.id, None, MOST, desk.now).await?.seen,
                None => sessions::list(&desk.records, MOST, desk.now).await?,
            };
            let all = named(&desk, seen).await?;
            desk.list("sessions", &all.iter().map(Named::line).collect::<Vec<_>>(), all.iter().map(Named::shown).collect())
        }
        Action::Show { id } => show(&desk, id).await,
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
