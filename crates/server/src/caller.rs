//! The caller of a request: the account, or the client address of an anonymous request.

use std::sync::{Arc, LazyLock};

use identity::account::Rights;
use query::policy::{ACCOUNT_FIELDS, Viewer};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::budget::CallerKey;
use crate::problem::{Problem, ReadOnlyToken};

static ANONYMOUS: LazyLock<Arc<Viewer>> = LazyLock::new(|| Arc::new(Viewer::anonymous()));

/// The account or the client address that a request counts for.
#[derive(Clone, Debug)]
pub struct Caller {
    viewer: Arc<Viewer>,
    identity: Identity,
    key: CallerKey,
    /// The source of the token, if it may not change the hub's records.
    read_only: Option<ReadOnlyToken>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// The strategy is `none`.
    Unchecked,
    Anonymous,
    Account(Uuid),
}

impl Caller {
    pub(crate) fn unchecked(viewer: Arc<Viewer>, key: CallerKey) -> Self {
        Caller { viewer, identity: Identity::Unchecked, key, read_only: None }
    }

    pub(crate) fn anonymous(key: CallerKey) -> Self {
        Caller { viewer: ANONYMOUS.clone(), identity: Identity::Anonymous, key, read_only: None }
    }

    /// The account of a valid token. A hub names the source of the token if that one may not change its records.
    pub(crate) fn of_account(id: Uuid, viewer: Arc<Viewer>, read_only: Option<ReadOnlyToken>) -> Self {
        Caller { viewer, identity: Identity::Account(id), key: CallerKey::Account(id), read_only }
    }

    /// Refuses a token that may not change the hub's records. The operator of such a client could act for every administrator
    /// who uses it.
    pub(crate) fn may_administer(&self) -> Result<(), Problem> {
        self.read_only.clone().map_or(Ok(()), |source| Err(Problem::ClientMayNotAdminister(source)))
    }

    /// Refuses a token of the page of a hub: it changes nothing.
    pub(crate) fn may_write(&self) -> Result<(), Problem> {
        match &self.read_only {
            Some(ReadOnlyToken::Page) => Err(Problem::ClientMayNotAdminister(ReadOnlyToken::Page)),
            Some(ReadOnlyToken::Client(_)) | None => Ok(()),
        }
    }

    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    pub(crate) fn key(&self) -> CallerKey {
        self.key
    }

    /// The account of the token; none for an anonymous caller.
    pub fn account(&self) -> Option<Uuid> {
        match self.identity {
            Identity::Account(id) => Some(id),
            Identity::Unchecked | Identity::Anonymous => None,
        }
    }

    /// The account as JSON, as `$account.…` in a manifest sees it. Without a token it is the anonymous account.
    pub fn details(&self) -> &Value {
        self.viewer.account()
    }

    /// Refuses a caller without a permission: 401 without a token, 403 with one.
    pub fn require(&self, permission: &str) -> Result<(), Problem> {
        if self.viewer.has_permission(permission) { Ok(()) } else { Err(self.refusal(permission)) }
    }

    /// The refusal for a missing permission: 401 for an anonymous caller, 403 otherwise. Only an account reads the name of the permission.
    pub fn refusal(&self, permission: &str) -> Problem {
        match self.identity {
            Identity::Anonymous => Problem::Unauthenticated,
            Identity::Unchecked => Problem::Forbidden,
            Identity::Account(_) => Problem::MissingPermission(permission.to_owned().into()),
        }
    }
}

/// The viewer of an account, read from the answer of `/auth/me`. Its permissions are those of `dPermissions`.
pub(crate) fn viewer_of_row(account: &Map<String, Value>) -> Option<Viewer> {
    let rights = account.get("dPermissions").and_then(Rights::from_json)?;
    let details = ACCOUNT_FIELDS.iter().filter_map(|key| Some(((*key).to_owned(), account.get(*key)?.clone()))).collect();
    Some(viewer(&rights, Value::Object(details)))
}

/// The viewer of an account: its permissions, and the object that `$account.…` reads. An administrator also holds the permissions that
/// only this process declares.
pub(crate) fn viewer(rights: &Rights, details: Value) -> Viewer {
    if rights.are_everything() { Viewer::administrator(details) } else { Viewer::new(rights.all().map(str::to_owned), details) }
}
