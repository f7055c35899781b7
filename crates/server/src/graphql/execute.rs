//! Answers one GraphQL request, field by field of its root.

use std::fmt;

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast::OperationType;
use apollo_compiler::executable::Operation as Asked;
use apollo_compiler::introspection;
use apollo_compiler::response::serde_json_bytes::ByteString;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use futures_util::{StreamExt, stream};
use query::json::Json;

use crate::caller::Caller;
use crate::config::Introspection;
use crate::problem::{Problem, Refusal};
use crate::query_service::ALWAYS_OFFLOAD;

use super::GraphqlService;
use super::arguments::{self, Variables};
use super::budget::Budget;
use super::document::Came;
use super::failure::{self, Failure};
use super::limits::MOST_INTROSPECTION_ALIASES;
use super::mutations;
use super::output::Output;
use super::questions::{Context, asked};
use super::selection::{Picked, check_conditions, pick};
use super::shape;

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

/// Who asks whom, and how much may be answered.
pub(super) struct Asker<'a> {
    pub(super) service: &'a GraphqlService,
    pub(super) caller: &'a Caller,
    pub(super) budget: &'a Budget,
    /// From where, as the audit log notes it.
    pub(super) address: &'a str,
    /// How many bytes were sent: how much work it can be to read them.
    pub(super) input_bytes: usize,
}

/// Answers a request: the bytes of `{"data": …}`, or why it was refused as a whole.
pub(super) async fn execute(asker: &Asker<'_>, request: Request, came: Came) -> Result<Output, Vec<Failure>> {
    let Asker { service, caller, budget, address, input_bytes } = *asker;
    let engine = &service.engine;
    let Request { document: text, operation: name, variables: sent } = request;
    let document = if let Some(document) = engine.documents.known(&text, name.as_deref()) {
        document
    } else {
        let read = || engine.documents.read(&engine.schema, &text, name.as_deref(), came);
        // Whatever its length, a document can be worth milliseconds.
        service.queries.validate(caller.key(), ALWAYS_OFFLOAD, read).await.map_err(whole)??
    };
    let operation = document.operations.iter().next().ok_or_else(|| whole(Problem::Internal("a document holds no operation")))?;
    let coerce = || arguments::coerce(&engine.schema, &operation.variables, sent);
    let variables = service.queries.validate(caller.key(), input_bytes, coerce).await.and_then(|coerced| coerced).map_err(whole)?;
    check_conditions(&document, operation, &variables).map_err(whole)?;
    let roots = pick(&document, [&operation.selection_set], &variables);
    let shown = introspect(asker, &document, operation, &variables, &roots).await?;
    let context = Context {
        service,
        caller,
        address,
        document: &document,
        variables: &variables,
        budget,
        kind: operation.operation_type,
        input_bytes,
    };
    let questions: Vec<_> = roots.iter().map(|root| answer(&context, root, shown.as_ref())).collect();
    // Changes are made one after the other, in the order they are written.
    let at_a_time = if operation.is_mutation() { 1 } else { AT_A_TIME };
    let answers: Vec<Result<Output, Failure>> = stream::iter(questions).buffered(at_a_time).collect().await;

    let mut out = Output::default();
    let mut failures = Vec::new();
    out.extend(b"{\"data\":{");
    for (index, (root, answer)) in roots.iter().zip(answers).enumerate() {
        if index > 0 {
            out.extend(b",");
        }
        out.extend(&shape::key(root.key));
        match answer {
            Ok(answer) => out.append(answer),
            // What is answered next time is not half answered now. A change may have been made, and is told.
            Err(failure) if failure.is_overload() && !operation.is_mutation() => return Err(vec![failure]),
            Err(failure) => {
                // Null even where the type says otherwise: by the letter one refused statement would take the answers of
                // all others with it.
                out.extend(b"null");
                failures.push(failure);
            }
        }
    }
    out.extend(b"}");
    if !failures.is_empty() {
        out.extend(b",\"errors\":");
        failure::write(&failures, out.buffer());
    }
    out.extend(b"}");
    Ok(out)
}

/// A problem of the whole request.
fn whole(problem: Problem) -> Vec<Failure> {
    vec![problem.into()]
}

/// The answers to `__schema` and `__type`, if they are asked.
async fn introspect(
    asker: &Asker<'_>,
    document: &Valid<ExecutableDocument>,
    operation: &Asked,
    variables: &Variables,
    roots: &[Picked<'_>],
) -> Result<Option<JsonMap>, Vec<Failure>> {
    if !roots.iter().any(|root| matches!(root.field().name.as_str(), "__schema" | "__type")) {
        return Ok(None);
    }
    let engine = &asker.service.engine;
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
    let execute = || introspection::partial_execute(&engine.schema, &engine.implementers, document, operation, &values);
    let executed = asker.service.queries.validate(asker.caller.key(), ALWAYS_OFFLOAD, execute).await;
    executed.map_err(whole)?.map(|response| response.data).map_err(refused)
}

/// A variable's value for introspection, which takes names and booleans only.
fn plain(json: &Json) -> JsonValue {
    match json {
        Json::Bool(value) => JsonValue::Bool(*value),
        Json::Text(text) => JsonValue::String(text.as_str().into()),
        _ => JsonValue::Null,
    }
}

async fn answer(context: &Context<'_>, root: &Picked<'_>, shown: Option<&JsonMap>) -> Result<Output, Failure> {
    let field = root.field();
    let answered = match field.name.as_str() {
        "__typename" if context.kind == OperationType::Mutation => Ok(shape::text("Mutation").into()),
        "__typename" => Ok(shape::text("Query").into()),
        "_service" => Ok(shape::text("peristyle").into()),
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

fn described(context: &Context<'_>, value: Option<&JsonValue>) -> Result<Output, Problem> {
    let bytes = serde_json::to_vec(&value).map_err(|_| Problem::Internal("an answer cannot be written as JSON"))?;
    context.budget.take(bytes.len())?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_shows_in_debug() {
        // attack 37
        let sent = || vec![("password".to_owned(), Json::Text("sesame".to_owned()))];
        let request = Request { document: "mutation { a(password: \"sesame\") }".to_owned(), operation: None, variables: sent() };
        let variables: Vec<arguments::Variable> = sent().into_iter().map(|(_, value)| value.into()).collect();
        let shown = format!("{request:?} {variables:?}");
        assert!(shown.contains("Request") && shown.contains("Variable") && !shown.contains("sesame"), "{shown}");
    }
}
