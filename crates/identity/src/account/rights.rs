//! What an account may do (`dPermissions`): computed from its roles, read back by satellites, and the bounds of handing it on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::account::permission::{Catalogue, Permission};

/// The role that holds every permission, also those that only a satellite knows. Its id is fixed, so that it is the same in every
/// database and its presence in `dPermissions` can be read anywhere; it cannot be renamed, emptied or removed.
pub const ADMINISTRATOR: Uuid = Uuid::from_u128(0x0000_0000_0000_4000_8000_0000_0000_0001);

/// The name of that role.
pub const ADMINISTRATOR_NAME: &str = "administrator";

const ALL: &str = "all";

/// What a role holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// Everything, now and later.
    Everything,
    /// These.
    Listed(BTreeSet<Permission>),
}

/// A role as far as rights go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    id: Uuid,
    holding: Holding,
}

impl Role {
    /// A role; the one with the administrator's id holds everything, whatever is listed.
    pub fn new(id: Uuid, listed: BTreeSet<Permission>) -> Self {
        let holding = if id == ADMINISTRATOR { Holding::Everything } else { Holding::Listed(listed) };
        Role { id, holding }
    }

    /// Its id.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// What it holds.
    pub fn holding(&self) -> &Holding {
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
    /// No permission.
    pub fn none() -> Self {
        Rights::default()
    }

    /// The rights that roles give. Everything is spelled out as far as the hub knows the names, for readers that only look into `all`.
    pub fn of<'a>(roles: impl IntoIterator<Item = &'a Role>, catalogue: &Catalogue) -> Self {
        let mut rights = Rights::none();
        for role in roles {
            let held = match role.holding() {
                Holding::Everything => catalogue.permissions(),
                Holding::Listed(listed) => listed,
            };
            let held: BTreeSet<String> = held.iter().map(|permission| permission.as_str().to_owned()).collect();
            rights.all.extend(held.iter().cloned());
            rights.roles.insert(role.id(), held);
        }
        rights
    }

    /// Whether an administrator's.
    pub fn are_everything(&self) -> bool {
        self.roles.contains_key(&ADMINISTRATOR)
    }

    /// Whether this permission is held.
    pub fn hold(&self, permission: &str) -> bool {
        self.are_everything() || self.all.contains(permission)
    }

    /// The names in `all`.
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

    /// Reads `dPermissions`. `None` for anything of another shape: the reader must refuse then, since it cannot know what was meant.
    pub fn from_json(value: &Value) -> Option<Self> {
        let names =
            |value: &Value| value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<BTreeSet<String>>>();
        let members = value.as_object()?;
        let mut rights = Rights { all: names(members.get(ALL)?)?, roles: BTreeMap::new() };
        // Names of roles that are no ids of ours give nothing: what counts is in `all`.
        for (role, held) in members.iter().filter_map(|(name, held)| Some((Uuid::try_parse(name).ok()?, held))) {
            rights.roles.insert(role, names(held)?);
        }
        Some(rights)
    }

    /// Nobody can hand on what they do not hold: whether these rights suffice to give somebody this role, or to put this into one.
    pub fn may_grant(&self, holding: &Holding) -> Result<(), RightsFault> {
        let held = match holding {
            Holding::Everything => self.are_everything(),
            Holding::Listed(listed) => listed.iter().all(|permission| self.hold(permission.as_str())),
        };
        held.then_some(()).ok_or(RightsFault::NotHeld)
    }

    /// Belonging to a tenant shows what is its own, so nobody lets others into one, or takes over an account of one, that they do not
    /// belong to themselves; but for those who look after tenants.
    pub fn may_admit(&self, own: &[Uuid], tenants: &[Uuid]) -> Result<(), RightsFault> {
        let held = self.hold("iam.tenant.update") || tenants.iter().all(|tenant| own.contains(tenant));
        held.then_some(()).ok_or(RightsFault::NotHeld)
    }

    /// Whoever sets the password of an account, signs in as it or takes its roles away must hold all that it holds; else setting an
    /// administrator's password would be a way to become one.
    pub fn may_act_on(&self, other: &Rights) -> Result<(), RightsFault> {
        let held = self.are_everything() || (!other.are_everything() && other.all.is_subset(&self.all));
        held.then_some(()).ok_or(RightsFault::NotHeld)
    }
}

/// Why a change of rights is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RightsFault {
    /// More than the actor holds.
    #[error("nobody can grant or take over what they do not hold")]
    NotHeld,
    /// Nobody could undo it.
    #[error("the last active administrator cannot be removed, deactivated or deprived of the role")]
    LastAdministrator,
    /// The built-in role.
    #[error("the role administrator is built in and cannot be changed or removed")]
    BuiltIn,
}

/// Whether a change may go through that leaves so many active administrators of those there were. Counted in the change's transaction.
pub fn keep_an_administrator(before: usize, after: usize) -> Result<(), RightsFault> {
    if before > 0 && after == 0 { Err(RightsFault::LastAdministrator) } else { Ok(()) }
}

/// Whether a role's name or permissions may be changed, or the role removed.
pub fn may_change_role(role: Uuid) -> Result<(), RightsFault> {
    if role == ADMINISTRATOR { Err(RightsFault::BuiltIn) } else { Ok(()) }
}
