//! Manifest → catalog: resolves every reference and reports faults.

mod derived;
mod write;

use std::collections::HashSet;

use hashbrown::HashMap;

use crate::json::{self, Json};
use crate::manifest::{FieldDeclaration, Manifest, ManifestFault, RelationDeclaration, ResourceDeclaration};
use crate::messages::{did_you_mean, quoted_list};
use crate::parse::RESERVED;
use crate::types::{EnumValue, Scalar, TYPE_NAMES, Type};

use super::write_rules::FieldRules;
use super::{
    Catalog, Derived, Field, FieldId, Identifier, JoinColumns, Mask, Native, Relation, RelationPlacement, Repeats, Resource, Stored,
    TableName, kebab, snake,
};

/// The contexts of the identity half. Only the built-in manifest declares them.
pub const OWN_CONTEXTS: [&str; 4] = ["iam", "hub", "oAuth", "auth"];
/// The connectors of `where`.
pub const CONNECTORS: [&str; 3] = ["and", "or", "not"];
const STORED: [&str; 2] = ["datetime", "unix"];

/// A catalog, or what there is of it, and the faults of its manifest.
pub(crate) struct Resolved {
    pub(crate) catalog: Catalog,
    pub(crate) faults: Vec<ManifestFault>,
    pub(crate) broken: Broken,
}

/// The declarations that have a fault and are left out: resources by their full name, and their fields and relations. What names one of them is
/// not judged, so that one mistake is one fault.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    resources: HashSet<String>,
    members: HashSet<(String, String)>,
}

impl Broken {
    fn add(&mut self, resource: &str, member: &str) {
        self.members.insert((resource.to_owned(), member.to_owned()));
    }

    fn has(&self, resource: &str, member: &str) -> bool {
        self.members.contains(&(resource.to_owned(), member.to_owned()))
    }

    fn has_any_of(&self, resource: &str) -> bool {
        self.members.iter().any(|(name, _)| name == resource)
    }

    /// Whether a condition names a broken field or relation, of whichever resource.
    pub(crate) fn is_named_in(&self, json: &Json) -> bool {
        let is_broken = |text: &str| text.split('.').any(|part| self.members.iter().any(|(_, member)| member == part));
        match json {
            Json::Object(entries) => entries.iter().any(|(key, value)| is_broken(key) || self.is_named_in(value)),
            Json::Array(items) => items.iter().any(|item| self.is_named_in(item)),
            Json::Text(text) => is_broken(text),
            Json::Null | Json::Bool(_) | Json::Number(_) => false,
        }
    }
}

/// Resolves everything except constraints, which are planned over the resolved catalog.
pub(crate) fn resolve(own: &Manifest, manifest: &Manifest) -> Resolved {
    let mut resolver = Resolver { faults: manifest.faults.clone(), broken: Broken::default() };
    resolver.broken.resources.extend(manifest.broken.iter().cloned());
    let mut catalog = Catalog::default();
    for ResourceDeclaration { line, context, .. } in &manifest.resources {
        // Paths are in kebab-case, so `Iam` and `iam` are one context.
        if OWN_CONTEXTS.iter().any(|own| kebab(own) == kebab(context)) {
            let reserved = quoted_list(&OWN_CONTEXTS);
            resolver.fault(*line, format!("context `{context}` is reserved for the identity half; a manifest cannot declare {reserved}"));
        }
    }
    let declarations: Vec<&ResourceDeclaration> = own.resources.iter().chain(&manifest.resources).collect();
    for declaration in &declarations {
        let id = catalog.resources.len();
        let mut resource = resolver.resource(declaration);
        resource.write = resolver.write_rules(&resource, id, declaration);
        let path = (kebab(&resource.context), kebab(&resource.plural));
        let at = format!("/api/{}/{}", path.0, path.1);
        if catalog.by_name.insert(resource.full_name.clone(), id).is_some() {
            resolver.fault(declaration.line, format!("resource `{}` is declared twice", resource.full_name));
        }
        if catalog.by_path.entry(path.0).or_default().insert(path.1, id).is_some() {
            resolver.fault(declaration.line, format!("two resources have the path {at}; give one of them another `plural`"));
        }
        catalog.resources.push(resource);
    }
    for (id, declaration) in declarations.iter().enumerate() {
        resolver.relations(&mut catalog, id, declaration);
    }
    derived::resolve(&mut resolver, &mut catalog, &declarations);
    let Resolver { faults, broken } = resolver;
    Resolved { catalog, faults, broken }
}

/// A field without mask, as it is stored by itself.
fn field_of(declaration: &FieldDeclaration, kind: Type, column: &str) -> Field {
    Field {
        name: declaration.name.clone(),
        line: declaration.line,
        column: Identifier::new(column),
        nullable: declaration.null.unwrap_or(!declaration.key),
        hidden: declaration.hidden,
        mask: None,
        kind,
        stored: Stored::Standard,
        native: Native::Standard,
        scale: None,
        derived: None,
        eager: true,
        requires: Vec::new(),
        rules: FieldRules::default(),
        json_key: json::key(&declaration.name),
    }
}

struct Resolver {
    faults: Vec<ManifestFault>,
    broken: Broken,
}

impl Resolver {
    fn fault(&mut self, line: usize, message: impl Into<String>) {
        self.faults.push(ManifestFault { line, message: message.into() });
    }

    fn resource(&mut self, declaration: &ResourceDeclaration) -> Resource {
        let ResourceDeclaration { line, context, name, .. } = declaration;
        let full_name = format!("{context}.{name}");
        declaration.broken.iter().for_each(|member| self.broken.add(&full_name, member));
        let plural = declaration.plural.clone().unwrap_or_else(|| format!("{name}s"));
        let mut fields: Vec<Field> = Vec::new();
        let mut field_index = HashMap::new();
        let mut key: Vec<FieldId> = Vec::new();
        for declared in &declaration.fields {
            // A field with a fault gets no id.
            let Some(field) = self.field(declared) else {
                self.broken.add(&full_name, &declared.name);
                continue;
            };
            if field_index.insert(declared.name.clone(), fields.len()).is_some() {
                self.fault(declared.line, format!("field `{}` is declared twice", declared.name));
            }
            if declared.key {
                key.push(fields.len());
                if !field.kind.is_sortable() {
                    self.fault(field.line, format!("field `{}` of type {} cannot be a key", field.name, field.kind.name()));
                }
            }
            fields.push(field);
        }
        if declaration.fields.is_empty() && declaration.broken.is_empty() {
            self.fault(*line, format!("resource `{context}.{name}` declares no fields"));
        }
        let soft_delete = declaration.soft_delete.as_ref().and_then(|(name, line)| {
            let id = field_index.get(name).copied();
            let is_derived = declaration.fields.iter().any(|field| field.name == *name && field.derived.is_some());
            if (id.is_none() || is_derived) && !self.broken.has(&full_name, name) {
                let what = if is_derived { "is a derived field" } else { "is not a field of this resource" };
                self.fault(*line, format!("`soft-delete` names `{name}`, which {what}"));
            }
            id
        });
        Resource {
            context: context.clone(),
            name: name.clone(),
            full_name,
            line: *line,
            table: TableName::new(&declaration.table.clone().unwrap_or_else(|| snake(&plural))),
            plural,
            permission: declaration.permission.clone(),
            permission_line: declaration.permission_line,
            public: declaration.public,
            fields,
            relations: Vec::new(),
            key,
            key_is_certain: false,
            soft_delete,
            constraint: None,
            write: None,
            field_index,
            relation_index: HashMap::new(),
        }
    }

    fn name(&mut self, line: usize, name: &str, what: &str) {
        if CONNECTORS.contains(&name) || RESERVED.contains(&name) {
            let (connectors, reserved) = (quoted_list(&CONNECTORS), quoted_list(&RESERVED));
            self.fault(line, format!("{what} cannot have the name `{name}`: {connectors} and {reserved} are reserved"));
        }
    }

    fn field(&mut self, declaration: &FieldDeclaration) -> Option<Field> {
        let FieldDeclaration { line, name, kind, .. } = declaration;
        self.name(*line, name, "a field");
        if declaration.derived.is_some() {
            let field = field_of(declaration, Type::One(Scalar::BigInt), "value");
            return Some(Field { derived: Some(Derived::Unresolved), eager: declaration.eager.unwrap_or(true), ..field });
        }
        let (base, array) = kind.strip_suffix("[]").map_or((kind.as_str(), false), |base| (base, true));
        let Some(mut scalar) = Scalar::from_name(base) else {
            let (hint, types) = (did_you_mean(base, &TYPE_NAMES), quoted_list(&TYPE_NAMES));
            self.fault(*line, format!("field `{name}`: unknown type {kind:?}{hint}; types are {types} and `T[]`"));
            return None;
        };
        self.values(declaration, &mut scalar);
        let kind = if array { Type::Array(scalar) } else { Type::One(scalar) };
        let stored = self.stored(declaration, &kind);
        let mask = self.mask(declaration, &kind);
        let column = declaration.column.clone().unwrap_or_else(|| snake(name));
        let rules = self.field_rules(declaration, &kind);
        Some(Field { mask, stored, rules, ..field_of(declaration, kind, &column) })
    }

    fn values(&mut self, declaration: &FieldDeclaration, scalar: &mut Scalar) {
        let FieldDeclaration { line, name, .. } = declaration;
        match (scalar, &declaration.values) {
            (Scalar::Enum(values), Some(declared)) if !declared.is_empty() => {
                let mut seen = HashSet::new();
                if let Some(value) = declared.iter().find(|value| !seen.insert(value.as_str())) {
                    self.fault(*line, format!("field `{name}`: `values` has {value:?} twice; write it once"));
                }
                if let Some(value) = declared.iter().find(|value| value.contains('\0')) {
                    self.fault(*line, format!("field `{name}`: `values` has {value:?}, but a string cannot contain U+0000"));
                }
                *values = declared.iter().map(|value| EnumValue::new(value)).collect();
            }
            (Scalar::Enum(_), _) => {
                self.fault(*line, format!("field `{name}`: an enum needs `values`, such as `values = [\"lead\", \"active\"]`"));
            }
            (_, Some(_)) => self.fault(*line, format!("field `{name}`: `values` is accepted for type `enum` only")),
            _ => {}
        }
    }

    fn stored(&mut self, declaration: &FieldDeclaration, kind: &Type) -> Stored {
        let FieldDeclaration { line, name, .. } = declaration;
        let stored = match declaration.stored.as_deref() {
            None => return Stored::Standard,
            Some("datetime") => Stored::Datetime,
            Some("unix") => Stored::Unix,
            Some(other) => {
                self.fault(*line, format!("field `{name}`: `stored` must be one of {}; found {other:?}", quoted_list(&STORED)));
                return Stored::Standard;
            }
        };
        if *kind != Type::One(Scalar::Timestamp) {
            self.fault(*line, format!("field `{name}`: `stored` is accepted for type `timestamp` only"));
        }
        stored
    }

    fn mask(&mut self, declaration: &FieldDeclaration, kind: &Type) -> Option<(Mask, Option<String>)> {
        let FieldDeclaration { line, name, unmask, .. } = declaration;
        let Some(word) = declaration.mask.as_deref() else {
            if unmask.is_some() {
                self.fault(*line, format!("field `{name}`: `unmask` requires `mask`"));
            }
            return None;
        };
        let Some(mask) = Mask::from_word(word) else {
            self.fault(
                *line,
                format!("field `{name}`: `mask` must be one of {}; found {word:?}", quoted_list(&Mask::ALL.map(Mask::as_str))),
            );
            return None;
        };
        if mask != Mask::Redact && *kind != Type::One(Scalar::Text) {
            let message = format!("field `{name}`: mask `{word}` is accepted for type `text` only; `redact` is accepted for every type");
            self.fault(*line, message);
        }
        Some((mask, unmask.clone()))
    }

    fn relations(&mut self, catalog: &mut Catalog, id: usize, declaration: &ResourceDeclaration) {
        for relation in &declaration.relations {
            self.name(relation.line, &relation.name, "a relation");
            if catalog.resources[id].field_index.contains_key(&relation.name) {
                self.fault(relation.line, format!("relation `{}` has the name of a field", relation.name));
            }
            let resolved = self.relation(catalog, id, relation);
            let resource = &mut catalog.resources[id];
            match resolved {
                Some(relation) => {
                    resource.relation_index.insert(relation.name.clone(), resource.relations.len());
                    resource.relations.push(relation);
                }
                None => self.broken.add(&resource.full_name, &relation.name),
            }
        }
    }

    fn relation(&mut self, catalog: &Catalog, id: usize, declaration: &RelationDeclaration) -> Option<Relation> {
        let RelationDeclaration { line, name, .. } = declaration;
        let Some(target) = catalog.by_name(&declaration.target) else {
            if self.broken.resources.contains(&declaration.target) {
                return None;
            }
            let known: Vec<&str> = catalog.by_name.keys().map(String::as_str).collect();
            let hint = did_you_mean(&declaration.target, &known);
            self.fault(*line, format!("relation `{name}` leads to `{}`, which is not declared{hint}", declaration.target));
            return None;
        };
        let (own, other) = (&catalog.resources[id], &catalog.resources[target]);
        let join_columns = match &declaration.through {
            Some(pivot) => self.pivoted(declaration, TableName::new(pivot), own, other)?,
            None => self.direct(declaration, own, other)?,
        };
        Some(Relation {
            name: name.clone(),
            line: *line,
            target,
            many: declaration.many,
            join_columns,
            placement: RelationPlacement::default(),
            json_key: json::key(name),
        })
    }

    fn pivoted(&mut self, declaration: &RelationDeclaration, pivot: TableName, own: &Resource, other: &Resource) -> Option<JoinColumns> {
        let RelationDeclaration { line, name, .. } = declaration;
        if other.key.is_empty() && !self.broken.has_any_of(&other.full_name) {
            self.fault(*line, format!("relation `{name}`: `{}` has no key and cannot be reached `through` a table", other.full_name));
        }
        let mut own_pairs = Vec::new();
        for (left, right) in &declaration.on {
            own_pairs.push((self.join_field(own, left, *line, name)?, Identifier::new(right)));
        }
        let mut other_pairs = Vec::new();
        for (left, right) in &declaration.to {
            other_pairs.push((Identifier::new(left), self.join_field(other, right, *line, name)?));
        }
        Some(JoinColumns::Through { pivot, own: own_pairs, other: other_pairs, repeats: Repeats::Perhaps })
    }

    fn direct(&mut self, declaration: &RelationDeclaration, own: &Resource, other: &Resource) -> Option<JoinColumns> {
        let RelationDeclaration { line, name, .. } = declaration;
        let mut pairs = Vec::new();
        for (left, right) in &declaration.on {
            let pair = (self.join_field(own, left, *line, name)?, self.join_field(other, right, *line, name)?);
            let (left, right) = (&own.fields[pair.0], &other.fields[pair.1]);
            if left.kind.family() != right.kind.family() {
                let (one, another) =
                    (format!("`{}` ({})", left.name, left.kind.name()), format!("`{}` ({})", right.name, right.kind.name()));
                self.fault(
                    *line,
                    format!("relation `{name}`: {one} and {another} have different types; `on` needs fields of the same type"),
                );
            }
            pairs.push(pair);
        }
        Some(JoinColumns::Direct(pairs))
    }

    fn join_field(&mut self, resource: &Resource, name: &str, line: usize, relation: &str) -> Option<FieldId> {
        let Some((id, field)) = resource.field(name) else {
            if self.broken.has(&resource.full_name, name) {
                return None;
            }
            let known: Vec<&str> = resource.fields.iter().map(|field| field.name.as_str()).collect();
            let hint = did_you_mean(name, &known);
            self.fault(line, format!("relation `{relation}` names `{name}`, which is not a field of `{}`{hint}", resource.full_name));
            return None;
        };
        if field.derived.is_some() {
            self.fault(line, format!("relation `{relation}`: `{name}` is a derived field and cannot be a join column"));
            return None;
        }
        if !field.kind.is_sortable() {
            self.fault(line, format!("relation `{relation}`: `{name}` of type {} cannot be a join column", field.kind.name()));
            return None;
        }
        Some(id)
    }
}
