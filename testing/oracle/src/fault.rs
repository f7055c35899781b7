//! Adds exactly one fault to a valid statement.

mod aggregation;
mod clause;
mod limit;
mod planter;
mod shape;

use crate::case::Case;
use crate::generate::maker::Maker;
use crate::schema::Resource;
use planter::{Planter, Spoiler};

/// Adds one random fault to the case.
pub(crate) fn plant(maker: &mut Maker, resource: &'static Resource, case: &mut Case) {
    let groups = [shape::SPOILERS, clause::SPOILERS, clause::SPOILERS, aggregation::SPOILERS, limit::SPOILERS];
    let spoilers: Vec<Spoiler> = groups.concat();
    let body = case.body();
    loop {
        let spoil = *maker.random.pick(&spoilers);
        let mut planter = Planter { maker, resource, body: body.clone() };
        if let Some(fault) = spoil(&mut planter) {
            case.query = planter.body.get("query").cloned();
            case.constraint = planter.body.get("constraint").cloned();
            case.fault = Some(fault);
            return;
        }
    }
}
