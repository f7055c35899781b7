//! Rows that are held until a transaction ends.

use uuid::Uuid;

use crate::Error;
use crate::records::{Bind, Transaction};

/// Holds the row of an account, so that whatever begins for it has begun or waits. Whoever changes more of an account than its row holds
/// that first, so that no two wait for each other.
pub(crate) async fn hold_account(transaction: &mut Transaction, account: Uuid) -> Result<(), Error> {
    transaction.run("SELECT id FROM peristyle.account WHERE id = $1 FOR NO KEY UPDATE", &[Bind::Id(account)]).await.map(drop)
}
