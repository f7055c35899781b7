//! [`Manifest`] → [`Catalog`] with its constraints and the filters of derived fields. They are parsed and planned once at boot, so that
//! their faults are found then.

mod cycles;
mod derived;
mod references;

use crate::catalog::{self, Catalog, Constraint, ResourceId};
use crate::error::Error;
use crate::json::Json;
use crate::manifest::{Manifest, ManifestError, ManifestFault, ResourceDeclaration};
use crate::parse;
use crate::plan::check_constraint;
use crate::pointer::Layer;

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
            faults.extend(derived::set_filters(&mut catalog, id, declaration));
            faults.extend(set_write_rules(&mut catalog, id, declaration));
        }
        if faults.is_empty() {
            faults = cycles::faults(&catalog);
        }
        if faults.is_empty() {
            derived::set_requirements(&mut catalog);
        }
        if faults.is_empty() { Ok(catalog) } else { Err(ManifestError(faults)) }
    }
}

impl Catalog {
    /// The faults of constraints and derived fields by the types that the database has.
    pub fn constraint_faults(&self) -> Vec<ManifestFault> {
        let constraints = self.resources.iter().enumerate().filter_map(|(id, resource)| Some((id, resource.constraint.as_ref()?)));
        let of_constraints = constraints.flat_map(|(id, constraint)| {
            let messages =
                check_constraint(self, id, &constraint.statement).map_or_else(|error| messages(self, id, error), |()| Vec::new());
            messages.into_iter().map(|message| ManifestFault { line: constraint.line, message })
        });
        of_constraints.chain(derived::faults(self)).collect()
    }
}

/// Sets `scope` and `check` of a resource's writes, or returns their faults.
fn set_write_rules(catalog: &mut Catalog, id: ResourceId, declaration: &ResourceDeclaration) -> Vec<ManifestFault> {
    let mut faults = Vec::new();
    let Some(write) = &declaration.write else { return faults };
    let mut rule = |word: &str, declared: &Option<(Json, usize)>| {
        let (json, line) = declared.as_ref()?;
        let (mut found, mut json) = (Vec::new(), json.clone());
        let unless = take_unless(&mut json, &mut found);
        match &json {
            Json::Object(entries) if entries.iter().all(|(key, _)| key == "where") && !entries.is_empty() => {}
            _ => found.push(format!("`{word}` must be a table with `where`, and `unless` if a permission lifts it")),
        }
        let statement = parse::statement(json, Layer::Policy);
        if found.is_empty()
            && let Err(error) = check_constraint(catalog, id, &statement)
        {
            found.extend(error.faults.into_iter().map(|fault| format!("`{word}`: at {:?}: {}", fault.path, fault.message)));
        }
        faults.extend(found.into_iter().map(|message| ManifestFault { line: *line, message }));
        Some(Constraint { statement, unless, line: *line })
    };
    let (scope, check) = (rule("scope", &write.scope), rule("check", &write.check));
    if let Some(rules) = &mut catalog.resources[id].write {
        rules.scope = scope;
        rules.check = check;
    }
    faults
}

fn messages(catalog: &Catalog, id: ResourceId, error: Error) -> Vec<String> {
    let name = &catalog.resources[id].full_name;
    error.faults.into_iter().map(|fault| format!("constraint of `{name}`: at {:?}: {}", fault.path, fault.message)).collect()
}

/// Sets the constraint of a resource, or returns its faults.
fn constrain(catalog: &mut Catalog, id: ResourceId, json: &Json, line: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut json = json.clone();
    let unless = take_unless(&mut json, &mut found);
    forbidden_keys(&json, &mut found);
    let statement = parse::statement(json, Layer::Policy);
    match check_constraint(catalog, id, &statement) {
        Ok(()) => catalog.resources[id].constraint = Some(Constraint { statement, unless, line }),
        Err(error) => found.extend(messages(catalog, id, error)),
    }
    found
}

/// Takes `unless`, the permission that lifts the constraint. The rest is a statement.
fn take_unless(json: &mut Json, messages: &mut Vec<String>) -> Option<String> {
    let Json::Object(entries) = json else { return None };
    let index = entries.iter().position(|(key, _)| key == "unless")?;
    match entries.remove(index).1 {
        Json::Text(permission) if !permission.is_empty() => Some(permission),
        _ => {
            messages.push("`unless` must be the name of a permission, such as \"shop.order.all\"".to_owned());
            None
        }
    }
}

/// Reports keys that a constraint and its relation nodes cannot have.
fn forbidden_keys(json: &Json, messages: &mut Vec<String>) {
    let Json::Object(entries) = json else { return };
    for (key, value) in entries {
        match (key.as_str(), value) {
            ("offset" | "aggregation", _) => {
                messages.push(format!("a constraint cannot have `{key}`; it takes `where`, `relations`, `order`, `limit` and `unless`"));
            }
            ("relations", Json::Object(nodes)) => nodes.iter().for_each(|(_, node)| forbidden_keys(node, messages)),
            _ => {}
        }
    }
}
