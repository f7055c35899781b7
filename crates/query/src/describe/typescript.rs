//! TypeScript types of the rows, statements, writes, requests and answers of each resource: the compiler reports wrong names, operators and
//! values.

mod shared;
mod statement;
mod write;

use std::fmt::Write;

use crate::catalog::{Catalog, Field, FieldId, Relation, Resource, ResourceId};
use crate::json::build::compact;
use crate::types::{Scalar, Type};

use super::names::Names;
use super::{is_always_shown, is_findable, relation_comment, resource_comment, row_field, shows_null, shows_stars};

pub fn module(catalog: &Catalog) -> String {
    let names = Names::of(catalog);
    let mut out = String::from(shared::HEAD);
    out.push_str(&shared::operators());
    for (id, resource) in catalog.resources().iter().enumerate() {
        TypeWriter { catalog, names: &names, id, resource }.resource(&mut out);
    }
    registry(&mut out, catalog, &names);
    out.push_str(shared::TAIL);
    out
}

struct TypeWriter<'c> {
    catalog: &'c Catalog,
    names: &'c Names,
    id: ResourceId,
    resource: &'c Resource,
}

impl TypeWriter<'_> {
    fn name(&self, ending: &str) -> String {
        self.names.part(self.id, ending)
    }

    fn target(&self, relation: &Relation, ending: &str) -> String {
        self.names.part(relation.target, ending)
    }

    fn resource(&self, out: &mut String) {
        // Writing to a String cannot fail.
        _ = writeln!(out, "\n// {}", self.resource.full_name);
        self.enums(out);
        self.rows(out);
        self.statement(out);
        self.writes(out);
    }

    fn enums(&self, out: &mut String) {
        for (id, field) in self.shown() {
            if let Scalar::Enum(values) = field.kind.scalar() {
                comment(out, "", &format!("`{}` of `{}`", field.name, self.resource.full_name));
                let values: Vec<String> = values.iter().map(|value| literal(value)).collect();
                _ = writeln!(out, "export type {} = {};", self.names.values(self.id, id), values.join(" | "));
            }
        }
    }

    fn shown(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.resource.fields.iter().enumerate().filter(|(_, field)| !field.hidden)
    }

    fn rows(&self, out: &mut String) {
        comment(out, "", &format!("The fields of a row of {}", resource_comment(self.resource)));
        _ = writeln!(out, "export interface {} {{", self.name("Fields"));
        for (id, field) in self.shown() {
            comment(out, "  ", &row_field(self.catalog, self.resource, field));
            let optional = if is_always_shown(field) { "" } else { "?" };
            _ = writeln!(out, "  {}{optional}: {};", field.name, self.shown_type(id, field));
        }
        out.push_str("}\n");
        comment(out, "", &format!("A row with its loaded relations, of {}", resource_comment(self.resource)));
        _ = writeln!(out, "export interface {} extends {} {{", self.name(""), self.name("Fields"));
        for relation in &self.resource.relations {
            let target = self.target(relation, "");
            comment(out, "  ", &format!("Only if loaded: {}", relation_comment(self.catalog, relation)));
            let rows = if relation.many { format!("{target}[]") } else { format!("{target} | null") };
            _ = writeln!(out, "  {}?: {rows};", relation.name);
        }
        out.push_str("}\n");
    }

    fn shown_type(&self, id: FieldId, field: &Field) -> String {
        let scalar = match field.kind.scalar() {
            Scalar::Bool => "boolean",
            Scalar::Int | Scalar::BigInt | Scalar::Float => "number",
            Scalar::Decimal => "`${number}`",
            Scalar::Text | Scalar::ReadAsText => "string",
            Scalar::Uuid => "UuidValue",
            Scalar::Date => "DateValue",
            Scalar::Time => "TimeValue",
            Scalar::Timestamp => "TimestampValue",
            Scalar::Json => "Json",
            Scalar::Enum(_) => self.names.values(self.id, id),
        };
        let mut text = match &field.kind {
            Type::Array(Scalar::Json) => "Json[]".to_owned(),
            Type::Array(_) => format!("({scalar} | null)[]"),
            Type::One(_) => scalar.to_owned(),
        };
        if shows_stars(field) {
            text.push_str(" | \"***\"");
        }
        if shows_null(field) && field.kind != Type::One(Scalar::Json) {
            text.push_str(" | null");
        }
        text
    }
}

fn registry(out: &mut String, catalog: &Catalog, names: &Names) {
    out.push_str("\n/** Every resource by its name. */\nexport interface Resources {\n");
    for (id, resource) in catalog.resources().iter().enumerate() {
        let part = |ending: &str| names.part(id, ending);
        let related = |many: bool| {
            let entries = resource
                .relations
                .iter()
                .filter(|relation| relation.many == many)
                .map(|relation| format!("{}: {}", relation.name, literal(&catalog.resource(relation.target).full_name)));
            let entries: Vec<String> = entries.collect();
            if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join("; ")) }
        };
        _ = writeln!(out, "  {}: {{", literal(&resource.full_name));
        _ = writeln!(out, "    path: {};", literal(&resource.path()));
        _ = writeln!(out, "    fields: {};\n    row: {};", part("Fields"), part(""));
        _ = writeln!(out, "    one: {};\n    many: {};", related(false), related(true));
        _ = writeln!(out, "    statement: {};\n    constraint: {};", part("Statement"), part("Constraint"));
        let keyset = if is_findable(resource) { part("KeysetStatement") } else { "never".to_owned() };
        _ = writeln!(out, "    keysetStatement: {keyset};");
        _ = writeln!(out, "    writes: {};", write::registered(names, id, resource));
        out.push_str("  };\n");
    }
    out.push_str("}\n");
}

fn literal(text: &str) -> String {
    compact(&text.into())
}

/// A comment. A string of the manifest cannot end it.
fn comment(out: &mut String, indent: &str, text: &str) {
    let text: String = text.replace("*/", "*\\/").chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    _ = writeln!(out, "{indent}/** {text} */");
}
