//! Sessions, ended by somebody else than their owner.

use identity::audit_event::{ChangedRecord, RecordChange};
use identity::revocation::Revocation;
use store::hub_records::revocation::Revoked;
use store::hub_records::sessions;
use uuid::Uuid;

use super::{Administration, Fault, Work};

const PERMISSION: &str = "iam.session.delete";

impl Administration<'_> {
    /// Ends one session and what came out of it.
    pub async fn end_session(&self, session: Uuid) -> Result<Revoked, Fault> {
        let mut work = self.begin(PERMISSION).await?;
        let owner = sessions::owner(&mut work.transaction, session, self.occasion.now).await?;
        let owner = owner.ok_or_else(|| Fault::Unknown(format!("there is no live session {session}")))?;
        self.sign_out(work, owner, Revocation::Logout(session)).await
    }

    /// Ends every session and every grant of an account.
    pub async fn end_sessions_of(&self, account: Uuid) -> Result<Revoked, Fault> {
        let work = self.begin(PERMISSION).await?;
        self.sign_out(work, account, Revocation::LogoutEverywhere(account)).await
    }

    async fn sign_out(&self, mut work: Work, account: Uuid, ending: Revocation) -> Result<Revoked, Fault> {
        work.touchable(account).await?;
        let over = self.end(&mut work, &ending).await?;
        self.finish(work, ChangedRecord::Account(account), RecordChange::SignedOut).await?;
        Ok(over)
    }
}
