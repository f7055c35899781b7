//! Locks on rows until a transaction ends.

use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Transaction};

/// Locks the row of an account, so that new grants and sessions of it wait. Each change that touches more than this row locks it first,
/// so that no two transactions deadlock.
pub(crate) async fn lock_account(transaction: &mut Transaction, account: Uuid) -> Result<(), Error> {
    transaction.run("SELECT id FROM peristyle.account WHERE id = $1 FOR NO KEY UPDATE", &[Bind::Id(account)]).await.map(drop)
}
