//! Apps: made, changed, removed, and who may sign in to a closed one.

use identity::event::{Change, Record};
use store::apps::{self, Access, App};
use store::records::Transaction;
use uuid::Uuid;

use crate::chance;

use super::{Administration, Fault, readable};

/// What to change of an app; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct AppChange {
    /// `name`
    pub name: Option<String>,
    /// `url`
    pub url: Option<String>,
    /// Who may sign in to it.
    pub access: Option<Access>,
}

impl Administration<'_> {
    /// Makes an app.
    pub async fn create_app(&self, code: &str, new: AppChange) -> Result<App, Fault> {
        self.need("hub.app.create")?;
        let app = App {
            id: chance::id(),
            code: readable("an app's code", code)?,
            name: readable("an app's name", new.name.as_deref().unwrap_or(code))?,
            url: new.url,
            access: new.access.unwrap_or(Access::Open),
        };
        let mut transaction = self.records.begin().await?;
        let inserted = apps::insert(&mut transaction, &app, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, "an app with this code"))?;
        self.finish(transaction, Record::App(app.id), Change::Created).await?;
        Ok(app)
    }

    /// Changes an app.
    pub async fn update_app(&self, code: &str, change: AppChange) -> Result<App, Fault> {
        self.need("hub.app.update")?;
        let mut transaction = self.records.begin().await?;
        let mut app = known(&mut transaction, code).await?;
        app.name = readable("an app's name", change.name.as_deref().unwrap_or(&app.name))?;
        app.url = change.url.or(app.url);
        app.access = change.access.unwrap_or(app.access);
        apps::update(&mut transaction, &app, self.occasion.now).await?;
        self.finish(transaction, Record::App(app.id), Change::Updated).await?;
        Ok(app)
    }

    /// Removes an app; its clients belong to none from now on.
    pub async fn remove_app(&self, code: &str) -> Result<(), Fault> {
        self.need("hub.app.delete")?;
        let mut transaction = self.records.begin().await?;
        let app = known(&mut transaction, code).await?;
        apps::remove(&mut transaction, app.id).await?;
        self.finish(transaction, Record::App(app.id), Change::Removed).await
    }

    /// Lists an account for an app.
    pub async fn admit(&self, code: &str, account: Uuid) -> Result<(), Fault> {
        self.need("hub.appAccount.create")?;
        let mut transaction = self.records.begin().await?;
        let app = known(&mut transaction, code).await?;
        apps::admit(&mut transaction, chance::id(), (app.id, account), self.occasion.now).await?;
        self.finish(transaction, Record::App(app.id), Change::Updated).await
    }

    /// Takes an account off an app's list.
    pub async fn expel(&self, code: &str, account: Uuid) -> Result<(), Fault> {
        self.need("hub.appAccount.delete")?;
        let mut transaction = self.records.begin().await?;
        let app = known(&mut transaction, code).await?;
        apps::expel(&mut transaction, app.id, account).await?;
        self.finish(transaction, Record::App(app.id), Change::Updated).await
    }
}

async fn known(transaction: &mut Transaction, code: &str) -> Result<App, Fault> {
    apps::by_code(transaction, code).await?.ok_or_else(|| Fault::Unknown(format!("there is no app {code:?}")))
}
