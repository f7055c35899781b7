//! Random aggregation blocks.

use crate::generate::maker::Maker;
use crate::schema::{Field, Kind, Resource};
use serde_json::{Map, Value, json};

const ALIASES: [&str; 7] = ["n", "_x", "Sum", "how_many", "a1", "select", "Z_9"];

impl Maker {
    pub(crate) fn aggregation(&mut self, resource: &'static Resource) -> Value {
        let mut names: Vec<String> = Vec::new();
        if self.random.below(10) < 7 {
            names.extend(self.sortable_field(resource).map(|field| field.name.clone()));
            while self.random.one_in(3) {
                if let Some((path, _)) = self.path(resource, Field::sortable)
                    && !names.contains(&path)
                    && relations_in(&names, &path) <= 2
                {
                    names.push(path);
                }
            }
            self.random.shuffle(&mut names);
        }
        let group_by = names.clone();
        let mut fields: Vec<Value> = Vec::new();
        let mut keys = group_by.clone();
        for _ in 0..=self.random.below(4) {
            let Some((entry, key, path)) = self.aggregate_field(resource) else {
                continue;
            };
            if !keys.contains(&key) && relations_in(&names, &path) <= 2 {
                keys.push(key);
                names.push(path);
                fields.push(entry);
            }
        }
        if fields.is_empty() {
            fields.push(json!({ "fn": "count", "field": "*" }));
        }
        let mut block = Map::new();
        block.insert("fields".to_owned(), Value::Array(fields));
        if !group_by.is_empty() {
            block.insert("groupBy".to_owned(), json!(group_by));
        }
        Value::Object(block)
    }

    /// An order entry for an entry of groupBy.
    pub(crate) fn orderable_group(&mut self, resource: &'static Resource, block: &Value) -> Option<Value> {
        let group_by = crate::aggregate::group_by(block);
        let to_one = |path: &&String| match path.split_once('.') {
            Some((relation, _)) => resource.relation(relation).is_some_and(|relation| !relation.many),
            None => true,
        };
        let orderable: Vec<String> = group_by.iter().filter(to_one).cloned().collect();
        let path = self.random.choose(&orderable)?.clone();
        Some(self.order_entry(&path))
    }

    /// A column, or a column of a relation, that meets the condition.
    pub(crate) fn path(&mut self, resource: &'static Resource, fits: fn(&Field) -> bool) -> Option<(String, &'static Field)> {
        if self.random.one_in(3) {
            let relations = self.relations_of(resource);
            if let Some(relation) = self.random.choose(&relations).copied() {
                let fields: Vec<_> = self.usable(Self::target(relation)).into_iter().filter(|field| fits(field)).collect();
                let field = *self.random.choose(&fields)?;
                return Some((format!("{}.{}", relation.name, field.name), field));
            }
        }
        let fields: Vec<_> = self.usable(resource).into_iter().filter(|field| fits(field)).collect();
        self.random.choose(&fields).map(|field| (field.name.clone(), *field))
    }

    /// An entry, its result key and its path.
    fn aggregate_field(&mut self, resource: &'static Resource) -> Option<(Value, String, String)> {
        let function = *self.random.pick(&["count", "count", "sum", "avg", "min", "max"]);
        let (path, default_key) = if function == "count" && self.random.one_in(2) {
            ("*".to_owned(), "count".to_owned())
        } else {
            let fits: fn(&Field) -> bool = match function {
                "sum" | "avg" => summable,
                "min" | "max" => comparable,
                _ => |_| true,
            };
            let (path, _) = self.path(resource, fits)?;
            let key = format!("{function}_{}", path.replace('.', "_"));
            (path, key)
        };
        let mut entry = json!({ "fn": function, "field": path });
        if !self.random.one_in(3) {
            return Some((entry, default_key, path));
        }
        let alias = *self.random.pick(&ALIASES);
        entry["as"] = json!(alias);
        Some((entry, alias.to_owned(), path))
    }
}

pub(crate) fn summable(field: &Field) -> bool {
    !field.array && matches!(field.kind, Kind::Int | Kind::Bigint | Kind::Float | Kind::Decimal)
}

pub(crate) fn comparable(field: &Field) -> bool {
    field.sortable() && field.kind != Kind::Bool
}

/// How many relations are joined with this path. Two are enough, because to-many joins multiply rows.
fn relations_in(names: &[String], path: &str) -> usize {
    let mut relations: Vec<&str> =
        names.iter().map(String::as_str).chain([path]).filter_map(|path| path.split_once('.')).map(|(relation, _)| relation).collect();
    relations.sort_unstable();
    relations.dedup();
    relations.len()
}
