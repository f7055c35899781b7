//! OAuth clients: made with a secret that is shown once, changed, given a new secret, removed.

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

use super::{Administration, Fault, Work, fields, readable};

const TAKEN: &str = "a client with this id";

/// A client to make.
#[derive(Clone, Debug)]
pub struct NewClient {
    /// `client_id`
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The one address that codes go to.
    pub redirect: String,
    /// What it may do; the code and refresh grants where it is not said.
    pub grants: Option<BTreeSet<GrantType>>,
    /// How long its tokens live.
    pub lifetimes: Lifetimes,
    /// Whether its tokens may change the hub's records.
    pub administers: bool,
    /// The app it belongs to; one of its own where it is not said.
    pub app: Option<Uuid>,
}

/// What to change of a client; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientChange {
    /// What people call it.
    pub name: Option<String>,
    /// The one address that codes go to.
    pub redirect: Option<String>,
    /// What it may do.
    pub grants: Option<BTreeSet<GrantType>>,
    /// Whether it counts.
    pub active: Option<bool>,
    /// Whether its tokens may change the hub's records.
    pub administers: Option<bool>,
    /// The app it belongs to.
    pub app: Option<Uuid>,
    /// How long its access tokens live.
    pub access_seconds: Option<i64>,
    /// How long its refresh tokens live.
    pub refresh_seconds: Option<i64>,
}

impl Administration<'_> {
    /// Makes a client; its secret is known here and nowhere else.
    pub async fn create_client(&self, new: NewClient) -> Result<(Client, ClientSecret), Fault> {
        let mut work = self.begin("oAuth.client.create").await?;
        let secret = ClientSecret::from_random(random::bytes()?);
        let id = ClientId::parse(&new.id).map_err(Fault::invalid)?;
        let name = readable("a client's name", &new.name)?;
        // Looked up first: its app exists too, and is not what somebody wanted to make.
        if clients::by_id(&mut work.transaction, id.as_str()).await?.is_some() {
            return Err(Fault::named(store::Error::Exists, TAKEN));
        }
        let app = match new.app {
            Some(app) => work.known_app(app).await?,
            None => work.make_own_app(&id, &name, Access::Open, self.occasion.now).await?,
        };
        let client = Client {
            id,
            name,
            secret: SecretRecord::new(&secret),
            redirect: Redirect::register(&new.redirect).map_err(Fault::invalid)?,
            grants: new.grants.unwrap_or_else(|| GrantType::DEFAULT.into_iter().collect()),
            lifetimes: new.lifetimes,
            is_active: true,
            administers: new.administers,
            app: Some(app),
        };
        let inserted = clients::insert(&mut work.transaction, &client, self.occasion.now).await;
        inserted.map_err(|error| Fault::named(error, TAKEN))?;
        self.finish(work, ChangedRecord::Client(client.id.clone()), RecordChange::Created).await?;
        Ok((client, secret))
    }

    /// Changes a client. Deactivating it ends its grants.
    pub async fn update_client(&self, id: &str, change: ClientChange) -> Result<Client, Fault> {
        let mut work = self.begin("oAuth.client.update").await?;
        let mut client = work.client(id).await?;
        let old = describe_client(&client);
        client.name = readable("a client's name", change.name.as_deref().unwrap_or(&client.name))?;
        if let Some(redirect) = &change.redirect {
            client.redirect = Redirect::register(redirect).map_err(Fault::invalid)?;
        }
        client.grants = change.grants.unwrap_or(client.grants);
        client.is_active = change.active.unwrap_or(client.is_active);
        client.administers = change.administers.unwrap_or(client.administers);
        client.app = change.app.or(client.app);
        let access = change.access_seconds.unwrap_or(client.lifetimes.access_seconds());
        let refresh = change.refresh_seconds.unwrap_or(client.lifetimes.refresh_seconds());
        client.lifetimes = Lifetimes::new(access, refresh).map_err(Fault::invalid)?;
        if let Some(app) = change.app {
            work.known_app(app).await?;
        }
        clients::update(&mut work.transaction, &client, self.occasion.now).await?;
        if !client.is_active {
            self.end(&mut work, &Revocation::ClientClosed(client.id.clone())).await?;
        }
        let new = describe_client(&client);
        // Nothing of a client but its secret is private, and that is not described.
        let told: Vec<&str> = new.keys().map(String::as_str).collect();
        self.finish(work, ChangedRecord::Client(client.id.clone()), RecordChange::Updated(ChangedFields::between(&old, &new, &told)))
            .await?;
        Ok(client)
    }

    /// Gives a client a new secret; the old one counts for a day more.
    pub async fn renew_secret(&self, id: &str) -> Result<(Client, ClientSecret), Fault> {
        let mut work = self.begin("oAuth.client.update").await?;
        let secret = ClientSecret::from_random(random::bytes()?);
        let mut client = work.client(id).await?;
        client.secret = client.secret.renew(&secret, self.occasion.now, SECRET_OVERLAP_SECONDS);
        clients::update(&mut work.transaction, &client, self.occasion.now).await?;
        self.finish(work, ChangedRecord::Client(client.id.clone()), RecordChange::CredentialChanged).await?;
        Ok((client, secret))
    }

    /// Removes a client and all it was granted.
    pub async fn remove_client(&self, id: &str) -> Result<(), Fault> {
        let mut work = self.begin("oAuth.client.delete").await?;
        let client = work.client(id).await?;
        self.end(&mut work, &Revocation::ClientClosed(client.id.clone())).await?;
        clients::remove(&mut work.transaction, &client.id).await?;
        work.remove_own_app(&client.id).await?;
        self.finish(work, ChangedRecord::Client(client.id), RecordChange::Removed).await
    }
}

impl Work {
    async fn client(&mut self, id: &str) -> Result<Client, Fault> {
        let found = clients::by_id(&mut self.transaction, id).await?;
        found.ok_or_else(|| Fault::Unknown(format!("there is no client {id:?}")))
    }
}

/// What can be changed of a client, its secret aside.
pub(crate) fn describe_client(client: &Client) -> Map<String, Value> {
    fields([
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
