//! What is written into the audit log.

use identity::audit_event::{AuditEvent, ChangedFields, ChangedRecord, OperationRefusal, RecordChange, SignInRefusal};
use identity::client::{ClientId, GrantType};
use identity::error::ErrorCode;
use serde_json::{Value, json};

use crate::support::*;

// contract I13.1
#[test]
fn every_event_has_a_stable_name_and_its_data() {
    let client = ClientId::parse("shop").unwrap();
    let (account, session, family) = (ACCOUNT.to_string(), SESSION.to_string(), FAMILY.to_string());
    for (event, name, data) in [
        (AuditEvent::SignedIn { account: ACCOUNT, session: SESSION }, "sign-in.succeeded", json!({"account": account, "session": session})),
        (
            AuditEvent::SignInRefused { account: None, reason: SignInRefusal::Credentials },
            "sign-in.refused",
            json!({"reason": "credentials"}),
        ),
        (
            AuditEvent::SignInRefused { account: Some(ACCOUNT), reason: SignInRefusal::Throttled },
            "sign-in.refused",
            json!({"account": account, "reason": "throttled"}),
        ),
        (AuditEvent::ClientRefused { client: None }, "client.refused", json!({})),
        (
            AuditEvent::GrantRefused { client: Some(client.clone()), grant: Some(GrantType::Password), error: ErrorCode::InvalidGrant },
            "grant.refused",
            json!({"client": "shop", "grant": "password", "error": "invalid_grant"}),
        ),
        (
            AuditEvent::GrantRefused { client: None, grant: None, error: ErrorCode::InvalidRequest },
            "grant.refused",
            json!({"error": "invalid_request"}),
        ),
        (AuditEvent::SignInRefused { account: None, reason: SignInRefusal::Token }, "sign-in.refused", json!({"reason": "token"})),
        (AuditEvent::CodeIssued { account: ACCOUNT, client: client.clone() }, "code.issued", json!({"account": account, "client": "shop"})),
        (
            AuditEvent::Granted { account: ACCOUNT, client: client.clone(), grant: GrantType::AuthorizationCode, family: FAMILY },
            "grant.issued",
            json!({"account": account, "client": "shop", "grant": "authorization_code", "family": family}),
        ),
        (
            AuditEvent::Granted { account: ACCOUNT, client: client.clone(), grant: GrantType::RefreshToken, family: FAMILY },
            "grant.refreshed",
            json!({"account": account, "client": "shop", "grant": "refresh_token", "family": family}),
        ),
        (AuditEvent::CodeReplayed { client: client.clone(), family: FAMILY }, "code.replayed", json!({"client": "shop", "family": family})),
        (
            AuditEvent::RefreshRepeated { account: ACCOUNT, client: client.clone(), family: FAMILY },
            "refresh.repeated",
            json!({"account": account, "client": "shop", "family": family}),
        ),
        (
            AuditEvent::RefreshReused { client: client.clone(), family: FAMILY },
            "refresh.reused",
            json!({"client": "shop", "family": family}),
        ),
        (AuditEvent::Revoked { family: FAMILY }, "grant.revoked", json!({"family": family})),
        (AuditEvent::SessionEnded { account: ACCOUNT, session: SESSION }, "session.ended", json!({"account": account, "session": session})),
        (
            AuditEvent::Changed { record: ChangedRecord::Client(client), change: RecordChange::CredentialChanged, actor: Some(ACCOUNT) },
            "client.secret-changed",
            json!({"client": "shop", "actor": account}),
        ),
        (
            AuditEvent::Changed { record: ChangedRecord::Account(ACCOUNT), change: RecordChange::CredentialChanged, actor: None },
            "account.password-changed",
            json!({"account": account}),
        ),
        (
            AuditEvent::Changed {
                record: ChangedRecord::Account(ACCOUNT),
                change: RecordChange::Updated(ChangedFields::default()),
                actor: Some(ACCOUNT),
            },
            "account.updated",
            json!({"account": account, "actor": account, "changed": []}),
        ),
        (
            AuditEvent::OperationRefused {
                actor: ACCOUNT,
                operation: "iamUpdateAccount".to_owned(),
                reason: OperationRefusal::Permission("iam.account.update"),
            },
            "administration.refused",
            json!({"actor": account, "operation": "iamUpdateAccount", "reason": "permission", "permission": "iam.account.update"}),
        ),
        (
            AuditEvent::OperationRefused { actor: ACCOUNT, operation: "iamDeleteRole".to_owned(), reason: OperationRefusal::BuiltInRole },
            "administration.refused",
            json!({"actor": account, "operation": "iamDeleteRole", "reason": "built-in-role"}),
        ),
        (AuditEvent::KeyRotated { key: "k".to_owned(), state: "announced" }, "key.rotated", json!({"key": "k", "state": "announced"})),
    ] {
        assert_eq!(event.name(), name);
        assert_eq!(Value::Object(event.data()), data, "{name}");
    }
}
