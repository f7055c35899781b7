//! `explain`: the SQL of a statement, and the plan of the database, over HTTP and on the command line.

use axum::extract::Request;
use axum::response::Response;
use query::merge::merged;
use query::parse;
use query::plan::{self, Operation};
use query::policy::ReadAccess;
use query::sql;
use query::statement::Statement;
use serde_json::{Value, json};
use store::Database;
use store::run::PlanDetail;

use crate::caller::Caller;
use crate::http::body;
use crate::problem::Problem;
use crate::response;

use super::QueryService;

pub const PERMISSION: &str = identity::account::EXPLAIN;

/// The operations that can be explained, the default first.
pub const OPERATIONS: [(&str, Operation); 2] = [("paginate", Operation::Paginate), ("keyset-paginate", Operation::KeysetPaginate)];

/// Whether the database is asked for its own plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analyze {
    Yes(PlanDetail),
    No,
}

/// Answers `POST …/explain`; `?analyze=true` adds the database's own plan, and `?operation=` names another operation than `paginate`.
pub(crate) async fn answer(
    queries: &QueryService,
    (caller, entrance): (&Caller, ReadAccess<'_, '_>),
    request: Request,
) -> Result<Response, Problem> {
    let analyze = request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "analyze" || pair == "analyze=true"));
    let operation = operation(request.uri().query())?;
    let (head, body) = request.into_parts();
    let mut reservation = queries.budgets.bodies.reserve(caller.key());
    let bytes = body::json(&head.headers, body, &mut reservation).await?;
    let read = || parse::body(&bytes).map(merged);
    let statement = queries.validate(caller.key(), bytes.len(), read).await??;
    let _slot = queries.reader.slot(caller.key()).await?;
    // A caller over HTTP sees only what the policy allows.
    let analyze = if analyze { Analyze::Yes(PlanDetail::Result) } else { Analyze::No };
    let explained = explain(&queries.reader.primary, entrance, (operation, statement), analyze).await?;
    Ok(response::json(explained.to_string()))
}

/// The parameter `operation`.
fn operation(query: Option<&str>) -> Result<Operation, Problem> {
    let Some(name) = query.unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("operation=")) else {
        return Ok(Operation::Paginate);
    };
    let found = OPERATIONS.into_iter().find(|(word, _)| *word == name).map(|(_, operation)| operation);
    found.ok_or(Problem::Malformed("`operation` must be `paginate` or `keyset-paginate`"))
}

/// The merged statement, the SQL of each level, and perhaps the database's own plan of each.
pub async fn explain(
    database: &Database,
    entrance: ReadAccess<'_, '_>,
    (operation, statement): (Operation, Statement),
    analyze: Analyze,
) -> Result<Value, Problem> {
    let merged = query::explain::statement(&statement);
    let (mut described, query) = {
        let plan = plan::plan(entrance, statement, operation, None)?;
        let query = sql::render(&plan, database.dialect());
        (query::explain::levels(&plan, &query, database.dialect()), query)
    };
    if let Analyze::Yes(detail) = analyze {
        for (path, lines) in database.analyze(&query, detail).await? {
            let level = described["levels"].as_array_mut().into_iter().flatten().find(|level| level["path"] == path.as_str());
            if let Some(level) = level {
                level["plan"] = json!(lines);
            }
        }
    }
    described["resource"] = json!(entrance.resource().full_name);
    described["statement"] = merged;
    Ok(described)
}
