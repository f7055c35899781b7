//! Parses `order`: an array of `{field, dir}`.

use crate::error::Code;
use crate::json::Json;
use crate::messages::quoted_list;
use crate::pointer::At;
use crate::statement::{Direction, Order};

use super::{Parser, found, unknown_key};

const ORDER_KEYS: [&str; 2] = ["field", "dir"];

impl Parser {
    pub(super) fn order(&mut self, at: At, value: Json) -> Vec<Order> {
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

    fn order_entry(&mut self, at: At, item: Json) -> Option<Order> {
        let Json::Object(entries) = item else {
            let message = format!("an order entry must be an object with the keys {}; found {}", quoted_list(&ORDER_KEYS), item.noun());
            self.fault(Code::WrongShape, at, message);
            return None;
        };
        let mut field = None;
        let mut named = false;
        let mut direction = Direction::Ascending;
        for (key, value) in entries {
            if self.faults.is_full() {
                break;
            }
            match key.as_str() {
                "field" => {
                    named = true;
                    let at = self.places.word(at, "field");
                    field = self.field_name(at, value).map(|name| (name, at));
                }
                "dir" => {
                    let at = self.places.word(at, "dir");
                    direction = match &value {
                        Json::Text(text) if text == "asc" => Direction::Ascending,
                        Json::Text(text) if text == "desc" => Direction::Descending,
                        other => {
                            self.fault(Code::UnknownWord, at, format!("`dir` must be `asc` or `desc`; found {}", found(other)));
                            // The rest of the entry is still checked.
                            Direction::Ascending
                        }
                    };
                }
                _ => {
                    let at = self.places.key(at, &key);
                    self.fault(Code::UnknownKey, at, unknown_key("an order entry", &ORDER_KEYS, &key));
                }
            }
        }
        if !named {
            self.fault(Code::MissingKey, at, "an order entry needs `field`");
        }
        let (field, at) = field?;
        Some(Order { field, at, direction })
    }
}
