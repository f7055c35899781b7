//! The `where` of derived fields, and the permissions that their values need.

use std::collections::BTreeSet;

use crate::catalog::{Broken, Catalog, Derived, Field, FieldId, ResourceId};
use crate::error::Fault;
use crate::json::Json;
use crate::manifest::{DerivedDeclaration, ManifestFault, ResourceDeclaration};
use crate::parse;
use crate::plan::check_constraint;
use crate::pointer::Layer;
use crate::statement::Statement;

use super::dependencies::{ConditionDependency, dependencies_of_field};

/// Sets the filters of a resource's derived fields, or returns their faults.
pub(super) fn set_filters(catalog: &mut Catalog, broken: &Broken, id: ResourceId, declaration: &ResourceDeclaration) -> Vec<ManifestFault> {
    let mut faults = Vec::new();
    let mut declared: Vec<(FieldId, &Option<Json>)> = Vec::new();
    for field in &declaration.fields {
        let Some(DerivedDeclaration::Related { filter, .. }) = &field.derived else { continue };
        let Some((field_id, related)) = catalog.resources[id].field(&field.name).and_then(|(id, field)| Some((id, field.related()?)))
        else {
            continue;
        };
        let statement = filter.as_ref().map(filter_statement);
        let target = catalog.resources[id].relations[related.relation].target;
        if let Some(statement) = &statement
            && !filter.as_ref().is_some_and(|filter| broken.is_named_in(filter))
        {
            faults.extend(filter_faults(catalog, target, statement, &field.name, field.line));
        }
        let is_same = |(other, other_filter): &&(FieldId, &Option<Json>)| {
            *other_filter == filter
                && catalog.resources[id].fields[*other].related().is_some_and(|other| {
                    (other.relation, other.function, other.measured) == (related.relation, related.function, related.measured)
                })
        };
        let same_as = declared.iter().find(is_same).map_or(field_id, |(other, _)| *other);
        declared.push((field_id, filter));
        if let Some(Derived::Related(related)) = &mut catalog.resources[id].fields[field_id].derived {
            related.filter = statement;
            related.same_as = same_as;
        }
    }
    faults
}

/// A statement that has this `where` only.
fn filter_statement(filter: &Json) -> Statement {
    parse::statement(Json::Object(vec![("where".to_owned(), filter.clone())]), Layer::Policy)
}

/// The faults of the `where` of the derived field `name`.
fn filter_faults(catalog: &Catalog, target: ResourceId, statement: &Statement, name: &str, line: usize) -> Vec<ManifestFault> {
    let Err(error) = check_constraint(catalog, target, statement) else { return Vec::new() };
    let fault = |fault: Fault| ManifestFault { line, message: format!("field `{name}`: at {:?}: {}", fault.path, fault.message) };
    error.faults.into_iter().map(fault).collect()
}

/// Sets which permissions each derived field needs.
pub(super) fn set_requirements(catalog: &mut Catalog) {
    let mut found = Vec::new();
    for (id, resource) in catalog.resources.iter().enumerate() {
        for (field_id, field) in resource.fields.iter().enumerate() {
            if field.derived.is_some() {
                let mut permissions = BTreeSet::new();
                collect(catalog, id, field_id, &mut permissions);
                found.push((id, field_id, permissions));
            }
        }
    }
    for (id, field, permissions) in found {
        catalog.resources[id].fields[field].requires = permissions.into_iter().collect();
    }
}

/// The permissions of the resources that a field is computed from, and of masks on what it measures.
fn collect(catalog: &Catalog, id: ResourceId, field: FieldId, permissions: &mut BTreeSet<String>) {
    for dependency in dependencies_of_field(catalog, id, field) {
        match dependency {
            ConditionDependency::Relation { relation, .. } => permissions.extend(catalog.resources[relation.target].permission.clone()),
            ConditionDependency::Field { resource, field } => collect(catalog, resource, field, permissions),
            ConditionDependency::Variable(_) => {}
        }
    }
    let resource = &catalog.resources[id];
    let unmask = |field: &Field| field.mask.as_ref().and_then(|(_, unmask)| unmask.clone());
    permissions.extend(resource.fields[field].source().and_then(|of| unmask(&resource.fields[of])));
    let Some(related) = resource.fields[field].related() else { return };
    let target = resource.relations[related.relation].target;
    if let Some(measured) = related.measured {
        permissions.extend(unmask(&catalog.resources[target].fields[measured]));
        collect(catalog, target, measured, permissions);
    }
}

/// The faults of derived fields by the types that the database has.
pub(super) fn faults(catalog: &Catalog) -> Vec<ManifestFault> {
    let mut faults = Vec::new();
    for resource in &catalog.resources {
        for field in &resource.fields {
            let Some(related) = field.related() else { continue };
            let target = resource.relations[related.relation].target;
            let measured = related.measured.map(|id| &catalog.resources[target].fields[id]);
            if let (Some(measured), Some(function)) = (measured, related.function.aggregate())
                && !measured.kind.measures(function)
            {
                let (word, name) = (function.as_str(), &measured.name);
                let message =
                    format!("field `{}`: `{word}` does not apply to `{name}`, which is read as the text of another type", field.name);
                faults.push(ManifestFault { line: field.line, message });
            }
            if let Some(statement) = &related.filter {
                faults.extend(filter_faults(catalog, target, statement, &field.name, field.line));
            }
        }
    }
    faults
}
