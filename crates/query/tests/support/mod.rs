//! What the tests of the language share: the fixture's catalog as each database makes it, and a statement's way to SQL.
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

pub const DIALECTS: [Dialect; 2] = [Dialect::Postgres, Dialect::Sqlite];

/// The columns of the fixture that PostgreSQL keeps as another type than the usual one, as `check` would learn.
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
    let catalogs = CATALOGS.get_or_init(|| {
        let manifest = Manifest::read(oracle::MANIFEST).expect("the fixture's manifest");
        let mut postgres = Catalog::resolve(&manifest).expect("a catalog");
        for (resource, field, native) in natives() {
            let id = postgres.by_name(resource).expect("a resource");
            let (field, _) = postgres.resource(id).field(field).expect("a field");
            postgres.set_native(id, field, native);
        }
        [postgres, Catalog::resolve(&manifest).expect("a catalog")]
    });
    &catalogs[usize::from(dialect == Dialect::Sqlite)]
}

/// One of the fixture's callers.
pub fn viewer(name: &str) -> Viewer {
    let viewer = oracle::viewer(name);
    Viewer::new(viewer.permissions.iter().cloned(), viewer.account.clone())
}

/// What a request became.
pub enum Planned<'c> {
    Plan(Box<Plan<'c>>),
    Faults(Error),
    Denied,
}

/// A statement of a body, merged.
pub fn merged(body: &[u8]) -> Result<Statement, Error> {
    parse::body(body).map(merge::merged)
}

/// Takes a case's way from bytes to a plan.
pub fn planned<'c>(catalog: &'c Catalog, case: &case::GoldenCase) -> Planned<'c> {
    let viewer = viewer(case.viewer);
    let id = catalog.by_name(&case.resource).expect("a resource");
    let Ok(access) = policy::authorize_read(catalog, id, &viewer) else { return Planned::Denied };
    let operation = match case.operation {
        oracle::Operation::Paginate => plan::Operation::Paginate,
        oracle::Operation::List => plan::Operation::List,
        oracle::Operation::Find | oracle::Operation::FindById(_) => plan::Operation::Find,
    };
    let key = case.id(catalog.resource(id).key.len());
    match merged(case.body().as_bytes()).and_then(|statement| plan::plan(access, statement, operation, key.as_deref())) {
        Ok(plan) => Planned::Plan(Box::new(plan)),
        Err(error) => Planned::Faults(error),
    }
}
