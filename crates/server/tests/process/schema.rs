//! `peristyle schema`

use serde_json::Value;

use crate::program::{Folder, MANIFEST};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

// contract B3.3
#[test]
fn the_descriptions_need_the_manifest_and_no_database() {
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let run = |arguments: &[&str]| {
        folder.run(&[&["schema"], arguments].concat(), &[("DATABASE_URL", "postgres://nobody@127.0.0.1:1/none")]).good()
    };
    let openapi = json(&run(&["openapi"]));
    assert_eq!(openapi["openapi"], "3.1.0");
    assert_eq!(openapi, json(&run(&["openapi", "--json"])));
    let all = json(&run(&["json-schema"]));
    assert!(all["$defs"]["ShopCustomerStatement"].is_object() && all["$defs"]["ShopOrder"].is_object());
    let one = json(&run(&["json-schema", "shop.order"]));
    assert_eq!((&one["$id"], &one["$ref"]), (&"urn:peristyle:schema:shop.order".into(), &"#/$defs/ShopOrderStatement".into()));
    let typescript = run(&["typescript"]);
    assert!(typescript.contains("export interface ShopCustomerWhere {"), "{typescript}");
    let wrapped = json(&run(&["typescript", "--json"]));
    assert_eq!(wrapped["typescript"].as_str().map(str::trim_end), Some(typescript.trim_end()));
    for arguments in [&["openapi", "--json"][..], &["json-schema", "--json"], &["typescript", "--json"]] {
        assert_eq!(run(arguments).lines().count(), 1, "{arguments:?}");
    }
    assert!(!folder.path("shop.db").exists() && !folder.path("peristyle.db").exists());
}

/// A resource whose type name would be this one: `keyAlone.x` for `KeyAloneX`.
fn resource_with_type_name(definition: &str) -> Option<String> {
    let lower = |word: &str| word[..1].to_ascii_lowercase() + &word[1..];
    let (context, resource) = definition.split_at(definition.rfind(char::is_uppercase).filter(|start| *start > 0)?);
    let (context, resource) = (lower(context), lower(resource));
    // A name in the hub's own context is refused; the name of a field's enum gives way to a resource.
    let is_free = !["iam", "hub", "oAuth", "auth"].contains(&context.as_str()) && !definition.starts_with("IamAccountType");
    is_free.then(|| format!("{context}.{resource}"))
}

// contract I29.1
#[test]
fn on_a_hub_every_description_includes_its_own_resources() {
    let folder = Folder::new();
    let hub = [("OAUTH_STRATEGY", "local-provider"), ("DATABASE_URL", "sqlite://hub.db")];
    // The own resources of a hub need no manifest.
    let run = |line: &str| folder.run(&line.split(' ').collect::<Vec<_>>(), &hub).good();
    let openapi = json(&run("schema openapi"));
    assert!(openapi["paths"]["/api/iam/accounts/create"].is_object() && openapi["paths"]["/token"].is_object());
    let all = json(&run("schema json-schema"));
    assert!(all["$defs"]["IamAccountStatement"].is_object() && all["$defs"]["IamCreateAccountInput"].is_object());
    assert_eq!(json(&run("schema json-schema oAuth.client"))["$ref"], "#/$defs/OAuthClientStatement");
    assert!(run("schema graphql").contains("iamCreateAccount(payload: IamCreateAccountInput!): IamAccount"));
    assert!(run("schema typescript").contains("export interface IamCreateAccountInput {"));
    assert!(!folder.path("hub.db").exists(), "no database is opened");
    folder.write("peristyle.toml", MANIFEST);
    let both = run("schema graphql");
    assert!(both.contains("shopGetCustomers") && both.contains("type Mutation"));
    let alone = folder.run(&["schema", "graphql"], &[]).good();
    assert!(!alone.contains("Mutation") && !alone.contains("Iam"));
    assert!(!folder.run(&["schema", "openapi"], &[]).good().contains("securitySchemes"));
    // The names of resources do not change the hub's own definitions.
    let schemas = |document: &Value| document["components"]["schemas"].as_object().expect("schemas").clone();
    let clashing: Vec<String> = schemas(&openapi).keys().filter_map(|name| resource_with_type_name(name)).collect();
    let declare = |names: &[String]| {
        let resource = |name: &String| format!("[resource.{name}.fields]\nid = {{ type = \"int\", key = true }}\n");
        folder.write("peristyle.toml", &names.iter().map(resource).collect::<String>());
    };
    declare(&clashing);
    // A resource cannot take the name of a GraphQL type.
    let refused = folder.run(&["schema", "openapi"], &hub).err();
    let accepted: Vec<String> = clashing.into_iter().filter(|name| !refused.contains(&format!("`{name}`"))).collect();
    assert!(accepted.len() >= 100 && accepted.contains(&"key.alone".to_owned()) && accepted.contains(&"token.response".to_owned()));
    declare(&accepted);
    let now = schemas(&json(&run("schema openapi")));
    for (name, schema) in schemas(&openapi) {
        assert_eq!(now.get(&name), Some(&schema), "{name}");
    }
    let rows: Vec<&str> = now.values().filter_map(|schema| schema["description"].as_str()).collect();
    for name in &accepted {
        assert!(rows.iter().any(|text| text.contains(&format!("A row of `{name}`"))), "{name} is not described");
    }
    let all = run("schema json-schema");
    assert_eq!((all.matches("\n    \"KeyAlone\": {").count(), all.matches("\n    \"KeyAlone_\": {").count()), (1, 1));
    assert_eq!(run("schema typescript").matches("export interface KeyAlone {").count(), 1);
}

// contract I29.1
#[test]
fn check_and_explain_know_the_hub_s_records() {
    let folder = Folder::new();
    let hub = [("OAUTH_STRATEGY", "local-provider"), ("DATABASE_URL", "sqlite://hub.db")];
    let run = |line: &str| folder.run(&line.split(' ').collect::<Vec<_>>(), &hub).good();
    folder.write("hub.db", "");
    run("keys generate");
    let text = run("check");
    assert!(text.contains("peristyle migrate") && text.contains("9 resource(s): 0 error(s), 1 warning(s)"), "{text}");
    run("migrate");
    assert_eq!(json(&run("check --json"))["warnings"], 0);
    folder.write("statement.json", r#"{"where": {"username": {"eq": "ana"}}, "relations": {"roles": true}}"#);
    let explained = json(&run("explain iam.account statement.json --json --analyze"));
    assert!(explained["levels"][0]["sql"].as_str().is_some_and(|sql| sql.contains("peristyle_current_account")), "{explained}");
}

// contract B3.1, contract B3.3
#[test]
fn schema_reports_what_to_fix() {
    let folder = Folder::new();
    let finished = folder.run(&["schema", "openapi"], &[]);
    finished.refused();
    assert!(finished.err().contains("peristyle.toml does not exist; `peristyle introspect` writes one"), "{}", finished.err());
    folder.write("peristyle.toml", MANIFEST);
    let finished = folder.run(&["schema", "json-schema", "shop.custmer"], &[]);
    finished.refused();
    assert!(finished.err().contains("shop.custmer") && finished.err().contains("shop.customer, shop.order"), "{}", finished.err());
    assert_eq!(finished.err().lines().count(), 1);
    for arguments in [
        &["schema", "--help"][..],
        &["schema", "openapi", "--help"],
        &["schema", "json-schema", "--help"],
        &["schema", "typescript", "--help"],
    ] {
        assert!(folder.run(arguments, &[]).good().contains("Example"), "{arguments:?}");
    }
}
