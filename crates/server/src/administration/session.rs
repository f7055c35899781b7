//! Sessions, ended by somebody else than their owner.

use identity::session::Ending;
use store::endings::{self, Over};
use uuid::Uuid;

use super::{Administration, Fault};

impl Administration<'_> {
    /// Ends one session and what came out of it.
    pub async fn end_session(&self, session: Uuid) -> Result<Over, Fault> {
        self.need("iam.account.update")?;
        let over = endings::end(self.records, &Ending::Logout(session), None, self.occasion).await?;
        if over.sessions.is_empty() {
            return Err(Fault::Unknown(format!("there is no live session {session}")));
        }
        Ok(over)
    }

    /// Ends every session and every grant of an account.
    pub async fn end_sessions_of(&self, account: Uuid) -> Result<Over, Fault> {
        self.need("iam.account.update")?;
        Ok(endings::end(self.records, &Ending::LogoutEverywhere(account), None, self.occasion).await?)
    }
}
