//! Ends sessions of other accounts.

use identity::audit_event::{ChangedRecord, RecordChange};
use identity::revocation::Revocation;
use store::hub_records::revocation::Revoked;
use store::hub_records::sessions;
use uuid::Uuid;

use super::{AdminError, Administration, ChangeTransaction};

const PERMISSION: &str = "iam.session.delete";

impl Administration<'_> {
    /// Ends one session and its grants.
    pub async fn end_session(&self, session: Uuid) -> Result<Revoked, AdminError> {
        let mut tx = self.begin(PERMISSION).await?;
        let owner = sessions::owner(&mut tx.records, session, self.occasion.now).await?;
        let owner = owner.ok_or_else(|| AdminError::NotFound(format!("there is no live session {session}")))?;
        self.sign_out(tx, owner, Revocation::Logout(session)).await
    }

    /// Ends every session and every grant of an account.
    pub async fn end_sessions_of(&self, account: Uuid) -> Result<Revoked, AdminError> {
        let tx = self.begin(PERMISSION).await?;
        self.sign_out(tx, account, Revocation::LogoutEverywhere(account)).await
    }

    async fn sign_out(&self, mut tx: ChangeTransaction, account: Uuid, ending: Revocation) -> Result<Revoked, AdminError> {
        tx.changeable_account(account).await?;
        let over = self.end(&mut tx, &ending).await?;
        self.finish(tx, ChangedRecord::Account(account), RecordChange::SignedOut).await?;
        Ok(over)
    }
}
