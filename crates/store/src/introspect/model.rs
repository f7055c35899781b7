//! The manifest to be, as data: a resource for each table, with names that are free and fields in the order of the columns.

use std::collections::HashSet;

use query::catalog::{Catalog, Field, Link, Resource, Stored, snake};
use query::sql::Dialect;
use query::types::{Scalar, Type};

use crate::schema::{Column, ForeignKey, Schema, Table, same};

use super::kind::{self, kind_of, stored};
use super::known::Known;
use super::names::Names;
use super::naming::{camel, context, free};
use super::through::{self, place};

/// Everything that is to be written, and what was there before.
pub(super) struct Model<'s> {
    pub(super) schema: &'s Schema,
    pub(super) dialect: Dialect,
    /// What the manifest's comments tell; nothing without them.
    pub(super) seen: Option<Known>,
    /// In the order of the schema's tables.
    pub(super) resources: Vec<Draft<'s>>,
    /// The through tables of relations that were there before, by schema and name.
    pub(super) known_pivots: HashSet<(String, String)>,
    /// Foreign keys that are relations, or that a relation leads through.
    pub(super) linked: Vec<(&'s Table, &'s ForeignKey)>,
    /// Foreign keys that cannot be.
    pub(super) unlinked: Vec<(&'s Table, &'s ForeignKey)>,
    /// Tables without a column that can be read.
    pub(super) unreadable: Vec<&'s Table>,
    /// Tables that are left out, and why.
    pub(super) notes: Vec<String>,
}

impl<'s> Model<'s> {
    pub(super) fn is_linked(&self, table: &Table, foreign_key: &ForeignKey) -> bool {
        is_among(&self.linked, table, foreign_key)
    }

    pub(super) fn is_unlinked(&self, table: &Table, foreign_key: &ForeignKey) -> bool {
        is_among(&self.unlinked, table, foreign_key)
    }

    /// Remembers a table without a column that can be read, and notes it, once.
    fn leave_out_table(&mut self, draft: &Draft<'s>) {
        let table = draft.table;
        self.unreadable.push(table);
        let was_told = self.seen.as_ref().is_some_and(|seen| seen.has_left_out(table, self.dialect));
        if was_told && draft.notes.is_empty() {
            return;
        }
        let reason = table.unseen.as_ref().map(|reason| format!("; its rows could not be looked at ({reason})"));
        let note = format!("table {:?}.{:?} is left out: it has no column that can be read", table.schema, table.name);
        self.notes.push(note + &reason.unwrap_or_default());
    }

    /// Remembers a foreign key that cannot be a relation, and notes why, once.
    pub(super) fn leave_out(&mut self, from: usize, foreign_key: &'s ForeignKey, reason: &str) {
        let draft = &self.resources[from];
        self.unlinked.push((draft.table, foreign_key));
        if self.was_told(draft.table, foreign_key) {
            return;
        }
        let target = place(self, foreign_key).map_or(&foreign_key.table, |to| &self.resources[to].table_text);
        let (columns, target_columns) = (foreign_key.columns.join(", "), foreign_key.target_columns.join(", "));
        let note = format!("foreign key ({columns}) -> {target} ({target_columns}) is left out: {reason}");
        self.resources[from].notes.push(note);
    }
}

fn is_among(links: &[(&Table, &ForeignKey)], table: &Table, foreign_key: &ForeignKey) -> bool {
    links.iter().any(|(other, link)| std::ptr::eq(*other, table) && *link == foreign_key)
}

/// A resource, to be written or there already.
pub(super) struct Draft<'s> {
    pub(super) table: &'s Table,
    /// The table as the manifest names it.
    pub(super) table_text: String,
    pub(super) context: String,
    pub(super) name: String,
    pub(super) plural: String,
    pub(super) is_new: bool,
    /// A table that only joins two others.
    pub(super) left_out: bool,
    pub(super) fields: Vec<DraftField>,
    /// Relations to be written.
    pub(super) relations: Vec<DraftRelation>,
    /// Relations that were there before.
    pub(super) known_relations: Vec<KnownRelation>,
    /// Columns that no type reads and foreign keys that are no relations, and why.
    pub(super) notes: Vec<String>,
}

pub(super) struct DraftField {
    pub(super) name: String,
    pub(super) column: String,
    pub(super) kind: Type,
    pub(super) key: bool,
    pub(super) not_null: bool,
    pub(super) stored: Stored,
    pub(super) is_new: bool,
}

pub(super) struct DraftRelation {
    pub(super) name: String,
    pub(super) many: bool,
    pub(super) target: String,
    pub(super) on: Vec<(String, String)>,
    /// The through table and its columns that lead to the other's fields.
    pub(super) through: Option<(String, Vec<(String, String)>)>,
}

/// A relation that was there before.
pub(super) struct KnownRelation {
    pub(super) name: String,
    target: String,
    /// Own field = field of the other; empty when it leads through a table.
    on: Vec<(String, String)>,
}

impl Draft<'_> {
    pub(super) fn full_name(&self) -> String {
        format!("{}.{}", self.context, self.name)
    }

    pub(super) fn field(&self, column: &str) -> Option<&DraftField> {
        self.fields.iter().find(|field| field.column == column)
    }

    pub(super) fn has_key(&self) -> bool {
        self.fields.iter().any(|field| field.key)
    }

    /// The relation that connects the same rows already.
    pub(super) fn known_relation(&self, target: &str, on: &[(String, String)]) -> Option<&KnownRelation> {
        let has_all = |known: &KnownRelation| known.on.len() == on.len() && on.iter().all(|pair| known.on.contains(pair));
        self.known_relations.iter().find(|known| known.target == target && has_all(known))
    }

    /// Whether a relation cannot bear this name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
            || self.known_relations.iter().any(|known| known.name == name)
            || self.relations.iter().any(|relation| relation.name == name)
    }
}

/// The schema whose tables are named without it.
pub(super) fn usual_schema(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Postgres => "public",
        Dialect::Sqlite => "main",
    }
}

/// The table as a manifest names it, or nothing when the name cannot be said.
fn table_text(schema: &Schema, table: &Table, dialect: Dialect) -> Option<String> {
    if table.name.is_empty() || table.name.contains('\0') || table.schema.contains('.') {
        return None;
    }
    let usual = table.schema == usual_schema(dialect) && !table.name.contains('.');
    let found = schema.find(None, &table.name, dialect).is_some_and(|found| found.schema == table.schema && found.name == table.name);
    Some(if usual && found { table.name.clone() } else { format!("{}.{}", table.schema, table.name) })
}

/// A resource for each table that has none, fields for each column that has none. Relations come after.
pub(super) fn draft<'s>(schema: &'s Schema, dialect: Dialect, existing: Option<(&Catalog, Option<Known>)>) -> Model<'s> {
    let (existing, seen) = existing.map_or((None, None), |(catalog, seen)| (Some(catalog), seen));
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
    for resource in existing.iter().flat_map(|catalog| catalog.resources()) {
        names.take(&resource.context, &resource.name, &resource.plural);
        for relation in &resource.relations {
            if let Link::Through { pivot, .. } = &relation.link
                && let Some(table) = schema.table(pivot, dialect)
            {
                model.known_pivots.insert((table.schema.clone(), table.name.clone()));
            }
        }
    }
    let homes: Vec<(&Table, &Resource)> = existing
        .iter()
        .flat_map(|catalog| catalog.resources())
        .filter_map(|resource| schema.table(&resource.table, dialect).map(|table| (table, resource)))
        .collect();
    let mut drafts: Vec<(usize, Draft)> = Vec::new();
    // Tables that may be left out come last, so that they take no name from another.
    let mut places: Vec<usize> = (0..schema.tables.len()).collect();
    places.sort_by_key(|place| through::sides(&schema.tables[*place]).is_some());
    for place in places {
        let table = &schema.tables[place];
        let behind: Vec<&Resource> = homes.iter().filter(|(home, _)| std::ptr::eq(*home, table)).map(|(_, resource)| *resource).collect();
        if behind.is_empty() && table.incidental {
            continue;
        }
        let Some(table_text) = table_text(schema, table, dialect) else {
            model.notes.push(format!("table {:?}.{:?} is left out: a manifest cannot name it", table.schema, table.name));
            continue;
        };
        let mut draft = match (behind.first(), existing) {
            (Some(resource), Some(catalog)) => known(table, resource, catalog),
            // What was offered and is not there was deleted on purpose.
            _ if model.seen.as_ref().is_some_and(|seen| seen.has_table(table, dialect)) => continue,
            _ => fresh(table, &mut names),
        };
        draft.table_text = table_text;
        fields(&mut draft, &behind, &model);
        if draft.fields.is_empty() {
            model.leave_out_table(&draft);
        } else {
            if let Some(reason) = table.unseen.as_ref().filter(|_| draft.fields.iter().any(|field| field.is_new)) {
                draft.notes.insert(0, format!("its rows could not be looked at ({reason}); types are as declared"));
            }
            drafts.push((place, draft));
        }
    }
    drafts.sort_by_key(|(place, _)| *place);
    model.resources = drafts.into_iter().map(|(_, draft)| draft).collect();
    model
}

fn fresh<'s>(table: &'s Table, names: &mut Names) -> Draft<'s> {
    let context = context(&table.schema);
    let wished = Some(camel(&table.name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "table".to_owned());
    let (name, plural) = names.make(&context, &wished);
    empty(table, (context, name, plural), true)
}

fn known<'s>(table: &'s Table, resource: &Resource, catalog: &Catalog) -> Draft<'s> {
    let mut draft = empty(table, (resource.context.clone(), resource.name.clone(), resource.plural.clone()), false);
    for relation in &resource.relations {
        let target = catalog.resource(relation.target);
        let on = match &relation.link {
            Link::Direct(pairs) => {
                pairs.iter().map(|(own, other)| (resource.fields[*own].name.clone(), target.fields[*other].name.clone())).collect()
            }
            Link::Through { .. } => Vec::new(),
        };
        draft.known_relations.push(KnownRelation { name: relation.name.clone(), target: target.full_name.clone(), on });
    }
    draft
}

fn empty(table: &Table, (context, name, plural): (String, String, String), is_new: bool) -> Draft<'_> {
    Draft {
        table,
        table_text: String::new(),
        context,
        name,
        plural,
        is_new,
        left_out: false,
        fields: Vec::new(),
        relations: Vec::new(),
        known_relations: Vec::new(),
        notes: Vec::new(),
    }
}

/// The type a manifest is offered for the column, or nothing when it cannot be read.
pub(super) fn offered(column: &Column, dialect: Dialect) -> Option<Type> {
    let readable = !column.forbidden && !column.name.is_empty() && !column.name.contains('\0');
    kind_of(column, dialect).filter(|_| readable)
}

/// The fields there are, in the spelling of the columns, and one for each new column that no resource of the table has.
fn fields(draft: &mut Draft, behind: &[&Resource], model: &Model) {
    let (table, dialect) = (draft.table, model.dialect);
    if let Some(resource) = behind.first() {
        draft.fields =
            resource.fields.iter().enumerate().map(|(id, field)| declared(field, resource.key.contains(&id), table, dialect)).collect();
    }
    let kinds: Vec<(&Column, Option<Type>)> = table.columns.iter().map(|column| (column, offered(column, dialect))).collect();
    // A key that cannot be declared whole is not declared at all, nor is one added to a resource that has its own.
    let is_key_column = |column: &Column| table.primary_key.contains(&column.name);
    let can_be_key = |kind: &Option<Type>| kind.as_ref().is_some_and(|kind| kind.family().is_some());
    let key_is_whole = draft.is_new && kinds.iter().all(|(column, kind)| !is_key_column(column) || can_be_key(kind));
    for (column, kind) in kinds {
        let is_mapped = |resource: &&Resource| resource.fields.iter().any(|field| same(field.column.plain(), &column.name, dialect));
        let is_seen = model.seen.as_ref().is_some_and(|seen| seen.has_column(table, &column.name, dialect));
        if is_seen || behind.iter().any(is_mapped) {
            continue;
        }
        let Some(kind) = kind else {
            if model.seen.as_ref().is_some_and(|seen| seen.has_left_out_column(table, &column.name, dialect)) {
                continue;
            }
            let reason = match column {
                Column { forbidden: true, .. } => "the database user may not read it",
                Column { untold: true, .. } => "neither a declaration nor its values tell one type",
                _ => "no type reads it",
            };
            let native = if column.untold { String::new() } else { format!(" ({})", column.native_name()) };
            draft.notes.push(format!("column {:?}{native} is left out: {reason}", column.name));
            continue;
        };
        if kind::is_other_time(column) {
            let native = column.native_name();
            draft.notes.push(format!(
                "column {:?} ({native}) holds numbers that are no seconds since 1970, read as {}",
                column.name,
                kind.name()
            ));
        }
        let wished = Some(camel(&column.name)).filter(|name| !name.is_empty()).unwrap_or_else(|| "field".to_owned());
        let name = free(&[wished], |name| draft.is_taken(name));
        let is_timestamp = dialect == Dialect::Sqlite && kind == Type::One(Scalar::Timestamp);
        let stored = if is_timestamp { stored(column) } else { Stored::Standard };
        let key = key_is_whole && is_key_column(column);
        draft.fields.push(DraftField {
            name,
            column: column.name.clone(),
            kind,
            key,
            not_null: !column.nullable && !key,
            stored,
            is_new: true,
        });
    }
}

fn declared(field: &Field, key: bool, table: &Table, dialect: Dialect) -> DraftField {
    let column = table.column(field.column.plain(), dialect).map_or(field.column.plain(), |column| column.name.as_str());
    DraftField {
        name: field.name.clone(),
        column: column.to_owned(),
        kind: field.kind.clone(),
        key,
        not_null: !field.nullable,
        stored: field.stored,
        is_new: false,
    }
}

/// Whether the column follows from the field's name.
pub(super) fn column_is_implied(field: &DraftField) -> bool {
    snake(&field.name) == field.column
}
