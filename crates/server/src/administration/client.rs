//! Creates, changes and removes OAuth clients, and renews their secrets.

use std::collections::BTreeSet;

use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use identity::client::{Client, ClientId, GrantType, Redirect, SECRET_OVERLAP_SECONDS, SecretRecord};
use identity::lifetime::Lifetimes;
use identity::revocation::Revocation;
use identity::secret_token::ClientSecret;
use serde_json::{Map, Value, json};
use store::hub_records::apps::Access;
use store::hub_records::clients;
use uuid::Uuid;

use crate::random;

use super::{AdminError, Administration, ChangeTransaction, exists, fields, invalid, parse_name, taken};

const TAKEN: &str = "a client with this id";

/// The fields of a client to create or change; a field that is `None` has its default or stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientChange {
    pub name: Option<String>,
    pub redirect: Option<String>,
    pub grants: Option<BTreeSet<GrantType>>,
    pub active: Option<bool>,
    /// Whether its access tokens can change the hub's records.
    pub administers: Option<bool>,
    /// By default an app of its own.
    pub app: Option<Uuid>,
    pub access_seconds: Option<i64>,
    pub refresh_seconds: Option<i64>,
}

impl Administration<'_> {
    /// Creates a client. Only the caller gets its secret; the database holds a hash.
    pub async fn create_client(&self, id: &str, new: ClientChange) -> Result<(Client, ClientSecret), AdminError> {
        let mut tx = self.begin("oAuth.client.create").await?;
        let secret = ClientSecret::from_random(random::bytes()?);
        let id = ClientId::parse(id).map_err(invalid)?;
        let name = parse_name("a client's name", new.name.as_deref().unwrap_or_default())?;
        // Look the client up first: otherwise its own app would be reported as the duplicate.
        if clients::by_id(&mut tx.records, id.as_str()).await?.is_some() {
            return Err(taken(TAKEN, &["id"]));
        }
        let app = match new.app {
            Some(app) => tx.existing_app(app).await?,
            None => tx.make_own_app(&id, &name, Access::Open, self.audit_context.now).await?,
        };
        let client = Client {
            id,
            name,
            secret: SecretRecord::new(&secret),
            redirect: Redirect::register(new.redirect.as_deref().unwrap_or_default()).map_err(invalid)?,
            grants: new.grants.unwrap_or_else(|| GrantType::DEFAULT.into_iter().collect()),
            lifetimes: lifetimes(new.access_seconds, new.refresh_seconds, Lifetimes::default())?,
            is_active: new.active.unwrap_or(true),
            administers: new.administers.unwrap_or_default(),
            app: Some(app),
        };
        clients::insert(&mut tx.records, &client, self.audit_context.now).await.map_err(exists(TAKEN, &["id"]))?;
        self.finish(tx, ChangedRecord::Client(client.id.clone()), RecordChange::Created).await?;
        Ok((client, secret))
    }

    /// Changes a client. Deactivating it ends its grants.
    pub async fn update_client(&self, id: &str, change: ClientChange) -> Result<Client, AdminError> {
        let mut tx = self.begin("oAuth.client.update").await?;
        let mut client = tx.client(id).await?;
        let old = describe_client(&client);
        client.name = parse_name("a client's name", change.name.as_deref().unwrap_or(&client.name))?;
        if let Some(redirect) = &change.redirect {
            client.redirect = Redirect::register(redirect).map_err(invalid)?;
        }
        client.grants = change.grants.unwrap_or(client.grants);
        client.is_active = change.active.unwrap_or(client.is_active);
        client.administers = change.administers.unwrap_or(client.administers);
        client.app = change.app.or(client.app);
        client.lifetimes = lifetimes(change.access_seconds, change.refresh_seconds, client.lifetimes)?;
        if let Some(app) = change.app {
            tx.existing_app(app).await?;
        }
        clients::update(&mut tx.records, &client, self.audit_context.now).await?;
        if !client.is_active {
            self.end(&mut tx, &Revocation::ClientClosed(client.id.clone())).await?;
        }
        let new = describe_client(&client);
        // No field is private: `describe_client` leaves out the secret.
        let names: Vec<&str> = new.keys().map(String::as_str).collect();
        self.finish(tx, ChangedRecord::Client(client.id.clone()), RecordChange::Updated(ChangedFields::between(&old, &new, &names)))
            .await?;
        Ok(client)
    }

    /// Renews the secret of a client; the old one stays valid for one more day.
    pub async fn renew_secret(&self, id: &str) -> Result<(Client, ClientSecret), AdminError> {
        let mut tx = self.begin("oAuth.client.update").await?;
        let secret = ClientSecret::from_random(random::bytes()?);
        let mut client = tx.client(id).await?;
        client.secret = client.secret.renew(&secret, self.audit_context.now, SECRET_OVERLAP_SECONDS);
        clients::update(&mut tx.records, &client, self.audit_context.now).await?;
        self.finish(tx, ChangedRecord::Client(client.id.clone()), RecordChange::CredentialChanged).await?;
        Ok((client, secret))
    }

    pub async fn remove_client(&self, id: &str) -> Result<(), AdminError> {
        let mut tx = self.begin("oAuth.client.delete").await?;
        let client = tx.client(id).await?;
        self.end(&mut tx, &Revocation::ClientClosed(client.id.clone())).await?;
        clients::remove(&mut tx.records, &client.id).await?;
        tx.remove_own_app(&client.id).await?;
        self.finish(tx, ChangedRecord::Client(client.id), RecordChange::Removed).await
    }
}

impl ChangeTransaction {
    async fn client(&mut self, id: &str) -> Result<Client, AdminError> {
        let found = clients::by_id(&mut self.records, id).await?;
        found.ok_or_else(|| AdminError::NotFound(format!("there is no client {id:?}")))
    }
}

fn lifetimes(access: Option<i64>, refresh: Option<i64>, other: Lifetimes) -> Result<Lifetimes, AdminError> {
    Lifetimes::new(access.unwrap_or(other.access_seconds()), refresh.unwrap_or(other.refresh_seconds())).map_err(invalid)
}

/// The fields of a client, without its secret.
pub(crate) fn describe_client(client: &Client) -> Map<String, Value> {
    fields([
        ("id", json!(client.id.as_str())),
        ("name", json!(client.name)),
        ("redirect", json!(client.redirect.as_str())),
        ("grants", client.grants.iter().map(|grant| grant.as_str()).collect()),
        ("isActive", json!(client.is_active)),
        ("administers", json!(client.administers)),
        ("accessTokenSeconds", json!(client.lifetimes.access_seconds())),
        ("refreshTokenSeconds", json!(client.lifetimes.refresh_seconds())),
        ("appId", json!(client.app.map(|app| app.to_string()))),
    ])
}
