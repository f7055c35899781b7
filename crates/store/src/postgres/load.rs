//! The levels below a batch of rows.

use std::pin::{Pin, pin};

use futures_util::StreamExt;
use query::sql::{ChildLevel, Level, Owner};
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};

use crate::Error;
use crate::assemble::{Batch, Gathered, Gathering, Held, Keys, Member};

use super::encode::{Encoder, column};
use super::rows::{collect_keys, open};
use super::{Connection, Lease, Postgres};

/// Loads the levels below, one statement a level for the whole batch, on the same connection. Where that is more than there is room for,
/// nothing is loaded, and the batch is heavy.
pub(super) async fn load(lease: &mut Lease, postgres: &Postgres, level: &Level, batch: &mut Batch, left: &mut usize) -> Result<(), Error> {
    // Most statements load nothing, and need no room for it.
    if level.children.is_empty() { Ok(()) } else { below(lease, postgres, level, batch, left).await }
}

fn below<'a>(
    lease: &'a mut Lease,
    postgres: &'a Postgres,
    level: &'a Level,
    batch: &'a mut Batch,
    left: &'a mut usize,
) -> Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>> {
    Box::pin(async move {
        let pending = std::mem::take(&mut batch.pending);
        let mut loaded = Vec::with_capacity(pending.len());
        for (keys, child) in pending.iter().zip(&level.children) {
            if keys.len() == 0 {
                loaded.push((Vec::new(), Batch::default()));
                continue;
            }
            let heavy = match lease.step(postgres.timeout, async |connection| related(connection, child, keys, left).await).await? {
                Gathered::TooMuch(weights) => weights,
                Gathered::Whole(owners, mut rows) => {
                    load(lease, postgres, &child.level, &mut rows, left).await?;
                    if !rows.is_heavy() {
                        loaded.push((owners, rows));
                        continue;
                    }
                    rows.weights_by_key(&owners, keys.len())
                }
            };
            batch.weigh(keys, &heavy);
            batch.pending = pending;
            return Ok(());
        }
        for ((keys, child), (owners, rows)) in pending.into_iter().zip(&level.children).zip(loaded) {
            batch.attach(Member { key: child.key.clone(), many: child.many }, keys, &owners, rows);
        }
        Ok(())
    })
}

async fn related(
    connection: &mut Connection,
    child: &ChildLevel,
    keys: &Keys,
    left: &mut usize,
) -> Result<Gathered, tokio_postgres::Error> {
    let stream = open(connection, &child.level.sql, Some(keys)).await?;
    let mut stream = pin!(stream);
    let mut gathering = Gathering::new(keys.len(), left);
    let mut key_sets = Keys::of(&child.level);
    let mut encoder = Encoder::new(&child.level.outputs);
    while let Some(row) = stream.next().await {
        let row = row?;
        let owner = owner(&row, child.owner, keys)?;
        encoder.row(gathering.buffer(), &row);
        if gathering.end_row(owner) == Held::Yes {
            collect_keys(&mut key_sets, &child.level, &row);
        }
    }
    Ok(gathering.end(key_sets))
}

/// The number of the parents' key that a row belongs to.
fn owner(row: &Row, owner: Owner, keys: &Keys) -> Result<u32, tokio_postgres::Error> {
    match owner {
        Owner::Number => Ok((row.try_get::<_, i64>(0)? - 1) as u32),
        Owner::Key(index) => match column(row, index).and_then(|key| keys.find(key)) {
            Some(number) => Ok(number),
            None => row.try_get::<_, Stranger>(index).map(|stranger| match stranger {}),
        },
    }
}

/// A key that nobody asked for: the column has become one of another type, whose values look otherwise. To leave its row out would be wrong.
enum Stranger {}

impl FromSql<'_> for Stranger {
    fn from_sql(kind: &Type, _: &[u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Err(format!("a related row has a key of the type {kind} that was not asked for; has its column changed? Start again").into())
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
