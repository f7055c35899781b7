//! JSON Schema 2020-12 of statements, rows and the bodies of writes. The schema of a body accepts what parse and plan accept from a viewer
//! with every permission; `docs/guide/descriptions.md` and the property tests list the exceptions.

mod pattern;
mod payload;
mod row;
mod statement;
mod value;
mod write;

use std::collections::{HashMap, HashSet};

use crate::catalog::{Catalog, Relation, Resource, ResourceId};
use crate::json::Json;
use crate::object;
use crate::types::Type;

use super::names::Names;
use super::{is_findable, usable};
use crate::json::build::{get, texts};
use row::RowForm;

pub use write::DefinedWrites;

pub const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

#[derive(Clone, Debug)]
pub struct Defined {
    pub row: String,
    /// A row with some of its fields.
    pub partial_row: String,
    pub statement: String,
    /// A body `{query, constraint}`.
    pub request: String,
    /// What `keyset-paginate` takes, if the resource has a key for it.
    pub keyset: Option<DefinedKeyset>,
    pub writes: Option<DefinedWrites>,
}

#[derive(Clone, Debug)]
pub struct DefinedKeyset {
    pub statement: String,
    pub request: String,
}

/// All definitions, for a document that has them under `place` (`#/$defs/`, `#/components/schemas/`).
#[derive(Debug)]
pub struct Definitions {
    /// Names and schemas: first the shared ones, then those of each resource in the order of the manifest.
    pub entries: Vec<(String, Json)>,
    pub resources: Vec<Defined>,
    place: &'static str,
}

pub fn definitions(catalog: &Catalog, place: &'static str) -> Definitions {
    let names = Names::of(catalog);
    let mut entries = value::shared(place);
    if catalog.resources().iter().any(|resource| resource.write_rules().is_some()) {
        entries.extend(write::shared_by_writes(place));
    }
    let mut resources = Vec::with_capacity(catalog.resources().len());
    for (id, resource) in catalog.resources().iter().enumerate() {
        let builder = SchemaBuilder { catalog, names: &names, place, id, resource };
        builder.enums(&mut entries);
        builder.statement(&mut entries);
        let [row, partial_row] = [RowForm::Whole, RowForm::Partial].map(|form| {
            entries.push((builder.name(form.ending()), builder.row(form)));
            builder.name(form.ending())
        });
        let keyset = is_findable(resource)
            .then(|| DefinedKeyset { statement: builder.name("KeysetStatement"), request: builder.name("KeysetRequest") });
        let writes = builder.writes(&mut entries);
        let (statement, request) = (builder.name("Statement"), builder.name("Request"));
        resources.push(Defined { row, partial_row, statement, request, keyset, writes });
    }
    Definitions { entries, resources, place }
}

pub fn document(catalog: &Catalog) -> Json {
    let definitions = definitions(catalog, "#/$defs/");
    object! {
        "$schema" => DIALECT,
        "$id" => "urn:peristyle:schema",
        "title" => "Query Statements, rows and writes of every declared resource",
        "description" => "Definitions only: refer to one of them, such as `#/$defs/…Statement`.",
        "$defs" => definitions.entries,
    }
}

/// The schema of one resource's Query Statement, with the definitions that it needs.
pub fn of_resource(catalog: &Catalog, id: ResourceId) -> Json {
    let definitions = definitions(catalog, "#/$defs/");
    let resource = catalog.resource(id);
    let Defined { row, partial_row, statement, request, keyset, writes } = definitions.resources[id].clone();
    let mut named = vec![statement.as_str(), &request, &row, &partial_row];
    named.extend(keyset.iter().map(|keyset| keyset.request.as_str()));
    if let Some(writes) = &writes {
        named.extend(writes.requests.iter().map(|(_, name)| name.as_str()));
        named.extend([writes.rows.as_str(), "WriteCount"]);
    }
    object! {
        "$schema" => DIALECT,
        "$id" => format!("urn:peristyle:schema:{}", resource.full_name),
        "title" => format!("A Query Statement for {}", resource.full_name),
        "$ref" => format!("#/$defs/{statement}"),
        "$defs" => definitions.reached_from(&named),
    }
}

impl Definitions {
    /// These definitions and all that they refer to, in their order.
    fn reached_from(self, names: &[&str]) -> Vec<(String, Json)> {
        let known: HashMap<&str, &Json> = self.entries.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
        let mut reached: HashSet<String> = HashSet::new();
        let mut open: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        while let Some(name) = open.pop() {
            if let Some(schema) = known.get(name.as_str()).filter(|_| !reached.contains(&name)) {
                references(schema, self.place, &mut open);
                reached.insert(name);
            }
        }
        self.entries.into_iter().filter(|(name, _)| reached.contains(name)).collect()
    }
}

fn references(json: &Json, place: &str, found: &mut Vec<String>) {
    match json {
        Json::Array(items) => {
            for item in items {
                references(item, place, found);
            }
        }
        Json::Object(entries) => {
            if let Some(Json::Text(target)) = get(json, "$ref") {
                found.extend(target.strip_prefix(place).map(str::to_owned));
            }
            for (_, value) in entries {
                references(value, place, found);
            }
        }
        _ => {}
    }
}

struct SchemaBuilder<'c> {
    catalog: &'c Catalog,
    names: &'c Names,
    place: &'static str,
    id: ResourceId,
    resource: &'c Resource,
}

impl SchemaBuilder<'_> {
    fn name(&self, ending: &str) -> String {
        self.names.part(self.id, ending)
    }

    fn own(&self, ending: &str) -> Json {
        reference(self.place, &self.name(ending))
    }

    /// A reference to a definition of the target of a relation.
    fn target(&self, relation: &Relation, ending: &str) -> Json {
        reference(self.place, &self.names.part(relation.target, ending))
    }

    fn shared(&self, name: &str) -> Json {
        reference(self.place, name)
    }

    /// The usable fields that `fits` accepts, and `relation.field` for the relations that `follows` accepts.
    fn paths(&self, fits: fn(&Type) -> bool, follows: fn(&Relation) -> bool) -> Vec<String> {
        let own = usable(self.resource).filter(|field| fits(&field.kind)).map(|field| field.name.clone());
        let mut paths: Vec<String> = own.collect();
        for relation in self.resource.relations.iter().filter(|relation| follows(relation)) {
            let target = self.catalog.resource(relation.target);
            paths.extend(usable(target).filter(|field| fits(&field.kind)).map(|field| format!("{}.{}", relation.name, field.name)));
        }
        paths
    }
}

fn reference(place: &str, name: &str) -> Json {
    object! { "$ref" => format!("{place}{name}") }
}

fn or_null(schema: Json) -> Json {
    object! { "anyOf" => [schema, object! { "type" => "null" }] }
}

fn described(schema: Json, description: impl Into<String>) -> Json {
    match schema {
        Json::Object(mut entries) => {
            entries.push(("description".to_owned(), Json::Text(description.into())));
            Json::Object(entries)
        }
        other => other,
    }
}

/// A schema that accepts these words only.
fn one_of(words: &[String]) -> Json {
    if words.is_empty() {
        Json::Bool(false)
    } else {
        object! { "enum" => texts(words) }
    }
}

/// An object with these keys only.
fn closed(properties: Vec<(String, Json)>, required: &[&str]) -> Vec<(String, Json)> {
    let mut entries = vec![
        ("type".to_owned(), Json::from("object")),
        ("properties".to_owned(), Json::Object(properties)),
        ("additionalProperties".to_owned(), Json::Bool(false)),
    ];
    if !required.is_empty() {
        entries.insert(2, ("required".to_owned(), texts(required)));
    }
    entries
}
