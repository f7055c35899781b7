//! Parses `relations`: the relation nodes to load.

use crate::error::Code;
use crate::json::Json;
use crate::pointer::Location;
use crate::statement::RelationNode;

use super::{MAX_DEPTH, MAX_RELATION_NODES, Parser};

const NODE_KEYS: [&str; 5] = ["where", "order", "limit", "offset", "relations"];

impl Parser {
    pub(super) fn relation_map(&mut self, at: Location, value: Json, depth: usize) -> Vec<RelationNode> {
        let Json::Object(entries) = value else {
            let message = format!(
                "`relations` must be an object from relation name to `true` or an object with keys such as `where` and `limit`; found {}",
                value.noun()
            );
            self.fault(Code::WrongShape, at, message);
            return Vec::new();
        };
        let mut relations = Vec::with_capacity(entries.len());
        for (name, value) in entries {
            if self.faults.is_full() {
                break;
            }
            let at = self.places.key(at, &name);
            if !self.allowed_name(at, &name) {
                continue;
            }
            if depth > MAX_DEPTH {
                self.fault(Code::Depth, at, format!("`relations` nests at most {MAX_DEPTH} levels; found {depth}"));
                continue;
            }
            self.relations += 1;
            if self.relations > MAX_RELATION_NODES {
                if self.relations == MAX_RELATION_NODES + 1 {
                    self.fault(Code::RelationNodes, at, format!("a statement has at most {MAX_RELATION_NODES} relation nodes"));
                }
                continue;
            }
            relations.push(self.relation(name, at, value, depth));
        }
        relations
    }

    fn relation(&mut self, name: String, at: Location, value: Json, depth: usize) -> RelationNode {
        let mut relation = RelationNode {
            name: name.into(),
            at,
            filters: Vec::new(),
            order: Vec::new(),
            limit: None,
            own_limit: None,
            offset: None,
            relations: Vec::new(),
        };
        let entries = match value {
            Json::Bool(true) => return relation,
            Json::Object(entries) => entries,
            other => {
                self.fault(
                    Code::WrongShape,
                    at,
                    format!("a relation takes `true` or an object with keys such as `where` and `limit`; found {}", other.noun()),
                );
                return relation;
            }
        };
        for (key, value) in entries {
            if self.faults.is_full() {
                break;
            }
            let Some((word, at)) = self.known_key(at, "a relation node", &NODE_KEYS, &key) else { continue };
            match word {
                _ if value == Json::Null => {}
                "where" => relation.filters.extend(self.filter(at, value)),
                "order" => relation.order = self.order(at, value),
                "limit" => {
                    relation.limit = self.limit(at, &value);
                    relation.own_limit = relation.limit;
                }
                "offset" => relation.offset = self.offset(at, &value),
                _ => relation.relations = self.relation_map(at, value, depth + 1),
            }
        }
        relation
    }
}
