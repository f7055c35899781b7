//! The schema of `aggregation`: each function with the fields that it accepts.

use crate::catalog::Relation;
use crate::json::Json;
use crate::object;
use crate::parse::MAX_ENTRIES;
use crate::types::Type;

use super::value::alias;
use super::{SchemaBuilder, closed, described, one_of};
use crate::json::build::texts;

impl SchemaBuilder<'_> {
    pub(super) fn aggregation(&self) -> Json {
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
}

fn measure(functions: &[&str], fields: &[String]) -> Json {
    let properties =
        vec![("fn".to_owned(), object! { "enum" => texts(functions) }), ("field".to_owned(), one_of(fields)), ("as".to_owned(), alias())];
    Json::Object(closed(properties, &["fn", "field"]))
}
