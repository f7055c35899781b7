//! The data of the differential test of writes: a manifest, rows, scripts for both databases, and viewers.

use super::database::{Check, ForeignKey, Table};
use crate::fixture::script::{Dialect, insert};
use crate::schema::Schema;
use crate::viewer::Viewer;
use crate::world::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The text of the manifest, for the server under test.
pub const WRITE_MANIFEST: &str = include_str!("../../fixture/writes/manifest.toml");

/// The tables on PostgreSQL, without rows.
pub fn write_postgres_script() -> &'static str {
    include_str!("../../fixture/writes/postgres.sql")
}

/// The tables on SQLite, without rows.
pub fn write_sqlite_script() -> &'static str {
    include_str!("../../fixture/writes/sqlite.sql")
}

/// The tables in an order that foreign keys allow.
const ORDER: [&str; 7] = ["crm.region", "crm.country", "crm.customer", "crm.order", "crm.payment", "crm.sample", "crm.category"];

/// Brings the tables on PostgreSQL to these rows.
pub fn write_postgres_reset(world: &World) -> String {
    reset(Dialect::Postgres, world)
}

/// Brings the tables on SQLite to these rows.
pub fn write_sqlite_reset(world: &World) -> String {
    reset(Dialect::Sqlite, world)
}

fn reset(dialect: Dialect, world: &World) -> String {
    let delete = |name: &&str| format!("DELETE FROM {};\n", world.schema.resource(name).table);
    let deletes: String = ORDER.iter().rev().map(delete).collect();
    let inserts: String = ORDER.iter().map(|name| insert(dialect, world, world.schema.resource(name))).collect();
    deletes + &inserts
}

const ANNA: &str = "a0000000-0000-4000-8000-000000000001";
const BOB: &str = "b0000000-0000-4000-8000-000000000002";

/// The rows before a sequence of writes.
pub fn write_world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::new(Schema::parse(WRITE_MANIFEST), &rows(), BTreeMap::new()).with_tables(tables()))
}

fn rows() -> BTreeMap<String, Vec<Value>> {
    let customer = |id: i64, tenant: &str, number: &str, rest: Value| {
        let mut row = json!({
            "id": id, "tenant": tenant, "number": number, "name": format!("customer {id}"), "visits": 0, "version": 1,
            "createdAt": "2024-01-01T00:00:00Z",
        });
        for (name, value) in rest.as_object().expect("an object") {
            row[name] = value.clone();
        }
        row
    };
    let mut rows = BTreeMap::new();
    rows.insert("crm.region".to_owned(), vec![json!({ "id": 1, "name": "north" }), json!({ "id": 2, "name": "south" })]);
    rows.insert(
        "crm.country".to_owned(),
        vec![json!({ "code": "de" }), json!({ "code": "fr" }), json!({ "code": "yu", "closedAt": "1992-04-27T00:00:00Z" })],
    );
    rows.insert(
        "crm.customer".to_owned(),
        vec![
            customer(
                1,
                "a",
                "a",
                json!({ "status": "new", "countryCode": "de", "credit": "10.50", "points": 5, "regionId": 1, "email": "ana@example.org" }),
            ),
            customer(2, "a", "b", json!({ "status": "closed", "points": 49, "countryCode": "yu", "secret": "old" })),
            customer(3, "a", "c", json!({ "status": "open", "deletedAt": "2024-02-01T00:00:00Z", "token": "t" })),
            customer(4, "b", "a", json!({ "status": "new", "credit": "999.9", "visits": i64::MAX, "email": "bea@example.org" })),
            customer(5, "b", "b", json!({ "points": 60, "ownerId": BOB })),
            customer(6, "c", "a", json!({ "status": "open", "regionId": 2 })),
        ],
    );
    rows.insert(
        "crm.order".to_owned(),
        vec![
            json!({ "customerId": 1, "no": 1, "state": "draft", "total": "1.5", "lines": 3, "weight": 0.5, "labels": ["x"] }),
            json!({ "customerId": 1, "no": 2, "state": "final", "lines": 50 }),
            json!({ "customerId": 2, "no": 1, "state": "paid", "placedAt": "2024-03-01T10:00:00Z" }),
            json!({ "customerId": 3, "no": 1, "state": "draft" }),
            json!({ "customerId": 4, "no": 1, "state": "draft", "total": "-1", "weight": 1e308 }),
        ],
    );
    rows.insert(
        "crm.payment".to_owned(),
        vec![
            json!({ "id": "00000000-0000-4000-8000-00000000000a", "customerId": 1, "orderNo": 2, "reference": "r1", "code": 1, "amount": 5,
                    "method": "card", "version": 1 }),
            json!({ "id": "00000000-0000-4000-8000-00000000000b", "customerId": 4, "orderNo": 1, "reference": "r2", "code": 2, "version": 1 }),
            json!({ "id": "00000000-0000-4000-8000-00000000000c", "reference": "r3", "amount": 7, "version": 1 }),
        ],
    );
    rows.insert(
        "crm.sample".to_owned(),
        vec![
            json!({ "code": "s1", "owner": ANNA, "words": ["w"], "small": i32::MAX, "exact": "1.50", "real": 0.1, "doc": { "a": [1, null] } }),
            json!({ "code": "s2", "owner": ANNA, "words": ["w", null], "at": "2024-01-01T10:00:00.5Z", "days": ["2024-02-29"] }),
            json!({ "code": "s3", "owner": BOB, "words": [""], "big": i64::MIN, "flag": true }),
        ],
    );
    rows.insert(
        "crm.category".to_owned(),
        vec![
            json!({ "code": "k1", "tenant": "a", "position": 1 }),
            json!({ "code": "k2", "tenant": "a", "parentCode": "k1" }),
            json!({ "code": "k3", "tenant": "b" }),
            json!({ "code": "k4", "tenant": "a", "parentCode": "k3", "position": 0 }),
        ],
    );
    rows
}

fn tables() -> BTreeMap<String, Table> {
    let customer = Table {
        defaults: vec![("name", json!("nobody")), ("visits", json!(7))],
        makes_key: true,
        unique: vec![&["id"], &["email"], &["tenant", "number"]],
        foreign_keys: vec![ForeignKey { fields: &["regionId"], target: "crm.region", target_fields: &["id"] }],
        checks: Vec::new(),
    };
    let order = Table {
        defaults: vec![("state", json!("draft"))],
        unique: vec![&["customerId", "no"]],
        foreign_keys: vec![ForeignKey { fields: &["customerId"], target: "crm.customer", target_fields: &["id"] }],
        ..Table::default()
    };
    let payment = Table {
        defaults: vec![("version", json!(3))],
        unique: vec![&["id"], &["reference"], &["code"], &["customerId", "orderNo", "amount"]],
        foreign_keys: vec![ForeignKey { fields: &["customerId", "orderNo"], target: "crm.order", target_fields: &["customerId", "no"] }],
        checks: vec![
            Check { fields: &["amount"], clause: json!({ "amount": { "ne": 13 } }) },
            Check { fields: &["orderNo", "amount"], clause: json!({ "or": [{ "orderNo": { "ne": 1 } }, { "amount": { "ne": 5 } }] }) },
        ],
        ..Table::default()
    };
    let sample = Table { unique: vec![&["code"]], ..Table::default() };
    let category = Table {
        unique: vec![&["code"]],
        foreign_keys: vec![ForeignKey { fields: &["parentCode"], target: "crm.category", target_fields: &["code"] }],
        ..Table::default()
    };
    let named =
        [("crm.category", category), ("crm.customer", customer), ("crm.order", order), ("crm.payment", payment), ("crm.sample", sample)];
    named.into_iter().map(|(name, table)| (name.to_owned(), table)).collect()
}

/// All viewers of the writes.
pub fn write_viewers() -> &'static [Viewer] {
    static VIEWERS: OnceLock<Vec<Viewer>> = OnceLock::new();
    VIEWERS.get_or_init(make)
}

pub fn write_viewer(name: &str) -> &'static Viewer {
    write_viewers().iter().find(|viewer| viewer.name == name).unwrap_or_else(|| panic!("no viewer {name:?}"))
}

fn make() -> Vec<Viewer> {
    let all = write_world().schema.permissions();
    let without = |lacking: &[&str]| -> Vec<String> { all.iter().filter(|name| !lacking.contains(&name.as_str())).cloned().collect() };
    let viewer = |name, permissions: Vec<String>, account: Value| Viewer { name, permissions, account };
    let account = |id: &str, tenant: &str| json!({ "id": id, "meta": { "tenant": tenant } });
    let bound = ["crm.tenants", "crm.locked"];
    vec![
        viewer("chief", all.iter().cloned().collect(), account("c0000000-0000-4000-8000-000000000003", "a")),
        viewer("anna", without(&bound), account(ANNA, "a")),
        // Reads no regions, sees no email and writes none.
        viewer("bob", without(&[&bound[..], &["crm.region.read", "crm.customer.pii", "crm.customer.email"]].concat()), account(BOB, "b")),
        // Is bound by the constraint, and not by scope and check.
        viewer("keeper", without(&["crm.tenants", "crm.customer.delete"]), account("d0000000-0000-4000-8000-000000000004", "a")),
        // Writes what it may not read.
        viewer("feeder", without(&[&bound[..], &["crm.customer.read", "crm.order.read", "crm.sample.read"]].concat()), account(ANNA, "a")),
        // Has no tenant.
        viewer("stray", without(&bound), json!({ "id": "e0000000-0000-4000-8000-000000000005", "meta": {} })),
        viewer("anonymous", Vec::new(), json!({ "id": "00000000-0000-0000-0000-000000000000", "dPermissions": { "all": [] } })),
    ]
}
