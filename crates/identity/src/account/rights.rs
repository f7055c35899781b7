//! The rights of an account: the permissions that its roles give it (`dPermissions`, d for derived). Satellites read them. This module also
//! decides which rights an account may give to others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::account::permission::{KnownPermissions, Permission};

/// The role with every permission, also those that only a satellite knows. Its id is fixed, so that a satellite recognises it.
pub const ADMINISTRATOR: Uuid = Uuid::from_u128(0x0000_0000_0000_4000_8000_0000_0000_0001);

pub const ADMINISTRATOR_NAME: &str = "administrator";

const ALL: &str = "all";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolePermissions {
    /// Every permission, future ones included.
    Everything,
    Listed(BTreeSet<Permission>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    id: Uuid,
    holding: RolePermissions,
}

impl Role {
    /// A role; the one with the administrator's id has every permission.
    pub fn new(id: Uuid, listed: BTreeSet<Permission>) -> Self {
        let holding = if id == ADMINISTRATOR { RolePermissions::Everything } else { RolePermissions::Listed(listed) };
        Role { id, holding }
    }

    pub fn id(&self) -> Uuid {
        self.id
    }

    pub fn holding(&self) -> &RolePermissions {
        &self.holding
    }
}

/// `dPermissions`: the permissions of each role, and of all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    all: BTreeSet<String>,
    roles: BTreeMap<Uuid, BTreeSet<String>>,
}

impl Rights {
    pub fn none() -> Self {
        Rights::default()
    }

    /// The rights from these roles. The administrator's are listed from the catalogue, for readers that only look into `all`.
    pub fn of<'a>(roles: impl IntoIterator<Item = &'a Role>, catalogue: &KnownPermissions) -> Self {
        let mut rights = Rights::none();
        for role in roles {
            let held = match role.holding() {
                RolePermissions::Everything => catalogue.permissions(),
                RolePermissions::Listed(listed) => listed,
            };
            let held: BTreeSet<String> = held.iter().map(|permission| permission.as_str().to_owned()).collect();
            rights.all.extend(held.iter().cloned());
            rights.roles.insert(role.id(), held);
        }
        rights
    }

    /// Whether they are an administrator's.
    pub fn are_everything(&self) -> bool {
        self.roles.contains_key(&ADMINISTRATOR)
    }

    pub fn hold(&self, permission: &str) -> bool {
        self.are_everything() || self.all.contains(permission)
    }

    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(String::as_str)
    }

    /// `{"all": […], "<roleId>": […]}`
    pub fn to_json(&self) -> Value {
        let names = |held: &BTreeSet<String>| Value::from(held.iter().cloned().collect::<Vec<_>>());
        let mut members = Map::new();
        members.insert(ALL.to_owned(), names(&self.all));
        members.extend(self.roles.iter().map(|(role, held)| (role.to_string(), names(held))));
        Value::Object(members)
    }

    /// Reads `dPermissions`. `None` for another shape: the reader must refuse it.
    pub fn from_json(value: &Value) -> Option<Self> {
        let names =
            |value: &Value| value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<BTreeSet<String>>>();
        let members = value.as_object()?;
        let mut rights = Rights { all: names(members.get(ALL)?)?, roles: BTreeMap::new() };
        // Role names that are no UUID are ignored: `all` decides.
        for (role, held) in members.iter().filter_map(|(name, held)| Some((Uuid::try_parse(name).ok()?, held))) {
            rights.roles.insert(role, names(held)?);
        }
        Some(rights)
    }

    /// Whether their holder may give a role with these permissions to an account, or add them to a role: only what the holder has.
    pub fn may_grant(&self, holding: &RolePermissions) -> Result<(), RightsFault> {
        let held = match holding {
            RolePermissions::Everything => self.are_everything(),
            RolePermissions::Listed(listed) => listed.iter().all(|permission| self.hold(permission.as_str())),
        };
        held.then_some(()).ok_or(RightsFault::NotHeld)
    }

    /// Whether their holder, of the `own` tenants, may add accounts to these tenants, act on their members, who see a tenant's data, or
    /// remove the tenants.
    pub fn may_admit(&self, own: &[Uuid], tenants: &[Uuid]) -> Result<(), RightsFault> {
        let held = self.hold("iam.tenant.update") || tenants.iter().all(|tenant| own.contains(tenant));
        held.then_some(()).ok_or(RightsFault::NotHeld)
    }

    /// Whether their holder may set the password or take the roles of an account with these rights: only with all of them.
    pub fn may_act_on(&self, other: &Rights) -> Result<(), RightsFault> {
        let held = self.are_everything() || (!other.are_everything() && other.all.is_subset(&self.all));
        held.then_some(()).ok_or(RightsFault::NotHeld)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RightsFault {
    #[error("nobody can grant or take over what they do not hold")]
    NotHeld,
    #[error("the last active administrator cannot be removed, deactivated or deprived of the role")]
    LastAdministrator,
    #[error("the role administrator is built in and cannot be changed or removed")]
    BuiltIn,
}

/// Refuses a change that leaves no active administrator. The counts are of the change's own transaction.
pub fn keep_an_administrator(before: usize, after: usize) -> Result<(), RightsFault> {
    if before > 0 && after == 0 { Err(RightsFault::LastAdministrator) } else { Ok(()) }
}

pub fn may_change_role(role: Uuid) -> Result<(), RightsFault> {
    if role == ADMINISTRATOR { Err(RightsFault::BuiltIn) } else { Ok(()) }
}
