//! Random where clauses.

use crate::generate::maker::Maker;
use crate::schema::{Field, Kind, Resource};
use serde_json::{Map, Value, json};

impl Maker {
    /// A where clause: mostly small, sometimes of the maximum depth.
    pub(crate) fn where_clause(&mut self, resource: &'static Resource) -> Value {
        match self.random.below(60) {
            0 => json!({}),
            1 => self.deep_clause(resource, 10, 2).0,
            _ => {
                let depth = self.random.below(5);
                self.clause(resource, depth)
            }
        }
    }

    /// A clause with at most `depth` nested connectors and relations.
    pub(crate) fn clause(&mut self, resource: &'static Resource, depth: usize) -> Value {
        let mut clause = Map::new();
        for _ in 0..*self.random.pick(&[1, 1, 1, 1, 1, 2, 2, 3]) {
            let (key, value) = self.entry(resource, depth);
            clause.insert(key, value);
        }
        Value::Object(clause)
    }

    fn entry(&mut self, resource: &'static Resource, depth: usize) -> (String, Value) {
        let relations = self.relations_of(resource);
        match self.random.below(10) {
            0 | 1 if depth > 0 => {
                let connector = *self.random.pick(&["and", "or", "or"]);
                let count = 1 + self.random.below(3);
                let clauses: Vec<Value> = (0..count).map(|_| self.clause(resource, depth - 1)).collect();
                (connector.to_owned(), Value::Array(clauses))
            }
            2 if depth > 0 => ("not".to_owned(), self.clause(resource, depth - 1)),
            3..=5 if depth > 0 && !relations.is_empty() => {
                let relation = *self.random.pick(&relations);
                let inner = if self.random.one_in(5) { json!({}) } else { self.clause(Self::target(relation), depth - 1) };
                (relation.name.clone(), inner)
            }
            _ => {
                let field = *self.random.pick(&self.usable(resource));
                (field.name.clone(), self.field_operators(resource, field))
            }
        }
    }

    /// A clause with exactly `depth` nested connectors and relations, and the pointer to the deepest.
    pub(crate) fn deep_clause(&mut self, resource: &'static Resource, depth: usize, relations_left: usize) -> (Value, String) {
        if depth == 0 {
            return (self.clause(resource, 0), String::new());
        }
        let relations = self.relations_of(resource);
        let (key, wrap, target, left) = match self.random.below(4) {
            0 if relations_left > 0 && !relations.is_empty() => {
                let relation = *self.random.pick(&relations);
                (relation.name.clone(), false, Self::target(relation), relations_left - 1)
            }
            1 => ("and".to_owned(), true, resource, relations_left),
            2 => ("or".to_owned(), true, resource, relations_left),
            _ => ("not".to_owned(), false, resource, relations_left),
        };
        let (inner, path) = self.deep_clause(target, depth - 1, left);
        let path = match (path.is_empty(), wrap) {
            (true, _) => format!("/{key}"),
            (false, true) => format!("/{key}/0{path}"),
            (false, false) => format!("/{key}{path}"),
        };
        (json!({ key: if wrap { json!([inner]) } else { inner } }), path)
    }

    /// One or two operators of a field.
    fn field_operators(&mut self, resource: &'static Resource, field: &'static Field) -> Value {
        let mut entries = Map::new();
        for _ in 0..*self.random.pick(&[1, 1, 1, 1, 1, 1, 2]) {
            let operator = *self.random.pick(&operators(field));
            entries.insert(operator.to_owned(), self.operand(resource, field, operator));
        }
        Value::Object(entries)
    }

    /// A value the operator takes on this field.
    pub(crate) fn operand(&mut self, resource: &'static Resource, field: &'static Field, operator: &str) -> Value {
        match operator {
            "in" | "notIn" => {
                let count = *self.random.pick(&[0, 1, 2, 3, 5, 9]);
                Value::Array((0..count).map(|_| self.scalar_or_null(resource, field, 40)).collect())
            }
            "between" => {
                let mut ends = [self.scalar_or_null(resource, field, 30), self.scalar_or_null(resource, field, 30)];
                let cells = ends.each_ref().map(|end| crate::cell::Cell::given_or_null(field, end));
                if cells[0].compare(&cells[1]) == Some(std::cmp::Ordering::Greater) && !self.random.one_in(8) {
                    ends.swap(0, 1);
                }
                json!(ends)
            }
            "isNull" => json!(self.random.one_in(2)),
            "iLike" => self.pattern(resource, field),
            "contains" | "overlap" => {
                if self.random.one_in(3) {
                    return self.scalar_or_null(resource, field, 15);
                }
                let count = *self.random.pick(&[0, 1, 1, 2, 2, 3]);
                Value::Array((0..count).map(|_| self.scalar_or_null(resource, field, 15)).collect())
            }
            _ => self.scalar_or_null(resource, field, 25),
        }
    }
}

/// The operators that a field accepts.
pub(crate) fn operators(field: &Field) -> Vec<&'static str> {
    let mut operators = vec!["isNull"];
    if field.array {
        operators.extend(["contains", "overlap", "contains", "overlap"]);
        return operators;
    }
    operators.extend(["eq", "ne", "in", "notIn"]);
    if field.kind == Kind::Json {
        operators.extend(["contains", "overlap", "contains", "overlap"]);
    } else if field.kind != Kind::Bool {
        operators.extend(["gt", "gte", "lt", "lte", "between"]);
    }
    if matches!(field.kind, Kind::Text | Kind::Enum) {
        operators.extend(["iLike", "iLike"]);
    }
    operators
}
