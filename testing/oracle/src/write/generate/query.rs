//! Random rows of an update or a delete by query.

use super::Maker;
use crate::schema::{Field, Kind, Resource};
use serde_json::{Value, json};

impl Maker<'_> {
    /// `query`, or `all`.
    pub(super) fn rows(&mut self, body: &mut Value) {
        if self.random.one_in(12) {
            body["all"] = json!(true);
            return;
        }
        let mut query = json!({ "where": self.clause() });
        if self.random.one_in(3) {
            let usable: Vec<&Field> = self.usable(self.resource);
            let field = self.random.pick(&usable);
            let dir = if self.random.one_in(2) { "asc" } else { "desc" };
            query["order"] = json!([{ "field": field.name, "dir": dir }]);
        }
        if self.random.one_in(2) {
            query["limit"] = json!(self.random.below(4));
        }
        body["query"] = query;
    }

    /// The fields that the viewer may filter and sort by.
    fn usable<'r>(&self, resource: &'r Resource) -> Vec<&'r Field> {
        resource.fields.iter().filter(|field| self.viewer.may_use(field) && field.sortable()).collect()
    }

    /// A where clause that a few rows meet.
    pub(super) fn clause(&mut self) -> Value {
        match self.random.below(8) {
            0 => json!({ "or": [self.condition(self.resource), self.condition(self.resource)] }),
            1 => json!({ "not": self.condition(self.resource) }),
            2 => {
                let can_read = |target: &str| self.viewer.can_read(self.world.schema.resource(target));
                let relations: Vec<_> = self.resource.relations.iter().filter(|relation| can_read(&relation.target)).collect();
                match self.random.choose(&relations) {
                    Some(relation) => {
                        let target = self.world.schema.resource(&relation.target);
                        json!({ &*relation.name: self.condition(target) })
                    }
                    None => self.condition(self.resource),
                }
            }
            _ => self.condition(self.resource),
        }
    }

    fn condition(&mut self, resource: &Resource) -> Value {
        let usable = self.usable(resource);
        let field = *self.random.pick(&usable);
        let is_own = resource.name == self.resource.name;
        let row = if is_own { self.any_row() } else { self.random.choose(self.world.rows(&resource.name)).cloned() };
        let held = row.map(|row| row[resource.index(&field.name)].clone());
        let value = held.map_or(Value::Null, |cell| cell.show(field.kind));
        if value.is_null() {
            return json!({ &*field.name: { "isNull": !self.random.one_in(4) } });
        }
        let name = field.name.as_str();
        match self.random.below(6) {
            0 => json!({ name: { "ne": value } }),
            1 => json!({ name: { "in": [value] } }),
            2 if !matches!(field.kind, Kind::Bool | Kind::Enum | Kind::Uuid) => json!({ name: { "gte": value } }),
            3 if !matches!(field.kind, Kind::Bool | Kind::Enum | Kind::Uuid) => json!({ name: { "lt": value } }),
            _ => json!({ name: { "eq": value } }),
        }
    }
}
