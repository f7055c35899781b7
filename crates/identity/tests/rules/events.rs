//! What is written into the audit log.

use identity::client::{ClientId, GrantType};
use identity::error::ErrorCode;
use identity::event::{Altered, Change, Event, OperationRefusal, Record, SignInRefusal};
use serde_json::{Value, json};

use crate::support::*;

// contract I13.1
#[test]
fn every_event_has_a_stable_name_and_its_data() {
    let client = ClientId::parse("shop").unwrap();
    let (account, session, family) = (ACCOUNT.to_string(), SESSION.to_string(), FAMILY.to_string());
    for (event, name, data) in [
        (Event::SignedIn { account: ACCOUNT, session: SESSION }, "sign-in.succeeded", json!({"account": account, "session": session})),
        (Event::SignInRefused { account: None, reason: SignInRefusal::Credentials }, "sign-in.refused", json!({"reason": "credentials"})),
        (
            Event::SignInRefused { account: Some(ACCOUNT), reason: SignInRefusal::Throttled },
            "sign-in.refused",
            json!({"account": account, "reason": "throttled"}),
        ),
        (Event::ClientRefused { client: None }, "client.refused", json!({})),
        (
            Event::GrantRefused { client: Some(client.clone()), grant: Some(GrantType::Password), error: ErrorCode::InvalidGrant },
            "grant.refused",
            json!({"client": "shop", "grant": "password", "error": "invalid_grant"}),
        ),
        (
            Event::GrantRefused { client: None, grant: None, error: ErrorCode::InvalidRequest },
            "grant.refused",
            json!({"error": "invalid_request"}),
        ),
        (Event::SignInRefused { account: None, reason: SignInRefusal::Token }, "sign-in.refused", json!({"reason": "token"})),
        (Event::CodeIssued { account: ACCOUNT, client: client.clone() }, "code.issued", json!({"account": account, "client": "shop"})),
        (
            Event::Granted { account: ACCOUNT, client: client.clone(), grant: GrantType::AuthorizationCode, family: FAMILY },
            "grant.issued",
            json!({"account": account, "client": "shop", "grant": "authorization_code", "family": family}),
        ),
        (
            Event::Granted { account: ACCOUNT, client: client.clone(), grant: GrantType::RefreshToken, family: FAMILY },
            "grant.refreshed",
            json!({"account": account, "client": "shop", "grant": "refresh_token", "family": family}),
        ),
        (Event::CodeReplayed { client: client.clone(), family: FAMILY }, "code.replayed", json!({"client": "shop", "family": family})),
        (
            Event::RefreshRepeated { account: ACCOUNT, client: client.clone(), family: FAMILY },
            "refresh.repeated",
            json!({"account": account, "client": "shop", "family": family}),
        ),
        (Event::RefreshReused { client: client.clone(), family: FAMILY }, "refresh.reused", json!({"client": "shop", "family": family})),
        (Event::Revoked { family: FAMILY }, "grant.revoked", json!({"family": family})),
        (Event::SessionEnded { account: ACCOUNT, session: SESSION }, "session.ended", json!({"account": account, "session": session})),
        (
            Event::Changed { record: Record::Client(client), change: Change::CredentialChanged, actor: Some(ACCOUNT) },
            "client.secret-changed",
            json!({"client": "shop", "actor": account}),
        ),
        (
            Event::Changed { record: Record::Account(ACCOUNT), change: Change::CredentialChanged, actor: None },
            "account.password-changed",
            json!({"account": account}),
        ),
        (
            Event::Changed { record: Record::Account(ACCOUNT), change: Change::Updated(Altered::default()), actor: Some(ACCOUNT) },
            "account.updated",
            json!({"account": account, "actor": account, "changed": []}),
        ),
        (
            Event::OperationRefused {
                actor: ACCOUNT,
                operation: "iamUpdateAccount".to_owned(),
                reason: OperationRefusal::Permission("iam.account.update"),
            },
            "administration.refused",
            json!({"actor": account, "operation": "iamUpdateAccount", "reason": "permission", "permission": "iam.account.update"}),
        ),
        (
            Event::OperationRefused { actor: ACCOUNT, operation: "iamDeleteRole".to_owned(), reason: OperationRefusal::BuiltInRole },
            "administration.refused",
            json!({"actor": account, "operation": "iamDeleteRole", "reason": "built-in-role"}),
        ),
        (Event::KeyRotated { key: "k".to_owned(), state: "announced" }, "key.rotated", json!({"key": "k", "state": "announced"})),
    ] {
        assert_eq!(event.name(), name);
        assert_eq!(Value::Object(event.data()), data, "{name}");
    }
}
