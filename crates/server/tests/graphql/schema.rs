//! The schema of a manifest.

use peristyle::config::Introspection;
use peristyle::graphql::sdl;
use query::catalog::Catalog;
use query::manifest::Manifest;
use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Setup, get, post, shop};
use crate::{data, send};

/// A type in the schema definition language: `[ShopCustomer!]!`.
fn written(kind: &Value) -> String {
    match kind["kind"].as_str().unwrap() {
        "NON_NULL" => format!("{}!", written(&kind["ofType"])),
        "LIST" => format!("[{}]", written(&kind["ofType"])),
        _ => kind["name"].as_str().unwrap().to_owned(),
    }
}

const TYPE: &str = "query ($name: String!) { __type(name: $name) { kind specifiedByURL
    fields { name description args { name type { ...T } } type { ...T } } inputFields { name type { ...T } } } }
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

fn listed(fields: &Value) -> Vec<String> {
    let fields = fields.as_array().unwrap_or_else(|| panic!("no fields: {fields}"));
    fields.iter().map(|field| format!("{}: {}", field["name"].as_str().unwrap(), written(&field["type"]))).collect()
}

// contract G1.1, contract G1.2, contract G1.6
#[tokio::test]
async fn every_resource_has_its_queries() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let query = data(&server, TYPE, json!({"name": "Query"})).await["__type"].take();
        let fields = listed(&query["fields"]);
        for expected in [
            "shopPaginateCustomers: Pagination!",
            "shopGetCustomers: [ShopCustomer!]!",
            "shopFindCustomer: ShopCustomer",
            "shopFindCustomerById: ShopCustomer",
            "shopFindOrderLineById: ShopOrderLine",
            "bigShopPaginateAppsAccounts: Pagination!",
            "bigShopFindAppAccount: BigShopAppAccount",
            "vaultGetSecretPlans: [VaultSecretPlan!]!",
        ] {
            assert!(fields.iter().any(|field| field == expected), "{backend:?} {expected}: {fields:?}");
        }
        // A resource without a key has no query by key.
        assert!(fields.iter().any(|field| field.starts_with("shopFindNote:")));
        assert!(!fields.iter().any(|field| field.starts_with("shopFindNoteById")), "{fields:?}");
        for field in query["fields"].as_array().unwrap() {
            let arguments = listed(&field["args"]);
            let (id, rest) = arguments.split_at(arguments.len() - 2);
            assert_eq!(rest, ["query: QueryStatementInput", "constraint: QueryStatementInput"], "{field}");
            assert_eq!(!id.is_empty(), field["name"].as_str().unwrap().ends_with("ById"), "{field}");
            assert!(id.iter().all(|id| id == "id: ID!"), "{field}");
        }
        let page = data(&server, TYPE, json!({"name": "Pagination"})).await;
        assert_eq!(listed(&page["__type"]["fields"]), ["total: Int!", "count: Int!", "rows: [JSON]!"], "{backend:?}");
        let input = data(&server, TYPE, json!({"name": "QueryStatementInput"})).await;
        assert_eq!(
            listed(&input["__type"]["inputFields"]),
            ["where: JSON", "relations: JSON", "order: JSON", "aggregation: JSON", "limit: Int", "offset: Int"],
            "{backend:?}"
        );
    }
}

// contract G1.3, contract G1.4, contract G1.5
#[tokio::test]
async fn fields_have_types_and_descriptions_and_hidden_fields_are_absent() {
    for backend in BACKENDS {
        let (server, _database) = shop::open(backend).await;
        let customer = data(&server, TYPE, json!({"name": "ShopCustomer"})).await["__type"].take();
        assert_eq!(
            listed(&customer["fields"]),
            [
                "id: BigInt",
                "name: String",
                "email: String",
                "status: String",
                "visits: Int",
                "balance: Decimal",
                "score: Float",
                "isVip: Boolean",
                "bornOn: Date",
                "wakesAt: Time",
                "createdAt: DateTime",
                "code: UUID",
                "tags: [String]",
                "profile: JSON",
                "orders: [ShopOrder!]",
                "bills: [ShopOrder!]",
                "plans: [VaultSecretPlan!]",
                "_aggregation: JSON",
            ],
            "{backend:?}"
        );
        let fields = customer["fields"].as_array().unwrap();
        assert!(fields.iter().all(|field| field["description"].as_str().is_some_and(|text| !text.is_empty())), "{customer}");
        let status = fields.iter().find(|field| field["name"] == "status").unwrap();
        assert_eq!(status["description"], "`enum`, one of `lead`, `active`, `gone`.");
        for scalar in ["JSON", "DateTime", "Date", "Time", "UUID", "Decimal", "BigInt"] {
            let scalar = data(&server, TYPE, json!({"name": scalar})).await["__type"].take();
            assert_eq!(scalar["kind"], "SCALAR");
            assert!(scalar["specifiedByURL"].as_str().is_some_and(|url| url.starts_with("https://")), "{scalar}");
        }
        let whole = send(&server, "{ __schema { types { name fields { name } } } }", Value::Null).await.text();
        assert!(!whole.contains("apiKey") && !whole.contains("api_key"), "a hidden field is out");
    }
}

// contract G1.7
#[test]
fn the_same_manifest_gives_the_same_schema() {
    let text = || {
        let manifest = Manifest::read(shop::MANIFEST).expect("a manifest");
        sdl(&Catalog::resolve(&manifest).expect("a catalog")).expect("a schema")
    };
    assert_eq!(text(), text());
    assert!(text().contains("  shopPaginateCustomers(query: QueryStatementInput, constraint: QueryStatementInput): Pagination!\n"));
}

// contract G1.8
#[tokio::test]
async fn a_server_without_resources_answers_graphql() {
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let server = Setup::new("").serve(&database).await;
        assert_eq!(data(&server, "{ __typename _service }", Value::Null).await, json!({"__typename": "Query", "_service": "peristyle"}));
    }
}

// contract G1.8
#[tokio::test]
async fn clashing_names_stop_the_process_at_boot() {
    let manifest = "[resource.shop.itemList]\ntable = \"items\"\n[resource.shop.itemList.fields]\nid = { type = \"int\", key = true }\n[resource.shopItem.list]\ntable = \"items\"\n[resource.shopItem.list.fields]\nid = { type = \"int\", key = true }\n";
    for backend in BACKENDS {
        let database = shop::database(backend).await;
        let error = Setup::new(manifest).boot(&database.url).await.map(|_| ()).expect_err("one type for two").to_string();
        assert!(error.contains("`shop.itemList`") && error.contains("`shopItem.list`") && error.contains("`ShopItemList`"), "{error}");
        assert!(error.contains(".toml:5: "), "{error}");
    }
}

// contract G1.9
#[tokio::test]
async fn the_schema_is_served_as_text() {
    let (server, database) = shop::open(Backend::Sqlite).await;
    let schema = server.get("/graphql/schema.graphql").await;
    assert_eq!((schema.status(), schema.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let catalog = Catalog::resolve(&Manifest::read(shop::MANIFEST).expect("a manifest")).expect("a catalog");
    assert_eq!(schema.text(), sdl(&catalog).expect("a schema"));
    let tag = schema.header("etag").expect("a tag").to_owned();
    let again = server.send(&get("/graphql/schema.graphql").header("if-none-match", &tag)).await;
    assert_eq!((again.status(), again.body.len()), (304, 0));
    server.send(&post("/graphql/schema.graphql", "{}")).await.problem(405);
    let server = Setup { introspection: Introspection::Off, ..Setup::new(shop::MANIFEST) }.serve(&database).await;
    assert_eq!(server.get("/graphql/schema.graphql").await.problem(400)["code"], "INTROSPECTION_DISABLED");
}
