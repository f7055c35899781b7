//! What an observer hears of the statements of a write.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oracle::{Form, WriteRequest};
use serde_json::{Value, json};
use store::run::{AnswerContext, StatementObserver, StatementReport};
use support::writes::{Raw, Side, moment, viewer};

/// The first word of a statement, its part, how long it took, and how many rows it returned.
type Heard = (String, &'static str, Duration, usize);

#[derive(Debug, Default)]
struct Observer(Mutex<Vec<Heard>>);

impl StatementObserver for Observer {
    fn ended(&self, report: &StatementReport<'_>) {
        let word = report.sql.split(' ').next().expect("a word").to_owned();
        self.0.lock().expect("a list").push((word, report.part.as_str(), report.busy, report.rows));
    }
}

async fn heard(side: &mut Side, form: Form, id: &[&str], body: Value) -> Vec<Heard> {
    let observer = Arc::new(Observer::default());
    let writers = side.place.writers.for_answer(AnswerContext::default().observed_by(observer.clone()));
    let plain = std::mem::replace(&mut side.place.writers, writers);
    let id = id.iter().map(|part| (*part).to_owned()).collect();
    let request = WriteRequest { viewer: "chief", resource: "crm.customer".to_owned(), form, id, if_match: None, body };
    let outcome = side.place.write(&viewer("chief"), &request, &moment(0)).await;
    assert!(outcome.is_done(), "{}: {outcome:?}", side.name);
    side.place.writers = plain;
    std::mem::take(&mut *observer.0.lock().expect("a list"))
}

// contract W3.18
#[tokio::test(flavor = "multi_thread")]
async fn each_statement_of_a_write_has_its_own_time_and_its_part() {
    const SLOW: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.4); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE UPDATE ON customers FOR EACH ROW EXECUTE FUNCTION slow()";
    for mut side in [Side::postgres(2).await, Side::sqlite().await] {
        side.raw.reset(oracle::write_world()).await;
        side.raw.align_keys().await;
        let is_slow = if let Raw::Postgres(client) = &side.raw {
            client.batch_execute(SLOW).await.expect("a trigger");
            true
        } else {
            false
        };
        let update = heard(&mut side, Form::UpdateById, &["1"], json!({ "payload": { "name": "new" } })).await;
        let named: Vec<(&str, &str, usize)> = update.iter().map(|(word, part, _, rows)| (word.as_str(), *part, *rows)).collect();
        assert_eq!((named[0], named[named.len() - 1]), (("SELECT", "write", 1), ("SELECT", "rows", 1)), "{}: {named:?}", side.name);
        assert!(named.contains(&("UPDATE", "write", 0)), "{}: {named:?}", side.name);
        for (word, _, busy, _) in &update {
            // The read of the answer is sent with the update, and waits for it.
            assert!(!is_slow || (*busy >= Duration::from_millis(400)) == (word == "UPDATE"), "{word} {busy:?}");
        }
        let payload = json!({ "payload": { "number": "zz", "name": "new" } });
        let create = heard(&mut side, Form::Create, &[], payload).await;
        assert!(create.iter().any(|(word, part, _, rows)| (word.as_str(), *part, *rows) == ("INSERT", "write", 1)), "{create:?}");
        side.drop().await;
    }
}
