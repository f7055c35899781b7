//! `DATABASE_WRITE_URL`: `check` and `serve` accept only a role that can run every write, in the database that reads look at.

use crate::program::Folder;
use crate::support::database::{cluster, connect};
use crate::support::{Backend, Database};

const TABLES: &str = "
    CREATE SCHEMA sales;
    CREATE TABLE sales.regions (id int PRIMARY KEY, name text);
    CREATE TABLE sales.orders (id int PRIMARY KEY, region_id int REFERENCES sales.regions, note text);
    CREATE INDEX ON sales.orders (region_id);
";

const MANIFEST: &str = r#"
[resource.shop.region]
table = "sales.regions"
[resource.shop.region.fields]
id = { type = "int", key = true }
name = "text"

[resource.shop.order]
table = "sales.orders"
[resource.shop.order.write]
create = "shop.order.create"
update = "shop.order.update"
delete = "shop.order.delete"
[resource.shop.order.fields]
id = { type = "int", key = true, write = "create" }
regionId = { type = "int", write = true }
note = { type = "text", write = true }
[resource.shop.order.relations]
region = { one = "shop.region", on = { regionId = "id" } }
"#;

/// A role of its own for each test, since roles belong to the cluster.
struct Role {
    name: String,
    database: Database,
}

impl Role {
    async fn new(word: &str) -> Self {
        let database = Database::with(Backend::Postgres, TABLES).await;
        let name = format!("{word}_{}", std::process::id());
        database.execute(&format!("CREATE ROLE {name} LOGIN")).await;
        Role { name, database }
    }

    async fn may(&self, grants: &str) {
        self.database.execute(&grants.replace("$role", &self.name)).await;
    }

    fn url(&self) -> String {
        self.database.url.replacen("postgres://postgres", &format!("postgres://{}", self.name), 1)
    }

    async fn drop(self) {
        let Role { name, database } = self;
        database.execute(&format!("DROP OWNED BY {name}")).await;
        drop(database);
        connect(&cluster()).await.batch_execute(&format!("DROP ROLE {name}")).await.expect("dropped");
    }
}

/// The findings and the message of `check`.
fn said(folder: &Folder, variables: &[(&str, &str)]) -> String {
    let finished = folder.run(&["check"], variables);
    finished.out() + &finished.err()
}

/// What `check` says with this `DATABASE_WRITE_URL`. `serve` agrees.
fn checked(url: &str, write_url: &str) -> String {
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let variables = [("DATABASE_URL", url), ("DATABASE_WRITE_URL", write_url)];
    let output = said(&folder, &variables);
    if output.contains(" 0 error(s)") {
        folder.serve(&variables);
    } else {
        folder.run(&["serve"], &variables).refused();
    }
    output
}

// contract W1.6
#[tokio::test]
async fn the_role_of_writes_must_read_what_a_write_reads() {
    let role = Role::new("writing").await;
    let url = role.database.url.clone();
    role.may("GRANT INSERT, UPDATE, DELETE ON sales.orders TO $role").await;
    let output = checked(&url, &role.url());
    let lacks = |table: &str| format!("the user of DATABASE_WRITE_URL lacks SELECT on `{table}`, or USAGE on its schema");
    assert!(output.contains(&format!("peristyle.toml:8: resource `shop.order`: {}", lacks("sales.orders"))), "{output}");
    role.may("GRANT USAGE ON SCHEMA sales TO $role; GRANT SELECT ON sales.orders TO $role").await;
    let output = checked(&url, &role.url());
    let read = format!("peristyle.toml:2: resource `shop.region`: writes of `shop.order` read it, and {}", lacks("sales.regions"));
    assert!(output.contains(&read) && output.contains(" 1 error(s)"), "{output}");
    role.may("GRANT SELECT (id) ON sales.regions TO $role").await;
    let output = checked(&url, &role.url());
    assert!(output.contains("lacks SELECT (name) on `sales.regions`"), "{output}");
    role.may("GRANT SELECT ON sales.regions TO $role").await;
    let output = checked(&url, &role.url());
    assert!(output.contains(" 0 error(s)"), "{output}");
    role.may("REVOKE INSERT ON sales.orders FROM $role").await;
    let output = checked(&url, &role.url());
    let lacking = "`create` needs INSERT on `sales.orders`, which the user of DATABASE_WRITE_URL lacks";
    assert!(output.contains(lacking), "{output}");
    role.drop().await;
}

// contract W1.6
#[tokio::test]
async fn writes_go_to_the_database_that_reads_look_at() {
    let (here, elsewhere) = (Database::with(Backend::Postgres, TABLES).await, Database::with(Backend::Postgres, TABLES).await);
    let output = checked(&here.url, &elsewhere.url);
    assert!(output.contains("DATABASE_WRITE_URL: it leads to another database than DATABASE_URL"), "{output}");
    let output = checked(&here.url, &here.url);
    assert!(output.contains(" 0 error(s)"), "{output}");
}

// contract W1.6
#[tokio::test]
async fn the_role_of_writes_finds_the_tables_that_the_role_of_reads_finds() {
    let role = Role::new("searching").await;
    let database = &role.database;
    database.execute(&format!("ALTER DATABASE {} SET search_path = sales", database.name())).await;
    role.may(
        "GRANT USAGE ON SCHEMA sales TO $role; GRANT ALL ON ALL TABLES IN SCHEMA sales TO $role; ALTER ROLE $role SET search_path = public",
    )
    .await;
    let folder = Folder::new();
    folder.write("peristyle.toml", &MANIFEST.replace("sales.", ""));
    let (url, write_url) = (database.url.clone(), role.url());
    let variables = [("DATABASE_URL", url.as_str()), ("DATABASE_WRITE_URL", write_url.as_str())];
    let output = said(&folder, &variables);
    assert!(output.contains("the user of DATABASE_WRITE_URL does not find table `orders`, which is `sales.orders` for reads"), "{output}");
    database.execute("CREATE TABLE public.orders (id int PRIMARY KEY, region_id int, note text)").await;
    role.may("GRANT ALL ON public.orders TO $role").await;
    let output = said(&folder, &variables);
    let other = "table `orders` is `public.orders` for the user of DATABASE_WRITE_URL and `sales.orders` for reads";
    assert!(output.contains(other), "{output}");
    role.drop().await;
}

// contract W1.6
#[tokio::test]
async fn a_role_that_begins_read_only_transactions_writes_nothing() {
    let role = Role::new("reading").await;
    role.may("GRANT USAGE ON SCHEMA sales TO $role; GRANT ALL ON ALL TABLES IN SCHEMA sales TO $role").await;
    role.may("ALTER ROLE $role SET default_transaction_read_only = on").await;
    let output = checked(&role.database.url, &role.url());
    assert!(
        output.contains("DATABASE_WRITE_URL: the database user begins read-only transactions (default_transaction_read_only is on)"),
        "{output}"
    );
    let folder = Folder::new();
    folder.write("peristyle.toml", MANIFEST);
    let output = said(&folder, &[("DATABASE_URL", role.url().as_str())]);
    assert!(output.contains("DATABASE_URL: the database user begins read-only transactions"), "{output}");
    let variables = [("DATABASE_URL", role.database.url.clone()), ("DATABASE_WRITE_URL", role.url())];
    let variables: Vec<(&str, &str)> = variables.iter().map(|(name, url)| (*name, url.as_str())).collect();
    let manifest = folder.run(&["introspect", "--writable", "--out", "-"], &variables).good();
    let note = "# writes are left out: the database user begins read-only transactions";
    assert!(manifest.contains(note) && !manifest.contains(".write]\n"), "{manifest}");
    role.drop().await;
}
