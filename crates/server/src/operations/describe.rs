//! The operations as descriptions tell them: JSON Schema and TypeScript of what they take and answer.

use std::fmt::Write;

use query::catalog::Catalog;
use query::describe::{json_schema, upper_first};
use query::json::Json;
use query::json::build::{compact, entries, texts};
use query::object;

use super::{Answer, Field, Kind, Need, OPERATIONS, Operation, Target, Text};

/// What a caller hears who may change a record and not read it.
const KEY_ALONE: &str = "KeyAlone";
/// A client, and its secret beside it.
const CLIENT: &str = "OAuthClient";

/// The operations that a catalog has: all of them on a hub, none elsewhere.
pub(crate) fn offered(catalog: &Catalog) -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| operation.resource_in(catalog).is_some())
}

/// Whether a catalog has the records of a hub.
pub(crate) fn is_hub(catalog: &Catalog) -> bool {
    offered(catalog).next().is_some()
}

impl Operation {
    /// `/api/iam/accounts/update/{id}`
    pub(crate) fn address(&self, catalog: &Catalog) -> String {
        let base = self.resource_in(catalog).map_or_else(String::new, |(_, resource)| resource.path());
        match self.target {
            Target::New => format!("{base}/{}", self.end()),
            Target::ById => format!("{base}/{}/{{id}}", self.end()),
        }
    }

    /// The name of what it answers.
    pub(crate) fn answer_name(&self) -> String {
        match self.answer {
            Answer::Record => self.resource.split('.').map(upper_first).collect(),
            Answer::Secret => "OAuthClientSecret".to_owned(),
            Answer::Link => "IamAccountLink".to_owned(),
            Answer::Deleted => "Deleted".to_owned(),
            Answer::Ended => "Ended".to_owned(),
        }
    }

    /// The schema of what it answers, in a document that keeps schemas under `place`.
    pub(crate) fn answer_schema(&self, place: &str) -> Json {
        let reference = |name: &str| object! { "$ref" => format!("{place}{name}") };
        match self.answer {
            Answer::Record => object! { "anyOf" => [reference(&self.answer_name()), reference(KEY_ALONE)] },
            _ => reference(&self.answer_name()),
        }
    }

    /// The same in TypeScript.
    fn answer_type(&self) -> String {
        match self.answer {
            Answer::Record => format!("{} | {KEY_ALONE}", self.answer_name()),
            _ => self.answer_name(),
        }
    }
}

fn whole(description: &str) -> Json {
    object! { "type" => "integer", "description" => description }
}

fn text(description: &str) -> Json {
    object! { "type" => "string", "description" => description }
}

fn member(name: &str, schema: Json) -> (String, Json) {
    (name.to_owned(), schema)
}

fn closed(description: &str, properties: Vec<(String, Json)>) -> Json {
    let names: Vec<String> = properties.iter().map(|(name, _)| name.clone()).collect();
    object! {
        "type" => "object",
        "description" => description,
        "properties" => properties,
        "required" => texts(names),
        "additionalProperties" => false,
    }
}

fn key_alone() -> Json {
    closed("The key of a record that the caller may not read", vec![member("id", text("Its key"))])
}

/// A client as the caller may read it, with its secret. The members are written out, because a row's own schema takes no others.
fn secret(catalog: &Catalog, place: &'static str) -> Json {
    let rows = json_schema::definitions(catalog, place).entries.into_iter();
    let row = rows.filter_map(|(name, schema)| (name == CLIENT).then_some(schema));
    let ways: Vec<Json> = row.chain([key_alone()]).map(with_secret).collect();
    object! { "description" => "A client, and the secret that is shown this once", "anyOf" => ways }
}

fn with_secret(schema: Json) -> Json {
    let mut members = entries(schema);
    for (name, value) in &mut members {
        match (name.as_str(), value) {
            ("properties", Json::Object(properties)) => properties.extend([
                member("secret", text("What the client proves itself with")),
                member("previousCountsFor", whole("For how many seconds the secret before still counts, if there was one")),
            ]),
            ("required", Json::Array(required)) => required.push(Json::from("secret")),
            _ => {}
        }
    }
    Json::Object(members)
}

/// Schemas of all that operations take and answer beside records, for a document that keeps them under `place`.
pub(crate) fn schemas(catalog: &Catalog, place: &'static str) -> Vec<(String, Json)> {
    if !is_hub(catalog) {
        return Vec::new();
    }
    let mut schemas = vec![
        member("Deleted", closed("What is gone", vec![member("id", text("Its key"))])),
        member(
            "Ended",
            closed(
                "How much was ended",
                vec![
                    member("id", text("The id that was asked for")),
                    member("sessions", whole("Sessions of browsers")),
                    member("grants", whole("Grants to clients")),
                ],
            ),
        ),
        member(
            "IamAccountLink",
            closed(
                "A link that sets the password of an account, once",
                vec![
                    member("id", text("The account")),
                    member("link", text("The address to send to whom it is for")),
                    member("expiresIn", whole("For how many seconds it can be used")),
                ],
            ),
        ),
        member("OAuthClientSecret", secret(catalog, place)),
        member(KEY_ALONE, key_alone()),
    ];
    let inputs = offered(catalog).filter(|operation| !operation.fields.is_empty());
    schemas.extend(inputs.map(|operation| (operation.input_name(), input(operation))));
    schemas
}

fn input(operation: &Operation) -> Json {
    let required: Vec<&str> = operation.fields.iter().filter(|field| field.need == Need::Required).map(|field| field.name).collect();
    let properties: Vec<(String, Json)> = operation.fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    let mut entries = vec![
        ("type".to_owned(), Json::from("object")),
        ("description".to_owned(), Json::from(format!("What `{}` takes; a key that is null counts as left out", operation.name()))),
        ("properties".to_owned(), Json::Object(properties)),
        ("additionalProperties".to_owned(), Json::Bool(false)),
    ];
    if !required.is_empty() {
        entries.push(("required".to_owned(), texts(required)));
    }
    Json::Object(entries)
}

fn property(field: &Field) -> Json {
    let schema = match field.kind {
        Kind::Text(text) => of_text(text),
        Kind::Texts(text) => object! { "type" => "array", "items" => of_text(text), "maxItems" => 1_000 },
        Kind::Flag => object! { "type" => "boolean" },
        Kind::Seconds(most) => object! { "type" => "integer", "minimum" => 1, "maximum" => most },
        Kind::Object => object! { "type" => "object" },
    };
    let schema = if field.need == Need::Required {
        schema
    } else {
        object! { "anyOf" => [schema, object! { "type" => "null" }] }
    };
    let Json::Object(mut entries) = schema else { return schema };
    entries.push(("description".to_owned(), Json::from(field.about)));
    Json::Object(entries)
}

fn of_text(text: Text) -> Json {
    if let Some(words) = text.words() {
        return object! { "enum" => texts(words) };
    }
    let mut entries = vec![
        ("type".to_owned(), Json::from("string")),
        ("minLength".to_owned(), Json::from(1_i64)),
        ("maxLength".to_owned(), Json::from(text.longest() as i64)),
    ];
    let format = match text {
        Text::Uuid => Some("uuid"),
        Text::Email => Some("email"),
        Text::Redirect | Text::Address => Some("uri"),
        Text::Password => Some("password"),
        _ => None,
    };
    entries.extend(format.map(|format| ("format".to_owned(), Json::from(format))));
    Json::Object(entries)
}

/// TypeScript of the same, to stand behind the types of the resources.
pub(crate) fn typescript(catalog: &Catalog) -> String {
    let mut out = String::new();
    if !is_hub(catalog) {
        return out;
    }
    out.push_str(
        "\n// Administration: with a token of a client that is marked `administers`\n\n/** What is gone. */\nexport interface Deleted {\n  id: string;\n}\n\
         /** How much was ended. */\nexport interface Ended {\n  id: string;\n  sessions: number;\n  grants: number;\n}\n\
         /** A link that sets the password of an account, once. */\n\
         export interface IamAccountLink {\n  id: string;\n  link: string;\n  expiresIn: number;\n}\n\
         /** The key of a record that the caller may not read. */\nexport interface KeyAlone {\n  id: string;\n}\n\
         /** A client, and the secret that is shown this once. */\n\
         export type OAuthClientSecret = (OAuthClient | KeyAlone) & {\n  secret: string;\n  previousCountsFor?: number;\n};\n",
    );
    // Writing to a String cannot fail.
    for operation in offered(catalog).filter(|operation| !operation.fields.is_empty()) {
        _ = writeln!(out, "/** What `{}` takes. */\nexport interface {} {{", operation.name(), operation.input_name());
        for field in operation.fields {
            let end = if field.need == Need::Required { "" } else { " | null" };
            let mark = if field.need == Need::Required { "" } else { "?" };
            _ = writeln!(out, "  /** {} */\n  {}{mark}: {}{end};", field.about, field.name, typed(field.kind));
        }
        out.push_str("}\n");
    }
    out.push_str("/** Every operation of administration by its name. */\nexport interface Operations {\n");
    for operation in offered(catalog) {
        let input = if operation.fields.is_empty() { "Record<string, never>".to_owned() } else { operation.input_name() };
        let (path, permission) = (operation.address(catalog), operation.permission);
        _ = writeln!(out, "  /** {}; takes the permission `{permission}` */", operation.about);
        _ = writeln!(
            out,
            "  {}: {{ path: {}; input: {input}; answer: {} }};",
            operation.name(),
            compact(&Json::from(path)),
            operation.answer_type()
        );
    }
    out.push_str("}\n");
    out
}

fn typed(kind: Kind) -> String {
    let text = |text: Text| match text.words() {
        Some(words) => words.iter().map(|word| compact(&Json::from(*word))).collect::<Vec<_>>().join(" | "),
        None => "string".to_owned(),
    };
    match kind {
        Kind::Text(kind) => text(kind),
        Kind::Texts(kind) => format!("({})[]", text(kind)),
        Kind::Flag => "boolean".to_owned(),
        Kind::Seconds(_) => "number".to_owned(),
        Kind::Object => "{ [name: string]: Json }".to_owned(),
    }
}
