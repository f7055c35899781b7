//! TypeScript of each resource: types for rows, statements, requests and answers, so that an unknown field, an operator
//! that does not go with a type, a wrong value or an unknown key is an error in the editor. Types only: no code runs.

mod shared;
mod statement;

use std::fmt::Write;

use crate::catalog::{Catalog, Field, FieldId, Relation, Resource, ResourceId};
use crate::json::build::compact;
use crate::types::{Scalar, Type};

use super::names::Names;
use super::{resource_of, shows_null, shows_stars, sight_of, way_of};

/// The whole module.
pub fn module(catalog: &Catalog) -> String {
    let names = Names::of(catalog);
    let mut out = String::from(shared::HEAD);
    out.push_str(&shared::operators());
    for (id, resource) in catalog.resources().iter().enumerate() {
        Maker { catalog, names: &names, id, resource }.resource(&mut out);
    }
    registry(&mut out, catalog, &names);
    out.push_str(shared::TAIL);
    out
}

/// What the types of one resource are made with.
struct Maker<'c> {
    catalog: &'c Catalog,
    names: &'c Names,
    id: ResourceId,
    resource: &'c Resource,
}

impl Maker<'_> {
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
        comment(out, "", &format!("The fields of a row of {}", resource_of(self.resource)));
        _ = writeln!(out, "export interface {} {{", self.name("Fields"));
        for (id, field) in self.shown() {
            comment(out, "  ", &sight_of(self.resource, field));
            _ = writeln!(out, "  {}: {};", field.name, self.shown_type(id, field));
        }
        out.push_str("}\n");
        comment(out, "", &format!("A row, with the relations that were asked for, of {}", resource_of(self.resource)));
        _ = writeln!(out, "export interface {} extends {} {{", self.name(""), self.name("Fields"));
        for relation in &self.resource.relations {
            let target = self.target(relation, "");
            comment(out, "  ", &format!("Only if asked for: {}", way_of(self.catalog, relation)));
            let rows = if relation.many { format!("{target}[]") } else { format!("{target} | null") };
            _ = writeln!(out, "  {}?: {rows};", relation.name);
        }
        out.push_str("}\n");
    }

    /// A field as a row shows it.
    fn shown_type(&self, id: FieldId, field: &Field) -> String {
        let scalar = match field.kind.scalar() {
            Scalar::Bool => "boolean",
            Scalar::Int | Scalar::BigInt | Scalar::Float => "number",
            Scalar::Decimal => "`${number}`",
            Scalar::Text => "string",
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

/// Every resource by its name, for types that depend on which one is asked.
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
        out.push_str("  };\n");
    }
    out.push_str("}\n");
}

/// A text as TypeScript writes it.
fn literal(text: &str) -> String {
    compact(&text.into())
}

/// A comment before what follows; a text of the manifest cannot end it.
fn comment(out: &mut String, indent: &str, text: &str) {
    let text: String = text.replace("*/", "*\\/").chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    _ = writeln!(out, "{indent}/** {text} */");
}
