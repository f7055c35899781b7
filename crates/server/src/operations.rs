//! The operations of administration as HTTP offers them: one table that REST, GraphQL and the descriptions all read, and the way from a
//! request to a change and back to the record it made.

pub(crate) mod describe;
mod errand;
mod fault;
mod input;
mod perform;
mod table;
mod text;

use query::catalog::{Catalog, Resource, ResourceId, kebab};
use query::describe::upper_first;

pub(crate) use errand::{Errand, Sent};
pub(crate) use fault::InputCode;
pub(crate) use table::{Action, OPERATIONS};
pub(crate) use text::Text;

/// An operation: what it is called, what it needs, what it is given and what it answers.
#[derive(Debug)]
pub(crate) struct Operation {
    /// What is done.
    pub(crate) action: Action,
    /// The resource it belongs to, `iam.account`.
    pub(crate) resource: &'static str,
    /// What it does to it, `create`.
    pub(crate) verb: &'static str,
    /// What of it is meant, where it is not the whole: `Password`.
    pub(crate) part: &'static str,
    /// The permission it takes.
    pub(crate) permission: &'static str,
    /// Whether an id says which record is meant.
    pub(crate) target: Target,
    /// What may be sent.
    pub(crate) fields: &'static [Field],
    /// What comes back.
    pub(crate) answer: Answer,
    /// One sentence for people.
    pub(crate) about: &'static str,
}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A record that is not there yet.
    New,
    /// The record with an id.
    ById,
}

/// Something that may be sent.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) need: Need,
    /// One sentence for people.
    pub(crate) about: &'static str,
}

/// Whether a field has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    /// Left out or null, nothing is said.
    Optional,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text(Text),
    Texts(Text),
    Flag,
    /// A whole number from 1 to this many.
    Seconds(i64),
    /// Any JSON object.
    Object,
}

/// What an operation answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The record, as the caller may read it.
    Record,
    /// The record, and a secret that is shown this once.
    Secret,
    /// A link that sets a password, shown this once.
    Link,
    /// The id of what is gone.
    Deleted,
    /// How much was ended.
    Ended,
}

impl Operation {
    /// The resource in a catalog; none where there is no hub.
    pub(crate) fn resource_in<'c>(&self, catalog: &'c Catalog) -> Option<(ResourceId, &'c Resource)> {
        catalog.by_name(self.resource).map(|id| (id, catalog.resource(id)))
    }

    /// `iamCreateAccount`, `oAuthRotateClientSecret`
    pub(crate) fn name(&self) -> String {
        let (context, name) = self.resource.split_once('.').unwrap_or((self.resource, ""));
        format!("{context}{}{}{}", upper_first(self.verb), upper_first(name), self.part)
    }

    /// `IamCreateAccountInput`
    pub(crate) fn input_name(&self) -> String {
        format!("{}Input", upper_first(&self.name()))
    }

    /// `create`, `rotate-secret`: the end of its address.
    pub(crate) fn end(&self) -> String {
        kebab(&format!("{}{}", self.verb, self.part))
    }
}

/// The operation at an address, if the resource has it.
pub(crate) fn at(resource: &Resource, end: &str, target: Target) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.resource == resource.full_name && operation.target == target && operation.end() == end)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use identity::account::Catalogue;
    use query::manifest::Manifest;
    use query::sql::Dialect;

    use super::*;
    use crate::query_service::operation::ReadOperation;

    #[test]
    fn every_operation_has_a_name_an_address_and_a_permission_of_the_hub() {
        // contract I25.1, I25.2
        let known = Catalogue::new([]);
        let catalog =
            Catalog::resolve_beside(&crate::hub::manifest(Dialect::Sqlite).expect("a manifest"), &Manifest::default()).expect("a catalog");
        let mut names = BTreeSet::new();
        for operation in OPERATIONS {
            assert!(names.insert(operation.name()), "{} stands twice", operation.name());
            let (_, resource) = operation.resource_in(&catalog).expect("a resource of the hub");
            assert!(std::ptr::eq(at(resource, &operation.end(), operation.target).expect("an address"), operation), "{}", operation.name());
            assert!(known.permissions().iter().any(|known| known.as_str() == operation.permission), "{}", operation.permission);
            assert_eq!(ReadOperation::from_path_end(&operation.end()), None, "{}", operation.name());
            let fields: BTreeSet<&str> = operation.fields.iter().map(|field| field.name).collect();
            assert_eq!(fields.len(), operation.fields.len(), "{}", operation.name());
        }
        for name in ["iamCreateAccount", "iamUpdateAccount", "iamDeleteAccount", "oAuthRotateClientSecret", "hubCreateAppAccount"] {
            assert!(names.contains(name), "{name}");
        }
    }
}
