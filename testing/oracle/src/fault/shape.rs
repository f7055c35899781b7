//! Faults in statements, nodes and orders: unknown keys, wrong shapes, missing keys and forbidden combinations.

use crate::case::Fault;
use crate::fault::planter::{Planter, Spoiler, fault};
use crate::generate::maker::Maker;
use serde_json::{Value, json};

pub(super) const SPOILERS: &[Spoiler] = &[
    unknown_statement_key,
    unknown_node_key,
    unknown_order_key,
    wrong_statement,
    wrong_where,
    wrong_relations,
    wrong_relation,
    wrong_order,
    wrong_order_entry,
    order_without_field,
    order_field_not_a_string,
    relations_beside_aggregation,
    aggregation_in_constraint,
    reserved_relation,
    reserved_order,
    unknown_relation,
    unknown_order_field,
    unknown_order_path,
    masked_order,
    dot_path_in_node,
    dot_path_to_many,
    two_dots,
    unsortable_order,
    unknown_direction,
];

fn unknown_statement_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let statement = planter.statement();
    let key = planter.pick(&["attributes", "group", "lock", "distinct", "filter", "Where", "select", "required"]);
    let path = format!("{statement}/{key}");
    planter.put(&path, json!(["id"]));
    fault("QS102", path)
}

fn unknown_node_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let (node, _) = planter.node()?;
    let key = planter.pick(&["through", "required", "attributes", "aggregation", "distinct"]);
    let path = format!("{node}/{key}");
    planter.put(&path, json!({ "fields": [{ "fn": "count", "field": "*" }] }));
    fault("QS102", path)
}

fn unknown_order_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let field = planter.maker.sortable_field(site.resource)?;
    let entry = planter.append(&site.path, json!({ "field": field.name, "nulls": "first" }));
    fault("QS102", format!("{entry}/nulls"))
}

fn wrong_statement(planter: &mut Planter<'_>) -> Option<Fault> {
    let statement = planter.statement();
    let value = planter.pick(&[json!([]), json!("where"), json!(5), json!(true)]);
    planter.put(&statement, value);
    fault("QS103", statement)
}

fn wrong_where(planter: &mut Planter<'_>) -> Option<Fault> {
    let holder = match planter.node() {
        Some((node, _)) if planter.maker.random.one_in(3) => node,
        _ => planter.statement(),
    };
    let value = planter.pick(&[json!([]), json!("id = 1"), json!(5), json!(false)]);
    let path = format!("{holder}/where");
    planter.put(&path, value);
    fault("QS103", path)
}

fn wrong_relations(planter: &mut Planter<'_>) -> Option<Fault> {
    if planter.aggregates() {
        return None;
    }
    let path = format!("{}/relations", planter.statement());
    let value = planter.pick(&[json!(["orders"]), json!("orders"), json!(true), json!(5)]);
    planter.put(&path, value);
    fault("QS103", path)
}

fn wrong_relation(planter: &mut Planter<'_>) -> Option<Fault> {
    let (node, _) = planter.node()?;
    let value = planter.pick(&[json!([]), json!("yes"), json!(1), json!(false)]);
    planter.put(&node, value);
    fault("QS103", node)
}

fn wrong_order(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let value = planter.pick(&[json!({ "field": "id" }), json!("id"), json!(5)]);
    planter.put(&site.path, value);
    fault("QS103", site.path)
}

fn wrong_order_entry(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let value = planter.pick(&[json!("id"), json!(["id", "asc"]), json!(5)]);
    let path = planter.append(&site.path, value);
    fault("QS103", path)
}

fn order_without_field(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let value = planter.pick(&[json!({ "dir": "asc" }), json!({})]);
    let path = planter.append(&site.path, value);
    fault("QS108", path)
}

fn order_field_not_a_string(planter: &mut Planter<'_>) -> Option<Fault> {
    let value = planter.pick(&[json!(5), json!(["id"]), json!({ "id": 1 })]);
    bad_order_field(planter, &value, "QS103")
}

fn bad_order_field(planter: &mut Planter<'_>, value: &Value, code: &'static str) -> Option<Fault> {
    let site = planter.order()?;
    let entry = planter.append(&site.path, json!({ "field": value, "dir": "desc" }));
    fault(code, format!("{entry}/field"))
}

fn relations_beside_aggregation(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let relations = planter.maker.relations_of(planter.resource);
    let relation = *planter.maker.random.choose(&relations)?;
    planter.put("/query/relations", json!({ relation.name.as_str(): true }));
    fault("QS109", "/query/relations")
}

fn aggregation_in_constraint(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.ensure_object("/constraint");
    let block = planter.maker.aggregation(planter.resource);
    planter.object("/constraint").retain(|key, _| key == "where");
    planter.put("/constraint/aggregation", block);
    fault("QS109", "/constraint/aggregation")
}

fn reserved(planter: &mut Planter<'_>) -> &'static str {
    planter.pick(&["RAW", "AND", "OR", "NOT"])
}

fn relations_holder(planter: &mut Planter<'_>) -> Option<(String, &'static crate::schema::Resource)> {
    if planter.aggregates() {
        return None;
    }
    let (holder, resource) = match planter.node() {
        Some(site) if planter.maker.random.one_in(2) => site,
        _ => (planter.statement(), planter.resource),
    };
    let path = format!("{holder}/relations");
    planter.ensure_object(&path);
    Some((path, resource))
}

fn reserved_relation(planter: &mut Planter<'_>) -> Option<Fault> {
    let (holder, _) = relations_holder(planter)?;
    let path = format!("{holder}/{}", reserved(planter));
    planter.put(&path, json!(true));
    fault("QS301", path)
}

fn reserved_order(planter: &mut Planter<'_>) -> Option<Fault> {
    let name = reserved(planter);
    bad_order_field(planter, &json!(name), "QS301")
}

fn unknown_relation(planter: &mut Planter<'_>) -> Option<Fault> {
    let (holder, resource) = relations_holder(planter)?;
    let path = format!("{holder}/{}", planter.unknown_relation(resource));
    planter.put(&path, json!(true));
    fault("QS303", path)
}

fn unknown_order_field(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let to_one: Vec<_> = planter.maker.relations_of(site.resource).into_iter().filter(|relation| !relation.many).collect();
    let name = match planter.maker.random.choose(&to_one).copied() {
        Some(relation) if site.top && planter.maker.random.one_in(3) => {
            format!("{}.{}", relation.name, planter.unknown_field(Maker::target(relation)))
        }
        _ => planter.unknown_field(site.resource),
    };
    let entry = planter.append(&site.path, json!({ "field": name }));
    fault("QS302", format!("{entry}/field"))
}

fn unknown_order_path(planter: &mut Planter<'_>) -> Option<Fault> {
    if planter.aggregates() {
        return None;
    }
    let list = format!("{}/order", planter.statement());
    let name = format!("{}.id", planter.unknown_relation(planter.resource));
    let entry = planter.append(&list, json!({ "field": name }));
    fault("QS303", format!("{entry}/field"))
}

fn masked_order(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let field = planter.masked_field(site.resource).filter(|field| field.sortable())?;
    let entry = planter.append(&site.path, json!({ "field": field.name }));
    fault("QS304", format!("{entry}/field"))
}

fn dot_path_in_node(planter: &mut Planter<'_>) -> Option<Fault> {
    let (node, resource) = planter.node()?;
    let relations = planter.maker.relations_of(resource);
    let relation = *planter.maker.random.choose(&relations)?;
    let field = planter.maker.sortable_field(Maker::target(relation))?;
    let entry = planter.append(&format!("{node}/order"), json!({ "field": format!("{}.{}", relation.name, field.name) }));
    fault("QS307", format!("{entry}/field"))
}

fn dot_path_to_many(planter: &mut Planter<'_>) -> Option<Fault> {
    if planter.aggregates() {
        return None;
    }
    let relations: Vec<_> = planter.maker.relations_of(planter.resource).into_iter().filter(|relation| relation.many).collect();
    let relation = *planter.maker.random.choose(&relations)?;
    let field = planter.maker.sortable_field(Maker::target(relation))?;
    let list = format!("{}/order", planter.statement());
    let entry = planter.append(&list, json!({ "field": format!("{}.{}", relation.name, field.name) }));
    fault("QS307", format!("{entry}/field"))
}

fn two_dots(planter: &mut Planter<'_>) -> Option<Fault> {
    if planter.aggregates() {
        return None;
    }
    let path = planter.two_dots()?;
    let list = format!("{}/order", planter.statement());
    let entry = planter.append(&list, json!({ "field": path }));
    fault("QS307", format!("{entry}/field"))
}

fn unsortable_order(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let fields: Vec<_> = planter.maker.usable(site.resource).into_iter().filter(|field| !field.sortable()).collect();
    let field = *planter.maker.random.choose(&fields)?;
    let entry = planter.append(&site.path, json!({ "field": field.name }));
    fault("QS308", format!("{entry}/field"))
}

fn unknown_direction(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.order()?;
    let field = planter.maker.sortable_field(site.resource)?;
    let direction = planter.pick(&["up", "ASC", "descending", ""]);
    let entry = planter.append(&site.path, json!({ "field": field.name, "dir": direction }));
    fault("QS312", format!("{entry}/dir"))
}
