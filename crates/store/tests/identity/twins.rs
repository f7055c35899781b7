//! On PostgreSQL redeeming a code and rotating a refresh token exist twice: as one statement, and as the steps that SQLite runs. Both get
//! the same cases here, and must return the same results and leave the same rows. A refused statement must change nothing by itself.

use identity::grant::authorization_code::{CodeDecision, Redemption};
use identity::grant::refresh_token::RefreshDecision;
use identity::session::Session;
use store::hub_records::apps::{Access, App};
use store::hub_records::codes::Redeemed;
use store::hub_records::sessions::PreviousSession;
use store::hub_records::token_families::Rotated;
use store::hub_records::{Run, accounts, apps, clients, codes, token_families};

use crate::support::Postgres;
use crate::world::{NOW, World, at, hash, id, prove, sign_in};

#[derive(Clone, Copy)]
enum Twin {
    OneStatement,
    Steps,
}

/// What both leave behind, without ids.
const ROWS: &str = "SELECT string_agg(line, E'\\n' ORDER BY line) FROM (\
    SELECT concat_ws(' ', 'event', at, kind, client_id, address, account_id IS NULL, detail - 'family' - 'account' - 'session') AS line \
    FROM peristyle.event \
    UNION ALL SELECT concat_ws(' ', 'family', client_id, scope, begun_by, created_at, authenticated_at, session_id IS NULL, ended_at) \
    FROM peristyle.family \
    UNION ALL SELECT concat_ws(' ', 'token', t.created_at, t.expires_at, t.used_at, t.sealed_successor IS NULL, f.client_id) \
    FROM peristyle.refresh_token t JOIN peristyle.family f ON f.id = t.family_id \
    UNION ALL SELECT concat_ws(' ', 'code', o.expires_at, f.client_id) FROM peristyle.code o LEFT JOIN peristyle.family f ON f.id = o.used_by \
    UNION ALL SELECT concat_ws(' ', 'app', first_used_at, last_used_at, created_at) FROM peristyle.app_account) AS lines";

async fn decided(world: &World) -> Redemption {
    let (code, verifier) = world.code().await;
    match world.decide(&code, &verifier).await {
        CodeDecision::Redeem(redemption) => *redemption,
        other => panic!("{other:?}"),
    }
}

async fn set_active(world: &World, is_active: bool) {
    let mut transaction = world.records.begin().await.expect("a transaction");
    let account = identity::account::Account { is_active, ..world.account.clone() };
    accounts::update(&mut transaction, &account, NOW).await.expect("an update");
    transaction.commit().await.expect("committed");
}

async fn rows(world: &World) -> String {
    world.records.row(ROWS, &[]).await.expect("rows").expect("a row").text(0).expect("a string").to_owned()
}

/// Runs the cases and returns the results and the rows.
async fn run_cases(twin: Twin) -> (Vec<String>, String) {
    let database = Postgres::with("").await;
    let mut world = World::at(&database.url).await;
    let mut results = Vec::new();
    let mut app = App { id: id(), code: "shop".to_owned(), name: "Shop".to_owned(), url: None, access: Access::Open };
    apps::insert(&world.records, &app, NOW).await.expect("an app");
    for with_app in [None, Some(app.id)] {
        world.client.app = with_app;
        clients::update(&world.records, &world.client, NOW).await.expect("a client");
        let redeem = async |redemption: &Redemption| {
            // At the time of the decision: the one statement stamps its rows with that time, the steps with the time of the request.
            let (records, client) = (&world.records, &world.client);
            let redeemed = match twin {
                Twin::OneStatement => codes::redeem(records, redemption, client, at(0)).await.expect("an answer"),
                Twin::Steps => codes::redeem_in_steps(records, redemption, client, at(0)).await.expect("an answer"),
            };
            // `redeem` takes the steps after a refusal, so the statement also runs without them.
            if matches!(twin, Twin::OneStatement) && redeemed != Redeemed::Done {
                let before = rows(&world).await;
                assert!(!codes::redeem_in_one_statement(records, redemption, client, at(0)).await.expect("an answer"), "{redeemed:?}");
                assert_eq!(rows(&world).await, before, "{redeemed:?}");
            }
            format!("{redeemed:?}")
        };
        // Once, and then not again.
        let first = decided(&world).await;
        results.extend([redeem(&first).await, redeem(&first).await]);
        // Its refresh token has one successor.
        let RefreshDecision::Rotate(rotation) = world.refresh(first.start.issue.refresh_token(), NOW.plus(2)).await else {
            panic!("not rotated")
        };
        for _ in 0..2 {
            let before = rows(&world).await;
            let rotated = match twin {
                Twin::OneStatement => token_families::rotate(&world.records, &rotation, at(2)).await,
                Twin::Steps => token_families::rotate_in_steps(&world.records, &rotation, at(2)).await,
            };
            let rotated = rotated.expect("an answer");
            assert_eq!(rotated == Rotated::Late, rows(&world).await == before, "{rotated:?}");
            results.push(format!("{rotated:?}"));
        }
        // A closed account redeems nothing. The code stays.
        let held = decided(&world).await;
        set_active(&world, false).await;
        results.push(redeem(&held).await);
        set_active(&world, true).await;
        results.push(redeem(&held).await);
        // Nor does one that a closed app does not list.
        if with_app.is_some() {
            app.access = Access::Closed;
            apps::update(&world.records, &app, NOW).await.expect("closed");
            results.push(redeem(&decided(&world).await).await);
            apps::expel(&world.records, app.id, world.account.id).await.expect("expelled");
            let refused = decided(&world).await;
            results.push(redeem(&refused).await);
            apps::admit(&world.records, id(), app.id, world.account.id, NOW).await.expect("listed");
            results.push(redeem(&refused).await);
        }
        // The code of a session that moved is looked up again.
        let moved = decided(&world).await;
        let next = Session::begin(id(), world.account.id, NOW);
        assert!(sign_in(&world.records, &next, &prove(hash()), PreviousSession::Own(world.session.id)).await.expect("a session"));
        results.push(redeem(&moved).await);
        world.session = next;
    }
    let rows = rows(&world).await;
    database.drop().await;
    (results, rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_statement_and_its_steps_do_the_same() {
    // contract I15.3, I15.5
    let (results, rows) = run_cases(Twin::OneStatement).await;
    let refusals = ["Done", "Refused", "Done", "Late"];
    assert_eq!(
        results,
        [&["Done", "Late", "Done", "Late", "Refused", "Done", "Late"][..], &["Done", "Late", "Done", "Late", "Refused", "Done"], &refusals]
            .concat()
    );
    let (in_steps, rows_of_steps) = run_cases(Twin::Steps).await;
    assert_eq!(results, in_steps);
    assert_eq!(rows, rows_of_steps);
    assert!(rows.contains("grant.issued") && rows.contains("grant.refreshed") && rows.contains("app "), "{rows}");
}
