//! Executes each operation through the administration.

use identity::account::AccountKind;
use identity::client::{GrantType, SECRET_OVERLAP_SECONDS};
use identity::password::{Password, PasswordHash};
use identity::password_link::LinkPurpose;
use identity::secret_token::ClientSecret;
use serde_json::{Value, json};
use store::hub_records::apps::Access;
use store::hub_records::revocation::Revoked;
use uuid::Uuid;

use crate::administration::{AccountChange, AdminError, Administration, AppChange, ClientChange, NameOrId, RoleChange};
use crate::hub::Hub;
use crate::problem::Problem;

use super::AdminAction;
use super::input::CheckedInput;
use super::input_fault::{InputCode, not_hashed, one};

pub(super) struct Outcome {
    pub(super) key: String,
    pub(super) more: Vec<(&'static str, Value)>,
}

impl Outcome {
    fn with(key: &(impl ToString + ?Sized), more: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        Outcome { key: key.to_string(), more: more.into_iter().collect() }
    }

    fn secret(key: &impl ToString, secret: &ClientSecret) -> Self {
        Outcome::with(key, [("secret", Value::from(secret.expose().as_str()))])
    }

    fn of(key: &impl ToString) -> Self {
        Outcome::with(key, [])
    }

    fn ended(key: &str, over: &Revoked) -> Self {
        Outcome::with(key, [("sessions", over.sessions.len().into()), ("grants", over.families.len().into())])
    }
}

pub(super) struct Executor<'a> {
    pub(super) hub: &'a Hub,
    pub(super) administration: Administration<'a>,
    pub(super) key: String,
    /// The key as a UUID; nil for clients.
    pub(super) uuid: Uuid,
    pub(super) input: CheckedInput,
}

impl Executor<'_> {
    /// The match names every action, so that a new one cannot fall into the arm of another.
    pub(super) async fn execute(&self, action: AdminAction) -> Result<Outcome, Problem> {
        let (input, administration, id) = (&self.input, self.administration, self.uuid);
        match action {
            AdminAction::CreateAccount => return self.create_account().await,
            AdminAction::UpdateAccount => drop(administration.update_account(id, self.account_change()).await?),
            AdminAction::DeleteAccount => administration.remove_account(id).await?,
            AdminAction::InviteAccount => return self.make_link(LinkPurpose::Invitation).await,
            AdminAction::ResetAccount => return self.make_link(LinkPurpose::Reset).await,
            AdminAction::SetAccountPassword => self.set_password().await?,
            AdminAction::EndAccountSessions => return Ok(Outcome::ended(&self.key, &administration.end_sessions_of(id).await?)),
            AdminAction::EndSession => return Ok(Outcome::ended(&self.key, &administration.end_session(id).await?)),
            AdminAction::CreateRole => {
                return Ok(Outcome::of(&administration.create_role(input.required("name"), self.role_change()).await?.id));
            }
            AdminAction::UpdateRole => drop(administration.update_role(NameOrId::Id(id), self.role_change()).await?),
            AdminAction::DeleteRole => administration.remove_role(NameOrId::Id(id)).await?,
            AdminAction::CreateTenant => {
                let (name, code) = (input.required("name"), input.str("code"));
                return Ok(Outcome::of(&administration.create_tenant(input.id("id"), code.unwrap_or(name), name).await?.id));
            }
            AdminAction::UpdateTenant => drop(administration.update_tenant(id, input.str("code"), input.str("name")).await?),
            AdminAction::DeleteTenant => administration.remove_tenant(id).await?,
            AdminAction::CreateClient => {
                let (client, secret) = administration.create_client(input.required("id"), self.client_change()).await?;
                return Ok(Outcome::secret(&client.id, &secret));
            }
            AdminAction::UpdateClient => drop(administration.update_client(&self.key, self.client_change()).await?),
            AdminAction::RotateClientSecret => return self.renew_secret().await,
            AdminAction::DeleteClient => administration.remove_client(&self.key).await?,
            AdminAction::CreateApp => {
                return Ok(Outcome::of(&administration.create_app(input.required("code"), self.app_change()).await?.id));
            }
            AdminAction::UpdateApp => drop(administration.update_app(NameOrId::Id(id), self.app_change()).await?),
            AdminAction::DeleteApp => administration.remove_app(NameOrId::Id(id)).await?,
            AdminAction::CreateAppAccount => return self.admit().await,
            AdminAction::DeleteAppAccount => administration.unlist(id).await?,
        }
        Ok(Outcome::of(&self.key))
    }

    async fn create_account(&self) -> Result<Outcome, Problem> {
        let kind = self.input.str("type").and_then(AccountKind::from_word).unwrap_or(AccountKind::User);
        // Hash before the transaction takes its lock.
        let password = self.password().await?;
        Ok(Outcome::of(&self.administration.create_account(kind, self.account_change(), password.as_ref()).await?.id))
    }

    async fn set_password(&self) -> Result<(), Problem> {
        let missing = || one(InputCode::Missing, "/password".to_owned(), "`password` or `passwordHash` is needed");
        let hash = self.password().await?.ok_or_else(missing)?;
        Ok(self.administration.set_password(self.uuid, &hash).await?)
    }

    async fn password(&self) -> Result<Option<PasswordHash>, Problem> {
        match (self.input.str("password"), self.input.str("passwordHash")) {
            (Some(_), Some(_)) => {
                let message = "`password` and `passwordHash` exclude each other; send one of them";
                Err(one(InputCode::Value, "/passwordHash".to_owned(), message))
            }
            (Some(text), None) => {
                let password = Password::chosen(text).map_err(|_| Problem::Internal("a checked password is invalid"))?;
                let ticket = self.hub.hasher().admit().map_err(|fault| not_hashed(&fault))?;
                ticket.make(password).await.map(Some).map_err(|fault| not_hashed(&fault))
            }
            (None, Some(text)) => PasswordHash::parse(text).map(Some).map_err(|_| Problem::Internal("a checked hash is invalid")),
            (None, None) => Ok(None),
        }
    }

    fn account_change(&self) -> AccountChange {
        let input = &self.input;
        AccountChange {
            code: input.string("code"),
            username: input.nullable_string("username"),
            email: input.nullable_string("email"),
            active: input.boolean("isActive"),
            tags: input.strings("tags"),
            scopes: input.strings("scopes"),
            roles: input.strings("roles"),
            tenants: input.ids("tenants"),
            meta: input.object("meta"),
        }
    }

    async fn make_link(&self, purpose: LinkPurpose) -> Result<Outcome, Problem> {
        let token = self.administration.make_link(self.uuid, purpose).await?;
        let url = format!("{}/password?link={}", self.hub.issuer(), *token.expose());
        Ok(Outcome::with(&self.key, [("link", Value::from(url)), ("expiresIn", json!(purpose.seconds()))]))
    }

    fn role_change(&self) -> RoleChange {
        let input = &self.input;
        RoleChange {
            name: input.string("name"),
            description: input.nullable_string("description"),
            permissions: input.strings("permissions").into(),
        }
    }

    fn app_change(&self) -> AppChange {
        let input = &self.input;
        let access = input.boolean("isClosed").map(|closed| if closed { Access::Closed } else { Access::Open });
        AppChange { code: input.string("code"), name: input.string("name"), url: input.nullable_string("url"), access }
    }

    async fn admit(&self) -> Result<Outcome, Problem> {
        let (app, account) = (self.input.id("appId").unwrap_or_default(), self.input.id("accountId").unwrap_or_default());
        let listed = self.administration.admit(NameOrId::Id(app), account).await?;
        let row = listed.ok_or_else(|| {
            let message = "the account is on the list of this app already".to_owned();
            AdminError::Exists { message, fields: vec!["appId", "accountId"] }
        })?;
        Ok(Outcome::of(&row))
    }

    fn client_change(&self) -> ClientChange {
        let input = &self.input;
        ClientChange {
            name: input.string("name"),
            redirect: input.string("redirect"),
            grants: input.strings("grants").map(|words| words.iter().filter_map(|word| GrantType::from_word(word)).collect()),
            active: input.boolean("isActive"),
            administers: input.boolean("administers"),
            app: input.id("appId"),
            access_seconds: input.number("accessTokenSeconds"),
            refresh_seconds: input.number("refreshTokenSeconds"),
        }
    }

    async fn renew_secret(&self) -> Result<Outcome, Problem> {
        let (client, secret) = self.administration.renew_secret(&self.key).await?;
        let mut outcome = Outcome::secret(&client.id, &secret);
        outcome.more.push(("previousCountsFor", json!(SECRET_OVERLAP_SECONDS)));
        Ok(outcome)
    }
}
