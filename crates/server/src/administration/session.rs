//! Sessions, ended by somebody else than their owner.

use identity::session::Ending;
use store::endings::{self, Over};
use store::{accounts, sessions};
use uuid::Uuid;

use super::{Administration, Fault};

impl Administration<'_> {
    /// Ends one session and what came out of it.
    pub async fn end_session(&self, session: Uuid) -> Result<Over, Fault> {
        self.need("iam.account.update")?;
        let found = sessions::load(self.records, session, self.occasion.now).await?.filter(|(session, _)| session.ended_at.is_none());
        let (_, account) = found.ok_or_else(|| Fault::Unknown(format!("there is no live session {session}")))?;
        self.may_act_on(&account.rights)?;
        Ok(endings::end(self.records, &Ending::Logout(session), None, self.occasion).await?)
    }

    /// Ends every session and every grant of an account.
    pub async fn end_sessions_of(&self, account: Uuid) -> Result<Over, Fault> {
        self.need("iam.account.update")?;
        let found = accounts::by_id(self.records, account).await?;
        self.may_act_on(&found.ok_or_else(|| Fault::Unknown(format!("there is no account {account}")))?.rights)?;
        Ok(endings::end(self.records, &Ending::LogoutEverywhere(account), None, self.occasion).await?)
    }
}
