//! [`Statement`] → [`Plan`]: resolves names, checks values and rights, and adds the policy of every table. The database accepts every plan.

mod aggregation;
mod distant;
mod filter;
pub mod keyset;
mod load;
pub(crate) mod lookup;
mod operators;
mod order;
mod path;
mod peer_operators;
pub(crate) mod predicate;
mod table;
pub mod write;

use crate::catalog::{Catalog, Field, FieldId, Relation, Resource};
use crate::error::{Code, Error, Faults, about, shorten};
use crate::merge;
use crate::messages::did_you_mean;
use crate::parse::{MAX_FILTER_NODES, too_many_nodes};
use crate::pointer::{Layer, Location};
use crate::policy::{ReadAccess, Viewer};
use crate::statement::{Direction, Statement};
use crate::value;

pub use aggregation::Grouped;
pub(crate) use aggregation::Measured;
pub(crate) use filter::check_constraint;
use keyset::{KeysetPage, KeysetRequest};
use lookup::Lookup;
use predicate::{Alias, Column, Comparison, Predicate};
pub(crate) use table::Table;

/// How many tables a plan may have, including those of constraints.
const MAX_TABLES: usize = 2_000;
/// How many tables and lookups a level may join. SQLite joins 64, the root included.
const MAX_JOINED_TABLES: usize = 60;
/// How many values a list of an operator may have.
pub const MAX_VALUES: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `{total, count, rows}`
    Paginate,
    /// `{count, rows, next}`
    KeysetPaginate,
    /// All rows; `get` is an alias.
    List,
    /// The first row.
    Find,
}

/// A statement with resolved names, checked values and the policy of each table.
#[derive(Debug)]
pub struct Plan<'c> {
    pub operation: Operation,
    pub body: PlanBody<'c>,
    /// The most rows that this server answers, where the statement names no limit of its own.
    pub row_cap: Option<u64>,
    /// The most related rows of the answer, in all relations together.
    pub max_related_rows: Option<u64>,
    /// The position and the next statement of a keyset page.
    pub(crate) keyset: Option<KeysetPage>,
    /// The version of the row that an id names, if the viewer sees it. It is read also where a selection leaves it out.
    pub(crate) version: Option<Column<'c>>,
}

#[derive(Debug)]
pub enum PlanBody<'c> {
    Rows(Select<'c>),
    /// One object a group.
    Groups(Grouped<'c>),
}

/// Rows of one table, as root or as the rows of a relation.
#[derive(Debug)]
pub struct Select<'c> {
    pub(crate) source: RowSource<'c>,
    pub(crate) shown: Vec<(Column<'c>, Show)>,
    pub(crate) children: Vec<Child<'c>>,
}

/// Which rows of a table, in which order, and how many.
#[derive(Debug)]
pub(crate) struct RowSource<'c> {
    pub(crate) table: Table<'c>,
    pub(crate) filters: Vec<(Layer, Predicate<'c>)>,
    pub(crate) joins: Vec<Join<'c>>,
    pub(crate) order: Vec<Sort<'c>>,
    pub(crate) bounds: Bounds,
}

/// Whether a row shows a field or its mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    Plain,
    Masked(crate::catalog::Mask),
}

#[derive(Debug)]
pub struct Child<'c> {
    pub(crate) relation: &'c Relation,
    pub(crate) pivot: Alias,
    pub(crate) select: Select<'c>,
}

/// A LEFT JOIN for a dot-path.
#[derive(Debug)]
pub(crate) struct Join<'c> {
    pub(crate) relation: &'c Relation,
    /// The table that declares the relation.
    pub(crate) parent: Alias,
    pub(crate) parent_resource: &'c Resource,
    pub(crate) pivot: Alias,
    pub(crate) table: Table<'c>,
}

#[derive(Debug)]
pub(crate) struct Sort<'c> {
    pub(crate) column: Column<'c>,
    pub(crate) direction: Direction,
}

/// The table of the fields that a part of a statement names.
#[derive(Clone, Copy)]
struct Subject<'c> {
    resource: &'c Resource,
    alias: Alias,
    rights: Rights,
}

/// The rights that apply to a part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    Viewer,
    /// The manifest's: permissions and masks do not apply, and `$account.…` is a variable.
    Manifest,
}

impl Rights {
    fn of(layer: Layer) -> Self {
        if layer.is_manifest() { Rights::Manifest } else { Rights::Viewer }
    }
}

/// Plans a merged statement. `id` selects one row by its key.
pub fn plan<'c>(access: ReadAccess<'c, '_>, statement: Statement, operation: Operation, id: Option<&[&str]>) -> Result<Plan<'c>, Error> {
    let resource = access.resource();
    let max_rows = access.catalog.max_rows().filter(|_| operation != Operation::Find);
    let refused = statement.limit.zip(max_rows).filter(|(limit, max)| limit > max).map(|found| (found, statement.limit_layer));
    let statement = match resource.constraint.as_ref().filter(|constraint| access.viewer.is_bound_by(constraint)) {
        Some(constraint) => merge::with_policy(statement, &constraint.statement),
        None => statement,
    };
    let (statement, keyset) = match operation {
        Operation::KeysetPaginate => KeysetRequest::split(statement, access),
        Operation::Paginate | Operation::List | Operation::Find => (statement, None),
    };
    let mut planner = Planner::new(access.catalog, access.viewer, &statement);
    let Some(table) = Table::with_policy(&mut planner, access.resource, Rights::Viewer) else {
        return Err(Error::one(Code::UnknownField, "", "reading this resource needs a permission that is missing"));
    };
    let mut filters = planner.filters(&table, &statement.filters);
    if let Some(parts) = id {
        filters.extend(planner.by_key(&table, parts));
    }
    if let Some(((limit, max), layer)) = refused {
        let message = format!("`limit` must be at most {max} on this server (QUERY_MAX_ROWS); found {limit}");
        planner.faults.add(Code::Limit, || format!("/{}/limit", layer.as_str()), message);
    }
    if operation == Operation::KeysetPaginate {
        planner.check_keyset(&table);
    }
    let unlimited = if operation == Operation::KeysetPaginate { keyset::DEFAULT_LIMIT } else { u64::MAX };
    let row_cap = max_rows.filter(|max| statement.limit.unwrap_or(unlimited) > *max);
    let limit = match operation {
        Operation::Find => Some(statement.limit.map_or(1, |limit| limit.min(1))),
        Operation::KeysetPaginate => Some(statement.limit.unwrap_or(keyset::DEFAULT_LIMIT).min(max_rows.unwrap_or(u64::MAX))),
        Operation::Paginate | Operation::List => row_cap.or(statement.limit),
    };
    let bounds = Bounds { limit: if statement.leaves_rows_out { Some(0) } else { limit }, offset: statement.offset };
    let version = id.and_then(|_| visible_version(resource, access.viewer)).map(|field| table.column(field));
    let version = version.filter(|_| statement.aggregation.is_none());
    let mut body = match &statement.aggregation {
        Some(aggregation) => PlanBody::Groups(planner.grouped(table, filters, aggregation, bounds)),
        None => PlanBody::Rows(planner.rows(table, filters, bounds)),
    };
    if planner.tables > MAX_TABLES {
        let message = format!("a statement reads at most {MAX_TABLES} tables, including those of constraints");
        planner.faults.add(Code::FilterNodes, || "/query".into(), message);
    }
    let keyset = keyset.and_then(|keyset| planner.keyset_page(keyset, &mut body));
    planner.faults.finish()?;
    Ok(Plan { operation, body, row_cap, max_related_rows: access.catalog.max_rows(), keyset, version })
}

/// The field with the version of a row, if the viewer sees it plainly.
fn visible_version(resource: &Resource, viewer: &Viewer) -> Option<FieldId> {
    let version = resource.write_rules()?.version?;
    let field = &resource.fields[version];
    (viewer.knows(field) && viewer.sees_unmasked(field)).then_some(version)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) limit: Option<u64>,
    pub(crate) offset: Option<u64>,
}

impl Bounds {
    pub(crate) fn given(self) -> bool {
        self.limit.is_some() || self.offset.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A catalog is made, and a constraint checked.
    Boot,
    /// For a request.
    Request,
}

/// Makes a plan and collects the faults of its statement.
pub(crate) struct Planner<'c, 's> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) viewer: &'s Viewer,
    statement: &'s Statement,
    faults: Faults,
    aliases: u32,
    tables: usize,
    /// The lookups of tables that do not have them yet.
    lookups: Vec<Lookup<'c>>,
    /// Nodes of `where` in the query and in the wire constraint. The manifest's are not counted.
    filter_nodes: [usize; 2],
    stage: Stage,
    /// The account lacks a variable of the constraint, or has one of the wrong type: the constraint matches no row.
    closed: bool,
}

impl<'c, 's> Planner<'c, 's> {
    fn new(catalog: &'c Catalog, viewer: &'s Viewer, statement: &'s Statement) -> Self {
        Planner {
            catalog,
            viewer,
            statement,
            faults: statement.faults.clone(),
            aliases: 0,
            tables: 0,
            lookups: Vec::new(),
            filter_nodes: [0; 2],
            stage: Stage::Request,
            closed: false,
        }
    }

    fn alias(&mut self) -> Alias {
        let alias = Alias(self.aliases);
        self.aliases += 1;
        alias
    }

    /// Counts one more table. False if that is too many.
    fn count_table(&mut self) -> bool {
        self.tables += 1;
        self.tables <= MAX_TABLES
    }

    fn is_at_boot(&self) -> bool {
        self.stage == Stage::Boot
    }

    fn fault(&mut self, code: Code, at: Location, message: impl Into<String>) {
        // The constraint was checked when the catalog was made, so the account's variables are at fault.
        if at.layer == Layer::Policy && self.stage == Stage::Request {
            self.closed = true;
            return;
        }
        let statement = self.statement;
        let message = message.into();
        // A wrong name in the query is also wrong where the constraint repeats it.
        for at in std::iter::once(at).chain(statement.repeated_at(at)) {
            self.faults.add(code, || statement.pointer(at), about(at.layer, message.clone()));
        }
    }

    /// Counts one node of `where` of the layer. False if that is too many.
    fn count_node(&mut self, at: Location) -> bool {
        let layer = match at.layer {
            Layer::Constraint => 1,
            _ if at.layer.is_manifest() => return true,
            // A plan has one of them.
            _ => 0,
        };
        self.filter_nodes[layer] += 1;
        let count = self.filter_nodes[layer];
        // The parser may have reported it.
        if count == MAX_FILTER_NODES + 1 && !self.faults.has(Code::FilterNodes, at.layer) {
            self.fault(Code::FilterNodes, at, too_many_nodes());
        }
        count <= MAX_FILTER_NODES
    }

    /// The field, if the rights allow to use it; otherwise a fault.
    fn usable_field(&mut self, resource: &'c Resource, name: &str, at: Location, rights: Rights) -> Option<(FieldId, &'c Field)> {
        let found = resource.field(name);
        if rights != Rights::Viewer {
            if found.is_none() {
                let known: Vec<&str> = resource.fields.iter().map(|field| field.name.as_str()).collect();
                let hint = did_you_mean(name, &known);
                self.fault(Code::UnknownField, at, format!("`{}` has no field `{name}`{hint}", resource.full_name));
            }
            return found;
        }
        match found {
            Some((id, field)) if self.viewer.knows(field) => {
                if self.viewer.sees_unmasked(field) {
                    return Some((id, field));
                }
                let message = format!("`{name}` is masked for you; a masked field cannot be used in `where`, `order` or `aggregation`");
                self.fault(Code::MaskedField, at, message);
                None
            }
            _ => {
                let hint = did_you_mean(name, &self.field_names(resource));
                self.fault(Code::UnknownField, at, format!("`{}` has no field `{}`{hint}", resource.full_name, shorten(name)));
                None
            }
        }
    }

    /// The fields that the viewer knows.
    fn field_names<'r>(&self, resource: &'r Resource) -> Vec<&'r str> {
        resource.fields.iter().filter(|field| self.viewer.knows(field)).map(|field| field.name.as_str()).collect()
    }

    /// The relations that the viewer may follow.
    fn relation_names<'r>(&self, resource: &'r Resource) -> Vec<&'r str> {
        let readable = resource.relations.iter().filter(|relation| self.viewer.can_read(self.catalog.resource(relation.target)));
        readable.map(|relation| relation.name.as_str()).collect()
    }

    /// The relation, if the rights allow to follow it. A forbidden relation counts as unknown.
    fn usable_relation(&self, resource: &'c Resource, name: &str, rights: Rights) -> Option<&'c Relation> {
        resource.relation(name).filter(|relation| rights != Rights::Viewer || self.viewer.can_read(self.catalog.resource(relation.target)))
    }

    fn unknown_relation(&mut self, resource: &Resource, name: &str, at: Location) {
        let hint = did_you_mean(name, &self.relation_names(resource));
        self.fault(Code::UnknownRelation, at, format!("`{}` has no relation `{}`{hint}", resource.full_name, shorten(name)));
    }

    /// The predicate that selects one row by its key.
    fn by_key(&mut self, table: &Table<'c>, parts: &[&str]) -> Option<(Layer, Predicate<'c>)> {
        let key = &table.resource.key;
        if parts.len() != key.len() {
            let names: Vec<&str> = key.iter().map(|id| table.resource.fields[*id].name.as_str()).collect();
            let message = format!("the id has the form `{}`; found {} part(s)", names.join(","), parts.len());
            self.faults.add(Code::Identifier, || "/id".into(), message);
            return None;
        }
        let mut all = Vec::with_capacity(key.len());
        for (id, part) in key.iter().zip(parts) {
            let field = &table.resource.fields[*id];
            match value::from_text(field.kind.scalar(), part) {
                Ok(value) => all.push(Predicate::Compare { column: table.column(*id), comparison: Comparison::Eq, value }),
                Err(message) => {
                    let message = format!("`{}` of type {} {message}", field.name, field.kind.name());
                    self.faults.add(Code::Identifier, || "/id".into(), message);
                }
            }
        }
        Some((Layer::Query, Predicate::all(all)))
    }
}
