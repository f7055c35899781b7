//! Fields without a column: computed from related rows, from a value inside a json column, or from a date.

use crate::manifest::RelatedFunction;
use crate::statement::{Function, Statement};
use crate::types::{EnumValue, Scalar, Type};

use super::{Catalog, Field, FieldId, Identifier, Native, Stored};

#[derive(Debug)]
pub enum Derived {
    /// Only while the manifest is being resolved.
    Unresolved,
    Related(RelatedValue),
    JsonPath(JsonPath),
    Bucket(Bucket),
}

/// A value computed from the rows of a to-many relation.
#[derive(Debug)]
pub struct RelatedValue {
    /// The index of the relation in its resource.
    pub relation: usize,
    pub function: RelatedFunction,
    /// The field of the target that the function takes; none for `count` and `exists`.
    pub measured: Option<FieldId>,
    /// Which related rows count.
    pub(crate) filter: Option<Statement>,
    /// The first field of the resource with the same declaration. Both are computed once.
    pub(crate) same_as: FieldId,
}

/// A value inside a json column.
#[derive(Debug)]
pub struct JsonPath {
    pub of: FieldId,
    pub(crate) source: Source,
    pub path: Vec<EnumValue>,
}

/// The start of the period that a date or a timestamp is in.
#[derive(Debug)]
pub struct Bucket {
    pub of: FieldId,
    pub(crate) source: Source,
    pub unit: TimeUnit,
    /// A name of the time zone database; UTC if none.
    pub zone: Option<EnumValue>,
}

/// The column of a field that another is computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) column: Identifier,
    pub(crate) stored: Stored,
    pub(crate) native: Native,
}

impl Source {
    pub(super) fn of(field: &Field) -> Self {
        Source { column: field.column.clone(), stored: field.stored, native: field.native.clone() }
    }
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TimeUnit {
        Hour = "hour",
        Day = "day",
        /// From Monday on, as ISO 8601 has it.
        Week = "week",
        Month = "month",
        Quarter = "quarter",
        Year = "year",
    }
}

impl Field {
    /// Whether a read can give NULL: also where the column has a value with no period, such as an infinite timestamp.
    pub(crate) fn may_read_null(&self) -> bool {
        self.nullable || matches!(self.derived, Some(Derived::Bucket(_)))
    }

    /// The field of the same row that the value is computed from.
    pub fn source(&self) -> Option<FieldId> {
        match &self.derived {
            Some(Derived::JsonPath(JsonPath { of, .. }) | Derived::Bucket(Bucket { of, .. })) => Some(*of),
            _ => None,
        }
    }

    /// The related rows that the value is computed from.
    pub fn related(&self) -> Option<&RelatedValue> {
        match &self.derived {
            Some(Derived::Related(related)) => Some(related),
            _ => None,
        }
    }
}

impl RelatedFunction {
    /// The type of the value, from the type of the measured field.
    pub(super) fn kind(self, measured: Option<&Type>) -> Type {
        match (self, measured) {
            (RelatedFunction::Exists, _) => Type::One(Scalar::Bool),
            (RelatedFunction::Min | RelatedFunction::Max, Some(kind)) => kind.clone(),
            (RelatedFunction::Sum | RelatedFunction::Avg, Some(Type::One(Scalar::Float))) => Type::One(Scalar::Float),
            (RelatedFunction::Sum, Some(Type::One(Scalar::Int))) | (RelatedFunction::Count, _) | (_, None) => Type::One(Scalar::BigInt),
            (RelatedFunction::Sum | RelatedFunction::Avg, Some(_)) => Type::One(Scalar::Decimal),
        }
    }

    /// The aggregate function; none for `exists`.
    pub(crate) fn aggregate(self) -> Option<Function> {
        Function::from_word(self.as_str())
    }
}

/// The type on PostgreSQL of a value that `min` or `max` finds in a column of this type. A value that is cast to text is plain text.
fn extreme_native(measured: &Field) -> Native {
    match &measured.native {
        Native::Padded | Native::Caseless(_) | Native::TextByCast => Native::Standard,
        Native::WideInteger => Native::OtherInteger,
        other => other.clone(),
    }
}

pub(super) fn set_native_types(catalog: &mut Catalog) {
    for resource in &mut catalog.resources {
        for id in 0..resource.fields.len() {
            let Some(found) = resource.fields[id].source().map(|of| Source::of(&resource.fields[of])) else { continue };
            if let Some(Derived::JsonPath(JsonPath { source, .. }) | Derived::Bucket(Bucket { source, .. })) =
                &mut resource.fields[id].derived
            {
                *source = found;
            }
        }
    }
    // A value that is computed from another derived field comes after it.
    loop {
        let mut changes = Vec::new();
        for (id, resource) in catalog.resources.iter().enumerate() {
            for (field_id, field) in resource.fields.iter().enumerate() {
                let native = match &field.derived {
                    Some(Derived::Related(RelatedValue {
                        relation,
                        function: RelatedFunction::Min | RelatedFunction::Max,
                        measured: Some(measured),
                        ..
                    })) => extreme_native(&catalog.resources[resource.relations[*relation].target].fields[*measured]),
                    _ => continue,
                };
                if native != field.native {
                    changes.push((id, field_id, native));
                }
            }
        }
        if changes.is_empty() {
            return;
        }
        for (id, field, native) in changes {
            catalog.resources[id].fields[field].native = native;
        }
    }
}
