//! Functions over fields, grouped by others: which function goes with which type.

use crate::catalog::Relation;
use crate::json::Json;
use crate::object;
use crate::parse::MAX_ENTRIES;
use crate::types::Type;

use super::value::alias;
use super::{Maker, closed, described, one_of};
use crate::json::build::texts;

impl Maker<'_> {
    pub(super) fn aggregation(&self) -> Json {
        let all = |_: &Relation| true;
        let mut counted = vec!["*".to_owned()];
        counted.extend(self.paths(|_| true, all));
        let of_functions: [(&[&str], Vec<String>); 3] = [
            (&["count"], counted),
            (&["sum", "avg"], self.paths(Type::is_number, all)),
            (&["min", "max"], self.paths(Type::is_ordered, all)),
        ];
        // What goes with no field is left out: many generators stumble over a schema that nothing fits.
        let measures: Vec<Json> =
            of_functions.iter().filter(|(_, fields)| !fields.is_empty()).map(|(functions, fields)| measure(functions, fields)).collect();
        let most = MAX_ENTRIES as i64;
        let fields = object! { "type" => "array", "items" => object! { "anyOf" => measures }, "minItems" => 1, "maxItems" => most };
        let group_by = object! {
            "type" => "array",
            "items" => one_of(&self.paths(Type::is_sortable, all)),
            "uniqueItems" => true,
            "maxItems" => most,
        };
        let properties = vec![
            ("fields".to_owned(), described(fields, "What is measured")),
            ("groupBy".to_owned(), described(group_by, "Fields, or `relation.field`; without it there is one row")),
        ];
        described(Json::Object(closed(properties, &["fields"])), "Counts, sums and their like; `order` then names entries of groupBy")
    }
}

fn measure(functions: &[&str], fields: &[String]) -> Json {
    let properties =
        vec![("fn".to_owned(), object! { "enum" => texts(functions) }), ("field".to_owned(), one_of(fields)), ("as".to_owned(), alias())];
    Json::Object(closed(properties, &["fn", "field"]))
}
