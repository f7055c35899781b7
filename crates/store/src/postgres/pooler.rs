//! Whether a pooler stands between that gives a session to another client after each transaction.
//!
//! What is prepared in such a session is found by others under its name, and theirs by us: an answer of another question, and perhaps of
//! another tenant. Nothing may be prepared there, and nothing set.

use std::collections::HashSet;

use tokio_postgres::{Client, Error as DriverError, SimpleQueryMessage};

use crate::Error;
use crate::settings::Prepare;

use super::cancel::Way;
use super::driver::Driver;
use super::{CONNECT, Manager, Postgres};

/// How often two connections are asked in turns. An idle pooler tells at the first; a busy one may have given the session away.
const TURNS: usize = 4;

impl Postgres {
    /// Refuses sessions that are not ours alone, unless we use them so. That two connections are not to be had just now tells nothing.
    pub(crate) async fn refuse_shared_sessions(&self) -> Result<(), Error> {
        let Manager { way, prepare, .. } = self.pool.manager();
        if *prepare == Prepare::Off {
            return Ok(());
        }
        match tokio::time::timeout(CONNECT, Box::pin(are_shared(way))).await {
            Ok(Ok(true)) => Err(Error::Setting(
                "a pooler gives its connections to another client after each transaction; set DATABASE_PREPARE=off, or connect to PostgreSQL itself"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// Two connections that are open at the same time are in two sessions, or somebody shares them out.
async fn are_shared(way: &Way) -> Result<bool, DriverError> {
    let (mut one, mut other) = (Asking::connect(way).await?, Asking::connect(way).await?);
    let (mut seen, mut seen_by_other) = (HashSet::new(), HashSet::new());
    for _ in 0..TURNS {
        seen.insert(one.session().await?);
        seen_by_other.insert(other.session().await?);
    }
    Ok(seen.len() > 1 || seen_by_other.len() > 1 || !seen.is_disjoint(&seen_by_other))
}

/// A connection of which nothing is set.
struct Asking {
    client: Client,
    driver: Driver,
}

impl Asking {
    async fn connect(way: &Way) -> Result<Self, DriverError> {
        let (client, connection) = way.config.connect(way.tls.clone()).await?;
        Ok(Asking { client, driver: Driver::new(async move { _ = connection.await }) })
    }

    /// Which session answers now.
    async fn session(&mut self) -> Result<Option<String>, DriverError> {
        let answer = self.driver.drive(self.client.simple_query("SELECT pg_backend_pid()")).await?;
        let mut rows = answer.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(rows.next().map(str::to_owned))
    }
}
