//! The cursor of a keyset page: a plain where clause for the rows after a position. It is written into `next`, and recognised when it comes
//! back.

use crate::json::Json;
use crate::object;
use crate::statement::Direction;
use crate::types::Scalar;

/// A sort key as a cursor names it.
#[derive(Clone, Debug)]
pub(super) struct CursorKey {
    /// `field` or `relation.field`
    pub(super) path: Box<str>,
    /// The place of its entry in the statement, as a JSON Pointer.
    pub(super) at: Box<str>,
    pub(super) direction: Direction,
    /// Whether rows may have NULL here. A path may lead to no row.
    pub(super) nullable: bool,
    /// Whether it is a part of the resource's key, which tells rows apart.
    pub(super) is_key: bool,
    pub(super) scalar: Scalar,
}

impl CursorKey {
    /// `{field: {operator: value}}`, below the relation of a path.
    fn test(&self, operator: &str, value: &Json) -> Json {
        let operators = object! { operator => value.clone() };
        match self.path.split_once('.') {
            Some((relation, field)) => object! { relation => object! { field => operators } },
            None => object! { &*self.path => operators },
        }
    }

    /// The value of a test with this operator.
    fn tested<'j>(&self, test: &'j Json, operator: &str) -> Option<&'j Json> {
        let (name, operators) = only(test)?;
        let (name, operators) = match self.path.split_once('.') {
            Some((relation, field)) if name == relation => only(operators).filter(|(name, _)| *name == field)?,
            Some(_) => return None,
            None => (name, operators),
        };
        let is_same = self.path.rsplit('.').next() == Some(name);
        only(operators).filter(|(word, _)| is_same && *word == operator).map(|(_, value)| value)
    }

    fn is_null(&self) -> Json {
        if self.path.contains('.') {
            // The path may lead to no row at all.
            object! { "not" => self.is_not_null() }
        } else {
            self.test("isNull", &Json::Bool(true))
        }
    }

    fn is_not_null(&self) -> Json {
        self.test("isNull", &Json::Bool(false))
    }

    fn equals(&self, value: &Json) -> Json {
        if *value == Json::Null { self.is_null() } else { self.test("eq", value) }
    }

    fn operator(&self) -> &'static str {
        match self.direction {
            Direction::Ascending => "gt",
            Direction::Descending => "lt",
        }
    }

    /// The larger of the two booleans in this direction.
    fn last_boolean(&self) -> Option<bool> {
        (self.scalar == Scalar::Bool).then_some(self.direction == Direction::Ascending)
    }

    /// The tests that rows after this value meet, one of them each.
    fn after(&self, value: &Json) -> Vec<Json> {
        if *value == Json::Null {
            return if self.direction == Direction::Ascending { Vec::new() } else { vec![self.is_not_null()] };
        }
        let mut tests = vec![match self.last_boolean() {
            // Booleans have no `gt`.
            Some(last) if *value == Json::Bool(last) => self.test("in", &Json::Array(Vec::new())),
            Some(last) => self.test("eq", &Json::Bool(last)),
            None => self.test(self.operator(), value),
        }];
        if self.nullable && self.direction == Direction::Ascending {
            tests.push(self.is_null());
        }
        tests
    }

    fn equal_value(&self, test: &Json) -> Option<Json> {
        if *test == self.is_null() { Some(Json::Null) } else { self.tested(test, "eq").cloned() }
    }

    fn value_before(&self, test: &Json) -> Option<Json> {
        match self.last_boolean() {
            Some(last) if self.tested(test, "eq").is_some() => Some(Json::Bool(!last)),
            Some(last) => self.tested(test, "in").map(|_| Json::Bool(last)),
            None => self.tested(test, self.operator()).cloned(),
        }
    }
}

/// The clause for the rows after a position: equal up to a key, and after the position in that key.
pub(super) fn write(keys: &[CursorKey], position: &[Json]) -> Json {
    let mut branches = Vec::new();
    for (index, (key, value)) in keys.iter().zip(position).enumerate().rev() {
        for test in key.after(value) {
            let mut all: Vec<Json> = keys.iter().zip(position).take(index).map(|(key, value)| key.equals(value)).collect();
            all.push(test);
            branches.push(if index == 0 {
                all.swap_remove(0)
            } else {
                object! { "and" => all }
            });
        }
    }
    object! { "or" => branches }
}

/// The position of a clause that `write` made for these keys.
pub(super) fn read(keys: &[CursorKey], clause: &Json) -> Option<Vec<Json>> {
    let (last, earlier) = keys.split_last()?;
    // The first branch names all values.
    let first = array(clause, "or")?.first()?;
    let tests = if earlier.is_empty() { std::slice::from_ref(first) } else { array(first, "and")? };
    if tests.len() != keys.len() {
        return None;
    }
    let mut position: Vec<Json> = earlier.iter().zip(tests).map(|(key, test)| key.equal_value(test)).collect::<Option<_>>()?;
    position.push(last.value_before(tests.last()?)?);
    (write(keys, &position) == *clause).then_some(position)
}

fn only(json: &Json) -> Option<(&str, &Json)> {
    match json {
        Json::Object(entries) if entries.len() == 1 => entries.first().map(|(key, value)| (key.as_str(), value)),
        _ => None,
    }
}

fn array<'j>(json: &'j Json, key: &str) -> Option<&'j [Json]> {
    match only(json)? {
        (found, Json::Array(items)) if found == key => Some(items),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::build::compact;

    fn key(path: &str, direction: Direction, nullable: bool, scalar: Scalar) -> CursorKey {
        CursorKey { path: path.into(), at: "".into(), direction, nullable, is_key: false, scalar }
    }

    fn keys() -> [CursorKey; 4] {
        [
            key("paid", Direction::Ascending, true, Scalar::Bool),
            key("customer.name", Direction::Descending, true, Scalar::Text),
            key("total", Direction::Ascending, true, Scalar::Int),
            key("id", Direction::Ascending, false, Scalar::Int),
        ]
    }

    fn positions() -> Vec<Vec<Json>> {
        let mut all = Vec::new();
        for paid in [Json::Null, Json::Bool(false), Json::Bool(true)] {
            for name in [Json::Null, Json::from("Ana")] {
                for total in [Json::Null, Json::from(7)] {
                    all.push(vec![paid.clone(), name.clone(), total, Json::from(3)]);
                }
            }
        }
        all
    }

    #[test]
    fn a_cursor_is_a_plain_clause_that_names_every_value() {
        // contract Q16.5
        let keys = keys();
        assert_eq!(compact(&write(&keys[3..], &[Json::from(3)])), r#"{"or":[{"id":{"gt":3}}]}"#);
        let written = compact(&write(&keys[1..], &[Json::Null, Json::from(7), Json::from(3)]));
        let no_name = r#"{"not":{"customer":{"name":{"isNull":false}}}}"#;
        assert_eq!(
            written,
            format!(
                r#"{{"or":[{{"and":[{no_name},{{"total":{{"eq":7}}}},{{"id":{{"gt":3}}}}]}},{{"and":[{no_name},{{"total":{{"gt":7}}}}]}},{{"and":[{no_name},{{"total":{{"isNull":true}}}}]}},{{"customer":{{"name":{{"isNull":false}}}}}}]}}"#
            )
        );
    }

    #[test]
    fn a_written_cursor_is_read_back() {
        // contract Q16.5
        let keys = keys();
        for position in positions() {
            assert_eq!(read(&keys, &write(&keys, &position)), Some(position));
        }
        for last in [true, false] {
            for direction in [Direction::Ascending, Direction::Descending] {
                let keys = [key("flag", direction, false, Scalar::Bool)];
                assert_eq!(read(&keys, &write(&keys, &[Json::Bool(last)])), Some(vec![Json::Bool(last)]));
            }
        }
    }

    #[test]
    fn another_clause_is_no_cursor() {
        // contract Q16.5
        let keys = keys();
        let position = positions().remove(7);
        let whole = write(&keys, &position);
        let Json::Object(entries) = &whole else { panic!("an object") };
        let Json::Array(branches) = &entries[0].1 else { panic!("an array") };
        for left_out in 0..branches.len() {
            let mut fewer = branches.clone();
            fewer.remove(left_out);
            assert_eq!(read(&keys, &object! { "or" => fewer }), None, "without branch {left_out}");
        }
        assert_eq!(read(&keys[1..], &whole), None);
        assert_eq!(read(&[], &whole), None);
        for other in [Json::Null, object! {}, object! { "or" => Json::Null }, object! { "or" => Vec::<Json>::new() }] {
            assert_eq!(read(&keys, &other), None);
        }
    }
}
