//! Random constraints on both databases and in the oracle: a variable that the account lacks closes every constraint that mentions it,
//! directly or through the constraints that it follows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;

use oracle::{Answer, Operation, Question, Random, Schema, World};
use query::catalog::Catalog;
use query::policy::{self, Viewer};
use query::{parse, plan, sql};
use serde_json::{Value, json};
use store::Database;
use store::run::Format;

/// The `where` of derived fields, by their names.
type Filters = BTreeMap<&'static str, Value>;

/// The resources, in the order in which constraints may follow relations: never backwards, so that none leads back to itself.
const RESOURCES: [&str; 4] = ["t.a", "t.b", "t.c", "t.d"];
const VARIABLES: [&str; 3] = ["$account.meta.region", "$account.meta.rank", "$account.dTenants"];
const ROWS: i64 = 12;
const MANIFESTS: u64 = 40;

/// A relation of the resource with this number, and the number of its target.
fn relations(resource: usize) -> &'static [(&'static str, usize)] {
    match resource {
        0 => &[("b", 1), ("cs", 2), ("ds", 3)],
        1 => &[("c", 2), ("ds", 3)],
        2 => &[("d", 3)],
        _ => &[],
    }
}

fn declared(resource: usize) -> &'static str {
    match resource {
        0 => {
            "b = { one = \"t.b\", on = { next = \"id\" } }\n\
             cs = { many = \"t.c\", on = { id = \"back\" } }\n\
             ds = { many = \"t.d\", through = \"pairs\", on = { id = \"a_id\" }, to = { d_id = \"id\" } }\n"
        }
        1 => "c = { one = \"t.c\", on = { next = \"id\" } }\nds = { many = \"t.d\", on = { id = \"back\" } }\n",
        2 => "d = { one = \"t.d\", on = { next = \"id\" } }\n",
        _ => "",
    }
}

/// A derived field of the resource with this number: its name, its function and the number of its target.
fn derived(resource: usize) -> &'static [(&'static str, &'static str, usize)] {
    match resource {
        0 => &[("cCount", "count = \"cs\"", 2), ("dRank", "max = \"ds.rank\"", 3), ("bits", "sum = \"cs.back\"", 2)],
        1 => &[("dAny", "exists = \"ds\"", 3)],
        _ => &[],
    }
}

/// A condition on a derived field.
fn derived_test(name: &str) -> Value {
    match name {
        "dAny" => json!({ name: { "eq": true } }),
        "bits" => json!({ name: { "isNull": false } }),
        _ => json!({ name: { "gte": 1 } }),
    }
}

/// A condition on the row's own fields; some of them name a variable.
fn leaf(random: &mut Random) -> Value {
    match random.below(8) {
        0 => json!({ "region": { "eq": VARIABLES[0] } }),
        1 => json!({ "region": { "ne": VARIABLES[0] } }),
        2 => json!({ "rank": { "lte": VARIABLES[1] } }),
        3 => json!({ "rank": { "in": [1, VARIABLES[1]] } }),
        4 => json!({ "region": { "in": VARIABLES[2] } }),
        5 => json!({ "region": { "notIn": VARIABLES[2] } }),
        6 => json!({ "rank": { "gt": 1 } }),
        _ => json!({ "region": { "isNull": false } }),
    }
}

fn clause(random: &mut Random, resource: usize, depth: usize) -> Value {
    let related = random.choose(relations(resource)).copied();
    match (random.below(7), related) {
        (0, _) if depth > 0 => json!({ "not": clause(random, resource, depth - 1) }),
        (1, _) if depth > 0 => json!({ "or": [clause(random, resource, depth - 1), clause(random, resource, depth - 1)] }),
        (2, _) if depth > 0 => json!({ "and": [clause(random, resource, depth - 1), clause(random, resource, depth - 1)] }),
        (3, Some((name, target))) if depth > 0 => json!({ name: clause(random, target, depth - 1) }),
        (4, Some((name, _))) => json!({ name: {} }),
        (5, _) if !derived(resource).is_empty() => derived_test(random.pick(derived(resource)).0),
        _ => leaf(random),
    }
}

/// An inline value of TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// The manifest, and the `where` of each derived field.
fn manifest(constraints: &[Option<Value>], filters: &Filters) -> String {
    let mut text = String::new();
    for (number, name) in RESOURCES.iter().enumerate() {
        _ = write!(text, "[resource.{name}]\ntable = \"{}\"\n", &name[2..]);
        if let Some(clause) = &constraints[number] {
            _ = writeln!(text, "constraint = {}", toml(&json!({ "where": clause })));
        }
        _ = write!(text, "[resource.{name}.fields]\nid = {{ type = \"int\", key = true }}\nnext = \"int\"\nback = \"int\"\n");
        _ = write!(text, "region = \"text\"\nrank = \"int\"\n");
        for (name, function, _) in derived(number) {
            let filter = filters.get(name).map(|clause| format!(", where = {}", toml(clause))).unwrap_or_default();
            _ = writeln!(text, "{name} = {{ {function}{filter} }}");
        }
        _ = write!(text, "[resource.{name}.relations]\n{}", declared(number));
    }
    text
}

fn row(resource: usize, id: i64) -> Value {
    let shift = id + i64::try_from(resource).expect("a small number");
    let mut row = json!({ "id": id, "next": shift % 9, "back": shift * 5 % 13 });
    if shift % 5 != 4 {
        row["region"] = json!(["north", "south"][usize::try_from(shift % 2).expect("a small number")]);
    }
    row["rank"] = json!(shift * 7 % 4);
    row
}

fn pairs() -> Vec<Value> {
    (0..20).map(|number| json!({ "a_id": number % 7, "d_id": number * 3 % 11 })).collect()
}

fn script() -> String {
    let mut text = "CREATE TABLE pairs (a_id int, d_id int);".to_owned();
    for pair in pairs() {
        _ = write!(text, "INSERT INTO pairs VALUES ({}, {});", pair["a_id"], pair["d_id"]);
    }
    for (number, name) in RESOURCES.iter().enumerate() {
        let table = &name[2..];
        _ = write!(text, "CREATE TABLE {table} (id int PRIMARY KEY NOT NULL, next int, back int, region text, rank int);");
        for id in 0..ROWS {
            let row = row(number, id);
            let region = row["region"].as_str().map_or("NULL".to_owned(), |region| format!("'{region}'"));
            _ = write!(text, "INSERT INTO {table} VALUES ({id}, {}, {}, {region}, {});", row["next"], row["back"], row["rank"]);
        }
    }
    text
}

fn world(manifest: &str) -> World {
    let rows = RESOURCES.iter().enumerate().map(|(number, name)| ((*name).to_owned(), (0..ROWS).map(|id| row(number, id)).collect()));
    World::new(Schema::parse(manifest), &rows.collect(), BTreeMap::from([("pairs".to_owned(), pairs())]))
}

/// An account without the variables of these numbers.
fn account(missing: &[usize]) -> Value {
    let mut account = json!({ "id": "1", "meta": { "region": "north", "rank": 2 }, "dTenants": ["north"] });
    for number in missing {
        match number {
            0 => account["meta"]["region"] = Value::Null,
            1 => _ = account["meta"].as_object_mut().unwrap().remove("rank"),
            _ => _ = account.as_object_mut().unwrap().remove("dTenants"),
        }
    }
    account
}

/// Whether the constraint of a resource mentions one of the variables, itself or through what it follows.
fn mentions(constraints: &[Option<Value>], filters: &Filters, resource: usize, variables: &[usize]) -> bool {
    let clause = constraints[resource].as_ref();
    clause.is_some_and(|clause| clause_mentions(constraints, filters, resource, clause, variables))
}

fn clause_mentions(constraints: &[Option<Value>], filters: &Filters, resource: usize, value: &Value, variables: &[usize]) -> bool {
    let inside = |resource: usize, value: &Value| clause_mentions(constraints, filters, resource, value, variables);
    let entry = |(key, value): (&String, &Value)| {
        let relation = relations(resource).iter().find(|(name, _)| name == key).map(|(_, target)| (*target, Some(value)));
        let field = derived(resource).iter().find(|(name, ..)| name == key).map(|(name, _, target)| (*target, filters.get(name)));
        match relation.or(field) {
            Some((target, clause)) => {
                mentions(constraints, filters, target, variables) || clause.is_some_and(|clause| inside(target, clause))
            }
            None => inside(resource, value),
        }
    };
    match value {
        Value::String(text) => variables.iter().any(|number| VARIABLES[*number] == text),
        Value::Array(items) => items.iter().any(|item| inside(resource, item)),
        Value::Object(entries) => entries.iter().any(entry),
        _ => false,
    }
}

async fn listed(catalog: &Catalog, database: &Database, resource: &str, viewer: &Viewer, query: &Value) -> Vec<Value> {
    let entrance = policy::authorize_read(catalog, catalog.by_name(resource).expect("a resource"), viewer).expect("a way in");
    let body = parse::body(json!({ "query": query }).to_string().as_bytes()).expect("a body");
    let plan = plan::plan(entrance, body.query, plan::Operation::List, None).expect("a plan");
    let bytes = match Box::pin(database.run(sql::render(&plan, database.dialect()), Format::Json)).await.expect("rows") {
        store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => bytes.to_vec(),
        store::Answer::Chunks(chunks) => support::whole(chunks).await.expect("rows"),
        store::Answer::Nothing => panic!("a list is always there"),
    };
    serde_json::from_slice(&bytes).expect("JSON")
}

// contract P2.11, contract P2.7, contract P2.8, attack 70
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_variable_closes_every_constraint_that_follows_it() {
    let server = support::Postgres::with(&script()).await;
    let file = support::Sqlite::with(&script());
    let databases = [support::open(&server.url), support::open(&file.url)];
    let (mut open, mut closed) = (0, 0);
    for seed in 0..MANIFESTS {
        let mut random = Random::new(seed);
        let constraints: Vec<Option<Value>> =
            (0..RESOURCES.len()).map(|number| (!random.one_in(4)).then(|| clause(&mut random, number, 4))).collect();
        let mut filters = Filters::new();
        for (name, _, target) in RESOURCES.iter().enumerate().flat_map(|(number, _)| derived(number)) {
            if !random.one_in(3) {
                filters.insert(*name, clause(&mut random, *target, 1));
            }
        }
        let text = manifest(&constraints, &filters);
        let world = world(&text);
        for database in &databases {
            let catalog = support::catalog(&text, database).await;
            for missing in [&[][..], &[0], &[1], &[2], &[0, 1, 2]] {
                let viewer = oracle::Viewer { name: "somebody", permissions: Vec::new(), account: account(missing) };
                for (number, resource) in RESOURCES.iter().enumerate() {
                    let related = relations(number)
                        .iter()
                        .map(|(name, _)| json!({ "where": { "not": { *name: {} } }, "order": [{ "field": "id" }] }));
                    for query in std::iter::once(json!({ "order": [{ "field": "id" }] })).chain(related) {
                        let told = || format!("seed {seed}, {missing:?} missing, {resource} {query}\n{text}");
                        let rows = listed(&catalog, database, resource, &Viewer::new([], viewer.account.clone()), &query).await;
                        let question =
                            Question { viewer: &viewer, resource, operation: &Operation::List, query: Some(&query), constraint: None };
                        let Answer::Rows(expected) = oracle::answer_in(&world, question) else { panic!("a list") };
                        assert_eq!(rows, expected, "{:?}: {}", database.dialect(), told());
                        if mentions(&constraints, &filters, number, missing) {
                            assert_eq!(rows, Vec::<Value>::new(), "{}", told());
                            closed += 1;
                        } else if !rows.is_empty() {
                            open += 1;
                        }
                    }
                }
            }
        }
    }
    drop(databases);
    server.drop().await;
    assert!(closed > 500 && open > 500, "the generator has gone stale: {closed} closed, {open} open");
}
