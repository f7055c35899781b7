//! The hub's records on both databases: rows come back as they were stored, races have one winner, and revocations end all they should.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod account_changes;
mod accounts;
mod grants;
mod heartbeats;
mod housekeeping;
mod pending_rights;
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
    accounts::rights_changed_by_another_program_are_recomputed_at_the_next_grant,
    accounts::a_role_that_changes_while_it_is_given_leaves_nobody_behind,
    accounts::a_client_comes_back_with_both_its_secrets,
    pending_rights::the_rights_of_many_members_are_never_old_and_are_written_in_portions,
    pending_rights::a_removed_role_or_tenant_counts_for_nothing_while_its_members_leave,
    pending_rights::a_member_signs_in_while_a_role_of_many_changes,
    grants::one_of_five_hundred_redemptions_wins,
    grants::a_session_that_ended_takes_its_codes_with_it,
    grants::a_refresh_token_has_one_successor_under_any_race,
    grants::a_revocation_ends_its_scope_and_nothing_else,
    grants::a_closed_app_admits_those_who_are_listed,
    grants::a_closed_account_begins_nothing,
    grants::the_refusal_of_an_unknown_secret_is_written_unless_it_has_a_row,
    grants::a_sign_in_takes_the_place_of_the_session_before_or_leaves_it,
    races::a_password_that_was_changed_since_it_was_compared_begins_nothing,
    races::a_password_counts_under_the_hash_that_its_own_sign_in_made_of_it,
    races::a_code_whose_session_was_taken_over_begins_a_family_of_the_new_one,
    races::a_client_revokes_the_current_session_of_a_family,
    account_changes::numbers_are_given_in_the_order_of_commits_and_none_is_skipped,
    account_changes::every_change_names_its_subject,
    account_changes::many_changes_of_one_transaction_are_announced_as_one,
    account_changes::the_change_feed_is_purged_from_its_smallest_number,
    housekeeping::failures_count_in_parallel_and_are_forgiven,
    housekeeping::a_success_leaves_the_failures_of_others_as_they_are,
    housekeeping::an_attack_from_ever_new_addresses_keeps_nobody_out,
    heartbeats::a_silence_of_all_processes_is_an_outage,
    heartbeats::a_heartbeat_without_an_answer_does_not_count,
    heartbeats::the_first_heartbeat_after_a_silence_stores_one_outage,
    housekeeping::attempts_that_an_outage_left_pending_are_no_failures,
    housekeeping::a_password_link_is_used_once,
    housekeeping::the_key_ring_comes_back,
    housekeeping::expired_rows_are_purged_and_the_rest_stays,
    housekeeping::every_event_is_listed_in_its_order,
    housekeeping::only_committed_events_reach_the_log,
);
