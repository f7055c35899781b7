//! Faults in where clauses.

use crate::case::Fault;
use crate::fault::planter::{Planter, Site, Spoiler, fault};
use crate::generate::clause::operators;
use crate::schema::{Field, Kind};
use serde_json::{Value, json};

pub(super) const SPOILERS: &[Spoiler] = &[
    wrong_connector,
    wrong_clause,
    wrong_entry,
    unknown_operator,
    empty_connector,
    no_operators,
    bare_scalar,
    wrong_operand,
    reserved_key,
    unknown_key,
    masked_key,
    wrong_operator,
    wrong_value,
    wrong_value,
    wrong_element,
];

/// A connector that the clause does not have yet.
fn connector(planter: &mut Planter<'_>, (path, _): &Site, among: &[&'static str]) -> Option<String> {
    let free: Vec<&str> = among.iter().copied().filter(|name| planter.body.pointer(&format!("{path}/{name}")).is_none()).collect();
    planter.maker.random.choose(&free).map(|name| format!("{path}/{name}"))
}

fn wrong_connector(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.shallow_clause();
    let path = connector(planter, &site, &["and", "or", "not"])?;
    let value = if path.ends_with("not") { json!([]) } else { json!({}) };
    let value = if planter.maker.random.one_in(2) { value } else { planter.pick(&[json!(5), json!("x"), json!(true), json!(null)]) };
    planter.put(&path, value);
    fault("QS103", path)
}

fn wrong_clause(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.shallow_clause();
    let path = connector(planter, &site, &["and", "or"])?;
    let value = planter.pick(&[json!([]), json!(5), json!("x"), json!(null)]);
    planter.put(&path, json!([value]));
    fault("QS103", format!("{path}/0"))
}

/// An array instead of operators or of the clause of a relation.
fn wrong_entry(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.shallow_clause();
    let relations = planter.maker.relations_of(site.1);
    let name = match planter.maker.random.choose(&relations).copied() {
        Some(relation) if planter.maker.random.one_in(2) => relation.name.clone(),
        _ => planter.free_field(&site, |_| true)?.name.clone(),
    };
    let path = format!("{}/{name}", site.0);
    if planter.body.pointer(&path).is_some() {
        return None;
    }
    planter.put(&path, json!([]));
    fault("QS103", path)
}

fn unknown_operator(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let field = planter.free_field(&site, |_| true)?;
    let operator = planter.pick(&["like", "startsWith", "regexp", "$eq", "EQ", "ilike", "neq", "nin", "any", ""]);
    let path = format!("{}/{}", site.0, field.name);
    planter.put(&path, json!({ "isNull": false, operator: "x" }));
    fault("QS104", format!("{path}/{operator}"))
}

fn empty_connector(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.shallow_clause();
    let path = connector(planter, &site, &["and", "or"])?;
    planter.put(&path, json!([]));
    fault("QS105", path)
}

fn no_operators(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let path = format!("{}/{}", site.0, planter.free_field(&site, |_| true)?.name);
    planter.put(&path, json!({}));
    fault("QS105", path)
}

fn bare_scalar(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let path = format!("{}/{}", site.0, planter.free_field(&site, |_| true)?.name);
    let value = planter.pick(&[json!("x"), json!(5), json!(true), json!(1.5)]);
    planter.put(&path, value);
    fault("QS106", path)
}

fn wrong_operand(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let field = planter.free_field(&site, |_| true)?;
    let operator = planter.pick(&operators(field));
    let good = planter.maker.scalar(site.1, field);
    let values = match operator {
        "in" | "notIn" => vec![good, json!(null), json!({})],
        "between" => vec![json!([good]), json!([good, good, good]), json!([]), good.clone(), json!(null)],
        "isNull" => vec![json!("yes"), json!(1), json!(null), json!([true])],
        "iLike" => vec![json!(5), json!(["x"]), json!(null), json!(true)],
        "contains" | "overlap" => vec![json!({}), json!({ "a": 1 })],
        _ => vec![json!([good]), json!({ "eq": good })],
    };
    let value = planter.pick(&values);
    let path = format!("{}/{}", site.0, field.name);
    planter.put(&path, json!({ operator: value }));
    fault("QS107", format!("{path}/{operator}"))
}

fn reserved_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.shallow_clause();
    let name = planter.pick(&["RAW", "AND", "OR", "NOT"]);
    let path = format!("{}/{name}", site.0);
    planter.put(&path, json!({ "eq": 1 }));
    fault("QS301", path)
}

fn unknown_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.shallow_clause();
    let closed = planter.unknown_relation(site.1);
    let (name, value) = match site.1.relation(&closed) {
        Some(_) if planter.maker.random.one_in(2) => (closed, json!({})),
        _ => (planter.unknown_field(site.1), json!({ "isNull": false })),
    };
    let path = format!("{}/{name}", site.0);
    planter.put(&path, value);
    fault("QS302", path)
}

fn masked_key(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let field = planter.masked_field(site.1)?;
    let operator = planter.pick(&operators(field));
    let value = planter.maker.operand(site.1, field, operator);
    let path = format!("{}/{}", site.0, field.name);
    planter.put(&path, json!({ operator: value }));
    fault("QS304", path)
}

fn wrong_operator(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let field = planter.free_field(&site, |_| true)?;
    let all = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "notIn", "between", "iLike", "contains", "overlap"];
    let admitted = operators(field);
    let refused: Vec<&str> = all.into_iter().filter(|operator| !admitted.contains(operator)).collect();
    let operator = planter.pick(&refused);
    let good = planter.maker.scalar(site.1, field);
    let value = match operator {
        "in" | "notIn" => json!([good]),
        "between" => json!([good, good]),
        "iLike" => json!("x%"),
        _ => good,
    };
    let path = format!("{}/{}", site.0, field.name);
    planter.put(&path, json!({ operator: value }));
    fault("QS305", format!("{path}/{operator}"))
}

fn wrong_value(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let field = planter.free_field(&site, |field| field.kind != Kind::Json)?;
    let takes_scalar = ["eq", "ne", "gt", "gte", "lt", "lte", "contains", "overlap"];
    let admitted: Vec<&str> = operators(field).into_iter().filter(|operator| takes_scalar.contains(operator)).collect();
    let operator = planter.pick(&admitted);
    let value = planter.pick(&misfits(field));
    let code = misfit_code(&value);
    let path = format!("{}/{}", site.0, field.name);
    planter.put(&path, json!({ operator: value }));
    fault(code, format!("{path}/{operator}"))
}

fn wrong_element(planter: &mut Planter<'_>) -> Option<Fault> {
    let site = planter.clause();
    let field = planter.free_field(&site, |field| field.kind != Kind::Json)?;
    let takes_list = ["in", "notIn", "between", "contains", "overlap"];
    let admitted: Vec<&str> = operators(field).into_iter().filter(|operator| takes_list.contains(operator)).collect();
    let operator = planter.pick(&admitted);
    let length = if operator == "between" { 2 } else { 1 + planter.maker.random.below(4) };
    let mut list: Vec<Value> = (0..length).map(|_| planter.maker.scalar(site.1, field)).collect();
    let index = planter.maker.random.below(length);
    list[index] = planter.pick(&misfits(field));
    let code = misfit_code(&list[index]);
    let path = format!("{}/{}", site.0, field.name);
    planter.put(&path, json!({ operator: list }));
    fault(code, format!("{path}/{operator}/{index}"))
}

/// U+0000 has a code of its own; everything else does not fit the type.
fn misfit_code(value: &Value) -> &'static str {
    if value.as_str().is_some_and(|text| text.contains('\0')) { "QS110" } else { "QS306" }
}

/// Scalars that do not fit the field.
fn misfits(field: &Field) -> Vec<Value> {
    match field.kind {
        Kind::Bool => vec![json!("true"), json!(1), json!(0)],
        Kind::Int => vec![json!("x"), json!(2_147_483_648_i64), json!(-2_147_483_649_i64), json!(1.5), json!(true)],
        Kind::Bigint => {
            vec![json!("x"), json!(9_223_372_036_854_775_808_u64), json!("9223372036854775808"), json!(1.5), json!(false), json!("")]
        }
        Kind::Float => vec![json!("x"), json!(true), json!("NaN")],
        Kind::Decimal => vec![json!("x"), json!(true), json!("NaN"), json!(""), json!("1,5"), json!("Infinity")],
        Kind::Text => vec![json!(5), json!(true), json!("nul \u{0} inside")],
        Kind::Uuid => {
            vec![json!("x"), json!(5), json!("aaaaaaaa-0000-4000-8000-00000000000"), json!("gaaaaaaa-0000-4000-8000-000000000001")]
        }
        Kind::Date => vec![json!("yesterday"), json!("2023-02-29"), json!("2024-13-01"), json!(20_240_101)],
        Kind::Time => vec![json!("noon"), json!("25:00:00"), json!("12:60:00"), json!(12), json!("12:00")],
        Kind::Timestamp => {
            vec![json!("yesterday"), json!("2023-02-29T00:00:00Z"), json!("2024-01-01T25:00:00Z"), json!(1_700_000_000), json!(true)]
        }
        Kind::Enum => vec![json!("nope"), json!(""), json!(5), json!("ACTIVE")],
        Kind::Json => Vec::new(),
    }
}
