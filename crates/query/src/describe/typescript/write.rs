//! The types of payloads and of the bodies of writes. Value rules stand in comments.

use std::fmt::Write;

use crate::catalog::write_rules::WriteOperation;
use crate::catalog::{Field, FieldId, Resource, ResourceId};
use crate::describe::names::Names;
use crate::describe::write::{form_comment, has_derived, increments, is_required, payload_field, payload_key, shown_version};
use crate::describe::write::{request_ending, writable, write_forms};
use crate::payload::WriteForm;
use crate::types::{Scalar, Type};

use super::{TypeWriter, comment, literal};

/// The writes of a resource in the registry: the ends of their paths, and the types of their bodies.
pub(super) fn registered(names: &Names, id: ResourceId, resource: &Resource) -> String {
    let entry = |form: WriteForm| format!("{}: {}", literal(form.as_str()), names.write_part(id, request_ending(form)));
    let entries: Vec<String> = write_forms(resource).map(entry).collect();
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join("; ")) }
}

impl TypeWriter<'_> {
    pub(super) fn writes(&self, out: &mut String) {
        if self.resource.write_rules().is_none() {
            return;
        }
        if self.resource.has_write(WriteOperation::Create) {
            self.new_row(out);
        }
        if self.resource.has_write(WriteOperation::Update) {
            self.changes(out);
        }
        if [WriteOperation::Update, WriteOperation::Delete].into_iter().any(|operation| self.resource.has_write(operation)) {
            self.target_rows(out);
        }
        comment(out, "", "The relations that the answer loads; false answers the count alone");
        // Writing to a String cannot fail.
        _ = writeln!(out, "export type {} = boolean | {{ relations?: {} | null }};", self.write_name("Returning"), self.name("Relations"));
        for form in write_forms(self.resource) {
            self.body(out, form);
        }
    }

    fn new_row(&self, out: &mut String) {
        comment(out, "", &format!("A new row of `{}`; the database has defaults for absent fields", self.resource.full_name));
        _ = writeln!(out, "export interface {} {{", self.write_name("CreateInput"));
        for (id, field) in writable(self.resource, WriteOperation::Create) {
            self.member(out, (id, field), if is_required(field) { "" } else { "?" });
        }
        out.push_str("}\n");
    }

    fn changes(&self, out: &mut String) {
        let update = self.write_name("UpdateInput");
        comment(out, "", &format!("Changes to rows of `{}`; an absent field stays as it is", self.resource.full_name));
        _ = writeln!(out, "export interface {update} {{");
        for (id, field) in writable(self.resource, WriteOperation::Update) {
            self.member(out, (id, field), "?");
        }
        if let Some(id) = shown_version(self.resource) {
            let field = &self.resource.fields[id];
            comment(out, "  ", "The version that the row must have");
            _ = writeln!(out, "  {}?: {};", field.name, self.stated_type(id, field));
        }
        out.push_str("}\n");
        if let Some(key) = payload_key(self.resource) {
            let parts = [
                ("UpdateByIdInput", "?", "Changes to the row with the key in the path"),
                ("UpdateItemInput", "", "Changes to the row with this key"),
            ];
            for (ending, mark, about) in parts {
                comment(out, "", about);
                _ = writeln!(out, "export interface {} extends {update} {{", self.write_name(ending));
                for id in key {
                    let field = &self.resource.fields[*id];
                    comment(out, "  ", &payload_field(self.resource, field));
                    _ = writeln!(out, "  {}{mark}: {};", field.name, self.stated_type(*id, field));
                }
                out.push_str("}\n");
            }
        }
        comment(out, "", "Numbers to add to fields, negative ones to subtract");
        let numbers: Vec<String> =
            increments(self.resource).map(|(id, field)| format!("  {}?: {};\n", field.name, self.written_scalar(id, field))).collect();
        if numbers.is_empty() {
            _ = writeln!(out, "export type {} = Record<string, never>;", self.write_name("IncrementInput"));
        } else {
            _ = writeln!(out, "export interface {} {{\n{}}}", self.write_name("IncrementInput"), numbers.concat());
        }
    }

    fn target_rows(&self, out: &mut String) {
        if has_derived(self.resource) {
            self.clause(out, &self.write_name("Condition"), |field| field.derived.is_none());
        }
        let derived: Vec<String> = self
            .resource
            .fields
            .iter()
            .filter(|field| field.derived.is_some() && !field.hidden)
            .map(|field| literal(&field.name))
            .collect();
        let path = self.name("Path");
        let path = if derived.is_empty() { path } else { format!("Exclude<{path}, {}>", derived.join(" | ")) };
        comment(out, "", &format!("The rows of `{}` that a write changes", self.resource.full_name));
        _ = writeln!(out, "export interface {} {{", self.write_name("Target"));
        _ = writeln!(out, "  where?: {} | null;\n  order?: readonly OrderEntry<{path}>[] | null;", self.condition());
        out.push_str("  /** 0 to 10000 */\n  limit?: number | null;\n}\n");
    }

    fn body(&self, out: &mut String, form: WriteForm) {
        let part = |ending: &str| self.write_name(ending);
        let options = format!("WriteOptions<{}>", part("Returning"));
        let checks = || format!("WriteChecks<{}, Omit<{}, \"offset\">, {}>", self.condition(), self.name("Constraint"), part("Returning"));
        let changes = |input: &str| format!("WriteChanges<{}, {}>", part(input), part("IncrementInput"));
        let target = || format!("WriteTarget<{}>", part("Target"));
        let body = match form {
            WriteForm::Create => {
                let row = part("CreateInput");
                format!("{options} & {{ payload: {row} | readonly {row}[] }}")
            }
            WriteForm::UpdateById => format!("{} & {}", checks(), changes("UpdateByIdInput")),
            WriteForm::Update => {
                let by_query = format!("{} & {} & {}", checks(), changes("UpdateInput"), target());
                if payload_key(self.resource).is_none() {
                    by_query
                } else {
                    self.by_key(out, &checks());
                    comment(out, "", "Gives the rows of `query` the same changes");
                    _ = writeln!(out, "export type {} = {by_query};", part("UpdateByQueryRequest"));
                    format!("{} | {}", part("UpdateByQueryRequest"), part("UpdateByKeyRequest"))
                }
            }
            WriteForm::DeleteById => checks(),
            WriteForm::Delete => format!("{} & {}", checks(), target()),
            WriteForm::RestoreById => options,
        };
        comment(out, "", &form_comment(form, self.resource));
        _ = writeln!(out, "export type {} = {body};", part(request_ending(form)));
    }

    fn by_key(&self, out: &mut String, checks: &str) {
        comment(out, "", "Gives each row of a list its own changes");
        _ = writeln!(out, "export interface {} extends {checks} {{", self.write_name("UpdateByKeyRequest"));
        out.push_str("  /** 1 to 1000 rows */\n");
        _ = writeln!(out, "  payload: readonly {}[];", self.write_name("UpdateItemInput"));
        out.push_str("  increment?: null;\n  query?: null;\n  all?: false | null;\n}\n");
    }

    fn member(&self, out: &mut String, (id, field): (FieldId, &Field), mark: &str) {
        comment(out, "  ", &payload_field(self.resource, field));
        _ = writeln!(out, "  {}{mark}: {};", field.name, self.written_type(id, field));
    }

    fn condition(&self) -> String {
        if has_derived(self.resource) { self.write_name("Condition") } else { self.name("Where") }
    }

    /// A value as a payload writes it.
    fn written_type(&self, id: FieldId, field: &Field) -> String {
        let text = self.stated_type(id, field);
        if field.nullable { format!("{text} | null") } else { text }
    }

    /// The same without null: a key and a version name what is there.
    fn stated_type(&self, id: FieldId, field: &Field) -> String {
        let scalar = self.written_scalar(id, field);
        match &field.kind {
            Type::Array(Scalar::Json) => "readonly Json[]".to_owned(),
            Type::Array(_) => format!("readonly ({scalar} | null)[]"),
            Type::One(Scalar::Json) => "Exclude<Json, null>".to_owned(),
            Type::One(_) => scalar,
        }
    }

    fn written_scalar(&self, id: FieldId, field: &Field) -> String {
        match field.kind.scalar() {
            // The values of a hidden field have no type of their own.
            Scalar::Enum(values) if field.hidden => values.iter().map(|value| literal(value)).collect::<Vec<_>>().join(" | "),
            _ => self.asked_type(id),
        }
    }

    fn write_name(&self, ending: &str) -> String {
        self.names.write_part(self.id, ending)
    }
}
