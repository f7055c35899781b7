//! One request for an operation: checks the permission, then the input, makes the change, and reads the record as the caller may read it.

use std::borrow::Cow;

use identity::account::rights::RightsFault;
use identity::audit_event::{AuditEvent, OperationRefusal};
use query::catalog::Resource;
use query::json::{self, Json, write_text};
use query::parse;
use query::plan::Operation as Reading;
use query::sql::Query;
use store::hub_records::audit_log::AuditContext;
use uuid::Uuid;

use crate::administration::{Actor, Administration};
use crate::caller::Caller;
use crate::clock;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::query_service::QueryService;

use super::execute::{Executor, Outcome};
use super::input::CheckedInput;
use super::input_fault::{InputCode, below_payload, invalid_json, one};
use super::{Operation, OperationAnswer, OperationTarget, PAYLOAD};

/// The relations that are answered with a record, if the caller may read them.
const ANSWERED_RELATIONS: [(&str, &[&str]); 2] = [("iam.account", &["roles", "tenants"]), ("iam.role", &["permissions"])];

pub(crate) struct OperationRequest<'a> {
    queries: &'a QueryService,
    hub: &'a Hub,
    caller: &'a Caller,
    account: Uuid,
    operation: &'static Operation,
    client_address: &'a str,
}

/// The id and the input of a request, not yet checked.
pub(crate) struct OperationInput<'a> {
    /// Empty for an operation on a new record.
    id: &'a str,
    /// The body of the request, with the input as its payload.
    body: Json,
    /// The statement that reads the record for the answer; none for all of `ANSWERED_RELATIONS` that the caller may read.
    statement: Option<Json>,
}

impl<'a> OperationInput<'a> {
    /// Reads a request body; an empty body is an empty object.
    pub(crate) fn from_body(id: &'a str, bytes: &[u8]) -> Result<Self, Problem> {
        let body = if bytes.is_empty() { Json::Object(Vec::new()) } else { json::strict(bytes).map_err(invalid_json)? };
        Ok(OperationInput { id, body, statement: None })
    }

    /// Takes the arguments of a mutation; one without a payload has an empty body.
    pub(crate) fn from_arguments(id: &'a str, payload: Option<Json>, statement: Option<Json>) -> Self {
        let body = Json::Object(payload.into_iter().map(|payload| (PAYLOAD.to_owned(), payload)).collect());
        OperationInput { id, body, statement }
    }
}

impl<'a> OperationRequest<'a> {
    /// Checks the permission, before the input is read.
    pub(crate) async fn authorize(
        queries: &'a QueryService,
        hub: &'a Hub,
        caller: &'a Caller,
        operation: &'static Operation,
        client_address: &'a str,
    ) -> Result<Self, Problem> {
        let account = caller.account().ok_or_else(|| caller.refusal(operation.permission))?;
        let request = OperationRequest { queries, hub, caller, account, operation, client_address };
        if !caller.viewer().has_permission(operation.permission) {
            request.audit_refusal(OperationRefusal::Permission(operation.permission)).await;
            return Err(caller.refusal(operation.permission));
        }
        if let Err(problem) = caller.may_administer() {
            request.audit_refusal(OperationRefusal::Client).await;
            return Err(problem);
        }
        Ok(request)
    }

    pub(crate) fn creates(&self) -> bool {
        self.operation.target == OperationTarget::NewRecord
    }

    pub(crate) async fn execute(self, sent: OperationInput<'_>) -> Result<Vec<u8>, Problem> {
        let input = CheckedInput::read(self.operation, sent.body)?;
        // A relation that the caller may not read refuses the operation, before anything changes.
        self.record_query(&Uuid::nil().to_string(), sent.statement.clone())?;
        let _slot = self.queries.budgets.identity.acquire(self.caller.key()).await?;
        let administration =
            Administration { records: self.hub.records(), actor: Actor::Account(self.account), audit_context: self.audit_context() };
        let (key, uuid) = self.record_key(sent.id)?;
        let executor = Executor { hub: self.hub, administration, key, uuid, input };
        let outcome = match executor.execute(self.operation.action).await {
            Ok(outcome) => outcome,
            Err(problem) => {
                if let Some(reason) = refusal_reason(&problem) {
                    self.audit_refusal(reason).await;
                }
                return Err(below_payload(problem, |name| executor.input.has(name)));
            }
        };
        let record = match self.operation.answer {
            // The change is committed: the caller gets the key and the secret, even if the record cannot be read.
            OperationAnswer::Record | OperationAnswer::ClientSecret => {
                self.record(&outcome.key, sent.statement).await.unwrap_or_else(|problem| {
                    tracing::warn!(?problem, "the changed record could not be read");
                    None
                })
            }
            OperationAnswer::Link | OperationAnswer::Deleted | OperationAnswer::Ended => None,
        };
        Ok(to_json(record, &outcome))
    }

    /// The id in the request as the database spells it, and as a UUID. The ids of clients are not UUIDs.
    fn record_key(&self, id: &str) -> Result<(String, Uuid), Problem> {
        if self.creates() || self.operation.resource == "oAuth.client" {
            return Ok((id.to_owned(), Uuid::nil()));
        }
        let uuid = Uuid::try_parse(id).map_err(|_| one(InputCode::Identifier, "/id".to_owned(), "the id must be a UUID"))?;
        Ok((uuid.to_string(), uuid))
    }

    fn audit_context(&self) -> AuditContext<'a> {
        AuditContext { now: clock::now(), address: Some(self.client_address) }
    }

    /// Writes the audit event of a refusal. The refusal stands even if the event cannot be written.
    async fn audit_refusal(&self, reason: OperationRefusal) {
        let event = AuditEvent::OperationRefused { actor: self.account, operation: self.operation.name(), reason };
        if let Err(error) = self.hub.note_refusal(&event, self.audit_context()).await {
            tracing::error!(%error, operation = self.operation.name(), "could not write the audit event of a refused operation");
        }
    }

    /// Reads the record through the query engine, on the primary database; nothing if the caller may not read it.
    async fn record(&self, key: &str, statement: Option<Json>) -> Result<Option<Vec<u8>>, Problem> {
        let Some(query) = self.record_query(key, statement)? else { return Ok(None) };
        Ok(self.queries.record(self.caller.key(), query).await?.map(Vec::from))
    }

    fn record_query(&self, key: &str, statement: Option<Json>) -> Result<Option<Query>, Problem> {
        let (id, resource) =
            self.operation.resource_in(&self.queries.catalog).ok_or(Problem::Internal("the catalog lacks the resource of an operation"))?;
        let Ok(access) = self.queries.authorize_read(id, self.caller) else { return Ok(None) };
        let body = parse::layers(Some(statement.unwrap_or_else(|| self.answered_relations(resource))), None);
        self.queries.render(access, Reading::Find, Some(&[key.to_owned()]), body).map(Some)
    }

    fn answered_relations(&self, resource: &Resource) -> Json {
        let names = ANSWERED_RELATIONS.iter().find(|(name, _)| *name == self.operation.resource).map_or([].as_slice(), |(_, names)| names);
        let can_read = |name: &&&str| {
            let target = resource.relation(name).map(|relation| self.queries.catalog.resource(relation.target));
            target.is_some_and(|target| self.caller.viewer().can_read(target))
        };
        let relations = names.iter().filter(can_read).map(|name| ((*name).to_owned(), Json::Bool(true))).collect();
        Json::Object(vec![("relations".to_owned(), Json::Object(relations))])
    }
}

/// The reason for the audit log; nothing for a fault of the input or an internal error.
fn refusal_reason(problem: &Problem) -> Option<OperationRefusal> {
    match problem {
        Problem::MissingPermission(Cow::Borrowed(permission)) => Some(OperationRefusal::Permission(permission)),
        Problem::Rights(RightsFault::NotHeld) => Some(OperationRefusal::NotHeld),
        Problem::Rights(RightsFault::LastAdministrator) => Some(OperationRefusal::LastAdministrator),
        Problem::Rights(RightsFault::BuiltIn) => Some(OperationRefusal::BuiltInRole),
        _ => None,
    }
}

/// The record, or an object with its key alone, and the other members of the outcome.
fn to_json(record: Option<Vec<u8>>, outcome: &Outcome) -> Vec<u8> {
    let mut out = record.unwrap_or_else(|| {
        let mut out = b"{\"id\":".to_vec();
        write_text(&mut out, &outcome.key);
        out.push(b'}');
        out
    });
    // Remove the closing brace.
    out.pop();
    for (name, value) in &outcome.more {
        out.push(b',');
        write_text(&mut out, name);
        out.push(b':');
        out.extend_from_slice(value.to_string().as_bytes());
    }
    out.push(b'}');
    out
}
