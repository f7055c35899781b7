//! Reports selected fields that a mutation cannot answer: a caller that may change a row and not read it gets its key alone.

use query::catalog::Resource;

use crate::mutex::lock;
use crate::problem::Problem;

use super::context::FieldContext;
use super::graphql_error::{GraphqlError, MAX_ERRORS, PathPart};
use super::selection::SelectedField;

/// Rows of a mutation in its response: where they are, and how many.
#[derive(Clone, Copy)]
pub(super) enum AnsweredRows<'r, 'd> {
    One(&'r SelectedField<'d>),
    /// The field of the root, its fields, and the number of rows.
    Many(&'r SelectedField<'d>, &'r [SelectedField<'d>], usize),
}

/// Adds an error for each selected field that is null because the caller may not read the resource.
pub(super) fn report(context: &FieldContext<'_>, resource: &Resource, rows: AnsweredRows<'_, '_>) {
    let caller = context.execution.caller;
    let Some(permission) = resource.permission.as_deref().filter(|permission| !caller.viewer().has_permission(permission)) else { return };
    let problem = || caller.refusal(permission);
    match rows {
        AnsweredRows::One(root) => add(context, resource, (root, &[PathPart::from(root.key)]), &problem),
        AnsweredRows::Many(root, parts, count) => {
            for part in parts.iter().filter(|part| part.field().name == "rows") {
                // One answer has no more errors.
                for index in 0..count.min(MAX_ERRORS) {
                    let path = [PathPart::from(root.key), PathPart::from(part.key), PathPart::Index(index)];
                    add(context, resource, (part, &path), &problem);
                }
            }
        }
    }
}

/// The fields of one row.
fn add(context: &FieldContext<'_>, resource: &Resource, (row, path): (&SelectedField<'_>, &[PathPart]), problem: &dyn Fn() -> Problem) {
    let mut errors = lock(context.errors);
    for selected in row.subfields(context.document, context.variables) {
        let field = selected.field();
        let name = field.name.as_str();
        let is_of_row = resource.field(name).is_some() || resource.relation(name).is_some();
        let is_answered = resource.key_fields().any(|key| key.name == name);
        if !is_of_row || is_answered || errors.len() >= MAX_ERRORS {
            continue;
        }
        errors.push(GraphqlError {
            problem: problem(),
            locations: field.line_column_range(&context.document.sources).map(|range| range.start).into_iter().collect(),
            path: path.iter().cloned().chain([PathPart::from(selected.key)]).collect(),
        });
    }
}
