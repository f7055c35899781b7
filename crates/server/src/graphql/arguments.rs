//! Arguments and variables as the JSON a statement is made of. Numbers keep their digits: nothing here makes a float of them.

use std::collections::HashMap;

use apollo_compiler::Schema;
use apollo_compiler::ast::{Type, Value, VariableDefinition};
use apollo_compiler::executable::Field;
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{Name, Node};
use query::error::{Code, Error};
use query::json::Json;

use crate::error::{Problem, Refusal};

/// The values of an operation's variables. One without a value is absent.
pub(super) type Variables = HashMap<Name, Json>;

fn refused(message: String) -> Problem {
    Problem::Graphql(Refusal::Input, message)
}

/// Fits the values that were sent to the types that the operation declares. Values nobody declared are ignored, as the
/// specification has it.
pub(super) fn coerce(schema: &Schema, declared: &[Node<VariableDefinition>], sent: Vec<(String, Json)>) -> Result<Variables, Problem> {
    let mut sent: HashMap<String, Json> = sent.into_iter().collect();
    let mut values = Variables::new();
    for variable in declared {
        let place = format!("${}", variable.name);
        let value = match sent.remove(variable.name.as_str()) {
            Some(json) => fit(schema, &variable.ty, json, &place)?,
            None => match &variable.default_value {
                Some(default) => match literal(default, &Variables::new(), &mut String::new())? {
                    Some(json) => fit(schema, &variable.ty, json, &place)?,
                    None => continue,
                },
                None if variable.ty.is_non_null() => {
                    return Err(refused(format!("variable `{place}` of type `{}` has no value", variable.ty)));
                }
                None => continue,
            },
        };
        values.insert(variable.name.clone(), value);
    }
    Ok(values)
}

fn fit(schema: &Schema, kind: &Type, json: Json, place: &str) -> Result<Json, Problem> {
    if json == Json::Null {
        return if kind.is_non_null() { Err(refused(format!("`{place}` of type `{kind}` cannot be null"))) } else { Ok(json) };
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
            Some(ExtendedType::InputObject(object)) => {
                let Json::Object(entries) = json else { return Err(misfit(name, &json, place)) };
                let mut fitted = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    let Some(field) = object.fields.get(key.as_str()) else {
                        return Err(refused(format!("`{place}` of type `{name}` has no field `{key}`")));
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

fn scalar(name: &str, json: Json, place: &str) -> Result<Json, Problem> {
    match (name, json) {
        ("Int", Json::Number(text)) => match whole(&text) {
            Some(number) => Ok(Json::Number(number.to_string().into())),
            None => Err(refused(format!("`{place}` is an `Int`, a whole number of 32 bits; found {text:.40}"))),
        },
        ("Float", Json::Number(text)) if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(Json::Number(text)),
        ("ID", Json::Number(text)) if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => Ok(Json::Text(text.into())),
        ("ID" | "String", Json::Text(text)) => Ok(Json::Text(text)),
        ("Boolean", Json::Bool(value)) => Ok(Json::Bool(value)),
        ("Int" | "Float" | "ID" | "String" | "Boolean", other) => Err(misfit(name, &other, place)),
        // Our own scalars are checked by the engine, against the field they are compared with.
        (_, any) => Ok(any),
    }
}

/// A number of 32 bits, however it was written: `10`, `10.0`, `1e1`.
fn whole(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() <= f64::from(i32::MAX)).then_some(number as i32)
}

fn misfit(name: &str, json: &Json, place: &str) -> Problem {
    refused(format!("`{place}` is of type `{name}`; found {}", json.noun()))
}

/// The value of a field's argument: nothing when it was left out, or stands for a variable without a value.
pub(super) fn argument(field: &Field, name: &str, variables: &Variables) -> Result<Option<Json>, Problem> {
    match field.specified_argument_by_name(name) {
        Some(value) => literal(value, variables, &mut format!("/{name}")),
        None => Ok(None),
    }
}

/// A value as it stands in a document. `path` is where it will stand in the statement.
pub(super) fn literal(value: &Value, variables: &Variables, path: &mut String) -> Result<Option<Json>, Problem> {
    Ok(Some(match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => Json::Bool(*value),
        Value::Int(number) => Json::Number(number.as_str().into()),
        Value::Float(number) => Json::Number(number.as_str().into()),
        Value::String(text) => Json::Text(text.clone()),
        // JSON has no names: `dir: desc` means what `dir: "desc"` means.
        Value::Enum(name) => Json::Text(name.to_string()),
        Value::Variable(name) => return Ok(variables.get(name).cloned()),
        Value::List(items) => {
            let mut list = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                // A place in a list cannot be absent.
                list.push(at(path, &index.to_string(), |path| literal(item, variables, path))?.unwrap_or(Json::Null));
            }
            Json::Array(list)
        }
        Value::Object(fields) => {
            let mut entries: Vec<(String, Json)> = Vec::with_capacity(fields.len());
            let mut keys = std::collections::HashSet::with_capacity(fields.len());
            for (key, field) in fields {
                if !keys.insert(key.as_str()) {
                    let path = format!("{path}/{key}");
                    return Err(Error::one(Code::DuplicateKey, path, "this key stands twice in its object; write it once").into());
                }
                if let Some(json) = at(path, key, |path| literal(field, variables, path))? {
                    entries.push((key.to_string(), json));
                }
            }
            Json::Object(entries)
        }
    }))
}

fn at<T>(path: &mut String, step: &str, work: impl FnOnce(&mut String) -> T) -> T {
    let length = path.len();
    path.push('/');
    path.push_str(step);
    let done = work(path);
    path.truncate(length);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_int_may_be_written_as_any_whole_number() {
        for (text, number) in [("10", Some(10)), ("10.0", Some(10)), ("1e1", Some(10)), ("-0", Some(0)), ("2147483647", Some(i32::MAX))] {
            assert_eq!(whole(text), number, "{text}");
        }
        for text in ["2147483648", "1.5", "1e400", "-1e400", "99999999999999999999"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
