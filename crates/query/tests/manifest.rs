//! Faults of a manifest: each names its line and what is accepted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use query::catalog::Catalog;
use query::manifest::Manifest;

/// Two resources with relations to each other and a constraint each.
fn manifest(first: &str, second: &str) -> String {
    format!(
        "[resource.t.first]\n{first}\n\
         [resource.t.first.fields]\nid = {{ type = \"int\", key = true }}\nsecondId = \"int\"\n\
         [resource.t.first.relations]\nsecond = {{ one = \"t.second\", on = {{ secondId = \"id\" }} }}\nsiblings = {{ many = \"t.first\", on = {{ secondId = \"secondId\" }} }}\n\
         [resource.t.second]\n{second}\n\
         [resource.t.second.fields]\nid = {{ type = \"int\", key = true }}\nname = \"text\"\n\
         [resource.t.second.relations]\nfirsts = {{ many = \"t.first\", on = {{ id = \"secondId\" }} }}\n"
    )
}

/// The faults as `line: message`; empty for a valid manifest.
fn faults(text: &str) -> Vec<String> {
    let read = Manifest::read(text).and_then(|manifest| Catalog::resolve(&manifest));
    read.err().map(|error| error.0.iter().map(|fault| format!("{}: {}", fault.line, fault.message)).collect()).unwrap_or_default()
}

// contract P2.9, contract P2.8, contract P1.6
#[test]
fn constraints_that_lead_to_each_other_are_refused() {
    let onward = "constraint = { where = { second = {} } }";
    let back = "constraint = { where = { or = [{ name = { eq = \"x\" } }, { not = { firsts = {} } }] } }";
    assert_eq!(faults(&manifest(onward, "")), Vec::<String>::new());
    assert_eq!(faults(&manifest("", back)), Vec::<String>::new());
    let circle = faults(&manifest(onward, back));
    assert_eq!(circle.len(), 2, "{circle:?}");
    assert!(circle.iter().all(|fault| fault.contains("leads back to itself")), "{circle:?}");
    // Relations that a constraint loads also follow constraints.
    for more in ["relations = { second = true }", "order = [{ field = \"second.name\" }]"] {
        let onward = format!("constraint = {{ where = {{ second = {{}} }}, {more} }}");
        assert_eq!(faults(&manifest(&onward, back)).len(), 2, "{more}");
    }
    let own = faults(&manifest("constraint = { where = { siblings = {} } }", ""));
    assert!(own.len() == 1 && own[0].starts_with("2: ") && own[0].contains("`t.first`"), "{own:?}");
    let there_and_back = faults(&manifest("constraint = { where = { second = { firsts = { id = { gt = 1 } } } } }", ""));
    assert_eq!(there_and_back.len(), 1, "{there_and_back:?}");
}

// contract P2.9
#[test]
fn a_constraint_has_neither_offset_nor_aggregation() {
    for (constraint, word) in [
        ("constraint = { offset = 5 }", "`offset`"),
        ("constraint = { relations = { siblings = { offset = 1 } } }", "`offset`"),
        ("constraint = { relations = { siblings = { relations = { second = { offset = 1 } } } } }", "`offset`"),
        ("constraint = { where = { id = { gt = 1 } }, aggregation = { fields = [{ fn = \"count\", field = \"*\" }] } }", "`aggregation`"),
    ] {
        let faults = faults(&manifest(constraint, ""));
        assert!(!faults.is_empty() && faults.iter().all(|fault| fault.starts_with("2: ")), "{faults:?}");
        assert!(faults.len() == 1 && faults[0].contains(word), "{faults:?}");
    }
    let takes = "takes `where`, `relations`, `order`, `limit`";
    for (constraint, fault) in [
        (
            "unles = \"a.b.c\", where = { id = { gt = 1 } }",
            format!("unknown key `unles` (did you mean `unless`?); a constraint {takes}, `unless`"),
        ),
        ("aggregation = {}", format!("a constraint cannot have `aggregation`; it {takes}, `unless`")),
        (
            "relations = { siblings = { wher = {} } }",
            format!("unknown key `wher` (did you mean `where`?); a relation of a constraint {takes}"),
        ),
    ] {
        assert_eq!(faults(&manifest(&format!("constraint = {{ {constraint} }}"), "")), [format!("2: {fault}")]);
    }
}

// contract P2.7, contract P1.6, contract P1.1
#[test]
fn a_constraint_is_checked_when_it_is_read() {
    for (constraint, word) in [
        ("constraint = { where = { nobody = { eq = 1 } } }", "nobody"),
        ("constraint = { where = { id = { like = 1 } } }", "like"),
        ("constraint = { where = { id = { eq = \"one\" } } }", "whole number"),
        ("constraint = { where = { id = { eq = \"$tenant\" } } }", "$account"),
        ("constraint = { where = { id = { in = [\"$account.id\", \"x\"] } } }", "whole number"),
        ("constraint = { where = { id = { eq = \"$account.\" } } }", "names no value"),
        ("constraint = { where = { id = { eq = \"$account..id\" } } }", "names no value"),
        ("constraint = { where = { id = { eq = \"$account.id x\" } } }", "names no value"),
        ("constraint = { relations = { nobody = true } }", "nobody"),
        ("constraint = { relations = { siblings = { where = { id = { in = [1, \"x\"] } } } } }", "whole number"),
        ("constraint = { relations = { siblings = { where = { id = { eq = \"$tenant\" } } } } }", "$account"),
        ("constraint = { order = [{ field = \"nobody\" }] }", "nobody"),
        ("constraint = { limit = 10001 }", "10000"),
        ("constraint = { attributes = [\"id\"] }", "attributes"),
    ] {
        let faults = faults(&manifest(constraint, ""));
        assert!(faults.iter().any(|fault| fault.starts_with("2: ") && fault.contains(word)), "{constraint}: {faults:?}");
    }
    assert_eq!(
        faults(&manifest(
            "constraint = { where = { id = { in = \"$account.ids\", ne = 0xff } }, order = [{ field = \"id\" }], limit = 0x10 }",
            ""
        )),
        Vec::<String>::new()
    );
}

// contract P1.5, contract P1.6
#[test]
fn a_reserved_context_is_refused_in_every_spelling() {
    for context in ["iam", "Iam", "hub", "Hub", "oAuth", "OAuth", "auth", "Auth"] {
        let found = faults(&format!("\n[resource.{context}.thing.fields]\nid = \"int\"\n"));
        assert!(found.len() == 1 && found[0].starts_with("2: ") && found[0].contains(context), "{context}: {found:?}");
    }
    for context in ["IAM", "oauth", "iamData", "authors"] {
        assert_eq!(faults(&format!("[resource.{context}.thing.fields]\nid = \"int\"\n")), Vec::<String>::new(), "{context}");
    }
}

// contract P1.6
#[test]
fn a_value_of_an_enum_is_declared_once() {
    for kind in ["enum", "enum[]"] {
        let field =
            |values: &str| format!("[resource.t.first.fields]\nid = \"int\"\nstate = {{ type = \"{kind}\", values = [{values}] }}\n");
        let found = faults(&field("\"new\", \"paid\", \"new\""));
        assert!(found.len() == 1 && found[0].starts_with("3: ") && found[0].contains("\"new\" twice"), "{found:?}");
        assert_eq!(faults(&field("\"new\", \"New\"")), Vec::<String>::new());
    }
}

// contract P1.6
#[test]
fn what_names_a_broken_declaration_is_not_judged() {
    for (first, last) in [("\"int\"", "\"inteeger\""), ("\"inteeger\"", "\"int\"")] {
        let text = format!(
            "[resource.t.first]\nsoft-delete = \"parentId\"\nconstraint = {{ where = {{ parent = {{ parentId = {{ eq = 1 }} }} }} }}\n\
             [resource.t.first.write]\nupdate = true\nversion = \"parentId\"\nscope = {{ where = {{ id = {{ eq = 1 }} }} }}\nkeys = [[\"id\"]]\n\
             [resource.t.first.fields]\nid = {{ type = {first}, key = true }}\nparentId = {last}\ncount = {{ max = \"parents.parentId\" }}\n\
             [resource.t.first.relations]\nparent = {{ one = \"t.first\", on = {{ parentId = \"id\" }} }}\n\
             parents = {{ many = \"t.first\", on = {{ id = \"parentId\" }} }}\n"
        );
        let found = faults(&text);
        assert!(found.len() == 1 && found[0].contains("unknown type \"inteeger\""), "{found:#?}");
    }
    let unnamed = "[resource.t.bad-name.fields]\nid = \"int\"\n[resource.t.b.fields]\nid = \"int\"\n[resource.t.b.relations]\nbad = { one = \"t.bad-name\", on = { id = \"id\" } }\n";
    let found = faults(unnamed);
    assert!(found.len() == 1 && found[0].starts_with("1: ") && found[0].contains("bad-name"), "{found:#?}");
}

// contract P1.6
#[test]
fn all_faults_are_told_at_once_in_the_order_of_the_file() {
    let text = r#"[resource.t.first]
public = 5
permission = 7
constraint = { where = { nobody = { eq = 1 } } }
[resource.t.first.write]
create = false
update = true
max-rows = 0
keys = ["name"]
scope = { unles = "t.first.all", where = { name = { eqq = 1 } } }
check = { unless = 5, where = { name = { eq = 5 } } }
[resource.t.first.fields]
id = { type = "int", key = 1 }
name = { type = "text", write = "x", null = "no", colour = "red" }
late = { type = "texxt" }
seen = { count = "others", type = "int", key = true }
month = { bucket = "decade", of = "id" }
[resource.t.first.relations]
other = { one = "t.nowhere", on = { id = "id" } }
others = { many = "t.first", through = 4, on = { id = 5 } }
"#;
    let lines = |found: &[String]| -> Vec<usize> {
        found.iter().map(|fault| fault.split_once(':').and_then(|(line, _)| line.parse().ok()).unwrap_or_default()).collect()
    };
    let found = faults(text);
    assert_eq!(lines(&found), [2, 3, 4, 6, 8, 9, 10, 10, 11, 11, 13, 14, 14, 14, 15, 16, 16, 17, 19, 20, 20], "{found:#?}");
    for words in [
        "`max-rows` must be a whole number from 1 to 10000",
        "`keys` must be a list of keys, each a list of fields",
        "unknown key `unles` (did you mean `unless`?); `scope` takes `where`, `unless`",
        "`unless` must be the name of a permission",
        "`check`: at \"/where/name/eq\"",
        "unknown key `colour`",
    ] {
        assert!(found.iter().any(|fault| fault.contains(words)), "{words}: {found:#?}");
    }
}

/// The faults of a writable resource with these keys of `[….write]` and these fields beside its key.
fn write_faults(write: &str, fields: &str) -> Vec<String> {
    faults(&format!(
        "[resource.t.first]\nsoft-delete = \"gone\"\n[resource.t.first.write]\ncreate = \"t.first.create\"\n{write}\n[resource.t.first.fields]\nid = {{ type = \"int\", key = true }}\ngone = \"timestamp\"\n{fields}\n"
    ))
}

// contract P1.6, contract W1.4
#[test]
fn a_fault_of_a_write_rule_names_its_line_and_what_is_accepted() {
    assert_eq!(
        write_faults("max-rows = 10000\nkeys = [[\"id\"], [\"gone\", \"id\"]]", "a = { type = \"text\", write = true }"),
        Vec::<String>::new()
    );
    for (write, words) in [
        ("max-rows = -1", "5: `max-rows` must be a whole number from 1 to 10000"),
        ("max-rows = 10001", "5: `max-rows` must be a whole number from 1 to 10000"),
        ("keys = [[\"id\", \"id\"]]", "5: an entry of `keys` names `id` twice"),
        ("keys = [[\"gone\", \"id\"], [\"id\", \"gone\"]]", "5: `keys` has (id, gone) twice"),
        ("scope = 5", "5: `scope` must be a table with `where`"),
        ("check = { unless = \"t.first.all\" }", "5: `check` must be a table with `where`"),
        ("upsert = true", "5: unknown key `upsert`"),
    ] {
        let found = write_faults(write, "");
        assert!(found.len() == 1 && found[0].starts_with(words), "{write}: {found:#?}");
    }
    for (operation, needs) in [("restore", "a restore"), ("delete", "a delete")] {
        let text = format!(
            "[resource.t.first]\nsoft-delete = \"gone\"\n[resource.t.first.write]\n{operation} = true\n[resource.t.first.fields]\n\
             id = {{ type = \"int\", key = true }}\ngone = \"bool\"\n"
        );
        let expected = format!("2: `soft-delete` names `gone` of type bool; {needs} needs a timestamp there");
        assert!(faults(&text).iter().any(|fault| fault.contains(&expected)), "{:#?}", faults(&text));
    }
    for (field, words) in [
        ("a = { type = \"text\", write = true, pattern = \"a)|(b\" }", "`pattern` is not a regular expression"),
        (
            "a = { type = \"int\", preset = { create = \"$account.id\" } }",
            "`$account.id` fits a uuid, a text or json; this field has type int",
        ),
        ("a = { type = \"text\", preset = { create = \"$account.dTenants\" } }", "`$account.dTenants` fits uuid[], text[] or json"),
        ("a = { type = \"uuid[]\", preset = { create = \"$account.tags\" } }", "`$account.tags` fits text[], enum[] or json"),
        ("a = { type = \"text\", preset = { create = \"$account.isActive\" } }", "`$account.isActive` fits a bool or json"),
        ("a = { type = \"int\", preset = { create = \"$account.email\" } }", "`$account.email` fits a text, another type"),
        ("a = { type = \"text\", preset = { create = \"$account.nope\" } }", "a value that does not begin with `$` and a letter"),
        ("a = { type = \"text\", preset = { create = \"$tenant\" } }", "unknown `preset` \"$tenant\""),
        ("a = { type = \"text\", preset = { create = \"a\\u0000\" } }", "field `a`: its `preset` cannot contain U+0000"),
        ("a = 5", "field `a` must be its type or a table: `a = \"text\"` or"),
    ] {
        let found = write_faults("", field);
        assert!(found.len() == 1 && found[0].starts_with("9: ") && found[0].contains(words), "{field}: {found:#?}");
    }
    for field in [
        "a = { type = \"text\", preset = { create = \"$5 off\" } }",
        "a = { type = \"text\", preset = { create = \"$\" } }",
        "a = { type = \"text[]\", preset = { create = \"$account.tags\" } }",
        "a = { type = \"uuid[]\", preset = { create = \"$account.dTenants\" } }",
        "a = { type = \"json\", preset = { create = \"$account.scopes\" } }",
        "a = { type = \"bool\", preset = { create = \"$account.isActive\" } }",
        "a = { type = \"int\", preset = { create = \"$account.meta.level\" } }",
        "a = { type = \"text\", write = true, pattern = \"a|b\" }",
        "a = { type = \"text\", write = true, pattern = \"(?x) a | b # letters\" }",
    ] {
        assert_eq!(write_faults("", field), Vec::<String>::new(), "{field}");
    }
    let unknown = "[resource.t.first.write]\nCreate = true\n[resource.t.first.fields]\nid = { type = \"int\", key = true }\n";
    assert_eq!(faults(unknown).len(), 1, "one mistake is one fault: {:?}", faults(unknown));
}

/// The faults of one more field of `t.second`, which has the relation `firsts`.
fn field_faults(field: &str) -> Vec<String> {
    let text = manifest("", "").replace("name = \"text\"\n", &format!("name = \"text\"\ndata = \"json\"\non = \"date\"\n{field}\n"));
    faults(&text)
}

// contract P5.1, contract P5.6
#[test]
fn a_fault_of_a_derived_field_names_its_line_and_what_is_accepted() {
    for field in [
        "many = { count = \"firsts\" }",
        "has = { exists = \"firsts\", where = { secondId = { gt = 1 }, second = { name = { eq = \"x\" } } } }",
        "sum = { sum = \"firsts.id\", eager = false, mask = \"redact\", unmask = \"t.see\" }",
        "a = { json = \"data\", path = [\"a\", \"b\"], type = \"enum\", values = [\"x\"] }",
        "month = { bucket = \"month\", of = \"on\" }",
    ] {
        assert_eq!(field_faults(field), Vec::<String>::new(), "{field}");
    }
    for (field, words) in [
        ("x = { count = \"first\" }", "`first`, which is not a relation of `t.second` (did you mean `firsts`?)"),
        ("x = { count = \"firsts.id\" }", "`count` takes a relation"),
        ("x = { sum = \"firsts\" }", "`sum` takes a relation and a field"),
        ("x = { sum = \"firsts.nothing\" }", "`nothing`, which is not a field of `t.first`"),
        ("x = { sum = \"firsts.id\", count = \"firsts\" }", "a derived field has one of them"),
        ("x = { count = \"firsts\", type = \"int\" }", "does not take `type`"),
        ("x = { count = \"firsts\", key = true }", "does not take `key`, since it has no column"),
        ("x = { type = \"int\", where = { } }", "`where` is accepted for a derived field only"),
        ("x = { count = \"firsts\", where = { nothing = { eq = 1 } } }", "has no field or relation `nothing`"),
        ("x = { count = \"firsts\", where = { secndId = { eq = 1 } } }", "(did you mean `secondId`?)"),
        ("x = { min = \"firsts.id\", type = \"decimal\" }", "to compute the value from related rows, leave out `type`"),
        ("x = { count = \"firsts\", where = { id = { eq = \"x\" } } }", "`id` of type int"),
        ("x = { json = \"name\", path = [\"a\"], type = \"text\" }", "needs a field of type json; `name` has type text"),
        ("x = { json = \"data\", type = \"text\" }", "needs `path`"),
        ("x = { json = \"data\", path = [], type = \"text\" }", "at least one name"),
        ("x = { json = \"data\", path = [\"a\", 0], type = \"text\" }", "`path = [\"items\", \"0\"]`"),
        ("x = { json = \"data\", path = [\"a\"] }", "needs the `type`"),
        ("x = { json = \"data\", path = [\"a\"], type = \"json\" }", "found \"json\""),
        ("x = { bucket = \"decade\", of = \"on\" }", "`bucket` must be one of"),
        ("x = { bucket = \"hour\", of = \"on\" }", "a date, which has no hours"),
        ("x = { bucket = \"day\", of = \"on\", zone = \"Europe/Berlin\" }", "leave out `zone`"),
        ("x = { bucket = \"day\", of = \"name\" }", "needs a date or a timestamp"),
        ("at = \"timestamp\"\nx = { bucket = \"day\", of = \"at\", zone = \"Mars Base\" }", "found \"Mars Base\""),
        (
            "secret = { type = \"json\", mask = \"redact\" }\nx = { json = \"secret\", path = [\"a\"], type = \"text\" }",
            "nobody could see the value",
        ),
    ] {
        let faults = field_faults(field);
        let line = format!("{}: ", 16 + field.matches('\n').count());
        assert!(faults.len() == 1 && faults[0].starts_with(&line) && faults[0].contains(words), "{field}: {faults:?}");
    }
    let one = faults(&manifest("", "").replace("secondId = \"int\"\n", "secondId = \"int\"\nx = { count = \"second\" }\n"));
    assert!(one.len() == 1 && one[0].contains("needs a to-many relation"), "{one:?}");
    let joined = manifest("", "")
        .replace("name = \"text\"\n", "name = \"text\"\nx = { count = \"firsts\" }\n")
        .replace("{ id = \"secondId\" }", "{ x = \"secondId\" }");
    assert!(faults(&joined).iter().any(|fault| fault.contains("a derived field and cannot be a join column")), "{:?}", faults(&joined));
}

// contract P5.6
#[test]
fn derived_fields_that_lead_back_to_themselves_are_refused() {
    let of_first = |field: &str, text: &str| text.replace("secondId = \"int\"\n", &format!("secondId = \"int\"\n{field}\n"));
    let of_second = |field: &str, text: &str| text.replace("name = \"text\"\n", &format!("name = \"text\"\n{field}\n"));
    let plain = manifest("", "");
    // By what they measure, by what they filter, and through a constraint.
    let measured = of_first("x = { sum = \"siblings.x\" }", &plain);
    let filtered = of_first("x = { count = \"siblings\", where = { x = { gt = 1 } } }", &plain);
    let two = of_second(
        "y = { count = \"firsts\", where = { x = { gt = 1 } } }",
        &of_first("x = { count = \"siblings\", where = { second = { y = { gt = 1 } } } }", &plain),
    );
    let constrained = of_first("x = { count = \"siblings\" }", &manifest("constraint = { where = { x = { gt = 1 } } }", ""));
    for (text, count) in [(measured, 1), (filtered, 1), (two, 2), (constrained, 2)] {
        let found = faults(&text);
        assert_eq!(found.len(), count, "{found:?}");
        assert!(found.iter().all(|fault| fault.contains("leads back to itself")), "{found:?}");
    }
    let straight = of_second("y = { max = \"firsts.x\" }", &of_first("x = { count = \"siblings\" }", &plain));
    assert_eq!(faults(&straight), Vec::<String>::new());
}
