//! Who is who at the demo's hub: tenants, roles, accounts and the client that the satellite is.

use std::fmt;

use identity::account::AccountKind;
use identity::lifetime::{ACCESS_TOKEN_SECONDS, Lifetimes, REFRESH_TOKEN_SECONDS};
use identity::password::{Password, PasswordHash};
use serde_json::Map;
use store::DatabaseSettings;
use store::hub_records::audit_log::AuditContext;
use uuid::Uuid;
use zeroize::Zeroizing;

use crate::administration::{Actor, Administration, Fault, NewAccount, NewClient, RoleChange};
use crate::{boot, clock, random};

use super::{Stopped, shop};

/// The satellite's name at the hub.
pub(super) const CLIENT: &str = "demo-shop";

/// A role with what it holds.
const ROLES: [(&str, &[&str]); 2] = [
    ("shop manager", &["shop.customer.get", "shop.customer.pii", "shop.label.get", "shop.order.get", "shop.product.cost"]),
    ("shop clerk", &["shop.customer.get", "shop.order.get"]),
];

/// A text that is told once, and shows nowhere else.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The text, for the one place where it is told.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// Somebody to sign in as.
#[derive(Debug)]
pub struct Person {
    /// Their name at the hub.
    pub username: &'static str,
    /// A fresh password, told once.
    pub password: Secret,
    /// What they can see, in a few words.
    pub sees: &'static str,
}

struct Part {
    username: &'static str,
    role: &'static str,
    tenants: &'static [&'static str],
    sees: &'static str,
}

const PARTS: [Part; 3] = [
    Part {
        username: "ana",
        role: "shop manager",
        tenants: &["nordic", "alpine"],
        sees: "two tenants, with e-mail addresses, labels and costs",
    },
    Part { username: "ben", role: "shop clerk", tenants: &["iberia"], sees: "another tenant, with e-mail addresses masked" },
    Part { username: "admin", role: "administrator", tenants: &["nordic", "iberia", "alpine"], sees: "everything, the hub's records too" },
];

/// What was made at the hub.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) people: Vec<Person>,
    /// The secret of the satellite's client.
    pub(super) secret: Secret,
}

/// Fills an empty database of a hub, by the operations that the command line offers.
pub(super) async fn make(url: &str, redirect: &str) -> Result<Made, Stopped> {
    let records = boot::records(url, &DatabaseSettings::default()).await?;
    let now = clock::now();
    let administration = Administration { records: &records, actor: Actor::CommandLine, occasion: AuditContext { now, address: None } };
    for shop::Tenant { id, code, name } in shop::tenants() {
        administration.create_tenant(Some(tenant_id(id)?), code, name).await?;
    }
    for (name, permissions) in ROLES {
        let permissions = Some(permissions.iter().map(|permission| (*permission).to_owned()).collect());
        administration.create_role(name, RoleChange { permissions, ..RoleChange::default() }).await?;
    }
    let mut people = Vec::new();
    for part in &PARTS {
        people.push(person(administration, part).await?);
    }
    let lifetimes = Lifetimes::new(ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS).map_err(|fault| Stopped::Failed(fault.to_string()))?;
    let client = NewClient {
        id: CLIENT.to_owned(),
        name: "Demo shop".to_owned(),
        redirect: redirect.to_owned(),
        grants: None,
        lifetimes,
        administers: false,
        app: None,
    };
    let (_, secret) = administration.create_client(client).await?;
    Ok(Made { people, secret: Secret(secret.expose()) })
}

async fn person(administration: Administration<'_>, part: &Part) -> Result<Person, Stopped> {
    let password = password()?;
    let chosen = Password::chosen(password.expose()).map_err(|fault| Stopped::Failed(fault.to_string()))?;
    let salt = random::bytes().map_err(Fault::from)?;
    let hash = tokio::task::spawn_blocking(move || PasswordHash::make(&chosen, salt)).await;
    let hash = hash.map_err(|error| Stopped::Failed(error.to_string()))?.map_err(|error| Stopped::Failed(error.to_string()))?;
    let ids = shop::tenants().filter(|tenant| part.tenants.contains(&tenant.code)).map(|tenant| tenant_id(tenant.id));
    let account = NewAccount {
        kind: AccountKind::User,
        code: None,
        username: Some(part.username.to_owned()),
        email: Some(format!("{}@example.com", part.username)),
        tags: Vec::new(),
        scopes: Vec::new(),
        roles: vec![part.role.to_owned()],
        tenants: ids.collect::<Result<_, _>>()?,
        meta: Map::new(),
        password: Some(hash),
    };
    administration.create_account(account).await?;
    Ok(Person { username: part.username, password, sees: part.sees })
}

/// Twelve letters that are told apart at a glance, in three groups: 60 bits, for something that lives an afternoon.
fn password() -> Result<Secret, Stopped> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let random: [u8; 12] = random::bytes().map_err(Fault::from)?;
    let mut text = Zeroizing::new(String::new());
    for (index, byte) in random.iter().enumerate() {
        if index > 0 && index % 4 == 0 {
            text.push('-');
        }
        text.push(char::from(LETTERS[usize::from(byte % 32)]));
    }
    Ok(Secret(text))
}

fn tenant_id(text: &str) -> Result<Uuid, Stopped> {
    Uuid::try_parse(text).map_err(|error| Stopped::Failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_shows_in_debug() {
        let secret = || Secret(Zeroizing::new("sesame".to_owned()));
        let people = vec![Person { username: "ana", password: secret(), sees: "all" }];
        let shown = format!("{:?}", Made { people, secret: secret() });
        assert!(shown.contains("ana") && !shown.contains("sesame"), "{shown}");
    }
}
