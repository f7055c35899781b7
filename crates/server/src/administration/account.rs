//! Accounts: made, changed, removed, given a password or a link that sets one.

use identity::account::rights::keep_an_administrator;
use identity::account::{Account, AccountKind, Names, Rights};
use identity::event::{Change, Record};
use identity::link::{LinkPurpose, LinkRecord};
use identity::opaque::LinkToken;
use identity::password::PasswordHash;
use identity::session::Ending;
use serde_json::{Map, Value};
use store::records::Transaction;
use store::rights::{self, Concerned};
use store::roles::RoleRecord;
use store::tenants::Tenant;
use store::{accounts, endings, links, roles, tenants};
use uuid::Uuid;

use crate::chance;

use super::{Administration, Fault};

/// An account to make.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// What kind.
    pub kind: AccountKind,
    /// `username`
    pub username: Option<String>,
    /// `email`
    pub email: Option<String>,
    /// Names of roles.
    pub roles: Vec<String>,
    /// Ids of tenants; one that is not there yet is made.
    pub tenants: Vec<Uuid>,
    /// `meta`
    pub meta: Map<String, Value>,
    /// The first password; without one a link sets it.
    pub password: Option<PasswordHash>,
}

/// What to change of an account; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    /// `username`
    pub username: Option<String>,
    /// `email`
    pub email: Option<String>,
    /// `isActive`
    pub active: Option<bool>,
    /// Names of roles, in place of those it has.
    pub roles: Option<Vec<String>>,
    /// Ids of tenants, in place of those it has.
    pub tenants: Option<Vec<Uuid>>,
    /// `meta`, in place of what it has.
    pub meta: Option<Map<String, Value>>,
}

impl Administration<'_> {
    /// Makes an account.
    pub async fn create_account(&self, new: NewAccount) -> Result<Account, Fault> {
        self.need("iam.account.create")?;
        let names = Names::check(new.username.as_deref(), new.email.as_deref()).map_err(Fault::invalid)?;
        let code = names.username.clone().or_else(|| names.email.clone());
        let now = self.occasion.now;
        let account = Account {
            id: chance::id(),
            kind: new.kind,
            code: code.ok_or_else(|| Fault::Invalid("an account needs a username or an email".to_owned()))?,
            email: names.email,
            username: names.username,
            is_active: true,
            tags: Vec::new(),
            scopes: Vec::new(),
            rights: Rights::none(),
            tenants: Vec::new(),
            meta: new.meta,
            created_at: now,
            updated_at: now,
            deleted_at: None,
        };
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        accounts::insert(&mut transaction, &account)
            .await
            .map_err(|error| Fault::named(error, "an account with this username, email or code"))?;
        if let Some(hash) = &new.password {
            accounts::set_credential(&mut transaction, account.id, hash, now).await?;
        }
        let roles = self.grantable(&mut transaction, &new.roles).await?;
        accounts::set_roles(&mut transaction, account.id, &roles).await?;
        self.join(&mut transaction, account.id, &new.tenants).await?;
        rights::recompute(&mut transaction, Concerned::Accounts(&[account.id])).await?;
        let made = accounts::by_id(&mut transaction, account.id).await?.unwrap_or(account);
        self.finish(transaction, Record::Account(made.id), Change::Created).await?;
        Ok(made)
    }

    /// Changes an account. Deactivating it ends its sessions and grants.
    pub async fn update_account(&self, id: Uuid, change: AccountChange) -> Result<Account, Fault> {
        self.need("iam.account.update")?;
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        let mut account = self.touchable(&mut transaction, id).await?;
        let before = accounts::active_administrators(&mut transaction).await?;
        let names =
            Names::check(change.username.as_deref().or(account.username.as_deref()), change.email.as_deref().or(account.email.as_deref()));
        let names = names.map_err(Fault::invalid)?;
        if account.username != names.username && account.username.as_ref() == Some(&account.code) {
            account.code = names.username.clone().unwrap_or(account.code);
        }
        (account.username, account.email) = (names.username, names.email);
        account.is_active = change.active.unwrap_or(account.is_active);
        account.meta = change.meta.unwrap_or(account.meta);
        let now = self.occasion.now;
        accounts::update(&mut transaction, &account, now)
            .await
            .map_err(|error| Fault::named(error, "an account with this username, email or code"))?;
        if let Some(names) = &change.roles {
            let roles = self.grantable(&mut transaction, names).await?;
            accounts::set_roles(&mut transaction, id, &roles).await?;
        }
        if let Some(tenants) = &change.tenants {
            self.join(&mut transaction, id, tenants).await?;
        }
        rights::recompute(&mut transaction, Concerned::Accounts(&[id])).await?;
        keep_an_administrator(before, accounts::active_administrators(&mut transaction).await?)?;
        if !account.is_active {
            let over = endings::carry_out(&mut transaction, &Ending::AccountClosed(id), now).await?;
            endings::note(&mut transaction, &over, self.occasion).await?;
        }
        let changed = accounts::by_id(&mut transaction, id).await?.unwrap_or(account);
        self.finish(transaction, Record::Account(id), Change::Updated).await?;
        Ok(changed)
    }

    /// Removes an account, its sessions and grants.
    pub async fn remove_account(&self, id: Uuid) -> Result<(), Fault> {
        self.need("iam.account.delete")?;
        let mut transaction = self.records.begin().await?;
        rights::lock(&mut transaction).await?;
        self.touchable(&mut transaction, id).await?;
        let before = accounts::active_administrators(&mut transaction).await?;
        accounts::remove(&mut transaction, id, self.occasion.now).await?;
        rights::recompute(&mut transaction, Concerned::Accounts(&[id])).await?;
        keep_an_administrator(before, accounts::active_administrators(&mut transaction).await?)?;
        let over = endings::carry_out(&mut transaction, &Ending::AccountClosed(id), self.occasion.now).await?;
        endings::note(&mut transaction, &over, self.occasion).await?;
        self.finish(transaction, Record::Account(id), Change::Removed).await
    }

    /// Sets a password, ours or one from elsewhere; what was granted before ends.
    pub async fn set_password(&self, id: Uuid, hash: &PasswordHash) -> Result<(), Fault> {
        self.need("iam.account.update")?;
        let mut transaction = self.records.begin().await?;
        // What the account holds must not grow between the check and the change.
        rights::lock(&mut transaction).await?;
        self.touchable(&mut transaction, id).await?;
        accounts::set_credential(&mut transaction, id, hash, self.occasion.now).await?;
        let ending = Ending::PasswordChanged { account: id, kept: None };
        let over = endings::carry_out(&mut transaction, &ending, self.occasion.now).await?;
        endings::note(&mut transaction, &over, self.occasion).await?;
        self.finish(transaction, Record::Account(id), Change::CredentialChanged).await
    }

    /// Makes a one-time link that sets a password.
    pub async fn make_link(&self, id: Uuid, purpose: LinkPurpose) -> Result<LinkToken, Fault> {
        self.need("iam.account.update")?;
        let mut transaction = self.records.begin().await?;
        // What the account holds must not grow between the check and the change.
        rights::lock(&mut transaction).await?;
        self.touchable(&mut transaction, id).await?;
        let token = LinkToken::from_random(chance::random()?);
        let now = self.occasion.now;
        links::insert(&mut transaction, &LinkRecord::make(&token, id, purpose, now), now).await?;
        self.finish(transaction, Record::Account(id), Change::LinkMade).await?;
        Ok(token)
    }

    /// The account, if it exists and the actor may act on it.
    pub(super) async fn touchable(&self, transaction: &mut Transaction, id: Uuid) -> Result<Account, Fault> {
        let account = accounts::by_id(transaction, id).await?.filter(|account| account.deleted_at.is_none());
        let account = account.ok_or_else(|| Fault::Unknown(format!("there is no account {id}")))?;
        self.may_act_on(&account.rights)?;
        Ok(account)
    }

    /// The ids of roles that the actor may give.
    async fn grantable(&self, transaction: &mut Transaction, names: &[String]) -> Result<Vec<Uuid>, Fault> {
        let found: Vec<RoleRecord> = roles::by_names(transaction, names).await?;
        if let Some(name) = names.iter().find(|name| !found.iter().any(|role| role.name == **name)) {
            return Err(Fault::Unknown(format!("there is no role {name:?}")));
        }
        for role in &found {
            self.may_grant(role.role().holding())?;
        }
        Ok(found.iter().map(|role| role.id).collect())
    }

    /// Puts an account into tenants; one that is not there yet is made and named by its id.
    async fn join(&self, transaction: &mut Transaction, account: Uuid, ids: &[Uuid]) -> Result<(), Fault> {
        let known = tenants::by_ids(&mut *transaction, ids).await?;
        for id in ids.iter().filter(|id| !known.iter().any(|tenant| tenant.id == **id)) {
            self.need("iam.tenant.create")?;
            let tenant = Tenant { id: *id, code: id.to_string(), name: id.to_string() };
            tenants::insert(&mut *transaction, &tenant, self.occasion.now).await?;
            self.note(&mut *transaction, Record::Tenant(*id), Change::Created).await?;
        }
        Ok(accounts::set_tenants(transaction, account, ids).await?)
    }
}
