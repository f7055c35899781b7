//! The policy over real HTTP: data that a viewer may not see changes no answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod explain;
mod hidden_names;
mod invisible_data;
mod keyset;
#[path = "../support/mod.rs"]
mod support;
mod tenants;
mod ties;
mod viewers;

use oracle::{Case, Operation};
use query::policy::Viewer;
use support::{Backend, Database, Server, Setup};

/// The oracle's fixture in a fresh database.
async fn fixture(backend: Backend) -> Database {
    let script = if backend == Backend::Postgres { oracle::postgres_script() } else { oracle::sqlite_script() };
    Database::with(backend, &script).await
}

/// The fixture, served to one of the oracle's viewers, perhaps with further permissions.
async fn serve(database: &Database, viewer: &str, more: &[&str]) -> Server {
    let viewer = oracle::viewer(viewer);
    let permissions = viewer.permissions.iter().cloned().chain(more.iter().map(|&permission| permission.to_owned()));
    let mut setup = Setup::new(oracle::MANIFEST);
    setup.viewer = Some(Viewer::new(permissions, viewer.account.clone()));
    setup.serve(database).await
}

/// `orderLine` → `order-line`
fn kebab(name: &str) -> String {
    let split = name.chars().flat_map(|letter| letter.is_uppercase().then_some('-').into_iter().chain(letter.to_lowercase()));
    split.collect()
}

/// The path of a resource: `shop.orderLine` → `/api/shop/order-lines`
fn address(resource: &str) -> String {
    let (context, name) = resource.split_once('.').expect("a full name");
    let plural = if name == "country" { "countries".to_owned() } else { format!("{name}s") };
    format!("/api/{}/{}", kebab(context), kebab(&plural))
}

/// The path of a case.
fn path(case: &Case) -> String {
    let operation = match &case.operation {
        Operation::Paginate => "paginate".to_owned(),
        Operation::KeysetPaginate => "keyset-paginate".to_owned(),
        Operation::List => "list".to_owned(),
        Operation::Find => "find".to_owned(),
        Operation::FindById(id) => {
            let encoded = id.bytes().map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b',' => char::from(byte).to_string(),
                other => format!("%{other:02X}"),
            });
            format!("find/{}", encoded.collect::<String>())
        }
    };
    format!("{}/{operation}", address(&case.resource))
}
