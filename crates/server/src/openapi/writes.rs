//! The writes of the declared resources in the document.

use std::fmt::Write;

use identity::strategy::Strategy;
use query::catalog::Resource;
use query::catalog::write_rules::WriteOperation;
use query::describe::json_schema::{Defined, DefinedWrites};
use query::describe::{UniqueNames, needed_permission, shown_version, upper_first};
use query::json::Json;
use query::json::build::{entries, texts};

use query::object;
use query::payload::WriteForm;

use super::{ALWAYS, id_parameter, member, problems, reference, success, token_optional, token_required};

pub(super) const ETAG: &str = "ETag";
const DRY_RUN: &str = "Dry-Run";

/// The headers of answers to writes, as components.
pub(super) fn headers() -> Vec<(String, Json)> {
    let header = |description: &str| object! { "description" => description, "schema" => object! { "type" => "string" } };
    vec![
        member(ETAG, header("The version of the row in quotes, for `If-Match`; absent if the caller does not see the version")),
        member(DRY_RUN, header("`true`, if the request says `dryRun`: nothing was changed")),
    ]
}

/// The response with these headers.
pub(super) fn with_headers(response: Json, names: &[&str]) -> Json {
    let add = |(key, value): (String, Json)| match key.as_str() {
        "headers" => {
            let mut headers = entries(value);
            headers.extend(names.iter().map(|name| member(name, object! { "$ref" => format!("#/components/headers/{name}") })));
            (key, Json::Object(headers))
        }
        _ => (key, value),
    };
    Json::Object(entries(response).into_iter().map(add).collect())
}

pub(super) fn paths(resource: &Resource, strategy: Strategy, defined: &Defined, claims: &mut UniqueNames) -> Vec<(String, Json)> {
    let Some(writes) = &defined.writes else { return Vec::new() };
    let described = |(form, request): &(WriteForm, String)| {
        let write = DescribedWrite { form: *form, resource, request, row: &defined.row, writes };
        let operation = write.operation(strategy, claims.claim(&operation_id(*form, resource)));
        (format!("{}/{}", resource.path(), form.as_str()), object! { "post" => operation })
    };
    writes.requests.iter().map(described).collect()
}

fn operation_id(form: WriteForm, resource: &Resource) -> String {
    let (context, name, plural) = (&resource.context, upper_first(&resource.name), upper_first(&resource.plural));
    match form {
        WriteForm::Create => format!("{context}Create{name}"),
        WriteForm::UpdateById => format!("{context}Update{name}ById"),
        WriteForm::Update => format!("{context}Update{plural}"),
        WriteForm::DeleteById => format!("{context}Delete{name}ById"),
        WriteForm::Delete => format!("{context}Delete{plural}"),
        WriteForm::RestoreById => format!("{context}Restore{name}ById"),
    }
}

pub(super) fn if_match(description: &str) -> Json {
    object! { "name" => "If-Match", "in" => "header", "description" => description, "schema" => object! { "type" => "string" } }
}

/// A write and the names of its definitions.
struct DescribedWrite<'d> {
    form: WriteForm,
    resource: &'d Resource,
    request: &'d str,
    row: &'d str,
    writes: &'d DefinedWrites,
}

impl DescribedWrite<'_> {
    fn operation(&self, strategy: Strategy, id: String) -> Json {
        let permission = needed_permission(self.resource, self.form.operation());
        let mut entries = vec![
            member("operationId", Json::from(id)),
            member("tags", texts([&self.resource.context])),
            member("summary", Json::from(self.summary())),
            member("description", Json::from(self.description(permission))),
        ];
        entries.extend(permission.map(|permission| member("x-permission", texts([permission]))));
        if strategy != Strategy::None {
            entries.push(member("security", if permission.is_some() { token_required() } else { token_optional() }));
        }
        entries.push(member("parameters", Json::Array(self.parameters())));
        let content = object! { "application/json" => object! { "schema" => reference(self.request) } };
        let needs_body = !matches!(self.form, WriteForm::DeleteById | WriteForm::RestoreById);
        entries.push(member("requestBody", object! { "required" => needs_body, "content" => content }));
        let mut responses = vec![member(if self.form == WriteForm::Create { "201" } else { "200" }, self.answer())];
        responses.extend(problems::references(&self.statuses(strategy)));
        entries.push(member("responses", Json::Object(responses)));
        Json::Object(entries)
    }

    fn summary(&self) -> &'static str {
        match self.form {
            WriteForm::Create => "Create a row, or a list of rows",
            WriteForm::UpdateById => "Change the row with this key",
            WriteForm::Update => "Change the rows that match, or each row of a list",
            WriteForm::DeleteById => "Delete the row with this key",
            WriteForm::Delete => "Delete the rows that match",
            WriteForm::RestoreById => "Restore the deleted row with this key",
        }
    }

    fn description(&self, permission: Option<&str>) -> String {
        let name = &self.resource.full_name;
        let mut text = match permission {
            Some(permission) => format!("`{name}`; needs the permission `{permission}`."),
            None => format!("`{name}`; for everyone."),
        };
        if let Some(rules) = self.resource.write_rules().filter(|_| matches!(self.form, WriteForm::Update | WriteForm::Delete)) {
            _ = write!(text, " A query may match at most {} rows.", rules.max_rows);
        }
        if let Some(reading) = self.resource.permission.as_deref().filter(|reading| permission != Some(reading)) {
            _ = write!(text, " Without the permission `{reading}` the answer holds the key alone.");
        }
        text
    }

    fn has_version(&self) -> bool {
        shown_version(self.resource).is_some()
    }

    fn parameters(&self) -> Vec<Json> {
        let mut parameters = Vec::new();
        if self.form.takes_id() {
            parameters.push(id_parameter(self.resource));
        }
        if self.has_version() && self.form.takes_id() {
            parameters.push(if_match("The `ETag` of the row. Another version of the row is refused with 412"));
        }
        parameters
    }

    /// The usual answer under `schema`, and other answers under keys of our own: a union would take the types from the rows of every
    /// generated client.
    fn answer(&self) -> Json {
        let (row, rows) = (reference(self.row), reference(&self.writes.rows));
        let is_one = self.form.takes_id() || self.form == WriteForm::Create;
        let mut content = vec![member("schema", if is_one { row } else { rows.clone() })];
        if self.form == WriteForm::Create {
            content.push(member("x-list", rows));
        }
        content.push(member("x-returning-false", reference("WriteCount")));
        let response = success(self.summary(), object! { "application/json" => content });
        // A deleted row has no version to name.
        let has_etag = self.has_version() && is_one && self.form.operation() != WriteOperation::Delete;
        with_headers(response, if has_etag { &[ETAG, DRY_RUN] } else { &[DRY_RUN] })
    }

    fn statuses(&self, strategy: Strategy) -> Vec<u16> {
        let mut statuses = [&ALWAYS[..], &[403, 409, 422]].concat();
        if strategy != Strategy::None {
            statuses.push(401);
        }
        statuses.extend(match self.form {
            WriteForm::Create => &[][..],
            WriteForm::UpdateById | WriteForm::Update | WriteForm::DeleteById => &[404, 412],
            WriteForm::Delete => &[412],
            WriteForm::RestoreById if self.has_version() => &[404, 412],
            WriteForm::RestoreById => &[404],
        });
        statuses.sort_unstable();
        statuses
    }
}
