//! Periods of dates whose start is hard to find: names of zones that PostgreSQL reads in another way, and the first days of the calendar.

use serde_json::{Value, json};

use crate::{agree, both, support};

/// Uses each field in a filter, an order and groups.
fn uses(fields: &[&str], edge: &str) -> Vec<Value> {
    let order = json!([{ "field": "id" }]);
    let mut all = vec![json!({ "order": order })];
    for field in fields {
        all.extend([
            json!({ "where": { *field: { "isNull": true } }, "order": order }),
            json!({ "where": { *field: { "lt": edge } }, "order": order }),
            json!({ "order": [{ "field": field }, { "field": "id" }] }),
            json!({ "aggregation": { "groupBy": [field], "fields": [{ "fn": "count", "field": "*" }, { "fn": "min", "field": field }] }, "order": [{ "field": field }] }),
        ]);
    }
    all
}

/// contract P5.4: a name that PostgreSQL takes for an abbreviation of a fixed offset is the zone of the time zone database.
#[tokio::test(flavor = "multi_thread")]
async fn a_zone_of_three_letters_has_summer_time() {
    let zones = ["CET", "MET", "EET", "WET", "EST", "MST", "HST"];
    let fields = zones.iter().flat_map(|zone| {
        ["day", "hour", "month"].map(|unit| format!("{unit}{zone} = {{ bucket = \"{unit}\", of = \"at\", zone = \"{zone}\" }}\n"))
    });
    let manifest = support::facts(&[("at", "timestamp")]) + &fields.collect::<String>();
    let rows = ["1991-06-12T07:57:23", "1991-06-12T21:30:00", "2020-01-31T23:30:00", "2020-07-31T22:30:00", "2021-03-28T01:00:00"];
    let script = |kind: &str, end: &str| {
        let rows: Vec<String> = (1..).zip(rows).map(|(id, at)| format!("({id}, '{at}{end}')")).collect();
        format!("CREATE TABLE facts (id int PRIMARY KEY, at {kind}); INSERT INTO facts VALUES {}", rows.join(", "))
    };
    let names: Vec<String> = zones.iter().map(|zone| format!("day{zone}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let asked = uses(&names, "2000-01-01");
    let answers = both(&manifest, &script("timestamptz", "Z"), &script("TEXT", ".000000Z"), &asked).await;
    agree(&answers);
    let first = &answers[0].1.as_ref().expect("rows")[0];
    assert_eq!((&first["dayCET"], &first["dayEET"]), (&json!("1991-06-11T22:00:00Z"), &json!("1991-06-11T21:00:00Z")));
}

/// contract P5.4, contract Q14.4: a period that starts before the year 1 is null wherever it is used.
#[tokio::test(flavor = "multi_thread")]
async fn a_period_that_starts_before_the_first_year_is_null() {
    let names: Vec<String> = ["Havana", "Berlin", "Tokyo", "UTC"]
        .iter()
        .flat_map(|zone| ["hour", "day", "week", "month", "year"].map(|unit| format!("{unit}{zone}")))
        .collect();
    let fields = names.iter().map(|name| {
        let split = name.find(char::is_uppercase).unwrap_or(name.len());
        let zone = match &name[split..] {
            "Havana" => "America/Havana",
            "Berlin" => "Europe/Berlin",
            "Tokyo" => "Asia/Tokyo",
            other => other,
        };
        format!("{name} = {{ bucket = \"{}\", of = \"at\", zone = \"{zone}\" }}\n", &name[..split])
    });
    let manifest = support::facts(&[("at", "timestamp")]) + &fields.collect::<String>();
    let rows = [
        "0001-01-01T00:00:00",
        "0001-01-01T00:20:00",
        "0001-01-01T12:00:00",
        "0001-01-08T00:00:00",
        "0001-12-31T23:59:59",
        "0002-01-08T00:00:00",
    ];
    let script = |kind: &str, end: &str| {
        let rows: Vec<String> = (1..).zip(rows).map(|(id, at)| format!("({id}, '{at}{end}')")).collect();
        format!("CREATE TABLE facts (id int PRIMARY KEY, at {kind}); INSERT INTO facts VALUES (9, NULL), {}", rows.join(", "))
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let asked = uses(&names, "0001-06-01");
    for (kind, end) in [("timestamptz", "Z"), ("timestamp", "")] {
        agree(&both(&manifest, &script(kind, end), &script("TEXT", ".000000Z"), &asked).await);
    }
}
