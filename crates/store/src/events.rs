//! The audit log: what happened is noted in the transaction that makes it happen, and in the log of the process.

use identity::event::Event;
use identity::moment::Moment;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::Error;
use crate::records::{Bind, LogLine, Row, Run, unexpected};

/// When something happens, and from which address, if it came over the network.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// When.
    pub now: Moment,
    /// From where.
    pub address: Option<&'a str>,
}

/// An event as it was noted.
#[derive(Clone, Debug, PartialEq)]
pub struct Noted {
    /// Its number: later events have larger ones, but a number may become visible after a larger one did.
    pub sequence: i64,
    /// When.
    pub at: Moment,
    /// Its stable name.
    pub name: String,
    /// From where.
    pub address: Option<String>,
    /// Its data.
    pub data: Map<String, Value>,
}

/// What is bound of an event.
pub(crate) struct Parts {
    pub(crate) data: String,
    pub(crate) account: Option<Uuid>,
    pub(crate) client: Option<String>,
    pub(crate) session: Option<Uuid>,
    pub(crate) actor: Option<Uuid>,
}

impl Parts {
    pub(crate) fn of(event: &Event) -> Self {
        Parts::with(event.data())
    }

    fn with(data: Map<String, Value>) -> Self {
        let text = |name: &str| data.get(name).and_then(Value::as_str);
        let id = |name: &str| text(name).and_then(|text| text.parse().ok());
        let (account, session, actor) = (id("account"), id("session"), id("actor"));
        let client = text("client").map(str::to_owned);
        Parts { account, client, session, actor, data: Value::Object(data).to_string() }
    }
}

const INSERT: &str = "INSERT INTO peristyle.event (at, kind, account_id, client_id, session_id, actor_id, address, detail) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Notes an event. In a transaction the log of the process is told after the commit, and so of nothing that did not happen.
pub async fn append(on: impl Run, event: &Event, occasion: Occasion<'_>) -> Result<(), Error> {
    let parts = Parts::of(event);
    on.note(INSERT, &binds(event, &parts, occasion), line(event, &parts, occasion)).await
}

/// Notes that an event came again so many times. The log was told each time.
pub async fn append_repeats(on: impl Run, event: &Event, times: u64, occasion: Occasion<'_>) -> Result<(), Error> {
    let mut data = event.data();
    data.insert("times".to_owned(), times.into());
    on.rows(INSERT, &binds(event, &Parts::with(data), occasion)).await.map(drop)
}

/// What the log of the process is told of it.
pub(crate) fn line(event: &Event, parts: &Parts, occasion: Occasion<'_>) -> LogLine {
    LogLine { event: event.name(), address: occasion.address.map(str::to_owned), data: parts.data.clone() }
}

fn binds<'a>(event: &Event, parts: &'a Parts, occasion: Occasion<'a>) -> [Bind<'a>; 8] {
    [
        Bind::moment(occasion.now),
        Bind::Text(event.name()),
        Bind::maybe(parts.account, Bind::Id),
        Bind::maybe(parts.client.as_deref(), Bind::Text),
        Bind::maybe(parts.session, Bind::Id),
        Bind::maybe(parts.actor, Bind::Id),
        Bind::maybe(occasion.address, Bind::Text),
        Bind::Json(&parts.data),
    ]
}

/// Tells an event to the log of the process alone.
pub fn log(event: &Event, occasion: Occasion<'_>) {
    line(event, &Parts::of(event), occasion).tell();
}

fn read(row: &Row) -> Result<Noted, Error> {
    let Value::Object(data) = row.json(4)? else { return Err(unexpected(4, "an object")) };
    Ok(Noted {
        sequence: row.number(0)?,
        at: row.moment(1)?,
        name: row.text(2)?.to_owned(),
        address: row.maybe_text(3)?.map(str::to_owned),
        data,
    })
}

/// The newest events, the newest last.
pub async fn newest(on: impl Run, limit: i64) -> Result<Vec<Noted>, Error> {
    const SQL: &str = "SELECT sequence, at, kind, address, detail FROM peristyle.event ORDER BY sequence DESC LIMIT $1";
    let mut events: Vec<Noted> = on.rows(SQL, &[Bind::Number(limit)]).await?.iter().map(read).collect::<Result<_, _>>()?;
    events.reverse();
    Ok(events)
}

/// The events with larger numbers than this, in their order.
pub async fn after(on: impl Run, sequence: i64, limit: i64) -> Result<Vec<Noted>, Error> {
    const SQL: &str = "SELECT sequence, at, kind, address, detail FROM peristyle.event WHERE sequence > $1 ORDER BY sequence LIMIT $2";
    on.rows(SQL, &[Bind::Number(sequence), Bind::Number(limit)]).await?.iter().map(read).collect()
}
