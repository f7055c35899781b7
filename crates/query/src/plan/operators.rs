//! A field's operators: shape, type and value of each.

use crate::catalog::{Field, FieldId};
use crate::error::{Code, about};
use crate::json::Json;
use crate::messages::{did_you_mean, quoted_list};
use crate::pointer::At;
use crate::statement::{Clause, Entry, Inside, OPERATORS, Operator};
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

use super::filter::Subject;
use super::predicate::{Column, Comparison, Membership, Predicate};
use super::{MAX_VALUES, Planner, Rights};

impl<'c> Planner<'c, '_> {
    /// All operators of one field, ANDed.
    pub(super) fn operators(&mut self, subject: Subject<'c>, id: FieldId, clause: &Clause) -> Predicate<'c> {
        let field = &subject.resource.fields[id];
        if clause.entries.is_empty() {
            self.fault(
                Code::Empty,
                clause.at,
                format!("`{}` needs at least one operator: {}", field.name, quoted_list(&field.kind.operators())),
            );
            return Predicate::Never;
        }
        let column = Column { alias: subject.alias, field };
        let mut all = Vec::with_capacity(clause.entries.len());
        for entry in &clause.entries {
            if self.faults.is_full() {
                break;
            }
            match entry {
                Entry::And(at, _) => self.unknown_operator(field, "and", *at),
                Entry::Or(at, _) => self.unknown_operator(field, "or", *at),
                Entry::Not(at, _) => self.unknown_operator(field, "not", *at),
                Entry::Malformed { word, at, .. } => self.unknown_operator(field, word, *at),
                Entry::Refused => all.push(Predicate::Never),
                Entry::Named { name, at, inside } => {
                    if !self.spend(*at) {
                        return Predicate::Never;
                    }
                    let Some(operator) = Operator::from_word(name) else {
                        self.unknown_operator(field, name, *at);
                        continue;
                    };
                    let predicate = match inside {
                        Inside::Plain(json) => {
                            self.operation(column, operator, json, Place { at: *at, rights: subject.rights, origin: Origin::Written })
                        }
                        Inside::Object(_) => {
                            self.shape(operator, *at, "an object");
                            None
                        }
                    };
                    all.push(predicate.unwrap_or(Predicate::Never));
                }
            }
        }
        Predicate::all(all)
    }

    fn unknown_operator(&mut self, field: &Field, name: &str, at: At) {
        let every: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
        let hint = did_you_mean(name, &every);
        self.fault(
            Code::UnknownOperator,
            at,
            format!("no operator `{}`{hint}; `{}` takes {}", crate::error::shorten(name), field.name, quoted_list(&field.kind.operators())),
        );
    }

    fn shape(&mut self, operator: Operator, at: At, found: &str) {
        let wanted = match operator {
            Operator::In | Operator::NotIn => "an array of scalars",
            Operator::Between => "an array of two scalars, [min, max]",
            Operator::IsNull => "true or false",
            Operator::ILike => "a text",
            Operator::Contains | Operator::Overlap => "a scalar or an array of scalars",
            _ => "a scalar: a text, a number, a boolean or null",
        };
        self.fault(Code::OperatorShape, at, format!("`{}` takes {wanted}; found {found}", operator.as_str()));
    }

    fn operation(&mut self, column: Column<'c>, operator: Operator, json: &Json, mut place: Place) -> Option<Predicate<'c>> {
        let field = column.field;
        if !field.kind.admits(operator) {
            self.fault(
                Code::OperatorType,
                place.at,
                format!(
                    "`{}` does not go with `{}` of type {}, which takes {}",
                    operator.as_str(),
                    field.name,
                    field.kind.name(),
                    quoted_list(&field.kind.operators())
                ),
            );
            return None;
        }
        let resolved;
        let json = match self.variable(json, place)? {
            Some(value) => {
                place.origin = Origin::Account;
                resolved = value;
                &resolved
            }
            None => json,
        };
        match operator {
            Operator::Eq => self.compare(column, Comparison::Eq, operator, json, place),
            Operator::Ne => self.compare(column, Comparison::Ne, operator, json, place),
            Operator::Gt => self.compare(column, Comparison::Gt, operator, json, place),
            Operator::Gte => self.compare(column, Comparison::Gte, operator, json, place),
            Operator::Lt => self.compare(column, Comparison::Lt, operator, json, place),
            Operator::Lte => self.compare(column, Comparison::Lte, operator, json, place),
            Operator::In => {
                let values = self.list(field, operator, json, place)?;
                Some(Predicate::Among { column, membership: Membership::In, values })
            }
            Operator::NotIn => {
                let values = self.list(field, operator, json, place)?;
                Some(Predicate::Among { column, membership: Membership::NotIn, values })
            }
            Operator::Between => self.between(column, json, place),
            Operator::IsNull => self.null_test(column, json, place),
            Operator::ILike => self.pattern(column, json, place),
            Operator::Contains => Some(Predicate::Contains { column, values: self.elements(field, operator, json, place)? }),
            Operator::Overlap => Some(Predicate::Overlap { column, values: self.elements(field, operator, json, place)? }),
        }
    }

    fn compare(
        &mut self,
        column: Column<'c>,
        comparison: Comparison,
        operator: Operator,
        json: &Json,
        place: Place,
    ) -> Option<Predicate<'c>> {
        if !json.is_scalar() {
            self.shape(operator, place.at, json.noun());
            return None;
        }
        let value = self.value(column.field, json, place, None)?;
        Some(Predicate::Compare { column, comparison, value })
    }

    fn between(&mut self, column: Column<'c>, json: &Json, place: Place) -> Option<Predicate<'c>> {
        if let Json::Array(items) = json
            && items.len() != 2
        {
            self.shape(Operator::Between, place.at, &format!("an array of {}", items.len()));
            return None;
        }
        let mut ends = self.list(column.field, Operator::Between, json, place)?.into_iter();
        Some(Predicate::Between { column, low: ends.next()?, high: ends.next()? })
    }

    fn null_test(&mut self, column: Column<'c>, json: &Json, place: Place) -> Option<Predicate<'c>> {
        match json {
            Json::Bool(true) => Some(Predicate::IsNull(column)),
            Json::Bool(false) => Some(Predicate::IsNotNull(column)),
            other => {
                self.shape(Operator::IsNull, place.at, other.noun());
                None
            }
        }
    }

    /// What a list is searched for: one element or several.
    fn elements(&mut self, field: &'c Field, operator: Operator, json: &Json, place: Place) -> Option<Vec<Value>> {
        if json.is_scalar() { Some(vec![self.element(field, json, place, None)?]) } else { self.list(field, operator, json, place) }
    }

    fn pattern(&mut self, column: Column<'c>, json: &Json, place: Place) -> Option<Predicate<'c>> {
        let Json::Text(pattern) = json else {
            self.shape(Operator::ILike, place.at, json.noun());
            return None;
        };
        if self.holds_nul(pattern, place, None) {
            return None;
        }
        // PostgreSQL would fail on it, but only when a row comes that far: an error that depends on data.
        let trailing = pattern.bytes().rev().take_while(|byte| *byte == b'\\').count();
        if trailing % 2 == 1 {
            self.refuse(
                Code::ValueType,
                place,
                None,
                "an `iLike` pattern cannot end in a lone backslash; write `\\\\` for a backslash itself",
            );
            return None;
        }
        Some(Predicate::Like { column, pattern: pattern.clone() })
    }

    fn list(&mut self, field: &'c Field, operator: Operator, json: &Json, place: Place) -> Option<Vec<Value>> {
        let Json::Array(items) = json else {
            self.shape(operator, place.at, json.noun());
            return None;
        };
        // The budget is for what is asked, not for what an account is.
        if items.len() > MAX_VALUES && place.origin == Origin::Written {
            self.refuse(Code::ListLength, place, None, &format!("a list has at most {MAX_VALUES} values; found {}", items.len()));
            return None;
        }
        let mut values = Vec::with_capacity(items.len());
        let mut good = true;
        for (index, item) in items.iter().enumerate() {
            if self.faults.is_full() {
                return None;
            }
            if !item.is_scalar() {
                let message = format!("`{}` takes scalars in its array; found {}", operator.as_str(), item.noun());
                self.refuse(Code::OperatorShape, place, Some(index), &message);
                good = false;
                continue;
            }
            let value = if matches!(operator, Operator::Contains | Operator::Overlap) {
                self.element(field, item, place, Some(index))
            } else {
                self.value(field, item, place, Some(index))
            };
            match value {
                Some(value) => values.push(value),
                None => good = false,
            }
        }
        good.then_some(values)
    }

    fn element(&mut self, field: &'c Field, json: &Json, place: Place, index: Option<usize>) -> Option<Value> {
        // Among the elements of a json, null is a value like any other. In an array it is NULL, also where the elements are json: an answer
        // shows both alike, and SQLite keeps them alike.
        if field.kind == Type::One(Scalar::Json) && *json == Json::Null {
            return Some(Value::Json("null".to_owned()));
        }
        self.value(field, json, place, index)
    }

    fn value(&mut self, field: &'c Field, json: &Json, place: Place, index: Option<usize>) -> Option<Value> {
        let resolved;
        let json = match self.variable(json, place)? {
            Some(value) => {
                resolved = value;
                &resolved
            }
            None => json,
        };
        if let Json::Text(text) = json
            && self.holds_nul(text, place, index)
        {
            return None;
        }
        match value::check(field.kind.scalar(), json) {
            // Null in an account's variable is a value that is not there.
            Ok(Value::Null) if place.rights == Rights::Manifest && !self.is_at_boot() => {
                self.closed = true;
                None
            }
            Ok(value) => Some(value),
            Err(message) => {
                self.refuse(Code::ValueType, place, index, &format!("`{}`: {message}", field.name));
                None
            }
        }
    }

    fn holds_nul(&mut self, text: &str, place: Place, index: Option<usize>) -> bool {
        let found = text.contains('\0');
        if found {
            self.refuse(Code::NulCharacter, place, index, "a text cannot hold U+0000");
        }
        found
    }

    /// Looks up `$account.…` in a manifest's constraint. `None`: it is not there, and the constraint is closed.
    #[expect(clippy::option_option, reason = "closed, no variable, and a variable's value are three things")]
    fn variable(&mut self, json: &Json, place: Place) -> Option<Option<Json>> {
        let Json::Text(text) = json else { return Some(None) };
        // What an account holds is data, whatever it looks like.
        if place.origin == Origin::Account || place.rights == Rights::Viewer || !text.starts_with('$') {
            return Some(None);
        }
        if !text.starts_with("$account.") {
            self.fault(Code::ValueType, place.at, format!("{text:?} is no variable; a constraint knows `$account.…` only"));
            return None;
        }
        if self.is_at_boot() {
            if text.split('.').skip(1).any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
                let message = format!("{text:?} names no value of an account; write it as `$account.id` or `$account.meta.region`");
                self.fault(Code::ValueType, place.at, message);
            }
            return None;
        }
        match self.viewer.variable(text) {
            Some(value) if value != Json::Null => Some(Some(value)),
            _ => {
                self.closed = true;
                None
            }
        }
    }

    /// A value that does not fit: a fault of a statement, a closed constraint for an account's variable.
    fn refuse(&mut self, code: Code, place: Place, index: Option<usize>, message: &str) {
        let Some(index) = index else {
            return self.fault(code, place.at, message);
        };
        if place.rights == Rights::Manifest && !self.is_at_boot() {
            self.closed = true;
            return;
        }
        let statement = self.statement;
        self.faults.add(code, || format!("{}/{index}", statement.pointer(place.at)), about(place.at.layer, message));
    }
}

/// Where an operator stands and by whose rights it is read.
#[derive(Clone, Copy)]
pub(super) struct Place {
    at: At,
    rights: Rights,
    origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It is written where it stands.
    Written,
    /// It is the value of an account's variable.
    Account,
}
