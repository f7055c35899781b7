//! Faults of nesting, `limit` and `offset`.

use crate::case::Fault;
use crate::fault::planter::{Planter, Spoiler, fault};
use crate::generate::maker::Maker;
use serde_json::json;

pub(super) const SPOILERS: &[Spoiler] = &[too_deep_where, too_deep_relations, limit_too_large, no_whole_number];

fn too_deep_where(planter: &mut Planter<'_>) -> Option<Fault> {
    let (holder, resource) = match planter.node() {
        Some(site) if planter.maker.random.one_in(3) => site,
        _ => (planter.statement(), planter.resource),
    };
    let (clause, path) = planter.maker.deep_clause(resource, 11, 11);
    planter.put(&format!("{holder}/where"), clause);
    fault("QS201", format!("{holder}/where{path}"))
}

fn too_deep_relations(planter: &mut Planter<'_>) -> Option<Fault> {
    if planter.aggregates() {
        return None;
    }
    let statement = planter.statement();
    let mut path = statement.clone();
    let mut resource = planter.resource;
    for _ in 0..11 {
        let relations = planter.maker.relations_of(resource);
        let relation = *planter.maker.random.choose(&relations)?;
        planter.put(&format!("{path}/relations"), json!({ relation.name.as_str(): {} }));
        path = format!("{path}/relations/{}", relation.name);
        resource = Maker::target(relation);
    }
    fault("QS201", path)
}

fn cut_holder(planter: &mut Planter<'_>) -> String {
    match planter.node() {
        Some((node, _)) if planter.maker.random.one_in(2) => node,
        _ => planter.statement(),
    }
}

fn limit_too_large(planter: &mut Planter<'_>) -> Option<Fault> {
    let path = format!("{}/limit", cut_holder(planter));
    let value = planter.pick(&[10_001_i64, 20_000, 2_147_483_648, i64::MAX]);
    planter.put(&path, json!(value));
    fault("QS202", path)
}

fn no_whole_number(planter: &mut Planter<'_>) -> Option<Fault> {
    let holder = cut_holder(planter);
    let key = planter.pick(&["limit", "offset"]);
    let value = planter.pick(&[json!(-1), json!(1.5), json!("5"), json!(true), json!([]), json!({})]);
    let path = format!("{holder}/{key}");
    planter.put(&path, value);
    fault("QS203", path)
}
