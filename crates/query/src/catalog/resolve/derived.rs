//! Derived fields: resolves what each is computed from, and its type.

use crate::catalog::derived::Source;
use crate::catalog::{Bucket, Catalog, Derived, Field, FieldId, JsonPath, RelatedValue, Resource, ResourceId, TimeUnit};
use crate::manifest::{DerivedDeclaration, FieldDeclaration, RelatedFunction, ResourceDeclaration};
use crate::messages::{did_you_mean, quoted_list};
use crate::types::{EnumValue, Scalar, Type};

use super::Resolver;

/// The types of a value inside a json column.
const JSON_TYPES: [&str; 11] = ["bool", "int", "bigint", "float", "decimal", "text", "uuid", "date", "time", "timestamp", "enum"];

/// The declaration of a derived field.
#[derive(Clone, Copy)]
struct Declaration<'d> {
    resource: ResourceId,
    id: FieldId,
    field: &'d FieldDeclaration,
}

impl Declaration<'_> {
    fn fault(self, resolver: &mut Resolver, message: &str) {
        resolver.fault(self.field.line, format!("field `{}`: {message}", self.field.name));
    }
}

/// Resolves all derived fields, those after others that they are computed from.
pub(super) fn resolve(resolver: &mut Resolver, catalog: &mut Catalog, declarations: &[&ResourceDeclaration]) {
    let mut open: Vec<Declaration<'_>> = Vec::new();
    for (resource, declared) in declarations.iter().enumerate() {
        for field in declared.fields.iter().filter(|field| field.derived.is_some()) {
            if let Some((id, _)) = catalog.resources[resource].field(&field.name) {
                open.push(Declaration { resource, id, field });
            }
        }
    }
    // The type of a field is known once the type of what it measures is. Each pass resolves at least one, or the rest leads in a circle.
    loop {
        let before = open.len();
        open.retain(|declared| {
            let is_done = field(resolver, catalog, *declared);
            let resource = &catalog.resources[declared.resource];
            if is_done && matches!(resource.fields[declared.id].derived, Some(Derived::Unresolved)) {
                resolver.broken.add(&resource.full_name, &declared.field.name);
            }
            !is_done
        });
        if open.is_empty() {
            return;
        }
        if open.len() == before {
            for declared in open {
                declared.fault(resolver, "its value leads back to itself through other derived fields");
                resolver.broken.add(&catalog.resources[declared.resource].full_name, &declared.field.name);
            }
            return;
        }
    }
}

/// Resolves one field. False if it must wait for another.
fn field(resolver: &mut Resolver, catalog: &mut Catalog, declared: Declaration<'_>) -> bool {
    match &declared.field.derived {
        Some(DerivedDeclaration::Related { function, of, .. }) => related(resolver, catalog, declared, *function, of),
        Some(DerivedDeclaration::JsonPath { of, path }) => {
            json_path(resolver, catalog, declared, of, path);
            true
        }
        Some(DerivedDeclaration::Bucket { unit, of, zone }) => {
            bucket(resolver, catalog, declared, BucketWords { unit, of, zone: zone.as_deref() });
            true
        }
        None => true,
    }
}

fn related(resolver: &mut Resolver, catalog: &mut Catalog, declared: Declaration<'_>, function: RelatedFunction, of: &str) -> bool {
    let resource = &catalog.resources[declared.resource];
    let word = function.as_str();
    let takes_field = !matches!(function, RelatedFunction::Count | RelatedFunction::Exists);
    let (name, measured) = match (of.split_once('.'), takes_field) {
        (None, false) => (of, None),
        (Some((relation, field)), true) if !field.contains('.') => (relation, Some(field)),
        (_, true) => {
            declared.fault(resolver, &format!("`{word}` takes a relation and a field, such as \"orders.total\"; found {of:?}"));
            return true;
        }
        (_, false) => {
            declared.fault(resolver, &format!("`{word}` takes a relation, such as \"orders\"; found {of:?}"));
            return true;
        }
    };
    let Some(index) = resource.relations.iter().position(|relation| relation.name == name) else {
        if resolver.broken.has(&resource.full_name, name) {
            return true;
        }
        let known: Vec<&str> = resource.relations.iter().map(|relation| relation.name.as_str()).collect();
        let hint = did_you_mean(name, &known);
        declared.fault(resolver, &format!("`{word}` names `{name}`, which is not a relation of `{}`{hint}", resource.full_name));
        return true;
    };
    let relation = &resource.relations[index];
    if !relation.many {
        declared.fault(resolver, &format!("`{word}` needs a to-many relation; `{name}` leads to one row"));
        return true;
    }
    let target = &catalog.resources[relation.target];
    let measured = match measured {
        None => None,
        Some(name) => match measured_field(resolver, target, declared, function, name) {
            Measured::Waits => return false,
            Measured::Refused => return true,
            Measured::Field(id) => Some(id),
        },
    };
    let kind = function.kind(measured.map(|id| &target.fields[id].kind));
    let stored = Derived::Related(RelatedValue { relation: index, function, measured, filter: None, same_as: declared.id });
    set_derived(resolver, catalog, declared, kind, stored);
    catalog.resources[declared.resource].fields[declared.id].nullable = takes_field;
    true
}

/// What a measured field turned out to be.
enum Measured {
    Field(FieldId),
    /// Its type is not known yet.
    Waits,
    /// Reported already.
    Refused,
}

fn measured_field(
    resolver: &mut Resolver,
    target: &Resource,
    declared: Declaration<'_>,
    function: RelatedFunction,
    name: &str,
) -> Measured {
    let word = function.as_str();
    let Some((id, field)) = target.field(name) else {
        if resolver.broken.has(&target.full_name, name) {
            return Measured::Refused;
        }
        let known: Vec<&str> = target.fields.iter().filter(|field| !field.hidden).map(|field| field.name.as_str()).collect();
        let hint = did_you_mean(name, &known);
        declared.fault(resolver, &format!("`{word}` names `{name}`, which is not a field of `{}`{hint}", target.full_name));
        return Measured::Refused;
    };
    if matches!(field.derived, Some(Derived::Unresolved)) {
        return if resolver.broken.has(&target.full_name, name) { Measured::Refused } else { Measured::Waits };
    }
    if is_masked_for_all(resolver, declared, word, field) {
        return Measured::Refused;
    }
    if function.aggregate().is_some_and(|function| !field.kind.measures(function)) {
        let (kind, accepted) = (field.kind.name(), quoted_list(&field.kind.functions()));
        declared.fault(resolver, &format!("`{word}` does not apply to `{name}` of type {kind}, which takes {accepted}"));
        return Measured::Refused;
    }
    Measured::Field(id)
}

/// The field with a column that a derived field is computed from.
fn source(resolver: &mut Resolver, resource: &Resource, declared: Declaration<'_>, key: &str, of: &str) -> Option<FieldId> {
    let found = resource.field(of).filter(|(_, field)| field.derived.is_none());
    if found.is_none() && !resolver.broken.has(&resource.full_name, of) {
        let known: Vec<&str> = resource.stored_fields().map(|(_, field)| field.name.as_str()).collect();
        let hint = did_you_mean(of, &known);
        declared.fault(resolver, &format!("`{key}` names `{of}`, which is not a field of `{}` with a column{hint}", resource.full_name));
    }
    let (id, field) = found?;
    (!is_masked_for_all(resolver, declared, key, field)).then_some(id)
}

/// Reports a source with a mask that no permission removes: nobody could see what is computed from it.
fn is_masked_for_all(resolver: &mut Resolver, declared: Declaration<'_>, key: &str, source: &Field) -> bool {
    let is_masked = matches!(source.mask, Some((_, None)));
    if is_masked {
        let name = &source.name;
        declared.fault(
            resolver,
            &format!("`{key}` names `{name}`, which is masked without an `unmask` permission: nobody could see the value"),
        );
    }
    is_masked
}

fn json_path(resolver: &mut Resolver, catalog: &mut Catalog, declared: Declaration<'_>, of: &str, path: &[String]) {
    let resource = &catalog.resources[declared.resource];
    let Some(of) = source(resolver, resource, declared, "json", of) else { return };
    if resource.fields[of].kind != Type::One(Scalar::Json) {
        let (name, kind) = (&resource.fields[of].name, resource.fields[of].kind.name());
        return declared.fault(resolver, &format!("`json` needs a field of type json; `{name}` has type {kind}"));
    }
    let accepted = || quoted_list(&JSON_TYPES);
    let word = declared.field.kind.as_str();
    if word.is_empty() {
        return declared.fault(resolver, &format!("it needs the `type` of the value: one of {}", accepted()));
    }
    let Some(mut scalar) = Scalar::from_name(word).filter(|scalar| JSON_TYPES.contains(&scalar.name())) else {
        return declared.fault(resolver, &format!("the `type` of a value inside json must be one of {}; found {word:?}", accepted()));
    };
    resolver.values(declared.field, &mut scalar);
    let derived = Derived::JsonPath(JsonPath {
        of,
        source: Source::of(&resource.fields[of]),
        path: path.iter().map(|part| EnumValue::new(part)).collect(),
    });
    set_derived(resolver, catalog, declared, Type::One(scalar), derived);
}

/// A bucket as the manifest declares it.
#[derive(Clone, Copy)]
struct BucketWords<'d> {
    unit: &'d str,
    of: &'d str,
    zone: Option<&'d str>,
}

fn bucket(resolver: &mut Resolver, catalog: &mut Catalog, declared: Declaration<'_>, words: BucketWords<'_>) {
    let BucketWords { unit, of, zone } = words;
    let resource = &catalog.resources[declared.resource];
    let Some(unit) = TimeUnit::from_word(unit) else {
        let units = quoted_list(&TimeUnit::ALL.map(TimeUnit::as_str));
        return declared.fault(resolver, &format!("`bucket` must be one of {units}; found {unit:?}"));
    };
    let Some(of) = source(resolver, resource, declared, "of", of) else { return };
    let source = &resource.fields[of];
    let kind = match (&source.kind, unit, zone) {
        (Type::One(Scalar::Date), TimeUnit::Hour, _) => {
            return declared.fault(resolver, &format!("`{}` is a date, which has no hours; `bucket` starts at `day`", source.name));
        }
        (Type::One(Scalar::Date), _, Some(_)) => {
            return declared.fault(resolver, &format!("`{}` is a date, which has no time zone; leave out `zone`", source.name));
        }
        (kind @ Type::One(Scalar::Date | Scalar::Timestamp), ..) => kind.clone(),
        (other, ..) => {
            let message = format!("`bucket` needs a date or a timestamp; `{}` has type {}", source.name, other.name());
            return declared.fault(resolver, &message);
        }
    };
    if let Some(zone) = zone
        && !is_zone(zone)
    {
        return declared
            .fault(resolver, &format!("`zone` must be a name of the time zone database, such as \"Europe/Berlin\"; found {zone:?}"));
    }
    let derived = Derived::Bucket(Bucket { of, source: Source::of(source), unit, zone: zone.map(EnumValue::new) });
    let nullable = source.nullable;
    set_derived(resolver, catalog, declared, kind, derived);
    catalog.resources[declared.resource].fields[declared.id].nullable = nullable;
}

/// Whether it can be a name of the time zone database, which the store has.
fn is_zone(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte))
}

fn set_derived(resolver: &mut Resolver, catalog: &mut Catalog, declared: Declaration<'_>, kind: Type, derived: Derived) {
    let mask = resolver.mask(declared.field, &kind);
    let field = &mut catalog.resources[declared.resource].fields[declared.id];
    field.mask = mask;
    field.kind = kind;
    field.derived = Some(derived);
}
