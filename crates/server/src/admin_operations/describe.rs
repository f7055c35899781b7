//! Describes the inputs and answers of the operations in JSON Schema and TypeScript.

use std::fmt::Write;

use query::catalog::Catalog;
use query::describe::{json_schema, upper_first};
use query::json::Json;
use query::json::build::{compact, entries, texts};
use query::object;

use super::input::MAX_ENTRIES;
use super::{FieldKind, InputField, OPERATIONS, Operation, OperationAnswer, OperationTarget, StringFormat};

/// The answer for a caller that may change a record but not read it.
const KEY_ALONE: &str = "KeyAlone";
const CLIENT: &str = "OAuthClient";

/// The operations of a catalog: all on a hub, none elsewhere.
pub(crate) fn offered(catalog: &Catalog) -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| operation.resource_in(catalog).is_some())
}

pub(crate) fn is_hub(catalog: &Catalog) -> bool {
    offered(catalog).next().is_some()
}

impl Operation {
    /// `/api/iam/accounts/update/{id}`
    pub(crate) fn path(&self, catalog: &Catalog) -> String {
        let base = self.resource_in(catalog).map_or_else(String::new, |(_, resource)| resource.path());
        match self.target {
            OperationTarget::NewRecord => format!("{base}/{}", self.path_segment()),
            OperationTarget::RecordById => format!("{base}/{}/{{id}}", self.path_segment()),
        }
    }

    pub(crate) fn answer_name(&self) -> String {
        match self.answer {
            OperationAnswer::Record => self.resource.split('.').map(upper_first).collect(),
            OperationAnswer::ClientSecret => "OAuthClientSecret".to_owned(),
            OperationAnswer::Link => "IamAccountLink".to_owned(),
            OperationAnswer::Deleted => "Deleted".to_owned(),
            OperationAnswer::Ended => "Ended".to_owned(),
        }
    }

    /// The schema of its answer, in a document that holds schemas under `place`.
    pub(crate) fn answer_schema(&self, place: &str) -> Json {
        let reference = |name: &str| object! { "$ref" => format!("{place}{name}") };
        match self.answer {
            OperationAnswer::Record => object! { "anyOf" => [reference(&self.answer_name()), reference(KEY_ALONE)] },
            _ => reference(&self.answer_name()),
        }
    }

    fn answer_type(&self) -> String {
        match self.answer {
            OperationAnswer::Record => format!("{} | {KEY_ALONE}", self.answer_name()),
            _ => self.answer_name(),
        }
    }
}

/// An answer that is no record: its name, its description, and its members with their JSON types and descriptions.
pub(crate) type AnswerShape = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

const KEY_ALONE_SHAPE: AnswerShape =
    (KEY_ALONE, "The id of a record that the caller may not read", &[("id", "string", "The id of the record")]);

pub(crate) const ANSWER_SHAPES: [AnswerShape; 3] = [
    ("Deleted", "The id of a removed record", &[("id", "string", "The id of the record")]),
    (
        "Ended",
        "How many sessions and grants were ended",
        &[
            ("id", "string", "The id in the request"),
            ("sessions", "integer", "How many browser sessions"),
            ("grants", "integer", "How many grants of clients"),
        ],
    ),
    (
        "IamAccountLink",
        "A one-time link that sets the password of an account",
        &[
            ("id", "string", "The id of the account"),
            ("link", "string", "The URL to send to the owner of the account"),
            ("expiresIn", "integer", "How many seconds the link is valid"),
        ],
    ),
];

fn all_shapes() -> impl Iterator<Item = AnswerShape> {
    ANSWER_SHAPES.into_iter().chain([KEY_ALONE_SHAPE])
}

fn typed(json_type: &str, description: &str) -> Json {
    object! { "type" => json_type, "description" => description }
}

fn shape_schema((_, description, members): &AnswerShape) -> Json {
    let property = |(name, json_type, about): &(&str, &str, &str)| ((*name).to_owned(), typed(json_type, about));
    object! {
        "type" => "object",
        "description" => *description,
        "properties" => members.iter().map(property).collect::<Vec<_>>(),
        "required" => texts(members.iter().map(|(name, ..)| name)),
        "additionalProperties" => false,
    }
}

/// A client as the caller may read it, with its secret. The members are written out, because the schema of a row accepts no others.
fn client_with_secret(catalog: &Catalog, place: &'static str) -> Json {
    let rows = json_schema::definitions(catalog, place).entries.into_iter();
    let row = rows.filter_map(|(name, schema)| (name == CLIENT).then_some(schema));
    let variants: Vec<Json> = row.chain([shape_schema(&KEY_ALONE_SHAPE)]).map(with_secret).collect();
    object! { "description" => "A client and its secret, which is shown once", "anyOf" => variants }
}

fn with_secret(schema: Json) -> Json {
    let mut members = entries(schema);
    for (name, value) in &mut members {
        match (name.as_str(), value) {
            ("properties", Json::Object(properties)) => properties.extend([
                ("secret".to_owned(), typed("string", "The client secret")),
                ("previousCountsFor".to_owned(), typed("integer", "How many seconds the previous secret stays valid, if there is one")),
            ]),
            ("required", Json::Array(required)) => required.push(Json::from("secret")),
            _ => {}
        }
    }
    Json::Object(members)
}

/// The schemas of inputs and of answers that are no records, for a document that holds them under `place`.
pub(crate) fn schemas(catalog: &Catalog, place: &'static str) -> Vec<(String, Json)> {
    if !is_hub(catalog) {
        return Vec::new();
    }
    let mut schemas: Vec<(String, Json)> = all_shapes().map(|shape| (shape.0.to_owned(), shape_schema(&shape))).collect();
    schemas.push(("OAuthClientSecret".to_owned(), client_with_secret(catalog, place)));
    let inputs = offered(catalog).filter(|operation| !operation.fields.is_empty());
    schemas.extend(inputs.map(|operation| (operation.input_name(), input_schema(operation))));
    schemas
}

fn input_schema(operation: &Operation) -> Json {
    let required: Vec<&str> = operation.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let properties: Vec<(String, Json)> = operation.fields.iter().map(|field| (field.name.to_owned(), property_schema(field))).collect();
    let mut entries = vec![
        ("type".to_owned(), Json::from("object")),
        ("description".to_owned(), Json::from(format!("The payload of `{}`", operation.name()))),
        ("properties".to_owned(), Json::Object(properties)),
        ("additionalProperties".to_owned(), Json::Bool(false)),
    ];
    if !required.is_empty() {
        entries.push(("required".to_owned(), texts(required)));
    }
    Json::Object(entries)
}

fn property_schema(field: &InputField) -> Json {
    let schema = match field.kind {
        FieldKind::String(format) => string_schema(format),
        FieldKind::Strings(format) => object! { "type" => "array", "items" => string_schema(format), "maxItems" => MAX_ENTRIES as i64 },
        FieldKind::Boolean => object! { "type" => "boolean" },
        FieldKind::Seconds(max) => object! { "type" => "integer", "minimum" => 1, "maximum" => max },
        FieldKind::Object => object! { "type" => "object" },
    };
    let schema = if field.nullable {
        object! { "anyOf" => [schema, object! { "type" => "null" }] }
    } else {
        schema
    };
    let Json::Object(mut entries) = schema else { return schema };
    entries.push(("description".to_owned(), Json::from(field.description())));
    Json::Object(entries)
}

fn string_schema(format: StringFormat) -> Json {
    if let Some(words) = format.words() {
        return object! { "enum" => texts(words) };
    }
    let mut entries = vec![
        ("type".to_owned(), Json::from("string")),
        ("minLength".to_owned(), Json::from(1_i64)),
        ("maxLength".to_owned(), Json::from(format.max_bytes() as i64)),
    ];
    let format = match format {
        StringFormat::Uuid => Some("uuid"),
        StringFormat::Email => Some("email"),
        StringFormat::Redirect | StringFormat::Url => Some("uri"),
        StringFormat::Password => Some("password"),
        _ => None,
    };
    entries.extend(format.map(|format| ("format".to_owned(), Json::from(format))));
    Json::Object(entries)
}

/// The TypeScript types of the same inputs and answers, to append to those of the resources.
pub(crate) fn typescript(catalog: &Catalog) -> String {
    let mut out = String::new();
    if !is_hub(catalog) {
        return out;
    }
    out.push_str("\n// Administration: with a token of a client that is marked `administers`\n\n");
    // Writing to a String cannot fail.
    for (name, description, members) in all_shapes() {
        _ = writeln!(out, "/** {description}. */\nexport interface {name} {{");
        for (name, json_type, _) in members {
            _ = writeln!(out, "  {name}: {};", if *json_type == "integer" { "number" } else { json_type });
        }
        out.push_str("}\n");
    }
    out.push_str(
        "/** A client and its secret, which is shown once. */\n\
         export type OAuthClientSecret = (OAuthClient | KeyAlone) & {\n  secret: string;\n  previousCountsFor?: number;\n};\n",
    );
    for operation in offered(catalog).filter(|operation| !operation.fields.is_empty()) {
        _ = writeln!(out, "/** The payload of `{}`. */\nexport interface {} {{", operation.name(), operation.input_name());
        for field in operation.fields {
            let (mark, end) = (if field.required { "" } else { "?" }, if field.nullable { " | null" } else { "" });
            _ = writeln!(out, "  /** {} */\n  {}{mark}: {}{end};", field.description(), field.name, typescript_type(field.kind));
        }
        out.push_str("}\n");
    }
    out.push_str(
        "/** Every operation of administration by its name. The body of a request is `{ payload }`. */\nexport interface Operations {\n",
    );
    for operation in offered(catalog) {
        let payload = if operation.fields.is_empty() { "Record<string, never>".to_owned() } else { operation.input_name() };
        let (name, path, answer) = (operation.name(), compact(&Json::from(operation.path(catalog))), operation.answer_type());
        _ = writeln!(out, "  /** {}; needs the permission `{}` */", operation.summary, operation.permission);
        _ = writeln!(out, "  {name}: {{ path: {path}; payload: {payload}; answer: {answer} }};");
    }
    out.push_str("}\n");
    out
}

fn typescript_type(kind: FieldKind) -> String {
    let string = |format: StringFormat| match format.words() {
        Some(words) => words.iter().map(|word| compact(&Json::from(*word))).collect::<Vec<_>>().join(" | "),
        None => "string".to_owned(),
    };
    match kind {
        FieldKind::String(format) => string(format),
        FieldKind::Strings(format) => format!("({})[]", string(format)),
        FieldKind::Boolean => "boolean".to_owned(),
        FieldKind::Seconds(_) => "number".to_owned(),
        FieldKind::Object => "{ [name: string]: Json }".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::super::input::CheckedInput;
    use super::*;

    /// A valid value of a field.
    fn sample(kind: FieldKind) -> Value {
        let string = |format: StringFormat| match format {
            StringFormat::Uuid => "6f1c0f6e-5a0e-4e0c-9d53-1c2f0a7b9e11",
            StringFormat::Email => "bo@example.com",
            StringFormat::Redirect | StringFormat::Url => "https://shop.test/",
            StringFormat::Permission => "shop.note.get",
            StringFormat::Password => "battery staple",
            StringFormat::PasswordHash => "$2b$04$abcdefghijklmnopqrstuuWEkHPgfOFuQwUQZ4fKtEkTt4dTgKYxG",
            StringFormat::Grant => "refresh_token",
            StringFormat::AccountType => "SERVICE",
            StringFormat::Name | StringFormat::Username | StringFormat::ClientId | StringFormat::Role => "bo",
        };
        match kind {
            FieldKind::String(format) => json!(string(format)),
            FieldKind::Strings(format) => json!([string(format)]),
            FieldKind::Boolean => json!(false),
            FieldKind::Seconds(_) => json!(60),
            FieldKind::Object => json!({"region": null}),
        }
    }

    #[test]
    fn the_schema_accepts_exactly_the_payloads_that_the_reader_accepts() {
        // contract I25.7, I29.1
        let mut nulls = 0;
        for operation in OPERATIONS.iter().filter(|operation| !operation.fields.is_empty()) {
            let schema = serde_json::from_str(&compact(&input_schema(operation))).expect("JSON");
            let validator = jsonschema::draft202012::new(&schema).expect("a schema");
            let mut compare = |payload: Value| {
                let body = query::json::strict(json!({ "payload": payload }).to_string().as_bytes()).expect("JSON");
                let is_read = CheckedInput::read(operation, body).is_ok();
                assert_eq!(validator.is_valid(&payload), is_read, "{} {payload}", operation.name());
                nulls += usize::from(is_read && payload.as_object().is_some_and(|payload| payload.values().any(Value::is_null)));
            };
            let is_required = |field: &&InputField| field.required;
            let needed: Map<String, Value> =
                operation.fields.iter().filter(is_required).map(|field| (field.name.to_owned(), sample(field.kind))).collect();
            let with = |name: &str, value: Value| {
                let mut payload = needed.clone();
                payload.insert(name.to_owned(), value);
                Value::Object(payload)
            };
            compare(json!({}));
            compare(json!(null));
            compare(with("another", json!(1)));
            for field in operation.fields {
                let mut payload = needed.clone();
                payload.remove(field.name);
                compare(Value::Object(payload));
                for value in [json!(null), json!(true), json!(0), json!(60), json!(""), json!([]), json!([null]), json!([""]), json!({})] {
                    compare(with(field.name, value));
                }
                compare(with(field.name, sample(field.kind)));
            }
        }
        assert_eq!(nulls, 22, "`username`, `email`, `description`, `url`, every list and every object, of each operation that has it");
    }

    #[test]
    fn the_types_say_what_null_does() {
        // contract I25.7
        let catalog = query::catalog::Catalog::resolve_beside(
            &crate::hub::manifest(query::sql::Dialect::Sqlite).expect("a manifest"),
            &query::manifest::Manifest::default(),
        )
        .expect("a catalog");
        let types = typescript(&catalog);
        for line in
            ["  email?: string | null;", "  tags?: (string)[] | null;", "  code?: string;", "  isActive?: boolean;", "  name: string;"]
        {
            assert!(types.contains(line), "{line}");
        }
        for text in ["An email to sign in with. Null empties it", "they replace those it has. Null empties the list", "Null is refused"] {
            assert!(types.contains(text), "{text}");
        }
    }
}
