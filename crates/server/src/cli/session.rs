//! `peristyle session`: lists, shows and ends sessions.

use std::collections::BTreeSet;

use clap::Subcommand;
use serde_json::{Value, json};
use store::hub_records::sessions::{self, SessionDetails};
use store::hub_records::summaries::{self, ClientInUse};
use uuid::Uuid;

use crate::clock;
use crate::hub::user_agent;

use super::admin_context::{AdminContext, RecordTable, RecordsUse, not_found};
use super::{CommandError, usage};

const MAX_LISTED: i64 = 1_000;

#[derive(Debug, Subcommand)]
pub(super) enum SessionAction {
    /// List live sessions: id, account id, account name, clients, start, last use, client address, browser
    #[command(after_help = "Example:\n  peristyle session list --username ana")]
    List {
        /// Only the sessions of this username or email
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
    End(SessionSelector),
}

impl SessionAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            SessionAction::List { .. } | SessionAction::Show { .. } => RecordsUse::Read,
            SessionAction::End(_) => RecordsUse::Change,
        }
    }
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct SessionSelector {
    /// The session's id
    #[arg(long, value_parser = usage::id)]
    id: Option<Uuid>,
    /// The account's username or email
    #[arg(long)]
    username: Option<String>,
}

struct SessionRow {
    seen: SessionDetails,
    account: String,
    clients: Vec<ClientInUse>,
}

impl SessionRow {
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

    fn to_json(&self) -> Value {
        let SessionDetails { session, device, address, last_used_at } = &self.seen;
        json!({
            "id": session.id.to_string(), "account": session.account.to_string(), "accountName": self.account, "device": device,
            "address": address, "clients": self.client_ids(), "apps": self.app_codes(), "authenticatedAt": session.authenticated_at.unix(),
            "lastUsedAt": last_used_at.unix(), "expiresAt": session.expires_at.unix(),
        })
    }
}

async fn with_names(context: &AdminContext, all: Vec<SessionDetails>) -> Result<Vec<SessionRow>, CommandError> {
    let accounts: Vec<Uuid> = all.iter().map(|seen| seen.session.account).collect();
    let names = summaries::account_names(&context.records, &accounts).await?;
    let ids: Vec<Uuid> = all.iter().map(|seen| seen.session.id).collect();
    let clients = summaries::clients_in_use(&context.records, &ids).await?;
    let row = |seen: SessionDetails| SessionRow {
        account: names.get(&seen.session.account).cloned().unwrap_or_else(|| "-".to_owned()),
        clients: clients.iter().filter(|used| used.session == seen.session.id).cloned().collect(),
        seen,
    };
    Ok(all.into_iter().map(row).collect())
}

async fn show(context: &AdminContext, id: Uuid) -> Result<(), CommandError> {
    let found = sessions::find(&context.records, id).await?;
    let Some(row) = with_names(context, found.into_iter().collect()).await?.pop() else {
        return Err(not_found("session", id, ""));
    };
    let SessionDetails { session, device: browser, address, last_used_at } = &row.seen;
    let state = match session.ended_at {
        Some(_) => "ended",
        None if session.expires_at <= context.now => "expired",
        None => "live",
    };
    let in_app = |used: &ClientInUse| match &used.app {
        Some(app) => format!("{} (app {app})", used.client),
        None => used.client.clone(),
    };
    let table = RecordTable::default()
        .row("id", session.id)
        .row("account", format!("{} ({})", row.account, session.account))
        .row("state", state)
        .list("clients", &row.clients.iter().map(in_app).collect::<Vec<_>>())
        .row("started", clock::rfc3339(session.authenticated_at))
        .row("last used", clock::rfc3339(*last_used_at))
        .row("expires", clock::rfc3339(session.expires_at))
        .optional("ended", session.ended_at.map(clock::rfc3339).as_deref())
        .optional("address", address.as_deref())
        .row("device", user_agent::name(browser.as_deref()))
        .optional("user agent", browser.as_deref());
    let object = json!({
        "id": session.id.to_string(), "account": session.account.to_string(), "accountName": row.account, "state": state,
        "clients": row.client_ids(), "apps": row.app_codes(), "address": address, "device": browser,
        "startedAt": clock::rfc3339(session.authenticated_at), "lastUsedAt": clock::rfc3339(*last_used_at),
        "expiresAt": clock::rfc3339(session.expires_at), "endedAt": session.ended_at.map(clock::rfc3339),
    });
    context.show(&table, object, Value::Null)
}

pub(super) async fn run(context: &AdminContext, action: SessionAction) -> Result<(), CommandError> {
    let (records, administration) = (&context.records, context.administration());
    match action {
        SessionAction::List { username } => {
            let sessions = match username {
                Some(name) => sessions::of_account(records, context.account(&name).await?.id, None, MAX_LISTED, context.now).await?.seen,
                None => sessions::list(records, MAX_LISTED, context.now).await?,
            };
            context.list("sessions", &with_names(context, sessions).await?, SessionRow::line, SessionRow::to_json)
        }
        SessionAction::Show { id } => show(context, id).await,
        SessionAction::End(SessionSelector { id, username }) => {
            let ended = match username {
                Some(name) => administration.end_sessions_of(context.account(&name).await?.id).await?,
                None => administration.end_session(id.unwrap_or_default()).await?,
            };
            let (sessions, grants) = (ended.sessions.len(), ended.families.len());
            context.print_change(
                &format!("{sessions} session(s) and {grants} grant(s) were ended"),
                json!({ "sessions": sessions, "grants": grants }),
            )
        }
    }
}
