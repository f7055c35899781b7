//! The schema of a statement, its relation nodes, its `aggregation` and its body.

use crate::catalog::{Field, Relation};
use crate::describe::{is_findable, relation_comment, resource_comment, statement_field, usable};
use crate::json::Json;
use crate::json::build::texts;
use crate::object;
use crate::parse::MAX_ENTRIES;
use crate::types::Type;

use super::value::alias;
use super::{SchemaBuilder, closed, described, one_of, or_null};

impl SchemaBuilder<'_> {
    pub(super) fn statement(&self, entries: &mut Vec<(String, Json)>) {
        let sortable: Vec<String> =
            usable(self.resource).filter(|field| field.kind.is_sortable()).map(|field| field.name.clone()).collect();
        let parts = [
            ("Where", self.clause(&self.name("Where"), |_| true)),
            ("Sortable", described(one_of(&sortable), "A field that can be sorted by")),
            ("Node", self.node()),
            ("Relations", self.relations()),
            ("Aggregation", self.aggregation()),
            ("Statement", self.top()),
            ("Constraint", self.constraint()),
            ("Request", self.request()),
        ];
        entries.extend(parts.map(|(ending, schema)| (self.name(ending), schema)));
        if is_findable(self.resource) {
            entries.push((self.name("KeysetStatement"), self.keyset_statement()));
            entries.push((self.name("KeysetRequest"), self.keyset_request()));
        }
    }

    /// A where clause with this name, over the usable fields that `fits` accepts.
    pub(super) fn clause(&self, name: &str, fits: fn(&Field) -> bool) -> Json {
        let many = object! { "type" => "array", "items" => self.shared(name), "minItems" => 1 };
        let mut properties = vec![
            ("and".to_owned(), described(many.clone(), "All of these hold")),
            ("or".to_owned(), described(many, "At least one of these holds")),
            ("not".to_owned(), described(self.shared(name), "This does not hold")),
        ];
        for (id, field) in self.resource.fields.iter().enumerate() {
            if fits(field) && usable(self.resource).any(|usable| std::ptr::eq(usable, field)) {
                properties.push((field.name.clone(), described(self.operators(id), statement_field(self.catalog, self.resource, field))));
            }
        }
        for relation in &self.resource.relations {
            let comment = format!("Has at least one such row: {}", relation_comment(self.catalog, relation));
            properties.push((relation.name.clone(), described(self.target(relation, "Where"), comment)));
        }
        described(Json::Object(closed(properties, &[])), format!("Which rows of `{}`; sibling keys are ANDed", self.resource.full_name))
    }

    fn relations(&self) -> Json {
        let properties = self.resource.relations.iter().map(|relation| {
            let schema = object! { "anyOf" => [object! { "type" => "boolean", "const" => true }, self.target(relation, "Node")] };
            (relation.name.clone(), described(schema, relation_comment(self.catalog, relation)))
        });
        described(Json::Object(closed(properties.collect(), &[])), "Which related rows are loaded")
    }

    fn node(&self) -> Json {
        let properties = vec![
            ("where".to_owned(), or_null(self.own("Where"))),
            ("order".to_owned(), or_null(self.order(self.own("Sortable")))),
            ("limit".to_owned(), or_null(self.shared("Limit"))),
            ("offset".to_owned(), or_null(self.shared("Offset"))),
            ("relations".to_owned(), or_null(self.own("Relations"))),
        ];
        described(Json::Object(closed(properties, &[])), format!("How related rows of `{}` are loaded", self.resource.full_name))
    }

    pub(super) fn order(&self, field: Json) -> Json {
        let entry = Json::Object(closed(vec![("field".to_owned(), field), ("dir".to_owned(), self.shared("Direction"))], &["field"]));
        object! { "type" => "array", "items" => entry, "maxItems" => MAX_ENTRIES as i64 }
    }

    /// The names that `order` takes at top level.
    pub(super) fn sorted_by(&self) -> Vec<String> {
        self.paths(Type::is_sortable, |relation: &Relation| !relation.many)
    }

    /// The six keys of a statement.
    fn keys(&self, aggregation: Json, offset: Json) -> Vec<(String, Json)> {
        let field = described(one_of(&self.sorted_by()), "A field, or `relation.field` of a to-one relation");
        let properties = vec![
            ("where".to_owned(), or_null(self.own("Where"))),
            ("relations".to_owned(), or_null(self.own("Relations"))),
            ("order".to_owned(), or_null(self.order(field))),
            ("aggregation".to_owned(), aggregation),
            ("limit".to_owned(), or_null(self.shared("Limit"))),
            ("offset".to_owned(), offset),
        ];
        closed(properties, &[])
    }

    fn aggregation(&self) -> Json {
        let all = |_: &Relation| true;
        let mut counted = vec!["*".to_owned()];
        counted.extend(self.paths(|_| true, all));
        let of_functions: [(&[&str], Vec<String>); 3] = [
            (&["count"], counted),
            (&["sum", "avg"], self.paths(Type::is_number, all)),
            (&["min", "max"], self.paths(Type::is_ordered, all)),
        ];
        // Many generators fail on a schema that accepts nothing, so functions without a field are left out.
        let measures: Vec<Json> =
            of_functions.iter().filter(|(_, fields)| !fields.is_empty()).map(|(functions, fields)| measure(functions, fields)).collect();
        let max = MAX_ENTRIES as i64;
        let fields = object! { "type" => "array", "items" => object! { "anyOf" => measures }, "minItems" => 1, "maxItems" => max };
        let group_by = object! {
            "type" => "array",
            "items" => one_of(&self.paths(Type::is_sortable, all)),
            "uniqueItems" => true,
            "maxItems" => max,
        };
        let properties = vec![
            ("fields".to_owned(), described(fields, "The measures")),
            ("groupBy".to_owned(), described(group_by, "Fields, or `relation.field`; without it there is one row")),
        ];
        described(Json::Object(closed(properties, &["fields"])), "Measures of groups; `order` then takes entries of groupBy")
    }

    fn top(&self) -> Json {
        let mut entries = self.keys(or_null(self.own("Aggregation")), or_null(self.shared("Offset")));
        // Groups have no relations to load.
        let both = vec![("aggregation".to_owned(), present()), ("relations".to_owned(), filled())];
        entries.push(("not".to_owned(), required(both)));
        described(Json::Object(entries), format!("A Query Statement for {}", resource_comment(self.resource)))
    }

    /// Spelled out, because client generators support neither a statement minus one key nor the type `null`.
    fn constraint(&self) -> Json {
        let entries = self.keys(only_null(), or_null(self.shared("Offset")));
        described(Json::Object(entries), "A second statement that narrows the first; it cannot aggregate")
    }

    fn keyset_statement(&self) -> Json {
        let comment = format!("A Query Statement of `keyset-paginate` for {}", resource_comment(self.resource));
        described(Json::Object(self.keys(only_null(), only_null())), comment)
    }

    fn keyset_request(&self) -> Json {
        let properties =
            vec![("query".to_owned(), or_null(self.own("KeysetStatement"))), ("constraint".to_owned(), or_null(self.own("Constraint")))];
        described(Json::Object(closed(properties, &[])), "The body of `keyset-paginate`; an empty one selects the first rows")
    }

    fn request(&self) -> Json {
        let properties =
            vec![("query".to_owned(), or_null(self.own("Statement"))), ("constraint".to_owned(), or_null(self.own("Constraint")))];
        let mut entries = closed(properties, &[]);
        let query = required(vec![("aggregation".to_owned(), present())]);
        let constraint = required(vec![("relations".to_owned(), filled())]);
        entries.push(("not".to_owned(), required(vec![("query".to_owned(), query), ("constraint".to_owned(), constraint)])));
        described(Json::Object(entries), "The body of a request; an empty one selects all rows")
    }
}

/// Only null, which counts as absent.
fn only_null() -> Json {
    object! { "enum" => Json::Array(vec![Json::Null]) }
}

/// An object, not null.
fn present() -> Json {
    object! { "type" => "object" }
}

/// An object that is not empty.
pub(super) fn filled() -> Json {
    object! { "type" => "object", "minProperties" => 1 }
}

/// An object with all of these keys.
pub(super) fn required(properties: Vec<(String, Json)>) -> Json {
    let keys: Vec<Json> = properties.iter().map(|(key, _)| Json::from(key.as_str())).collect();
    object! { "type" => "object", "required" => keys, "properties" => properties }
}

fn measure(functions: &[&str], fields: &[String]) -> Json {
    let properties =
        vec![("fn".to_owned(), object! { "enum" => texts(functions) }), ("field".to_owned(), one_of(fields)), ("as".to_owned(), alias())];
    Json::Object(closed(properties, &["fn", "field"]))
}
