//! The records of identity on both databases: what is kept comes back as the decisions want it, races have one winner, and what ends
//! together ends together.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod account_changes;
mod accounts;
mod grants;
mod heartbeats;
mod housekeeping;
mod races;
#[path = "../support/mod.rs"]
mod support;
mod twins;
mod world;

macro_rules! on_both {
    ($($module:ident::$story:ident),* $(,)?) => {
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                let database = crate::support::Postgres::with("").await;
                crate::$module::$story(&database.url).await;
                database.drop().await;
            })*
        }
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                let database = crate::support::Sqlite::with("");
                crate::$module::$story(&database.url).await;
            })*
        }
    };
}

on_both!(
    accounts::an_account_comes_back_as_it_was_kept,
    accounts::names_are_found_and_unique_whatever_their_case,
    accounts::rights_follow_roles_permissions_and_memberships,
    accounts::the_built_in_role_lists_every_permission,
    accounts::what_was_changed_past_the_program_is_mended_at_the_next_grant,
    accounts::a_role_that_changes_while_it_is_given_leaves_nobody_behind,
    accounts::a_client_comes_back_with_both_its_secrets,
    grants::one_of_five_hundred_redemptions_wins,
    grants::a_session_that_ended_takes_its_codes_with_it,
    grants::a_refresh_token_has_one_successor_under_any_race,
    grants::endings_reach_what_they_should_and_nothing_else,
    grants::a_closed_app_admits_those_who_are_listed,
    grants::a_closed_account_begins_nothing,
    grants::a_sign_in_takes_the_place_of_the_session_before_or_leaves_it,
    races::a_password_that_was_changed_since_it_was_compared_begins_nothing,
    races::a_password_counts_under_the_hash_that_its_own_sign_in_made_of_it,
    races::a_code_whose_session_was_taken_over_begins_a_family_of_the_new_one,
    races::a_client_ends_the_session_that_a_family_is_of_by_now,
    account_changes::numbers_are_given_in_the_order_of_commits_and_none_is_skipped,
    account_changes::every_change_is_told_of_whom_it_concerns,
    account_changes::many_changes_at_once_are_told_as_one,
    account_changes::what_was_told_is_purged_from_its_beginning,
    housekeeping::failures_count_in_parallel_and_are_forgiven,
    housekeeping::a_success_leaves_the_failures_of_others_as_they_are,
    housekeeping::an_attack_from_ever_new_addresses_keeps_nobody_out,
    heartbeats::a_silence_of_all_processes_is_an_outage,
    heartbeats::whoever_asks_ends_the_silence_and_one_of_many_notes_it,
    housekeeping::a_link_is_taken_once,
    housekeeping::the_key_ring_comes_back,
    housekeeping::what_is_over_is_purged_and_the_rest_stays,
    housekeeping::every_event_is_listed_in_its_order,
    housekeeping::the_log_is_told_of_what_counts_and_of_nothing_else,
);
