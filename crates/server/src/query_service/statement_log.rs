//! The context of one answer. Its statements are observed: slow ones are logged, and each is a span of the trace of its request.

use std::sync::Arc;
use std::time::Instant;

use query::plan::Operation;
use query::sql::{Dialect, Query};
use store::Database;
use store::run::{AnswerContext, StatementObserver, StatementReport};

use crate::slow_statements::SlowStatements;
use crate::traces::{RequestTrace, StatementLabels};

#[derive(Debug)]
struct StatementLog {
    slow: Option<SlowStatements>,
    trace: Option<RequestTrace>,
    resource: String,
    operation: &'static str,
    system: &'static str,
    /// The span of the request in the log, since SQLite works on another thread.
    span: tracing::Span,
}

impl StatementObserver for StatementLog {
    fn ended(&self, report: &StatementReport<'_>) {
        if let Some(slow) = &self.slow {
            self.span.in_scope(|| slow.note(&self.resource, self.operation, report));
        }
        if let Some(trace) = &self.trace {
            let labels = StatementLabels { resource: &self.resource, operation: self.operation };
            trace.statement(labels, self.system, report);
        }
    }
}

/// What one answer has besides its statement: whoever observes its statements, the limit of its rows, and its deadline.
pub(super) fn for_answer(database: &Database, slow: Option<&SlowStatements>, resource: &str, query: &Query) -> AnswerContext {
    let operation = match query.operation {
        Operation::Paginate => "paginate",
        Operation::KeysetPaginate => "keyset-paginate",
        Operation::List => "list",
        Operation::Find => "find",
    };
    let context = observed(slow, StatementLabels { resource, operation }, database.dialect());
    limited(context, query.max_related_rows).until(Instant::now() + database.timeout())
}

/// The same for one write.
pub(super) fn for_write(
    database: &Database,
    slow: Option<&SlowStatements>,
    labels: StatementLabels<'_>,
    max_related_rows: Option<u64>,
) -> AnswerContext {
    limited(observed(slow, labels, database.dialect()), max_related_rows).until(Instant::now() + database.timeout())
}

fn limited(context: AnswerContext, max_related_rows: Option<u64>) -> AnswerContext {
    match max_related_rows {
        Some(max) => context.with_max_related_rows(usize::try_from(max).unwrap_or(usize::MAX)),
        None => context,
    }
}

fn observed(slow: Option<&SlowStatements>, labels: StatementLabels<'_>, dialect: Dialect) -> AnswerContext {
    let trace = RequestTrace::current();
    if slow.is_none() && trace.is_none() {
        return AnswerContext::default();
    }
    let system = match dialect {
        Dialect::Postgres | Dialect::Citus => "postgresql",
        Dialect::Sqlite => "sqlite",
    };
    let StatementLabels { resource, operation } = labels;
    let log = StatementLog { slow: slow.cloned(), trace, resource: resource.to_owned(), operation, system, span: tracing::Span::current() };
    AnswerContext::default().observed_by(Arc::new(log))
}
