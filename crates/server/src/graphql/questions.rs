//! A field of a query's root: a statement of its own, asked as REST asks it.

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast::OperationType;
use query::json::Json;
use query::parse;
use query::plan::Operation;
use store::Answer;
use store::run::Format;

use crate::caller::Caller;
use crate::hub;
use crate::problem::{Problem, Refusal};
use crate::query_service::key_parts;
use crate::query_service::reader::Reading;

use super::GraphqlService;
use super::answer::{page, rows};
use super::arguments::{Variables, argument};
use super::budget::Budget;
use super::output::Output;
use super::schema::Question;
use super::selection::Picked;
use super::shape::{Kind, Shape};

/// What answering the fields of one operation needs.
pub(super) struct Context<'a> {
    pub(super) service: &'a GraphqlService,
    pub(super) caller: &'a Caller,
    pub(super) address: &'a str,
    pub(super) document: &'a ExecutableDocument,
    pub(super) variables: &'a Variables,
    pub(super) budget: &'a Budget,
    pub(super) kind: OperationType,
    /// How many bytes were sent with the request.
    pub(super) input_bytes: usize,
}

/// Asks one field.
pub(super) async fn asked(context: &Context<'_>, root: &Picked<'_>) -> Result<Output, Problem> {
    let Context { service, caller, document, variables, budget, .. } = *context;
    let field = root.field();
    let (resource, question) =
        *service.engine.roots.get(field.name.as_str()).ok_or(Problem::Internal("a field of the schema stands for no question"))?;
    if question == Question::Me {
        let row = hub::account_row(&service.queries, caller.account().ok_or(Problem::Unauthenticated)?).await?;
        return rows(Answer::Whole(row), &Shape::of(document, root, variables), Kind::Row, question, budget).await;
    }
    // Permission is decided before the statement is looked at.
    let entrance = service.queries.enter(resource, caller)?;
    let key = match question {
        Question::FindById => {
            if !entrance.can_find_by_id() {
                return Err(Problem::NotFound("this resource has no key to find a row by"));
            }
            Some(key(field, variables, entrance.resource().key.len())?)
        }
        _ => None,
    };
    let (operation, format) = match question {
        Question::Paginate => (Operation::Paginate, Format::Rows),
        Question::Get => (Operation::List, Format::Lines),
        Question::Find | Question::FindById | Question::Me => (Operation::Find, Format::Json),
    };
    let render = || {
        let (query, constraint) = (argument(field, "query", variables)?, argument(field, "constraint", variables)?);
        let kind = if aggregates(query.as_ref()) { Kind::Group } else { Kind::Row };
        let body = parse::layers(query, constraint);
        service.queries.render(entrance, operation, key.as_deref(), body).map(|query| (query, kind))
    };
    let (query, kind) = service.queries.validate(caller.key(), context.input_bytes, render).await??;
    if question == Question::Paginate {
        let parts = root.below(document, variables);
        let is_shown = parts.iter().any(|part| part.field().name == "rows");
        let query = if is_shown { query } else { query.without_relations() };
        let Reading { answer, slots: _slots } = Box::pin(service.queries.reader.run(caller.key(), query, format)).await?;
        return page(answer, &parts, budget).await;
    }
    let Reading { answer, slots: _slots } = Box::pin(service.queries.reader.run(caller.key(), query, format)).await?;
    rows(answer, &Shape::of(document, root, variables), kind, question, budget).await
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
