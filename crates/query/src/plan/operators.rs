//! Checks the shape, type and value of each operator of a field, and makes predicates. `statement` lists the operators.

use std::borrow::Cow;

use crate::catalog::{Field, FieldId};
use crate::error::{Code, about, shorten};
use crate::json::Json;
use crate::messages::{did_you_mean, quoted_list};
use crate::pointer::Location;
use crate::statement::{Clause, Entry, Inside, Operator};
use crate::types::{Scalar, Type};
use crate::value::{self, Value};

use super::lookup::LookupUse;
use super::predicate::{Column, Membership, Predicate};
use super::{MAX_VALUES, Planner, Rights, Subject, peer_operators};

/// Where an operator is, and how its value is read.
#[derive(Clone, Copy)]
struct OperatorContext {
    at: Location,
    rights: Rights,
    origin: Origin,
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The statement or the constraint.
    Statement,
    /// A variable of the account.
    Account,
}

impl<'c> Planner<'c, '_> {
    /// All operators of one field, ANDed.
    pub(super) fn operators(&mut self, subject: Subject<'c>, id: FieldId, clause: &Clause) -> Predicate<'c> {
        let field = &subject.resource.fields[id];
        if clause.entries.is_empty() {
            let accepted = quoted_list(&field.kind.operators());
            self.fault(Code::Empty, clause.at, format!("`{}` needs at least one operator: {accepted}", field.name));
            return Predicate::Never;
        }
        let column = self.column(subject, id, LookupUse::Filter);
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
                    if !self.count_node(*at) {
                        return Predicate::Never;
                    }
                    let Some(operator) = Operator::from_word(name) else {
                        self.unknown_operator(field, name, *at);
                        continue;
                    };
                    let context = OperatorContext { at: *at, rights: subject.rights, origin: Origin::Statement };
                    let predicate = match inside {
                        Inside::Plain(json) => self.operator(column, operator, json, context),
                        Inside::Object(_) => self.wrong_shape(operator, *at, "an object"),
                    };
                    all.push(predicate.unwrap_or(Predicate::Never));
                }
            }
        }
        Predicate::all(all)
    }

    fn unknown_operator(&mut self, field: &Field, name: &str, at: Location) {
        let operators = field.kind.operators();
        let hint = peer_operators::hint(name, &field.kind).unwrap_or_else(|| did_you_mean(name, &operators));
        let accepted = quoted_list(&operators);
        self.fault(Code::UnknownOperator, at, format!("unknown operator `{}`{hint}; `{}` takes {accepted}", shorten(name), field.name));
    }

    fn wrong_shape<T>(&mut self, operator: Operator, at: Location, found: &str) -> Option<T> {
        let accepted = match operator {
            Operator::In | Operator::NotIn => "an array of scalars",
            Operator::Between => "an array of two scalars, [min, max]",
            Operator::IsNull => "true or false",
            Operator::ILike => "a string",
            Operator::Contains | Operator::Overlap => "a scalar or an array of scalars",
            Operator::Compare(_) => "a scalar: a string, a number, a boolean or null",
        };
        self.fault(Code::OperatorShape, at, format!("`{}` takes {accepted}; found {found}", operator.as_str()));
        None
    }

    fn operator(&mut self, column: Column<'c>, operator: Operator, json: &Json, mut context: OperatorContext) -> Option<Predicate<'c>> {
        let field = column.field;
        if !field.kind.admits(operator) {
            let (name, kind, accepted) = (&field.name, field.kind.name(), quoted_list(&field.kind.operators()));
            let hint = peer_operators::hint(operator.as_str(), &field.kind).unwrap_or_default();
            let message = format!("`{}` does not apply to `{name}` of type {kind}{hint}, which takes {accepted}", operator.as_str());
            self.fault(Code::OperatorType, context.at, message);
            return None;
        }
        let json = &*self.resolved(json, &mut context)?;
        Some(match operator {
            Operator::Compare(comparison) if json.is_scalar() => {
                Predicate::Compare { column, comparison, value: self.value(field, json, context, None)? }
            }
            Operator::Compare(_) => return self.wrong_shape(operator, context.at, json.noun()),
            Operator::In => Predicate::Among { column, membership: Membership::In, values: self.list(field, operator, json, context)? },
            Operator::NotIn => {
                Predicate::Among { column, membership: Membership::NotIn, values: self.list(field, operator, json, context)? }
            }
            Operator::Between => {
                if let Json::Array(items) = json
                    && items.len() != 2
                {
                    return self.wrong_shape(operator, context.at, &format!("an array of {}", items.len()));
                }
                let mut ends = self.list(field, operator, json, context)?.into_iter();
                Predicate::Between { column, low: ends.next()?, high: ends.next()? }
            }
            Operator::IsNull => match json {
                Json::Bool(true) => Predicate::IsNull(column),
                Json::Bool(false) => Predicate::IsNotNull(column),
                other => return self.wrong_shape(operator, context.at, other.noun()),
            },
            Operator::ILike => Predicate::Like { column, pattern: self.pattern(json, context)? },
            Operator::Contains => Predicate::Contains { column, values: self.elements(field, operator, json, context)? },
            Operator::Overlap => Predicate::Overlap { column, values: self.elements(field, operator, json, context)? },
        })
    }

    fn pattern(&mut self, json: &Json, context: OperatorContext) -> Option<String> {
        let Json::Text(pattern) = json else {
            return self.wrong_shape(Operator::ILike, context.at, json.noun());
        };
        self.without_nul(pattern, context, None)?;
        // PostgreSQL fails on it only when it reads a row that far: an error that depends on data.
        let trailing = pattern.bytes().rev().take_while(|byte| *byte == b'\\').count();
        if trailing % 2 == 1 {
            let message = "an `iLike` pattern cannot end in a lone backslash; write `\\\\` for a backslash itself";
            return self.refuse(Code::ValueType, context, None, message);
        }
        Some(pattern.clone())
    }

    /// The values of `contains` and `overlap`: one element or several.
    fn elements(&mut self, field: &'c Field, operator: Operator, json: &Json, context: OperatorContext) -> Option<Vec<Value>> {
        if json.is_scalar() { Some(vec![self.element(field, json, context, None)?]) } else { self.list(field, operator, json, context) }
    }

    fn list(&mut self, field: &'c Field, operator: Operator, json: &Json, context: OperatorContext) -> Option<Vec<Value>> {
        let Json::Array(items) = json else {
            return self.wrong_shape(operator, context.at, json.noun());
        };
        // The bound is for what a client sends, not for the size of an account.
        if items.len() > MAX_VALUES && context.origin == Origin::Statement {
            let message = format!("`{}` takes at most {MAX_VALUES} values; found {}", operator.as_str(), items.len());
            return self.refuse(Code::ListLength, context, None, &message);
        }
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            if self.faults.is_full() {
                return None;
            }
            let value = if !item.is_scalar() {
                let message = format!("`{}` takes scalars in its array; found {}", operator.as_str(), item.noun());
                self.refuse(Code::OperatorShape, context, Some(index), &message)
            } else if matches!(operator, Operator::Contains | Operator::Overlap) {
                self.element(field, item, context, Some(index))
            } else {
                self.value(field, item, context, Some(index))
            };
            values.extend(value);
        }
        (values.len() == items.len()).then_some(values)
    }

    fn element(&mut self, field: &'c Field, json: &Json, context: OperatorContext, index: Option<usize>) -> Option<Value> {
        // Among the elements of a json field, null is a value. In an array it is NULL, also of json: SQLite stores both alike.
        if field.kind == Type::One(Scalar::Json) && *json == Json::Null {
            return Some(Value::Json("null".to_owned()));
        }
        self.value(field, json, context, index)
    }

    fn value(&mut self, field: &'c Field, json: &Json, mut context: OperatorContext, index: Option<usize>) -> Option<Value> {
        let json = &*self.resolved(json, &mut context)?;
        if let Json::Text(text) = json {
            self.without_nul(text, context, index)?;
        }
        match value::check(field.kind.scalar(), json) {
            // Null in a variable counts as absent.
            Ok(Value::Null) if context.rights == Rights::Manifest && !self.is_at_boot() => {
                self.closed = true;
                None
            }
            Ok(value) => Some(value),
            Err(message) => {
                let part = if matches!(field.kind, Type::Array(_)) { "an element of " } else { "" };
                let message = format!("{part}`{}` of type {} {message}", field.name, field.kind.name());
                self.refuse(Code::ValueType, context, index, &message)
            }
        }
    }

    fn without_nul(&mut self, text: &str, context: OperatorContext, index: Option<usize>) -> Option<()> {
        if text.contains('\0') { self.refuse(Code::NulCharacter, context, index, "a string cannot contain U+0000") } else { Some(()) }
    }

    /// Replaces `$account.…` in a manifest's constraint by its value. `None` closes the constraint: the account has no such value.
    fn resolved<'j>(&mut self, json: &'j Json, context: &mut OperatorContext) -> Option<Cow<'j, Json>> {
        let Json::Text(text) = json else { return Some(Cow::Borrowed(json)) };
        // A value of the account is data, even if it looks like a variable.
        if context.origin == Origin::Account || context.rights == Rights::Viewer || !text.starts_with('$') {
            return Some(Cow::Borrowed(json));
        }
        if !text.starts_with("$account.") {
            self.fault(Code::ValueType, context.at, format!("{text:?} is not a variable; a constraint accepts `$account.…` only"));
            return None;
        }
        if self.is_at_boot() {
            if text.split('.').skip(1).any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
                let message = format!("{text:?} names no value of an account; write it as `$account.id` or `$account.meta.region`");
                self.fault(Code::ValueType, context.at, message);
            }
            return None;
        }
        let value = self.viewer.variable(text).filter(|value| *value != Json::Null);
        self.closed |= value.is_none();
        context.origin = Origin::Account;
        value.map(Cow::Owned)
    }

    /// Reports a value that does not fit; closes the constraint if an account's variable is the cause.
    fn refuse<T>(&mut self, code: Code, context: OperatorContext, index: Option<usize>, message: &str) -> Option<T> {
        match index {
            None => self.fault(code, context.at, message),
            Some(_) if context.rights == Rights::Manifest && !self.is_at_boot() => self.closed = true,
            Some(index) => {
                let statement = self.statement;
                self.faults.add(code, || format!("{}/{index}", statement.pointer(context.at)), about(context.at.layer, message));
            }
        }
        None
    }
}
