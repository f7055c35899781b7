//! Constraints and derived fields that lead back to themselves: planning them would never end.

use std::collections::HashSet;

use crate::catalog::{Catalog, FieldId, ResourceId};
use crate::manifest::ManifestFault;

use super::dependencies::{ConditionDependency, dependencies_of_constraint, dependencies_of_field};

/// What a plan follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Constraint(ResourceId),
    Field(ResourceId, FieldId),
}

pub(super) fn faults(catalog: &Catalog) -> Vec<ManifestFault> {
    let mut faults = Vec::new();
    for (id, resource) in catalog.resources.iter().enumerate() {
        if let Some(constraint) = resource.constraint.as_ref().filter(|_| leads_back(catalog, Node::Constraint(id))) {
            let message = format!("the constraint of `{}` leads back to itself through the constraints it follows", resource.full_name);
            faults.push(ManifestFault { line: constraint.line, message });
        }
        for (field_id, field) in resource.fields.iter().enumerate() {
            if field.related().is_some() && leads_back(catalog, Node::Field(id, field_id)) {
                let message =
                    format!("field `{}`: its value leads back to itself through the constraints and derived fields it follows", field.name);
                faults.push(ManifestFault { line: field.line, message });
            }
        }
    }
    faults
}

fn leads_back(catalog: &Catalog, start: Node) -> bool {
    let mut seen = HashSet::new();
    let mut open = next(catalog, start);
    while let Some(node) = open.pop() {
        if node == start {
            return true;
        }
        if seen.insert(node) {
            open.extend(next(catalog, node));
        }
    }
    false
}

fn next(catalog: &Catalog, node: Node) -> Vec<Node> {
    let dependencies = match node {
        Node::Constraint(id) => dependencies_of_constraint(catalog, id),
        Node::Field(id, field) => dependencies_of_field(catalog, id, field),
    };
    dependencies
        .into_iter()
        .filter_map(|dependency| match dependency {
            ConditionDependency::Relation { relation, .. } => Some(Node::Constraint(relation.target)),
            ConditionDependency::Field { resource, field } => Some(Node::Field(resource, field)),
            ConditionDependency::Variable(_) => None,
        })
        .collect()
}
