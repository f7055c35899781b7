//! Apps: made, changed, removed, and who may sign in to a closed one.

use identity::account::Account;
use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use identity::client::{Client, ClientId};
use identity::timestamp::Timestamp;
use serde_json::{Map, Value, json};
use store::hub_records::apps::{self, Access, App};
use store::hub_records::{accounts, clients};
use uuid::Uuid;

use crate::random;

use super::{Administration, Fault, Which, Work, fields, readable};

/// The longest address of an app.
pub(crate) const LONGEST_ADDRESS: usize = 2_000;

const TAKEN: &str = "an app with this code";

/// What to change of an app; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct AppChange {
    /// `code`
    pub code: Option<String>,
    /// `name`
    pub name: Option<String>,
    /// `url`
    pub url: Option<String>,
    /// Who may sign in to it.
    pub access: Option<Access>,
}

impl Administration<'_> {
    /// Makes an app; it is named by its code if by nothing else.
    pub async fn create_app(&self, code: &str, new: AppChange) -> Result<App, Fault> {
        let mut work = self.begin("hub.app.create").await?;
        let app = App {
            id: random::uuid(),
            code: chosen_code(code)?,
            name: readable("an app's name", new.name.as_deref().unwrap_or(code))?,
            url: new.url.as_deref().map(address).transpose()?,
            access: new.access.unwrap_or(Access::Open),
        };
        let inserted = apps::insert(&mut work.transaction, &app, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, TAKEN))?;
        self.finish(work, ChangedRecord::App(app.id), RecordChange::Created).await?;
        Ok(app)
    }

    /// Changes an app.
    pub async fn update_app(&self, which: Which<'_>, change: AppChange) -> Result<App, Fault> {
        let mut work = self.begin("hub.app.update").await?;
        let mut app = work.app(which).await?;
        let old = describe_app(&app);
        if let Some(code) = change.code.filter(|code| *code != app.code) {
            app.code = chosen_code(&code)?;
        }
        app.name = readable("an app's name", change.name.as_deref().unwrap_or(&app.name))?;
        if let Some(url) = &change.url {
            app.url = Some(address(url)?);
        }
        app.access = change.access.unwrap_or(app.access);
        let updated = apps::update(&mut work.transaction, &app, self.occasion.now).await;
        updated.map_err(|error| Fault::named(error, TAKEN))?;
        let altered = ChangedFields::between(&old, &describe_app(&app), &["code", "name", "url", "isClosed"]);
        self.finish(work, ChangedRecord::App(app.id), RecordChange::Updated(altered)).await?;
        Ok(app)
    }

    /// Removes an app; its clients get apps of their own, which are closed if it was.
    pub async fn remove_app(&self, which: Which<'_>) -> Result<(), Fault> {
        let mut work = self.begin("hub.app.delete").await?;
        let app = work.app(which).await?;
        let clients = clients::of_app(&mut work.transaction, app.id).await?;
        apps::remove(&mut work.transaction, app.id).await?;
        for client in clients {
            work.give_own_app(client, app.access, self.occasion.now).await?;
        }
        self.finish(work, ChangedRecord::App(app.id), RecordChange::Removed).await
    }

    /// Lists an account for an app: the id of the new row, or nothing if it is listed already.
    pub async fn admit(&self, which: Which<'_>, account: Uuid) -> Result<Option<Uuid>, Fault> {
        let mut work = self.begin("hub.appAccount.create").await?;
        let app = work.app(which).await.map_err(|fault| at("/appId", fault))?;
        let found = accounts::by_id(&mut work.transaction, account).await?.filter(|account: &Account| account.deleted_at.is_none());
        found.ok_or_else(|| at("/accountId", Fault::Unknown(format!("there is no account {account}"))))?;
        let id = random::uuid();
        if !apps::admit(&mut work.transaction, id, app.id, account, self.occasion.now).await? {
            return Ok(None);
        }
        self.finish(work, ChangedRecord::Listing { app: app.id, account }, RecordChange::Created).await?;
        Ok(Some(id))
    }

    /// Takes an account off an app's list; whether it was there.
    pub async fn expel(&self, which: Which<'_>, account: Uuid) -> Result<bool, Fault> {
        let mut work = self.begin("hub.appAccount.delete").await?;
        let app = work.app(which).await?;
        let was_listed = apps::expel(&mut work.transaction, app.id, account).await?;
        if was_listed {
            self.finish(work, ChangedRecord::Listing { app: app.id, account }, RecordChange::Removed).await?;
        }
        Ok(was_listed)
    }

    /// Takes the row with this id off the list it is on.
    pub async fn unlist(&self, listing: Uuid) -> Result<(), Fault> {
        let mut work = self.begin("hub.appAccount.delete").await?;
        let found = apps::listing(&mut work.transaction, listing).await?;
        let (app, account) = found.ok_or_else(|| Fault::Unknown(format!("no list has a row {listing}")))?;
        apps::expel(&mut work.transaction, app, account).await?;
        self.finish(work, ChangedRecord::Listing { app, account }, RecordChange::Removed).await
    }
}

impl Work {
    async fn app(&mut self, which: Which<'_>) -> Result<App, Fault> {
        let found = match which {
            Which::Name(code) => apps::by_code(&mut self.transaction, code).await?,
            Which::Id(id) => apps::by_id(&mut self.transaction, id).await?,
        };
        found.ok_or_else(|| Fault::Unknown(format!("there is no app {which}")))
    }

    /// The id of an app that a client names, which has to exist.
    pub(super) async fn known_app(&mut self, id: Uuid) -> Result<Uuid, Fault> {
        let app = self.app(Which::Id(id)).await.map_err(|fault| at("/appId", fault))?;
        Ok(app.id)
    }

    /// Gives a client the app of its own, since the one that it had is gone. Whom that kept out, this one does too.
    async fn give_own_app(&mut self, mut client: Client, access: Access, now: Timestamp) -> Result<(), Fault> {
        client.app = Some(match apps::by_code(&mut self.transaction, &own_code(&client.id)).await? {
            Some(mut own) => {
                if access == Access::Closed {
                    own.access = Access::Closed;
                    apps::update(&mut self.transaction, &own, now).await?;
                }
                own.id
            }
            None => self.make_own_app(&client.id, &client.name, access, now).await?,
        });
        Ok(clients::update(&mut self.transaction, &client, now).await?)
    }

    /// Makes the app of a client that names none.
    pub(super) async fn make_own_app(&mut self, client: &ClientId, name: &str, access: Access, now: Timestamp) -> Result<Uuid, Fault> {
        let app = App { id: random::uuid(), code: own_code(client), name: name.to_owned(), url: None, access };
        let inserted = apps::insert(&mut self.transaction, &app, now).await;
        inserted.map_err(|error| Fault::named(error, TAKEN))?;
        Ok(app.id)
    }

    /// Removes the app that was made for a client that is gone, unless others belong to it by now, which it may be closed for.
    pub(super) async fn remove_own_app(&mut self, client: &ClientId) -> Result<(), Fault> {
        Ok(apps::remove_unused(&mut self.transaction, &own_code(client)).await?)
    }
}

/// What can be changed of an app.
pub(crate) fn describe_app(app: &App) -> Map<String, Value> {
    fields([
        ("code", json!(app.code)),
        ("name", json!(app.name)),
        ("url", json!(app.url)),
        ("isClosed", json!(app.access == Access::Closed)),
    ])
}

/// Begins the codes of apps that are made for clients.
const OWN: &str = "client:";

/// The code of the app that is made for a client.
fn own_code(client: &ClientId) -> String {
    format!("{OWN}{}", client.as_str())
}

/// A code that somebody chooses for an app.
fn chosen_code(code: &str) -> Result<String, Fault> {
    if code.starts_with(OWN) {
        return Err(Fault::Invalid(format!("codes that begin with `{OWN}` are those of the apps that clients get for themselves")));
    }
    readable("an app's code", code)
}

/// What is unknown was named by the input, not by the address.
fn at(path: &str, fault: Fault) -> Fault {
    match fault {
        Fault::Unknown(message) => Fault::Absent { path: path.to_owned(), message },
        other => other,
    }
}

fn address(text: &str) -> Result<String, Fault> {
    check_address(text).map_err(Fault::invalid)?;
    Ok(text.to_owned())
}

/// Whether pages may link to it: nothing but the web, so that no link runs code.
pub(crate) fn check_address(text: &str) -> Result<(), &'static str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let fits = text.len() <= LONGEST_ADDRESS
        && rest.is_some_and(|rest| !rest.starts_with('/') && !rest.is_empty())
        && !text.chars().any(|character| character.is_control() || character.is_whitespace());
    fits.then_some(()).ok_or("an app's url begins with https:// or http:// and is at most 2000 bytes without spaces and control characters")
}
