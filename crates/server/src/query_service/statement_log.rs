//! Observes the statements of one answer: logs slow ones, and adds a span for each to the trace of its request.

use std::sync::Arc;

use query::plan::Operation;
use query::sql::{Dialect, Query};
use store::run::{AnswerContext, StatementObserver, StatementReport};
use store::{Database, Writers};

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
            let labels = StatementLabels { resource: &self.resource, operation: self.operation, system: self.system };
            trace.statement(labels, report);
        }
    }
}

/// The database for one answer: observed and limited, or, if nothing asks for that, as it is.
pub(super) fn for_answer(database: &Database, slow: Option<&SlowStatements>, resource: &str, query: &Query) -> Option<Database> {
    let operation = match query.operation {
        Operation::Paginate => "paginate",
        Operation::KeysetPaginate => "keyset-paginate",
        Operation::List => "list",
        Operation::Find => "find",
    };
    let context = observed(slow, resource, operation, database.dialect());
    if context.is_none() && query.max_related_rows.is_none() {
        return None;
    }
    let mut context = context.unwrap_or_default();
    if let Some(max) = query.max_related_rows {
        context = context.with_max_related_rows(usize::try_from(max).unwrap_or(usize::MAX));
    }
    Some(database.for_answer(context))
}

/// The connections for one write, if its statements are observed.
pub(super) fn for_write(
    writers: &Writers,
    slow: Option<&SlowStatements>,
    resource: &str,
    operation: &'static str,
    dialect: Dialect,
) -> Option<Writers> {
    observed(slow, resource, operation, dialect).map(|context| writers.for_answer(context))
}

fn observed(slow: Option<&SlowStatements>, resource: &str, operation: &'static str, dialect: Dialect) -> Option<AnswerContext> {
    let trace = RequestTrace::current();
    if slow.is_none() && trace.is_none() {
        return None;
    }
    let system = match dialect {
        Dialect::Postgres | Dialect::Citus => "postgresql",
        Dialect::Sqlite => "sqlite",
    };
    let log = StatementLog { slow: slow.cloned(), trace, resource: resource.to_owned(), operation, system, span: tracing::Span::current() };
    Some(AnswerContext::default().observed_by(Arc::new(log)))
}
