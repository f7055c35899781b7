//! Fills the demo's hub: tenants, roles, accounts and the client of the satellite.

use std::fmt;

use identity::account::AccountKind;
use identity::password::{Password, PasswordHash};
use store::DatabaseSettings;
use store::hub_records::audit_log::AuditContext;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::administration::{
    AccountChange, Actor, AdminError, Administration, ClientChange, NullableChange, PermissionsChange, RoleChange,
};
use crate::config::Secret;
use crate::{boot, clock, random};

use super::{PrepareError, shop};

pub(super) const CLIENT: &str = "demo-shop";

const ROLES: [(&str, &[&str]); 2] = [
    (
        "shop manager",
        &[
            "shop.customer.credit",
            "shop.customer.get",
            "shop.customer.pii",
            "shop.customer.update",
            "shop.label.get",
            "shop.order.correct",
            "shop.order.create",
            "shop.order.delete",
            "shop.order.get",
            "shop.order.update",
            "shop.product.cost",
        ],
    ),
    (
        "shop clerk",
        &["shop.customer.get", "shop.customer.update", "shop.order.create", "shop.order.delete", "shop.order.get", "shop.order.update"],
    ),
];

#[derive(Debug)]
pub struct DemoAccount {
    pub username: &'static str,
    pub password: Secret,
    pub sees: &'static str,
}

struct AccountTemplate {
    username: &'static str,
    role: &'static str,
    tenants: &'static [&'static str],
    sees: &'static str,
}

const ACCOUNTS: [AccountTemplate; 3] = [
    AccountTemplate {
        username: "ana",
        role: "shop manager",
        tenants: &["nordic", "alpine"],
        sees: "two tenants, with e-mail addresses, labels and costs, and may change all their orders",
    },
    AccountTemplate {
        username: "ben",
        role: "shop clerk",
        tenants: &["iberia"],
        sees: "another tenant, with e-mail addresses masked, and may change its open orders",
    },
    AccountTemplate {
        username: "admin",
        role: "administrator",
        tenants: &["nordic", "iberia", "alpine"],
        sees: "everything, the hub's records too",
    },
];

#[derive(Debug)]
pub(super) struct HubSetup {
    pub(super) accounts: Vec<DemoAccount>,
    pub(super) client_secret: Secret,
}

pub(super) async fn create(database_url: &str, redirect_uri: &str) -> Result<HubSetup, PrepareError> {
    let records = boot::records(database_url, &DatabaseSettings::default()).await?;
    let now = clock::now();
    let administration =
        Administration { records: &records, actor: Actor::CommandLine, audit_context: AuditContext { now, address: None } };
    for region in &shop::REGIONS {
        administration.create_tenant(Some(tenant_id(region.tenant)?), region.code, region.name).await?;
    }
    for (name, permissions) in ROLES {
        let permissions = PermissionsChange::Replace(permissions.iter().map(|permission| (*permission).to_owned()).collect());
        administration.create_role(name, RoleChange { permissions, ..RoleChange::default() }).await?;
    }
    let mut accounts = Vec::new();
    for template in &ACCOUNTS {
        accounts.push(create_account(administration, template).await?);
    }
    let client = ClientChange { name: Some("Demo shop".to_owned()), redirect: Some(redirect_uri.to_owned()), ..ClientChange::default() };
    let (_, secret) = administration.create_client(CLIENT, client).await?;
    Ok(HubSetup { accounts, client_secret: Secret::new(&secret.expose()) })
}

async fn create_account(administration: Administration<'_>, template: &AccountTemplate) -> Result<DemoAccount, PrepareError> {
    let password = random_password()?;
    let chosen = Password::chosen(password.expose()).map_err(failed)?;
    let salt = random::bytes().map_err(AdminError::from)?;
    let hash = tokio::task::spawn_blocking(move || PasswordHash::make(&chosen, salt)).await.map_err(failed)?.map_err(failed)?;
    let ids = shop::REGIONS.iter().filter(|region| template.tenants.contains(&region.code)).map(|region| tenant_id(region.tenant));
    let account = AccountChange {
        username: NullableChange::Set(template.username.to_owned()),
        email: NullableChange::Set(format!("{}@example.com", template.username)),
        roles: Some(vec![template.role.to_owned()]),
        tenants: Some(ids.collect::<Result<_, _>>()?),
        ..AccountChange::default()
    };
    administration.create_account(AccountKind::User, account, Some(&hash)).await?;
    Ok(DemoAccount { username: template.username, password, sees: template.sees })
}

/// Twelve unambiguous letters in three groups: 60 bits, enough for a demo.
fn random_password() -> Result<Secret, PrepareError> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let random: [u8; 12] = random::bytes().map_err(AdminError::from)?;
    let mut text = Zeroizing::new(String::new());
    for (index, byte) in random.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push('-');
        }
        text.push(char::from(LETTERS[usize::from(byte % 32)]));
    }
    Ok(Secret::new(&text))
}

fn failed(error: impl fmt::Display) -> PrepareError {
    PrepareError::Failed(error.to_string())
}

fn tenant_id(text: &str) -> Result<Uuid, PrepareError> {
    Uuid::try_parse(text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let secret = || Secret::new("sesame");
        let accounts = vec![DemoAccount { username: "ana", password: secret(), sees: "all" }];
        let shown = format!("{:?}", HubSetup { accounts, client_secret: secret() });
        assert!(shown.contains("ana") && !shown.contains("sesame"), "{shown}");
    }
}
