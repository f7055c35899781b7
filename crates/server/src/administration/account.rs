//! Creates, changes and removes accounts, sets their passwords, and ends their sessions.

use std::collections::BTreeSet;

use identity::account::rights::keep_an_administrator;
use identity::account::{Account, AccountKind, Names, Rights};
use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use identity::password::PasswordHash;
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::revocation::Revocation;
use identity::secret_token::LinkToken;
use serde_json::{Map, Value, json};
use store::hub_records::rights::{self, AffectedAccounts};
use store::hub_records::roles::RoleRecord;
use store::hub_records::tenants::Tenant;
use store::hub_records::{accounts, password_links, revocation, roles, sessions, tenants};
use uuid::Uuid;

use crate::random;

use super::{AdminError, Administration, ChangeTransaction, NullableChange, exists, fields, invalid, parse_name, taken};

/// The bounds of `meta`: every token check reads it.
const MAX_META_DEPTH: usize = 8;
const MAX_META_BYTES: usize = 16 * 1024;

/// The fields whose values stand in the audit log; the values of the others may be private.
const AUDITED_VALUES: [&str; 3] = ["isActive", "roles", "tenants"];

const TAKEN: &str = "an account with this username, email or code";

/// The fields of an account to create or change; a field that is `None` has its default or stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountChange {
    /// By default the username, or else the email. It follows a change of the username.
    pub code: Option<String>,
    pub username: NullableChange,
    pub email: NullableChange,
    pub active: Option<bool>,
    pub tags: Option<Vec<String>>,
    pub scopes: Option<Vec<String>>,
    pub roles: Option<Vec<String>>,
    /// Ids of tenants; a missing tenant is created.
    pub tenants: Option<Vec<Uuid>>,
    pub meta: Option<Map<String, Value>>,
}

impl Administration<'_> {
    /// Creates an account. Without a password, an invitation link sets the first one.
    pub async fn create_account(
        &self,
        kind: AccountKind,
        new: AccountChange,
        password: Option<&PasswordHash>,
    ) -> Result<Account, AdminError> {
        let mut tx = self.begin("iam.account.create").await?;
        let now = self.audit_context.now;
        let account = new.applied_to(Account {
            id: random::uuid(),
            kind,
            code: String::new(),
            email: None,
            username: None,
            is_active: true,
            tags: Vec::new(),
            scopes: Vec::new(),
            rights: Rights::none(),
            tenants: Vec::new(),
            meta: Map::new(),
            created_at: now,
            updated_at: now,
            deleted_at: None,
        })?;
        tx.refuse_taken_names(&account).await?;
        accounts::insert(&mut tx.records, &account).await.map_err(exists(TAKEN, &[]))?;
        if let Some(hash) = password {
            accounts::set_credential(&mut tx.records, account.id, hash, now).await?;
        }
        let roles = tx.grantable_roles(new.roles.as_deref().unwrap_or_default()).await?;
        accounts::set_roles(&mut tx.records, account.id, &roles).await?;
        self.set_tenants(&mut tx, &account, new.tenants.as_deref().unwrap_or_default()).await?;
        rights::recompute(&mut tx.records, AffectedAccounts::Accounts(&[account.id])).await?;
        let created = accounts::by_id(&mut tx.records, account.id).await?.unwrap_or(account);
        self.finish(tx, ChangedRecord::Account(created.id), RecordChange::Created).await?;
        Ok(created)
    }

    /// Changes an account. Deactivating it ends its sessions and grants.
    pub async fn update_account(&self, id: Uuid, change: AccountChange) -> Result<Account, AdminError> {
        let mut tx = self.begin("iam.account.update").await?;
        let stored = tx.changeable_account(id).await?;
        let old = describe(&stored, &roles::names_of(&mut tx.records, id).await?);
        let before = accounts::active_administrators(&mut tx.records).await?;
        let account = change.applied_to(stored)?;
        let now = self.audit_context.now;
        tx.refuse_taken_names(&account).await?;
        accounts::update(&mut tx.records, &account, now).await.map_err(exists(TAKEN, &[]))?;
        if let Some(names) = &change.roles {
            let roles = tx.grantable_roles(names).await?;
            accounts::set_roles(&mut tx.records, id, &roles).await?;
        }
        if let Some(tenants) = &change.tenants {
            self.set_tenants(&mut tx, &account, tenants).await?;
        }
        rights::recompute(&mut tx.records, AffectedAccounts::Accounts(&[id])).await?;
        keep_an_administrator(before, accounts::active_administrators(&mut tx.records).await?)?;
        if !account.is_active {
            self.end(&mut tx, &Revocation::AccountClosed(id)).await?;
        }
        let changed = accounts::by_id(&mut tx.records, id).await?.unwrap_or(account);
        let new = describe(&changed, &roles::names_of(&mut tx.records, id).await?);
        self.finish(tx, ChangedRecord::Account(id), RecordChange::Updated(ChangedFields::between(&old, &new, &AUDITED_VALUES))).await?;
        Ok(changed)
    }

    pub async fn remove_account(&self, id: Uuid) -> Result<(), AdminError> {
        let mut tx = self.begin("iam.account.delete").await?;
        tx.changeable_account(id).await?;
        let before = accounts::active_administrators(&mut tx.records).await?;
        accounts::remove(&mut tx.records, id, self.audit_context.now).await?;
        rights::recompute(&mut tx.records, AffectedAccounts::Accounts(&[id])).await?;
        keep_an_administrator(before, accounts::active_administrators(&mut tx.records).await?)?;
        self.end(&mut tx, &Revocation::AccountClosed(id)).await?;
        self.finish(tx, ChangedRecord::Account(id), RecordChange::Removed).await
    }

    /// Sets a password; the account's sessions and grants end.
    pub async fn set_password(&self, id: Uuid, hash: &PasswordHash) -> Result<(), AdminError> {
        let mut tx = self.begin("iam.account.update").await?;
        tx.changeable_account(id).await?;
        accounts::set_credential(&mut tx.records, id, hash, self.audit_context.now).await?;
        self.end(&mut tx, &Revocation::PasswordChanged { account: id, kept: None }).await?;
        self.finish(tx, ChangedRecord::Account(id), RecordChange::CredentialChanged).await
    }

    pub async fn make_link(&self, id: Uuid, purpose: LinkPurpose) -> Result<LinkToken, AdminError> {
        let mut tx = self.begin("iam.account.update").await?;
        tx.changeable_account(id).await?;
        let token = LinkToken::from_random(random::bytes()?);
        let now = self.audit_context.now;
        password_links::insert(&mut tx.records, &LinkRecord::make(&token, id, purpose, now), now).await?;
        self.finish(tx, ChangedRecord::Account(id), RecordChange::LinkMade).await?;
        Ok(token)
    }

    pub(super) async fn end(&self, tx: &mut ChangeTransaction, ending: &Revocation) -> Result<revocation::Revoked, AdminError> {
        let over = revocation::revoke_in(&mut tx.records, ending, self.audit_context.now).await?;
        revocation::log(&mut tx.records, &over, self.audit_context).await?;
        Ok(over)
    }

    pub async fn end_session(&self, session: Uuid) -> Result<revocation::Revoked, AdminError> {
        let mut tx = self.begin("iam.session.delete").await?;
        let owner = sessions::owner(&mut tx.records, session, self.audit_context.now).await?;
        let owner = owner.ok_or_else(|| AdminError::NotFound(format!("there is no live session {session}")))?;
        self.sign_out(tx, owner, Revocation::Logout(session)).await
    }

    pub async fn end_sessions_of(&self, account: Uuid) -> Result<revocation::Revoked, AdminError> {
        let tx = self.begin("iam.session.delete").await?;
        self.sign_out(tx, account, Revocation::LogoutEverywhere(account)).await
    }

    async fn sign_out(&self, mut tx: ChangeTransaction, account: Uuid, ending: Revocation) -> Result<revocation::Revoked, AdminError> {
        tx.changeable_account(account).await?;
        let over = self.end(&mut tx, &ending).await?;
        self.finish(tx, ChangedRecord::Account(account), RecordChange::SignedOut).await?;
        Ok(over)
    }

    /// Sets the tenants of an account. A missing tenant is created, with its id as its name.
    async fn set_tenants(&self, tx: &mut ChangeTransaction, account: &Account, ids: &[Uuid]) -> Result<(), AdminError> {
        let known: Vec<Uuid> = tenants::by_ids(&mut tx.records, ids).await?.iter().map(|tenant| tenant.id).collect();
        // Check missing tenants too: a satellite may know them by their ids already.
        let entered: Vec<Uuid> = ids.iter().copied().filter(|id| !account.tenants.contains(id)).collect();
        tx.may_admit(&entered)?;
        let missing: BTreeSet<Uuid> = ids.iter().copied().filter(|id| !known.contains(id)).collect();
        for id in missing {
            tx.require("iam.tenant.create")?;
            let tenant = Tenant { id, code: id.to_string(), name: id.to_string() };
            tx.insert_tenant(&tenant, self.audit_context.now).await?;
            self.audit(tx, ChangedRecord::Tenant(id), RecordChange::Created).await?;
        }
        Ok(accounts::set_tenants(&mut tx.records, account.id, ids).await?)
    }
}

impl ChangeTransaction {
    /// Refuses an account with a username, an email or a code of another one.
    async fn refuse_taken_names(&mut self, account: &Account) -> Result<(), AdminError> {
        let fields = accounts::taken_names(&mut self.records, account).await?;
        if fields.is_empty() { Ok(()) } else { Err(taken(TAKEN, &fields)) }
    }

    /// The ids of these roles, if the actor may grant them all.
    async fn grantable_roles(&mut self, names: &[String]) -> Result<Vec<Uuid>, AdminError> {
        let ids: Vec<Uuid> = names.iter().filter_map(|name| name.parse().ok()).collect();
        let mut found: Vec<RoleRecord> = roles::by_ids(&mut self.records, &ids).await?;
        found.extend(roles::by_names(&mut self.records, names).await?);
        let mut granted = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let by_id = |role: &&RoleRecord| name.parse().is_ok_and(|id: Uuid| role.id == id);
            let role = found.iter().find(by_id).or_else(|| found.iter().find(|role| role.name == *name));
            let (path, message) = (format!("/roles/{index}"), format!("there is no role {name:?}"));
            let role = role.ok_or(AdminError::UnknownReference { path, message })?;
            self.may_grant(role.role().holding())?;
            if !granted.contains(&role.id) {
                granted.push(role.id);
            }
        }
        Ok(granted)
    }
}

impl AccountChange {
    fn applied_to(&self, mut account: Account) -> Result<Account, AdminError> {
        let (username, email) = (self.username.apply(account.username.as_deref()), self.email.apply(account.email.as_deref()));
        let names = Names::check(username, email).map_err(invalid)?;
        let name = names.username.as_ref().or(names.email.as_ref());
        let name = name.ok_or_else(|| AdminError::Invalid("an account needs a username or an email".to_owned()))?;
        if account.code.is_empty() || account.username.as_ref() == Some(&account.code) {
            account.code.clone_from(name);
        }
        if let Some(code) = &self.code {
            account.code = parse_name("an account's code", code)?;
        }
        (account.username, account.email) = (names.username, names.email);
        account.is_active = self.active.unwrap_or(account.is_active);
        if let Some(tags) = &self.tags {
            account.tags = parse_names("a tag of an account", tags)?;
        }
        if let Some(scopes) = &self.scopes {
            account.scopes = parse_names("a scope of an account", scopes)?;
        }
        if let Some(meta) = &self.meta {
            check_meta(meta).map_err(invalid)?;
            account.meta.clone_from(meta);
        }
        Ok(account)
    }
}

fn describe(account: &Account, roles: &[String]) -> Map<String, Value> {
    fields([
        ("code", json!(account.code)),
        ("username", json!(account.username)),
        ("email", json!(account.email)),
        ("isActive", json!(account.is_active)),
        ("tags", json!(account.tags)),
        ("scopes", json!(account.scopes)),
        ("roles", json!(roles)),
        ("tenants", account.tenants.iter().map(Uuid::to_string).collect()),
        ("meta", json!(account.meta)),
    ])
}

fn parse_names(what: &str, texts: &[String]) -> Result<Vec<String>, AdminError> {
    texts.iter().map(|text| parse_name(what, text)).collect()
}

/// Whether `meta` is within its bounds, and both databases can store it.
pub(crate) fn check_meta(meta: &Map<String, Value>) -> Result<(), String> {
    fn fits(value: &Value, depth: usize) -> bool {
        let clean = |text: &str| !text.contains('\0');
        depth <= MAX_META_DEPTH
            && match value {
                Value::String(text) => clean(text),
                Value::Array(items) => items.iter().all(|item| fits(item, depth + 1)),
                Value::Object(members) => members.iter().all(|(name, value)| clean(name) && fits(value, depth + 1)),
                _ => true,
            }
    }
    let small = serde_json::to_string(meta).is_ok_and(|text| text.len() <= MAX_META_BYTES);
    if small && meta.iter().all(|(name, value)| !name.contains('\0') && fits(value, 2)) {
        return Ok(());
    }
    Err(format!("meta has at most {} KiB and {MAX_META_DEPTH} levels of JSON, and no U+0000", MAX_META_BYTES / 1024))
}
