//! Answers one GraphQL request: each field of the root is a statement of its own, asked as REST asks it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast::OperationType;
use apollo_compiler::executable::Operation as Asked;
use apollo_compiler::introspection;
use apollo_compiler::response::serde_json_bytes::ByteString;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use query::json::Json;
use query::parse;
use query::plan::Operation;
use store::Answer;
use store::run::{Format, Page};

use crate::ask;
use crate::auth::Caller;
use crate::config::Introspection;
use crate::error::{Problem, Refusal};
use crate::hub;
use crate::rest::key_parts;
use crate::service::Service;

use super::arguments::{self, Variables, argument};
use super::document::Came;
use super::failure::{self, Failure};
use super::limits::{MOST_ANSWER_BYTES, MOST_INTROSPECTION_ALIASES};
use super::mutations;
use super::schema::Question;
use super::selection::{Picked, pick};
use super::shape::{self, Kind, Rows, Shape};

/// How many fields of the root are asked at a time: more would let one request hold most of the database's connections.
const AT_A_TIME: usize = 4;

/// What a client asks.
pub(super) struct Request {
    pub(super) document: String,
    pub(super) operation: Option<String>,
    pub(super) variables: Vec<(String, Json)>,
}

/// Mutations take passwords, in the document or in variables.
impl fmt::Debug for Request {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Request").field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// How many bytes of answer are left to all that one HTTP request asks.
#[derive(Debug)]
pub(super) struct Budget(AtomicUsize);

impl Budget {
    pub(super) fn new() -> Self {
        Budget(AtomicUsize::new(MOST_ANSWER_BYTES))
    }

    fn take(&self, bytes: usize) -> Result<(), Problem> {
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        taken.map(|_| ()).map_err(|_| too_large())
    }

    /// Whether so many bytes could still be taken.
    fn has(&self, bytes: usize) -> Result<(), Problem> {
        if bytes <= self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(too_large()) }
    }

    /// What one field takes, to be given back if it fails: fields that grow side by side must not all fail of each other.
    fn share(&self) -> Share<'_> {
        Share { budget: self, taken: 0 }
    }
}

struct Share<'b> {
    budget: &'b Budget,
    taken: usize,
}

impl Share<'_> {
    fn take(&mut self, bytes: usize) -> Result<(), Problem> {
        self.budget.take(bytes)?;
        self.taken += bytes;
        Ok(())
    }

    fn keep(mut self) {
        self.taken = 0;
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.taken, Ordering::Relaxed);
    }
}

fn too_large() -> Problem {
    let most = MOST_ANSWER_BYTES / 1024 / 1024;
    Problem::Graphql(
        Refusal::Answer,
        format!(
            "the answer is larger than {most} MiB, which GraphQL would have to build whole; set `limit`, or use the REST `list`, which streams"
        ),
    )
}

/// Who asks whom, and how much may be answered.
pub(super) struct Asker<'a> {
    pub(super) service: &'a Service,
    pub(super) caller: &'a Caller,
    pub(super) budget: &'a Budget,
    /// From where, as the audit log notes it.
    pub(super) address: &'a str,
}

/// What answering the fields of one operation needs.
pub(super) struct Context<'a> {
    pub(super) service: &'a Service,
    pub(super) caller: &'a Caller,
    pub(super) address: &'a str,
    pub(super) document: &'a ExecutableDocument,
    pub(super) variables: &'a Variables,
    pub(super) budget: &'a Budget,
    kind: OperationType,
}

/// Answers a request: the bytes of `{"data": …}`, or why it was refused as a whole.
pub(super) async fn execute(asker: &Asker<'_>, request: Request, came: Came) -> Result<Vec<u8>, Vec<Failure>> {
    let Asker { service, caller, budget, address } = *asker;
    let engine = &service.graphql;
    let document = engine.documents.read(&engine.schema, (&request.document, request.operation.as_deref()), came)?;
    let operation = document
        .operations
        .get(request.operation.as_deref())
        .map_err(|error| vec![Failure::new(Refusal::Operation, error.message().to_string())])?;
    let variables =
        arguments::coerce(&engine.schema, &operation.variables, request.variables).map_err(|problem| vec![Failure::from(problem)])?;
    let roots = pick(&document, [&operation.selection_set], &variables);
    let shown = introspect(service, (&document, operation), &variables, &roots)?;
    let context = Context { service, caller, address, document: &document, variables: &variables, budget, kind: operation.operation_type };
    let questions: Vec<_> = roots.iter().map(|root| answer(&context, root, shown.as_ref())).collect();
    // Changes are made one after the other, in the order they are written.
    let at_a_time = if operation.is_mutation() { 1 } else { AT_A_TIME };
    let answers: Vec<Result<Vec<u8>, Failure>> = stream::iter(questions).buffered(at_a_time).collect().await;

    let size = answers.iter().map(|answer| answer.as_ref().map_or(0, Vec::len)).sum::<usize>();
    let mut out = Vec::with_capacity(size + roots.len() * 64 + 64);
    let mut failures = Vec::new();
    out.extend_from_slice(b"{\"data\":{");
    for (index, (root, answer)) in roots.iter().zip(answers).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&shape::key(root.key));
        match answer {
            Ok(bytes) => out.extend_from_slice(&bytes),
            Err(failure) => {
                // Null even where the type says otherwise: by the letter one refused statement would take the answers of
                // all others with it.
                out.extend_from_slice(b"null");
                failures.push(failure);
            }
        }
    }
    out.push(b'}');
    if !failures.is_empty() {
        out.extend_from_slice(b",\"errors\":");
        failure::write(&failures, &mut out);
    }
    out.push(b'}');
    Ok(out)
}

/// The answers to `__schema` and `__type`, if they are asked.
fn introspect(
    service: &Service,
    (document, operation): (&Valid<ExecutableDocument>, &Asked),
    variables: &Variables,
    roots: &[Picked<'_>],
) -> Result<Option<JsonMap>, Vec<Failure>> {
    if !roots.iter().any(|root| matches!(root.field().name.as_str(), "__schema" | "__type")) {
        return Ok(None);
    }
    let engine = &service.graphql;
    if engine.introspection == Introspection::Off {
        let message = "the schema is not shown here; `__typename` is";
        return Err(vec![Failure::new(Refusal::Introspection, message)]);
    }
    let refused = |error: apollo_compiler::request::RequestError| vec![Failure::new(Refusal::Limit, error.message().to_string())];
    introspection::check_max_depth(document, operation).map_err(refused)?;
    let aliases = operation.all_fields(document).filter(|field| field.alias.is_some()).count();
    if aliases > MOST_INTROSPECTION_ALIASES {
        let message = format!("a document that asks for the schema has at most {MOST_INTROSPECTION_ALIASES} aliases");
        return Err(vec![Failure::new(Refusal::Limit, message)]);
    }
    let known = variables.iter().filter(|(_, variable)| variable.json != Json::Null);
    let values = known.map(|(name, variable)| (ByteString::from(name.as_str()), plain(&variable.json))).collect();
    let values = Valid::assume_valid(values);
    introspection::partial_execute(&engine.schema, &engine.implementers, document, operation, &values)
        .map(|response| response.data)
        .map_err(refused)
}

/// A variable's value for introspection, which takes names and booleans only.
fn plain(json: &Json) -> JsonValue {
    match json {
        Json::Bool(value) => JsonValue::Bool(*value),
        Json::Text(text) => JsonValue::String(text.as_str().into()),
        _ => JsonValue::Null,
    }
}

async fn answer(context: &Context<'_>, root: &Picked<'_>, shown: Option<&JsonMap>) -> Result<Vec<u8>, Failure> {
    let field = root.field();
    let answered = match field.name.as_str() {
        "__typename" if context.kind == OperationType::Mutation => Ok(shape::text("Mutation")),
        "__typename" => Ok(shape::text("Query")),
        "_service" => Ok(shape::text("peristyle")),
        "__schema" | "__type" => described(context, shown.and_then(|map| map.get(root.key))),
        _ if context.kind == OperationType::Mutation => mutations::changed(context, root).await,
        _ => asked(context, root).await,
    };
    answered.map_err(|problem| Failure {
        problem,
        locations: field.line_column_range(&context.document.sources).map(|range| range.start).into_iter().collect(),
        path: vec![root.key.to_owned()],
    })
}

fn described(context: &Context<'_>, value: Option<&JsonValue>) -> Result<Vec<u8>, Problem> {
    let bytes = serde_json::to_vec(&value).map_err(|_| Problem::Internal)?;
    context.budget.take(bytes.len())?;
    Ok(bytes)
}

async fn asked(context: &Context<'_>, root: &Picked<'_>) -> Result<Vec<u8>, Problem> {
    let Context { service, caller, document, variables, budget, .. } = *context;
    let field = root.field();
    let (resource, question) = *service.graphql.roots.get(field.name.as_str()).ok_or(Problem::Internal)?;
    if question == Question::Me {
        let row = hub::me::row(service, caller.account().ok_or(Problem::Unauthenticated)?).await?;
        return rows(Answer::Whole(row), (&Shape::of(document, root, variables), Kind::Row), question, budget).await;
    }
    // Permission is decided before the statement is looked at.
    let entrance = ask::enter(service, resource, caller)?;
    let viewer = caller.viewer();
    let key = match question {
        Question::FindById => {
            if !entrance.resource().can_find_by_id(viewer) {
                return Err(Problem::NotFound("this resource has no key to find a row by"));
            }
            Some(key(field, variables, entrance.resource().key.len())?)
        }
        _ => None,
    };
    let (query, constraint) = (argument(field, "query", variables)?, argument(field, "constraint", variables)?);
    let kind = if aggregates(query.as_ref()) { Kind::Group } else { Kind::Row };
    let body = parse::layers(query, constraint);
    let (operation, format) = match question {
        Question::Paginate => (Operation::Paginate, Format::Json),
        Question::Get => (Operation::List, Format::Lines),
        Question::Find | Question::FindById | Question::Me => (Operation::Find, Format::Json),
    };
    let mut query = ask::render(service, (entrance, viewer), (operation, key.as_deref()), body)?;
    if question == Question::Paginate {
        let parts = root.below(document, variables);
        if !parts.iter().any(|part| part.field().name == "rows") {
            // Nobody will see what is loaded for the rows.
            query.root.children.clear();
        }
        return page(Box::pin(service.reader.run(query, format)).await?, &parts, budget).await;
    }
    let answer = Box::pin(service.reader.run(query, format)).await?;
    rows(answer, (&Shape::of(document, root, variables), kind), question, budget).await
}

/// The parts of the key. A single one is taken as it is; several are written as in a REST address.
fn key(field: &apollo_compiler::executable::Field, variables: &Variables, count: usize) -> Result<Vec<String>, Problem> {
    let id = match argument(field, "id", variables)? {
        Some(Json::Text(text)) => text,
        Some(Json::Number(digits)) => digits.into(),
        _ => return Err(Problem::Graphql(Refusal::Input, "`id` is a text or a whole number".to_owned())),
    };
    Ok(if count == 1 { vec![id] } else { key_parts(&id, count) })
}

/// Whether the statement asks for groups; a key that is null counts as absent.
fn aggregates(query: Option<&Json>) -> bool {
    let Some(Json::Object(entries)) = query else { return false };
    entries.iter().any(|(key, value)| key == "aggregation" && *value != Json::Null)
}

/// Rows as objects of their type, each shaped as it comes.
pub(super) async fn rows(
    answer: Answer,
    (shape, kind): (&Shape<'_>, Kind),
    question: Question,
    budget: &Budget,
) -> Result<Vec<u8>, Problem> {
    let list = question == Question::Get;
    let mut out = Vec::new();
    if list {
        out.push(b'[');
    }
    let mut count = 0;
    let mut share = budget.share();
    let mut add = |bytes: &[u8], out: &mut Vec<u8>| {
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::Internal)?;
        let mut rows = Rows { buffer: out, count };
        shape.rows(text, kind, &mut rows).ok_or(Problem::Internal)?;
        count = rows.count;
        let size = rows.buffer.len();
        share.take(size - share.taken)?;
        Ok::<(), Problem>(())
    };
    match answer {
        Answer::Nothing => return Ok(b"null".to_vec()),
        Answer::Whole(bytes) => add(&bytes, &mut out)?,
        Answer::Chunks(mut chunks) => {
            // A chunk ends anywhere, and a row with its line. Dropping the rest cancels the statement.
            let mut open = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                budget.has(open.len() + chunk.len())?;
                let (ended, begun) = chunk.split_at(chunk.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
                if !ended.is_empty() {
                    open.extend_from_slice(ended);
                    add(&open, &mut out)?;
                    open.clear();
                }
                open.extend_from_slice(begun);
            }
            add(&open, &mut out)?;
        }
    }
    share.keep();
    if list {
        out.push(b']');
    }
    Ok(out)
}

/// A page. Its rows are not looked into.
async fn page(answer: Answer, parts: &[Picked<'_>], budget: &Budget) -> Result<Vec<u8>, Problem> {
    let wanted = parts.iter().filter(|part| part.field().name == "rows").count();
    let mut share = budget.share();
    let page = match answer {
        Answer::Nothing => None,
        Answer::Whole(bytes) => Page::of(&bytes),
        Answer::Chunks(mut chunks) => {
            let mut whole = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                if wanted > 0 {
                    share.take(chunk.len())?;
                } else if whole.len() > Page::TAIL {
                    whole.drain(..whole.len() - Page::TAIL);
                }
                whole.extend_from_slice(&chunk);
            }
            if wanted > 0 {
                Page::of(&whole.into())
            } else {
                Page::numbers(&whole).map(|(count, total)| Page { total, count, rows: Bytes::new() })
            }
        }
    };
    let Page { total, count, rows } = page.ok_or(Problem::Internal)?;
    // What came in pieces is counted once already.
    share.take(wanted.saturating_mul(rows.len()).saturating_sub(share.taken))?;
    share.keep();
    let mut out = Vec::with_capacity(wanted * rows.len() + parts.len() * 32);
    out.push(b'{');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&shape::key(part.key));
        match part.field().name.as_str() {
            "total" => out.extend_from_slice(int(total)?.to_string().as_bytes()),
            "count" => out.extend_from_slice(int(count)?.to_string().as_bytes()),
            "rows" => out.extend_from_slice(&rows),
            _ => out.extend_from_slice(&shape::text("Pagination")),
        }
    }
    out.push(b'}');
    Ok(out)
}

/// A number as GraphQL's `Int`: an error rather than a wrong number.
fn int(number: i64) -> Result<i32, Problem> {
    i32::try_from(number).map_err(|_| {
        Problem::Graphql(
            Refusal::Total,
            format!("{number} rows are more than GraphQL's `Int` can count; narrow the statement, or use the REST `paginate`"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_beyond_int_is_an_error_and_no_wrong_number() {
        // contract G2.6, trap 13
        assert_eq!(int(2_147_483_647).ok(), Some(i32::MAX));
        for number in [2_147_483_648, i64::MAX] {
            assert!(matches!(int(number), Err(Problem::Graphql(Refusal::Total, message)) if message.contains(&number.to_string())));
        }
    }

    #[test]
    fn nothing_secret_shows_in_debug() {
        // attack 37
        let sent = || vec![("password".to_owned(), Json::Text("sesame".to_owned()))];
        let request = Request { document: "mutation { a(password: \"sesame\") }".to_owned(), operation: None, variables: sent() };
        let variables: Vec<arguments::Variable> = sent().into_iter().map(|(_, value)| value.into()).collect();
        let shown = format!("{request:?} {variables:?}");
        assert!(shown.contains("Request") && shown.contains("Variable") && !shown.contains("sesame"), "{shown}");
    }

    #[test]
    fn what_is_left_of_an_answer_is_shared() {
        // contract G3.4
        let budget = Budget::new();
        assert!(budget.take(MOST_ANSWER_BYTES - 1).is_ok());
        assert!(budget.take(2).is_err());
        assert!(budget.take(1).is_ok());
        assert!(budget.take(1).is_err());
    }
}
