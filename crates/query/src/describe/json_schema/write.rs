//! The schemas of the bodies of writes, and of their answers.

use crate::catalog::write_rules::WriteOperation;
use crate::describe::write::{form_comment, has_derived, increments, payload_key, request_ending, write_forms};
use crate::json::Json;
use crate::json::build::texts;
use crate::object;
use crate::payload::{MAX_PAYLOAD_ROWS, WriteForm};

use super::statement::{filled, required};
use super::value::json_value;
use super::{SchemaBuilder, closed, described, or_null};

/// The definitions of the writes of a resource.
#[derive(Clone, Debug)]
pub struct DefinedWrites {
    /// The body of each write.
    pub requests: Vec<(WriteForm, String)>,
    /// `{count, rows}`
    pub rows: String,
}

impl SchemaBuilder<'_> {
    /// Adds the definitions of the writes of the resource, if it has any.
    pub(super) fn writes(&self, definitions: &mut Vec<(String, Json)>) -> Option<DefinedWrites> {
        self.resource.write_rules()?;
        self.payloads(definitions);
        let forms: Vec<WriteForm> = write_forms(self.resource).collect();
        if forms.iter().any(|form| matches!(form.operation(), WriteOperation::Update | WriteOperation::Delete)) {
            if has_derived(self.resource) {
                let name = self.write_name("Condition");
                definitions.push((name.clone(), self.clause(&name, |field| field.derived.is_none())));
            }
            definitions.push((self.write_name("Target"), self.target_rows()));
        }
        definitions.push((self.write_name("Returning"), self.returning()));
        definitions.push((self.write_name("Rows"), self.written_rows()));
        let mut requests = Vec::with_capacity(forms.len());
        for form in forms {
            let name = self.write_name(request_ending(form));
            let body = match form {
                WriteForm::Update => self.update(definitions),
                _ => self.body(form),
            };
            definitions.push((name.clone(), described(body, form_comment(form, self.resource))));
            requests.push((form, name));
        }
        Some(DefinedWrites { requests, rows: self.write_name("Rows") })
    }

    /// By a list of rows with their keys, or by query.
    fn update(&self, definitions: &mut Vec<(String, Json)>) -> Json {
        if payload_key(self.resource).is_none() {
            return self.body(WriteForm::Update);
        }
        let by_query = described(self.body(WriteForm::Update), "Gives the rows of `query` the same changes");
        definitions.push((self.write_name("UpdateByQueryRequest"), by_query));
        definitions.push((self.write_name("UpdateByKeyRequest"), described(self.by_key(), "Gives each row of a list its own changes")));
        object! { "anyOf" => [self.write("UpdateByQueryRequest"), self.write("UpdateByKeyRequest")] }
    }

    fn by_key(&self) -> Json {
        let member = |key: &&str| match *key {
            "payload" => list(self.write("UpdateItemInput")),
            "increment" => or_null(object! { "type" => "object", "maxProperties" => 0 }),
            "query" => object! { "enum" => Json::Array(vec![Json::Null]) },
            "all" => object! { "enum" => Json::Array(vec![Json::Bool(false), Json::Null]) },
            key => self.member(WriteForm::Update, key),
        };
        let properties = WriteForm::Update.keys().iter().map(|key| ((*key).to_owned(), member(key))).collect();
        let mut members = closed(properties, &["payload"]);
        members.push(("not".to_owned(), constraint_with_offset()));
        Json::Object(members)
    }

    fn body(&self, form: WriteForm) -> Json {
        let properties = form.keys().iter().map(|key| ((*key).to_owned(), self.member(form, key))).collect();
        let mut members = closed(properties, if form == WriteForm::Create { &["payload"] } else { &[] });
        let mut refused = Vec::new();
        if form.keys().contains(&"constraint") {
            refused.push(constraint_with_offset());
        }
        if form.operation() == WriteOperation::Update {
            refused.push(self.nothing());
            refused.extend(increments(self.resource).map(|(_, field)| set_and_added(&field.name)));
        }
        if matches!(form, WriteForm::Update | WriteForm::Delete) {
            let rows = [some_rows(), all_rows()];
            refused.push(object! { "allOf" => rows.clone() });
            refused.push(object! { "not" => object! { "anyOf" => rows } });
        }
        // `not`, because client generators take the types from any other combination.
        if !refused.is_empty() {
            members.push(("not".to_owned(), object! { "anyOf" => refused }));
        }
        Json::Object(members)
    }

    /// A key of a body. Null is as good as absent.
    fn member(&self, form: WriteForm, key: &str) -> Json {
        let boolean = object! { "type" => "boolean" };
        match (key, form) {
            ("payload", WriteForm::Create) => {
                let row = self.write("CreateInput");
                object! { "anyOf" => [row.clone(), list(row)] }
            }
            ("payload", WriteForm::UpdateById) => or_null(self.write("UpdateByIdInput")),
            ("payload", _) => or_null(self.write("UpdateInput")),
            ("increment", _) => or_null(self.write("IncrementInput")),
            ("query", _) => described(or_null(self.write("Target")), "The rows to change"),
            ("all", _) => described(or_null(boolean), "Every row in reach, without a `where`"),
            ("expect", _) => described(or_null(self.condition()), "What the rows must be before the write"),
            ("constraint", _) => or_null(self.own("Constraint")),
            ("returning", _) => or_null(self.write("Returning")),
            _ => described(or_null(boolean), "Does everything and changes nothing"),
        }
    }

    /// A where clause of a write. It names no derived field of the resource itself.
    fn condition(&self) -> Json {
        if has_derived(self.resource) { self.write("Condition") } else { self.own("Where") }
    }

    fn target_rows(&self) -> Json {
        let nothing = || or_null(object! { "type" => "object", "maxProperties" => 0 });
        let null = || object! { "enum" => Json::Array(vec![Json::Null]) };
        let mut fields = self.sorted_by();
        fields.retain(|name| self.resource.field(name).is_none_or(|(_, field)| field.derived.is_none()));
        let properties = vec![
            ("where".to_owned(), or_null(self.condition())),
            ("order".to_owned(), or_null(self.order(super::one_of(&fields)))),
            ("limit".to_owned(), or_null(self.shared("Limit"))),
            ("relations".to_owned(), nothing()),
            ("aggregation".to_owned(), null()),
            ("offset".to_owned(), null()),
        ];
        described(Json::Object(closed(properties, &[])), format!("The rows of `{}` that a write changes", self.resource.full_name))
    }

    fn returning(&self) -> Json {
        let relations = Json::Object(closed(vec![("relations".to_owned(), or_null(self.own("Relations")))], &[]));
        let schema = object! { "anyOf" => [object! { "type" => "boolean" }, relations] };
        described(schema, "The relations that the answer loads; false answers the count alone")
    }

    fn written_rows(&self) -> Json {
        let count = object! { "type" => "integer", "minimum" => 0, "description" => "The number of rows that were written" };
        let rows = object! { "type" => "array", "items" => self.own("") };
        described(
            Json::Object(closed(vec![("count".to_owned(), count), ("rows".to_owned(), rows)], &["count", "rows"])),
            format!("The answer to a write of several rows of `{}`", self.resource.full_name),
        )
    }

    /// A body without a new value and without a number to add.
    fn nothing(&self) -> Json {
        let payload = object! { "allOf" => [object! { "type" => texts(["object", "null"]) }, self.without_changes()] };
        object! { "properties" => object! { "payload" => payload, "increment" => object! { "maxProperties" => 0 } } }
    }

    pub(super) fn write_name(&self, ending: &str) -> String {
        self.names.write_part(self.id, ending)
    }

    fn write(&self, ending: &str) -> Json {
        self.shared(&self.write_name(ending))
    }
}

/// A wire constraint with `offset`, which is for reads.
fn constraint_with_offset() -> Json {
    required(vec![("constraint".to_owned(), required(vec![("offset".to_owned(), object! { "type" => "number" })]))])
}

/// The answer to a write with `"returning": false`.
fn write_count() -> Json {
    let count = object! { "type" => "integer", "minimum" => 0, "description" => "The number of rows that were written" };
    described(Json::Object(closed(vec![("count".to_owned(), count)], &["count"])), "The answer to a write with `\"returning\": false`")
}

/// The definitions that the writes of all resources share.
pub(super) fn shared_by_writes(place: &str) -> Vec<(String, Json)> {
    vec![("JsonValue".to_owned(), json_value(place)), ("WriteCount".to_owned(), write_count())]
}

fn list(items: Json) -> Json {
    object! { "type" => "array", "items" => items, "minItems" => 1, "maxItems" => MAX_PAYLOAD_ROWS as i64 }
}

/// A body that sets the field and adds to it.
fn set_and_added(name: &str) -> Json {
    let has_field = || object! { "type" => "object", "required" => texts([name]) };
    required(vec![("payload".to_owned(), has_field()), ("increment".to_owned(), has_field())])
}

/// A body with a condition in `query.where`.
fn some_rows() -> Json {
    let query = required(vec![("where".to_owned(), filled())]);
    required(vec![("query".to_owned(), query)])
}

fn all_rows() -> Json {
    required(vec![("all".to_owned(), object! { "type" => "boolean", "const" => true })])
}
