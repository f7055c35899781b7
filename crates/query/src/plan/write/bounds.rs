//! The bounds of fields that a write adds to: `min` and `max`, and the range of the type where the column holds more.

use crate::catalog::write_rules::Bound;
use crate::catalog::{Field, FieldId, Native};
use crate::pointer::Layer;
use crate::statement::Statement;
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

use super::super::predicate::{Comparison, Predicate};
use super::super::{Child, Table};
use super::WritePlanner;
use super::row::{Change, RowChange};

impl<'c> WritePlanner<'c, '_> {
    /// The fields that the write adds to, and that have bounds.
    pub(super) fn bounded_increments(&self, rows: &[RowChange]) -> Vec<FieldId> {
        let resource = self.resource();
        let changes = rows.first().into_iter().flat_map(|row| &row.changes);
        let is_bounded = |id: &FieldId| {
            let field = &resource.fields[*id];
            let rules = &field.rules.values;
            rules.min.is_some() || rules.max.is_some() || range_of_type(field).is_some()
        };
        changes.filter(|(_, change)| matches!(change, Change::Add(_))).map(|(id, _)| *id).filter(is_bounded).collect()
    }

    /// The rows in which a field is within its bounds.
    pub(super) fn range(&mut self, id: FieldId) -> Option<Child<'c>> {
        let key_relation = &self.access.rules.key_relation;
        self.part(&Statement::empty(Layer::Policy), |planner, table| {
            let filter = within(&table, id);
            Self::rows_by_key(planner, key_relation, table, vec![(Layer::Bounds, filter)])
        })
    }
}

/// The ends of the type's range, where the column may hold numbers beyond it.
fn range_of_type(field: &Field) -> Option<[(Comparison, Value); 2]> {
    match (&field.kind, &field.native) {
        (Type::One(Scalar::Decimal), _) => {
            let [low, high] = value::decimal_ends();
            Some([(Comparison::Gt, Value::Decimal(low)), (Comparison::Lt, Value::Decimal(high))])
        }
        (Type::One(Scalar::Int), Native::WideInteger) => {
            Some([(Comparison::Gte, Value::Int(i32::MIN.into())), (Comparison::Lte, Value::Int(i32::MAX.into()))])
        }
        _ => None,
    }
}

/// The field is NULL, or within its bounds.
pub(super) fn within<'c>(table: &Table<'c>, id: FieldId) -> Predicate<'c> {
    let column = table.column(id);
    let field = column.field;
    let rules = &field.rules.values;
    let rule = |comparison, bound: &Option<Bound>| bound.as_ref().map(|bound| (comparison, bound.value.clone()));
    let ends = [rule(Comparison::Gte, &rules.min), rule(Comparison::Lte, &rules.max)];
    let all = ends.into_iter().flatten().chain(range_of_type(field).into_iter().flatten());
    let all = all.map(|(comparison, value)| Predicate::Compare { column, comparison, value }).collect();
    // A whole number beyond the type reads as null, but is stored.
    let is_null = if field.native == Native::WideInteger { Predicate::Unset(column) } else { Predicate::IsNull(column) };
    Predicate::any(vec![is_null, Predicate::all(all)])
}
