//! What locked rows must be before the change: `scope`, `expect` and the version.

use crate::catalog::FieldId;
use crate::catalog::write_rules::WriteOperation;
use crate::error::{Code, shorten};
use crate::payload::{Payload, WriteBody};
use crate::pointer::Layer;
use crate::statement::Statement;
use crate::value::Value;

use super::super::Child;
use super::super::predicate::{Comparison, Predicate};
use super::row::RowChange;
use super::{WriteAddress, WritePlanner};

impl<'c> WritePlanner<'c, '_> {
    pub(super) fn preconditions(&mut self, body: &WriteBody, rows: &[RowChange], address: &WriteAddress<'_>) -> Vec<(Layer, Child<'c>)> {
        let of_header = address.if_match.and_then(|text| self.version_of_header(text));
        if self.form.operation() == WriteOperation::Create {
            return Vec::new();
        }
        let mut preconditions = Vec::new();
        preconditions.extend(self.scope());
        preconditions.extend(self.expectation(body.expect.as_ref()));
        let is_list = matches!(body.payload, Some(Payload::Many(_)));
        let (for_all, for_each) = if is_list { (&[][..], rows) } else { (rows, &[][..]) };
        let expected: Vec<Value> = of_header.into_iter().chain(for_all.first().and_then(|row| row.version.clone())).collect();
        preconditions.extend(self.version(&expected, for_each));
        preconditions
    }

    /// `scope` of the manifest, if it binds the viewer.
    fn scope(&mut self) -> Option<(Layer, Child<'c>)> {
        let rules = self.access.rules;
        let rule = rules.scope.as_ref().filter(|rule| self.viewer().is_bound_by(rule))?;
        let is_restore = self.form.operation() == WriteOperation::Restore;
        let child = self.part(&Statement::empty(Layer::Policy), |planner, table| {
            let table = if is_restore { table.with_deleted(planner) } else { table };
            let filter = planner.constraint(table.resource, table.alias, &rule.statement);
            Self::rows_by_key(planner, &rules.key_relation, table, vec![(Layer::Scope, filter)])
        })?;
        Some((Layer::Scope, child))
    }

    fn expectation(&mut self, expect: Option<&Statement>) -> Option<(Layer, Child<'c>)> {
        let statement = expect?;
        self.refuse_derived(statement);
        let key_relation = &self.access.rules.key_relation;
        let child = self.part(statement, |planner, table| {
            let filters = planner.filters(&table, &statement.filters);
            Self::rows_by_key(planner, key_relation, table, filters)
        })?;
        Some((Layer::Expect, child))
    }

    /// The version in `If-Match`, which must be the `ETag` of a row to the byte.
    fn version_of_header(&mut self, text: &str) -> Option<Value> {
        let resource = self.resource();
        let field = self.access.rules.version.map(|id| &resource.fields[id]).filter(|field| self.viewer().knows(field));
        let number = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let number = number.and_then(|text| text.parse::<i64>().ok().filter(|number| number.to_string() == text));
        let message = match (field, number) {
            _ if !self.form.takes_id() => {
                let form = self.form.as_str();
                format!(
                    "`{form}` takes no `If-Match`, which names the version of one row; `update/{{id}}`, `delete/{{id}}` and `restore/{{id}}` take it"
                )
            }
            (None, _) => format!("`{}` has no `version`, so `If-Match` cannot be checked", resource.full_name),
            (Some(field), _) if !self.viewer().sees_unmasked(field) => {
                format!("`{}` is masked for you, so `If-Match` cannot be checked", field.name)
            }
            (Some(_), None) => format!("`If-Match` takes the `ETag` of the row, such as \"7\" in quotes; found {}", shorten(text)),
            (Some(_), Some(number)) => return Some(Value::Int(number)),
        };
        self.faults.add(Code::IfMatch, String::new, message);
        None
    }

    /// The versions that all rows must have, and those of the rows of a list.
    fn version(&mut self, for_all: &[Value], for_each: &[RowChange]) -> Option<(Layer, Child<'c>)> {
        let rules = self.access.rules;
        let version = rules.version?;
        let for_each = if for_each.iter().any(|row| row.version.is_some()) { for_each } else { &[] };
        if for_all.is_empty() && for_each.is_empty() {
            return None;
        }
        let is_restore = self.form.operation() == WriteOperation::Restore;
        let child = self.part(&Statement::empty(Layer::Expect), |planner, table| {
            let table = if is_restore { table.with_deleted(planner) } else { table };
            let equal = |id: FieldId, value: &Value| Predicate::Compare {
                column: table.column(id),
                comparison: Comparison::Eq,
                value: value.clone(),
            };
            let mut all: Vec<Predicate<'c>> = for_all.iter().map(|value| equal(version, value)).collect();
            let one = |row: &RowChange| {
                let key = table.resource.key.iter().zip(&row.key).map(|(id, value)| equal(*id, value));
                Predicate::all(key.chain(row.version.as_ref().map(|value| equal(version, value))).collect())
            };
            if !for_each.is_empty() {
                all.push(Predicate::any(for_each.iter().map(one).collect()));
            }
            Self::rows_by_key(planner, &rules.key_relation, table, vec![(Layer::Expect, Predicate::all(all))])
        })?;
        Some((Layer::Expect, child))
    }
}
