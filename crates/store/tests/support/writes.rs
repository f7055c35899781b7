//! Runs writes as the server does, on either database, and reads the whole state of all tables.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use oracle::{Form, Moment, State, World, WriteFault, WriteOutcome, WriteRequest};
use query::catalog::Catalog;
use query::catalog::write_rules::WriteOperation;
use query::payload::{self, WriteForm};
use query::plan::write::{ServerValues, WriteAddress, WriteError, WritePlan, plan_write};
use query::policy::{Viewer, WriteDenied, authorize_write};
use query::sql::write::{diagnosis, render};
use store::writes::{WriteFailure, WriteFault as StoreFault, WriteFaultKind, WriteRefusal};
use store::{Database, DatabaseSettings, Writers};
use tokio_postgres::SimpleQueryMessage;

/// How often the server tries a write again that the database refused for no reason that it finds.
const MAX_UNEXPLAINED: usize = 3;

/// A database with its catalog and its writers.
pub struct Place {
    pub database: Database,
    pub catalog: Catalog,
    pub writers: Writers,
}

impl Place {
    pub async fn open(url: &str, manifest: &str, write_pool: usize) -> Self {
        let database = super::open(url);
        let catalog = super::catalog(manifest, &database).await;
        let settings = DatabaseSettings { write_pool, ..DatabaseSettings::default() };
        let writers = Writers::open(&database, None, &settings).expect("writers");
        Place { database, catalog, writers }
    }

    /// Runs a write of a viewer as a request would.
    pub async fn write(&self, viewer: &Viewer, request: &WriteRequest, moment: &Moment) -> WriteOutcome {
        self.attempt(viewer, request, moment).await.unwrap_or_else(|error| panic!("{error}\n{request}"))
    }

    /// The same for a write that the database may be too busy for.
    pub async fn attempt(&self, viewer: &Viewer, request: &WriteRequest, moment: &Moment) -> Result<WriteOutcome, store::Error> {
        let resource = self.catalog.by_name(&request.resource).expect("a resource");
        let form = form(request.form);
        let access = match authorize_write(&self.catalog, resource, form.operation(), viewer) {
            Ok(access) => access,
            Err(WriteDenied::NoOperation) => return Ok(WriteOutcome::NoOperation),
            Err(WriteDenied::Permission(_)) => return Ok(WriteOutcome::Forbidden),
        };
        let body = payload::body(form, request.body.to_string().as_bytes()).expect("a body");
        let parts: Vec<&str> = request.id.iter().map(String::as_str).collect();
        let address = WriteAddress { id: request.form.takes_id().then_some(&parts[..]), if_match: request.if_match.as_deref() };
        let mut uuids = moment.uuids.iter();
        let mut random = || *uuid::Uuid::parse_str(uuids.next().expect("a uuid")).expect("a uuid").as_bytes();
        let now = microseconds(&moment.now);
        let plan = match plan_write(access, form, &body, address, ServerValues { now, random: &mut random }) {
            Ok(plan) => plan,
            Err(WriteError::NoVariable | WriteError::NeedsRead(_)) => return Ok(WriteOutcome::Forbidden),
            Err(WriteError::Faults(error)) => {
                let faults = error.faults.iter().map(|fault| WriteFault::new(fault.code.as_str(), fault.path.clone()));
                return Ok(WriteOutcome::Invalid(faults.collect()));
            }
        };
        self.run(&plan).await
    }

    async fn run(&self, plan: &WritePlan<'_>) -> Result<WriteOutcome, store::Error> {
        let query = render(plan, self.database.dialect());
        for _ in 0..MAX_UNEXPLAINED {
            match self.writers.write(query.clone()).await {
                Ok(written) => {
                    let rows = written.rows.map(|bytes| serde_json::from_slice(&bytes).expect("rows as JSON"));
                    return Ok(WriteOutcome::Done { count: written.count, rows });
                }
                Err(WriteFailure::Unexplained) => {}
                Err(WriteFailure::Refused(refusal)) => return Ok(refused(refusal)),
                Err(WriteFailure::InDoubt(error) | WriteFailure::Store(error)) => return Err(error),
            }
            match self.writers.diagnose(diagnosis(plan, &query)).await {
                Ok(faults) if faults.is_empty() => {}
                Ok(faults) => return Ok(WriteOutcome::Refused { faults: described(plan, &faults), broken: Vec::new() }),
                Err(WriteFailure::Unexplained) => {}
                Err(WriteFailure::Refused(refusal)) => return Ok(refused(refusal)),
                Err(WriteFailure::InDoubt(error) | WriteFailure::Store(error)) => return Err(error),
            }
        }
        let fault = WriteFault::new("UNEXPLAINED", String::new());
        Ok(WriteOutcome::Refused { faults: vec![fault], broken: Vec::new() })
    }
}

/// A database of the product, and a connection past the product.
pub struct Side {
    pub name: &'static str,
    pub place: Place,
    pub raw: Raw,
    owner: Owner,
}

enum Owner {
    Server(super::Postgres),
    File(super::Sqlite),
}

impl Side {
    pub async fn postgres(write_pool: usize) -> Self {
        let server = super::Postgres::with(oracle::write_postgres_script()).await;
        let client = super::connect(&server.url).await;
        client.batch_execute("SET timezone = 'UTC'").await.expect("a setting");
        let place = Place::open(&server.url, oracle::WRITE_MANIFEST, write_pool).await;
        Side { name: "PostgreSQL", place, raw: Raw::Postgres(client), owner: Owner::Server(server) }
    }

    pub async fn sqlite() -> Self {
        let file = super::Sqlite::with(oracle::write_sqlite_script());
        let connection = rusqlite::Connection::open(file.url.strip_prefix("sqlite://").expect("a file")).expect("a file");
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a setting");
        let place = Place::open(&file.url, oracle::WRITE_MANIFEST, 1).await;
        Side { name: "SQLite", place, raw: Raw::Sqlite(connection), owner: Owner::File(file) }
    }

    pub async fn drop(self) {
        let Side { place, raw, owner, .. } = self;
        drop((place, raw));
        match owner {
            Owner::Server(server) => server.drop().await,
            Owner::File(file) => drop(file),
        }
    }
}

fn form(form: Form) -> WriteForm {
    match form {
        Form::Create => WriteForm::Create,
        Form::UpdateById => WriteForm::UpdateById,
        Form::Update => WriteForm::Update,
        Form::DeleteById => WriteForm::DeleteById,
        Form::Delete => WriteForm::Delete,
        Form::RestoreById => WriteForm::RestoreById,
    }
}

fn microseconds(timestamp: &str) -> i64 {
    timestamp.parse::<jiff::Timestamp>().expect("a timestamp").as_microsecond()
}

fn refused(refusal: WriteRefusal) -> WriteOutcome {
    match refusal {
        WriteRefusal::NotFound => WriteOutcome::NotFound,
        WriteRefusal::OutOfScope => WriteOutcome::OutOfScope,
        WriteRefusal::Stale => WriteOutcome::Stale,
        WriteRefusal::TooManyRows { .. } => WriteOutcome::TooManyRows,
        WriteRefusal::AnswerTooLarge => panic!("the answer is too large"),
    }
}

/// The faults with their places in the body, as the server describes them.
fn described(plan: &WritePlan<'_>, faults: &[StoreFault]) -> Vec<WriteFault> {
    let mut described = Vec::new();
    for fault in faults {
        let named: Vec<_> = fault.fields.iter().filter_map(|id| Some((*id, plan.payload_name(*id, fault.item)?))).collect();
        if named.is_empty() {
            described.push(WriteFault::new(code(fault.kind), place(plan, fault)));
        }
        for (id, name) in named {
            let place = if plan.adds_to(id) { "/increment".to_owned() } else { place(plan, fault) };
            described.push(WriteFault::new(code(fault.kind), format!("{place}/{name}")));
        }
    }
    described
}

fn place(plan: &WritePlan<'_>, fault: &StoreFault) -> String {
    match (plan.form.operation(), fault.item.filter(|_| plan.is_list)) {
        (WriteOperation::Delete | WriteOperation::Restore, _) => String::new(),
        (_, Some(item)) => format!("/payload/{item}"),
        (_, None) if !plan.has_payload => "/increment".to_owned(),
        (_, None) => "/payload".to_owned(),
    }
}

fn code(kind: WriteFaultKind) -> &'static str {
    match kind {
        WriteFaultKind::Exists => "EXISTS",
        WriteFaultKind::NoSuchRow => "NO_SUCH_ROW",
        WriteFaultKind::InUse => "IN_USE",
        WriteFaultKind::Refused => "REFUSED",
        WriteFaultKind::OutOfRange => "OUT_OF_RANGE",
        WriteFaultKind::CheckFailed => "CHECK_FAILED",
    }
}

/// A connection that reads and resets all tables, past the product.
pub enum Raw {
    Postgres(tokio_postgres::Client),
    Sqlite(rusqlite::Connection),
}

impl Raw {
    pub async fn reset(&mut self, world: &World) {
        match self {
            Raw::Postgres(client) => client.batch_execute(&oracle::write_postgres_reset(world)).await.expect("the rows fit"),
            Raw::Sqlite(connection) => {
                let script = format!("BEGIN;\n{}COMMIT;", oracle::write_sqlite_reset(world));
                connection.execute_batch(&script).expect("the rows fit");
            }
        }
    }

    /// Lets the next key that the database makes be one more than the largest, as on SQLite.
    pub async fn align_keys(&self) {
        if let Raw::Postgres(client) = self {
            let text = "SELECT setval(pg_get_serial_sequence('customers', 'id'), (SELECT coalesce(max(id), 0) FROM customers) + 1, false)";
            client.batch_execute(text).await.expect("a sequence");
        }
    }

    /// The rows of all tables, as strings.
    pub async fn rows(&self, world: &World) -> Vec<RawRows> {
        match self {
            Raw::Postgres(client) => {
                let text: String = world.schema.resources().map(|resource| select(resource, true)).collect();
                let mut answers: Vec<RawRows> = Vec::new();
                for message in client.simple_query(&text).await.expect("rows") {
                    match message {
                        SimpleQueryMessage::RowDescription(_) => answers.push(Vec::new()),
                        SimpleQueryMessage::Row(row) => {
                            let cells = (0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect();
                            answers.last_mut().expect("a description").push(cells);
                        }
                        _ => {}
                    }
                }
                answers
            }
            Raw::Sqlite(connection) => {
                let rows = |resource: &oracle::Resource| -> RawRows {
                    let mut statement = connection.prepare_cached(&select(resource, false)).expect("a table");
                    let cells = |row: &rusqlite::Row<'_>| (0..resource.fields.len()).map(|index| row.get_ref(index).map(text)).collect();
                    statement.query_map([], cells).expect("rows").collect::<Result<_, _>>().expect("rows")
                };
                world.schema.resources().map(rows).collect()
            }
        }
    }
}

/// The rows of a table.
pub type RawRows = Vec<Vec<Option<String>>>;

/// The state that these rows are.
pub fn state(world: &World, rows: &[RawRows]) -> State {
    let named = world.schema.resources().zip(rows);
    named.map(|(resource, rows)| (resource.name.clone(), oracle::cells(&resource.fields, rows))).collect()
}

fn text(value: rusqlite::types::ValueRef<'_>) -> Option<String> {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(format!("{number:?}")),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8(bytes.to_vec()).expect("UTF-8")),
    }
}

fn select(resource: &oracle::Resource, is_postgres: bool) -> String {
    let column = |field: &oracle::Field| {
        let name = format!("\"{}\"", field.column);
        match field.kind {
            _ if !is_postgres => name,
            oracle::Kind::Decimal if field.array => format!("to_json({name}::text[])"),
            _ if field.array => format!("to_json({name})"),
            oracle::Kind::Timestamp => format!("to_json({name}) #>> '{{}}'"),
            _ => format!("{name}::text"),
        }
    };
    let columns: Vec<String> = resource.fields.iter().map(column).collect();
    format!("SELECT {} FROM {};", columns.join(", "), resource.table)
}

/// The clock and the random numbers of one write of a sequence.
pub fn moment(step: usize) -> Moment {
    let uuids = (0..10).map(|row| format!("11111111-{step:04}-4000-8000-{row:012}")).collect();
    Moment { now: format!("2025-01-02T03:{:02}:{:02}.500000Z", step / 60, step % 60), uuids, keys: Vec::new() }
}

pub fn viewer(name: &str) -> Viewer {
    let viewer = oracle::write_viewer(name);
    Viewer::new(viewer.permissions.iter().cloned(), viewer.account.clone())
}
