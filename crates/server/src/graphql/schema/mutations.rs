//! The operations of administration in the schema: the types of what they take and answer.

use std::collections::HashMap;
use std::fmt::Write;

use query::catalog::Catalog;

use crate::operations::describe::{is_hub, offered};
use crate::operations::{FieldKind, Operation, OperationTarget, StringFormat};

use super::members::{describe, object_fields};

/// What is answered beside records.
const ANSWERS: &str = r#"
"What is gone."
type Deleted {
  "Its key."
  id: ID!
}

"How much was ended."
type Ended {
  "Whose: the id that was asked for."
  id: ID!
  "Sessions of browsers."
  sessions: Int!
  "Grants to clients."
  grants: Int!
}

"A link that sets the password of an account, once."
type IamAccountLink {
  "The account."
  id: ID!
  "The address to send to whom it is for; it is not shown again."
  link: String!
  "For how many seconds it can be used."
  expiresIn: Int!
}
"#;

/// The operations that this catalog has, by their names, and the names of the types made for them.
#[derive(Debug, Default)]
pub(super) struct Mutations {
    pub(super) by_name: HashMap<String, &'static Operation>,
    pub(super) types: Vec<String>,
    pub(super) sdl: String,
}

/// Declares the operations of a catalog that has the hub's records, and nothing for any other.
pub(super) fn declare(catalog: &Catalog) -> Mutations {
    let mut mutations = Mutations::default();
    if !is_hub(catalog) {
        return mutations;
    }
    mutations.types = ["Deleted", "Ended", "IamAccountLink", "OAuthClientSecret", "Mutation"].map(str::to_owned).to_vec();
    let mut roots = String::from(
        "\n\"Changes to the hub's own records: each needs its permission and a token of a client that is marked `administers`, and is one transaction.\"\ntype Mutation {\n",
    );
    let mut inputs = String::new();
    for operation in offered(catalog) {
        // Every field of the root may be refused, so none is non-null.
        let mut arguments = Vec::new();
        if operation.target == OperationTarget::RecordById {
            arguments.push("id: ID!".to_owned());
        }
        if !operation.fields.is_empty() {
            arguments.push(format!("input: {}!", operation.input_name()));
            mutations.types.push(operation.input_name());
            input(&mut inputs, operation);
        }
        describe(&mut roots, "  ", &format!("{}. Takes the permission `{}`.", operation.summary, operation.permission));
        _ = writeln!(roots, "  {}({}): {}", operation.name(), arguments.join(", "), operation.answer_name());
        mutations.by_name.insert(operation.name(), operation);
    }
    roots.push_str("}\n");
    mutations.sdl = roots + &inputs + ANSWERS + &client_secret(catalog);
    mutations
}

fn input(sdl: &mut String, operation: &Operation) {
    sdl.push('\n');
    describe(sdl, "", &format!("What `{}` takes. A key that is null counts as left out.", operation.name()));
    _ = writeln!(sdl, "input {} {{", operation.input_name());
    for field in operation.fields {
        describe(sdl, "  ", &format!("{}.", field.description));
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

/// A client together with its secret: one object, as REST answers it.
fn client_secret(catalog: &Catalog) -> String {
    let mut sdl = String::from("\n\"A client, and the secret that is shown this once.\"\ntype OAuthClientSecret {\n");
    if let Some(id) = catalog.by_name("oAuth.client") {
        object_fields(&mut sdl, catalog.resource(id));
    }
    sdl.push_str("  \"What the client proves itself with; it is kept as a digest only.\"\n  secret: String!\n");
    sdl.push_str("  \"For how many seconds the secret before still counts, if there was one.\"\n  previousCountsFor: Int\n}\n");
    sdl
}
