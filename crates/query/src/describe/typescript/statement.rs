//! The types of a statement: field names are unions of literals, dot-paths are template literals.

use std::fmt::Write;

use crate::catalog::{Field, FieldId, Relation};
use crate::describe::{is_findable, relation_comment, resource_comment, statement_field, usable};
use crate::types::{Scalar, Type};

use super::shared::operators_of;
use super::{TypeWriter, comment, literal};

/// Whether a type belongs to a set of names.
type Fits = fn(&Type) -> bool;

impl TypeWriter<'_> {
    pub(super) fn statement(&self, out: &mut String) {
        self.clause(out, &self.name("Where"), |_| true);
        self.paths(out);
        self.relations(out);
        self.aggregation(out);
        self.top(out);
    }

    /// A where clause with this name, over the usable fields that `fits` accepts.
    pub(super) fn clause(&self, out: &mut String, clause: &str, fits: fn(&Field) -> bool) {
        comment(out, "", &format!("Which rows of `{}`; sibling keys are ANDed", self.resource.full_name));
        // Writing to a String cannot fail.
        _ = writeln!(out, "export interface {clause} {{\n  and?: readonly {clause}[];\n  or?: readonly {clause}[];\n  not?: {clause};");
        for (id, field) in self.resource.fields.iter().enumerate() {
            if fits(field) && usable(self.resource).any(|usable| std::ptr::eq(usable, field)) {
                comment(out, "  ", &statement_field(self.catalog, self.resource, field));
                _ = writeln!(out, "  {}?: {};", field.name, operators_of(&field.kind, &self.asked_type(id)));
            }
        }
        for relation in &self.resource.relations {
            comment(out, "  ", &format!("Has at least one such row: {}", relation_comment(self.catalog, relation)));
            _ = writeln!(out, "  {}?: {};", relation.name, self.target(relation, "Where"));
        }
        out.push_str("}\n");
    }

    /// A value as a statement writes it.
    pub(super) fn asked_type(&self, id: FieldId) -> String {
        match self.resource.fields[id].kind.scalar() {
            Scalar::Bool => "boolean",
            Scalar::Int | Scalar::Float => "number",
            Scalar::BigInt => "BigIntValue",
            Scalar::Decimal => "DecimalValue",
            Scalar::Text | Scalar::ReadAsText => "string",
            Scalar::Uuid => "UuidValue",
            Scalar::Date => "DateValue",
            Scalar::Time => "TimeValue",
            Scalar::Timestamp => "TimestampValue",
            Scalar::Json => "JsonScalar",
            Scalar::Enum(_) => self.names.values(self.id, id),
        }
        .to_owned()
    }

    /// The names that can be counted, summed, compared and sorted by.
    fn paths(&self, out: &mut String) {
        let sets: [(&str, Fits); 4] =
            [("Field", |_| true), ("Number", Type::is_number), ("Ordered", Type::is_ordered), ("Sortable", Type::is_sortable)];
        for (ending, fits) in sets {
            let names: Vec<String> = usable(self.resource).filter(|field| fits(&field.kind)).map(|field| literal(&field.name)).collect();
            let union = if names.is_empty() { "never".to_owned() } else { names.join(" | ") };
            _ = writeln!(out, "export type {} = {union};", self.name(ending));
        }
    }

    /// The own names of a set, and the dot-paths along the relations that `follows` accepts.
    fn with_paths(&self, ending: &str, follows: fn(&Relation) -> bool) -> String {
        let mut union = self.name(ending);
        for relation in self.resource.relations.iter().filter(|relation| follows(relation)) {
            _ = write!(union, " | `{}.${{{}}}`", relation.name, self.target(relation, ending));
        }
        union
    }

    fn relations(&self, out: &mut String) {
        let (node, relations) = (self.name("Node"), self.name("Relations"));
        comment(out, "", "Which related rows are loaded");
        if self.resource.relations.is_empty() {
            _ = writeln!(out, "export type {relations} = Record<string, never>;");
        } else {
            _ = writeln!(out, "export interface {relations} {{");
            for relation in &self.resource.relations {
                comment(out, "  ", &relation_comment(self.catalog, relation));
                _ = writeln!(out, "  {}?: true | {};", relation.name, self.target(relation, "Node"));
            }
            out.push_str("}\n");
        }
        comment(out, "", &format!("How related rows of `{}` are loaded; limit and offset count for each parent", self.resource.full_name));
        _ = writeln!(out, "export interface {node} {{");
        _ = writeln!(out, "  where?: {} | null;\n  order?: readonly OrderEntry<{}>[] | null;", self.name("Where"), self.name("Sortable"));
        _ = writeln!(out, "  limit?: number | null;\n  offset?: number | null;\n  relations?: {relations} | null;\n}}");
    }

    fn aggregation(&self, out: &mut String) {
        let all = |_: &Relation| true;
        let measure = self.name("Measure");
        comment(out, "", "One function over one field");
        _ = writeln!(out, "export type {measure} =");
        _ = writeln!(out, "  | {{ fn: \"count\"; field: \"*\" | {}; as?: string }}", self.with_paths("Field", all));
        _ = writeln!(out, "  | {{ fn: \"sum\" | \"avg\"; field: {}; as?: string }}", self.with_paths("Number", all));
        _ = writeln!(out, "  | {{ fn: \"min\" | \"max\"; field: {}; as?: string }};", self.with_paths("Ordered", all));
        comment(out, "", "Measures of groups; `order` then takes entries of groupBy");
        _ = writeln!(out, "export interface {} {{\n  fields: readonly {measure}[];", self.name("Aggregation"));
        _ = writeln!(out, "  groupBy?: readonly ({})[];\n}}", self.with_paths("Sortable", all));
    }

    fn top(&self, out: &mut String) {
        let to_one = |relation: &Relation| !relation.many;
        let (statement, constraint) = (self.name("Statement"), self.name("Constraint"));
        comment(out, "", "A field, or a field of a to-one relation, to sort by");
        _ = writeln!(out, "export type {} = {};", self.name("Path"), self.with_paths("Sortable", to_one));
        comment(out, "", &format!("A statement that narrows another one and cannot aggregate, for {}", resource_comment(self.resource)));
        _ = writeln!(out, "export interface {constraint} {{");
        _ = writeln!(out, "  where?: {} | null;\n  relations?: {} | null;", self.name("Where"), self.name("Relations"));
        _ = writeln!(out, "  order?: readonly OrderEntry<{}>[] | null;", self.name("Path"));
        out.push_str("  aggregation?: null;\n  /** 0 to 10000 */\n  limit?: number | null;\n  offset?: number | null;\n}\n");
        comment(
            out,
            "",
            &format!("A Query Statement, of rows with relations or of groups without, for {}", resource_comment(self.resource)),
        );
        _ = writeln!(out, "export type {statement} =\n  | {constraint}");
        _ = writeln!(
            out,
            "  | (Omit<{constraint}, \"relations\" | \"aggregation\"> & {{ relations?: null; aggregation: {} }});",
            self.name("Aggregation")
        );
        comment(out, "", "The body of a request; an empty one selects all rows");
        _ = writeln!(
            out,
            "export interface {} {{\n  query?: {statement} | null;\n  constraint?: {constraint} | null;\n}}",
            self.name("Request")
        );
        if is_findable(self.resource) {
            let keyset = self.name("KeysetStatement");
            comment(
                out,
                "",
                &format!("A statement of `keyset-paginate`, without groups and `offset`, for {}", resource_comment(self.resource)),
            );
            _ = writeln!(out, "export interface {keyset} extends Omit<{constraint}, \"offset\"> {{\n  offset?: null;\n}}");
            comment(out, "", "The body of `keyset-paginate`; an empty one selects the first rows");
            _ = writeln!(
                out,
                "export interface {} {{\n  query?: {keyset} | null;\n  constraint?: {constraint} | null;\n}}",
                self.name("KeysetRequest")
            );
        }
        comment(out, "", &format!("The answer of `paginate` for `{}`", self.resource.full_name));
        _ = writeln!(out, "export type {} = Page<{}>;", self.name("Page"), self.name(""));
    }
}
