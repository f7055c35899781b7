//! Ends sessions of other accounts.

use identity::event::{Change, Record};
use identity::session::Ending;
use store::endings::Over;
use store::sessions;
use uuid::Uuid;

use super::{AdminError, Administration, ChangeTransaction};

const PERMISSION: &str = "iam.session.delete";

impl Administration<'_> {
    /// Ends one session and its grants.
    pub async fn end_session(&self, session: Uuid) -> Result<Over, AdminError> {
        let mut tx = self.begin(PERMISSION).await?;
        let owner = sessions::owner(&mut tx.records, session, self.occasion.now).await?;
        let owner = owner.ok_or_else(|| AdminError::NotFound(format!("there is no live session {session}")))?;
        self.sign_out(tx, owner, Ending::Logout(session)).await
    }

    /// Ends every session and every grant of an account.
    pub async fn end_sessions_of(&self, account: Uuid) -> Result<Over, AdminError> {
        let tx = self.begin(PERMISSION).await?;
        self.sign_out(tx, account, Ending::LogoutEverywhere(account)).await
    }

    async fn sign_out(&self, mut tx: ChangeTransaction, account: Uuid, ending: Ending) -> Result<Over, AdminError> {
        tx.changeable_account(account).await?;
        let over = self.end(&mut tx, &ending).await?;
        self.finish(tx, Record::Account(account), Change::SignedOut).await?;
        Ok(over)
    }
}
