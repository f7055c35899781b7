//! Reads arguments and variables as the JSON of a statement. Numbers keep their digits; nothing here turns them into floats.

use std::collections::{HashMap, HashSet};
use std::fmt;

use apollo_compiler::Schema;
use apollo_compiler::ast::{Type, Value, VariableDefinition};
use apollo_compiler::executable::Field;
use apollo_compiler::schema::{ExtendedType, InputObjectType};
use apollo_compiler::{Name, Node};
use query::error::{Code, Error};
use query::json::Json;

use crate::problem::{Problem, Refusal};

/// The bytes of JSON of the arguments of one field: as many as a REST body has. A variable counts at each of its uses.
const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;

const STATEMENT: &str = "QueryStatementInput";

pub(super) type Variables = HashMap<Name, VariableValue>;

pub(super) struct VariableValue {
    /// Null if it is absent.
    pub(super) json: Json,
    size: usize,
    /// Whether the request sends no value and the declaration has no default.
    is_absent: bool,
}

/// How an absent variable reads as the value of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AbsentVariable {
    /// In a statement: without its key, a filter would widen the answer.
    Null,
    /// In a payload: null would empty the field.
    LeavesOutKey,
}

/// Hides the value: it may be a password.
impl fmt::Debug for VariableValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("VariableValue").field("size", &self.size).finish_non_exhaustive()
    }
}

impl From<Json> for VariableValue {
    fn from(json: Json) -> Self {
        VariableValue { size: size(&json), json, is_absent: false }
    }
}

fn size(json: &Json) -> usize {
    1 + match json {
        Json::Null | Json::Bool(_) => 4,
        Json::Number(text) => text.len(),
        Json::Text(text) => text.len() + 2,
        Json::Array(items) => items.iter().map(size).sum(),
        Json::Object(entries) => entries.iter().map(|(key, value)| key.len() + 3 + size(value)).sum(),
    }
}

pub(super) fn memory(json: &Json) -> usize {
    size_of::<Json>()
        + match json {
            Json::Null | Json::Bool(_) => 0,
            // The smallest allocation.
            Json::Number(text) => text.len().max(16),
            Json::Text(text) => text.len().max(16),
            Json::Array(items) => items.iter().map(memory).sum(),
            Json::Object(entries) => entries.iter().map(|(key, value)| size_of::<String>() + key.len().max(16) + memory(value)).sum(),
        }
}

fn invalid_input(message: String) -> Problem {
    Problem::Graphql(Refusal::Input, message)
}

/// Coerces the values of a request to the types that its operation declares. Undeclared values are ignored, as the specification says.
pub(super) fn coerce(schema: &Schema, declared: &[Node<VariableDefinition>], sent: Vec<(String, Json)>) -> Result<Variables, Problem> {
    let mut sent: HashMap<String, Json> = sent.into_iter().collect();
    let mut values = Variables::new();
    for variable in declared {
        let place = format!("${}", variable.name);
        let value = match sent.remove(variable.name.as_str()) {
            Some(json) => fit(schema, &variable.ty, json, &place)?.into(),
            None => match &variable.default_value {
                Some(default) => {
                    fit(schema, &variable.ty, LiteralReader::new(&Variables::new(), String::new()).read(default)?, &place)?.into()
                }
                None if variable.ty.is_non_null() => {
                    return Err(invalid_input(format!("variable `{place}` of type `{}` has no value", variable.ty)));
                }
                None => VariableValue { is_absent: true, ..Json::Null.into() },
            },
        };
        values.insert(variable.name.clone(), value);
    }
    Ok(values)
}

fn fit(schema: &Schema, kind: &Type, json: Json, place: &str) -> Result<Json, Problem> {
    if json == Json::Null {
        return if kind.is_non_null() { Err(invalid_input(format!("`{place}` of type `{kind}` cannot be null"))) } else { Ok(json) };
    }
    match kind {
        Type::List(item) | Type::NonNullList(item) => match json {
            Json::Array(items) => {
                let fitted = items.into_iter().enumerate().map(|(index, json)| fit(schema, item, json, &format!("{place}[{index}]")));
                fitted.collect::<Result<_, _>>().map(Json::Array)
            }
            // The specification takes one value for a list of one.
            one => fit(schema, item, one, place).map(|one| Json::Array(vec![one])),
        },
        Type::Named(name) | Type::NonNullNamed(name) => match schema.types.get(name) {
            Some(ExtendedType::InputObject(object)) if name == STATEMENT => Ok(statement(schema, object, json)),
            Some(ExtendedType::InputObject(object)) => {
                let Json::Object(entries) = json else { return Err(wrong_type(name, &json, place)) };
                let mut fitted = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    let Some(field) = object.fields.get(key.as_str()) else {
                        return Err(invalid_input(format!("`{place}` of type `{name}` has no field `{key}`")));
                    };
                    let value = fit(schema, &field.ty, value, &format!("{place}.{key}"))?;
                    fitted.push((key, value));
                }
                Ok(Json::Object(fitted))
            }
            _ => scalar(name, json, place),
        },
    }
}

/// A value that does not fit stays as it is: the engine refuses it with a code and a pointer, as it does over REST.
fn statement(schema: &Schema, object: &InputObjectType, json: Json) -> Json {
    let Json::Object(entries) = json else { return json };
    let fitted = entries.into_iter().map(|(key, value)| match object.fields.get(key.as_str()) {
        // An object is a value of our own scalar, which takes anything.
        Some(field) if !matches!(value, Json::Object(_)) => {
            let fitted = fit(schema, &field.ty, value.clone(), &key);
            (key, fitted.unwrap_or(value))
        }
        _ => (key, value),
    });
    Json::Object(fitted.collect())
}

fn scalar(name: &str, json: Json, place: &str) -> Result<Json, Problem> {
    match (name, json) {
        ("Int", Json::Number(text)) => match whole_number(&text) {
            Some(number) => Ok(Json::Number(number.to_string().into())),
            None => Err(invalid_input(format!("`{place}` must be an `Int`, a whole number of 32 bits; found {text:.40}"))),
        },
        ("Float", Json::Number(text)) if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(Json::Number(text)),
        ("ID", Json::Number(text)) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => Ok(Json::Text(text.into())),
        ("ID" | "String", Json::Text(text)) => Ok(Json::Text(text)),
        ("Boolean", Json::Bool(value)) => Ok(Json::Bool(value)),
        ("Int" | "Float" | "ID" | "String" | "Boolean", other) => Err(wrong_type(name, &other, place)),
        // The engine checks our own scalars against the field that they are compared with.
        (_, any) => Ok(any),
    }
}

/// A whole number of 32 bits in any notation: `10`, `10.0`, `1e1`.
fn whole_number(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() <= f64::from(i32::MAX)).then_some(number as i32)
}

fn wrong_type(name: &str, json: &Json, place: &str) -> Problem {
    invalid_input(format!("`{place}` must be of type `{name}`; found {}", json.noun()))
}

pub(super) fn argument(field: &Field, name: &str, variables: &Variables) -> Result<Option<Json>, Problem> {
    match field.specified_argument_by_name(name) {
        Some(value) => LiteralReader::new(variables, format!("/{name}")).read(value).map(Some),
        None => Ok(None),
    }
}

/// The argument of a mutation, coerced to its type: one value for a list becomes a list of one.
/// The key of an absent variable is left out.
pub(super) fn coerced_argument(schema: &Schema, field: &Field, name: &str, variables: &Variables) -> Result<Option<Json>, Problem> {
    let definition = field.definition.arguments.iter().find(|definition| definition.name == name);
    let (Some(value), Some(definition)) = (field.specified_argument_by_name(name), definition) else { return Ok(None) };
    let reader = LiteralReader::new(variables, format!("/{name}"));
    let json = LiteralReader { absent: AbsentVariable::LeavesOutKey, ..reader }.read(value)?;
    fit(schema, &definition.ty, json, name).map(Some)
}

pub(super) struct LiteralReader<'v> {
    variables: &'v Variables,
    /// The pointer to the value in the statement.
    path: String,
    left: usize,
    absent: AbsentVariable,
}

impl<'v> LiteralReader<'v> {
    pub(super) fn new(variables: &'v Variables, path: String) -> Self {
        LiteralReader { variables, path, left: MAX_ARGUMENT_BYTES, absent: AbsentVariable::Null }
    }

    pub(super) fn read(&mut self, value: &Value) -> Result<Json, Problem> {
        Ok(match value {
            Value::Null => Json::Null,
            Value::Boolean(value) => Json::Bool(*value),
            Value::Int(number) => Json::Number(number.as_str().into()),
            Value::Float(number) => Json::Number(number.as_str().into()),
            Value::String(text) => Json::Text(text.clone()),
            // JSON has no enum values: `dir: desc` means `dir: "desc"`.
            Value::Enum(name) => Json::Text(name.to_string()),
            Value::Variable(name) => self.variable(name)?,
            Value::List(items) => {
                let mut list = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    list.push(self.below(&index.to_string(), item)?);
                }
                Json::Array(list)
            }
            Value::Object(fields) => {
                let mut entries: Vec<(String, Json)> = Vec::with_capacity(fields.len());
                let mut keys = HashSet::with_capacity(fields.len());
                for (key, field) in fields {
                    if !keys.insert(key.as_str()) {
                        let path = format!("{}/{key}", self.path);
                        return Err(Error::one(Code::DuplicateKey, path, "this key stands twice in its object; write it once").into());
                    }
                    if !self.leaves_out(field) {
                        entries.push((key.to_string(), self.below(key, field)?));
                    }
                }
                Json::Object(entries)
            }
        })
    }

    fn below(&mut self, step: &str, value: &Value) -> Result<Json, Problem> {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        let json = self.read(value);
        self.path.truncate(length);
        json
    }

    fn leaves_out(&self, value: &Value) -> bool {
        let Value::Variable(name) = value else { return false };
        self.absent == AbsentVariable::LeavesOutKey && self.variables.get(name).is_some_and(|variable| variable.is_absent)
    }

    fn variable(&mut self, name: &Name) -> Result<Json, Problem> {
        // Validation does not check variables inside JSON.
        let variable = self.variables.get(name).ok_or_else(|| invalid_input(format!("variable `${name}` is not declared")))?;
        let Some(left) = self.left.checked_sub(variable.size) else {
            return Err(invalid_input("the arguments of one field are more than 1 MiB of JSON".to_owned()));
        };
        self.left = left;
        Ok(variable.json.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_int_may_be_written_as_any_whole_number() {
        for (text, number) in [("10", Some(10)), ("10.0", Some(10)), ("1e1", Some(10)), ("-0", Some(0)), ("2147483647", Some(i32::MAX))] {
            assert_eq!(whole_number(text), number, "{text}");
        }
        for text in ["2147483648", "1.5", "1e400", "-1e400", "99999999999999999999"] {
            assert_eq!(whole_number(text), None, "{text}");
        }
    }
}
