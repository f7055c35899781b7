//! Drafts the resources of a manifest without relations: one for each table that has none, under a free name.

use std::collections::HashSet;

use query::catalog::write_rules::WriteOperation;
use query::catalog::{Catalog, JoinColumns, Resource};
use query::sql::Dialect;

use crate::schema::{Changes, Schema, Table};

use super::fields::fields;
use super::model::{Draft, KnownRelation, Model};
use super::naming::{Names, camel, context, is_plain, lost_characters, usual_schema};
use super::offered_list::OfferedList;
use super::through;

pub(super) type Existing<'c> = (&'c Catalog, OfferedList);

type Home<'s, 'c> = (&'s Table, &'c Resource);

/// Drafts every table that can be read, in the order of the schema.
pub(super) fn draft<'s>(schema: &'s Schema, dialect: Dialect, existing: Option<Existing<'_>>) -> Model<'s> {
    let (catalog, seen) = existing.map_or((None, OfferedList::default()), |(catalog, seen)| (Some(catalog), seen));
    let mut model = Model {
        schema,
        dialect,
        seen,
        resources: Vec::new(),
        known_pivots: HashSet::new(),
        linked: Vec::new(),
        unlinked: Vec::new(),
        unreadable: Vec::new(),
        notes: Vec::new(),
    };
    let mut names = Names::default();
    if let Some(catalog) = catalog {
        catalog.resources().iter().for_each(|resource| names.take(&resource.context, &resource.name, &resource.plural));
        model.known_pivots = pivots(catalog, schema, dialect).map(|pivot| (pivot.schema.clone(), pivot.name.clone())).collect();
    }
    let homes: Vec<Home<'s, '_>> = catalog
        .iter()
        .flat_map(|catalog| catalog.resources())
        .filter_map(|resource| schema.table(&resource.table, dialect).map(|table| (table, resource)))
        .collect();
    let mut drafts: Vec<(usize, Draft)> = Vec::new();
    // Tables that only join others come last, so that they take no name from others, and those with plain names first.
    let mut places: Vec<usize> = (0..schema.tables.len()).collect();
    places.sort_by_key(|place| (through::sides(&schema.tables[*place]).is_some(), !is_plain(&schema.tables[*place].name)));
    for place in places {
        let table = &schema.tables[place];
        drafts.extend(drafted(table, catalog, &homes, &mut names, &mut model).map(|draft| (place, draft)));
    }
    drafts.sort_by_key(|(place, _)| *place);
    model.resources = drafts.into_iter().map(|(_, draft)| draft).collect();
    model
}

fn pivots<'s>(catalog: &Catalog, schema: &'s Schema, dialect: Dialect) -> impl Iterator<Item = &'s Table> {
    let relations = catalog.resources().iter().flat_map(|resource| &resource.relations);
    relations.filter_map(move |relation| match &relation.join_columns {
        JoinColumns::Through { pivot, .. } => schema.table(pivot, dialect),
        JoinColumns::Direct(_) => None,
    })
}

/// The resource of a table with its fields. A table without fields gives none, and is noted unless that was deliberate.
fn drafted<'s>(
    table: &'s Table,
    catalog: Option<&Catalog>,
    homes: &[Home<'s, '_>],
    names: &mut Names,
    model: &mut Model<'s>,
) -> Option<Draft<'s>> {
    let (schema, dialect) = (model.schema, model.dialect);
    let behind: Vec<&Resource> = homes.iter().filter(|(home, _)| std::ptr::eq(*home, table)).map(|(_, resource)| *resource).collect();
    if behind.is_empty() && table.is_partition_or_extension {
        return None;
    }
    let Some(table_text) = table_text(schema, table, dialect) else {
        model.notes.push(format!("table {:?}.{:?} is left out: a manifest cannot name it", table.schema, table.name));
        return None;
    };
    let mut draft = match (behind.first(), catalog) {
        (Some(resource), Some(catalog)) => known(table, resource, catalog),
        // A resource that was offered and is missing was deleted on purpose.
        _ if model.seen.tables.has(table, model.dialect) => return None,
        _ => fresh(table, names),
    };
    draft.table_text = table_text;
    fields(&mut draft, &behind, model);
    if draft.fields.is_empty() {
        model.leave_out_table(&draft);
        return None;
    }
    if let Some(reason) = table.unseen.as_ref().filter(|_| draft.fields.iter().any(|field| field.is_new)) {
        draft.notes.insert(0, format!("its rows could not be looked at ({reason}); types are as declared"));
    }
    if draft.is_new {
        draft.notes.extend(lost_characters("table", &table.name));
    }
    Some(draft)
}

fn table_text(schema: &Schema, table: &Table, dialect: Dialect) -> Option<String> {
    if table.name.is_empty() || table.name.contains('\0') || table.schema.contains('.') {
        return None;
    }
    let usual = table.schema == usual_schema(dialect) && !table.name.contains('.');
    let found = schema.find(None, &table.name, dialect).is_some_and(|found| found.schema == table.schema && found.name == table.name);
    Some(if usual && found { table.name.clone() } else { format!("{}.{}", table.schema, table.name) })
}

fn fresh<'s>(table: &'s Table, names: &mut Names) -> Draft<'s> {
    let context = context(&table.schema);
    let wished = Some(camel(&table.name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "table".to_owned());
    let (name, plural) = names.make(&context, &wished);
    Draft::empty(table, context, name, plural)
}

fn known<'s>(table: &'s Table, resource: &Resource, catalog: &Catalog) -> Draft<'s> {
    let mut draft = Draft::empty(table, resource.context.clone(), resource.name.clone(), resource.plural.clone());
    draft.is_new = false;
    draft.writes = Changes {
        insert: resource.has_write(WriteOperation::Create),
        update: resource.has_write(WriteOperation::Update),
        delete: resource.has_write(WriteOperation::Delete),
    };
    for relation in &resource.relations {
        let target = catalog.resource(relation.target);
        let on = match &relation.join_columns {
            JoinColumns::Direct(pairs) => {
                pairs.iter().map(|(own, other)| (resource.fields[*own].name.clone(), target.fields[*other].name.clone())).collect()
            }
            JoinColumns::Through { .. } => Vec::new(),
        };
        draft.known_relations.push(KnownRelation { name: relation.name.clone(), target: target.full_name.clone(), on });
    }
    draft
}
