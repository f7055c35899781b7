//! Writes the operations of administration as mutations: their root fields, inputs and answers.

use std::collections::HashMap;
use std::fmt::Write;

use query::catalog::{Catalog, ResourceId};
use query::manifest::ManifestFault;
use query::payload::WriteForm;

use crate::admin_operations::describe::{ANSWER_SHAPES, AnswerShape, is_hub, offered};
use crate::admin_operations::{FieldKind, Operation, OperationTarget, PAYLOAD, StringFormat};

use super::clash;
use super::fields::{describe, object_fields};

#[derive(Debug, Default)]
pub(super) struct Mutations {
    pub(super) by_name: HashMap<String, MutationField>,
    pub(super) types: HashMap<String, TypeOwner>,
    /// The fields of the type `Mutation`.
    pub(super) roots: String,
    /// The other types.
    pub(super) sdl: String,
    pub(super) faults: Vec<ManifestFault>,
}

/// What a type belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypeOwner {
    Resource(ResourceId),
    /// Every schema, or every schema of a hub.
    Graphql,
}

/// What a root field of a mutation does.
#[derive(Clone, Copy, Debug)]
pub(in crate::graphql) enum MutationField {
    /// Changes a record of the hub.
    Administration(&'static Operation),
    /// Changes rows of a resource.
    Write(WriteField),
}

/// One write as a root field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::graphql) struct WriteField {
    pub(in crate::graphql) resource: ResourceId,
    pub(in crate::graphql) form: WriteForm,
    /// Whether the answer is `{count, rows}`.
    pub(in crate::graphql) is_list: bool,
}

impl Mutations {
    /// Notes a root field. Two of one name are a fault of the manifest.
    pub(super) fn claim(&mut self, catalog: &Catalog, name: String, field: WriteField) {
        let what = format!("mutation `{name}`");
        let owner = match self.by_name.insert(name, MutationField::Write(field)) {
            Some(MutationField::Write(other)) => TypeOwner::Resource(other.resource),
            Some(MutationField::Administration(_)) => TypeOwner::Graphql,
            None => return,
        };
        self.faults.push(clash(catalog, catalog.resource(field.resource), &what, owner));
    }

    /// Notes a type of a resource. Two of one name are a fault of the manifest.
    pub(super) fn add_type(&mut self, catalog: &Catalog, resource: ResourceId, name: &str) {
        if let Some(owner) = self.types.insert(name.to_owned(), TypeOwner::Resource(resource)) {
            self.faults.push(clash(catalog, catalog.resource(resource), &format!("type `{name}`"), owner));
        }
    }
}

/// Declares the operations of a hub's catalog. Other catalogs have none.
pub(super) fn declare(catalog: &Catalog) -> Mutations {
    let mut mutations = Mutations::default();
    if !is_hub(catalog) {
        return mutations;
    }
    let own = ["OAuthClientSecret", "Mutation"].into_iter().chain(ANSWER_SHAPES.map(|(name, ..)| name));
    mutations.types = own.map(|name| (name.to_owned(), TypeOwner::Graphql)).collect();
    let mut roots = String::new();
    let mut inputs = String::new();
    for operation in offered(catalog) {
        // An operation may be refused, so that no field is non-null.
        let mut arguments = Vec::new();
        if operation.target == OperationTarget::RecordById {
            arguments.push("id: ID!".to_owned());
        }
        if !operation.fields.is_empty() {
            arguments.push(format!("{PAYLOAD}: {}!", operation.input_name()));
            mutations.types.insert(operation.input_name(), TypeOwner::Graphql);
            input(&mut inputs, operation);
        }
        describe(
            &mut roots,
            "  ",
            &format!(
                "{}. Needs the permission `{}`, and a token of a client with the flag `administers`.",
                operation.summary, operation.permission
            ),
        );
        _ = writeln!(roots, "  {}({}): {}", operation.name(), arguments.join(", "), operation.answer_name());
        mutations.by_name.insert(operation.name(), MutationField::Administration(operation));
    }
    mutations.roots = roots;
    mutations.sdl = inputs;
    for shape in &ANSWER_SHAPES {
        answer(&mut mutations.sdl, shape);
    }
    mutations.sdl += &client_secret(catalog);
    mutations
}

fn input(sdl: &mut String, operation: &Operation) {
    sdl.push('\n');
    describe(sdl, "", &format!("The payload of `{}`.", operation.name()));
    _ = writeln!(sdl, "input {} {{", operation.input_name());
    for field in operation.fields {
        describe(sdl, "  ", &format!("{}.", field.description()));
        let end = if field.required { "!" } else { "" };
        _ = writeln!(sdl, "  {}: {}{end}", field.name, field_type(field.kind));
    }
    sdl.push_str("}\n");
}

fn field_type(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::String(StringFormat::Uuid) => "UUID",
        FieldKind::String(_) => "String",
        FieldKind::Strings(StringFormat::Uuid) => "[UUID!]",
        FieldKind::Strings(_) => "[String!]",
        FieldKind::Boolean => "Boolean",
        FieldKind::Seconds(_) => "Int",
        FieldKind::Object => "JSON",
    }
}

fn answer(sdl: &mut String, (name, description, members): &AnswerShape) {
    sdl.push('\n');
    describe(sdl, "", &format!("{description}."));
    _ = writeln!(sdl, "type {name} {{");
    for (member, json_type, about) in *members {
        describe(sdl, "  ", &format!("{about}."));
        let kind = match (*member, *json_type) {
            ("id", _) => "ID",
            (_, "integer") => "Int",
            _ => "String",
        };
        _ = writeln!(sdl, "  {member}: {kind}!");
    }
    sdl.push_str("}\n");
}

/// A client with its secret: one object, as over REST.
fn client_secret(catalog: &Catalog) -> String {
    let mut sdl = String::from("\n\"A client and its secret, which is shown only once.\"\ntype OAuthClientSecret {\n");
    if let Some(id) = catalog.by_name("oAuth.client") {
        object_fields(&mut sdl, catalog, catalog.resource(id));
    }
    sdl.push_str("  \"The client secret; the hub stores only its digest.\"\n  secret: String!\n");
    sdl.push_str("  \"The seconds for which the previous secret stays valid, if there was one.\"\n  previousCountsFor: Int\n}\n");
    sdl
}
