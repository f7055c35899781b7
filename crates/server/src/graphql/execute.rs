//! Executes one GraphQL request, field by field of its root.

use std::fmt;
use std::sync::Mutex;

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast::OperationType;
use apollo_compiler::executable::Operation;
use apollo_compiler::introspection;
use apollo_compiler::response::serde_json_bytes::ByteString;
use apollo_compiler::response::{JsonMap, JsonValue};
use apollo_compiler::validation::Valid;
use futures_util::{StreamExt, stream};
use query::json::Json;

use crate::config::Introspection;
use crate::mutex::lock;
use crate::problem::{Problem, Refusal};
use crate::query_service::ALWAYS_OFFLOAD;

use super::arguments::{self, Variables};
use super::context::{ExecutionContext, FieldContext};
use super::document::RequestMethod;
use super::graphql_error::{self, GraphqlError};
use super::limits::MAX_INTROSPECTION_ALIASES;
use super::output::Output;
use super::root_fields;
use super::row_shape;
use super::schema::MutationField;
use super::selection::{SelectedField, check_conditions, collect_fields};
use super::writes;

/// More would let one request hold most of the database's connections.
const MAX_PARALLEL_FIELDS: usize = 4;

pub(super) const INTROSPECTION_OFF: &str = "introspection is disabled; only `__typename` is answered";

pub(super) struct GraphqlRequest {
    pub(super) document: String,
    pub(super) operation: Option<String>,
    pub(super) variables: Vec<(String, Json)>,
}

/// Hides the document and the variables: mutations take passwords.
impl fmt::Debug for GraphqlRequest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("GraphqlRequest").field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// The bytes of `{"data": …}`, or the errors of a request that is refused as a whole.
pub(super) async fn execute(
    context: &ExecutionContext<'_>,
    request: GraphqlRequest,
    method: RequestMethod,
) -> Result<Output, Vec<GraphqlError>> {
    let ExecutionContext { service, caller, notes, input_bytes, .. } = *context;
    let engine = &service.engine;
    let GraphqlRequest { document: text, operation: name, variables: sent } = request;
    let document = if let Some(document) = engine.documents.get(&text, name.as_deref()) {
        document
    } else {
        let parse = || engine.documents.parse(&engine.schema, &text, name.as_deref(), method);
        // Even a short document can take milliseconds.
        service.queries.validate(caller.key(), ALWAYS_OFFLOAD, parse).await??
    };
    let operation = document.operations.iter().next().ok_or(Problem::Internal("a document holds no operation"))?;
    let coerce = || arguments::coerce(&engine.schema, &operation.variables, sent);
    let variables = service.queries.validate(caller.key(), input_bytes, coerce).await??;
    check_conditions(&document, operation, &variables)?;
    let roots = collect_fields(&document, [&operation.selection_set], &variables);
    let named = roots.iter().filter_map(|root| engine.roots.get(root.field().name.as_str())).map(|(resource, _)| *resource);
    notes.name(named);
    let introspected = introspect(context, &document, operation, &variables, &roots).await?;
    let field_errors = Mutex::default();
    let kind = operation.operation_type;
    let field_context = FieldContext { execution: context, document: &document, variables: &variables, kind, errors: &field_errors };
    let fields: Vec<_> = roots.iter().map(|root| resolve(&field_context, root, introspected.as_ref())).collect();
    // Mutations run one after the other, in the order of the document.
    let parallel = if operation.is_mutation() { 1 } else { MAX_PARALLEL_FIELDS };
    let answers: Vec<Result<Output, GraphqlError>> = stream::iter(fields).buffered(parallel).collect().await;

    let mut out = Output::default();
    let mut errors = Vec::new();
    out.extend(b"{\"data\":{");
    for (index, (root, answer)) in roots.iter().zip(answers).enumerate() {
        row_shape::comma(index, out.buffer());
        out.extend(&row_shape::key(root.key));
        match answer {
            Ok(answer) => out.append(answer),
            // An overloaded process refuses the whole query, which may succeed later. A mutation may have made changes and reports them.
            Err(error) if error.is_overload() && !operation.is_mutation() => return Err(vec![error]),
            Err(error) => {
                // Null even in a non-null field: by the specification, one refused statement would remove the answers of all others.
                out.extend(b"null");
                errors.push(error);
            }
        }
    }
    out.extend(b"}");
    errors.append(&mut lock(&field_errors));
    if !errors.is_empty() {
        out.extend(b",\"errors\":");
        graphql_error::write(&errors, out.buffer());
    }
    out.extend(b"}");
    Ok(out)
}

async fn introspect(
    context: &ExecutionContext<'_>,
    document: &Valid<ExecutableDocument>,
    operation: &Operation,
    variables: &Variables,
    roots: &[SelectedField<'_>],
) -> Result<Option<JsonMap>, Vec<GraphqlError>> {
    if !roots.iter().any(|root| matches!(root.field().name.as_str(), "__schema" | "__type")) {
        return Ok(None);
    }
    let engine = &context.service.engine;
    if engine.introspection == Introspection::Off {
        return Err(vec![GraphqlError::new(Refusal::Introspection, INTROSPECTION_OFF)]);
    }
    let refused = |error: apollo_compiler::request::RequestError| vec![GraphqlError::new(Refusal::Limit, error.message().to_string())];
    introspection::check_max_depth(document, operation).map_err(refused)?;
    let aliases = operation.all_fields(document).filter(|field| field.alias.is_some()).count();
    if aliases > MAX_INTROSPECTION_ALIASES {
        let message = format!("an introspection query has at most {MAX_INTROSPECTION_ALIASES} aliases");
        return Err(vec![GraphqlError::new(Refusal::Limit, message)]);
    }
    let known = variables.iter().filter(|(_, variable)| variable.json != Json::Null);
    let values = known.map(|(name, variable)| (ByteString::from(name.as_str()), introspection_value(&variable.json))).collect();
    let values = Valid::assume_valid(values);
    let execute = || introspection::partial_execute(&engine.schema, &engine.implementers, document, operation, &values);
    let executed = context.service.queries.validate(context.caller.key(), ALWAYS_OFFLOAD, execute).await;
    executed?.map(|response| response.data).map_err(refused)
}

/// The value of a variable for introspection, which takes only names and booleans.
fn introspection_value(json: &Json) -> JsonValue {
    match json {
        Json::Bool(value) => JsonValue::Bool(*value),
        Json::Text(text) => JsonValue::String(text.as_str().into()),
        _ => JsonValue::Null,
    }
}

async fn mutation(context: &FieldContext<'_>, root: &SelectedField<'_>) -> Result<Output, Problem> {
    let mutations = &context.execution.service.engine.mutations;
    match *mutations.get(root.field().name.as_str()).ok_or(Problem::Internal("a field of the schema has no operation"))? {
        MutationField::Administration(operation) => root_fields::administer(context, root, operation).await,
        MutationField::Write(write) => writes::resolve(context, root, write).await,
    }
}

async fn resolve(context: &FieldContext<'_>, root: &SelectedField<'_>, introspected: Option<&JsonMap>) -> Result<Output, GraphqlError> {
    let field = root.field();
    let resolved = match field.name.as_str() {
        "__typename" if context.kind == OperationType::Mutation => Ok(row_shape::quoted("Mutation").into()),
        "__typename" => Ok(row_shape::quoted("Query").into()),
        "_service" => Ok(row_shape::quoted("peristyle").into()),
        "__schema" | "__type" => introspection_answer(context, introspected.and_then(|map| map.get(root.key))),
        _ if context.kind == OperationType::Mutation => mutation(context, root).await,
        _ => root_fields::resolve_query(context, root).await,
    };
    resolved.map_err(|problem| GraphqlError {
        problem,
        locations: field.line_column_range(&context.document.sources).map(|range| range.start).into_iter().collect(),
        path: vec![root.key.into()],
    })
}

fn introspection_answer(context: &FieldContext<'_>, value: Option<&JsonValue>) -> Result<Output, Problem> {
    let bytes = serde_json::to_vec(&value).map_err(|_| Problem::Internal("could not write an answer as JSON"))?;
    context.execution.budget.take(bytes.len())?;
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_secret() {
        // attack 37
        let sent = || vec![("password".to_owned(), Json::Text("sesame".to_owned()))];
        let request = GraphqlRequest { document: "mutation { a(password: \"sesame\") }".to_owned(), operation: None, variables: sent() };
        let variables: Vec<arguments::VariableValue> = sent().into_iter().map(|(_, value)| value.into()).collect();
        let shown = format!("{request:?} {variables:?}");
        assert!(shown.contains("GraphqlRequest") && shown.contains("VariableValue") && !shown.contains("sesame"), "{shown}");
    }
}
