//! Shared by the tests of `query`: the fixture's catalog for each database, and planning of a case.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod case;

use std::sync::OnceLock;

use query::catalog::{Catalog, Labels, Native, TypeName};
use query::error::Error;
use query::manifest::Manifest;
use query::plan::{self, Plan};
use query::policy::{self, Viewer};
use query::sql::Dialect;
use query::statement::Statement;
use query::{merge, parse};

pub const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::Citus, Dialect::Sqlite];

/// The columns of the fixture with another type than the standard one on PostgreSQL, as `check` would find them.
fn natives() -> [(&'static str, &'static str, Native); 6] {
    [
        ("shop.orderLine", "quantity", Native::OtherInteger),
        ("org.employee", "name", Native::Varchar),
        ("shop.shipment", "carrier", Native::Varchar),
        ("org.review", "rating", Native::Enum(TypeName::new("public", "review_rating"), Labels::Named)),
        ("shop.event", "at", Native::TimestampWithoutZone),
        ("shop.event", "payload", Native::JsonText),
    ]
}

/// The fixture's catalog.
pub fn catalog(dialect: Dialect) -> &'static Catalog {
    static CATALOGS: OnceLock<[Catalog; 2]> = OnceLock::new();
    &CATALOGS.get_or_init(|| catalogs(oracle::MANIFEST))[usize::from(dialect == Dialect::Sqlite)]
}

/// The fixture's catalog with derived fields that rows show on request only, so that the SQL of most cases is short.
pub fn catalog_without_eager_fields(dialect: Dialect) -> &'static Catalog {
    static CATALOGS: OnceLock<[Catalog; 2]> = OnceLock::new();
    let lazy = |line: &str| {
        let keys = ["count", "exists", "sum", "avg", "min", "max", "json", "bucket"];
        let is_derived = keys.iter().any(|key| line.contains(&format!(" = {{ {key} = "))) && !line.contains("eager");
        match line.rsplit_once(" }") {
            Some((before, after)) if is_derived => format!("{before}, eager = false }}{after}\n"),
            _ => format!("{line}\n"),
        }
    };
    let manifest = || oracle::MANIFEST.lines().map(lazy).collect::<String>();
    &CATALOGS.get_or_init(|| catalogs(&manifest()))[usize::from(dialect == Dialect::Sqlite)]
}

fn catalogs(manifest: &str) -> [Catalog; 2] {
    let manifest = Manifest::read(manifest).expect("the fixture's manifest");
    let mut postgres = Catalog::resolve(&manifest).expect("a catalog");
    for (resource, field, native) in natives() {
        let id = postgres.by_name(resource).expect("a resource");
        let (field, _) = postgres.resource(id).field(field).expect("a field");
        postgres.set_native(id, field, native);
    }
    postgres.set_derived_native_types();
    [postgres, Catalog::resolve(&manifest).expect("a catalog")]
}

/// A viewer of the fixture.
pub fn viewer(name: &str) -> Viewer {
    let viewer = oracle::viewer(name);
    Viewer::new(viewer.permissions.iter().cloned(), viewer.account.clone())
}

/// The result of planning a request.
pub enum Planned<'c> {
    Plan(Box<Plan<'c>>),
    Faults(Error),
    Denied,
}

/// The merged statement of a body.
pub fn merged(body: &[u8]) -> Result<Statement, Error> {
    parse::body(body).map(merge::merged)
}

/// Parses, merges and plans a case.
pub fn planned<'c>(catalog: &'c Catalog, case: &case::GoldenCase) -> Planned<'c> {
    let viewer = viewer(case.viewer);
    let id = catalog.by_name(&case.resource).expect("a resource");
    let Ok(access) = policy::authorize_read(catalog, id, &viewer) else { return Planned::Denied };
    let operation = match case.operation {
        oracle::Operation::Paginate => plan::Operation::Paginate,
        oracle::Operation::KeysetPaginate => plan::Operation::KeysetPaginate,
        oracle::Operation::List => plan::Operation::List,
        oracle::Operation::Find | oracle::Operation::FindById(_) => plan::Operation::Find,
    };
    let key = case.id(catalog.resource(id).key.len());
    match merged(case.body().as_bytes()).and_then(|statement| plan::plan(access, statement, operation, key.as_deref())) {
        Ok(plan) => Planned::Plan(Box::new(plan)),
        Err(error) => Planned::Faults(error),
    }
}
