//! `peristyle client`: adds, lists, shows, changes and removes OAuth clients, and renews their secrets.

use std::collections::BTreeSet;

use clap::Subcommand;
use identity::client::{Client, GrantType, SECRET_OVERLAP_SECONDS};
use identity::lifetime::{ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS};
use serde_json::{Value, json};
use store::hub_records::{apps, clients};
use uuid::Uuid;

use crate::administration::{ClientChange, describe_client};
use crate::clock;

use super::admin_context::{AdminContext, CodeOrId, RecordTable, RecordsUse, not_found, require_change, similar};
use super::output::print_once;
use super::{CommandError, app, usage};

#[derive(Debug, Subcommand)]
pub(super) enum ClientAction {
    /// Add a client and print its secret, once
    #[command(after_help = "Example:\n  peristyle client add --id shop --name Shop --redirect https://shop.example/callback")]
    Add(Box<AddClient>),
    /// List clients
    #[command(after_help = "Example:\n  peristyle client list")]
    List,
    /// Show one client: its redirect, grants and app, without its secret
    #[command(after_help = "Example:\n  peristyle client show --id shop")]
    Show(ClientSelector),
    /// Change a client; deactivating it ends its grants
    #[command(after_help = "Example:\n  peristyle client update --id shop --active false")]
    Update(Box<UpdateClient>),
    /// Generate a new secret and print it, once; the old secret stays valid for one more day
    #[command(after_help = "Example:\n  peristyle client secret --id shop")]
    Secret(ClientSelector),
    /// Remove a client and its grants
    #[command(after_help = "Example:\n  peristyle client remove --id shop")]
    Remove(ClientSelector),
}

impl ClientAction {
    pub(super) fn records_use(&self) -> RecordsUse {
        match self {
            ClientAction::Add(_) => RecordsUse::Add,
            ClientAction::List | ClientAction::Show(_) => RecordsUse::Read,
            ClientAction::Update(_) | ClientAction::Secret(_) | ClientAction::Remove(_) => RecordsUse::Change,
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ClientSelector {
    /// Its id
    #[arg(long)]
    id: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct AddClient {
    #[command(flatten)]
    client: ClientSelector,
    /// Its display name
    #[arg(long)]
    name: String,
    /// Its redirect URI, where authorization codes are sent
    #[arg(long)]
    redirect: String,
    /// authorization_code, refresh_token or password; repeat for several. By default the first two
    #[arg(long = "grant", value_parser = parse_grant)]
    grants: Vec<GrantType>,
    /// Allow its access tokens to change the hub's records over HTTP, if their account may
    #[arg(long)]
    administers: bool,
    /// The code of the app it belongs to
    #[arg(long)]
    app: Option<String>,
    /// How many seconds access tokens are valid
    #[arg(long, default_value_t = ACCESS_TOKEN_SECONDS, value_parser = usage::seconds, allow_negative_numbers = true)]
    access_token_seconds: i64,
    /// How many seconds refresh tokens are valid
    #[arg(long, default_value_t = REFRESH_TOKEN_SECONDS, value_parser = usage::seconds, allow_negative_numbers = true)]
    refresh_token_seconds: i64,
}

#[derive(Debug, clap::Args)]
pub(super) struct UpdateClient {
    #[command(flatten)]
    client: ClientSelector,
    /// Whether it is active: true or false
    #[arg(long, action = clap::ArgAction::Set)]
    active: Option<bool>,
    /// Whether its access tokens can change the hub's records over HTTP, if their account may: true or false
    #[arg(long, action = clap::ArgAction::Set)]
    administers: Option<bool>,
    /// Its display name
    #[arg(long)]
    name: Option<String>,
    /// Its redirect URI, where authorization codes are sent
    #[arg(long)]
    redirect: Option<String>,
    /// A grant that replaces those it has; repeat for several
    #[arg(long = "grant", value_parser = parse_grant)]
    grants: Vec<GrantType>,
    /// The code of the app it belongs to
    #[arg(long)]
    app: Option<String>,
    /// How many seconds access tokens are valid
    #[arg(long, value_parser = usage::seconds, allow_negative_numbers = true)]
    access_token_seconds: Option<i64>,
    /// How many seconds refresh tokens are valid
    #[arg(long, value_parser = usage::seconds, allow_negative_numbers = true)]
    refresh_token_seconds: Option<i64>,
}

fn parse_grant(word: &str) -> Result<GrantType, String> {
    GrantType::from_word(word).ok_or_else(|| "authorization_code, refresh_token or password is expected".to_owned())
}

fn grants(grants: Vec<GrantType>) -> Option<BTreeSet<GrantType>> {
    (!grants.is_empty()).then(|| grants.into_iter().collect())
}

async fn app_id(context: &AdminContext, code: Option<String>) -> Result<Option<Uuid>, CommandError> {
    match code {
        Some(_) => Ok(Some(app::find(context, &CodeOrId { code, id: None }).await?.id)),
        None => Ok(None),
    }
}

async fn find(context: &AdminContext, id: &str) -> Result<Client, CommandError> {
    let mut clients = clients::list(&context.records).await?;
    let Some(place) = clients.iter().position(|client| client.id.as_str() == id) else {
        let hint = similar(id, clients.iter().map(|client| client.id.as_str()));
        return Err(not_found("client", format!("{id:?}"), &hint));
    };
    Ok(clients.swap_remove(place))
}

async fn show(context: &AdminContext, id: &str) -> Result<(), CommandError> {
    let client = find(context, id).await?;
    let app = match client.app {
        Some(app) => apps::by_id(&context.records, app).await?.map(|app| app.code),
        None => None,
    };
    let previous = client.secret.previous.map(|(_, until)| until).filter(|until| *until > context.now).map(clock::rfc3339);
    let secret = previous.as_ref().map_or("set".to_owned(), |until| format!("set; the previous one is valid until {until}"));
    let grants: Vec<&str> = client.grants.iter().map(|grant| grant.as_str()).collect();
    let table = RecordTable::default()
        .row("id", &client.id)
        .row("name", &client.name)
        .row("redirect", client.redirect.as_str())
        .list("grants", &grants)
        .flag("active", client.is_active)
        .flag("administers", client.administers)
        .row("access tokens", format!("{} seconds", client.lifetimes.access_seconds()))
        .row("refresh tokens", format!("{} seconds", client.lifetimes.refresh_seconds()))
        .optional("app", app.as_deref())
        .row("secret", secret);
    context.show(&table, describe_client(&client), json!({ "app": app, "previousSecretUntil": previous }))
}

/// Prints an object in every format: programs copy a secret more often than people do.
fn print_secret(client: &Client, object: &Value) -> Result<(), CommandError> {
    let again = format!("`peristyle client secret --id {}` makes another", client.id);
    print_once(&object.to_string(), &format!("the secret of client {} was made", client.id), &again)
}

pub(super) async fn run(context: &AdminContext, action: ClientAction) -> Result<(), CommandError> {
    let administration = context.administration();
    match action {
        ClientAction::Add(add) => {
            let new = ClientChange {
                app: app_id(context, add.app).await?,
                name: Some(add.name),
                redirect: Some(add.redirect),
                grants: grants(add.grants),
                active: None,
                administers: Some(add.administers),
                access_seconds: Some(add.access_token_seconds),
                refresh_seconds: Some(add.refresh_token_seconds),
            };
            let (client, secret) =
                context.add(async |administration| administration.create_client(&add.client.id, new.clone()).await).await?;
            print_secret(&client, &json!({ "id": client.id.as_str(), "secret": *secret.expose() }))
        }
        ClientAction::List => {
            let line = |client: &Client| {
                let state = if client.is_active { "active" } else { "inactive" };
                let administers = if client.administers { ", administers" } else { "" };
                format!("{}\t{}\t{}\t{state}{administers}", client.id, client.name, client.redirect.as_str())
            };
            context.list("clients", &clients::list(&context.records).await?, line, describe_client)
        }
        ClientAction::Show(ClientSelector { id }) => show(context, &id).await,
        ClientAction::Update(update) => {
            let change = ClientChange {
                app: app_id(context, update.app).await?,
                name: update.name,
                redirect: update.redirect,
                grants: grants(update.grants),
                active: update.active,
                administers: update.administers,
                access_seconds: update.access_token_seconds,
                refresh_seconds: update.refresh_token_seconds,
            };
            let flags = "--active, --administers, --name, --redirect, --grant, --app, --access-token-seconds, --refresh-token-seconds";
            require_change(&change, flags)?;
            find(context, &update.client.id).await?;
            let client = administration.update_client(&update.client.id, change).await?;
            context.print_change(&format!("client {} was updated", client.id), describe_client(&client))
        }
        ClientAction::Secret(ClientSelector { id }) => {
            find(context, &id).await?;
            let (client, secret) = administration.renew_secret(&id).await?;
            let object = json!({ "id": client.id.as_str(), "secret": *secret.expose(), "previousCountsFor": SECRET_OVERLAP_SECONDS });
            print_secret(&client, &object)
        }
        ClientAction::Remove(ClientSelector { id }) => {
            find(context, &id).await?;
            administration.remove_client(&id).await?;
            context.print_change(&format!("client {id} was removed"), json!({ "removed": id }))
        }
    }
}
