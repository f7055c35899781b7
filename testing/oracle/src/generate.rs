//! Random statements over the fixture: mostly valid ones, one in eight with exactly one known fault.

pub(crate) mod aggregation;
pub(crate) mod clause;
pub(crate) mod maker;
mod shape;
mod value;

use crate::answer::{Operation, merged};
use crate::case::Case;
use crate::fault;
use crate::fixture::viewers::{viewer, viewers};
use crate::fixture::world;
use crate::random::Random;
use crate::schema::Resource;
use maker::{Maker, Place, Unique};
use serde_json::{Value, json};

/// An endless sequence of cases; equal seeds give equal sequences.
#[derive(Debug)]
pub struct Generator {
    random: Random,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Case {
        let mut maker = Maker::new(Random::new(self.random.draw()), self.some_viewer());
        let forbidden = self.random.one_in(40);
        let resources: Vec<&'static Resource> = world().schema.resources().collect();
        let fits = |resource: &&Resource| forbidden || maker.viewer.can_read(resource);
        let resources: Vec<&'static Resource> = resources.into_iter().filter(fits).collect();
        let resource = *self.random.pick(&resources);
        let operation = maker.operation(resource);
        let query = maker.query(resource, &operation);
        let mut case = Case { viewer: maker.viewer.name, resource: resource.name.clone(), operation, query, constraint: None, fault: None };
        let aggregates = case.query.as_ref().is_some_and(|query| query.get("aggregation").is_some_and(Value::is_object));
        case.constraint = maker.constraint(resource, aggregates);
        settle(&mut maker, resource, &mut case);
        if maker.viewer.can_read(resource) && self.random.one_in(8) {
            fault::plant(&mut maker, resource, &mut case);
        }
        case
    }

    fn some_viewer(&mut self) -> &'static crate::viewer::Viewer {
        let weights =
            ["full", "full", "full", "full", "full", "full", "clerk", "clerk", "clerk", "outsider", "outsider", "payroll", "anonymous"];
        if self.random.one_in(8) {
            return self.random.pick(viewers());
        }
        let name: &str = self.random.pick::<&str>(&weights);
        viewer(name)
    }
}

/// Adds an order if limit or offset selects a part of the rows, so that the answer is unique.
fn settle(maker: &mut Maker, resource: &'static Resource, case: &mut Case) {
    let statement = merged(world(), case.question());
    if !statement.is_cut() {
        return;
    }
    if let Some(block) = &statement.aggregation {
        if statement.order.is_empty()
            && let Some(entry) = maker.orderable_group(resource, block)
        {
            query_object(case).insert("order".to_owned(), json!([entry]));
        }
        return;
    }
    let by_id = matches!(case.operation, Operation::FindById(_));
    let unique = !resource.keys().is_empty() || statement.order.iter().any(|entry| entry.field == "seq");
    if by_id || (unique && !statement.order.is_empty()) {
        return;
    }
    let order = maker.order(resource, Place::Top, Unique::Always);
    query_object(case).insert("order".to_owned(), order);
}

fn query_object(case: &mut Case) -> &mut serde_json::Map<String, Value> {
    let query = case.query.get_or_insert_with(|| json!({}));
    if !query.is_object() {
        *query = json!({});
    }
    query.as_object_mut().expect("the query is an object")
}
