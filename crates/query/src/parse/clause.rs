//! Parses `where`: connectors, and names that the plan resolves.

use crate::error::Code;
use crate::json::Json;
use crate::pointer::Location;
use crate::statement::{Clause, Entry, Inside};

use super::{MAX_PARSED_ENTRIES, Parser, too_many_nodes};

impl Parser {
    /// The clause of a `where` key, or a fault.
    pub(super) fn filter(&mut self, at: Location, value: Json) -> Option<Clause> {
        match value {
            Json::Object(entries) => Some(self.clause(at, entries)),
            other => {
                self.fault(Code::WrongShape, at, not_a_clause(&other));
                None
            }
        }
    }

    fn clause(&mut self, at: Location, entries: Vec<(String, Json)>) -> Clause {
        let mut parsed = Vec::new();
        for (key, value) in entries {
            if !self.count_entry(at) {
                break;
            }
            let entry = match key.as_str() {
                "and" => {
                    let at = self.places.word(at, "and");
                    self.clauses(at, value, "and").map_or_else(|malformed| malformed, |clauses| Entry::And(at, clauses))
                }
                "or" => {
                    let at = self.places.word(at, "or");
                    self.clauses(at, value, "or").map_or_else(|malformed| malformed, |clauses| Entry::Or(at, clauses))
                }
                "not" => {
                    let at = self.places.word(at, "not");
                    self.inner(at, value, "not").map_or_else(|malformed| malformed, |clause| Entry::Not(at, clause))
                }
                _ => self.named(at, key, value).unwrap_or(Entry::Refused),
            };
            parsed.push(entry);
        }
        Clause { at, entries: parsed }
    }

    /// The clause of a connector, or an entry that the plan reports.
    fn inner(&mut self, at: Location, value: Json, word: &'static str) -> Result<Clause, Entry> {
        match value {
            Json::Object(entries) => Ok(self.clause(at, entries)),
            other => Err(Entry::Malformed { word, at, code: Code::WrongShape, message: not_a_clause(&other) }),
        }
    }

    fn clauses(&mut self, at: Location, value: Json, word: &'static str) -> Result<Vec<Clause>, Entry> {
        let malformed = |code, message| Err(Entry::Malformed { word, at, code, message });
        let Json::Array(items) = value else {
            return malformed(Code::WrongShape, format!("`{word}` takes an array of where clauses; found {}", value.noun()));
        };
        if items.is_empty() {
            return malformed(Code::Empty, format!("`{word}` needs at least one clause"));
        }
        let mut clauses = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            if !self.count_entry(at) {
                break;
            }
            let at = self.places.index(at, index);
            clauses.push(self.inner(at, item, word).unwrap_or_else(|malformed| Clause { at, entries: vec![malformed] }));
        }
        Ok(clauses)
    }

    /// Counts one more entry. False if parsing stops here.
    fn count_entry(&mut self, at: Location) -> bool {
        self.entries += 1;
        if self.entries == MAX_PARSED_ENTRIES + 1 {
            self.fault(Code::FilterNodes, at, too_many_nodes());
        }
        self.entries <= MAX_PARSED_ENTRIES && !self.faults.is_full()
    }

    fn named(&mut self, parent: Location, key: String, value: Json) -> Option<Entry> {
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

fn not_a_clause(found: &Json) -> String {
    format!("a where clause must be an object; found {}", found.noun())
}
