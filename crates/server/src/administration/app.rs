//! Creates, changes and removes apps, and the lists of accounts that can sign in to closed apps.

use identity::account::Account;
use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use identity::client::{Client, ClientId};
use identity::timestamp::Timestamp;
use serde_json::{Map, Value, json};
use store::hub_records::apps::{self, Access, App};
use store::hub_records::{accounts, clients};
use uuid::Uuid;

use crate::random;

use super::{AdminError, Administration, ChangeTransaction, NameOrId, NullableChange, exists, fields, invalid, parse_name};

pub(crate) const MAX_APP_URL_BYTES: usize = 2_000;

const TAKEN: &str = "an app with this code";

/// A change of an app; a field that is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppChange {
    pub code: Option<String>,
    pub name: Option<String>,
    pub url: NullableChange,
    pub access: Option<Access>,
}

impl Administration<'_> {
    pub async fn create_app(&self, code: &str, new: AppChange) -> Result<App, AdminError> {
        let mut tx = self.begin("hub.app.create").await?;
        let app = App {
            id: random::uuid(),
            code: parse_code(code)?,
            name: parse_name("an app's name", new.name.as_deref().unwrap_or(code))?,
            url: new.url.parse(None, parse_url)?,
            access: new.access.unwrap_or(Access::Open),
        };
        apps::insert(&mut tx.records, &app, self.audit_context.now).await.map_err(exists(TAKEN, &["code"]))?;
        self.finish(tx, ChangedRecord::App(app.id), RecordChange::Created).await?;
        Ok(app)
    }

    pub async fn update_app(&self, which: NameOrId<'_>, change: AppChange) -> Result<App, AdminError> {
        let mut tx = self.begin("hub.app.update").await?;
        let mut app = tx.app(which).await?;
        let old = describe_app(&app);
        if let Some(code) = change.code.filter(|code| *code != app.code) {
            app.code = parse_code(&code)?;
        }
        app.name = parse_name("an app's name", change.name.as_deref().unwrap_or(&app.name))?;
        app.url = change.url.parse(app.url, parse_url)?;
        app.access = change.access.unwrap_or(app.access);
        apps::update(&mut tx.records, &app, self.audit_context.now).await.map_err(exists(TAKEN, &["code"]))?;
        let altered = ChangedFields::between(&old, &describe_app(&app), &["code", "name", "url", "isClosed"]);
        self.finish(tx, ChangedRecord::App(app.id), RecordChange::Updated(altered)).await?;
        Ok(app)
    }

    /// Removes an app. Each of its clients gets an app of its own, closed if this one was.
    pub async fn remove_app(&self, which: NameOrId<'_>) -> Result<(), AdminError> {
        let mut tx = self.begin("hub.app.delete").await?;
        let app = tx.app(which).await?;
        let clients = clients::of_app(&mut tx.records, app.id).await?;
        apps::remove(&mut tx.records, app.id).await?;
        for client in clients {
            tx.give_own_app(client, app.access, self.audit_context.now).await?;
        }
        self.finish(tx, ChangedRecord::App(app.id), RecordChange::Removed).await
    }

    /// Adds an account to the list of an app: the id of the new row, or nothing if it is on the list already.
    pub async fn admit(&self, which: NameOrId<'_>, account: Uuid) -> Result<Option<Uuid>, AdminError> {
        let mut tx = self.begin("hub.appAccount.create").await?;
        let app = tx.app(which).await.map_err(|error| at("/appId", error))?;
        let found = accounts::by_id(&mut tx.records, account).await?.filter(|account: &Account| account.deleted_at.is_none());
        found.ok_or_else(|| at("/accountId", AdminError::NotFound(format!("there is no account {account}"))))?;
        let id = random::uuid();
        if !apps::admit(&mut tx.records, id, app.id, account, self.audit_context.now).await? {
            return Ok(None);
        }
        self.finish(tx, ChangedRecord::Listing { app: app.id, account }, RecordChange::Created).await?;
        Ok(Some(id))
    }

    /// Removes an account from the list of an app. Returns whether it was on the list.
    pub async fn expel(&self, which: NameOrId<'_>, account: Uuid) -> Result<bool, AdminError> {
        let mut tx = self.begin("hub.appAccount.delete").await?;
        let app = tx.app(which).await?;
        let was_listed = apps::expel(&mut tx.records, app.id, account).await?;
        if was_listed {
            self.finish(tx, ChangedRecord::Listing { app: app.id, account }, RecordChange::Removed).await?;
        }
        Ok(was_listed)
    }

    pub async fn unlist(&self, listing: Uuid) -> Result<(), AdminError> {
        let mut tx = self.begin("hub.appAccount.delete").await?;
        let found = apps::listing(&mut tx.records, listing).await?;
        let (app, account) = found.ok_or_else(|| AdminError::NotFound(format!("there is no list row {listing}")))?;
        apps::expel(&mut tx.records, app, account).await?;
        self.finish(tx, ChangedRecord::Listing { app, account }, RecordChange::Removed).await
    }
}

impl ChangeTransaction {
    async fn app(&mut self, which: NameOrId<'_>) -> Result<App, AdminError> {
        let found = match which {
            NameOrId::Name(code) => apps::by_code(&mut self.records, code).await?,
            NameOrId::Id(id) => apps::by_id(&mut self.records, id).await?,
        };
        found.ok_or_else(|| AdminError::NotFound(format!("there is no app {which}")))
    }

    pub(super) async fn existing_app(&mut self, id: Uuid) -> Result<Uuid, AdminError> {
        let app = self.app(NameOrId::Id(id)).await.map_err(|error| at("/appId", error))?;
        Ok(app.id)
    }

    /// Moves a client from a removed app to an app of its own. If the removed app was closed, so is this one.
    async fn give_own_app(&mut self, mut client: Client, access: Access, now: Timestamp) -> Result<(), AdminError> {
        client.app = Some(match apps::by_code(&mut self.records, &own_code(&client.id)).await? {
            Some(mut own) => {
                if access == Access::Closed {
                    own.access = Access::Closed;
                    apps::update(&mut self.records, &own, now).await?;
                }
                own.id
            }
            None => self.make_own_app(&client.id, &client.name, access, now).await?,
        });
        Ok(clients::update(&mut self.records, &client, now).await?)
    }

    pub(super) async fn make_own_app(&mut self, client: &ClientId, name: &str, access: Access, now: Timestamp) -> Result<Uuid, AdminError> {
        let app = App { id: random::uuid(), code: own_code(client), name: name.to_owned(), url: None, access };
        apps::insert(&mut self.records, &app, now).await.map_err(exists(TAKEN, &["id"]))?;
        Ok(app.id)
    }

    /// Removes the own app of a removed client, unless other clients belong to it.
    pub(super) async fn remove_own_app(&mut self, client: &ClientId) -> Result<(), AdminError> {
        Ok(apps::remove_unused(&mut self.records, &own_code(client)).await?)
    }
}

pub(crate) fn describe_app(app: &App) -> Map<String, Value> {
    fields([
        ("id", json!(app.id.to_string())),
        ("code", json!(app.code)),
        ("name", json!(app.name)),
        ("url", json!(app.url)),
        ("isClosed", json!(app.access == Access::Closed)),
    ])
}

const OWN_PREFIX: &str = "client:";

fn own_code(client: &ClientId) -> String {
    format!("{OWN_PREFIX}{}", client.as_str())
}

fn parse_code(code: &str) -> Result<String, AdminError> {
    if code.starts_with(OWN_PREFIX) {
        return Err(AdminError::Invalid(format!(
            "an app's code must not begin with `{OWN_PREFIX}`, which is reserved for the own apps of clients"
        )));
    }
    parse_name("an app's code", code)
}

/// Makes "not found" a fault of the input: it names the record, not the path of the request.
fn at(path: &str, error: AdminError) -> AdminError {
    match error {
        AdminError::NotFound(message) => AdminError::UnknownReference { path: path.to_owned(), message },
        other => other,
    }
}

fn parse_url(text: &str) -> Result<String, AdminError> {
    check_app_url(text).map_err(invalid)?;
    Ok(text.to_owned())
}

/// Checks the URL of an app. Pages link to it, so a scheme that runs code is refused.
pub(crate) fn check_app_url(text: &str) -> Result<(), &'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = text.len() <= MAX_APP_URL_BYTES
        && rest.is_some_and(|rest| !rest.starts_with('/') && !rest.is_empty())
        && !text.chars().any(|character| character.is_control() || character.is_whitespace());
    fits.then_some(()).ok_or("an app's url begins with https:// or http:// and is at most 2000 bytes without spaces and control characters")
}
