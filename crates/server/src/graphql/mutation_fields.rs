//! Resolves a field of a mutation's root: an operation of administration.

use query::json::Json;
use store::Answer;

use crate::admin_operations::{OperationInput, OperationRequest};
use crate::problem::{NO_SUCH_PATH, Problem, Refusal};

use super::answer::rows_answer;
use super::arguments::{argument, coerced_argument};
use super::output::Output;
use super::query_fields::FieldContext;
use super::row_shape::{RowKind, RowShape};
use super::schema::QueryField;
use super::selection::SelectedField;

pub(super) async fn resolve(context: &FieldContext<'_>, root: &SelectedField<'_>) -> Result<Output, Problem> {
    let execution = context.execution;
    let field = root.field();
    let operation =
        *execution.service.engine.mutations.get(field.name.as_str()).ok_or(Problem::Internal("a field of the schema has no operation"))?;
    let hub = execution.service.authenticator.as_hub().ok_or(NO_SUCH_PATH)?;
    // Permission comes before the arguments are read.
    let request =
        OperationRequest::authorize(&execution.service.queries, hub, execution.caller, operation, execution.client_address).await?;
    let id = match argument(field, "id", context.variables)? {
        None => String::new(),
        Some(Json::Text(text)) => text,
        Some(Json::Number(digits)) => digits.into(),
        Some(_) => return Err(Problem::Graphql(Refusal::Input, "`id` must be a string".to_owned())),
    };
    let input = coerced_argument(&execution.service.engine.schema, field, "input", context.variables)?;
    let input = input.unwrap_or(Json::Object(Vec::new()));
    let answer = Box::pin(request.execute(OperationInput { id: &id, input, base: "/input" })).await?;
    let shape = RowShape::of(context.document, root, context.variables);
    rows_answer(Answer::Whole(answer.into()), &shape, RowKind::Row, QueryField::Find, execution.budget).await
}
