//! Loads the relations that a selection names: adds them to `relations` of the statement, so that parser, plan and policy treat them like
//! relations that the client wrote.

use query::json::Json;
use query::parse::MAX_RELATION_NODES;

use super::row_shape::RowShape;

const RELATIONS: &str = "relations";

/// The statement with all selected relations. What the client wrote about a relation stays. The parser refuses what is no statement.
pub(super) fn with_selected(shape: &RowShape<'_>, statement: Option<Json>) -> Option<Json> {
    if !shape.has_relations() {
        return statement;
    }
    let mut statement = statement.filter(|json| *json != Json::Null).unwrap_or(Json::Object(Vec::new()));
    add(shape, &mut statement);
    Some(statement)
}

/// Adds relations to a statement or a relation node. The limit of fields of a document limits the additions.
fn add(shape: &RowShape<'_>, node: &mut Json) {
    if *node == Json::Bool(true) {
        *node = Json::Object(Vec::new());
    }
    let Json::Object(entries) = node else { return };
    let index = entries.iter().position(|(key, _)| key == RELATIONS).unwrap_or_else(|| {
        entries.push((RELATIONS.to_owned(), Json::Null));
        entries.len() - 1
    });
    let relations = &mut entries[index].1;
    if *relations == Json::Null {
        *relations = Json::Object(Vec::new());
    }
    let Json::Object(relations) = relations else { return };
    for (name, below) in shape.relations() {
        // The parser refuses the statement for its number of relations.
        if relations.len() > MAX_RELATION_NODES {
            return;
        }
        let index = relations.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            relations.push((name.to_owned(), Json::Bool(true)));
            relations.len() - 1
        });
        if below.has_relations() {
            add(below, &mut relations[index].1);
        }
    }
}
