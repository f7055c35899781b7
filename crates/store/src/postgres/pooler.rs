//! Whether a pooler stands between that gives a session to another client after each transaction.
//!
//! What is prepared in such a session is found by others under its name, and theirs by us: an answer of another question, and perhaps of
//! another tenant. And what is set there is set for others.

use std::collections::HashSet;

use tokio::sync::OnceCell;
use tokio_postgres::{Error as DriverError, SimpleQueryMessage};

use crate::Error;
use crate::settings::Prepare;

use super::way::{Line, Way};
use super::{CONNECT, Manager, Postgres};

/// How often two connections are asked. An idle pooler tells at the first; a busy one may have given the session away.
const TURNS: usize = 3;

/// What a session is told apart by: servers of their own may give the same number to two.
const SESSION: &str = "SELECT pg_backend_pid() || ' of ' || pg_postmaster_start_time()";

/// Prepared under a name, to be looked for in the session of another connection.
const MARK: &str = "SELECT 'peristyle looks for a pooler'";

/// Under the name that the driver gave it.
const MARKED: &str =
    "SELECT 1 FROM pg_prepared_statements WHERE statement = $$SELECT 'peristyle looks for a pooler'$$ AND name ~ '^s[0-9]+$'";

/// Whose the sessions behind connections are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sessions {
    /// That of the connection, for as long as it lasts.
    Own,
    /// Everybody's, of a pooler that gives each client the statements that it has prepared.
    Carried,
    /// Everybody's, with all that is prepared in them.
    Shared,
}

/// Whose the sessions are, once that is known.
#[derive(Debug, Default)]
pub(super) struct Owners(OnceCell<Sessions>);

impl Postgres {
    /// Refuses sessions that are shared out, where statements would be prepared in them. One that is out of reach is asked when it is
    /// reached.
    pub(crate) async fn refuse_shared_sessions(&self) -> Result<(), Error> {
        let Manager { way, owners, prepare, .. } = self.pool.manager();
        if *prepare == Prepare::Off { Ok(()) } else { owners.sessions(way).await.map_or(Ok(()), Sessions::refuse_shared) }
    }
}

impl Sessions {
    pub(super) fn refuse_shared(self) -> Result<(), Error> {
        match self {
            Sessions::Own | Sessions::Carried => Ok(()),
            Sessions::Shared => Err(Error::Setting(
                "a pooler gives its connections to another client after each transaction; set DATABASE_PREPARE=off, or connect to PostgreSQL itself"
                    .to_owned(),
            )),
        }
    }
}

impl Owners {
    /// Whose the sessions are; asked once, by two connections.
    pub(super) async fn sessions(&self, way: &Way) -> Result<Sessions, DriverError> {
        let asked = self.0.get_or_try_init(|| async {
            let mut one = Box::pin(way.connect()).await?;
            let both = async {
                let mut other = Box::pin(way.connect()).await?;
                whose(&mut one, &mut other).await
            };
            Ok(tokio::time::timeout(CONNECT, both).await.unwrap_or_else(|_| Ok(untold("there is no second one"))).unwrap_or_else(untold))
        });
        asked.await.copied()
    }
}

/// That two connections are not to be had just now tells nothing.
fn untold(reason: impl std::fmt::Display) -> Sessions {
    tracing::warn!("whether a pooler shares connections out could not be told: {reason}");
    Sessions::Own
}

/// Two connections that are open at the same time are in two sessions, and stay there, or somebody shares them out.
async fn whose(one: &mut Line, other: &mut Line) -> Result<Sessions, DriverError> {
    let (mut seen, mut seen_by_other) = (HashSet::new(), HashSet::new());
    for _ in 0..TURNS {
        // Each twice: of sessions that are given out in turns, two that take turns would see one each.
        for _ in 0..2 {
            seen.insert(one.told(SESSION).await?);
        }
        for _ in 0..2 {
            seen_by_other.insert(other.told(SESSION).await?);
        }
    }
    if seen.len() == 1 && seen_by_other.len() == 1 && seen.is_disjoint(&seen_by_other) {
        return Ok(Sessions::Own);
    }
    let marked = one.driver.drive(one.client.prepare(MARK)).await?;
    let mut sessions = Sessions::Carried;
    for _ in 0..TURNS * 2 {
        if other.told(MARKED).await?.is_some() {
            sessions = Sessions::Shared;
        }
    }
    drop(marked);
    Ok(sessions)
}

impl Line {
    /// The first value of an answer, asked without preparing anything.
    async fn told(&mut self, sql: &str) -> Result<Option<String>, DriverError> {
        let answer = self.driver.drive(self.client.simple_query(sql)).await?;
        let mut rows = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(rows.next().map(str::to_owned))
    }
}
