//! How a database keeps its texts. Only UTF8 holds what clients send, and only it is sure to give back what can be read.

use crate::Error;

use super::{Manager, Postgres};

const ACCEPTED: &str = "UTF8";

/// What a server says of its encoding when a connection begins. A pooler may say nothing.
#[derive(Clone, Debug)]
pub(super) struct ServerEncoding(Option<Box<str>>);

impl ServerEncoding {
    pub(super) fn new(name: Option<&str>) -> Self {
        ServerEncoding(name.map(Into::into))
    }

    pub(super) fn refuse_others(&self) -> Result<(), Error> {
        match self.0.as_deref() {
            None | Some(ACCEPTED) => Ok(()),
            Some(other) => Err(Error::Setting(format!(
                "the encoding of the database is {other}; accepted is {ACCEPTED}: make a new one (createdb -E UTF8 -T template0) and load the data into it"
            ))),
        }
    }
}

impl Postgres {
    /// Refuses a database in another encoding. One that is out of reach is asked when it is reached.
    pub(crate) async fn refuse_other_encodings(&self) -> Result<(), Error> {
        let Manager { way, .. } = self.pool.manager();
        Box::pin(way.connect()).await.map_or(Ok(()), |line| line.encoding.refuse_others())
    }
}
