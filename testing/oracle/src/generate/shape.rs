//! Random relations to load and random orders.

use crate::generate::maker::{Maker, Place, Unique};
use crate::schema::{Field, Resource};
use serde_json::{Map, Value, json};

impl Maker {
    /// A `relations` block of at most `levels` levels.
    pub(crate) fn relations(&mut self, resource: &'static Resource, levels: usize) -> Value {
        if levels == 3
            && self.random.one_in(30)
            && resource.relations.iter().any(|relation| relation.name == "parent" || relation.name == "manager")
        {
            return deep_relations(resource);
        }
        let relations = self.relations_of(resource);
        let mut block = Map::new();
        for _ in 0..=self.random.below(2) {
            if let Some(relation) = self.random.choose(&relations).copied() {
                let node = if self.random.one_in(3) { json!(true) } else { self.node(Self::target(relation), levels - 1) };
                block.insert(relation.name.clone(), node);
            }
        }
        Value::Object(block)
    }

    fn node(&mut self, resource: &'static Resource, levels: usize) -> Value {
        let mut node = Map::new();
        if self.random.one_in(2) {
            self.add_order_and_cut(&mut node, resource, Place::Node);
        }
        if self.random.one_in(3) {
            node.insert("where".to_owned(), self.clause(resource, 2));
        }
        if levels > 0 && self.random.one_in(2) {
            node.insert("relations".to_owned(), self.relations(resource, levels));
        }
        if self.random.one_in(20) {
            node.insert("limit".to_owned(), node.get("limit").cloned().unwrap_or(Value::Null));
        }
        Value::Object(node)
    }

    pub(crate) fn order(&mut self, resource: &'static Resource, place: Place, unique: Unique) -> Value {
        let mut entries: Vec<Value> = Vec::new();
        for _ in 0..=self.random.below(3) {
            if let Some(path) = self.order_path(resource, place)
                && entries.iter().all(|entry| entry["field"] != path.as_str())
            {
                entries.push(self.order_entry(&path));
            }
        }
        let keyless = resource.keys().is_empty();
        if unique == Unique::Always && keyless && entries.iter().all(|entry| entry["field"] != "seq") {
            entries.push(self.order_entry("seq"));
        }
        if unique == Unique::Always && entries.is_empty() {
            let field = self.usable(resource).into_iter().find(|field| field.sortable()).expect("a field to sort by");
            entries.push(self.order_entry(&field.name));
        }
        Value::Array(entries)
    }

    pub(crate) fn order_entry(&mut self, path: &str) -> Value {
        match self.random.below(5) {
            0 => json!({ "field": path }),
            1 | 2 => json!({ "field": path, "dir": "asc" }),
            _ => json!({ "field": path, "dir": "desc" }),
        }
    }

    /// A sortable field, or a dot-path to one of a to-one relation.
    fn order_path(&mut self, resource: &'static Resource, place: Place) -> Option<String> {
        if place == Place::Top && self.random.one_in(3) {
            let relations: Vec<_> = self.relations_of(resource).into_iter().filter(|relation| !relation.many).collect();
            if let Some(relation) = self.random.choose(&relations).copied() {
                let field = self.sortable_field(Self::target(relation))?;
                return Some(format!("{}.{}", relation.name, field.name));
            }
        }
        self.sortable_field(resource).map(|field| field.name.clone())
    }

    pub(crate) fn sortable_field(&mut self, resource: &'static Resource) -> Option<&'static Field> {
        let fields: Vec<_> = self.usable(resource).into_iter().filter(|field| field.sortable()).collect();
        self.random.choose(&fields).copied()
    }
}

/// Ten nested to-one relations, the maximum depth.
fn deep_relations(resource: &Resource) -> Value {
    let name = if resource.relation("parent").is_some() { "parent" } else { "manager" };
    let mut block = json!({ name: true });
    for _ in 1..10 {
        block = json!({ name: { "relations": block } });
    }
    block
}
