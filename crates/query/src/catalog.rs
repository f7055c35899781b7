//! The manifest with every name resolved and every identifier quoted.

mod column_limit;
mod derived;
mod placement;
mod resolve;
mod spelling;
pub mod write_rules;

use std::sync::Arc;

use hashbrown::HashMap;

use crate::statement::Statement;
use crate::types::{EnumValue, Scalar, Type};

pub use crate::manifest::MAX_WRITE_ROWS;
pub use column_limit::ColumnLimit;
pub use derived::{Bucket, Derived, JsonPath, RelatedValue, TimeUnit};
pub use placement::RelationPlacement;
pub(crate) use resolve::{Broken, Resolved, resolve};
pub use resolve::{CONNECTORS, OWN_CONTEXTS};
pub use spelling::{kebab, snake};
use write_rules::{FieldRules, TableFacts, WriteRules};

/// The index of a resource in the catalog.
pub type ResourceId = usize;
/// The index of a field in its resource.
pub type FieldId = usize;

/// All declared resources. Immutable once a process serves it.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) resources: Vec<Resource>,
    by_name: HashMap<String, ResourceId>,
    by_path: HashMap<String, HashMap<String, ResourceId>>,
    /// The most rows of a list or a page; no limit without one.
    max_rows: Option<u64>,
}

/// The name of a table or column, quoted. It comes from the manifest or the database, never from a request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identifier {
    plain: Box<str>,
    /// In quotes, for SQL.
    pub(crate) quoted: Box<str>,
}

impl Identifier {
    pub fn new(name: &str) -> Self {
        Identifier { plain: name.into(), quoted: format!("\"{}\"", name.replace('"', "\"\"")).into() }
    }

    pub fn plain(&self) -> &str {
        &self.plain
    }
}

impl std::fmt::Debug for Identifier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.quoted)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    pub schema: Option<Identifier>,
    pub name: Identifier,
}

impl TableName {
    fn new(text: &str) -> Self {
        match text.split_once('.') {
            Some((schema, name)) if !schema.is_empty() && !name.is_empty() => {
                TableName { schema: Some(Identifier::new(schema)), name: Identifier::new(name) }
            }
            _ => TableName { schema: None, name: Identifier::new(text) },
        }
    }
}

impl std::fmt::Display for TableName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(schema) = &self.schema {
            write!(out, "{}.", schema.plain())?;
        }
        out.write_str(self.name.plain())
    }
}

#[derive(Debug)]
pub struct Resource {
    /// `shop` of `shop.customer`
    pub context: String,
    /// `customer` of `shop.customer`
    pub name: String,
    /// `customers`
    pub plural: String,
    /// `shop.customer`
    pub full_name: String,
    pub line: usize,
    pub table: TableName,
    /// The permission to read it; `None` means public.
    pub permission: Option<String>,
    pub(crate) permission_line: usize,
    /// The manifest says `public = true`.
    pub public: bool,
    pub fields: Vec<Field>,
    pub relations: Vec<Relation>,
    pub key: Vec<FieldId>,
    /// Whether the database guarantees that the key is unique and not NULL. Read from SQLite while a catalog is made; on PostgreSQL it is
    /// unused and false.
    pub key_is_certain: bool,
    pub(crate) soft_delete: Option<FieldId>,
    pub(crate) constraint: Option<Constraint>,
    pub(crate) write: Option<WriteRules>,
    field_index: HashMap<String, FieldId>,
    relation_index: HashMap<String, usize>,
}

/// The statement that the manifest adds to every statement on a resource.
#[derive(Debug)]
pub(crate) struct Constraint {
    pub(crate) statement: Statement,
    /// The permission that lifts it.
    pub(crate) unless: Option<String>,
    pub(crate) line: usize,
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub line: usize,
    pub column: Identifier,
    pub kind: Type,
    pub nullable: bool,
    /// Whether it is never shown and never usable.
    pub hidden: bool,
    /// The mask, with the permission that removes it.
    pub mask: Option<(Mask, Option<String>)>,
    pub stored: Stored,
    /// The type of its column on PostgreSQL, read while a catalog is made.
    pub native: Native,
    /// The scale of all decimals of its column on PostgreSQL, if they have one: 2 for `numeric(12, 2)`.
    pub scale: Option<i32>,
    /// How its value is computed, if it has no column of its own.
    pub derived: Option<Derived>,
    /// Whether a row shows it unasked.
    pub eager: bool,
    /// The permissions without which the field is unknown: those of the resources it is computed from.
    pub requires: Vec<String>,
    pub rules: FieldRules,
    /// `,"name":`
    pub(crate) json_key: Arc<[u8]>,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mask {
        /// The first character and the domain.
        Email = "email",
        /// The last four characters.
        Last4 = "last4",
        /// Nothing of the value.
        Redact = "redact",
    }
}

/// How a SQLite file stores a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The standard form of the type.
    Standard,
    /// `YYYY-MM-DD HH:MM:SS`
    Datetime,
    /// Seconds since 1970.
    Unix,
}

/// The type of a column on PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Native {
    /// The standard type for the field's type: `int4`, `timestamptz`, `jsonb`, …
    Standard,
    /// An integer of another width; compares with any other.
    OtherInteger,
    /// `int8` for a field of type int; larger values are invalid.
    WideInteger,
    /// `float4`
    Real,
    /// `varchar`: behaves as text.
    Varchar,
    /// `char(n)`: compared as text after a cast, which removes trailing blanks.
    Padded,
    /// `citext`: compared as text after a cast, so that comparison is case-sensitive.
    Caseless(TypeName),
    /// Other types that are compared as text after a cast: `name`, an enum declared as text.
    TextByCast,
    /// Text with a collation that not every operator accepts: searched and joined by the database's default collation.
    TextByCollation,
    /// `timestamp` without time zone, read as UTC.
    TimestampWithoutZone,
    /// `json` rather than `jsonb`.
    JsonText,
    Enum(TypeName, Labels),
    /// An array with elements that need a cast to the standard type.
    ArrayByCast,
    /// Another type, read as text.
    ReadAsText(TextForm),
}

/// How a column of another type is read as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// As the database writes it.
    Text,
    /// `inet`, whose cast to text has a netmask that the database does not write
    Address,
    /// `bytea`
    Base64,
    /// `interval`, in ISO 8601
    Duration,
}

/// Whether `values` of a field lists every label of its native enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    Named,
    /// The native enum has more.
    MoreThanNamed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName(pub(crate) TableName);

impl TypeName {
    /// From the database's catalog: schema and type.
    pub fn new(schema: &str, name: &str) -> Self {
        TypeName(TableName { schema: Some(Identifier::new(schema)), name: Identifier::new(name) })
    }
}

#[derive(Debug)]
pub struct Relation {
    pub name: String,
    pub line: usize,
    pub target: ResourceId,
    pub many: bool,
    pub join_columns: JoinColumns,
    /// Read while a catalog is made.
    pub(crate) placement: RelationPlacement,
    pub(crate) json_key: Arc<[u8]>,
}

/// The columns that connect the rows of a resource with those of the target.
#[derive(Debug)]
pub enum JoinColumns {
    /// Own field = field of the target.
    Direct(Vec<(FieldId, FieldId)>),
    /// Through a pivot table: own field = column of the pivot, column of the pivot = field of the target.
    Through { pivot: TableName, own: Vec<(FieldId, Identifier)>, other: Vec<(Identifier, FieldId)>, repeats: Repeats },
}

/// Whether a pivot may contain a pair twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    Perhaps,
    /// It may not: it has a unique key. Read from PostgreSQL while a catalog is made.
    Never,
}

impl JoinColumns {
    pub fn other_fields(&self) -> Vec<FieldId> {
        match self {
            JoinColumns::Direct(pairs) => pairs.iter().map(|(_, other)| *other).collect(),
            JoinColumns::Through { other, .. } => other.iter().map(|(_, other)| *other).collect(),
        }
    }

    pub fn own_fields(&self) -> Vec<FieldId> {
        match self {
            JoinColumns::Direct(pairs) => pairs.iter().map(|(own, _)| *own).collect(),
            JoinColumns::Through { own, .. } => own.iter().map(|(own, _)| *own).collect(),
        }
    }
}

impl Resource {
    /// The field of this name, also if it is hidden.
    pub fn field(&self, name: &str) -> Option<(FieldId, &Field)> {
        self.field_index.get(name).map(|id| (*id, &self.fields[*id]))
    }

    pub fn key_fields(&self) -> impl Iterator<Item = &Field> {
        self.key.iter().map(|id| &self.fields[*id])
    }

    /// The fields with a column.
    pub fn stored_fields(&self) -> impl Iterator<Item = (FieldId, &Field)> {
        self.fields.iter().enumerate().filter(|(_, field)| field.derived.is_none())
    }

    /// The path of its operations: `/api/{context}/{plural}`, in kebab-case.
    pub fn path(&self) -> String {
        format!("/api/{}/{}", kebab(&self.context), kebab(&self.plural))
    }

    /// Whether the manifest narrows what its readers see.
    pub fn has_constraint(&self) -> bool {
        self.constraint.is_some()
    }

    /// Whether it is built in: a record of the identity half.
    pub fn is_own(&self) -> bool {
        OWN_CONTEXTS.contains(&self.context.as_str())
    }

    pub fn relation(&self, name: &str) -> Option<&Relation> {
        self.relation_index.get(name).map(|index| &self.relations[*index])
    }

    /// The field that marks a row as deleted.
    pub fn soft_delete(&self) -> Option<&Field> {
        self.soft_delete.map(|id| &self.fields[id])
    }
}

impl Catalog {
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The resources of the manifest that everyone can read, although it does not say `public = true`.
    pub fn open_resources(&self) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(|resource| resource.permission.is_none() && !resource.public && !resource.is_own())
    }

    /// The permissions of resources, masks, constraints and writes, each with its line.
    pub fn permissions(&self) -> impl Iterator<Item = (&str, usize)> {
        self.resources.iter().flat_map(|resource| {
            let of_fields = resource.fields.iter().filter_map(|field| Some((field.mask.as_ref()?.1.as_deref()?, field.line)));
            let of_constraint = resource.constraint.as_ref().and_then(|constraint| Some((constraint.unless.as_deref()?, constraint.line)));
            let of_writes = resource.write.iter().flat_map(WriteRules::permissions);
            let of_written = resource.fields.iter().filter_map(|field| Some((field.rules.permission.as_deref()?, field.line)));
            let own = resource.permission.as_deref().map(|name| (name, resource.permission_line));
            own.into_iter().chain(of_fields).chain(of_constraint).chain(of_writes).chain(of_written)
        })
    }

    pub fn resource(&self, id: ResourceId) -> &Resource {
        &self.resources[id]
    }

    pub fn by_name(&self, full_name: &str) -> Option<ResourceId> {
        self.by_name.get(full_name).copied()
    }

    /// The resource at `/api/{context}/{plural}`, both in kebab-case.
    pub fn by_path(&self, context: &str, plural: &str) -> Option<ResourceId> {
        self.by_path.get(context)?.get(plural).copied()
    }

    /// The most rows of a list or a page; no limit without one.
    pub fn max_rows(&self) -> Option<u64> {
        self.max_rows
    }

    /// Limits the rows of every list and page. Called while a catalog is made.
    pub fn set_max_rows(&mut self, max_rows: Option<u64>) {
        self.max_rows = max_rows;
    }

    /// Notes that the database guarantees the key of a resource. Called while a catalog is made.
    pub fn set_key_certain(&mut self, resource: ResourceId) {
        self.resources[resource].key_is_certain = true;
    }

    /// Notes that the pivot of a relation contains no pair twice. Called while a catalog is made.
    pub fn set_never_repeats(&mut self, resource: ResourceId, relation: usize) {
        if let JoinColumns::Through { repeats, .. } = &mut self.resources[resource].relations[relation].join_columns {
            *repeats = Repeats::Never;
        }
    }

    /// Notes the type of a column on PostgreSQL. Called while a catalog is made.
    pub fn set_native(&mut self, resource: ResourceId, field: FieldId, native: Native) {
        let field = &mut self.resources[resource].fields[field];
        if let Native::ReadAsText(_) = native {
            field.kind = Type::One(Scalar::ReadAsText);
        }
        field.native = native;
    }

    /// Notes the scale of all decimals of a column on PostgreSQL. Called while a catalog is made.
    pub fn set_scale(&mut self, resource: ResourceId, field: FieldId, scale: i32) {
        self.resources[resource].fields[field].scale = Some(scale);
    }

    /// Notes that the database has a value for a new row without this field. Called while a catalog is made.
    pub fn set_default(&mut self, resource: ResourceId, field: FieldId) {
        self.resources[resource].fields[field].rules.has_default = true;
    }

    /// Notes the enum type of a column that is read as text. Called while a catalog is made.
    pub fn set_enum_type(&mut self, resource: ResourceId, field: FieldId, name: TypeName) {
        self.resources[resource].fields[field].rules.enum_type = Some(name);
    }

    /// Notes what the database enforces in the table of a writable resource. Called while a catalog is made.
    pub fn set_table_facts(&mut self, resource: ResourceId, facts: TableFacts) {
        if let Some(write) = &mut self.resources[resource].write {
            write.facts = facts;
        }
    }

    /// Gives derived fields the types that their values have on PostgreSQL. Called while a catalog is made, after the types of columns are
    /// known.
    pub fn set_derived_native_types(&mut self) {
        derived::set_native_types(self);
    }
}

impl Field {
    /// The values of an enum, if its column can hold other, invalid values.
    pub(crate) fn fitting_values(&self) -> Option<&Arc<[EnumValue]>> {
        match (self.kind.scalar(), &self.native) {
            // What it is computed from was checked.
            _ if self.derived.is_some() => None,
            (Scalar::Enum(_), Native::Enum(_, Labels::Named)) => None,
            (Scalar::Enum(values), _) => Some(values),
            _ => None,
        }
    }

    /// Whether values of this type are strings in an answer, so that a mask can show a part of them.
    pub(crate) fn masks_to_text(&self) -> bool {
        matches!(self.kind, Type::One(Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_)))
    }
}
