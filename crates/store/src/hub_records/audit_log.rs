//! The audit log: each event is stored in the transaction that causes it, and written to the log of the process after the commit.

use identity::audit_event::AuditEvent;
use identity::timestamp::Timestamp;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::Error;
use crate::hub_records::{Bind, Row, Run, unexpected};

/// The time of an audit event, and the client address if it came over the network.
#[derive(Clone, Copy, Debug)]
pub struct AuditContext<'a> {
    pub now: Timestamp,
    pub address: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoggedEvent {
    /// Its number: later events have larger ones, but a number may become visible after a larger one did.
    pub sequence: i64,
    pub at: Timestamp,
    pub name: String,
    pub address: Option<String>,
    pub data: Map<String, Value>,
}

pub(crate) struct AuditColumns {
    pub(crate) data: String,
    pub(crate) account: Option<Uuid>,
    pub(crate) client: Option<String>,
    pub(crate) session: Option<Uuid>,
    pub(crate) actor: Option<Uuid>,
}

impl AuditColumns {
    pub(crate) fn of(event: &AuditEvent) -> Self {
        AuditColumns::with(event.data())
    }

    fn with(data: Map<String, Value>) -> Self {
        let text = |name: &str| data.get(name).and_then(Value::as_str);
        let id = |name: &str| text(name).and_then(|text| text.parse().ok());
        let (account, session, actor) = (id("account"), id("session"), id("actor"));
        let client = text("client").map(str::to_owned);
        AuditColumns { account, client, session, actor, data: Value::Object(data).to_string() }
    }
}

const INSERT: &str = "INSERT INTO peristyle.event (at, kind, account_id, client_id, session_id, actor_id, address, detail) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Stores an event. In a transaction the log of the process gets its line after the commit.
pub async fn append(on: impl Run, event: &AuditEvent, context: AuditContext<'_>) -> Result<(), Error> {
    let columns = AuditColumns::of(event);
    on.note(INSERT, &binds(event, &columns, context), line(event, &columns, context)).await
}

/// Stores that an event repeated so many times. The log has a line for each.
pub async fn append_repeats(on: impl Run, event: &AuditEvent, times: u64, context: AuditContext<'_>) -> Result<(), Error> {
    let mut data = event.data();
    data.insert("times".to_owned(), times.into());
    on.rows(INSERT, &binds(event, &AuditColumns::with(data), context)).await.map(drop)
}

pub(crate) fn line(event: &AuditEvent, columns: &AuditColumns, context: AuditContext<'_>) -> AuditLine {
    AuditLine { event: event.name(), address: context.address.map(str::to_owned), data: columns.data.clone() }
}

fn binds<'a>(event: &AuditEvent, columns: &'a AuditColumns, context: AuditContext<'a>) -> [Bind<'a>; 8] {
    [
        Bind::timestamp(context.now),
        Bind::Text(event.name()),
        Bind::maybe(columns.account, Bind::Id),
        Bind::maybe(columns.client.as_deref(), Bind::Text),
        Bind::maybe(columns.session, Bind::Id),
        Bind::maybe(columns.actor, Bind::Id),
        Bind::maybe(context.address, Bind::Text),
        Bind::Json(&columns.data),
    ]
}

pub fn log(event: &AuditEvent, context: AuditContext<'_>) {
    line(event, &AuditColumns::of(event), context).write();
}

fn read(row: &Row) -> Result<LoggedEvent, Error> {
    let Value::Object(data) = row.json(4)? else { return Err(unexpected(4, "an object")) };
    Ok(LoggedEvent {
        sequence: row.number(0)?,
        at: row.timestamp(1)?,
        name: row.text(2)?.to_owned(),
        address: row.maybe_text(3)?.map(str::to_owned),
        data,
    })
}

pub async fn newest(on: impl Run, limit: i64) -> Result<Vec<LoggedEvent>, Error> {
    const SQL: &str = "SELECT sequence, at, kind, address, detail FROM peristyle.event ORDER BY sequence DESC LIMIT $1";
    let mut events: Vec<LoggedEvent> = on.rows(SQL, &[Bind::Number(limit)]).await?.iter().map(read).collect::<Result<_, _>>()?;
    events.reverse();
    Ok(events)
}

pub async fn after(on: impl Run, sequence: i64, limit: i64) -> Result<Vec<LoggedEvent>, Error> {
    const SQL: &str = "SELECT sequence, at, kind, address, detail FROM peristyle.event WHERE sequence > $1 ORDER BY sequence LIMIT $2";
    on.rows(SQL, &[Bind::Number(sequence), Bind::Number(limit)]).await?.iter().map(read).collect()
}

#[derive(Debug)]
pub struct AuditLine {
    event: &'static str,
    address: Option<String>,
    data: String,
}

impl AuditLine {
    pub(crate) fn write(self) {
        let AuditLine { event, address, data } = self;
        tracing::info!(target: "peristyle::audit", event, address, %data, "audit");
    }
}
