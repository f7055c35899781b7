//! JSON → [`WriteBody`]: the shape of the body of a write. The plan checks its names and values.

use crate::catalog::write_rules::WriteOperation;
use crate::error::{Code, Error, Faults};
use crate::json::{self, Json};
use crate::messages::{did_you_mean, quoted_list};
use crate::parse;
use crate::pointer::{Layer, Pointer};
use crate::statement::{FieldSelection, Statement};

/// How many rows one payload may have.
pub const MAX_PAYLOAD_ROWS: usize = 1_000;

words! {
    /// The forms of a write, with the ends of their paths.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WriteForm {
        Create = "create",
        UpdateById = "update/{id}",
        Update = "update",
        DeleteById = "delete/{id}",
        Delete = "delete",
        RestoreById = "restore/{id}",
    }
}

impl WriteForm {
    pub fn operation(self) -> WriteOperation {
        match self {
            WriteForm::Create => WriteOperation::Create,
            WriteForm::UpdateById | WriteForm::Update => WriteOperation::Update,
            WriteForm::DeleteById | WriteForm::Delete => WriteOperation::Delete,
            WriteForm::RestoreById => WriteOperation::Restore,
        }
    }

    /// Whether the address names one row.
    pub fn takes_id(self) -> bool {
        matches!(self, WriteForm::UpdateById | WriteForm::DeleteById | WriteForm::RestoreById)
    }

    /// The keys of its body.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            WriteForm::Create => &["payload", "returning", "dryRun"],
            WriteForm::UpdateById => &["payload", "increment", "expect", "constraint", "returning", "dryRun"],
            WriteForm::Update => &["payload", "increment", "query", "all", "expect", "constraint", "returning", "dryRun"],
            WriteForm::DeleteById => &["expect", "constraint", "returning", "dryRun"],
            WriteForm::Delete => &["query", "all", "expect", "constraint", "returning", "dryRun"],
            WriteForm::RestoreById => &["returning", "dryRun"],
        }
    }
}

/// The parsed body of a write.
#[derive(Clone, Debug)]
pub struct WriteBody {
    pub(crate) payload: Option<Payload>,
    pub(crate) increment: Vec<(String, Json)>,
    pub(crate) expect: Option<Statement>,
    pub(crate) query: Option<Statement>,
    pub(crate) constraint: Option<Statement>,
    /// Whether the write means every row in reach.
    pub(crate) all: bool,
    pub(crate) returning: Returning,
    pub dry_run: bool,
    pub(crate) faults: Faults,
}

/// The names of one row, with their values.
pub(crate) type PayloadRow = Vec<(String, Json)>;

#[derive(Clone, Debug)]
pub(crate) enum Payload {
    One(PayloadRow),
    Many(Vec<PayloadRow>),
}

impl Payload {
    pub(crate) fn rows(&self) -> &[PayloadRow] {
        match self {
            Payload::One(row) => std::slice::from_ref(row),
            Payload::Many(rows) => rows,
        }
    }
}

/// What a write answers.
#[derive(Clone, Debug)]
pub(crate) enum Returning {
    /// The rows, with these relations.
    Rows(Box<Statement>),
    /// How many rows.
    Count,
}

/// Parses the body of a write. It fails only if that is no JSON object; the body keeps other faults for the plan.
pub fn body(form: WriteForm, bytes: &[u8]) -> Result<WriteBody, Error> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(parts(form, Vec::new(), Faults::default()));
    }
    let (json, faults) = json::read(bytes)?;
    let Json::Object(entries) = json else {
        let message = format!("the body must be an object with the keys {}; found {}", quoted_list(form.keys()), json.noun());
        return Err(Error::one(Code::WriteShape, "", message));
    };
    Ok(parts(form, entries, faults))
}

/// Parses the keys of a body from a JSON tree, for example from GraphQL arguments.
pub fn members(form: WriteForm, entries: Vec<(String, Json)>) -> WriteBody {
    parts(form, entries, Faults::default())
}

impl WriteBody {
    /// The same write, with rows that show these fields and relations only.
    #[must_use]
    pub fn showing(mut self, fields: Option<FieldSelection>) -> Self {
        if let Returning::Rows(statement) = self.returning {
            self.returning = Returning::Rows(Box::new(statement.showing(fields)));
        }
        self
    }
}

fn parts(form: WriteForm, entries: Vec<(String, Json)>, faults: Faults) -> WriteBody {
    let mut body = WriteBody {
        payload: None,
        increment: Vec::new(),
        expect: None,
        query: None,
        constraint: None,
        all: false,
        returning: Returning::Rows(Box::new(Statement::empty(Layer::Returning))),
        dry_run: false,
        faults,
    };
    for (key, value) in entries {
        if body.faults.is_full() {
            break;
        }
        if !form.keys().contains(&key.as_str()) {
            body.refuse_key(form, &key);
        } else if value != Json::Null {
            body.member(&key, value);
        }
    }
    body
}

impl WriteBody {
    fn fault(&mut self, code: Code, key: &str, message: impl Into<String>) {
        let mut path = Pointer::default();
        path.key(key);
        self.faults.add(code, || path.finish(), message);
    }

    fn refuse_key(&mut self, form: WriteForm, key: &str) {
        let known = form.keys();
        let is_of_another = WriteForm::ALL.into_iter().any(|other| other.keys().contains(&key));
        let name = crate::error::shorten(key);
        let (code, message) = if is_of_another {
            (Code::WriteKey, format!("`{}` does not take `{name}`; it takes {}", form.as_str(), quoted_list(known)))
        } else {
            let hint = did_you_mean(key, known);
            (Code::WriteUnknownKey, format!("the body takes only the keys {}{hint}; found `{name}`", quoted_list(known)))
        };
        self.fault(code, key, message);
    }

    fn member(&mut self, key: &str, value: Json) {
        match key {
            "payload" => self.payload(value),
            "increment" => match value {
                Json::Object(entries) => self.increment = entries,
                other => self.fault(
                    Code::WriteShape,
                    key,
                    format!("`increment` takes an object of fields and numbers, such as {{\"stock\": -1}}; found {}", other.noun()),
                ),
            },
            "expect" => self.expect = Some(parse::lone_clause(value, Layer::Expect)),
            "query" => self.query = Some(parse::statement(value, Layer::Query)),
            "constraint" => self.constraint = Some(parse::statement(value, Layer::Constraint)),
            "returning" => self.returning(value),
            "all" => self.all = self.boolean(key, &value),
            _ => self.dry_run = self.boolean(key, &value),
        }
    }

    fn boolean(&mut self, key: &str, value: &Json) -> bool {
        if let Json::Bool(value) = value {
            return *value;
        }
        self.fault(Code::WriteShape, key, format!("`{key}` takes true or false; found {}", value.noun()));
        false
    }

    fn payload(&mut self, value: Json) {
        match value {
            Json::Object(row) => self.payload = Some(Payload::One(row)),
            Json::Array(items) if items.is_empty() => {
                self.fault(Code::WriteEmpty, "payload", "`payload` is an empty list; it takes an object, or 1 to 1000 of them");
            }
            Json::Array(items) if items.len() > MAX_PAYLOAD_ROWS => {
                let message = format!("`payload` takes at most {MAX_PAYLOAD_ROWS} objects; found {}", items.len());
                self.fault(Code::WriteRows, "payload", message);
            }
            Json::Array(items) => {
                let mut rows = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    match item {
                        Json::Object(row) => rows.push(row),
                        other => {
                            let message = format!("an item of `payload` must be an object of fields and values; found {}", other.noun());
                            self.faults.add(Code::WriteShape, || format!("/payload/{index}"), message);
                            rows.push(Vec::new());
                        }
                    }
                }
                self.payload = Some(Payload::Many(rows));
            }
            other => {
                let message = format!("`payload` takes an object of fields and values, or a list of them; found {}", other.noun());
                self.fault(Code::WriteShape, "payload", message);
            }
        }
    }

    fn returning(&mut self, value: Json) {
        match value {
            Json::Bool(true) => {}
            Json::Bool(false) => self.returning = Returning::Count,
            Json::Object(entries) => {
                let (known, unknown): (Vec<_>, Vec<_>) = entries.into_iter().partition(|(key, _)| key == "relations");
                for (key, _) in unknown {
                    let mut path = Pointer::at("/returning");
                    path.key(&key);
                    let message = format!("`returning` takes only `relations`; found `{}`", crate::error::shorten(&key));
                    self.faults.add(Code::WriteUnknownKey, || path.finish(), message);
                }
                self.returning = Returning::Rows(Box::new(parse::statement(Json::Object(known), Layer::Returning)));
            }
            other => {
                let message = format!("`returning` takes true, false or {{\"relations\": …}}; found {}", other.noun());
                self.fault(Code::WriteShape, "returning", message);
            }
        }
    }
}
