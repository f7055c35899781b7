//! The operations of administration over HTTP: one table that REST, GraphQL and the descriptions read, and their execution.

pub(crate) mod describe;
mod execute;
mod input;
mod input_fault;
mod request;
mod string_format;
mod table;

use query::catalog::{Catalog, Resource, ResourceId, kebab};
use query::describe::upper_first;

pub(crate) use input_fault::InputCode;
pub(crate) use request::{OperationInput, OperationRequest};
pub(crate) use string_format::StringFormat;
pub(crate) use table::{AdminAction, OPERATIONS};

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) action: AdminAction,
    /// `iam.account`
    pub(crate) resource: &'static str,
    /// `create`
    pub(crate) verb: &'static str,
    /// The part of the record that the verb is about, such as `Password`; empty for the whole record.
    pub(crate) part: &'static str,
    pub(crate) permission: &'static str,
    pub(crate) target: OperationTarget,
    pub(crate) fields: &'static [InputField],
    pub(crate) answer: OperationAnswer,
    pub(crate) summary: &'static str,
}

/// Whether the request names a record by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationTarget {
    NewRecord,
    RecordById,
}

/// The key of a request's input: in the body of REST, and as the argument of GraphQL.
pub(crate) const PAYLOAD: &str = "payload";

/// One field of an input. An absent field keeps its value, or has its default in a new record.
#[derive(Debug)]
pub(crate) struct InputField {
    pub(crate) name: &'static str,
    pub(crate) kind: FieldKind,
    pub(crate) required: bool,
    /// Whether null is accepted and empties the field. Lists and objects accept it, and the strings that a record can lack.
    pub(crate) nullable: bool,
    description: &'static str,
}

impl InputField {
    /// What the field means, and what null does to it.
    pub(crate) fn description(&self) -> String {
        match (self.required, self.nullable, self.kind) {
            (true, ..) => self.description.to_owned(),
            (false, true, FieldKind::Strings(_)) => format!("{}. Null empties the list", self.description),
            (false, true, _) => format!("{}. Null empties it", self.description),
            (false, false, _) => format!("{}. Null is refused", self.description),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    String(StringFormat),
    Strings(StringFormat),
    Boolean,
    /// A whole number from 1 to this maximum.
    Seconds(i64),
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationAnswer {
    /// The record, as the caller may read it.
    Record,
    ClientSecret,
    Link,
    Deleted,
    Ended,
}

impl Operation {
    /// The resource in a catalog; none if the catalog is not of a hub.
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

    pub(crate) fn field_names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }

    /// `create`, `rotate-secret`
    pub(crate) fn path_segment(&self) -> String {
        kebab(&format!("{}{}", self.verb, self.part))
    }
}

pub(crate) fn find(resource: &Resource, segment: &str, target: OperationTarget) -> Option<&'static Operation> {
    let matches = |operation: &&Operation| operation.resource == resource.full_name && operation.target == target;
    OPERATIONS.iter().filter(matches).find(|operation| operation.path_segment() == segment)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use identity::account::KnownPermissions;
    use query::manifest::Manifest;
    use query::sql::Dialect;

    use super::*;
    use crate::query_service::operation::ReadOperation;

    #[test]
    fn every_operation_has_a_name_a_path_and_a_permission_of_the_hub() {
        // contract I25.1, I25.2
        let known = KnownPermissions::new([]);
        let catalog =
            Catalog::resolve_beside(&crate::hub::manifest(Dialect::Sqlite).expect("a manifest"), &Manifest::default()).expect("a catalog");
        let mut names = BTreeSet::new();
        for operation in OPERATIONS {
            assert!(names.insert(operation.name()), "{} stands twice", operation.name());
            let (_, resource) = operation.resource_in(&catalog).expect("a resource of the hub");
            assert!(
                std::ptr::eq(find(resource, &operation.path_segment(), operation.target).expect("a path"), operation),
                "{}",
                operation.name()
            );
            assert!(known.permissions().iter().any(|known| known.as_str() == operation.permission), "{}", operation.permission);
            assert_eq!(ReadOperation::from_path_end(&operation.path_segment()), None, "{}", operation.name());
            let fields: BTreeSet<&str> = operation.fields.iter().map(|field| field.name).collect();
            assert_eq!(fields.len(), operation.fields.len(), "{}", operation.name());
        }
        for name in ["iamCreateAccount", "iamUpdateAccount", "iamDeleteAccount", "oAuthRotateClientSecret", "hubCreateAppAccount"] {
            assert!(names.contains(name), "{name}");
        }
    }
}
