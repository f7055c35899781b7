//! Short summaries that administrators read beside a record: names for ids, the members of a role, tenant or app, the clients of a session.

use std::collections::BTreeMap;

use identity::timestamp::Timestamp;
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Row, Run};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountNames {
    pub names: Vec<String>,
    pub all: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInUse {
    pub session: Uuid,
    pub client: String,
    pub app: Option<String>,
}

/// The names of accounts by id, removed ones included.
pub async fn account_names(on: impl Run, ids: &[Uuid]) -> Result<BTreeMap<Uuid, String>, Error> {
    const SQL: &str =
        "SELECT a.id, coalesce(a.username, a.email, a.code) FROM peristyle.account a WHERE a.id IN (SELECT unnest($1)) ORDER BY a.id";
    on.rows(SQL, &[Bind::Ids(ids)]).await?.iter().map(|row| Ok((row.id(0)?, row.text(1)?.to_owned()))).collect()
}

pub async fn login_names(on: impl Run, limit: i64) -> Result<Vec<String>, Error> {
    const SQL: &str = "SELECT a.username, a.email FROM peristyle.account a WHERE a.deleted_at IS NULL ORDER BY a.code, a.id LIMIT $1";
    let mut names = Vec::new();
    for row in on.rows(SQL, &[Bind::Number(limit)]).await? {
        names.extend(row.maybe_text(0)?.map(str::to_owned));
        names.extend(row.maybe_text(1)?.map(str::to_owned));
    }
    Ok(names)
}

pub async fn password_set_at(on: impl Run, account: Uuid) -> Result<Option<Timestamp>, Error> {
    let row = on.row("SELECT changed_at FROM peristyle.credential WHERE account_id = $1", &[Bind::Id(account)]).await?;
    row.map(|row| row.timestamp(0)).transpose()
}

/// Selects names of the accounts that a table joins with `$1`, and their number.
macro_rules! names_by {
    ($table:literal, $column:literal) => {
        concat!(
            "SELECT coalesce(a.username, a.email, a.code), count(*) OVER () FROM peristyle.account a JOIN peristyle.",
            $table,
            " m ON m.account_id = a.id WHERE m.",
            $column,
            " = $1 AND a.deleted_at IS NULL ORDER BY 1 LIMIT $2"
        )
    };
}

pub async fn holders(on: impl Run, role: Uuid, limit: i64) -> Result<AccountNames, Error> {
    names(on, names_by!("account_role", "role_id"), role, limit).await
}

pub async fn members(on: impl Run, tenant: Uuid, limit: i64) -> Result<AccountNames, Error> {
    names(on, names_by!("account_tenant", "tenant_id"), tenant, limit).await
}

pub async fn users(on: impl Run, app: Uuid, limit: i64) -> Result<AccountNames, Error> {
    names(on, names_by!("app_account", "app_id"), app, limit).await
}

async fn names(on: impl Run, sql: &'static str, id: Uuid, limit: i64) -> Result<AccountNames, Error> {
    let rows = on.rows(sql, &[Bind::Id(id), Bind::Number(limit)]).await?;
    let all = rows.first().map_or(Ok(0), |row| row.number(1))?;
    Ok(AccountNames { names: rows.iter().map(|row| Ok(row.text(0)?.to_owned())).collect::<Result<_, Error>>()?, all })
}

pub async fn clients_in_use(on: impl Run, sessions: &[Uuid]) -> Result<Vec<ClientInUse>, Error> {
    const SQL: &str = "SELECT DISTINCT f.session_id, f.client_id, p.code FROM peristyle.family f \
                       JOIN peristyle.client c ON c.id = f.client_id LEFT JOIN peristyle.app p ON p.id = c.app_id \
                       WHERE f.session_id IN (SELECT unnest($1)) AND f.ended_at IS NULL ORDER BY f.session_id, f.client_id";
    let read = |row: &Row| {
        let app = row.maybe_text(2)?.map(str::to_owned);
        Ok(ClientInUse { session: row.id(0)?, client: row.text(1)?.to_owned(), app })
    };
    on.rows(SQL, &[Bind::Ids(sessions)]).await?.iter().map(read).collect()
}
