//! Each operation, carried out by the administration.

use std::collections::BTreeSet;

use identity::account::AccountKind;
use identity::client::{GrantType, SECRET_OVERLAP_SECONDS};
use identity::lifetime::Lifetimes;
use identity::password::{Password, PasswordHash};
use identity::password_link::LinkPurpose;
use identity::secret_token::ClientSecret;
use serde_json::{Value, json};
use store::hub_records::apps::Access;
use store::hub_records::revocation::Revoked;
use uuid::Uuid;

use crate::administration::{AccountChange, Administration, AppChange, ClientChange, Fault, NewAccount, NewClient, RoleChange, Which};
use crate::hub::Hub;
use crate::problem::Problem;

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

    fn ended(key: &str, over: &Revoked) -> Self {
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

/// Why an operation was not carried out.
enum Stopped {
    Fault(Fault),
    Problem(Problem),
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Stopped::Fault(fault)
    }
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Self {
        Stopped::Problem(problem)
    }
}

impl Performer<'_> {
    pub(super) async fn perform(self, operation: &Operation) -> Result<Done, Problem> {
        self.carry_out(operation.action).await.map_err(|stopped| match stopped {
            Stopped::Fault(fault) => refused(fault, self.base),
            Stopped::Problem(problem) => problem,
        })
    }

    /// Every action by its name, so that a new one cannot fall into the arm of another.
    async fn carry_out(&self, action: Action) -> Result<Done, Stopped> {
        let (input, administration) = (&self.input, self.administration);
        match action {
            Action::CreateAccount => return self.create_account().await,
            Action::UpdateAccount => drop(administration.update_account(self.uuid()?, self.account()).await?),
            Action::DeleteAccount => administration.remove_account(self.uuid()?).await?,
            Action::InviteAccount => return self.link(LinkPurpose::Invitation).await,
            Action::ResetAccount => return self.link(LinkPurpose::Reset).await,
            Action::SetAccountPassword => self.set_password().await?,
            Action::EndAccountSessions => return Ok(Done::ended(&self.key(), &administration.end_sessions_of(self.uuid()?).await?)),
            Action::EndSession => return Ok(Done::ended(&self.key(), &administration.end_session(self.uuid()?).await?)),
            Action::CreateRole => return Ok(Done::with(&administration.create_role(input.required("name"), self.role()).await?.id, [])),
            Action::UpdateRole => drop(administration.update_role(Which::Id(self.uuid()?), self.role()).await?),
            Action::DeleteRole => administration.remove_role(Which::Id(self.uuid()?)).await?,
            Action::CreateTenant => return self.create_tenant().await,
            Action::UpdateTenant => drop(administration.update_tenant(self.uuid()?, input.text("code"), input.text("name")).await?),
            Action::DeleteTenant => administration.remove_tenant(self.uuid()?).await?,
            Action::CreateClient => return self.create_client().await,
            Action::UpdateClient => drop(administration.update_client(self.id, self.client()).await?),
            Action::RotateClientSecret => return self.renew_secret().await,
            Action::DeleteClient => administration.remove_client(self.id).await?,
            Action::CreateApp => return Ok(Done::with(&administration.create_app(input.required("code"), self.app()).await?.id, [])),
            Action::UpdateApp => drop(administration.update_app(Which::Id(self.uuid()?), self.app()).await?),
            Action::DeleteApp => administration.remove_app(Which::Id(self.uuid()?)).await?,
            Action::CreateAppAccount => return self.list().await,
            Action::DeleteAppAccount => administration.unlist(self.uuid()?).await?,
        }
        Ok(Done::with(&self.key(), []))
    }

    /// The id as the database spells it; that of a client is never a uuid.
    fn key(&self) -> String {
        self.uuid().map_or_else(|_| self.id.to_owned(), |id| id.to_string())
    }

    fn uuid(&self) -> Result<Uuid, Problem> {
        Uuid::try_parse(self.id).map_err(|_| one(InputCode::Identifier, "/id".to_owned(), "the id is a uuid"))
    }

    async fn create_account(&self) -> Result<Done, Stopped> {
        let input = &self.input;
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
            // Hashed before anything is locked.
            password: self.password().await?,
        };
        Ok(Done::with(&self.administration.create_account(new).await?.id, []))
    }

    async fn set_password(&self) -> Result<(), Stopped> {
        let id = self.uuid()?;
        let missing = || one(InputCode::Missing, format!("{}/password", self.base), "`password` or `passwordHash` is needed");
        let hash = self.password().await?.ok_or_else(missing)?;
        Ok(self.administration.set_password(id, &hash).await?)
    }

    async fn password(&self) -> Result<Option<PasswordHash>, Problem> {
        match (self.input.text("password"), self.input.text("passwordHash")) {
            (Some(_), Some(_)) => {
                let message = "a password and a hash exclude each other; send one of them";
                Err(one(InputCode::Value, format!("{}/passwordHash", self.base), message))
            }
            (Some(text), None) => {
                let password = Password::chosen(text).map_err(|_| Problem::Internal("a password that was checked is none"))?;
                let ticket = self.hub.hasher().admit().map_err(|fault| unhashed(&fault))?;
                ticket.make(password).await.map(Some).map_err(|fault| unhashed(&fault))
            }
            (None, Some(text)) => PasswordHash::parse(text).map(Some).map_err(|_| Problem::Internal("a hash that was checked is none")),
            (None, None) => Ok(None),
        }
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

    async fn link(&self, purpose: LinkPurpose) -> Result<Done, Stopped> {
        let token = self.administration.make_link(self.uuid()?, purpose).await?;
        let address = format!("{}/password?link={}", self.hub.issuer(), *token.expose());
        Ok(Done::with(&self.key(), [("link", Value::from(address)), ("expiresIn", json!(purpose.seconds()))]))
    }

    fn role(&self) -> RoleChange {
        let input = &self.input;
        RoleChange { name: input.owned("name"), description: input.owned("description"), permissions: input.texts("permissions") }
    }

    async fn create_tenant(&self) -> Result<Done, Stopped> {
        let (input, name) = (&self.input, self.input.required("name"));
        let made = self.administration.create_tenant(input.id("id"), input.text("code").unwrap_or(name), name).await?;
        Ok(Done::with(&made.id, []))
    }

    fn app(&self) -> AppChange {
        let input = &self.input;
        let access = input.flag("isClosed").map(|closed| if closed { Access::Closed } else { Access::Open });
        AppChange { code: input.owned("code"), name: input.owned("name"), url: input.owned("url"), access }
    }

    async fn list(&self) -> Result<Done, Stopped> {
        let (app, account) = (self.input.id("appId").unwrap_or_default(), self.input.id("accountId").unwrap_or_default());
        let listed = self.administration.admit(Which::Id(app), account).await?;
        let row = listed.ok_or_else(|| Fault::Exists("the account is listed for this app already".to_owned()))?;
        Ok(Done::with(&row, []))
    }

    fn grants(&self) -> Option<BTreeSet<GrantType>> {
        Some(self.input.texts("grants")?.iter().filter_map(|word| GrantType::from_word(word)).collect())
    }

    async fn create_client(&self) -> Result<Done, Stopped> {
        let (input, usual) = (&self.input, Lifetimes::default());
        let access = input.number("accessTokenSeconds").unwrap_or(usual.access_seconds());
        let refresh = input.number("refreshTokenSeconds").unwrap_or(usual.refresh_seconds());
        let new = NewClient {
            id: input.required("id").to_owned(),
            name: input.required("name").to_owned(),
            redirect: input.required("redirect").to_owned(),
            grants: self.grants(),
            lifetimes: Lifetimes::new(access, refresh).map_err(|fault| Fault::Invalid(fault.to_string()))?,
            administers: input.flag("administers").unwrap_or_default(),
            app: input.id("appId"),
        };
        let (client, secret) = self.administration.create_client(new).await?;
        Ok(Done::secret(&client.id, &secret))
    }

    fn client(&self) -> ClientChange {
        let input = &self.input;
        ClientChange {
            name: input.owned("name"),
            redirect: input.owned("redirect"),
            grants: self.grants(),
            active: input.flag("isActive"),
            administers: input.flag("administers"),
            app: input.id("appId"),
            access_seconds: input.number("accessTokenSeconds"),
            refresh_seconds: input.number("refreshTokenSeconds"),
        }
    }

    async fn renew_secret(&self) -> Result<Done, Stopped> {
        let (client, secret) = self.administration.renew_secret(self.id).await?;
        let mut done = Done::secret(&client.id, &secret);
        done.more.push(("previousCountsFor", json!(SECRET_OVERLAP_SECONDS)));
        Ok(done)
    }
}
