//! Each operation, carried out by the administration.

use std::collections::BTreeSet;

use identity::account::AccountKind;
use identity::client::{GrantType, Lifetimes, SECRET_OVERLAP_SECONDS};
use identity::link::LinkPurpose;
use identity::opaque::ClientSecret;
use identity::password::{Password, PasswordHash};
use serde_json::{Value, json};
use store::apps::Access;
use store::endings::Over;
use uuid::Uuid;

use crate::administration::{AccountChange, Administration, AppChange, ClientChange, Fault, NewAccount, NewClient, RoleChange, Which};
use crate::error::Problem;
use crate::hub::Hub;

use super::fault::{InputCode, one, refused, unhashed};
use super::input::Input;
use super::{Action, Operation};

/// What came of an operation: the key of its record, and what is told beside it.
pub(super) struct Done {
    pub(super) key: String,
    pub(super) more: Vec<(&'static str, Value)>,
}

impl Done {
    fn with(key: &(impl ToString + ?Sized), more: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        Done { key: key.to_string(), more: more.into_iter().collect() }
    }

    fn secret(key: &impl ToString, secret: &ClientSecret) -> Self {
        Done::with(key, [("secret", Value::from(secret.expose().as_str()))])
    }

    fn ended(key: &Uuid, over: &Over) -> Self {
        Done::with(key, [("sessions", over.sessions.len().into()), ("grants", over.families.len().into())])
    }
}

/// What an operation is carried out with.
pub(super) struct Performer<'a> {
    pub(super) hub: &'a Hub,
    pub(super) administration: Administration<'a>,
    /// The id in the address, which names a record or nothing.
    pub(super) id: &'a str,
    /// Where the input stands.
    pub(super) base: &'a str,
    pub(super) input: Input,
}

impl Performer<'_> {
    pub(super) async fn perform(self, operation: &Operation) -> Result<Done, Problem> {
        match operation.action {
            Action::CreateAccount | Action::SetAccountPassword => self.with_password(operation.action).await,
            Action::CreateClient | Action::UpdateClient | Action::RotateClientSecret | Action::DeleteClient => {
                self.client(operation.action).await.map_err(|fault| refused(fault, self.base))
            }
            Action::CreateRole | Action::CreateTenant | Action::CreateApp | Action::CreateAppAccount => {
                self.made(operation.action).await.map_err(|fault| refused(fault, self.base))
            }
            action => {
                let id = self.uuid()?;
                self.by_id(action, id).await.map_err(|fault| refused(fault, self.base))
            }
        }
    }

    fn uuid(&self) -> Result<Uuid, Problem> {
        Uuid::try_parse(self.id).map_err(|_| one(InputCode::Identifier, "/id".to_owned(), "the id is a uuid"))
    }

    /// The two that may take a password, which is hashed before anything is locked.
    async fn with_password(&self, action: Action) -> Result<Done, Problem> {
        let (input, administration) = (&self.input, self.administration);
        let refused = |fault: Fault| refused(fault, self.base);
        if action == Action::SetAccountPassword {
            let id = self.uuid()?;
            let hash = self.password().await?;
            let missing = || one(InputCode::Missing, format!("{}/password", self.base), "`password` or `passwordHash` is needed");
            administration.set_password(id, &hash.ok_or_else(missing)?).await.map_err(refused)?;
            return Ok(Done::with(&id, []));
        }
        let new = NewAccount {
            kind: input.text("type").and_then(AccountKind::from_word).unwrap_or(AccountKind::User),
            code: input.owned("code"),
            username: input.owned("username"),
            email: input.owned("email"),
            tags: input.texts("tags").unwrap_or_default(),
            scopes: input.texts("scopes").unwrap_or_default(),
            roles: input.texts("roles").unwrap_or_default(),
            tenants: input.ids("tenants").unwrap_or_default(),
            meta: input.object("meta").unwrap_or_default(),
            password: self.password().await?,
        };
        let account = administration.create_account(new).await.map_err(refused)?;
        Ok(Done::with(&account.id, []))
    }

    async fn password(&self) -> Result<Option<PasswordHash>, Problem> {
        match (self.input.text("password"), self.input.text("passwordHash")) {
            (Some(_), Some(_)) => {
                let message = "a password and a hash exclude each other; send one of them";
                Err(one(InputCode::Value, format!("{}/passwordHash", self.base), message))
            }
            (Some(text), None) => {
                let password = Password::chosen(text).map_err(|_| Problem::Internal)?;
                let ticket = self.hub.hasher().admit().map_err(|fault| unhashed(&fault))?;
                ticket.make(password).await.map(Some).map_err(|fault| unhashed(&fault))
            }
            (None, Some(text)) => PasswordHash::parse(text).map(Some).map_err(|_| Problem::Internal),
            (None, None) => Ok(None),
        }
    }

    /// What is made without a secret.
    async fn made(&self, action: Action) -> Result<Done, Fault> {
        let (input, administration) = (&self.input, self.administration);
        let key = match action {
            Action::CreateRole => administration.create_role(input.required("name"), self.role()).await?.id,
            Action::CreateTenant => {
                let name = input.required("name");
                administration.create_tenant(input.id("id"), input.text("code").unwrap_or(name), name).await?.id
            }
            Action::CreateApp => administration.create_app(input.required("code"), self.app()).await?.id,
            _ => {
                let (app, account) = (input.id("appId").unwrap_or_default(), input.id("accountId").unwrap_or_default());
                let listed = administration.admit(Which::Id(app), account).await?;
                listed.ok_or_else(|| Fault::Exists("the account is listed for this app already".to_owned()))?
            }
        };
        Ok(Done::with(&key, []))
    }

    fn role(&self) -> RoleChange {
        let input = &self.input;
        RoleChange { name: input.owned("name"), description: input.owned("description"), permissions: input.texts("permissions") }
    }

    fn app(&self) -> AppChange {
        let input = &self.input;
        let access = input.flag("isClosed").map(|closed| if closed { Access::Closed } else { Access::Open });
        AppChange { code: input.owned("code"), name: input.owned("name"), url: input.owned("url"), access }
    }

    /// What is done to a record whose id is a uuid.
    async fn by_id(&self, action: Action, id: Uuid) -> Result<Done, Fault> {
        let (input, administration) = (&self.input, self.administration);
        match action {
            Action::UpdateAccount => {
                administration.update_account(id, self.account()).await?;
            }
            Action::DeleteAccount => administration.remove_account(id).await?,
            Action::InviteAccount => return self.link(id, LinkPurpose::Invitation).await,
            Action::ResetAccount => return self.link(id, LinkPurpose::Reset).await,
            Action::EndAccountSessions => return Ok(Done::ended(&id, &administration.end_sessions_of(id).await?)),
            Action::EndSession => return Ok(Done::ended(&id, &administration.end_session(id).await?)),
            Action::UpdateRole => {
                administration.update_role(Which::Id(id), self.role()).await?;
            }
            Action::DeleteRole => administration.remove_role(Which::Id(id)).await?,
            Action::UpdateTenant => {
                administration.update_tenant(id, input.text("code"), input.text("name")).await?;
            }
            Action::DeleteTenant => administration.remove_tenant(id).await?,
            Action::UpdateApp => {
                administration.update_app(Which::Id(id), self.app()).await?;
            }
            Action::DeleteApp => administration.remove_app(Which::Id(id)).await?,
            _ => administration.unlist(id).await?,
        }
        Ok(Done::with(&id, []))
    }

    fn account(&self) -> AccountChange {
        let input = &self.input;
        AccountChange {
            code: input.owned("code"),
            username: input.owned("username"),
            email: input.owned("email"),
            active: input.flag("isActive"),
            tags: input.texts("tags"),
            scopes: input.texts("scopes"),
            roles: input.texts("roles"),
            tenants: input.ids("tenants"),
            meta: input.object("meta"),
        }
    }

    async fn link(&self, id: Uuid, purpose: LinkPurpose) -> Result<Done, Fault> {
        let token = self.administration.make_link(id, purpose).await?;
        let address = format!("{}/password?link={}", self.hub.issuer(), *token.expose());
        Ok(Done::with(&id, [("link", Value::from(address)), ("expiresIn", json!(purpose.seconds()))]))
    }

    async fn client(&self, action: Action) -> Result<Done, Fault> {
        let (input, administration) = (&self.input, self.administration);
        let grants = || {
            let words = input.texts("grants")?;
            Some(words.iter().filter_map(|word| GrantType::from_word(word)).collect::<BTreeSet<_>>())
        };
        let (access, refresh) = (input.number("accessTokenSeconds"), input.number("refreshTokenSeconds"));
        match action {
            Action::CreateClient => {
                let usual = Lifetimes::default();
                let lifetimes = Lifetimes::new(access.unwrap_or(usual.access_seconds()), refresh.unwrap_or(usual.refresh_seconds()));
                let new = NewClient {
                    id: input.required("id").to_owned(),
                    name: input.required("name").to_owned(),
                    redirect: input.required("redirect").to_owned(),
                    grants: grants(),
                    lifetimes: lifetimes.map_err(|fault| Fault::Invalid(fault.to_string()))?,
                    app: input.id("appId"),
                };
                let (client, secret) = administration.create_client(new).await?;
                Ok(Done::secret(&client.id, &secret))
            }
            Action::UpdateClient => {
                let change = ClientChange {
                    name: input.owned("name"),
                    redirect: input.owned("redirect"),
                    grants: grants(),
                    active: input.flag("isActive"),
                    app: input.id("appId"),
                    access_seconds: access,
                    refresh_seconds: refresh,
                };
                Ok(Done::with(&administration.update_client(self.id, change).await?.id, []))
            }
            Action::RotateClientSecret => {
                let (client, secret) = administration.renew_secret(self.id).await?;
                let mut done = Done::secret(&client.id, &secret);
                done.more.push(("previousCountsFor", json!(SECRET_OVERLAP_SECONDS)));
                Ok(done)
            }
            _ => {
                administration.remove_client(self.id).await?;
                Ok(Done::with(self.id, []))
            }
        }
    }
}
