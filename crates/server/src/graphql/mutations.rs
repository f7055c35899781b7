//! A field of a mutation's root: an operation of administration.

use query::json::Json;
use store::Answer;

use crate::operations::{Errand, Sent};
use crate::problem::{NO_SUCH_PATH, Problem, Refusal};

use super::answer::rows;
use super::arguments::{argument, fitted_argument};
use super::output::Output;
use super::questions::Context;
use super::schema::Question;
use super::selection::Picked;
use super::shape::{Kind, Shape};

/// Carries out one field of a mutation's root.
pub(super) async fn changed(context: &Context<'_>, root: &Picked<'_>) -> Result<Output, Problem> {
    let field = root.field();
    let operation = *context
        .service
        .engine
        .mutations
        .get(field.name.as_str())
        .ok_or(Problem::Internal("a field of the schema stands for no operation"))?;
    let hub = context.service.authenticator.as_hub().ok_or(NO_SUCH_PATH)?;
    // Permission is decided before the arguments are looked at.
    let errand = Errand::enter(&context.service.queries, hub, context.caller, operation, context.address).await?;
    let id = match argument(field, "id", context.variables)? {
        None => String::new(),
        Some(Json::Text(text)) => text,
        Some(Json::Number(digits)) => digits.into(),
        Some(_) => return Err(Problem::Graphql(Refusal::Input, "`id` is a text".to_owned())),
    };
    let input = fitted_argument(&context.service.engine.schema, field, "input", context.variables)?;
    let input = input.unwrap_or(Json::Object(Vec::new()));
    let answer = Box::pin(errand.run(Sent { id: &id, input, base: "/input" })).await?;
    let shape = Shape::of(context.document, root, context.variables);
    rows(Answer::Whole(answer.into()), &shape, Kind::Row, Question::Find, context.budget).await
}
