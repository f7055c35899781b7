//! Faults in aggregation blocks.

use crate::case::Fault;
use crate::fault::planter::{Planter, Spoiler, fault};
use crate::generate::aggregation::{comparable, summable};
use crate::generate::maker::Maker;
use crate::schema::Field;
use serde_json::{Value, json};

pub(super) const SPOILERS: &[Spoiler] = &[
    unknown_block_key,
    unknown_entry_key,
    wrong_block,
    wrong_group_by,
    wrong_group,
    wrong_fields,
    wrong_entry,
    no_fields,
    missing_part,
    reserved_name,
    unknown_name,
    unknown_relation,
    masked_name,
    two_dots,
    wrong_type,
    bad_alias,
    equal_keys,
    equal_groups,
    order_no_group,
    unknown_function,
];

const FIELDS: &str = "/query/aggregation/fields";
const GROUP_BY: &str = "/query/aggregation/groupBy";

/// Removes the order, so that groupBy can change without a second fault.
fn drop_order(planter: &mut Planter<'_>) {
    planter.object("/query").remove("order");
}

fn unknown_block_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let block = planter.aggregation();
    let key = planter.pick(&["having", "where", "group", "distinct"]);
    let path = format!("{block}/{key}");
    planter.put(&path, json!({}));
    fault("QS102", path)
}

fn unknown_entry_key(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let entry = planter.append(FIELDS, json!({ "fn": "count", "field": "*", "as": "planted", "distinct": true }));
    fault("QS102", format!("{entry}/distinct"))
}

fn wrong_block(planter: &mut Planter<'_>) -> Option<Fault> {
    let block = planter.aggregation();
    drop_order(planter);
    let value = planter.pick(&[json!([]), json!("count"), json!(true)]);
    planter.put(block, value);
    fault("QS103", block)
}

fn wrong_group_by(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    drop_order(planter);
    let value = planter.pick(&[json!("id"), json!({}), json!(5)]);
    planter.put(GROUP_BY, value);
    fault("QS103", GROUP_BY)
}

fn wrong_group(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let value = planter.pick(&[json!(5), json!(["id"]), json!({ "field": "id" })]);
    let path = planter.append(GROUP_BY, value);
    fault("QS103", path)
}

fn wrong_fields(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let value = planter.pick(&[json!({}), json!("count"), json!(5)]);
    planter.put(FIELDS, value);
    fault("QS103", FIELDS)
}

fn wrong_entry(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let value = planter.pick(&[json!("count"), json!([]), json!(5)]);
    let path = planter.append(FIELDS, value);
    fault("QS103", path)
}

fn no_fields(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    planter.put(FIELDS, json!([]));
    fault("QS105", FIELDS)
}

fn missing_part(planter: &mut Planter<'_>) -> Option<Fault> {
    let block = planter.aggregation();
    match planter.maker.random.below(3) {
        0 => {
            planter.object(block).remove("fields");
            fault("QS108", block)
        }
        1 => {
            let path = planter.append(FIELDS, json!({ "field": "*", "as": "planted" }));
            fault("QS108", path)
        }
        _ => {
            let path = planter.append(FIELDS, json!({ "fn": "count", "as": "planted" }));
            fault("QS108", path)
        }
    }
}

/// Adds a field or dot-path to groupBy or to a function; returns its pointer.
fn name(planter: &mut Planter<'_>, name: &str) -> String {
    planter.aggregation();
    if planter.maker.random.one_in(2) {
        return planter.append(GROUP_BY, json!(name));
    }
    let function = planter.pick(&["count", "count", "min"]);
    let entry = planter.append(FIELDS, json!({ "fn": function, "field": name, "as": "planted" }));
    format!("{entry}/field")
}

fn reserved_name(planter: &mut Planter<'_>) -> Option<Fault> {
    let reserved = planter.pick(&["RAW", "AND", "OR", "NOT"]);
    let path = name(planter, reserved);
    fault("QS301", path)
}

fn unknown_name(planter: &mut Planter<'_>) -> Option<Fault> {
    let relations = planter.maker.relations_of(planter.resource);
    let unknown = match planter.maker.random.choose(&relations).copied() {
        Some(relation) if planter.maker.random.one_in(2) => {
            format!("{}.{}", relation.name, planter.unknown_field(Maker::target(relation)))
        }
        _ => planter.unknown_field(planter.resource),
    };
    let path = name(planter, &unknown);
    fault("QS302", path)
}

fn unknown_relation(planter: &mut Planter<'_>) -> Option<Fault> {
    let unknown = format!("{}.id", planter.unknown_relation(planter.resource));
    let path = name(planter, &unknown);
    fault("QS303", path)
}

fn masked_name(planter: &mut Planter<'_>) -> Option<Fault> {
    let relations = planter.maker.relations_of(planter.resource);
    let masked = match planter.maker.random.choose(&relations).copied() {
        Some(relation) if planter.maker.random.one_in(2) => {
            format!("{}.{}", relation.name, planter.masked_field(Maker::target(relation)).filter(|field| field.sortable())?.name)
        }
        _ => planter.masked_field(planter.resource).filter(|field| field.sortable())?.name.clone(),
    };
    let path = name(planter, &masked);
    fault("QS304", path)
}

fn two_dots(planter: &mut Planter<'_>) -> Option<Fault> {
    let dotted = planter.two_dots()?;
    let path = name(planter, &dotted);
    fault("QS307", path)
}

fn wrong_type(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let function = planter.pick(&["sum", "avg", "min", "max", "groupBy"]);
    let refused: fn(&Field) -> bool = match function {
        "sum" | "avg" => |field| !summable(field),
        "min" | "max" => |field| !comparable(field),
        _ => |field| !field.sortable(),
    };
    let (path, _) = planter.maker.path(planter.resource, refused)?;
    if function == "groupBy" {
        let path = planter.append(GROUP_BY, json!(path));
        return fault("QS308", path);
    }
    let entry = planter.append(FIELDS, json!({ "fn": function, "field": path, "as": "planted" }));
    fault("QS308", format!("{entry}/field"))
}

fn bad_alias(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let alias = planter.pick(&[
        "1abc".to_owned(),
        "a b".to_owned(),
        String::new(),
        "a-b".to_owned(),
        "é".to_owned(),
        "x".repeat(64),
        "a\"b".to_owned(),
    ]);
    let entry = planter.append(FIELDS, json!({ "fn": "count", "field": "*", "as": alias }));
    fault("QS309", format!("{entry}/as"))
}

fn equal_keys(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let entries = planter.body.pointer(FIELDS).and_then(Value::as_array).cloned()?;
    let again = planter.pick(&entries);
    let path = planter.append(FIELDS, again);
    fault("QS310", path)
}

fn equal_groups(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let entries = planter.body.pointer(GROUP_BY).and_then(Value::as_array).cloned().unwrap_or_default();
    let again = planter.maker.random.choose(&entries)?.clone();
    let path = planter.append(GROUP_BY, again);
    fault("QS310", path)
}

fn order_no_group(planter: &mut Planter<'_>) -> Option<Fault> {
    let block = planter.aggregation();
    let grouped = crate::aggregate::group_by(&planter.body.pointer(block)?.clone());
    let other = if planter.maker.random.one_in(2) {
        planter.append(FIELDS, json!({ "fn": "count", "field": "*", "as": "planted" }));
        "planted".to_owned()
    } else {
        planter.maker.sortable_field(planter.resource)?.name.clone()
    };
    if grouped.contains(&other) {
        return None;
    }
    let entry = planter.append("/query/order", json!({ "field": other }));
    fault("QS311", format!("{entry}/field"))
}

fn unknown_function(planter: &mut Planter<'_>) -> Option<Fault> {
    planter.aggregation();
    let function = planter.pick(&["median", "COUNT", "stddev", "json_agg", ""]);
    let field = planter.maker.sortable_field(planter.resource)?;
    let entry = planter.append(FIELDS, json!({ "fn": function, "field": field.name, "as": "planted" }));
    fault("QS312", format!("{entry}/fn"))
}
