//! The manifest, resolved once: every name looked up, every identifier quoted, nothing left to find at run time.

mod naming;
mod resolve;

use std::sync::Arc;

use hashbrown::HashMap;

use crate::manifest::{Manifest, ManifestError};
use crate::statement::Statement;
use crate::types::{EnumValue, Scalar, Type};

pub use naming::{kebab, snake};
pub use resolve::{CONNECTORS, OWN_CONTEXTS};

/// A resource's place in the catalog.
pub type ResourceId = usize;
/// A field's place in its resource.
pub type FieldId = usize;

/// All declared resources. Immutable once the process runs.
#[derive(Debug, Default)]
pub struct Catalog {
    pub(crate) resources: Vec<Resource>,
    by_name: HashMap<String, ResourceId>,
    by_path: HashMap<String, HashMap<String, ResourceId>>,
}

/// A name of the database, quoted. Made from the manifest only, never from a request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Identifier {
    plain: Box<str>,
    quoted: Box<str>,
}

impl Identifier {
    fn new(name: &str) -> Self {
        Identifier { plain: name.into(), quoted: format!("\"{}\"", name.replace('"', "\"\"")).into() }
    }

    /// The name as the database knows it.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// The name as SQL wants it.
    pub(crate) fn quoted(&self) -> &str {
        &self.quoted
    }
}

impl std::fmt::Debug for Identifier {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.quoted)
    }
}

/// A table or view, perhaps in a schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableName {
    /// The schema, when the manifest names one.
    pub schema: Option<Identifier>,
    /// The table.
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

/// A declared resource.
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
    /// Where it was declared.
    pub line: usize,
    /// The table or view behind it.
    pub table: TableName,
    /// The permission one needs to read it; none means public.
    pub permission: Option<String>,
    /// The fields, in the order of the manifest.
    pub fields: Vec<Field>,
    /// The relations, in the order of the manifest.
    pub relations: Vec<Relation>,
    /// The fields of the primary key.
    pub key: Vec<FieldId>,
    /// Whether the database sees to it that the key is unique and never NULL. Learned from SQLite at boot; on PostgreSQL nothing depends on
    /// it, and it stays false.
    pub key_is_certain: bool,
    pub(crate) soft_delete: Option<FieldId>,
    pub(crate) constraint: Option<Constraint>,
    field_index: HashMap<String, FieldId>,
    relation_index: HashMap<String, usize>,
}

/// What the manifest adds to every statement on a resource.
#[derive(Debug)]
pub(crate) struct Constraint {
    pub(crate) statement: Statement,
    /// Where it was declared.
    pub(crate) line: usize,
}

/// A declared field.
#[derive(Debug)]
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// Where it was declared.
    pub line: usize,
    /// Its column.
    pub column: Identifier,
    /// Its type.
    pub kind: Type,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Never in an answer, never usable.
    pub hidden: bool,
    /// Shown masked, with the permission that lifts the mask.
    pub mask: Option<(Mask, Option<String>)>,
    /// How a SQLite file keeps it.
    pub stored: Stored,
    /// What the column is on PostgreSQL; learned from the database at boot.
    pub native: Native,
    /// `,"name":`, ready to be written.
    pub(crate) json_key: Arc<[u8]>,
}

/// How a masked text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// The first letter and the domain.
    Email,
    /// The last four characters.
    Last4,
    /// Nothing that depends on the value.
    Redact,
}

impl Mask {
    /// Every one.
    pub const ALL: [Mask; 3] = [Mask::Email, Mask::Last4, Mask::Redact];

    /// Its name in a manifest.
    pub fn name(self) -> &'static str {
        match self {
            Mask::Email => "email",
            Mask::Last4 => "last4",
            Mask::Redact => "redact",
        }
    }
}

/// How a SQLite file keeps a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// As the type's own form.
    Standard,
    /// `YYYY-MM-DD HH:MM:SS`
    Datetime,
    /// Seconds since 1970.
    Unix,
}

/// What a column is on PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Native {
    /// The type that a field's type maps to by itself: `int4`, `timestamptz`, `jsonb`, …
    Standard,
    /// An integer of another width; compares with any other.
    OtherInteger,
    /// `int8` under a field of type int, whose values beyond 32 bits do not fit the field.
    WideInteger,
    /// `float4`
    Real,
    /// `varchar`: behaves as text.
    Varchar,
    /// `char(n)`: compared as text after a cast, which drops the blanks.
    Padded,
    /// `citext`: compared as text after a cast, so that the case of letters counts.
    Caseless(TypeName),
    /// Other texts that are compared as text only after a cast: `name`, an enum that is declared as text.
    TextByCast,
    /// Texts of a collation that not every operator takes: searched and connected by the database's own.
    TextByCollation,
    /// `timestamp` without time zone, read as UTC.
    TimestampWithoutZone,
    /// `json` rather than `jsonb`.
    JsonText,
    /// A native enum.
    Enum(TypeName, Labels),
    /// An array whose elements need a cast to the standard type.
    ArrayByCast,
}

/// Whether `values` of a field names every label of its native enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// All of them.
    Named,
    /// Not all.
    MoreThanNamed,
}

/// The name of a native type, quoted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName(TableName);

impl TypeName {
    /// From the database's catalog: schema and type.
    pub fn new(schema: &str, name: &str) -> Self {
        TypeName(TableName { schema: Some(Identifier::new(schema)), name: Identifier::new(name) })
    }

    pub(crate) fn table_name(&self) -> &TableName {
        &self.0
    }
}

/// A declared relation.
#[derive(Debug)]
pub struct Relation {
    /// Its name on the wire.
    pub name: String,
    /// Where it was declared.
    pub line: usize,
    /// The resource it leads to.
    pub target: ResourceId,
    /// Whether it leads to many rows or at most one.
    pub many: bool,
    /// How the rows are connected.
    pub link: Link,
    pub(crate) json_key: Arc<[u8]>,
}

/// How two tables are connected.
#[derive(Debug)]
pub enum Link {
    /// Own field = field of the other.
    Direct(Vec<(FieldId, FieldId)>),
    /// By a pivot table that is never visible.
    Through {
        /// The pivot.
        pivot: TableName,
        /// Own field = column of the pivot.
        own: Vec<(FieldId, Identifier)>,
        /// Column of the pivot = field of the other.
        other: Vec<(Identifier, FieldId)>,
        /// Whether the pivot may name a pair twice.
        repeats: Repeats,
    },
}

/// How often a pivot names a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    /// More than once, for all we know.
    Perhaps,
    /// Once: a unique key sees to that. Learned from a live PostgreSQL at boot.
    Never,
}

impl Link {
    /// The own fields that lead to the other side.
    pub fn own_fields(&self) -> Vec<FieldId> {
        match self {
            Link::Direct(pairs) => pairs.iter().map(|(own, _)| *own).collect(),
            Link::Through { own, .. } => own.iter().map(|(own, _)| *own).collect(),
        }
    }
}

impl Resource {
    /// The field of this name, hidden ones included.
    pub fn field(&self, name: &str) -> Option<(FieldId, &Field)> {
        self.field_index.get(name).map(|id| (*id, &self.fields[*id]))
    }

    /// The fields of the primary key.
    pub fn key_fields(&self) -> impl Iterator<Item = &Field> {
        self.key.iter().map(|id| &self.fields[*id])
    }

    /// Where its operations stand: `/api/{context}/{plural}`, in kebab-case.
    pub fn path(&self) -> String {
        format!("/api/{}/{}", kebab(&self.context), kebab(&self.plural))
    }

    /// Whether the program itself declares it: a record of the identity half.
    pub fn is_own(&self) -> bool {
        OWN_CONTEXTS.contains(&self.context.as_str())
    }

    /// The relation of this name.
    pub fn relation(&self, name: &str) -> Option<&Relation> {
        self.relation_index.get(name).map(|index| &self.relations[*index])
    }

    /// Whether rows that were marked as deleted are out of reach.
    pub fn soft_delete(&self) -> Option<&Field> {
        self.soft_delete.map(|id| &self.fields[id])
    }
}

impl Catalog {
    /// A manifest, together with the program's own, which alone may declare the contexts of the identity half; without the constraints.
    pub(crate) fn unconstrained(own: &Manifest, manifest: &Manifest) -> Result<Self, ManifestError> {
        resolve::resolve(own, manifest)
    }

    /// Every resource, in the order of the manifest.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// The permissions that resources and masks ask for, each with the line that names it.
    pub fn permissions(&self) -> impl Iterator<Item = (&str, usize)> {
        self.resources.iter().flat_map(|resource| {
            let of_fields = resource.fields.iter().filter_map(|field| Some((field.mask.as_ref()?.1.as_deref()?, field.line)));
            resource.permission.as_deref().map(|name| (name, resource.line)).into_iter().chain(of_fields)
        })
    }

    /// The resource of this number.
    pub fn resource(&self, id: ResourceId) -> &Resource {
        &self.resources[id]
    }

    /// The resource called `context.name`.
    pub fn by_name(&self, full_name: &str) -> Option<ResourceId> {
        self.by_name.get(full_name).copied()
    }

    /// The resource at `/api/{context}/{plural}`, both in kebab-case.
    pub fn by_path(&self, context: &str, plural: &str) -> Option<ResourceId> {
        self.by_path.get(context)?.get(plural).copied()
    }

    /// Tells that the key of a resource is one in the database too. Called at boot, before the catalog is shared.
    pub fn set_key_certain(&mut self, resource: ResourceId) {
        self.resources[resource].key_is_certain = true;
    }

    /// Tells that the pivot of a relation names no pair twice. Called at boot, before the catalog is shared.
    pub fn set_never_repeats(&mut self, resource: ResourceId, relation: usize) {
        if let Link::Through { repeats, .. } = &mut self.resources[resource].relations[relation].link {
            *repeats = Repeats::Never;
        }
    }

    /// Tells what a column is on the live PostgreSQL. Called at boot, before the catalog is shared.
    pub fn set_native(&mut self, resource: ResourceId, field: FieldId, native: Native) {
        self.resources[resource].fields[field].native = native;
    }
}

impl Field {
    /// The values of an enum whose column may hold others, which do not fit it.
    pub(crate) fn fitting_values(&self) -> Option<&Arc<[EnumValue]>> {
        match (self.kind.scalar(), &self.native) {
            (Scalar::Enum(_), Native::Enum(_, Labels::Named)) => None,
            (Scalar::Enum(values), _) => Some(values),
            _ => None,
        }
    }

    /// Whether values of this type are texts in an answer, so that a mask can show something.
    pub(crate) fn masks_to_text(&self) -> bool {
        matches!(self.kind, Type::One(Scalar::Text | Scalar::Enum(_)))
    }
}
