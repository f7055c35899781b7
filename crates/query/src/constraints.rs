//! [`Manifest`] → [`Catalog`] with its constraints and the filters of derived fields. They are parsed and planned once, while a
//! catalog is made, so that their faults are found then.

mod constraint_fields;
mod cycles;
mod dependencies;
mod derived;

use crate::catalog::{self, Broken, Catalog, Constraint, Resolved, ResourceId};
use crate::error::Error;
use crate::json::Json;
use crate::manifest::{Manifest, ManifestError, ManifestFault, ResourceDeclaration};
use crate::messages::{did_you_mean, quoted_list};
use crate::parse;
use crate::plan::check_constraint;
use crate::pointer::Layer;

pub use constraint_fields::ConstraintField;
pub use dependencies::{ConditionDependency, ConditionKind, Polarity, RowCondition};

const NODE: &str = "a relation of a constraint";

impl Catalog {
    /// Resolves a manifest, or reports all its faults.
    pub fn resolve(manifest: &Manifest) -> Result<Self, ManifestError> {
        Catalog::resolve_beside(&Manifest::default(), manifest)
    }

    /// Resolves a manifest together with the built-in one, which alone may declare the contexts of the identity half.
    pub fn resolve_beside(own: &Manifest, manifest: &Manifest) -> Result<Self, ManifestError> {
        let (catalog, faults) = Catalog::resolve_partly(own, manifest);
        if faults.is_empty() { Ok(catalog) } else { Err(ManifestError(faults)) }
    }

    /// The same, with what there is of a catalog if the manifest has faults: without the declarations that have one, and only to find more
    /// faults. They are in the order of the file.
    pub fn resolve_partly(own: &Manifest, manifest: &Manifest) -> (Self, Vec<ManifestFault>) {
        let Resolved { mut catalog, mut faults, broken } = catalog::resolve(own, manifest);
        // The id of a resource is the index of its declaration.
        for (id, declaration) in own.resources.iter().chain(&manifest.resources).enumerate() {
            if let Some((json, line)) = &declaration.constraint {
                let found = constrain(&mut catalog, &broken, id, (json, *line));
                faults.extend(found.into_iter().map(|message| ManifestFault { line: *line, message }));
            }
            faults.extend(derived::set_filters(&mut catalog, &broken, id, declaration));
            faults.extend(set_write_rules(&mut catalog, &broken, id, declaration));
        }
        faults.extend(cycles::faults(&catalog));
        if faults.is_empty() {
            derived::set_requirements(&mut catalog);
        }
        faults.sort_by_key(|fault| fault.line);
        (catalog, faults)
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
fn set_write_rules(catalog: &mut Catalog, broken: &Broken, id: ResourceId, declaration: &ResourceDeclaration) -> Vec<ManifestFault> {
    let mut faults = Vec::new();
    let Some(write) = &declaration.write else { return faults };
    let mut rule = |word: &str, declared: &Option<(Json, usize)>| {
        let (json, line) = declared.as_ref()?;
        let (mut found, mut json) = (Vec::new(), json.clone());
        let unless = take_unless(&mut json, &mut found);
        write_rule_keys(word, &mut json, &mut found);
        let is_named_broken = broken.is_named_in(&json);
        let statement = parse::statement(json, Layer::Policy);
        if !is_named_broken && let Err(error) = check_constraint(catalog, id, &statement) {
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

/// Leaves nothing but `where` in a `scope` or a `check`, and reports other keys.
fn write_rule_keys(word: &str, json: &mut Json, messages: &mut Vec<String>) {
    const KEYS: [&str; 2] = ["where", "unless"];
    let needed = format!("`{word}` must be a table with `where`, and `unless` if a permission lifts it");
    let Json::Object(entries) = json else {
        messages.push(needed);
        *json = Json::Object(Vec::new());
        return;
    };
    let others: Vec<String> = entries.iter().map(|(key, _)| key.clone()).filter(|key| key != "where").collect();
    for key in &others {
        messages.push(format!("unknown key `{key}`{}; `{word}` takes {}", did_you_mean(key, &KEYS), quoted_list(&KEYS)));
    }
    entries.retain(|(key, _)| key == "where");
    if entries.is_empty() && others.is_empty() {
        messages.push(needed);
    }
}

fn messages(catalog: &Catalog, id: ResourceId, error: Error) -> Vec<String> {
    let name = &catalog.resources[id].full_name;
    error.faults.into_iter().map(|fault| format!("constraint of `{name}`: at {:?}: {}", fault.path, fault.message)).collect()
}

/// Sets the constraint of a resource, or returns its faults.
fn constrain(catalog: &mut Catalog, broken: &Broken, id: ResourceId, (json, line): (&Json, usize)) -> Vec<String> {
    let mut found = Vec::new();
    let mut json = json.clone();
    let unless = take_unless(&mut json, &mut found);
    constraint_keys("a constraint", &mut json, &mut found);
    if broken.is_named_in(&json) {
        return found;
    }
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

/// Reports keys that a constraint and its relation nodes cannot have, and removes them.
fn constraint_keys(what: &str, json: &mut Json, messages: &mut Vec<String>) {
    let known: &[&str] =
        if what == NODE { &["where", "relations", "order", "limit"] } else { &["where", "relations", "order", "limit", "unless"] };
    let Json::Object(entries) = json else { return };
    for (key, value) in entries.iter_mut() {
        match (key.as_str(), value) {
            ("relations", Json::Object(nodes)) => nodes.iter_mut().for_each(|(_, node)| constraint_keys(NODE, node, messages)),
            (key, _) if known.contains(&key) => {}
            ("offset" | "aggregation", _) => messages.push(format!("{what} cannot have `{key}`; it takes {}", quoted_list(known))),
            (key, _) => messages.push(format!("unknown key `{key}`{}; {what} takes {}", did_you_mean(key, known), quoted_list(known))),
        }
    }
    entries.retain(|(key, _)| known.contains(&key.as_str()));
}
