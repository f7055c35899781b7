//! The parsed manifest: resources, fields and relations.

mod derived;
mod write;

pub use derived::Derived;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
pub use write::{FieldWrites, Rule, Writes};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    Bigint,
    Float,
    Decimal,
    Text,
    Uuid,
    Date,
    Time,
    Timestamp,
    Json,
    Enum,
}

impl Kind {
    fn parse(text: &str) -> Self {
        match text {
            "bool" => Self::Bool,
            "int" => Self::Int,
            "bigint" => Self::Bigint,
            "float" => Self::Float,
            "decimal" => Self::Decimal,
            "text" => Self::Text,
            "uuid" => Self::Uuid,
            "date" => Self::Date,
            "time" => Self::Time,
            "timestamp" => Self::Timestamp,
            "json" => Self::Json,
            "enum" => Self::Enum,
            other => panic!("the manifest names the type {other:?}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    Email,
    LastFour,
    Redact,
}

#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)]
pub struct Field {
    pub name: String,
    pub column: String,
    pub kind: Kind,
    pub array: bool,
    pub values: Vec<String>,
    pub nullable: bool,
    pub key: bool,
    pub hidden: bool,
    pub mask: Option<Mask>,
    pub unmask: Option<String>,
    /// How the value is computed, if the field has no column.
    pub derived: Option<Derived>,
    /// Whether rows show the field without being asked to.
    pub eager: bool,
    /// The permissions that the value of a derived field needs. Without them the field is unknown.
    pub requires: Vec<String>,
    pub writes: FieldWrites,
}

impl Field {
    /// Whether `order` and `groupBy` accept the field: it is neither an array nor json.
    pub fn sortable(&self) -> bool {
        !self.array && self.kind != Kind::Json
    }

    /// Whether the value is computed from related rows.
    pub fn is_related(&self) -> bool {
        matches!(self.derived, Some(Derived::Related { .. }))
    }
}

/// A pivot table, with its columns for the fields of the target.
#[derive(Debug, Clone)]
pub struct Through {
    pub table: String,
    pub to: Vec<(String, String)>,
}

#[derive(Debug, Clone)]
pub struct Relation {
    pub name: String,
    pub target: String,
    pub many: bool,
    /// Own field and field of the target, or column of the pivot.
    pub on: Vec<(String, String)>,
    pub through: Option<Through>,
}

#[derive(Debug, Clone)]
pub struct Resource {
    pub name: String,
    pub plural: String,
    pub table: String,
    pub permission: Option<String>,
    pub soft_delete: Option<String>,
    pub constraint: Option<Value>,
    /// The permission that lifts the constraint.
    pub unless: Option<String>,
    pub fields: Vec<Field>,
    pub relations: Vec<Relation>,
    pub writes: Option<Writes>,
}

impl Resource {
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    pub fn index(&self, name: &str) -> usize {
        let found = self.fields.iter().position(|field| field.name == name);
        found.unwrap_or_else(|| panic!("{} has no field {name:?}", self.name))
    }

    pub fn relation(&self, name: &str) -> Option<&Relation> {
        self.relations.iter().find(|relation| relation.name == name)
    }

    pub fn keys(&self) -> Vec<&Field> {
        self.fields.iter().filter(|field| field.key).collect()
    }
}

/// All resources by `context.name`.
#[derive(Debug, Clone)]
pub struct Schema(BTreeMap<String, Resource>);

impl Schema {
    /// Parses a valid manifest.
    pub fn parse(manifest: &str) -> Self {
        let table: toml::Table = manifest.parse().expect("the manifest is TOML");
        let mut resources = BTreeMap::new();
        for (context, named) in entries(&table["resource"]) {
            for (name, declared) in entries(named) {
                let resource = read_resource(context, name, declared);
                resources.insert(resource.name.clone(), resource);
            }
        }
        derived::settle(&mut resources);
        Self(resources)
    }

    pub fn resource(&self, name: &str) -> &Resource {
        self.0.get(name).unwrap_or_else(|| panic!("no resource {name:?}"))
    }

    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.0.values()
    }

    /// Every permission of the manifest, including those that unmask a field or lift a constraint.
    pub fn permissions(&self) -> BTreeSet<String> {
        let unmask = self.0.values().flat_map(|resource| resource.fields.iter().filter_map(|field| field.unmask.clone()));
        let unless = self.0.values().filter_map(|resource| resource.unless.clone());
        let fields = self.0.values().flat_map(|resource| resource.fields.iter().filter_map(|field| field.writes.permission.clone()));
        let writes = self.0.values().filter_map(|resource| resource.writes.as_ref()).flat_map(Writes::permissions);
        let read = self.0.values().filter_map(|resource| resource.permission.clone());
        read.chain(unmask).chain(unless).chain(fields).chain(writes).collect()
    }
}

fn read_resource(context: &str, name: &str, declared: &toml::Value) -> Resource {
    let text = |key: &str| declared.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let plural = text("plural").unwrap_or_else(|| format!("{name}s"));
    let relations = declared.get("relations").map(|relations| entries(relations).collect::<Vec<_>>()).unwrap_or_default();
    Resource {
        name: format!("{context}.{name}"),
        table: text("table").unwrap_or_else(|| snake_case(&plural)),
        permission: text("permission"),
        soft_delete: text("soft-delete"),
        constraint: declared.get("constraint").map(json),
        unless: declared.get("constraint").and_then(|constraint| constraint.get("unless")?.as_str().map(str::to_owned)),
        fields: entries(&declared["fields"]).map(|(name, declared)| read_field(name, declared)).collect(),
        relations: relations.into_iter().map(|(name, declared)| read_relation(name, declared)).collect(),
        writes: Writes::read(declared),
        plural,
    }
}

fn read_field(name: &str, declared: &toml::Value) -> Field {
    let text = |key: &str| declared.get(key).and_then(toml::Value::as_str);
    let flag = |key: &str| declared.get(key).and_then(toml::Value::as_bool);
    let derived = Derived::read(declared);
    // The type of most derived fields follows from others.
    let fallback = derived.as_ref().map(|_| "bigint");
    let type_name = declared.as_str().or_else(|| text("type")).or(fallback).expect("a field has a type");
    let element = type_name.strip_suffix("[]");
    let key = flag("key").unwrap_or(false);
    let values = declared.get("values").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Field {
        name: name.to_owned(),
        column: text("column").map_or_else(|| snake_case(name), str::to_owned),
        kind: Kind::parse(element.unwrap_or(type_name)),
        array: element.is_some(),
        values: values.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect(),
        nullable: !key && flag("null").unwrap_or(true),
        key,
        hidden: flag("hidden").unwrap_or(false),
        mask: text("mask").map(|mask| match mask {
            "email" => Mask::Email,
            "last4" => Mask::LastFour,
            "redact" => Mask::Redact,
            other => panic!("the manifest names the mask {other:?}"),
        }),
        unmask: text("unmask").map(str::to_owned),
        derived,
        eager: flag("eager").unwrap_or(true),
        requires: Vec::new(),
        writes: FieldWrites::read(declared),
    }
}

fn read_relation(name: &str, declared: &toml::Value) -> Relation {
    let text = |key: &str| declared.get(key).and_then(toml::Value::as_str);
    let pairs = |key: &str| -> Vec<(String, String)> {
        entries(&declared[key]).map(|(own, other)| (own.clone(), other.as_str().expect("a name").to_owned())).collect()
    };
    Relation {
        name: name.to_owned(),
        target: text("many").or_else(|| text("one")).expect("a relation has a target").to_owned(),
        many: declared.get("many").is_some(),
        on: pairs("on"),
        through: text("through").map(|table| Through { table: table.to_owned(), to: pairs("to") }),
    }
}

/// The entries of a table in their order, which composite keys need.
fn entries(value: &toml::Value) -> impl Iterator<Item = (&String, &toml::Value)> {
    value.as_table().expect("a table of the manifest").iter()
}

fn json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Datetime(moment) => Value::from(moment.to_string()),
        toml::Value::Array(items) => items.iter().map(json).collect(),
        toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), json(value))).collect(),
    }
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
