//! Parses `order`: an array of `{field, dir}`.

use crate::error::Code;
use crate::json::Json;
use crate::pointer::Location;
use crate::statement::{Direction, Order};

use super::{Parser, found};

const ORDER_KEYS: [&str; 2] = ["field", "dir"];

impl Parser {
    pub(super) fn order(&mut self, at: Location, value: Json) -> Vec<Order> {
        let items = self.entries_of(at, value, "order", "an array of `{field, dir}`").unwrap_or_default();
        let mut order = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            if self.faults.is_full() {
                break;
            }
            let at = self.places.index(at, index);
            order.extend(self.order_entry(at, item));
        }
        order
    }

    fn order_entry(&mut self, at: Location, item: Json) -> Option<Order> {
        let entries = self.object(at, item, "an order entry", &ORDER_KEYS)?;
        let mut field = None;
        let mut named = false;
        let mut direction = Direction::Ascending;
        for (key, value) in entries {
            if self.faults.is_full() {
                break;
            }
            match self.known_key(at, "an order entry", &ORDER_KEYS, &key) {
                Some(("field", at)) => {
                    named = true;
                    field = self.field_name(at, value).map(|name| (name, at));
                }
                Some((_, at)) => direction = self.direction(at, &value),
                None => {}
            }
        }
        if !named {
            self.fault(Code::MissingKey, at, "an order entry needs `field`");
        }
        let (field, at) = field?;
        Some(Order { field, at, direction })
    }

    fn direction(&mut self, at: Location, value: &Json) -> Direction {
        match value {
            Json::Text(text) if text == "asc" => Direction::Ascending,
            Json::Text(text) if text == "desc" => Direction::Descending,
            other => {
                self.fault(Code::UnknownWord, at, format!("`dir` must be `asc` or `desc`; found {}", found(other)));
                // The rest of the entry is still checked.
                Direction::Ascending
            }
        }
    }
}
