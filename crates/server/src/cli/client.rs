//! `peristyle client`

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Subcommand;
use identity::client::{Client, GrantType, SECRET_OVERLAP_SECONDS};
use identity::lifetime::{ACCESS_TOKEN_SECONDS, Lifetimes, REFRESH_TOKEN_SECONDS};
use serde_json::{Value, json};
use store::hub_records::{apps, clients};
use uuid::Uuid;

use crate::administration::{ClientChange, NewClient, describe_client};
use crate::clock;
use crate::config::Config;

use super::app::by_code;
use super::desk::Desk;
use super::print::hand_over;
use super::show::{Table, merge, unknown};
use super::{Administered, Failure, usage};

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    /// Make a client and print its secret, once
    #[command(after_help = "Example:\n  peristyle client add --id shop --name Shop --redirect https://shop.example/callback")]
    Add(Box<Add>),
    /// List clients
    #[command(after_help = "Example:\n  peristyle client list")]
    List,
    /// Show one client: its redirect, grants and app, without its secret
    #[command(after_help = "Example:\n  peristyle client show --id shop")]
    Show(Named),
    /// Change a client; deactivating it ends its grants
    #[command(after_help = "Example:\n  peristyle client update --id shop --active false")]
    Update(Box<Update>),
    /// Make a new secret and print it, once; the old one counts for a day more
    #[command(after_help = "Example:\n  peristyle client secret --id shop")]
    Secret(Named),
    /// Remove a client and all it was granted
    #[command(after_help = "Example:\n  peristyle client remove --id shop")]
    Remove(Named),
}

#[derive(Debug, clap::Args)]
pub(super) struct Named {
    /// Its id
    #[arg(long)]
    id: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct Add {
    #[command(flatten)]
    named: Named,
    /// What people call it
    #[arg(long)]
    name: String,
    /// The one address that codes go to
    #[arg(long)]
    redirect: String,
    /// authorization_code, refresh_token or password; repeat for several. The first two when left out
    #[arg(long = "grant", value_parser = grant)]
    grants: Vec<GrantType>,
    /// Let its access tokens change the hub's records over HTTP, where their account may
    #[arg(long)]
    administers: bool,
    /// The code of the app it belongs to
    #[arg(long)]
    app: Option<String>,
    /// How long access tokens live
    #[arg(long, default_value_t = ACCESS_TOKEN_SECONDS, value_parser = usage::seconds, allow_negative_numbers = true)]
    access_token_seconds: i64,
    /// How long refresh tokens live
    #[arg(long, default_value_t = REFRESH_TOKEN_SECONDS, value_parser = usage::seconds, allow_negative_numbers = true)]
    refresh_token_seconds: i64,
}

#[derive(Debug, clap::Args)]
pub(super) struct Update {
    #[command(flatten)]
    named: Named,
    /// Whether it can be used
    #[arg(long, action = clap::ArgAction::Set)]
    active: Option<bool>,
    /// Whether its access tokens may change the hub's records over HTTP, where their account may
    #[arg(long, action = clap::ArgAction::Set)]
    administers: Option<bool>,
    /// What people call it
    #[arg(long)]
    name: Option<String>,
    /// The one address that codes go to
    #[arg(long)]
    redirect: Option<String>,
    /// A grant, in place of those it has; repeat for several
    #[arg(long = "grant", value_parser = grant)]
    grants: Vec<GrantType>,
    /// The code of the app it belongs to
    #[arg(long)]
    app: Option<String>,
    /// How long access tokens live
    #[arg(long, value_parser = usage::seconds, allow_negative_numbers = true)]
    access_token_seconds: Option<i64>,
    /// How long refresh tokens live
    #[arg(long, value_parser = usage::seconds, allow_negative_numbers = true)]
    refresh_token_seconds: Option<i64>,
}

fn grant(word: &str) -> Result<GrantType, String> {
    GrantType::from_word(word).ok_or_else(|| "authorization_code, refresh_token or password is expected".to_owned())
}

/// The grants that were named; none means that nothing is said of them.
fn named(grants: Vec<GrantType>) -> Option<BTreeSet<GrantType>> {
    (!grants.is_empty()).then(|| grants.into_iter().collect())
}

fn shown(client: &Client) -> Value {
    let mut object = json!({ "id": client.id.as_str() });
    merge(&mut object, Value::Object(describe_client(client)));
    object
}

async fn show(desk: &Desk, id: &str) -> Result<ExitCode, Failure> {
    let Some(client) = clients::by_id(&desk.records, id).await? else {
        let known: Vec<String> = clients::list(&desk.records).await?.iter().map(|client| client.id.to_string()).collect();
        return Err(unknown(&format!("client {id:?}"), id, &known, "client"));
    };
    let app = match client.app {
        Some(app) => apps::by_id(&desk.records, app).await?.map(|app| app.code),
        None => None,
    };
    let previous = client.secret.previous.map(|(_, until)| until).filter(|until| *until > desk.now).map(clock::rfc3339);
    let secret = previous.as_ref().map_or("set".to_owned(), |until| format!("set; the one before it counts until {until}"));
    let grants: Vec<&str> = client.grants.iter().map(|grant| grant.as_str()).collect();
    let table = Table::default()
        .row("id", client.id.as_str())
        .row("name", &client.name)
        .row("redirect", client.redirect.as_str())
        .list("grants", &grants)
        .row("active", if client.is_active { "yes" } else { "no" })
        .row("administers", if client.administers { "yes" } else { "no" })
        .row("access tokens", format!("{} seconds", client.lifetimes.access_seconds()))
        .row("refresh tokens", format!("{} seconds", client.lifetimes.refresh_seconds()))
        .maybe("app", app.as_deref())
        .row("secret", secret);
    let mut object = shown(&client);
    merge(&mut object, json!({ "app": app, "previousSecretUntil": previous }));
    desk.show(&table, &object)
}

async fn app(desk: &Desk, code: Option<&str>) -> Result<Option<Uuid>, Failure> {
    let Some(code) = code else { return Ok(None) };
    Ok(Some(by_code(desk, code).await?.id))
}

/// An object in every case: what is shown once is copied by programs more often than by people.
fn hand_over_secret(client: &Client, object: &Value) -> Result<ExitCode, Failure> {
    let again = format!("`peristyle client secret --id {}` makes another", client.id);
    hand_over(&object.to_string(), &format!("the secret of client {} was made", client.id), &again)?;
    Ok(ExitCode::SUCCESS)
}

pub(super) async fn run(config: &Config, arguments: Administered<Action>) -> Result<ExitCode, Failure> {
    let desk = Desk::open(config, arguments.output()).await?;
    match arguments.action {
        Action::Add(add) => {
            let new = NewClient {
                app: app(&desk, add.app.as_deref()).await?,
                id: add.named.id,
                name: add.name,
                redirect: add.redirect,
                grants: named(add.grants),
                lifetimes: Lifetimes::new(add.access_token_seconds, add.refresh_token_seconds)?,
                administers: add.administers,
            };
            let (client, secret) = desk.administration().create_client(new).await?;
            hand_over_secret(&client, &json!({ "id": client.id.as_str(), "secret": *secret.expose() }))
        }
        Action::List => {
            let clients = clients::list(&desk.records).await?;
            let line = |client: &Client| {
                let state = if client.is_active { "active" } else { "inactive" };
                let administers = if client.administers { ", administers" } else { "" };
                format!("{}\t{}\t{}\t{state}{administers}", client.id, client.name, client.redirect.as_str())
            };
            desk.list("clients", &clients.iter().map(line).collect::<Vec<_>>(), clients.iter().map(shown).collect())
        }
        Action::Show(named) => show(&desk, &named.id).await,
        Action::Update(update) => {
            let change = ClientChange {
                app: app(&desk, update.app.as_deref()).await?,
                name: update.name,
                redirect: update.redirect,
                grants: named(update.grants),
                active: update.active,
                administers: update.administers,
                access_seconds: update.access_token_seconds,
                refresh_seconds: update.refresh_token_seconds,
            };
            if change == ClientChange::default() {
                return Err(Failure(
                    "nothing to update: name --active, --administers, --name, --redirect, --grant, --app, --access-token-seconds or --refresh-token-seconds"
                        .to_owned(),
                ));
            }
            let client = desk.administration().update_client(&update.named.id, change).await?;
            desk.answer(&format!("client {} was updated", client.id), &shown(&client))
        }
        Action::Secret(named) => {
            let (client, secret) = desk.administration().renew_secret(&named.id).await?;
            let object = json!({ "id": client.id.as_str(), "secret": *secret.expose(), "previousCountsFor": SECRET_OVERLAP_SECONDS });
            hand_over_secret(&client, &object)
        }
        Action::Remove(named) => {
            desk.administration().remove_client(&named.id).await?;
            desk.answer(&format!("client {} was removed", named.id), &json!({ "removed": named.id }))
        }
    }
}
