//! One operation asked by one caller: permission first, then the input, then the change, and last the record as this caller may read it.

use query::json::{self, Json, write_text};
use query::parse;
use query::plan::Operation as Reading;
use store::events::Occasion;
use uuid::Uuid;

use crate::administration::{Actor, Administration};
use crate::ask;
use crate::auth::Caller;
use crate::chance;
use crate::error::{NOWHERE, Problem};
use crate::hub::Hub;
use crate::service::Service;

use super::fault::unreadable;
use super::input::Input;
use super::perform::{Done, Performer};
use super::{Answer, Operation, Target};

/// What belongs to a record and is told with it, where the caller may read it.
const TOLD_WITH: [(&str, &[&str]); 2] = [("iam.account", &["roles", "tenants"]), ("iam.role", &["permissions"])];

/// An operation that its caller may ask for.
pub(crate) struct Errand<'a> {
    service: &'a Service,
    hub: &'a Hub,
    caller: &'a Caller,
    account: Uuid,
    operation: &'static Operation,
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
    /// Decides permission, before anything that was sent is looked at.
    pub(crate) fn enter(service: &'a Service, caller: &'a Caller, operation: &'static Operation) -> Result<Self, Problem> {
        let hub = service.gate.as_hub().ok_or(NOWHERE)?;
        if !caller.viewer().holds(operation.permission) {
            return Err(caller.refusal());
        }
        // Somebody who holds a permission is somebody.
        let account = caller.account().ok_or(Problem::Unauthenticated)?;
        let errand = Errand { service, hub, caller, account, operation };
        caller.may_administer().inspect_err(|problem| errand.tell(problem))?;
        Ok(errand)
    }

    /// Whether it makes something new.
    pub(crate) fn makes(&self) -> bool {
        self.operation.target == Target::New
    }

    /// Carries it out; gives the JSON object that is its answer.
    pub(crate) async fn run(self, sent: Sent<'_>, address: &str) -> Result<Vec<u8>, Problem> {
        let input = Input::read(self.operation, sent.input, sent.base)?;
        let occasion = Occasion { now: chance::now(), address: Some(address) };
        let administration = Administration { records: self.hub.records(), actor: Actor::Account(self.account), occasion };
        let performer = Performer { hub: self.hub, administration, id: sent.id, base: sent.base, input };
        let done = performer.perform(self.operation).await.inspect_err(|problem| self.tell(problem))?;
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

    /// Who reaches for more than they hold is worth a line in the log, though nothing has changed.
    fn tell(&self, problem: &Problem) {
        let reason = match problem {
            Problem::Rights(fault) => fault.to_string(),
            Problem::ClientMayNotAdminister(client) => format!("client {client} is not marked to administer"),
            _ => return,
        };
        let operation = self.operation.name();
        tracing::warn!(target: "peristyle::audit", operation, actor = %self.account, reason, "an operation was refused");
    }

    /// The record by the same engine as every other row, from the database itself; nothing where the caller may not read it.
    async fn record(&self, key: &str) -> Result<Option<Vec<u8>>, Problem> {
        let (id, resource) =
            self.operation.resource_in(&self.service.catalog).ok_or(Problem::Internal("an operation is of no resource here"))?;
        let Ok(entrance) = ask::enter(self.service, id, self.caller) else { return Ok(None) };
        let told = TOLD_WITH.iter().find(|(name, _)| *name == self.operation.resource).map_or([].as_slice(), |(_, told)| told);
        let may_read = |name: &&&str| {
            let target = resource.relation(name).map(|relation| self.service.catalog.resource(relation.target));
            target.is_some_and(|target| self.caller.viewer().may_read(target))
        };
        let relations = told.iter().filter(may_read).map(|name| ((*name).to_owned(), Json::Bool(true))).collect();
        let statement = Json::Object(vec![("relations".to_owned(), Json::Object(relations))]);
        let body = parse::layers(Some(statement), None);
        let query = ask::render(self.service, entrance, Reading::Find, Some(&[key.to_owned()]), body)?;
        Ok(ask::row(self.service, query).await?.map(Vec::from))
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
