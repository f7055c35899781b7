//! What `check` says of writes that tell of rows out of reach, of views and triggers, and of rules without effect.

use query::sql::Dialect;
use store::schema::{Schema, read_postgres};

use super::write_check::writable;
use super::{findings, one_resource, sqlite, with_postgres};

/// A resource on `orders` with these lines, whose payload may have these fields.
fn constrained(lines: &str, tenant: &str, number: &str) -> String {
    format!(
        "[resource.app.order]\n{lines}\n[resource.app.order.write]\ncreate = \"app.order.create\"\n[resource.app.order.fields]\n\
         id = {{ type = \"bigint\", key = true }}\ntenant = {{ type = \"text\"{tenant} }}\nnumber = {{ type = \"text\"{number} }}\n\
         gone = \"timestamp\"\nboxId = {{ type = \"bigint\", write = true }}\n\
         [resource.app.order.relations]\nother = {{ many = \"app.other\", on = {{ id = \"id\" }} }}\nbox = {{ one = \"app.box\", on = {{ boxId = \"id\" }} }}\n\
         [resource.app.other]\ntable = \"orders\"\n[resource.app.other.fields]\nid = {{ type = \"bigint\", key = true }}\n\
         [resource.app.box]\ntable = \"boxes\"\n[resource.app.box.fields]\nid = {{ type = \"bigint\", key = true }}\n"
    )
}

// contract W1.6
#[test]
fn check_warns_of_keys_that_tell_of_hidden_rows() {
    let bare = "id INTEGER PRIMARY KEY, tenant TEXT, number TEXT, gone TEXT, box_id INTEGER REFERENCES boxes";
    let database = |more: &str| sqlite(&format!("CREATE TABLE boxes (id INTEGER PRIMARY KEY); CREATE TABLE orders ({bare}{more}"));
    let wide = database(", UNIQUE (number)); CREATE UNIQUE INDEX low ON orders (lower(number))");
    let scoped = database(", UNIQUE (tenant, number))");
    let tenant = "constraint = { where = { tenant = { eq = \"$account.meta.tenant\" } } }";
    let preset = ", preset = { create = \"$account.meta.tenant\" }";
    let tells = "3 warning: resource `app.order`: a conflict on the unique key (number) tells a caller of rows that `constraint` hides";
    let add = |fields: &str| {
        let noun = if fields.contains(',') { "columns" } else { "column" };
        vec![format!("{tells}; add the {noun} of {fields} to the unique key, if that matters")]
    };
    let (write, no) = (", write = true", Vec::<String>::new());
    let found = |lines: &str, of_tenant: &str, number: &str, schema: &Schema| {
        let all = findings(&constrained(lines, of_tenant, number), schema, Dialect::Sqlite);
        all.into_iter().filter(|finding| !finding.contains("no index")).collect::<Vec<_>>()
    };
    assert_eq!(found(tenant, preset, write, &wide), add("`tenant`"), "one warning for both keys");
    assert_eq!(found(&tenant.replace("eq", "in"), preset, write, &wide), add("`tenant`"));
    for (condition, fields) in [
        ("{ tenant = { eq = \"north\" } }", "`tenant`"),
        ("{ or = [{ tenant = { eq = \"$account.id\" } }, { number = { eq = \"1\" } }] }", "`tenant`"),
        ("{ other = {} }", "`id`"),
        ("{ not = { tenant = { eq = \"$account.id\" } } }", "`tenant`"),
        ("{ box = {}, tenant = { eq = \"$account.id\" } }", "`boxId`, `tenant`"),
    ] {
        assert_eq!(found(&format!("constraint = {{ where = {condition} }}"), preset, write, &wide), add(fields), "{condition}");
    }
    assert_eq!(found(tenant, preset, write, &scoped), no);
    assert_eq!(found("", preset, write, &wide), no, "without a constraint every row is in reach");
    assert_eq!(found(tenant, preset, "", &wide), no, "no payload has the number");
    // Who chooses the tenant asks for numbers of another one.
    let chosen = "3 warning: resource `app.order`: a payload can have `tenant`, by which `constraint` hides rows, so a conflict on the unique key (tenant, number) tells of them; set it by `preset` instead of `write`, if that matters";
    assert_eq!(found(tenant, ", write = \"create\"", write, &scoped), [chosen]);
    // Each field of the constraint counts.
    let both = "constraint = { where = { tenant = { eq = \"$account.meta.tenant\" }, boxId = { in = \"$account.meta.boxes\" } } }";
    let add_box = "3 warning: resource `app.order`: a conflict on the unique key (tenant, number) tells a caller of rows that `constraint` hides; add the column of `boxId` to the unique key, if that matters";
    assert_eq!(found(both, preset, write, &scoped), [add_box]);
    // A reference must lead to a row in reach before the key is looked at.
    let lines = database(", UNIQUE (box_id, number))");
    assert_eq!(found("constraint = { where = { box = {} } }", "", write, &lines), no);
    // A caller without the right to read that row may refer to it.
    let boxed = constrained("constraint = { where = { box = {} } }", "", write);
    let closed = boxed.replace("table = \"boxes\"\n", "table = \"boxes\"\npermission = \"app.box.read\"\n");
    let unread = "3 warning: resource `app.order`: a payload can have `boxId`, by which `constraint` hides rows, so a conflict on the unique key (box_id, number) tells of them; set it by `preset` instead of `write`, if that matters";
    let of = |manifest: &str| {
        let all = findings(manifest, &lines, Dialect::Sqlite);
        let is_other = |finding: &String| finding.contains("no index") || finding.contains("by the foreign key");
        all.into_iter().filter(|finding| !is_other(finding)).collect::<Vec<_>>()
    };
    assert_eq!(of(&closed), [unread]);
    assert_eq!(of(&closed.replace("app.order.create", "app.box.read")), no, "all who write can read it");
    // A generated column is computed from what a payload has.
    let computed = database(", low TEXT AS (lower(number)) STORED UNIQUE)");
    let low = tells.replace("(number)", "(low)");
    assert_eq!(found(tenant, preset, write, &computed), [format!("{low}; add the column of `tenant` to the unique key, if that matters")]);
    assert_eq!(found(tenant, preset, "", &computed), no);
    // Deleted rows are out of reach too.
    let deleted = "3 warning: resource `app.order`: a conflict on the unique key (number) tells of deleted rows, whose values cannot be used again; make it a unique index with a condition on gone, such as WHERE gone IS NULL, if that matters";
    let gone = "soft-delete = \"gone\"";
    assert_eq!(found(gone, "", write, &wide), [deleted]);
    let live = database("); CREATE UNIQUE INDEX live ON orders (number) WHERE gone IS NULL");
    assert_eq!(found(gone, "", write, &live), no);
}

// contract W1.6
#[tokio::test]
async fn check_warns_of_keys_behind_views_and_in_generated_columns() {
    let sql = "CREATE TABLE base (id bigint PRIMARY KEY, tenant text, number text UNIQUE, gone timestamptz, box_id bigint,
            low text GENERATED ALWAYS AS (lower(tenant) || box_id) STORED UNIQUE);
        CREATE VIEW inner_orders AS SELECT * FROM base;
        CREATE VIEW orders AS SELECT id, tenant, number, gone, box_id FROM inner_orders;
        CREATE TABLE boxes (id bigint PRIMARY KEY);";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let tenant = "constraint = { where = { tenant = { eq = \"$account.meta.tenant\" } } }";
        let manifest = constrained(tenant, ", preset = { create = \"$account.meta.tenant\" }", ", write = true");
        let of = |manifest: &str| {
            let all = findings(manifest, &schema, Dialect::Postgres).into_iter();
            all.filter(|finding| finding.contains("tells a caller")).collect::<Vec<_>>()
        };
        let tells = |key: &str| {
            format!("3 warning: resource `app.order`: a conflict on the unique key ({key}) tells a caller of rows that `constraint` hides; add the column of `tenant` to the unique key, if that matters")
        };
        assert_eq!(of(&manifest), [tells("number")]);
        let table = manifest.replace("[resource.app.order]\n", "[resource.app.order]\ntable = \"base\"\n").replace("\"orders\"", "\"base\"");
        let after_table = |finding: String| finding.replace("4 warning", "3 warning");
        assert_eq!(of(&table).into_iter().map(after_table).collect::<Vec<_>>(), [tells("low"), tells("number")]);
    })
    .await;
}

// contract W1.6
#[test]
fn check_warns_of_updates_that_meet_rows_out_of_reach() {
    let sql = "CREATE TABLE boxes (id INTEGER PRIMARY KEY, tenant TEXT, code TEXT UNIQUE);
        CREATE TABLE things (id INTEGER PRIMARY KEY, box_code TEXT REFERENCES boxes (code)); CREATE INDEX by_code ON things (box_code);";
    let manifest = |write: &str| {
        format!(
            "[resource.app.box]\nplural = \"boxes\"\n[resource.app.box.write]\nupdate = \"app.box.update\"\n[resource.app.box.fields]\n\
             id = {{ type = \"bigint\", key = true }}\ntenant = {{ type = \"text\", write = true }}\ncode = {{ type = \"text\"{write} }}\n"
        )
    };
    let unseen = "3 warning: resource `app.box`: an update of (code) meets rows out of reach: by the foreign key (box_code) of `things`, rows that no resource shows refuse it with 409 `IN_USE`, or change too; use `write = \"create\"`, if that matters";
    assert_eq!(findings(&manifest(", write = true"), &sqlite(sql), Dialect::Sqlite), [unseen]);
    assert_eq!(findings(&manifest(""), &sqlite(sql), Dialect::Sqlite), Vec::<String>::new());
    // The permission of the update counts, and not that of another operation.
    let things = "[resource.app.thing]\npermission = \"app.thing.read\"\n[resource.app.thing.fields]\n\
        id = { type = \"bigint\", key = true }\nboxCode = \"text\"\n";
    let warns = |rights: &str| {
        let box_manifest = manifest(", write = true").replace("update = \"app.box.update\"", rights);
        let found = findings(&format!("{box_manifest}{things}"), &sqlite(sql), Dialect::Sqlite);
        found.iter().any(|finding| finding.contains("an update of (code) meets rows out of reach"))
    };
    assert!(warns("update = \"app.box.update\"\ndelete = \"app.thing.read\""));
    assert!(!warns("update = \"app.thing.read\"\ndelete = \"app.box.delete\""));
}

/// Items of orders that clients create, with these lines of the order, this field `orderId`, and these relations.
fn items(order: &str, create: &str, rules: &str, relations: &str) -> String {
    format!(
        "[resource.app.item]\n[resource.app.item.write]\ncreate = {create}\n[resource.app.item.fields]\nid = {{ type = \"bigint\", key = true }}\n\
         orderId = {{ type = \"bigint\"{rules} }}\nnote = {{ type = \"text\", write = true }}\n[resource.app.item.relations]\n{relations}\n\
         [resource.app.order]\n{order}\n[resource.app.order.fields]\nid = {{ type = \"bigint\", key = true }}\ngone = \"timestamp\"\n"
    )
}

// contract W1.6
#[test]
fn check_warns_of_references_that_tell_of_unread_rows() {
    let schema = sqlite(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, gone TEXT);
         CREATE TABLE items (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders, note TEXT);
         CREATE INDEX items_by_order ON items (order_id);",
    );
    let found = |text: &str| findings(text, &schema, Dialect::Sqlite);
    let (create, write) = ("\"app.item.create\"", ", write = true");
    let (bare, one) = ("", "order = { one = \"app.order\", on = { orderId = \"id\" } }");
    let get = "permission = \"app.order.get\"";
    let tells = |what: &str, accepted: &str| {
        vec![format!(
            "2 warning: resource `app.item`: by the foreign key (order_id), a write of `orderId` tells {what}; {accepted}, or set `orderId` by `preset`, if that matters"
        )]
    };
    let lacking = "a caller without the permission `app.order.get` whether a row of `app.order` exists";
    assert_eq!(found(&items(get, create, write, one)), tells(lacking, "give `app.order.get` to everybody who may write"));
    let declare = "declare a `one` relation over it, which must lead to a row that the caller can read";
    assert_eq!(found(&items(get, create, write, bare)), tells(lacking, declare));
    assert_eq!(
        found(&items("soft-delete = \"gone\"", create, write, bare)),
        tells("whether a row of `app.order` exists, also a deleted one", declare)
    );
    let constraint = "constraint = { where = { id = { gt = 5 } } }";
    assert_eq!(
        found(&items(constraint, create, write, bare)),
        tells("whether a row of `app.order` exists, also one that its constraint hides", declare)
    );
    let both = items(constraint, create, write, bare);
    let (alone, _) = both.split_once("[resource.app.order]").unwrap();
    assert_eq!(found(alone), tells("whether a row of `orders` exists, and no resource shows its rows", declare));
    // Every writer of the field can read all orders, or the relation must lead to one in reach.
    let no = Vec::<String>::new();
    assert_eq!(found(&items("", create, write, bare)), no);
    assert_eq!(found(&items(constraint, create, write, one)), no);
    assert_eq!(found(&items(get, "\"app.order.get\"", write, one)), no);
    assert_eq!(found(&items(get, create, ", write = true, write-permission = \"app.order.get\"", one)), no);
    assert_eq!(found(&items(get, create, ", preset = { create = \"$account.meta.order\" }", bare)), no);
    assert_eq!(found(&items(get, create, "", bare)), no, "no payload has the reference");
}

const BOXES: &str = "
    CREATE TABLE boxes (id INTEGER PRIMARY KEY, tenant TEXT, UNIQUE (tenant, id));
    CREATE TABLE things (id INTEGER PRIMARY KEY, tenant TEXT, gone TEXT, box_id INTEGER REFERENCES boxes ON DELETE CASCADE);
    CREATE INDEX things_by_box ON things (box_id);";

/// Boxes of a tenant that can be deleted, and things in them with these lines.
fn boxes(things: &str) -> String {
    let tenant = "constraint = { where = { tenant = { eq = \"$account.meta.tenant\" } } }";
    format!(
        "[resource.app.box]\nplural = \"boxes\"\n{tenant}\n[resource.app.box.write]\ndelete = \"app.box.delete\"\n\
         [resource.app.box.fields]\nid = {{ type = \"bigint\", key = true }}\ntenant = \"text\"\n\
         [resource.app.thing]\n{things}\n[resource.app.thing.fields]\nid = {{ type = \"bigint\", key = true }}\ntenant = \"text\"\n\
         gone = \"timestamp\"\nboxId = \"bigint\"\n[resource.app.thing.relations]\nbox = {{ one = \"app.box\", on = {{ boxId = \"id\" }} }}\n"
    )
}

// contract W1.6
#[tokio::test]
async fn check_warns_of_deletes_that_meet_rows_out_of_reach() {
    let tenant = "constraint = { where = { tenant = { eq = \"$account.meta.tenant\" } } }";
    let meets = |whose: &str, effect: &str| {
        let end = "declare `soft-delete`, or remove `delete`, if that matters";
        vec![format!(
            "4 warning: resource `app.box`: `delete` meets rows out of reach: by the foreign key (box_id) of `things`, {whose} {effect}; {end}"
        )]
    };
    let deleted = "are deleted too (ON DELETE CASCADE)";
    let found = |things: &str, sql: &str| findings(&boxes(things), &sqlite(sql), Dialect::Sqlite);
    let no = Vec::<String>::new();
    let hidden = "rows of `app.thing` that its constraint hides";
    assert_eq!(found(tenant, BOXES), meets(hidden, deleted));
    assert_eq!(found(tenant, &BOXES.replace(" CASCADE", " SET NULL")), meets(hidden, "are changed (ON DELETE SET NULL or SET DEFAULT)"));
    assert_eq!(
        found(tenant, &BOXES.replace(" ON DELETE CASCADE", "")),
        meets(hidden, "are told by 409 `IN_USE`, since they refuse the delete")
    );
    assert_eq!(found("soft-delete = \"gone\"", BOXES), meets("deleted rows of `app.thing`", deleted));
    // The things of a box in reach are in reach.
    assert_eq!(found("", BOXES), no);
    let unseen = "rows of `app.thing` that a caller without the permission `app.thing.get` cannot see";
    assert_eq!(found("permission = \"app.thing.get\"", BOXES), meets(unseen, deleted));
    assert_eq!(found("permission = \"app.box.delete\"", BOXES), no);
    assert_eq!(found("constraint = { where = { box = {} } }", BOXES), no);
    // The foreign key has the tenant, by which both are constrained.
    let joint = BOXES
        .replace("box_id INTEGER REFERENCES boxes ON", "box_id INTEGER, FOREIGN KEY (tenant, box_id) REFERENCES boxes (tenant, id) ON");
    assert_eq!(found(tenant, &joint), no);
    let open = boxes(tenant).replacen(tenant, "", 1);
    assert_eq!(findings(&open, &sqlite(&joint), Dialect::Sqlite).len(), 1, "boxes of all tenants are in reach");
    // Nobody can see the rows of an undeclared table, and a pivot has no rows to see.
    let links = format!(
        "{BOXES} CREATE TABLE marks (box_id INTEGER REFERENCES boxes ON DELETE CASCADE); CREATE INDEX marks_by_box ON marks (box_id);"
    );
    let unseen = "4 warning: resource `app.box`: `delete` meets rows out of reach: by the foreign key (box_id) of `marks`, rows that no resource shows are deleted too (ON DELETE CASCADE); declare `soft-delete`, or remove `delete`, if that matters";
    assert_eq!(found("", &links), [unseen]);
    let postgres =
        BOXES.replace("INTEGER PRIMARY KEY", "bigint PRIMARY KEY").replace("INTEGER", "bigint").replace("gone TEXT", "gone timestamptz");
    with_postgres("", &postgres, move |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        assert_eq!(findings(&boxes(tenant), &schema, Dialect::Postgres), meets(hidden, deleted));
        let change = "ALTER TABLE things DROP CONSTRAINT things_box_id_fkey, ADD FOREIGN KEY (box_id) REFERENCES boxes";
        client.batch_execute(change).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        let refused = "are told by 409 `IN_USE`, since they refuse the delete";
        assert_eq!(findings(&boxes(tenant), &schema, Dialect::Postgres), meets(hidden, refused));
    })
    .await;
}

// contract W1.6
#[tokio::test]
async fn views_and_triggers_decide_what_they_write() {
    let sql = "
        CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL, age int);
        CREATE TABLE notes (id int PRIMARY KEY, by_who text NOT NULL, line text);
        CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        CREATE TRIGGER fill BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION nothing();
        CREATE VIEW shouts AS SELECT id, upper(name) AS name FROM people;
        CREATE TRIGGER instead INSTEAD OF UPDATE ON shouts FOR EACH ROW EXECUTE FUNCTION nothing();
        CREATE VIEW rules AS SELECT id, upper(name) AS name FROM people GROUP BY id;
        CREATE RULE instead AS ON UPDATE TO rules DO INSTEAD UPDATE people SET name = NEW.name WHERE id = OLD.id;
        CREATE VIEW counts AS SELECT age AS id, count(*) AS n FROM people GROUP BY age;
        CREATE TRIGGER instead INSTEAD OF INSERT OR UPDATE OR DELETE ON counts FOR EACH ROW EXECUTE FUNCTION nothing();
        CREATE VIEW ages AS SELECT id, age FROM people;
        CREATE MATERIALIZED VIEW olds AS SELECT id, age FROM people;";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let id = "id = { type = \"int\", key = true, write = \"create\" }";
        let of = |name: &str, write: &str, fields: &str| {
            let found = findings(&writable(name, write, fields), &schema, Dialect::Postgres);
            found.into_iter().filter(|finding| !finding.contains("is unique is taken from")).collect::<Vec<_>>()
        };
        let name = "id = { type = \"int\", key = true }\nname = { type = \"text\", write = true }";
        assert_eq!(of("shout", "update = \"a.b.c\"", name), Vec::<String>::new(), "a trigger writes the computed column");
        let locks = |word: &str, view: &str| {
            format!("3 error: resource `app.{}`: `{word}` locks its rows first, but the view `{view}` with GROUP BY, DISTINCT, UNION, a window function or an outer join has no rows to lock; remove `{word}`, or name a table in `table`", &view[..view.len() - 1])
        };
        assert_eq!(of("rule", "update = \"a.b.c\"", name), [locks("update", "rules")]);
        let counts = format!("{id}\nn = {{ type = \"bigint\", write = true }}");
        assert_eq!(
            of("count", "create = \"a.b.c\"\nupdate = \"a.b.c\"\ndelete = \"a.b.c\"", &counts),
            [locks("update", "counts"), locks("delete", "counts")]
        );
        assert_eq!(of("count", "create = \"a.b.c\"", &counts), Vec::<String>::new(), "a new row needs no lock");
        let ages = format!("{id}\nage = {{ type = \"int\", write = true }}");
        let missing = "3 error: resource `app.age`: `create` has no value for column `name` of the table behind the view `ages`, which is NOT NULL and has no default; add the column to the view, give it a default, or remove `create`";
        assert_eq!(of("age", "create = \"a.b.c\"", &ages), [missing]);
        let changed = "id = { type = \"int\", key = true }\nage = { type = \"int\", write = true }";
        assert_eq!(of("age", "update = \"a.b.c\"", changed), Vec::<String>::new());
        let materialized = "3 error: resource `app.old`: `update` needs UPDATE, which the materialized view `olds` does not take; remove `update`, or name a table in `table`";
        assert_eq!(of("old", "update = \"a.b.c\"", changed), [materialized]);
        let notes = format!("{id}\nbyWho = {{ type = \"text\", null = false }}\nline = {{ type = \"text\", write = true }}");
        let filled = "7 warning: field `byWho` of `app.note`: `create` has no value for column `by_who` of `notes`, which is NOT NULL and has no default; unless its BEFORE INSERT trigger has one, the database refuses every new row";
        assert_eq!(of("note", "create = \"a.b.c\"", &notes), [filled]);
    })
    .await;
}

// contract W1.6
#[test]
fn check_warns_of_rules_without_effect() {
    let schema = sqlite("CREATE TABLE notes (id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT, gone TEXT)");
    let fields = "id = { type = \"bigint\", key = true }\na = { type = \"text\", write = \"update\" }\nb = { type = \"text\", min-length = 1 }\n\
                  c = { type = \"text\", preset = { update = \"x\" } }\ngone = \"timestamp\"";
    let of = |write: &str| findings(&writable("note", write, fields), &schema, Dialect::Sqlite);
    let bare = one_resource("notes", "", fields);
    let unwritable = "1 warning: resource `app.notes`: the write rules of `a`, `b`, `c` have no effect without `[resource.app.notes.write]`; name its operations there, or remove the rules";
    assert_eq!(findings(&bare, &schema, Dialect::Sqlite), [unwritable]);
    let expected = [
        "7 warning: field `a` of `app.note`: `write` has no effect, since the resource has no `update`",
        "8 warning: field `b` of `app.note`: its value rules have no effect without `write`",
        "9 warning: field `c` of `app.note`: `preset.update` has no effect, since the resource has no `update`",
    ];
    assert_eq!(of("create = \"a.b.c\""), expected);
    assert_eq!(of("update = \"a.b.c\""), [expected[1]]);
    let keys = "scope = { where = { a = { eq = \"x\" } } }\nmax-rows = 5";
    let created = [
        "3 warning: resource `app.note`: `scope` has no effect, since the resource has no `update`, no `delete` and no `restore`",
        "3 warning: resource `app.note`: `max-rows` has no effect, since the resource has no `update` and no `delete`",
    ];
    assert_eq!(of(&format!("create = \"a.b.c\"\n{keys}"))[..2], created);
    let check = "3 warning: resource `app.note`: `check` has no effect, since the resource has no `create` and no `update`";
    assert_eq!(of(&format!("delete = \"a.b.c\"\n{}", keys.replace("scope", "check")))[0], check);
    assert!(!of(&format!("update = \"a.b.c\"\n{keys}")).iter().any(|finding| finding.contains("resource `app.note`")));
    let marked = writable("note", "delete = \"a.b.c\"", fields).replace("table = ", "soft-delete = \"gone\"\ntable = ");
    let found = findings(&marked, &schema, Dialect::Sqlite);
    assert!(!found.iter().any(|finding| finding.contains("preset")), "a soft delete changes the row: {found:?}");
    // A field that is never null gets a value at its creation.
    let never = "id = { type = \"bigint\", key = true }\na = { type = \"text\", null = false, preset = { update = \"x\" } }";
    let found = findings(&writable("note", "create = \"a.b.c\"\nupdate = \"a.b.c\"", never), &schema, Dialect::Sqlite);
    let null = "8 warning: field `a` of `app.note`: `create` has no value for column `a` of `notes`, so that new rows have NULL in a field with `null = false`; add `write = \"create\"` or a `preset` of `create`, give the column a default, or drop `null = false`";
    assert!(found.contains(&null.to_owned()), "{found:#?}");
}
