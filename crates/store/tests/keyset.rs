//! Keyset pages: every row once and in the order of `list`, on both databases, at a cost that does not grow with the distance.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "keyset/plans.rs"]
mod plans;
mod support;
#[path = "keyset/types.rs"]
mod types;
#[path = "keyset/unrepresentable.rs"]
mod unrepresentable;
#[path = "keyset/walks.rs"]
mod walks;

use query::catalog::Catalog;
use query::plan::Operation;
use query::policy::{self, Viewer};
use query::sql::Query;
use serde_json::{Value, json};
use store::run::Format;
use store::{Answer, Database, Error};

/// A database with its catalog, read by the operator.
pub(crate) struct Place {
    pub(crate) database: Database,
    pub(crate) catalog: Catalog,
}

impl Place {
    pub(crate) async fn new(url: &str, manifest: &str) -> Self {
        let database = support::open(url);
        let catalog = support::catalog(manifest, &database).await;
        Place { database, catalog }
    }

    pub(crate) fn planned(&self, resource: &str, query: &Value, operation: Operation) -> Result<Query, query::error::Error> {
        let viewer = Viewer::operator();
        let resource = self.catalog.by_name(resource).expect("a resource");
        let access = policy::authorize_read(&self.catalog, resource, &viewer).expect("the operator may");
        support::planned(access, json!({ "query": query }).to_string().as_bytes(), operation, None, &self.database)
    }

    pub(crate) async fn ask(&self, resource: &str, query: &Value, operation: Operation) -> Result<Value, Error> {
        let planned = self.planned(resource, query, operation).unwrap_or_else(|error| panic!("{error}: {query}"));
        let bytes = match Box::pin(self.database.run(planned, Format::Json)).await? {
            Answer::Whole(bytes) | Answer::Page(bytes, _) => bytes.to_vec(),
            Answer::Chunks(chunks) => support::whole(chunks).await?,
            Answer::Nothing => panic!("no page"),
        };
        Ok(serde_json::from_slice(&bytes).expect("JSON"))
    }

    pub(crate) async fn page(&self, resource: &str, query: &Value) -> Result<Value, Error> {
        self.ask(resource, query, Operation::KeysetPaginate).await
    }

    pub(crate) async fn list(&self, resource: &str, query: &Value) -> Vec<Value> {
        rows(&self.ask(resource, query, Operation::List).await.expect("rows"))
    }

    /// All rows, page by page. Each next statement, sent to `list`, has the rows of its page.
    pub(crate) async fn walk(&self, resource: &str, query: &Value) -> Result<Vec<Value>, Error> {
        let mut all = Vec::new();
        let mut statement = query.clone();
        for number in 0.. {
            assert!(number < 500, "the walk of {query} does not end");
            let page = self.page(resource, &statement).await?;
            let found = rows(&page["rows"]);
            assert_eq!(page["count"], found.len(), "{statement}");
            if number > 0 {
                assert_eq!(self.list(resource, &statement).await, found, "{:?}: {statement}", self.database.dialect());
                assert!(!found.is_empty(), "an empty page after a next statement: {statement}");
            }
            all.extend(found);
            if page["next"].is_null() {
                break;
            }
            statement = page["next"].clone();
        }
        Ok(all)
    }
}

pub(crate) fn rows(json: &Value) -> Vec<Value> {
    json.as_array().expect("an array").clone()
}
