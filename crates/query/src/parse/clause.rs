//! `where`: connectors, and names whose meaning the plan decides.

use crate::error::Code;
use crate::json::Json;
use crate::pointer::At;
use crate::statement::{Clause, Entry, Inside};

use super::Parser;

impl Parser {
    /// A where object, or a fault.
    pub(super) fn filter(&mut self, at: At, value: Json) -> Option<Clause> {
        match value {
            Json::Object(entries) => Some(self.clause(at, entries)),
            other => {
                self.fault(Code::WrongShape, at, format!("a where clause is an object; found {}", other.noun()));
                None
            }
        }
    }

    fn clause(&mut self, at: At, entries: Vec<(String, Json)>) -> Clause {
        let mut parsed = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let entry = match key.as_str() {
                "and" => {
                    let at = self.places.word(at, "and");
                    self.clauses(at, value, "and").map(|clauses| Entry::And(at, clauses))
                }
                "or" => {
                    let at = self.places.word(at, "or");
                    self.clauses(at, value, "or").map(|clauses| Entry::Or(at, clauses))
                }
                "not" => {
                    let at = self.places.word(at, "not");
                    self.filter(at, value).map(|clause| Entry::Not(at, clause))
                }
                _ => self.named(at, key, value),
            };
            parsed.push(entry.unwrap_or(Entry::Refused));
        }
        Clause { at, entries: parsed }
    }

    fn clauses(&mut self, at: At, value: Json, word: &str) -> Option<Vec<Clause>> {
        let Json::Array(items) = value else {
            self.fault(Code::WrongShape, at, format!("`{word}` takes an array of where clauses; found {}", value.noun()));
            return None;
        };
        if items.is_empty() {
            self.fault(Code::Empty, at, format!("`{word}` needs at least one clause"));
            return None;
        }
        let mut clauses = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let at = self.places.index(at, index);
            clauses.extend(self.filter(at, item));
        }
        Some(clauses)
    }

    fn named(&mut self, parent: At, key: String, value: Json) -> Option<Entry> {
        let at = self.places.key(parent, &key);
        if !self.allowed_name(at, &key) {
            return None;
        }
        let inside = match value {
            Json::Object(entries) => Inside::Object(self.clause(at, entries)),
            plain => Inside::Plain(plain),
        };
        Some(Entry::Named { name: key.into(), at, inside })
    }
}
