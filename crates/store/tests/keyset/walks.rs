//! Random statements of the oracle, walked page by page.

use oracle::{Answer, Case, Generator, Operation, Random};
use query::policy;
use serde_json::{Value, json};
use store::Database;
use store::run::Format;

use crate::support::{self, Outcome};

/// The page with its next statement, as a request gets it.
async fn page(catalog: &query::catalog::Catalog, database: &Database, case: &Case) -> Value {
    let viewer = support::viewer(case.viewer);
    let resource = catalog.by_name(&case.resource).expect("a resource");
    let access = policy::authorize_read(catalog, resource, &viewer).expect("the viewer may");
    let query = support::planned(access, case.body().to_string().as_bytes(), query::plan::Operation::KeysetPaginate, None, database)
        .expect("a plan");
    let bytes = match Box::pin(database.run(query, Format::Json)).await.expect("a page") {
        store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => bytes.to_vec(),
        store::Answer::Chunks(chunks) => support::whole(chunks).await.expect("a whole page"),
        store::Answer::Nothing => panic!("no page"),
    };
    serde_json::from_slice(&bytes).expect("JSON")
}

/// A case as the first page of a walk; none if `keyset-paginate` does not take it.
fn first_page(mut case: Case, catalog: &query::catalog::Catalog, random: &mut Random) -> Option<Case> {
    let resource = catalog.resource(catalog.by_name(&case.resource)?);
    let viewer = support::viewer(case.viewer);
    let is_rows = matches!(case.operation, Operation::List | Operation::Paginate) && case.fault.is_none();
    if !is_rows || !viewer.can_read(resource) || !viewer.sees_key(resource) {
        return None;
    }
    let mut query = case.query.filter(Value::is_object).unwrap_or_else(|| json!({}));
    if query.get("aggregation").is_some_and(|aggregation| !aggregation.is_null()) {
        return None;
    }
    let object = query.as_object_mut()?;
    object.remove("offset");
    object.insert("limit".to_owned(), json!(1 + random.below(4)));
    case.query = Some(query);
    case.operation = Operation::KeysetPaginate;
    Some(case)
}

// contract Q16.1, contract Q16.6, contract Q16.5, contract Q16.6
#[tokio::test(flavor = "multi_thread")]
async fn random_walks_show_each_row_once_and_as_the_oracle_does() {
    let server = support::Postgres::with(&oracle::postgres_script()).await;
    let file = support::Sqlite::with(&oracle::sqlite_script());
    // The narrow ones stream every page.
    let databases = [
        support::open(&server.url),
        support::open(&file.url),
        support::open_narrow(&server.url, 300),
        support::open_narrow(&file.url, 300),
    ];
    let mut catalogs = Vec::new();
    for database in &databases {
        catalogs.push(support::catalog(oracle::MANIFEST, database).await);
    }
    let (mut generator, mut random) = (Generator::new(11), Random::new(12));
    let (mut walks, mut pages) = (0, 0);
    for number in 0..500 {
        let place = number % databases.len();
        let (database, catalog) = (&databases[place], &catalogs[place]);
        let Some(mut case) = first_page(generator.next(), catalog, &mut random) else { continue };
        let whole = Case { query: case.query.clone().map(without_limit), ..case.clone() };
        let mut all = Vec::new();
        let mut end = 0;
        loop {
            let told = |found: &dyn std::fmt::Debug| format!("walk {number} on {:?}: {}\n{found:#?}", database.dialect(), case.body());
            let outcome = support::run(catalog, database, &case).await;
            let Outcome::Answer(answer) = &outcome else { panic!("{}", told(&outcome)) };
            // The oracle reads the cursor as a plain where.
            oracle::compare(&case, &case.answer(), answer).unwrap_or_else(|difference| panic!("{difference}\n{}", told(answer)));
            let page = page(catalog, database, &case).await;
            all.extend(page["rows"].as_array().expect("rows").clone());
            pages += 1;
            end += 1;
            if page["next"].is_null() || end > 60 {
                break;
            }
            case.query = Some(page["next"].clone());
        }
        walks += 1;
        if end <= 60
            && let Answer::KeysetPage { rows, follows: false, .. } = whole.answer()
        {
            let actual = Answer::KeysetPage { count: all.len() as u64, rows: all, follows: false };
            assert_eq!(rows.len(), if let Answer::KeysetPage { rows, .. } = &actual { rows.len() } else { 0 }, "{}", whole.body());
            oracle::compare(&whole, &whole.answer(), &actual).unwrap_or_else(|difference| panic!("{difference}\n{}", whole.body()));
        }
    }
    drop(databases);
    server.drop().await;
    assert!(walks > 100 && pages > 400, "only {walks} walks with {pages} pages: the generator has gone stale");
}

fn without_limit(mut query: Value) -> Value {
    query["limit"] = json!(10_000);
    query
}
