//! One operation asked by one caller: permission first, then the input, then the change, and last the record as this caller may read it.

use identity::account::rights::RightsFault;
use identity::audit_event::{AuditEvent, OperationRefusal};
use query::json::{self, Json, write_text};
use query::parse;
use query::plan::Operation as Reading;
use store::hub_records::audit_log::AuditContext;
use uuid::Uuid;

use crate::administration::{Actor, Administration};
use crate::caller::Caller;
use crate::clock;
use crate::hub::Hub;
use crate::problem::Problem;
use crate::query_service::QueryService;

use super::fault::unreadable;
use super::input::Input;
use super::perform::{Done, Performer};
use super::{Answer, Operation, Target};

/// What belongs to a record and is told with it, where the caller may read it.
const TOLD_WITH: [(&str, &[&str]); 2] = [("iam.account", &["roles", "tenants"]), ("iam.role", &["permissions"])];

/// An operation that its caller may ask for.
pub(crate) struct Errand<'a> {
    queries: &'a QueryService,
    hub: &'a Hub,
    caller: &'a Caller,
    account: Uuid,
    operation: &'static Operation,
    /// Where the request came from.
    address: &'a str,
}

/// What was sent with it.
pub(crate) struct Sent<'a> {
    /// The id, where the operation is about a record that is there.
    pub(crate) id: &'a str,
    /// The input.
    pub(crate) input: Json,
    /// Where the input stands, for the paths of faults.
    pub(crate) base: &'a str,
}

impl<'a> Sent<'a> {
    /// The body of a request: nothing at all is an empty object.
    pub(crate) fn body(id: &'a str, bytes: &[u8]) -> Result<Self, Problem> {
        let input = if bytes.is_empty() { Json::Object(Vec::new()) } else { json::strict(bytes).map_err(unreadable)? };
        Ok(Sent { id, input, base: "" })
    }
}

impl<'a> Errand<'a> {
    /// Decides permission, before anything that was sent is looked at. The address is where the request came from.
    pub(crate) async fn enter(
        queries: &'a QueryService,
        hub: &'a Hub,
        caller: &'a Caller,
        operation: &'static Operation,
        address: &'a str,
    ) -> Result<Self, Problem> {
        // Somebody who holds a permission is somebody.
        let account = caller.account().ok_or_else(|| caller.refusal())?;
        let errand = Errand { queries, hub, caller, account, operation, address };
        if !caller.viewer().holds(operation.permission) {
            errand.note_refusal(OperationRefusal::Permission(operation.permission)).await;
            return Err(caller.refusal());
        }
        if let Err(problem) = caller.may_administer() {
            errand.note_refusal(OperationRefusal::Client).await;
            return Err(problem);
        }
        Ok(errand)
    }

    /// Whether it makes something new.
    pub(crate) fn makes(&self) -> bool {
        self.operation.target == Target::New
    }

    /// Carries it out; gives the JSON object that is its answer.
    pub(crate) async fn run(self, sent: Sent<'_>) -> Result<Vec<u8>, Problem> {
        let input = Input::read(self.operation, sent.input, sent.base)?;
        let _slot = self.queries.budgets.identity.acquire(self.caller.key()).await?;
        let administration = Administration { records: self.hub.records(), actor: Actor::Account(self.account), occasion: self.occasion() };
        let performer = Performer { hub: self.hub, administration, id: sent.id, base: sent.base, input };
        let done = match performer.perform(self.operation).await {
            Ok(done) => done,
            Err(problem) => {
                if let Some(reason) = reason(&problem) {
                    self.note_refusal(reason).await;
                }
                return Err(problem);
            }
        };
        let record = match self.operation.answer {
            // It is done: who asked hears so, and the secret, even if the record cannot be read a moment later.
            Answer::Record | Answer::Secret => self.record(&done.key).await.unwrap_or_else(|problem| {
                tracing::warn!(?problem, "what was changed could not be read");
                None
            }),
            Answer::Link | Answer::Deleted | Answer::Ended => None,
        };
        Ok(written(record, &done))
    }

    fn occasion(&self) -> AuditContext<'a> {
        AuditContext { now: clock::now(), address: Some(self.address) }
    }

    /// Notes in the audit log that somebody reached for more than they hold. They are refused whether or not that can be noted.
    async fn note_refusal(&self, reason: OperationRefusal) {
        let event = AuditEvent::OperationRefused { actor: self.account, operation: self.operation.name(), reason };
        if let Err(error) = self.hub.note_refused_operation(&event, self.occasion()).await {
            tracing::error!(%error, operation = self.operation.name(), "a refused operation could not be noted in the audit log");
        }
    }

    /// The record by the same engine as every other row, from the database itself; nothing where the caller may not read it.
    async fn record(&self, key: &str) -> Result<Option<Vec<u8>>, Problem> {
        let (id, resource) =
            self.operation.resource_in(&self.queries.catalog).ok_or(Problem::Internal("an operation is of no resource here"))?;
        let Ok(entrance) = self.queries.enter(id, self.caller) else { return Ok(None) };
        let told = TOLD_WITH.iter().find(|(name, _)| *name == self.operation.resource).map_or([].as_slice(), |(_, told)| told);
        let may_read = |name: &&&str| {
            let target = resource.relation(name).map(|relation| self.queries.catalog.resource(relation.target));
            target.is_some_and(|target| self.caller.viewer().may_read(target))
        };
        let relations = told.iter().filter(may_read).map(|name| ((*name).to_owned(), Json::Bool(true))).collect();
        let statement = Json::Object(vec![("relations".to_owned(), Json::Object(relations))]);
        let body = parse::layers(Some(statement), None);
        let query = self.queries.render(entrance, Reading::Find, Some(&[key.to_owned()]), body)?;
        Ok(self.queries.record(self.caller.key(), query).await?.map(Vec::from))
    }
}

/// Why a problem refuses an operation; nothing for a fault of the input or of ours.
fn reason(problem: &Problem) -> Option<OperationRefusal> {
    match problem {
        Problem::Lacking(permission) => Some(OperationRefusal::Permission(permission)),
        Problem::Rights(RightsFault::NotHeld) => Some(OperationRefusal::NotHeld),
        Problem::Rights(RightsFault::LastAdministrator) => Some(OperationRefusal::LastAdministrator),
        Problem::Rights(RightsFault::BuiltIn) => Some(OperationRefusal::BuiltInRole),
        _ => None,
    }
}

/// A record, or its key alone, with what is told beside it.
fn written(record: Option<Vec<u8>>, done: &Done) -> Vec<u8> {
    let mut out = record.unwrap_or_else(|| {
        let mut out = b"{\"id\":".to_vec();
        write_text(&mut out, &done.key);
        out.push(b'}');
        out
    });
    // Opened again, for what follows.
    out.pop();
    for (name, value) in &done.more {
        out.push(b',');
        write_text(&mut out, name);
        out.push(b':');
        out.extend_from_slice(value.to_string().as_bytes());
    }
    out.push(b'}');
    out
}
