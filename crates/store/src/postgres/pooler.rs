//! Detects a pooler that gives a session to another client after each transaction.
//!
//! In such a session, prepared statements of different clients meet under the same names: a client may get the answer to another one's question,
//! perhaps of another tenant. And settings of one client apply to others.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::Error;
use crate::settings::Prepare;

use super::connection_attempt::RawConnection;
use super::connector::{ConnectError, Connector};
use super::{CONNECT_TIMEOUT, Manager, Postgres};

/// How often two connections are asked. An idle pooler shows at the first; a busy one may have given the session away.
const ROUNDS: usize = 3;

/// Identifies a session. Two servers may use the same process id.
const SESSION_ID: &str = "SELECT pg_backend_pid() || ' of ' || pg_postmaster_start_time()";

/// A prepared statement to look for in the session of another connection.
const MARKER: &str = "SELECT 'peristyle looks for a pooler'";

/// Finds the marker under the name that the driver gave it.
const FIND_MARKER: &str =
    "SELECT 1 FROM pg_prepared_statements WHERE statement = $$SELECT 'peristyle looks for a pooler'$$ AND name ~ '^s[0-9]+$'";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// Each connection has a session of its own.
    Direct,
    /// Clients share sessions, and the pooler tracks which statements each of them has prepared.
    Tracking,
    /// Clients share sessions and the statements prepared in them.
    Shared,
}

#[derive(Debug, Default)]
pub(super) struct PoolingProbe(OnceCell<Pooling>);

impl Postgres {
    pub(crate) async fn check_pooling(&self) -> Result<(), Error> {
        let Manager { connector, probe, prepare, .. } = self.pool.manager();
        if *prepare == Prepare::Off { Ok(()) } else { probe.pooling(connector).await?.refuse_shared() }
    }
}

impl Pooling {
    pub(super) fn refuse_shared(self) -> Result<(), Error> {
        match self {
            Pooling::Direct | Pooling::Tracking => Ok(()),
            Pooling::Shared => Err(Error::Setting(
                "a pooler gives its connections to another client after each transaction; set DATABASE_PREPARE=off, or connect to PostgreSQL itself"
                    .to_owned(),
            )),
        }
    }
}

impl PoolingProbe {
    pub(super) async fn pooling(&self, connector: &Arc<Connector>) -> Result<Pooling, ConnectError> {
        let detected = self.0.get_or_try_init(|| async {
            // A pooler may log clients in while its database is silent, which is an outage.
            let one = Box::pin(connector.connect(SESSION_ID)).await?;
            let both = async {
                let other = Box::pin(connector.connect("")).await?;
                detect(&one, &other).await
            };
            Ok(tokio::time::timeout(CONNECT_TIMEOUT, both)
                .await
                .unwrap_or_else(|_| Ok(undetected("no second connection in time")))
                .unwrap_or_else(undetected))
        });
        detected.await.copied()
    }
}

/// Two connections may be unavailable just now, which says nothing about a pooler.
fn undetected(reason: impl std::fmt::Display) -> Pooling {
    tracing::warn!("could not detect whether a pooler shares connections: {reason}");
    Pooling::Direct
}

/// Without a pooler, two open connections are in two sessions and stay there.
async fn detect(one: &RawConnection, other: &RawConnection) -> Result<Pooling, Error> {
    let (mut seen, mut seen_by_other) = (HashSet::new(), HashSet::new());
    for _ in 0..ROUNDS {
        // Each twice: if sessions are given out in turns, two clients that take turns would see one each.
        for _ in 0..2 {
            seen.insert(one.first_value(SESSION_ID).await?);
        }
        for _ in 0..2 {
            seen_by_other.insert(other.first_value(SESSION_ID).await?);
        }
    }
    if seen.len() == 1 && seen_by_other.len() == 1 && seen.is_disjoint(&seen_by_other) {
        return Ok(Pooling::Direct);
    }
    let marker = one.client.prepare(MARKER).await?;
    let mut pooling = Pooling::Tracking;
    for _ in 0..ROUNDS * 2 {
        if other.first_value(FIND_MARKER).await?.is_some() {
            pooling = Pooling::Shared;
        }
    }
    drop(marker);
    Ok(pooling)
}
