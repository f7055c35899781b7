//! Makes the list of what `introspect` offers now, and of what it offered before and the database still has.

use crate::schema::Table;

use super::kind::offered;
use super::model::{Model, is_among};
use super::offered_list::{Offered, OfferedList};
use super::through::foreign_keys;

pub(super) fn offered_now(model: &Model) -> OfferedList {
    let mut known = OfferedList::default();
    for table in &model.schema.tables {
        if let Some(left_out) = left_out(table, model) {
            known.left_out.insert(table, left_out, model.dialect);
        }
        let columns = columns(table, model);
        if model.seen.tables.has(table, model.dialect) || !columns.is_empty() {
            known.tables.insert(table, columns, model.dialect);
        }
    }
    for table in &model.schema.tables {
        links(&mut known, table, model);
    }
    known
}

fn links(known: &mut OfferedList, table: &Table, model: &Model) {
    let only_joins = model.resources.iter().any(|draft| draft.left_out && std::ptr::eq(draft.table, table));
    let broken = table.foreign_keys_without_relation.iter().map(|(foreign_key, _)| foreign_key);
    for foreign_key in foreign_keys(table).into_iter().chain(broken) {
        if only_joins || is_among(&model.linked, table, foreign_key) || model.seen.has_link(table, foreign_key, model.dialect) {
            known.add_link(table, foreign_key, Offered::Yes, model.dialect);
        } else if is_among(&model.unlinked, table, foreign_key) {
            known.add_link(table, foreign_key, Offered::No, model.dialect);
        }
    }
}

fn is_drafted(table: &Table, model: &Model) -> bool {
    model.resources.iter().any(|draft| !draft.left_out && std::ptr::eq(draft.table, table))
}

fn left_out(table: &Table, model: &Model) -> Option<Vec<String>> {
    let was_noted = model.unreadable.iter().any(|other| std::ptr::eq(*other, table));
    let is_drafted = is_drafted(table, model);
    let unreadable = table.columns.iter().filter(|column| offered(column, model.dialect).is_none());
    let noted = unreadable.filter(|column| was_noted || is_drafted || model.seen.left_out.has_column(table, &column.name, model.dialect));
    let columns: Vec<String> = noted.map(|column| column.name.clone()).collect();
    (was_noted || !columns.is_empty()).then_some(columns)
}

fn columns(table: &Table, model: &Model) -> Vec<String> {
    let is_drafted = is_drafted(table, model);
    let listed = table.columns.iter().filter(|column| {
        is_drafted && offered(column, model.dialect).is_some() || model.seen.tables.has_column(table, &column.name, model.dialect)
    });
    listed.map(|column| column.name.clone()).collect()
}
