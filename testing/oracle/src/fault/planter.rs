//! Finds and makes places for a fault in a statement.

use crate::case::Fault;
use crate::generate::maker::Maker;
use crate::schema::{Field, Resource};
use serde_json::{Map, Value, json};

/// Adds a fault to a statement; `None` if the statement has no place for it.
pub(super) type Spoiler = fn(&mut Planter<'_>) -> Option<Fault>;

/// The body of the request, its resource and its viewer.
#[derive(Debug)]
pub(super) struct Planter<'a> {
    pub maker: &'a mut Maker,
    pub resource: &'static Resource,
    pub body: Value,
}

/// The pointer to an object of the body, and its resource.
pub(super) type Site = (String, &'static Resource);

/// The pointer to an `order`, and its resource.
#[derive(Debug)]
pub(super) struct OrderSite {
    pub path: String,
    pub resource: &'static Resource,
    pub top: bool,
}

/// A fault as a spoiler returns it.
#[allow(clippy::unnecessary_wraps)]
pub(super) fn fault(code: &'static str, path: impl Into<String>) -> Option<Fault> {
    Some(Fault { code, path: path.into() })
}

impl Planter<'_> {
    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        self.maker.random.pick(from).clone()
    }

    /// The value at a pointer; added if it is absent.
    pub(super) fn put(&mut self, path: &str, value: Value) {
        let (parent, key) = path.rsplit_once('/').expect("a pointer below the root");
        let parent = self.body.pointer_mut(parent).expect("the parent is there");
        match parent {
            Value::Array(items) => {
                let index: usize = key.parse().expect("an index");
                if index == items.len() {
                    items.push(value);
                } else {
                    items[index] = value;
                }
            }
            Value::Object(object) => {
                object.insert(key.to_owned(), value);
            }
            other => panic!("{other} has no {key}"),
        }
    }

    /// The object at a pointer.
    pub(super) fn object(&mut self, path: &str) -> &mut Map<String, Value> {
        self.body.pointer_mut(path).and_then(Value::as_object_mut).unwrap_or_else(|| panic!("no object at {path}"))
    }

    fn is_object(&self, path: &str) -> bool {
        self.body.pointer(path).is_some_and(Value::is_object)
    }

    /// `/query` or `/constraint`; added if it is absent.
    pub(super) fn statement(&mut self) -> String {
        let path = if self.is_object("/constraint") && self.maker.random.one_in(3) { "/constraint" } else { "/query" };
        self.ensure_object(path);
        path.to_owned()
    }

    pub(super) fn ensure_object(&mut self, path: &str) {
        if !self.is_object(path) {
            self.put(path, json!({}));
        }
    }

    pub(super) fn ensure_list(&mut self, path: &str) -> usize {
        if !self.body.pointer(path).is_some_and(Value::is_array) {
            self.put(path, json!([]));
        }
        self.body.pointer(path).and_then(Value::as_array).map_or(0, Vec::len)
    }

    pub(super) fn aggregates(&self) -> bool {
        self.is_object("/query/aggregation")
    }

    /// A random clause; adds a `where` to the query if there is none.
    pub(super) fn clause(&mut self) -> Site {
        let mut sites = Vec::new();
        for statement in ["/query", "/constraint"] {
            self.clauses(&format!("{statement}/where"), self.resource, &mut sites);
        }
        for (node, resource) in self.nodes() {
            self.clauses(&format!("{node}/where"), resource, &mut sites);
        }
        if sites.is_empty() {
            self.ensure_object("/query");
            self.ensure_object("/query/where");
            return ("/query/where".to_owned(), self.resource);
        }
        self.pick(&sites)
    }

    /// A clause with room for one more level of nesting.
    pub(super) fn shallow_clause(&mut self) -> Site {
        loop {
            let site = self.clause();
            let (_, way) = site.0.rsplit_once("/where").expect("a clause is in a where");
            let passed = way.split('/').filter(|part| !part.is_empty() && part.parse::<usize>().is_err()).count();
            if passed < 10 {
                return site;
            }
        }
    }

    fn clauses(&self, path: &str, resource: &'static Resource, sites: &mut Vec<Site>) {
        let Some(clause) = self.body.pointer(path).and_then(Value::as_object) else {
            return;
        };
        sites.push((path.to_owned(), resource));
        for (key, value) in clause {
            match key.as_str() {
                "and" | "or" => {
                    for index in 0..value.as_array().map_or(0, Vec::len) {
                        self.clauses(&format!("{path}/{key}/{index}"), resource, sites);
                    }
                }
                "not" => self.clauses(&format!("{path}/not"), resource, sites),
                name => {
                    if let Some(relation) = resource.relation(name) {
                        self.clauses(&format!("{path}/{name}"), Maker::target(relation), sites);
                    }
                }
            }
        }
    }

    /// All relation nodes that are objects.
    fn nodes(&self) -> Vec<Site> {
        let mut sites = Vec::new();
        for statement in ["/query", "/constraint"] {
            self.nodes_below(statement, self.resource, &mut sites);
        }
        sites
    }

    fn nodes_below(&self, path: &str, resource: &'static Resource, sites: &mut Vec<Site>) {
        let Some(relations) = self.body.pointer(&format!("{path}/relations")).and_then(Value::as_object) else {
            return;
        };
        for (name, _) in relations.iter().filter(|(_, node)| node.is_object()) {
            let relation = resource.relation(name).expect("the statement names a relation");
            let path = format!("{path}/relations/{name}");
            sites.push((path.clone(), Maker::target(relation)));
            self.nodes_below(&path, Maker::target(relation), sites);
        }
    }

    /// A random relation node; added if there is none and no aggregation.
    pub(super) fn node(&mut self) -> Option<Site> {
        let sites = self.nodes();
        if let Some(site) = self.maker.random.choose(&sites) {
            return Some(site.clone());
        }
        if self.aggregates() {
            return None;
        }
        let relations = self.maker.relations_of(self.resource);
        let relation = *self.maker.random.choose(&relations)?;
        self.ensure_object("/query");
        self.ensure_object("/query/relations");
        let path = format!("/query/relations/{}", relation.name);
        self.put(&path, json!({}));
        Some((path, Maker::target(relation)))
    }

    /// An `order` without aggregation; added if it is absent.
    pub(super) fn order(&mut self) -> Option<OrderSite> {
        let node = if self.maker.random.one_in(3) { self.node() } else { None };
        let site = match node {
            Some((path, resource)) => OrderSite { path: format!("{path}/order"), resource, top: false },
            None if self.aggregates() => return None,
            None => OrderSite { path: format!("{}/order", self.statement()), resource: self.resource, top: true },
        };
        self.ensure_list(&site.path);
        Some(site)
    }

    /// Appends to an array; returns the pointer.
    pub(super) fn append(&mut self, list: &str, value: Value) -> String {
        let index = self.ensure_list(list);
        let path = format!("{list}/{index}");
        self.put(&path, value);
        path
    }

    /// The aggregation of the query; replaces relations and order if it is absent.
    pub(super) fn aggregation(&mut self) -> &'static str {
        if !self.aggregates() {
            self.ensure_object("/query");
            let block = self.maker.aggregation(self.resource);
            for statement in ["/query", "/constraint"] {
                if self.is_object(statement) {
                    self.object(statement).remove("relations");
                    self.object(statement).remove("order");
                }
            }
            self.put("/query/aggregation", block);
        }
        "/query/aggregation"
    }

    /// A usable field that the clause does not name yet.
    pub(super) fn free_field(&mut self, (path, resource): &Site, fits: impl Fn(&Field) -> bool) -> Option<&'static Field> {
        let clause = self.body.pointer(path).and_then(Value::as_object)?;
        let fields: Vec<_> =
            self.maker.usable(resource).into_iter().filter(|field| fits(field) && !clause.contains_key(&field.name)).collect();
        self.maker.random.choose(&fields).copied()
    }

    /// An unknown or hidden field, or one that is computed from what the viewer may not read.
    pub(super) fn unknown_field(&mut self, resource: &'static Resource) -> String {
        let hidden: Vec<_> = resource.fields.iter().filter(|field| !self.maker.viewer.knows(field)).collect();
        if let Some(field) = self.maker.random.choose(&hidden)
            && self.maker.random.one_in(2)
        {
            return field.name.clone();
        }
        self.pick(&["nope", "nam", "Id", "tenant_id", "__proto__", "$where", "counts", "raw"]).to_owned()
    }

    /// An unknown relation, or one to a resource that the viewer may not read.
    pub(super) fn unknown_relation(&mut self, resource: &'static Resource) -> String {
        let closed: Vec<_> = resource.relations.iter().filter(|relation| !self.maker.viewer.can_read(Maker::target(relation))).collect();
        if let Some(relation) = self.maker.random.choose(&closed)
            && !self.maker.random.one_in(3)
        {
            return relation.name.clone();
        }
        self.pick(&["nope", "Orders", "customerss", "through"]).to_owned()
    }

    /// A field that is masked for the viewer.
    pub(super) fn masked_field(&mut self, resource: &'static Resource) -> Option<&'static Field> {
        let masked: Vec<_> =
            resource.fields.iter().filter(|field| self.maker.viewer.knows(field) && self.maker.viewer.sees_masked(field)).collect();
        self.maker.random.choose(&masked).copied()
    }

    /// A path along two relations.
    pub(super) fn two_dots(&mut self) -> Option<String> {
        let first = self.maker.relations_of(self.resource);
        let first = *self.maker.random.choose(&first)?;
        let second = self.maker.relations_of(Maker::target(first));
        let second = *self.maker.random.choose(&second)?;
        let field = self.maker.sortable_field(Maker::target(second))?;
        Some(format!("{}.{}.{}", first.name, second.name, field.name))
    }
}
