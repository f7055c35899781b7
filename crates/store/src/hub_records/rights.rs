//! `dPermissions` and `dTenants`: derived from roles and memberships, and stored with each account.
//!
//! A change of roles, permissions or memberships calls [`lock`] first, so that no two changes overlap, and [`recompute`] last. It writes the
//! rights of at most [`MAX_PORTION`] members. Those of more are pending: every read computes them until [`recompute_portion`] has written
//! all. The rule is in `identity`; accounts with the same roles are written together.

use std::collections::{BTreeMap, BTreeSet};

use identity::account::{ADMINISTRATOR, KnownPermissions, Permission, Rights, Role};
use identity::timestamp::Timestamp;
use identity::token::security_event::{ChangeKind, Subject};
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Records, Run, Transaction, password_links, unexpected};

/// How many members of a role or a tenant one transaction writes: their sign-ins wait for its end.
pub const MAX_PORTION: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub enum AffectedAccounts<'a> {
    Accounts(&'a [Uuid]),
    /// The members of a group that was changed or removed.
    Members(MemberGroup),
}

/// A role or a tenant, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberGroup {
    Role(Uuid),
    Tenant(Uuid),
}

/// Lets one change of rights happen at a time: two that overlap would not see each other.
pub async fn lock(transaction: &mut Transaction) -> Result<(), Error> {
    transaction.run("SELECT id FROM peristyle.role WHERE id = $1 FOR UPDATE", &[Bind::Id(ADMINISTRATOR)]).await.map(drop)
}

/// Every known permission: the hub's own, those of its manifest, and those of a role.
pub async fn catalogue(on: impl Run) -> Result<KnownPermissions, Error> {
    let rows = on.rows("SELECT name FROM peristyle.permission", &[]).await?;
    let names: Result<Vec<Permission>, Error> = rows.iter().map(|row| permission(row.text(0)?)).collect();
    Ok(KnownPermissions::new(names?))
}

fn permission(name: &str) -> Result<Permission, Error> {
    Permission::parse(name).map_err(|_| unexpected(0, "a permission"))
}

/// Makes permissions known, with the hub's own; administrators hold them from now on.
pub async fn declare(records: &Records, names: impl IntoIterator<Item = Permission>, now: Timestamp) -> Result<(), Error> {
    let mut transaction = records.begin().await?;
    lock(&mut transaction).await?;
    let wanted: Vec<String> = KnownPermissions::new(names).permissions().iter().map(|name| name.as_str().to_owned()).collect();
    if make_known(&mut transaction, &wanted, now).await? {
        recompute(&mut transaction, AffectedAccounts::Members(MemberGroup::Role(ADMINISTRATOR))).await?;
    }
    transaction.commit().await
}

/// Makes permissions known and adds them to the built-in role; returns whether any was new.
pub(crate) async fn make_known(transaction: &mut Transaction, names: &[String], now: Timestamp) -> Result<bool, Error> {
    const KNOWN: &str = "SELECT name FROM peristyle.permission WHERE name IN (SELECT unnest($1))";
    const ADDED: &str = "INSERT INTO peristyle.permission (name, created_at) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    // All missing ones: an older program may have made some known.
    const LISTED: &str = "INSERT INTO peristyle.role_permission (role_id, permission) SELECT $1, p.name FROM peristyle.permission p \
                          WHERE NOT EXISTS (SELECT 1 FROM peristyle.role_permission h WHERE h.role_id = $1 AND h.permission = p.name)";
    let known = transaction.run(KNOWN, &[Bind::Texts(names)]).await?;
    let known: BTreeSet<&str> = known.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
    let mut new = false;
    for name in names.iter().filter(|name| !known.contains(name.as_str())) {
        transaction.run(ADDED, &[Bind::Text(name), Bind::timestamp(now)]).await?;
        new = true;
    }
    if new {
        transaction.run(LISTED, &[Bind::Id(ADMINISTRATOR)]).await?;
    }
    Ok(new)
}

/// Computes the rights of these accounts, or leaves those of a group with too many members pending. Announces the change, and deletes the
/// password links of these accounts. The caller holds [`lock`].
pub async fn recompute(transaction: &mut Transaction, affected: AffectedAccounts<'_>) -> Result<(), Error> {
    let changed = match affected {
        AffectedAccounts::Accounts(accounts) => write(transaction, accounts).await?,
        AffectedAccounts::Members(group) => {
            let members = members_after(transaction, group, Uuid::nil(), MAX_PORTION + 1).await?;
            if members.len() > MAX_PORTION {
                return postpone(transaction, group).await;
            }
            write_members(transaction, group, &members).await?
        }
    };
    for account in &changed {
        transaction.announce_change(ChangeKind::ClaimsChange, Subject::Account(*account));
    }
    // The maker of a link may hold less now.
    password_links::delete(transaction, &changed).await
}

/// Leaves the rights of a group's members pending. Readers compute them from the commit on, so the change counts at once.
async fn postpone(transaction: &mut Transaction, group: MemberGroup) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO peristyle.pending_rights (kind, id, after) VALUES ($1, $2, $3) \
                       ON CONFLICT (kind, id) DO UPDATE SET after = excluded.after";
    transaction.run(SQL, &[Bind::Text(group.kind()), Bind::Id(group.id()), Bind::Id(Uuid::nil())]).await?;
    transaction.announce_change(ChangeKind::ClaimsChange, Subject::Everybody);
    match group {
        MemberGroup::Role(role) => password_links::delete_of_role(transaction, role).await,
        MemberGroup::Tenant(tenant) => password_links::delete_of_tenant(transaction, tenant).await,
    }
}

/// Writes the next pending rights, in a transaction of its own. Returns whether there were any. Any process may go on after another one.
pub async fn recompute_portion(records: &Records) -> Result<bool, Error> {
    const NEXT: &str = "SELECT kind, id, after FROM peristyle.pending_rights ORDER BY kind, id LIMIT 1";
    const ADVANCED: &str = "UPDATE peristyle.pending_rights SET after = $3 WHERE kind = $1 AND id = $2";
    const DONE: &str = "DELETE FROM peristyle.pending_rights WHERE kind = $1 AND id = $2";
    if !is_pending(records).await? {
        return Ok(false);
    }
    let mut transaction = records.begin().await?;
    lock(&mut transaction).await?;
    let Some(row) = transaction.row(NEXT, &[]).await? else { return Ok(false) };
    let group = MemberGroup::of(row.text(0)?, row.id(1)?)?;
    let members = members_after(&mut transaction, group, row.id(2)?, MAX_PORTION).await?;
    // The change was announced when it was made.
    write_members(&mut transaction, group, &members).await?;
    let key = [Bind::Text(group.kind()), Bind::Id(group.id())];
    match members.last() {
        Some(last) if members.len() == MAX_PORTION => transaction.run(ADVANCED, &[&key[..], &[Bind::Id(*last)]].concat()).await?,
        _ => transaction.run(DONE, &key).await?,
    };
    transaction.commit().await?;
    Ok(true)
}

pub async fn is_pending(on: impl Run) -> Result<bool, Error> {
    Ok(on.row("SELECT 1 FROM peristyle.pending_rights LIMIT 1", &[]).await?.is_some())
}

impl MemberGroup {
    fn of(kind: &str, id: Uuid) -> Result<Self, Error> {
        match kind {
            "role" => Ok(MemberGroup::Role(id)),
            "tenant" => Ok(MemberGroup::Tenant(id)),
            _ => Err(unexpected(0, "a kind of group")),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            MemberGroup::Role(_) => "role",
            MemberGroup::Tenant(_) => "tenant",
        }
    }

    pub(crate) fn id(self) -> Uuid {
        let (MemberGroup::Role(id) | MemberGroup::Tenant(id)) = self;
        id
    }
}

/// The members of a group with larger ids than this, in the order of their ids.
async fn members_after(transaction: &mut Transaction, group: MemberGroup, after: Uuid, limit: usize) -> Result<Vec<Uuid>, Error> {
    let sql = match group {
        MemberGroup::Role(_) => {
            "SELECT account_id FROM peristyle.account_role WHERE role_id = $1 AND account_id > $2 ORDER BY account_id LIMIT $3"
        }
        MemberGroup::Tenant(_) => {
            "SELECT account_id FROM peristyle.account_tenant WHERE tenant_id = $1 AND account_id > $2 ORDER BY account_id LIMIT $3"
        }
    };
    let rows = transaction.run(sql, &[Bind::Id(group.id()), Bind::Id(after), Bind::Number(limit as i64)]).await?;
    rows.iter().map(|row| row.id(0)).collect()
}

/// Writes the rights of some members of a group. If the group was removed, they leave it.
async fn write_members(transaction: &mut Transaction, group: MemberGroup, members: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    let left = match group {
        MemberGroup::Role(_) => {
            "DELETE FROM peristyle.account_role WHERE role_id = $1 AND account_id IN (SELECT unnest($2)) \
             AND NOT EXISTS (SELECT 1 FROM peristyle.role WHERE id = $1)"
        }
        MemberGroup::Tenant(_) => {
            "DELETE FROM peristyle.account_tenant WHERE tenant_id = $1 AND account_id IN (SELECT unnest($2)) \
             AND NOT EXISTS (SELECT 1 FROM peristyle.tenant WHERE id = $1)"
        }
    };
    transaction.run(left, &[Bind::Id(group.id()), Bind::Ids(members)]).await?;
    write(transaction, members).await
}

/// Writes the rights of these accounts where they differ, and returns those accounts.
async fn write(transaction: &mut Transaction, accounts: &[Uuid]) -> Result<Vec<Uuid>, Error> {
    const RIGHTS: &str = "UPDATE peristyle.account SET d_permissions = $2 WHERE id IN (SELECT unnest($1))";
    const TENANTS: &str = "UPDATE peristyle.account SET d_tenants = $2 WHERE id IN (SELECT unnest($1))";
    let stale = stale(transaction, accounts).await?;
    let mut changed = BTreeSet::new();
    for (rights, accounts) in stale.rights {
        transaction.run(RIGHTS, &[Bind::Ids(&accounts), Bind::Json(&rights.to_json().to_string())]).await?;
        changed.extend(accounts);
    }
    for (tenants, accounts) in stale.tenants {
        transaction.run(TENANTS, &[Bind::Ids(&accounts), Bind::Ids(&tenants)]).await?;
        changed.extend(accounts);
    }
    Ok(changed.into_iter().collect())
}

/// Recomputes stale rights before a grant. Only another program makes them stale, so the check takes no lock. Pending ones need no write.
pub async fn refresh(records: &Records, account: Uuid) -> Result<(), Error> {
    if is_current(records, account).await? || is_pending(records).await? {
        return Ok(());
    }
    let mut transaction = records.begin().await?;
    lock(&mut transaction).await?;
    recompute(&mut transaction, AffectedAccounts::Accounts(&[account])).await?;
    transaction.commit().await
}

/// Whether the stored rights of an account follow from its roles and memberships. One query, and for administrators the catalogue.
async fn is_current(records: &Records, account: Uuid) -> Result<bool, Error> {
    const SQL: &str = "SELECT a.d_permissions, a.d_tenants, CAST(NULL AS uuid), NULL, CAST(NULL AS uuid) FROM peristyle.account a \
                       WHERE a.id = $1 UNION ALL SELECT NULL, NULL, r.id, p.permission, NULL FROM peristyle.account_role m \
                       JOIN peristyle.role r ON r.id = m.role_id \
                       LEFT JOIN peristyle.role_permission p ON p.role_id = r.id AND p.role_id <> $2 WHERE m.account_id = $1 \
                       UNION ALL SELECT NULL, NULL, NULL, NULL, t.id FROM peristyle.account_tenant m \
                       JOIN peristyle.tenant t ON t.id = m.tenant_id WHERE m.account_id = $1";
    let (mut kept, mut listed, mut tenants) = (None, BTreeMap::<Uuid, BTreeSet<Permission>>::new(), BTreeSet::new());
    for row in records.run(SQL, &[Bind::Id(account), Bind::Id(ADMINISTRATOR)]).await? {
        match (row.maybe_id(2)?, row.maybe_id(4)?) {
            (Some(role), _) => {
                let held = listed.entry(role).or_default();
                held.extend(row.maybe_text(3)?.map(permission).transpose()?);
            }
            (None, Some(tenant)) => _ = tenants.insert(tenant),
            (None, None) => kept = Some((Rights::from_json(&row.json(0)?), row.ids(1)?)),
        }
    }
    let catalogue = if listed.contains_key(&ADMINISTRATOR) { catalogue(records).await? } else { KnownPermissions::new([]) };
    let roles: Vec<Role> = listed.into_iter().map(|(id, listed)| Role::new(id, listed)).collect();
    let derived = (Some(Rights::of(&roles, &catalogue)), tenants.into_iter().collect());
    Ok(kept.is_none_or(|kept| kept == derived))
}

/// The values to write, each once, with the accounts that get it.
#[derive(Default)]
struct Stale {
    rights: Vec<(Rights, Vec<Uuid>)>,
    tenants: BTreeMap<Vec<Uuid>, Vec<Uuid>>,
}

async fn stale(transaction: &mut Transaction, accounts: &[Uuid]) -> Result<Stale, Error> {
    let mut stale = Stale::default();
    if accounts.is_empty() {
        return Ok(stale);
    }
    let kept = kept(transaction, accounts).await?;
    let roles: BTreeSet<Uuid> = kept.iter().flat_map(|kept| kept.roles.iter().copied()).collect();
    let roles = held(transaction, &roles.into_iter().collect::<Vec<_>>()).await?;
    let catalogue = if roles.contains_key(&ADMINISTRATOR) { catalogue(transaction).await? } else { KnownPermissions::new([]) };
    let mut alike: BTreeMap<&BTreeSet<Uuid>, Vec<&StoredRights>> = BTreeMap::new();
    for kept in &kept {
        alike.entry(&kept.roles).or_default().push(kept);
    }
    for (held, accounts) in alike {
        let rights = Rights::of(held.iter().filter_map(|role| roles.get(role)), &catalogue);
        let differing = accounts.iter().filter(|kept| kept.rights.as_ref() != Some(&rights));
        let differing: Vec<Uuid> = differing.map(|kept| kept.account).collect();
        if !differing.is_empty() {
            stale.rights.push((rights, differing));
        }
    }
    for kept in &kept {
        let tenants: Vec<Uuid> = kept.memberships.iter().copied().collect();
        if tenants != kept.tenants {
            stale.tenants.entry(tenants).or_default().push(kept.account);
        }
    }
    Ok(stale)
}

struct StoredRights {
    account: Uuid,
    rights: Option<Rights>,
    tenants: Vec<Uuid>,
    roles: BTreeSet<Uuid>,
    memberships: BTreeSet<Uuid>,
}

async fn kept(transaction: &mut Transaction, accounts: &[Uuid]) -> Result<Vec<StoredRights>, Error> {
    // A membership of a removed group counts for nothing.
    const SQL: &str = "SELECT a.id, a.d_permissions, a.d_tenants, r.id FROM peristyle.account a \
                       LEFT JOIN (peristyle.account_role m JOIN peristyle.role r ON r.id = m.role_id) ON m.account_id = a.id \
                       WHERE a.id IN (SELECT unnest($1)) ORDER BY a.id";
    const TENANTS: &str = "SELECT m.account_id, t.id FROM peristyle.account_tenant m JOIN peristyle.tenant t ON t.id = m.tenant_id \
                           WHERE m.account_id IN (SELECT unnest($1))";
    let mut memberships: BTreeMap<Uuid, BTreeSet<Uuid>> = BTreeMap::new();
    for row in transaction.run(TENANTS, &[Bind::Ids(accounts)]).await? {
        memberships.entry(row.id(0)?).or_default().insert(row.id(1)?);
    }
    let mut kept: Vec<StoredRights> = Vec::new();
    for row in transaction.run(SQL, &[Bind::Ids(accounts)]).await? {
        let account = row.id(0)?;
        if kept.last().is_none_or(|last| last.account != account) {
            kept.push(StoredRights {
                account,
                rights: Rights::from_json(&row.json(1)?),
                tenants: row.ids(2)?,
                roles: BTreeSet::new(),
                memberships: memberships.remove(&account).unwrap_or_default(),
            });
        }
        if let (Some(last), Some(role)) = (kept.last_mut(), row.maybe_id(3)?) {
            last.roles.insert(role);
        }
    }
    Ok(kept)
}

async fn held(transaction: &mut Transaction, roles: &[Uuid]) -> Result<BTreeMap<Uuid, Role>, Error> {
    const SQL: &str = "SELECT role_id, permission FROM peristyle.role_permission WHERE role_id IN (SELECT unnest($1))";
    let mut listed: BTreeMap<Uuid, BTreeSet<Permission>> = roles.iter().map(|role| (*role, BTreeSet::new())).collect();
    if !roles.is_empty() {
        for row in transaction.run(SQL, &[Bind::Ids(roles)]).await? {
            listed.entry(row.id(0)?).or_default().insert(permission(row.text(1)?)?);
        }
    }
    Ok(listed.into_iter().map(|(id, listed)| (id, Role::new(id, listed))).collect())
}
