//! `dPermissions` and `dTenants`: derived from roles and memberships, in the transaction that changes them.
//!
//! A change of roles, permissions or memberships calls [`lock`] first, so that no two changes overlap, and [`recompute`] last. The rule is
//! in `identity`; accounts with the same roles are written together.

use std::collections::{BTreeMap, BTreeSet};

use identity::account::{ADMINISTRATOR, KnownPermissions, Permission, Rights, Role};
use identity::timestamp::Timestamp;
use identity::token::security_event::{ChangeKind, Subject};
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Records, Run, Transaction, password_links, unexpected};

#[derive(Clone, Copy, Debug)]
pub enum AffectedAccounts<'a> {
    Accounts(&'a [Uuid]),
    Role(Uuid),
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
        recompute(&mut transaction, AffectedAccounts::Role(ADMINISTRATOR)).await?;
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

/// Computes anew what these accounts may do and where they belong, and writes what differs. The caller holds [`lock`].
pub async fn recompute(transaction: &mut Transaction, concerned: AffectedAccounts<'_>) -> Result<(), Error> {
    const HOLDERS: &str = "SELECT account_id FROM peristyle.account_role WHERE role_id = $1";
    const RIGHTS: &str = "UPDATE peristyle.account SET d_permissions = $2 WHERE id IN (SELECT unnest($1))";
    const TENANTS: &str = "UPDATE peristyle.account SET d_tenants = $2 WHERE id IN (SELECT unnest($1))";
    let accounts = match concerned {
        AffectedAccounts::Accounts(accounts) => accounts.to_vec(),
        AffectedAccounts::Role(role) => {
            transaction.run(HOLDERS, &[Bind::Id(role)]).await?.iter().map(|row| row.id(0)).collect::<Result<_, _>>()?
        }
    };
    let stale = stale(transaction, &accounts).await?;
    for (rights, accounts) in stale.rights {
        transaction.run(RIGHTS, &[Bind::Ids(&accounts), Bind::Json(&rights.to_json().to_string())]).await?;
        changed(transaction, &accounts).await?;
    }
    for (tenants, accounts) in stale.tenants {
        transaction.run(TENANTS, &[Bind::Ids(&accounts), Bind::Ids(&tenants)]).await?;
        changed(transaction, &accounts).await?;
    }
    Ok(())
}

/// Announces that the rights of these accounts changed, and deletes their password links: the maker of a link may hold less now.
async fn changed(transaction: &mut Transaction, accounts: &[Uuid]) -> Result<(), Error> {
    for account in accounts {
        transaction.announce_change(ChangeKind::ClaimsChange, Subject::Account(*account));
    }
    password_links::delete(transaction, accounts).await
}

/// Recomputes stale rights before a grant. Only another program makes them stale, so the check takes no lock.
pub async fn refresh(records: &Records, account: Uuid) -> Result<(), Error> {
    if is_current(records, account).await? {
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
                       WHERE a.id = $1 UNION ALL SELECT NULL, NULL, r.role_id, p.permission, NULL FROM peristyle.account_role r \
                       LEFT JOIN peristyle.role_permission p ON p.role_id = r.role_id AND p.role_id <> $2 WHERE r.account_id = $1 \
                       UNION ALL SELECT NULL, NULL, NULL, NULL, t.tenant_id FROM peristyle.account_tenant t WHERE t.account_id = $1";
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
    const SQL: &str = "SELECT a.id, a.d_permissions, a.d_tenants, r.role_id FROM peristyle.account a \
                       LEFT JOIN peristyle.account_role r ON r.account_id = a.id WHERE a.id IN (SELECT unnest($1)) ORDER BY a.id";
    const TENANTS: &str = "SELECT account_id, tenant_id FROM peristyle.account_tenant WHERE account_id IN (SELECT unnest($1))";
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
