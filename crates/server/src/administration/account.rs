//! Accounts: made, changed, removed, given a password or a link that sets one.

use std::collections::BTreeSet;

use identity::account::rights::keep_an_administrator;
use identity::account::{Account, AccountKind, Names, Rights};
use identity::audit_event::{ChangedFields, ChangedRecord, RecordChange};
use identity::password::PasswordHash;
use identity::password_link::{LinkPurpose, LinkRecord};
use identity::revocation::Revocation;
use identity::secret_token::LinkToken;
use serde_json::{Map, Value, json};
use store::hub_records::rights::{self, Concerned};
use store::hub_records::roles::RoleRecord;
use store::hub_records::tenants::Tenant;
use store::hub_records::{accounts, password_links, revocation, roles, tenants};
use uuid::Uuid;

use crate::random;

use super::{Administration, Fault, Work, fields, readable};

/// How deep `meta` may nest, and how many bytes of JSON it may be: every token that is checked reads it.
const DEEPEST_META: usize = 8;
const MOST_META_BYTES: usize = 16 * 1024;

/// The fields whose values the audit log tells; those of the others may be private.
const TOLD: [&str; 3] = ["isActive", "roles", "tenants"];

const TAKEN: &str = "an account with this username, email or code";

/// An account to make.
#[derive(Clone, Debug)]
pub struct NewAccount {
    /// What kind.
    pub kind: AccountKind,
    /// `code`; without one it is the username, or else the email.
    pub code: Option<String>,
    /// `username`
    pub username: Option<String>,
    /// `email`
    pub email: Option<String>,
    /// `tags`
    pub tags: Vec<String>,
    /// `scopes`
    pub scopes: Vec<String>,
    /// Names or ids of roles.
    pub roles: Vec<String>,
    /// Ids of tenants; one that is not there yet is made.
    pub tenants: Vec<Uuid>,
    /// `meta`
    pub meta: Map<String, Value>,
    /// The first password; without one a link sets it.
    pub password: Option<PasswordHash>,
}

/// What to change of an account; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccountChange {
    /// `code`; without one it follows the username it was made of.
    pub code: Option<String>,
    /// `username`
    pub username: Option<String>,
    /// `email`
    pub email: Option<String>,
    /// `isActive`
    pub active: Option<bool>,
    /// `tags`, in place of those it has.
    pub tags: Option<Vec<String>>,
    /// `scopes`, in place of those it has.
    pub scopes: Option<Vec<String>>,
    /// Names or ids of roles, in place of those it has.
    pub roles: Option<Vec<String>>,
    /// Ids of tenants, in place of those it has.
    pub tenants: Option<Vec<Uuid>>,
    /// `meta`, in place of what it has.
    pub meta: Option<Map<String, Value>>,
}

impl Administration<'_> {
    /// Makes an account.
    pub async fn create_account(&self, new: NewAccount) -> Result<Account, Fault> {
        let mut work = self.begin("iam.account.create").await?;
        let names = Names::check(new.username.as_deref(), new.email.as_deref()).map_err(Fault::invalid)?;
        let code = names.username.clone().or_else(|| names.email.clone());
        let code = code.ok_or_else(|| Fault::Invalid("an account needs a username or an email".to_owned()))?;
        check_meta(&new.meta).map_err(Fault::invalid)?;
        let now = self.occasion.now;
        let account = Account {
            id: random::uuid(),
            kind: new.kind,
            code: new.code.map_or(Ok(code), |code| readable("an account's code", &code))?,
            email: names.email,
            username: names.username,
            is_active: true,
            tags: readable_all("a tag of an account", &new.tags)?,
            scopes: readable_all("a scope of an account", &new.scopes)?,
            rights: Rights::none(),
            tenants: Vec::new(),
            meta: new.meta,
            created_at: now,
            updated_at: now,
            deleted_at: None,
        };
        accounts::insert(&mut work.transaction, &account).await.map_err(|error| Fault::named(error, TAKEN))?;
        if let Some(hash) = &new.password {
            accounts::set_credential(&mut work.transaction, account.id, hash, now).await?;
        }
        let roles = work.grantable(&new.roles).await?;
        accounts::set_roles(&mut work.transaction, account.id, &roles).await?;
        self.join(&mut work, &account, &new.tenants).await?;
        rights::recompute(&mut work.transaction, Concerned::Accounts(&[account.id])).await?;
        let made = accounts::by_id(&mut work.transaction, account.id).await?.unwrap_or(account);
        self.finish(work, ChangedRecord::Account(made.id), RecordChange::Created).await?;
        Ok(made)
    }

    /// Changes an account. Deactivating it ends its sessions and grants.
    pub async fn update_account(&self, id: Uuid, change: AccountChange) -> Result<Account, Fault> {
        let mut work = self.begin("iam.account.update").await?;
        let kept = work.touchable(id).await?;
        let old = describe(&kept, &roles::names_of(&mut work.transaction, id).await?);
        let before = accounts::active_administrators(&mut work.transaction).await?;
        let account = change.applied_to(kept)?;
        let now = self.occasion.now;
        accounts::update(&mut work.transaction, &account, now).await.map_err(|error| Fault::named(error, TAKEN))?;
        if let Some(names) = &change.roles {
            let roles = work.grantable(names).await?;
            accounts::set_roles(&mut work.transaction, id, &roles).await?;
        }
        if let Some(tenants) = &change.tenants {
            self.join(&mut work, &account, tenants).await?;
        }
        rights::recompute(&mut work.transaction, Concerned::Accounts(&[id])).await?;
        keep_an_administrator(before, accounts::active_administrators(&mut work.transaction).await?)?;
        if !account.is_active {
            self.end(&mut work, &Revocation::AccountClosed(id)).await?;
        }
        let changed = accounts::by_id(&mut work.transaction, id).await?.unwrap_or(account);
        let new = describe(&changed, &roles::names_of(&mut work.transaction, id).await?);
        self.finish(work, ChangedRecord::Account(id), RecordChange::Updated(ChangedFields::between(&old, &new, &TOLD))).await?;
        Ok(changed)
    }

    /// Removes an account, its sessions and grants.
    pub async fn remove_account(&self, id: Uuid) -> Result<(), Fault> {
        let mut work = self.begin("iam.account.delete").await?;
        work.touchable(id).await?;
        let before = accounts::active_administrators(&mut work.transaction).await?;
        accounts::remove(&mut work.transaction, id, self.occasion.now).await?;
        rights::recompute(&mut work.transaction, Concerned::Accounts(&[id])).await?;
        keep_an_administrator(before, accounts::active_administrators(&mut work.transaction).await?)?;
        self.end(&mut work, &Revocation::AccountClosed(id)).await?;
        self.finish(work, ChangedRecord::Account(id), RecordChange::Removed).await
    }

    /// Sets a password, ours or one from elsewhere; what was granted before ends.
    pub async fn set_password(&self, id: Uuid, hash: &PasswordHash) -> Result<(), Fault> {
        let mut work = self.begin("iam.account.update").await?;
        work.touchable(id).await?;
        accounts::set_credential(&mut work.transaction, id, hash, self.occasion.now).await?;
        self.end(&mut work, &Revocation::PasswordChanged { account: id, kept: None }).await?;
        self.finish(work, ChangedRecord::Account(id), RecordChange::CredentialChanged).await
    }

    /// Makes a one-time link that sets a password.
    pub async fn make_link(&self, id: Uuid, purpose: LinkPurpose) -> Result<LinkToken, Fault> {
        let mut work = self.begin("iam.account.update").await?;
        work.touchable(id).await?;
        let token = LinkToken::from_random(random::bytes()?);
        let now = self.occasion.now;
        password_links::insert(&mut work.transaction, &LinkRecord::make(&token, id, purpose, now), now).await?;
        self.finish(work, ChangedRecord::Account(id), RecordChange::LinkMade).await?;
        Ok(token)
    }

    /// Ends what an ending ends, and notes it.
    pub(super) async fn end(&self, work: &mut Work, ending: &Revocation) -> Result<revocation::Revoked, Fault> {
        let over = revocation::revoke_in(&mut work.transaction, ending, self.occasion.now).await?;
        revocation::log(&mut work.transaction, &over, self.occasion).await?;
        Ok(over)
    }

    /// Puts an account into tenants; one that is not there yet is made and named by its id.
    async fn join(&self, work: &mut Work, account: &Account, ids: &[Uuid]) -> Result<(), Fault> {
        let known: Vec<Uuid> = tenants::by_ids(&mut work.transaction, ids).await?.iter().map(|tenant| tenant.id).collect();
        // Also one that is not there: a satellite may know it by its id already, or it was removed here.
        let entered: Vec<Uuid> = ids.iter().copied().filter(|id| !account.tenants.contains(id)).collect();
        work.may_admit(&entered)?;
        let missing: BTreeSet<Uuid> = ids.iter().copied().filter(|id| !known.contains(id)).collect();
        for id in missing {
            work.need("iam.tenant.create")?;
            let tenant = Tenant { id, code: id.to_string(), name: id.to_string() };
            let inserted = tenants::insert(&mut work.transaction, &tenant, self.occasion.now).await;
            inserted.map_err(|error| Fault::named(error, "a tenant with this code"))?;
            self.note(work, ChangedRecord::Tenant(id), RecordChange::Created).await?;
        }
        Ok(accounts::set_tenants(&mut work.transaction, account.id, ids).await?)
    }
}

impl Work {
    /// The ids of roles that the actor may give.
    async fn grantable(&mut self, names: &[String]) -> Result<Vec<Uuid>, Fault> {
        let ids: Vec<Uuid> = names.iter().filter_map(|name| name.parse().ok()).collect();
        let mut found: Vec<RoleRecord> = roles::by_ids(&mut self.transaction, &ids).await?;
        found.extend(roles::by_names(&mut self.transaction, names).await?);
        let mut granted = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let by_id = |role: &&RoleRecord| name.parse().is_ok_and(|id: Uuid| role.id == id);
            let role = found.iter().find(by_id).or_else(|| found.iter().find(|role| role.name == *name));
            let role =
                role.ok_or_else(|| Fault::Absent { path: format!("/roles/{index}"), message: format!("there is no role {name:?}") })?;
            self.may_grant(role.role().holding())?;
            if !granted.contains(&role.id) {
                granted.push(role.id);
            }
        }
        Ok(granted)
    }
}

impl AccountChange {
    /// The account with what is its own changed, roles and tenants aside.
    fn applied_to(&self, mut account: Account) -> Result<Account, Fault> {
        let username = self.username.as_deref().or(account.username.as_deref());
        let names = Names::check(username, self.email.as_deref().or(account.email.as_deref())).map_err(Fault::invalid)?;
        if account.username != names.username && account.username.as_ref() == Some(&account.code) {
            account.code = names.username.clone().unwrap_or(account.code);
        }
        if let Some(code) = &self.code {
            account.code = readable("an account's code", code)?;
        }
        (account.username, account.email) = (names.username, names.email);
        account.is_active = self.active.unwrap_or(account.is_active);
        if let Some(tags) = &self.tags {
            account.tags = readable_all("a tag of an account", tags)?;
        }
        if let Some(scopes) = &self.scopes {
            account.scopes = readable_all("a scope of an account", scopes)?;
        }
        if let Some(meta) = &self.meta {
            check_meta(meta).map_err(Fault::invalid)?;
            account.meta.clone_from(meta);
        }
        Ok(account)
    }
}

/// What can be changed of an account, with the names of its roles.
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

fn readable_all(what: &str, texts: &[String]) -> Result<Vec<String>, Fault> {
    texts.iter().map(|text| readable(what, text)).collect()
}

/// Whether `meta` is small enough to be read with every request, and can be kept by both databases.
pub(crate) fn check_meta(meta: &Map<String, Value>) -> Result<(), String> {
    fn fits(value: &Value, depth: usize) -> bool {
        let clean = |text: &str| !text.contains('\0');
        depth <= DEEPEST_META
            && match value {
                Value::String(text) => clean(text),
                Value::Array(items) => items.iter().all(|item| fits(item, depth + 1)),
                Value::Object(members) => members.iter().all(|(name, value)| clean(name) && fits(value, depth + 1)),
                _ => true,
            }
    }
    let small = serde_json::to_string(meta).is_ok_and(|text| text.len() <= MOST_META_BYTES);
    if small && meta.iter().all(|(name, value)| !name.contains('\0') && fits(value, 2)) {
        return Ok(());
    }
    Err(format!("meta has at most {} KiB and {DEEPEST_META} levels of JSON, and no U+0000", MOST_META_BYTES / 1024))
}
