//! The state that all parts of the generator share, and whole statements.

use crate::answer::Operation;
use crate::cell::Cell;
use crate::fixture::world;
use crate::random::Random;
use crate::schema::{Field, Relation, Resource};
use crate::session::Session;
use crate::viewer::Viewer;
use serde_json::{Map, Value, json};

/// Where an order is: dot-paths are accepted at top level only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Top,
    Node,
}

/// Whether the order must be unique: a resource without a key has no tie-break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unique {
    Never,
    Always,
}

#[derive(Debug)]
pub(crate) struct Maker {
    pub random: Random,
    pub viewer: &'static Viewer,
    /// The data as the viewer sees it, for values of derived fields.
    pub session: Session<'static>,
}

impl Maker {
    pub(crate) fn new(random: Random, viewer: &'static Viewer) -> Self {
        Self { random, viewer, session: Session::new(world(), viewer) }
    }

    pub(crate) fn target(relation: &Relation) -> &'static Resource {
        world().schema.resource(&relation.target)
    }

    /// The relations that the viewer may follow.
    pub(crate) fn relations_of(&self, resource: &'static Resource) -> Vec<&'static Relation> {
        resource.relations.iter().filter(|relation| self.viewer.can_read(Self::target(relation))).collect()
    }

    /// The fields that the viewer may filter, sort and group by.
    pub(crate) fn usable(&self, resource: &'static Resource) -> Vec<&'static Field> {
        resource.fields.iter().filter(|field| self.viewer.may_use(field)).collect()
    }

    pub(crate) fn operation(&mut self, resource: &'static Resource) -> Operation {
        match self.random.below(20) {
            0..8 => Operation::Paginate,
            8..14 => Operation::List,
            14..17 => Operation::Find,
            _ if !self.viewer.sees_key(resource) => Operation::List,
            _ => Operation::FindById(self.id(resource)),
        }
    }

    /// The id of a row, or rarely an unknown id.
    fn id(&mut self, resource: &'static Resource) -> String {
        let row = self.random.pick(world().rows(&resource.name));
        let absent = self.random.one_in(10);
        let parts = resource.keys().into_iter().map(|key| match &row[resource.index(&key.name)] {
            Cell::Whole(_) if absent => "12345".to_owned(),
            Cell::Whole(number) => number.to_string(),
            Cell::Text(text) if absent => if text.len() == 36 { "0badc0de-0000-4000-8000-000000000000" } else { "XX" }.to_owned(),
            Cell::Text(text) => text.clone(),
            other => panic!("{other:?} is part of a key"),
        });
        parts.collect::<Vec<_>>().join(",")
    }

    pub(crate) fn query(&mut self, resource: &'static Resource, operation: &Operation) -> Option<Value> {
        if self.random.one_in(25) {
            return None;
        }
        let mut query = Map::new();
        // A single row meets few clauses, and most finds should succeed.
        let by_id = matches!(operation, Operation::FindById(_));
        if by_id && self.random.one_in(4) {
            query.insert("where".to_owned(), self.clause(resource, 1));
        } else if !by_id && self.random.below(10) < 7 {
            query.insert("where".to_owned(), self.where_clause(resource));
        }
        if self.random.one_in(4) {
            let block = self.aggregation(resource);
            if self.random.one_in(2)
                && let Some(entry) = self.orderable_group(resource, &block)
            {
                query.insert("order".to_owned(), json!([entry]));
            }
            query.insert("aggregation".to_owned(), block);
            self.add_cut(&mut query);
        } else {
            if self.random.below(10) < 4 {
                query.insert("relations".to_owned(), self.relations(resource, 3));
            }
            self.add_order_and_cut(&mut query, resource, Place::Top);
        }
        self.sprinkle_nulls(&mut query);
        Some(Value::Object(query))
    }

    /// A wire constraint; with an aggregation it has no relations and no order.
    pub(crate) fn constraint(&mut self, resource: &'static Resource, aggregates: bool) -> Option<Value> {
        if self.random.below(10) < 7 {
            return None;
        }
        let mut constraint = Map::new();
        if self.random.below(10) < 8 {
            constraint
                .insert("where".to_owned(), if self.random.one_in(3) { self.where_clause(resource) } else { self.clause(resource, 1) });
        }
        if !aggregates && self.random.one_in(4) {
            let mut relations = self.relations(resource, 2);
            remove_offsets(&mut relations);
            constraint.insert("relations".to_owned(), relations);
        }
        if !aggregates && self.random.one_in(4) {
            constraint.insert("order".to_owned(), self.order(resource, Place::Top, Unique::Never));
        }
        if self.random.one_in(6) {
            constraint.insert("limit".to_owned(), json!(self.random.below(20)));
        }
        if self.random.one_in(20) {
            constraint.insert("offset".to_owned(), json!(self.random.below(5)));
        }
        self.sprinkle_nulls(&mut constraint);
        Some(Value::Object(constraint))
    }

    /// Order, limit and offset of a statement or node; never a limit without an order.
    pub(crate) fn add_order_and_cut(&mut self, into: &mut Map<String, Value>, resource: &'static Resource, place: Place) {
        if self.random.one_in(2) {
            return;
        }
        self.add_cut(into);
        let cut = into.contains_key("limit") || into.contains_key("offset");
        let unique = if cut { Unique::Always } else { Unique::Never };
        into.insert("order".to_owned(), self.order(resource, place, unique));
    }

    fn add_cut(&mut self, into: &mut Map<String, Value>) {
        if self.random.one_in(2) {
            let limit = *self.random.pick(&[0, 1, 1, 2, 3, 5, 10, 100, 10_000]);
            into.insert("limit".to_owned(), json!(limit));
        }
        if self.random.one_in(5) {
            let offset = *self.random.pick(&[0, 1, 2, 5, 30, 1_000_000]);
            into.insert("offset".to_owned(), json!(offset));
        }
    }

    /// Adds a known key with null, which counts as absent.
    fn sprinkle_nulls(&mut self, into: &mut Map<String, Value>) {
        if self.random.one_in(15) {
            let key = *self.random.pick(&["where", "order", "limit", "offset"]);
            into.entry(key).or_insert(Value::Null);
        }
    }
}

fn remove_offsets(relations: &mut Value) {
    for node in relations.as_object_mut().into_iter().flat_map(|named| named.values_mut()) {
        if let Some(object) = node.as_object_mut() {
            object.remove("offset");
            if let Some(nested) = object.get_mut("relations") {
                remove_offsets(nested);
            }
        }
    }
}
