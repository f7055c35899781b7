//! [`Manifest`] → [`Catalog`] with its constraints, which are parsed and planned once at boot, so that their faults are found then.

mod references;

use std::collections::HashSet;

use crate::catalog::{self, Catalog, Constraint, ResourceId};
use crate::json::Json;
use crate::manifest::{Manifest, ManifestError, ManifestFault};
use crate::parse;
use crate::plan::check_constraint;
use crate::pointer::Layer;

use references::constraint_targets;
pub use references::{Polarity, Reference};

impl Catalog {
    /// Resolves a manifest, or reports all its faults.
    pub fn resolve(manifest: &Manifest) -> Result<Self, ManifestError> {
        Catalog::resolve_beside(&Manifest::default(), manifest)
    }

    /// Resolves a manifest together with the built-in one, which alone may declare the contexts of the identity half.
    pub fn resolve_beside(own: &Manifest, manifest: &Manifest) -> Result<Self, ManifestError> {
        let mut catalog = catalog::resolve(own, manifest)?;
        let mut faults = Vec::new();
        // The id of a resource is the index of its declaration.
        for (id, declaration) in own.resources.iter().chain(&manifest.resources).enumerate() {
            if let Some((json, line)) = &declaration.constraint {
                let found = constrain(&mut catalog, id, json, *line);
                faults.extend(found.into_iter().map(|message| ManifestFault { line: *line, message }));
            }
        }
        if faults.is_empty() {
            faults = cycles(&catalog);
        }
        if faults.is_empty() { Ok(catalog) } else { Err(ManifestError(faults)) }
    }
}

/// Sets the constraint of a resource, or returns its faults.
fn constrain(catalog: &mut Catalog, id: ResourceId, json: &Json, line: usize) -> Vec<String> {
    let mut messages = Vec::new();
    forbidden_keys(json, &mut messages);
    let statement = parse::statement(json.clone(), Layer::Policy);
    match check_constraint(catalog, id, &statement) {
        Ok(()) => catalog.resources[id].constraint = Some(Constraint { statement, line }),
        Err(error) => {
            let name = &catalog.resources[id].full_name;
            messages
                .extend(error.faults.into_iter().map(|fault| format!("constraint of `{name}`: at {:?}: {}", fault.path, fault.message)));
        }
    }
    messages
}

/// Reports keys that a constraint and its relation nodes cannot have.
fn forbidden_keys(json: &Json, messages: &mut Vec<String>) {
    let Json::Object(entries) = json else { return };
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("offset" | "aggregation", _) => {
                messages.push(format!("a constraint cannot have `{key}`; it takes `where`, `relations`, `order` and `limit`"));
            }
            ("relations", Json::Object(nodes)) => nodes.iter().for_each(|(_, node)| forbidden_keys(node, messages)),
            _ => {}
        }
    }
}

/// Reports constraints that lead back to their own resource: planning them would never end.
fn cycles(catalog: &Catalog) -> Vec<ManifestFault> {
    let edges: Vec<Vec<ResourceId>> = (0..catalog.resources.len()).map(|id| constraint_targets(catalog, id)).collect();
    let cyclic = catalog.resources.iter().enumerate().filter(|(start, _)| leads_back(*start, &edges));
    cyclic
        .map(|(_, resource)| ManifestFault {
            line: resource.line,
            message: format!("the constraint of `{}` leads back to itself through the constraints it follows", resource.full_name),
        })
        .collect()
}

fn leads_back(start: ResourceId, edges: &[Vec<ResourceId>]) -> bool {
    let mut seen = HashSet::new();
    let mut open = edges[start].clone();
    while let Some(next) = open.pop() {
        if next == start {
            return true;
        }
        if seen.insert(next) {
            open.extend(&edges[next]);
        }
    }
    false
}
