//! Which servers of a DSN are used, by `target_session_attrs`: those that take writes, primaries, standbys.

/// Asks a server what it is. A pooler may report what another server was, so the server itself is asked.
pub(super) const ROLE: &str = "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only')";

/// libpq's `target_session_attrs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WantedRole {
    #[default]
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    /// A standby, or any server if there is none.
    PreferStandby,
}

/// What a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerRole {
    pub(super) is_standby: bool,
    pub(super) takes_writes: bool,
}

impl WantedRole {
    pub(super) const WORDS: [&'static str; 6] = ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"];

    pub(super) fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "any" => WantedRole::Any,
            "read-write" => WantedRole::ReadWrite,
            "read-only" => WantedRole::ReadOnly,
            "primary" => WantedRole::Primary,
            "standby" => WantedRole::Standby,
            "prefer-standby" => WantedRole::PreferStandby,
            _ => return None,
        })
    }

    /// Whether there is one such server in a cluster, which may change.
    pub(super) fn is_primary(self) -> bool {
        matches!(self, WantedRole::ReadWrite | WantedRole::Primary)
    }

    /// Why a server is not used; none if it is.
    pub(super) fn refusal(self, server: ServerRole) -> Option<&'static str> {
        match self {
            WantedRole::ReadWrite if !server.takes_writes => Some("it takes no writes, and target_session_attrs=read-write"),
            WantedRole::ReadOnly if server.takes_writes => Some("it takes writes, and target_session_attrs=read-only"),
            WantedRole::Primary if server.is_standby => Some("it is a standby, and target_session_attrs=primary"),
            WantedRole::Standby | WantedRole::PreferStandby if !server.is_standby => {
                Some("it is a primary, and target_session_attrs=standby")
            }
            _ => None,
        }
    }
}
