//! The answer to a valid statement: permission, merge, rows or groups, and the operation.

use crate::aggregate;
use crate::fixture;
use crate::load;
use crate::policy;
use crate::schema::Resource;
use crate::session::Session;
use crate::statement::{Order, Statement};
use crate::viewer::Viewer;
use crate::world::{Row, World};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    Paginate,
    KeysetPaginate,
    List,
    Find,
    /// The parts of a composite key are joined with a comma.
    FindById(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Page {
        total: u64,
        count: u64,
        rows: Vec<Value>,
    },
    /// A keyset page, and whether rows follow it.
    KeysetPage {
        count: u64,
        rows: Vec<Value>,
        follows: bool,
    },
    Rows(Vec<Value>),
    Row(Value),
    NotFound,
    Forbidden,
}

/// A request: viewer, resource, operation and statement.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    pub viewer: &'a Viewer,
    pub resource: &'a str,
    pub operation: &'a Operation,
    pub query: Option<&'a Value>,
    pub constraint: Option<&'a Value>,
}

/// Answers a valid statement over the fixture's data.
pub fn answer(viewer: &Viewer, resource: &str, operation: &Operation, query: Option<&Value>, constraint: Option<&Value>) -> Answer {
    answer_in(fixture::world(), Question { viewer, resource, operation, query, constraint })
}

/// Answers a valid statement over any data.
pub fn answer_in(world: &World, question: Question<'_>) -> Answer {
    if !question.viewer.can_read(world.schema.resource(question.resource)) {
        return Answer::Forbidden;
    }
    let (total, runs) = listing(world, question);
    let mut rows = runs.concat();
    match question.operation {
        Operation::Paginate => Answer::Page { total, count: rows.len() as u64, rows },
        Operation::KeysetPaginate => {
            Answer::KeysetPage { count: rows.len() as u64, follows: !rows.is_empty() && total > rows.len() as u64, rows }
        }
        Operation::List => Answer::Rows(rows),
        Operation::Find | Operation::FindById(_) if rows.is_empty() => Answer::NotFound,
        Operation::Find | Operation::FindById(_) => Answer::Row(rows.remove(0)),
    }
}

/// The query, narrowed by the wire constraint and by the manifest's constraint.
pub(crate) fn merged(world: &World, question: Question<'_>) -> Statement {
    let resource = world.schema.resource(question.resource);
    let mut additions = policy::additions(world, question.viewer, resource);
    let query = Statement::parse_optional(question.query).narrowed_by(Statement::parse_optional(question.constraint));
    if let Some(block) = &query.aggregation {
        additions.relations.clear();
        let groups = aggregate::group_by(block);
        additions.order.retain(|entry| groups.contains(&entry.field));
    }
    if *question.operation == Operation::KeysetPaginate {
        // A cursor names only what the viewer sees.
        additions.order.retain(|entry| is_usable(world, question.viewer, resource, &entry.field));
    }
    let mut statement = query.narrowed_by(additions);
    if *question.operation == Operation::KeysetPaginate {
        statement.limit = Some(statement.limit.unwrap_or(100));
        let unnamed: Vec<&str> = resource.keys().into_iter().map(|key| key.name.as_str()).collect();
        for name in unnamed {
            if !statement.order.iter().any(|entry| entry.field == name) {
                statement.order.push(Order { field: name.to_owned(), descending: false });
            }
        }
    }
    if let Operation::FindById(id) = question.operation {
        statement.wheres.push(by_key(resource, id));
    }
    if matches!(question.operation, Operation::Find | Operation::FindById(_)) {
        statement.limit = Some(statement.limit.map_or(1, |limit| limit.min(1)));
    }
    statement
}

fn is_usable(world: &World, viewer: &Viewer, resource: &Resource, path: &str) -> bool {
    let of = |resource: &Resource, name: &str| resource.fields.iter().any(|field| field.name == name && viewer.may_use(field));
    match path.split_once('.') {
        None => of(resource, path),
        Some((relation, name)) => resource.relation(relation).is_some_and(|relation| {
            let target = world.schema.resource(&relation.target);
            viewer.can_read(target) && of(target, name)
        }),
    }
}

/// The total, and the selected rows in runs of ties.
pub(crate) fn listing(world: &World, question: Question<'_>) -> (u64, Vec<Vec<Value>>) {
    let session = Session::new(world, question.viewer);
    let resource = session.resource(question.resource);
    let statement = merged(world, question);
    let rows = load::filtered(&session, resource, session.visible(resource).to_vec(), &statement);
    if statement.aggregation.is_some() {
        let groups = aggregate::groups(&session, resource, &rows, &statement);
        let total = groups.iter().map(Vec::len).sum::<usize>();
        return (total as u64, cut_runs(groups, &statement));
    }
    let total = rows.len() as u64;
    let runs = cut_runs(load::sorted(&session, resource, rows, &statement), &statement);
    let show = |run: Vec<&Row>| run.into_iter().map(|row| load::shown(&session, resource, row, &statement)).collect();
    (total, runs.into_iter().map(show).collect())
}

fn cut_runs<T>(runs: Vec<Vec<T>>, statement: &Statement) -> Vec<Vec<T>> {
    let numbered = runs.into_iter().enumerate().flat_map(|(number, run)| run.into_iter().map(move |item| (number, item)));
    let mut cut: Vec<Vec<T>> = Vec::new();
    let mut last = None;
    for (number, item) in statement.cut(numbered.collect()) {
        match cut.last_mut() {
            Some(run) if last == Some(number) => run.push(item),
            _ => cut.push(vec![item]),
        }
        last = Some(number);
    }
    cut
}

fn by_key(resource: &Resource, id: &str) -> Value {
    let keys = resource.keys();
    let parts: Vec<&str> = if keys.len() == 1 { vec![id] } else { id.split(',').collect() };
    assert_eq!(keys.len(), parts.len(), "{id:?} has as many parts as the key of {}", resource.name);
    let mut clause = Map::new();
    for (key, part) in keys.iter().zip(parts) {
        let number = part.parse::<i64>().ok().filter(|_| matches!(key.kind, crate::schema::Kind::Int | crate::schema::Kind::Bigint));
        let value = number.map_or_else(|| Value::from(part), Value::from);
        clause.insert(key.name.clone(), serde_json::json!({ "eq": value }));
    }
    Value::Object(clause)
}
