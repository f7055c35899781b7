//! Many relation filters in one statement: beside each other, in each other, and what they mean where links are NULL.

use serde_json::{Value, json};

use crate::{agree, asked, both};

const WIDE: &str = r#"
[resource.t.row]
table = "wides"
[resource.t.row.fields]
id = { type = "int", key = true }
up = "int"
v = "int"
[resource.t.row.relations]
above = { one = "t.row", on = { up = "id" } }
below = { many = "t.row", on = { id = "up" } }
"#;

/// contract Q11.1, contract Q14.3: relation filters beside each other are not weighed against each other in every order.
#[tokio::test(flavor = "multi_thread")]
async fn many_relation_filters_beside_each_other_are_answered() {
    let siblings = |count: i32, relation: &str, inside: &dyn Fn(i32) -> Value| -> Value {
        let filters: Vec<Value> = (0..count).map(|number| json!({ relation: inside(number) })).collect();
        json!({ "and": filters })
    };
    let leaf = |number: i32| json!({ "v": { "ne": number + 20 } });
    let tree = |outer: &str, inner: &'static str| siblings(8, outer, &|_| siblings(8, inner, &leaf));
    let wheres = [
        siblings(40, "above", &leaf),
        siblings(90, "above", &leaf),
        siblings(40, "below", &leaf),
        json!({ "not": siblings(40, "above", &leaf) }),
        json!({ "and": (0..40).map(|number| json!({ "not": { "above": { "v": { "eq": number } } } })).collect::<Vec<_>>() }),
        json!({ "or": (0..12).map(|_| json!({ "above": siblings(8, "above", &leaf) })).collect::<Vec<_>>() }),
        tree("above", "above"),
        tree("below", "above"),
        tree("below", "below"),
    ];
    let script = |series: &str| {
        format!(
            "CREATE TABLE wides (id INTEGER PRIMARY KEY, up INTEGER, v INTEGER); CREATE INDEX wides_up ON wides (up); \
             INSERT INTO wides {series}"
        )
    };
    let postgres = script("SELECT n, n / 2, n % 10 FROM generate_series(1, 200) n");
    let sqlite = script("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 200) SELECT n, n / 2, n % 10 FROM n");
    let answers = both(WIDE, &postgres, &sqlite, &asked(&wheres)).await;
    agree(&answers);
    let counts: Vec<usize> =
        answers.iter().map(|(_, rows, _)| rows.as_ref().map_or(0, |rows| rows.as_array().map_or(0, Vec::len))).collect();
    assert_eq!(counts, [199, 199, 100, 1, 1, 197, 197, 100, 50]);
}

const LABELS: &str = r#"
[resource.t.row]
table = "labels"
[resource.t.row.fields]
id = { type = "int", key = true }
name = "text"
[resource.t.row.relations]
customers = { many = "t.customer", through = "labelings", on = { id = "label_id" }, to = { customer_id = "id" } }
labelings = { many = "t.labeling", on = { id = "labelId" } }

[resource.t.customer]
[resource.t.customer.fields]
id = { type = "int", key = true }
name = "text"
[resource.t.customer.relations]
labels = { many = "t.row", through = "labelings", on = { id = "customer_id" }, to = { label_id = "id" } }
labelings = { many = "t.labeling", on = { id = "customerId" } }

[resource.t.labeling]
[resource.t.labeling.fields]
labelId = { type = "int", key = true }
customerId = { type = "int", key = true }
[resource.t.labeling.relations]
label = { one = "t.row", on = { labelId = "id" } }
customer = { one = "t.customer", on = { customerId = "id" } }
"#;

/// A filter through these relations in turn, with something around each.
fn chain(depth: usize, turns: &[&str], innermost: &Value, around: &dyn Fn(Value) -> Value) -> Value {
    (0..depth).rev().fold(innermost.clone(), |inner, level| around(json!({ turns[level % turns.len()]: inner })))
}

/// contract Q11.1, contract Q14.3: relation filters in each other do not follow every way that leads to a row.
#[tokio::test(flavor = "multi_thread")]
async fn several_paths_to_the_same_rows_are_followed_once() {
    let plain = |inner: Value| inner;
    let or = |inner: Value| json!({ "or": [inner, { "id": { "eq": 77 } }] });
    let not = |inner: Value| json!({ "not": inner });
    let (nowhere, somewhere) = (json!({ "name": { "eq": "z" } }), json!({ "name": { "eq": "n7" } }));
    let direct = ["customers", "labels"];
    let by_way = ["labelings", "customer", "labelings", "label"];
    let mut wheres = Vec::new();
    for innermost in [&nowhere, &somewhere] {
        wheres.extend([3, 4, 5, 10].map(|depth| chain(depth, &direct, innermost, &plain)));
        wheres.extend([4, 6, 8, 10].map(|depth| chain(depth, &by_way, innermost, &plain)));
        wheres.extend([4, 5].map(|depth| chain(depth, &direct, innermost, &or)));
        wheres.extend([4, 5].map(|depth| chain(depth, &direct, innermost, &not)));
    }
    let script = |series: &str| {
        format!(
            "CREATE TABLE labels (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT); \
             CREATE TABLE labelings (label_id INTEGER NOT NULL, customer_id INTEGER NOT NULL, PRIMARY KEY (label_id, customer_id)); \
             CREATE INDEX labelings_customer ON labelings (customer_id); \
             INSERT INTO labels SELECT n, 'n' || n FROM {series} AS n; INSERT INTO customers SELECT n, 'n' || n FROM {series} AS n; \
             INSERT INTO labelings SELECT labels.id, customers.id FROM labels, customers"
        )
    };
    let postgres = script("generate_series(1, 20)");
    let sqlite = script("(WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20) SELECT n FROM n)");
    agree(&both(LABELS, &postgres, &sqlite, &asked(&wheres)).await);
}

const CROWDED: &str = r#"
[resource.t.row]
table = "people"
soft-delete = "gone"
[resource.t.row.fields]
id = { type = "int", key = true }
crowdId = "int"
name = "text"
gone = "timestamp"
[resource.t.row.relations]
crowd = { one = "t.crowd", on = { crowdId = "id" } }
peers = { many = "t.row", on = { crowdId = "crowdId" } }

[resource.t.crowd]
[resource.t.crowd.fields]
id = { type = "int", key = true }
[resource.t.crowd.relations]
people = { many = "t.row", on = { id = "crowdId" } }
"#;

/// contract Q11.1, contract Q14.3: rows that hundreds lead to are not looked at once for each of them, and again at each level.
#[tokio::test(flavor = "multi_thread")]
async fn large_cyclic_relations_are_answered() {
    let plain = |inner: Value| inner;
    let or = |inner: Value| json!({ "or": [inner, { "id": { "eq": 77 } }] });
    let nowhere = json!({ "name": { "eq": "nobody" } });
    let mut wheres = Vec::new();
    for depth in [1, 2, 3, 4, 6] {
        wheres.push(chain(depth, &["peers"], &nowhere, &plain));
        wheres.push(chain(depth.min(5), &["peers"], &nowhere, &or));
        wheres.push(json!({ "not": chain(depth, &["peers"], &nowhere, &plain) }));
    }
    for depth in [2, 4, 6, 8, 10] {
        wheres.push(chain(depth, &["crowd", "people"], &nowhere, &plain));
        wheres.push(chain(depth, &["crowd", "people"], &json!({ "name": { "eq": "p7" } }), &plain));
    }
    let script = |time: &str, series: &str, analyze: &str| {
        format!(
            "CREATE TABLE crowds (id INTEGER PRIMARY KEY); CREATE TABLE people (id INTEGER PRIMARY KEY, crowd_id INTEGER, name TEXT, gone {time}); \
             CREATE INDEX people_crowd ON people (crowd_id); INSERT INTO crowds VALUES (0), (1), (2); \
             INSERT INTO people SELECT n, n % 3, 'p' || n, NULL FROM {series} AS n; {analyze}"
        )
    };
    let sqlite = |count: usize| {
        let series = format!("(WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {count}) SELECT n FROM n)");
        script("TEXT", &series, "")
    };
    // Many rows with statistics, and few rows of which the planner knows nothing and expects one.
    for (count, analyze) in [(900, "ANALYZE"), (40, "")] {
        let postgres = script("TIMESTAMPTZ", &format!("generate_series(1, {count})"), analyze);
        let answers = both(CROWDED, &postgres, &sqlite(count), &asked(&wheres)).await;
        agree(&answers);
        let found = |index: usize| answers[index].1.as_ref().map_or(0, |rows| rows.as_array().map_or(0, Vec::len));
        assert_eq!((found(0), found(2), found(16)), (0, count, count / 3 + usize::from(count % 3 > 0)), "{count}");
    }
}

/// contract Q14.3: SQLite bounds the depth of an expression, which whole lists behind each other must not come near.
#[tokio::test(flavor = "multi_thread")]
async fn long_lists_of_conditions_are_no_deep_expressions() {
    let leaf = json!({ "id": { "gte": 0, "lte": 100_000, "ne": 55, "gt": -1 } });
    let list = |outer: usize, inner: usize| json!({ "and": vec![json!({ "and": vec![leaf.clone(); inner] }); outer] });
    let inside = |relation: &str, clause: Value| json!({ relation: clause });
    let wheres = [
        list(16, 15),
        list(15, 16),
        json!({ "and": vec![leaf.clone(); 240] }),
        inside("crowd", inside("people", list(16, 15))),
        inside("peers", list(16, 15)),
        json!({ "and": [list(8, 15), inside("peers", list(8, 15))] }),
        json!({ "not": list(16, 15) }),
        json!({ "or": [list(8, 15), list(8, 15)] }),
    ];
    let rows = "INSERT INTO crowds VALUES (1); INSERT INTO people VALUES (1, 1, 'a', NULL), (55, 1, 'b', NULL)";
    let script = |time: &str| {
        format!(
            "CREATE TABLE crowds (id INTEGER PRIMARY KEY); \
             CREATE TABLE people (id INTEGER PRIMARY KEY, crowd_id INTEGER, name TEXT, gone {time}); {rows}"
        )
    };
    agree(&both(CROWDED, &script("TIMESTAMPTZ"), &script("TEXT"), &asked(&wheres)).await);
}

const PAIRED: &str = r#"
[resource.t.row]
table = "nodes"
soft-delete = "goneAt"
[resource.t.row.fields]
id = { type = "int", key = true }
a = "int"
b = "text"
p = "int"
q = "text"
goneAt = "timestamp"
[resource.t.row.relations]
next = { many = "t.row", on = { a = "p", b = "q" } }
from = { many = "t.row", on = { p = "a" } }
linked = { many = "t.row", through = "links", on = { a = "one" }, to = { other = "id" } }
"#;

/// contract Q6.1: a relation filter is true or false, never unknown, however it is evaluated.
#[tokio::test(flavor = "multi_thread")]
async fn links_that_are_null_connect_nothing_at_any_depth() {
    let plain = |inner: Value| inner;
    let not = |inner: Value| json!({ "not": inner });
    let every = json!({});
    let small = json!({ "id": { "lte": 6 } });
    let mut wheres = Vec::new();
    for turns in [&["next"][..], &["from"], &["linked"], &["next", "linked", "from"], &["linked", "next"]] {
        for innermost in [&every, &small] {
            for depth in 1..=5 {
                wheres.push(chain(depth, turns, innermost, &plain));
                wheres.push(chain(depth, turns, innermost, &not));
                wheres.push(json!({ "not": chain(depth, turns, innermost, &plain) }));
            }
        }
    }
    let rows: Vec<String> = (1..=40)
        .map(|n: i32| {
            let number = |value: i32, every: i32| if n % every == 0 { "NULL".to_owned() } else { value.to_string() };
            let text = |value: i32, every: i32| if n % every == 0 { "NULL".to_owned() } else { format!("'t{value}'") };
            let gone = if n % 13 == 0 { "'2024-01-01T00:00:00.000000Z'" } else { "NULL" };
            format!("({n}, {}, {}, {}, {}, {gone})", number(n % 7, 5), text(n % 2, 9), number(n * 3 % 11, 4), text(n % 3, 8))
        })
        .collect();
    let links: Vec<String> =
        (1..=60).map(|n: i32| if n % 6 == 0 { format!("(NULL, {n})") } else { format!("({}, {})", n % 9, n) }).collect();
    let script = |time: &str| {
        format!(
            "CREATE TABLE nodes (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, p INTEGER, q TEXT, gone_at {time}); \
             CREATE TABLE links (one INTEGER, other INTEGER); \
             INSERT INTO nodes VALUES {}; INSERT INTO links VALUES {}",
            rows.join(", "),
            links.join(", ")
        )
    };
    let answers = both(PAIRED, &script("TIMESTAMPTZ"), &script("TEXT"), &asked(&wheres)).await;
    agree(&answers);
    let some = answers
        .iter()
        .filter(|(_, rows, _)| rows.as_ref().is_ok_and(|rows| rows.as_array().is_some_and(|rows| !rows.is_empty() && rows.len() < 37)));
    assert!(some.count() > wheres.len() / 2, "most of the statements tell rows apart");
}
