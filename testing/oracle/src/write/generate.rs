//! Random writes. Their values come mostly from the rows, so that they hit them.

mod payload;
mod query;

use super::fixture::{write_viewer, write_viewers};
use super::{Form, WriteRequest};
use crate::random::Random;
use crate::schema::Resource;
use crate::session::Session;
use crate::viewer::Viewer;
use crate::world::{Row, World};
use serde_json::{Value, json};

/// The writable resources, the more interesting ones more often.
const RESOURCES: [&str; 8] =
    ["crm.customer", "crm.customer", "crm.customer", "crm.order", "crm.order", "crm.payment", "crm.sample", "crm.category"];
const FORMS: [Form; 10] = [
    Form::Create,
    Form::Create,
    Form::Create,
    Form::UpdateById,
    Form::UpdateById,
    Form::Update,
    Form::Update,
    Form::DeleteById,
    Form::Delete,
    Form::RestoreById,
];

/// Makes writes from a seed: equal seeds and rows give equal writes.
#[derive(Debug)]
pub struct WriteGenerator {
    random: Random,
}

/// One write in the making.
struct Maker<'g> {
    random: &'g mut Random,
    world: &'g World,
    viewer: &'static Viewer,
    resource: &'g Resource,
    form: Form,
    /// The rows that the write can reach.
    reach: Vec<&'g Row>,
}

impl WriteGenerator {
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    /// A write of a random viewer to these rows.
    pub fn next(&mut self, world: &World) -> WriteRequest {
        let viewer = if self.random.one_in(3) { self.random.pick(write_viewers()) } else { write_viewer("anna") };
        self.next_of(world, viewer)
    }

    /// A write of this viewer to these rows.
    pub fn next_of(&mut self, world: &World, viewer: &'static Viewer) -> WriteRequest {
        let resource = world.schema.resource(RESOURCES[self.random.below(RESOURCES.len())]);
        let mut form = *self.random.pick(&FORMS);
        let exists = |form: Form| resource.writes.as_ref().is_some_and(|writes| writes.right(form.operation()).is_some());
        while !exists(form) && !self.random.one_in(20) {
            form = *self.random.pick(&FORMS);
        }
        let reach = match form {
            Form::RestoreById => world.rows(&resource.name).iter().filter(|row| is_deleted(resource, row)).collect(),
            _ => Session::new(world, viewer).visible(resource).to_vec(),
        };
        Maker { random: &mut self.random, world, viewer, resource, form, reach }.request()
    }
}

fn is_deleted(resource: &Resource, row: &Row) -> bool {
    resource.soft_delete.as_ref().is_some_and(|field| !row[resource.index(field)].is_null())
}

impl Maker<'_> {
    fn request(&mut self) -> WriteRequest {
        let id = self.id();
        let mut body = json!({});
        if matches!(self.form.operation(), "create" | "update") {
            self.values(&mut body, &id);
        }
        let by_query = matches!(self.form, Form::Update | Form::Delete) && !body["payload"].is_array();
        if by_query {
            self.rows(&mut body);
        }
        let takes_conditions = !matches!(self.form, Form::Create | Form::RestoreById);
        // A viewer that may not read may not name conditions.
        if takes_conditions && (self.viewer.can_read(self.resource) || self.random.one_in(8)) {
            if self.random.one_in(6) {
                body["expect"] = self.clause();
            }
            if self.random.one_in(8) {
                body["constraint"] = json!({ "where": self.clause() });
                if self.random.one_in(3) {
                    body["constraint"]["limit"] = json!(self.random.below(3));
                }
            }
        }
        if self.random.one_in(40) {
            body["query"] = json!({ "where": {} });
        }
        if self.random.one_in(60) {
            body["nonsense"] = json!(1);
        }
        self.answer(&mut body);
        let has_version = self.resource.writes.as_ref().is_some_and(|writes| writes.version.is_some());
        let is_usual = matches!(self.form, Form::UpdateById | Form::DeleteById);
        let if_match =
            (has_version && self.random.one_in(if is_usual { 8 } else { 60 })).then(|| format!("\"{}\"", self.random.below(3) + 1));
        let id = if self.form.takes_id() { id } else { Vec::new() };
        WriteRequest { viewer: self.viewer.name, resource: self.resource.name.clone(), form: self.form, id, if_match, body }
    }

    /// A row in reach, seldom another one.
    fn any_row(&mut self) -> Option<Row> {
        if self.reach.is_empty() || self.random.one_in(8) {
            return self.random.choose(self.world.rows(&self.resource.name)).cloned();
        }
        self.random.choose(&self.reach).map(|row| (*row).clone())
    }

    /// The key of a random row, or of none.
    fn id(&mut self) -> Vec<String> {
        let row = self.any_row();
        let keys = self.resource.keys();
        let part = |field: &&crate::schema::Field| match &row {
            Some(row) => match row[self.resource.index(&field.name)].show(field.kind) {
                Value::String(text) => text,
                other => other.to_string(),
            },
            None => "1".to_owned(),
        };
        let mut parts: Vec<String> = keys.iter().map(part).collect();
        if self.random.one_in(15) {
            let last = parts.last_mut().expect("a key");
            let is_uuid = last.len() == 36 && !self.random.one_in(4);
            let other = if is_uuid { "00000000-0000-4000-8000-0000000000ff" } else { *self.random.pick(&["77", "77", "x"]) };
            other.clone_into(last);
        }
        parts
    }

    /// What the answer shows.
    fn answer(&mut self, body: &mut Value) {
        // The keys that a database made are found in the answer.
        let needs_rows = self.form == Form::Create && body["payload"].is_array();
        match self.random.below(8) {
            0 if !needs_rows => body["returning"] = json!(false),
            1 => body["returning"] = json!(true),
            2 | 3 if self.viewer.can_read(self.resource) => {
                let can_read = |target: &str| self.viewer.can_read(self.world.schema.resource(target));
                let names: Vec<&str> = self
                    .resource
                    .relations
                    .iter()
                    .filter(|relation| can_read(&relation.target))
                    .map(|relation| relation.name.as_str())
                    .collect();
                if let Some(name) = self.random.choose(&names) {
                    let name = *name;
                    body["returning"] = json!({ "relations": { name: self.node(name) } });
                }
            }
            _ => {}
        }
        if self.random.one_in(10) {
            body["dryRun"] = json!(true);
        }
    }

    /// A relation with an order, so that its rows have one.
    fn node(&mut self, name: &str) -> Value {
        let relation = self.resource.relation(name).expect("a relation");
        if !relation.many {
            return json!({});
        }
        let target = self.world.schema.resource(&relation.target);
        let order: Vec<Value> = target.keys().iter().map(|key| json!({ "field": key.name })).collect();
        json!({ "order": order })
    }
}
