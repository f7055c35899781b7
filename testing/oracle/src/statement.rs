//! A parsed, valid Query Statement or relation node, and the merge of two.

use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Order {
    pub field: String,
    pub descending: bool,
}

/// A statement or relation node. Its `wheres` are ANDed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statement {
    pub wheres: Vec<Value>,
    pub relations: BTreeMap<String, Statement>,
    pub order: Vec<Order>,
    pub aggregation: Option<Value>,
    pub limit: Option<usize>,
    pub offset: Option<usize>,
}

impl Statement {
    /// Parses a valid statement. Null counts as absent.
    pub(crate) fn parse(value: &Value) -> Self {
        let present = |key: &str| value.get(key).filter(|value| !value.is_null());
        let number =
            |key: &str| present(key).map(|value| usize::try_from(value.as_u64().expect("a whole number")).expect("a small number"));
        let mut relations = BTreeMap::new();
        if let Some(named) = present("relations") {
            for (name, node) in named.as_object().expect("relations is an object") {
                relations.insert(name.clone(), Self::parse(node));
            }
        }
        let order = present("order").map(|order| order.as_array().expect("order is a list").iter().map(read_order).collect());
        Self {
            wheres: present("where").cloned().into_iter().collect(),
            relations,
            order: order.unwrap_or_default(),
            aggregation: present("aggregation").cloned(),
            limit: number("limit"),
            offset: number("offset"),
        }
    }

    pub(crate) fn parse_optional(value: Option<&Value>) -> Self {
        value.filter(|value| !value.is_null()).map(Self::parse).unwrap_or_default()
    }

    /// This statement, narrowed by a constraint. A relation that only the constraint loads keeps its offset.
    #[must_use]
    pub(crate) fn narrowed_by(mut self, constraint: Self) -> Self {
        self.wheres.extend(constraint.wheres);
        for (name, node) in constraint.relations {
            let merged = match self.relations.remove(&name) {
                Some(own) => own.narrowed_by(node),
                None => node,
            };
            self.relations.insert(name, merged);
        }
        for entry in constraint.order {
            if self.order.iter().all(|own| own.field != entry.field) {
                self.order.push(entry);
            }
        }
        self.limit = match (self.limit, constraint.limit) {
            (Some(own), Some(other)) => Some(own.min(other)),
            (own, other) => own.or(other),
        };
        self
    }

    /// Whether a limit or offset selects a part of the rows.
    pub(crate) fn is_cut(&self) -> bool {
        self.limit.is_some() || self.offset.is_some()
    }

    /// The rows that limit and offset select.
    pub(crate) fn cut<T>(&self, rows: Vec<T>) -> Vec<T> {
        rows.into_iter().skip(self.offset.unwrap_or(0)).take(self.limit.unwrap_or(usize::MAX)).collect()
    }
}

fn read_order(entry: &Value) -> Order {
    Order {
        field: entry["field"].as_str().expect("order.field is a string").to_owned(),
        descending: entry.get("dir").and_then(Value::as_str) == Some("desc"),
    }
}
