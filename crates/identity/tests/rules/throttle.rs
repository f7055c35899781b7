//! How fast passwords may be guessed.

use identity::throttle::{
    ACCOUNT, ADDRESS, CLIENT, Counter, Evidence, FORGOTTEN_SECONDS, Failures, Familiarity, PAIR, ThrottleDecision, UNDECIDED_SECONDS,
    judge_client, longest_delay,
};
use identity::timestamp::Timestamp;

use crate::support::{NOW, seconds};

fn failures(count: u32) -> Failures {
    Failures { count, last: Some(NOW), ..Failures::default() }
}

fn pair(count: u32) -> Evidence {
    Evidence { pair: failures(count), ..Evidence::default() }
}

/// Seconds still to wait.
fn wait(evidence: &Evidence, now: Timestamp) -> i64 {
    longest_delay(evidence, now).1
}

// attack 32 // contract I11.1
#[test]
fn a_few_failures_are_free_then_the_delay_doubles_and_ends_growing() {
    assert_eq!(wait(&Evidence::default(), NOW), 0);
    assert_eq!(wait(&pair(4), NOW), 0);
    for (count, seconds) in [(5, 2), (6, 4), (7, 8), (10, 64), (13, 512), (14, 900), (1_000, 900), (u32::MAX, 900)] {
        assert_eq!(wait(&pair(count), NOW), seconds, "{count}");
    }
}

// contract I11.2
#[test]
fn waiting_always_helps() {
    assert_eq!(wait(&pair(1_000), seconds(899)), 1);
    assert_eq!(wait(&pair(1_000), seconds(900)), 0);
    assert_eq!(wait(&pair(1_000), seconds(-50)), 900, "a clock that is behind makes nobody wait longer");
}

#[test]
fn an_hour_without_a_failure_is_forgotten() {
    let old = failures(1_000);
    assert_eq!(old.failed(seconds(FORGOTTEN_SECONDS)).count, 1);
    assert_eq!(old.failed(seconds(FORGOTTEN_SECONDS - 1)).count, 1_001);
    assert_eq!(failures(u32::MAX).failed(NOW).count, u32::MAX);
}

// attack 32
#[test]
fn one_address_that_tries_many_names_is_slowed_down() {
    let spraying = |count| Evidence { address: failures(count), ..Evidence::default() };
    assert_eq!(wait(&spraying(ADDRESS.first_delay - 1), NOW), 0);
    assert_eq!(wait(&spraying(ADDRESS.first_delay), NOW), 2);
}

// attack 32 // contract I11.3
#[test]
fn nobody_is_shut_out_from_afar() {
    let everywhere = |address_is| Evidence { account: failures(1_000_000), address_is, ..Evidence::default() };
    assert_eq!(wait(&everywhere(Familiarity::Familiar), NOW), 0);
    assert_eq!(wait(&everywhere(Familiarity::Strange), NOW), ACCOUNT.max_seconds);
    assert_eq!(ACCOUNT.first_delay, 10 * PAIR.first_delay);
    let own = Evidence { pair: failures(1_000), address_is: Familiarity::Familiar, ..Evidence::default() };
    assert_eq!(wait(&own, NOW), 900, "a familiar address has its own count");
}

// attack 61 // contract I11.3
#[test]
fn who_was_told_to_wait_for_failures_elsewhere_may_try_then_however_many_fail_by_then() {
    let attacked = |now: Timestamp| Failures { count: 1_000_000, last: Some(now), ..Failures::default() };
    let mut evidence = Evidence { account: attacked(NOW), ..Evidence::default() };
    let admitted_at = evidence.admission(NOW).expect("it must wait");
    assert_eq!(admitted_at, seconds(ACCOUNT.max_seconds));
    assert_eq!(ACCOUNT.max_seconds, 15);
    evidence.admitted_at = Some(admitted_at);
    for passed in 1..15 {
        evidence.account = attacked(seconds(passed));
        assert_eq!(wait(&evidence, seconds(passed)), 15 - passed, "another one failed just now");
        assert_eq!(evidence.admission(seconds(passed)), Some(admitted_at), "asking again changes nothing");
    }
    evidence.account = attacked(seconds(15));
    assert_eq!((wait(&evidence, seconds(15)), evidence.admission(seconds(15))), (0, None));
    evidence.pair = Failures { count: 1_000, last: Some(seconds(15)), ..Failures::default() };
    assert_eq!(wait(&evidence, seconds(15)), 900, "it admits nobody to more than one's own failures do");
    evidence.pair = Failures::default();
    evidence.account = attacked(seconds(15 + FORGOTTEN_SECONDS));
    assert_eq!(wait(&evidence, seconds(15 + FORGOTTEN_SECONDS)), 15, "it is forgotten as failures are");
}

// attack 32 // contract I15.6
#[test]
fn an_attempt_without_an_outcome_is_judged_like_a_failure_and_becomes_one() {
    let mut failures = Failures::default();
    for _ in 0..5 {
        failures = failures.begun(NOW);
    }
    let evidence = Evidence { pair: failures, ..Evidence::default() };
    assert_eq!((failures.count, failures.undecided), (0, 5));
    assert_eq!(wait(&evidence, NOW), 2);
    let later = failures.begun(seconds(UNDECIDED_SECONDS));
    assert_eq!((later.count, later.last, later.undecided), (5, Some(NOW), 1), "who does not know by then never will");
    let old = Failures { count: 1_000, last: Some(seconds(-FORGOTTEN_SECONDS)), ..Failures::default() };
    assert_eq!(old.begun(NOW), Failures { undecided: 1, undecided_at: Some(NOW), ..Failures::default() }, "what is forgotten stays so");
}

// attack 32
#[test]
fn one_success_begins_a_pair_anew_and_is_one_less_of_an_address() {
    let wanted = |evidence: &Evidence| longest_delay(evidence, NOW).0.successes_wanted(evidence, NOW);
    assert_eq!(wanted(&pair(1_000)), 1);
    let spraying = Evidence { address: failures(ADDRESS.first_delay + 2), ..Evidence::default() };
    assert_eq!(wanted(&spraying), 3);
    let everywhere = Evidence { account: failures(ACCOUNT.first_delay), ..Evidence::default() };
    assert_eq!(wanted(&everywhere), 1);
}

// attack 31
#[test]
fn a_counter_is_kept_under_a_digest_of_what_it_is_about() {
    let key = Counter::Pair("Ana@Example.com ", "192.0.2.1").key();
    assert_eq!(key, Counter::Pair("ana@example.com", "192.0.2.1").key());
    for other in [
        Counter::Pair("ana@example.com", "192.0.2.2"),
        Counter::Pair("bo", "192.0.2.1"),
        Counter::Account("ana@example.com"),
        Counter::Address("192.0.2.1"),
        Counter::Account("ana@example.com 192.0.2.1"),
    ] {
        assert_ne!(key, other.key());
    }
    assert_ne!(Counter::Pair("a b", "c").key(), Counter::Pair("a", "b c").key());
}

// attack 28 // contract I20.20
#[test]
fn a_client_may_fail_for_a_while_before_it_is_told_to_wait() {
    assert_eq!(judge_client(failures(CLIENT.first_delay - 1), NOW), ThrottleDecision::Try);
    assert_eq!(judge_client(failures(CLIENT.first_delay), NOW), ThrottleDecision::Wait(2));
    assert_eq!(judge_client(failures(u32::MAX), NOW), ThrottleDecision::Wait(CLIENT.max_seconds));
    assert_eq!(judge_client(failures(u32::MAX), seconds(FORGOTTEN_SECONDS)), ThrottleDecision::Try);
    assert_ne!(Counter::Client("ana", "192.0.2.1").key(), Counter::Pair("ana", "192.0.2.1").key(), "a client is no account");
}
