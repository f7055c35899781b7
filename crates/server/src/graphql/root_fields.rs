//! Resolves a field of the root: of a query one Query Statement, which runs as it does over REST; of a mutation one operation.

use query::json::Json;
use query::parse;
use query::plan::Operation;
use query::statement::{FieldSelection, Statement};
use store::Answer;
use store::run::Format;

use crate::admin_operations::{Operation as AdminOperation, OperationAnswer, OperationInput, OperationRequest, PAYLOAD};
use crate::hub;
use crate::problem::{NO_SUCH_PATH, Problem, Refusal};
use crate::query_service::key_parts;
use crate::query_service::reader::Reading;
use crate::traces;

use super::answer::{page_answer, rows_answer};
use super::arguments::{Variables, argument, coerced_argument};
use super::context::{ExecutionContext, FieldContext};
use super::output::Output;
use super::response_notes::MutationEnd;
use super::row_shape::{RowKind, RowShape};
use super::schema::QueryField;
use super::selected_relations;
use super::selection::SelectedField;
use super::unreadable::{self, AnsweredRows};

pub(super) async fn resolve_query(context: &FieldContext<'_>, root: &SelectedField<'_>) -> Result<Output, Problem> {
    let FieldContext { execution, document, variables, .. } = *context;
    let ExecutionContext { service, caller, budget, input_bytes, .. } = *execution;
    let field = root.field();
    let (resource, query_field) =
        *service.engine.roots.get(field.name.as_str()).ok_or(Problem::Internal("a field of the schema has no statement"))?;
    let shape = RowShape::of(document, root, variables);
    let account = if query_field == QueryField::Me { Some(caller.account().ok_or(Problem::Unauthenticated)?) } else { None };
    if let Some(account) = account
        && shape.relations().all(|(name, below)| hub::ACCOUNT_RELATIONS.contains(&name) && !below.has_relations())
    {
        let row = hub::account_row(&service.queries, account).await?;
        return rows_answer(Answer::Whole(row), &shape, RowKind::Row, query_field, budget).await;
    }
    let name = &service.queries.catalog.resource(resource).full_name;
    traces::note(name, field.name.as_str());
    // Permission comes before the statement is read.
    let access = service.queries.authorize_read(resource, caller)?;
    let key = match query_field {
        QueryField::Me => account.map(|account| vec![account.to_string()]),
        QueryField::FindById => {
            if !access.can_find_by_id() {
                return Err(Problem::NotFound("this resource has no visible key; use `find` with a `where`"));
            }
            Some(key(field, variables, access.resource().key.len())?)
        }
        _ => None,
    };
    let (operation, format) = match query_field {
        QueryField::Paginate => (Operation::Paginate, Format::Rows),
        QueryField::KeysetPaginate => (Operation::KeysetPaginate, Format::Rows),
        QueryField::Get => (Operation::List, Format::Lines),
        QueryField::Find | QueryField::FindById | QueryField::Me => (Operation::Find, Format::Json),
    };
    let is_page = matches!(query_field, QueryField::Paginate | QueryField::KeysetPaginate);
    let page_parts = is_page.then(|| root.subfields(document, variables));
    let render = || {
        let (query, constraint) = (argument(field, "query", variables)?, argument(field, "constraint", variables)?);
        let (query, kind) = if has_aggregation(query.as_ref()) {
            (query, RowKind::Group)
        } else {
            (selected_relations::with_selected(&shape, query), RowKind::Row)
        };
        let mut body = parse::layers(query, constraint);
        body.query = match &page_parts {
            Some(parts) => of_page(body.query, parts, kind),
            None if kind == RowKind::Row => body.query.showing(Some(shape.field_selection())),
            None => body.query,
        };
        service.queries.render(access, operation, key.as_deref(), body).map(|query| (query, kind))
    };
    let (query, kind) = service.queries.validate(caller.key(), input_bytes, render).await??;
    if let Some(max) = query.row_cap {
        execution.notes.cap_rows(max);
    }
    let Reading { answer, slots: _slots } = Box::pin(service.queries.reader.run(caller.key(), name, query, format)).await?;
    match &page_parts {
        Some(parts) => page_answer(answer, &field.selection_set.ty, parts, budget).await,
        None => rows_answer(answer, &shape, kind, query_field, budget).await,
    }
}

/// The statement of a page with these parts. Its rows are not typed: they show everything, and are not read if nothing names them.
fn of_page(statement: Statement, parts: &[SelectedField<'_>], kind: RowKind) -> Statement {
    let names = |name: &str| parts.iter().any(|part| part.field().name == name);
    if names("rows") {
        return statement;
    }
    let statement = if kind == RowKind::Row { statement.showing(Some(FieldSelection::of_document())) } else { statement };
    if names("count") || names("next") { statement } else { statement.without_rows() }
}

pub(super) async fn administer(
    context: &FieldContext<'_>,
    root: &SelectedField<'_>,
    operation: &'static AdminOperation,
) -> Result<Output, Problem> {
    let execution = context.execution;
    let field = root.field();
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
    let payload = coerced_argument(&execution.service.engine.schema, field, PAYLOAD, context.variables)?;
    let shape = RowShape::of(context.document, root, context.variables);
    let statement = selected_relations::with_selected(&shape, Some(Json::Null));
    let answer = Box::pin(request.execute(OperationInput::from_arguments(&id, payload, statement))).await?;
    execution.notes.mutation(MutationEnd::Changed);
    if matches!(operation.answer, OperationAnswer::Record | OperationAnswer::ClientSecret)
        && let Some((_, resource)) = operation.resource_in(&execution.service.queries.catalog)
    {
        unreadable::report(context, resource, AnsweredRows::One(root));
    }
    rows_answer(Answer::Whole(answer.into()), &shape, RowKind::Row, QueryField::Find, execution.budget).await
}

/// The parts of the key. Several parts are written as in a REST path.
pub(super) fn key(field: &apollo_compiler::executable::Field, variables: &Variables, count: usize) -> Result<Vec<String>, Problem> {
    let id = match argument(field, "id", variables)? {
        Some(Json::Text(text)) => text,
        Some(Json::Number(digits)) => digits.into(),
        _ => return Err(Problem::Graphql(Refusal::Input, "`id` must be a string or a whole number".to_owned())),
    };
    if count == 1 { Ok(vec![id]) } else { Ok(key_parts(&id, count)?) }
}

/// Whether the statement aggregates. A key that is null counts as absent.
fn has_aggregation(query: Option<&Json>) -> bool {
    let Some(Json::Object(entries)) = query else { return false };
    entries.iter().any(|(key, value)| key == "aggregation" && *value != Json::Null)
}
