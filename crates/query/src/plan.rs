//! [`Statement`] → [`Plan`]: every name becomes a column or a relation the viewer may use, every value a checked one,
//! every table comes with its policy. What passes here cannot be refused by the database.

mod aggregation;
mod constraint;
mod filter;
mod load;
mod operators;
mod order;
mod path;
pub(crate) mod predicate;
mod table;

use crate::catalog::{Catalog, Field, FieldId, Relation, Resource};
use crate::error::{Code, Error, Faults, about, shorten};
use crate::merge;
use crate::messages::did_you_mean;
use crate::parse::{MAX_FILTER_NODES, too_many_nodes};
use crate::pointer::{At, Layer};
use crate::policy::{ReadAccess, Viewer};
use crate::statement::{Direction, Statement};
use crate::value;

pub use aggregation::Grouped;
pub(crate) use aggregation::Measured;
pub(crate) use constraint::check_constraint;
use predicate::{Alias, Column, Comparison, Predicate};
pub(crate) use table::Table;

/// How many tables a plan may have, those of constraints that it follows included.
const MAX_TABLES: usize = 2_000;
/// How many values a list may have.
pub const MAX_VALUES: usize = 10_000;

/// What is done with the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `{total, count, rows}`
    Paginate,
    /// All rows; `get` is another name of it.
    List,
    /// The first row.
    Find,
}

/// A statement that can be run.
#[derive(Debug)]
pub struct Plan<'c> {
    /// What is asked.
    pub operation: Operation,
    /// Rows or groups.
    pub body: PlanBody<'c>,
}

/// The two kinds of answers.
#[derive(Debug)]
pub enum PlanBody<'c> {
    /// Rows with their relations.
    Rows(Select<'c>),
    /// One object a group.
    Groups(Grouped<'c>),
}

/// Rows of one table, as root or as the rows of a relation.
#[derive(Debug)]
pub struct Select<'c> {
    pub(crate) scope: Scope<'c>,
    pub(crate) shown: Vec<(FieldId, Show)>,
    pub(crate) children: Vec<Child<'c>>,
}

/// Which rows of a table are meant, in which order and how many, whatever is then made of them.
#[derive(Debug)]
pub(crate) struct Scope<'c> {
    pub(crate) table: Table<'c>,
    pub(crate) filters: Vec<(Layer, Predicate<'c>)>,
    pub(crate) joins: Vec<Join<'c>>,
    pub(crate) order: Vec<Sort<'c>>,
    pub(crate) bounds: Bounds,
}

/// How a field appears in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// As it is.
    Plain,
    /// Masked.
    Masked(crate::catalog::Mask),
}

/// A relation that is loaded.
#[derive(Debug)]
pub struct Child<'c> {
    pub(crate) relation: &'c Relation,
    pub(crate) pivot: Alias,
    pub(crate) select: Select<'c>,
}

/// A LEFT join made for a dot-path.
#[derive(Debug)]
pub(crate) struct Join<'c> {
    pub(crate) relation: &'c Relation,
    /// The table the relation starts from.
    pub(crate) parent: Alias,
    pub(crate) parent_resource: &'c Resource,
    pub(crate) pivot: Alias,
    pub(crate) table: Table<'c>,
}

/// One sort key.
#[derive(Debug)]
pub(crate) struct Sort<'c> {
    pub(crate) column: Column<'c>,
    pub(crate) direction: Direction,
}

/// By whose rights a piece of a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rights {
    /// The caller's.
    Viewer,
    /// The manifest's own: permissions and masks do not apply, `$account.…` is looked up, once there is a caller.
    Manifest,
}

impl Rights {
    fn of(layer: Layer) -> Self {
        if layer == Layer::Policy { Rights::Manifest } else { Rights::Viewer }
    }
}

/// Plans a merged statement for the viewer who entered the resource. `id` asks for one row by its key.
pub fn plan<'c>(access: ReadAccess<'c, '_>, statement: Statement, operation: Operation, id: Option<&[&str]>) -> Result<Plan<'c>, Error> {
    let resource = access.resource();
    let statement = match &resource.constraint {
        Some(constraint) => merge::with_policy(statement, &constraint.statement),
        None => statement,
    };
    let mut planner = Planner::new(access.catalog, access.viewer, &statement);
    let Some(table) = Table::reach(&mut planner, access.resource, Rights::Viewer) else {
        return Err(Error::one(Code::UnknownField, "", "the permission to read this resource is missing"));
    };
    let mut filters = planner.filters(&table, &statement.filters);
    if let Some(parts) = id {
        filters.extend(planner.by_key(&table, parts));
    }
    let limit = match operation {
        Operation::Find => Some(statement.limit.map_or(1, |limit| limit.min(1))),
        Operation::Paginate | Operation::List => statement.limit,
    };
    let bounds = Bounds { limit, offset: statement.offset };
    let body = match &statement.aggregation {
        Some(aggregation) => PlanBody::Groups(planner.grouped(table, filters, aggregation, bounds)),
        None => PlanBody::Rows(planner.rows(table, filters, bounds)),
    };
    if planner.tables > MAX_TABLES {
        let message = format!("the statement looks at more than {MAX_TABLES} tables, those that constraints follow included");
        planner.faults.add(Code::FilterNodes, || "/query".into(), message);
    }
    planner.faults.finish()?;
    Ok(Plan { operation, body })
}

/// Limit and offset of one level.
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

/// When a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// For the manifest itself.
    Boot,
    /// For a caller.
    Request,
}

/// How many nodes of where each layer has so far; the manifest's own are not counted.
#[derive(Debug, Default)]
struct Spent {
    query: usize,
    constraint: usize,
}

/// What a plan is made with: the catalog, the caller, and the statement whose faults are collected.
pub(crate) struct Planner<'c, 's> {
    pub(crate) catalog: &'c Catalog,
    pub(crate) viewer: &'s Viewer,
    statement: &'s Statement,
    faults: Faults,
    aliases: u32,
    /// How many tables it has reached.
    tables: usize,
    spent: Spent,
    stage: Stage,
    /// A variable of a manifest's constraint was absent or of the wrong type: the constraint matches nothing.
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
            spent: Spent::default(),
            stage: Stage::Request,
            closed: false,
        }
    }

    fn alias(&mut self) -> Alias {
        let alias = Alias(self.aliases);
        self.aliases += 1;
        alias
    }

    /// Counts one table, which a policy may have brought along; says whether there is room for it.
    fn seat(&mut self) -> bool {
        self.tables += 1;
        self.tables <= MAX_TABLES
    }

    fn is_at_boot(&self) -> bool {
        self.stage == Stage::Boot
    }

    fn fault(&mut self, code: Code, at: At, message: impl Into<String>) {
        // A constraint was checked at boot: what is wrong with it now is the account's, and closes it.
        if at.layer == Layer::Policy && self.stage == Stage::Request {
            self.closed = true;
            return;
        }
        let statement = self.statement;
        let message = message.into();
        // A name that is wrong in the query is as wrong where a constraint says it again.
        for at in std::iter::once(at).chain(statement.said_again(at)) {
            self.faults.add(code, || statement.pointer(at), about(at.layer, message.clone()));
        }
    }

    /// Counts one node of where against the layer's budget.
    fn spend(&mut self, at: At) -> bool {
        let spent = match at.layer {
            Layer::Query => &mut self.spent.query,
            Layer::Constraint => &mut self.spent.constraint,
            Layer::Policy => return true,
        };
        *spent += 1;
        let spent = *spent;
        // One that was not even read to its end has been told so.
        if spent == MAX_FILTER_NODES + 1 && !self.faults.has(Code::FilterNodes, at.layer) {
            self.fault(Code::FilterNodes, at, too_many_nodes());
        }
        spent <= MAX_FILTER_NODES
    }

    /// A field the rights allow to use, or a fault.
    fn usable_field(&mut self, resource: &'c Resource, name: &str, at: At, rights: Rights) -> Option<(FieldId, &'c Field)> {
        let found = resource.field(name);
        if rights != Rights::Viewer {
            if found.is_none() {
                self.fault(Code::UnknownField, at, format!("`{}` has no field `{name}`", resource.full_name));
            }
            return found;
        }
        match found {
            Some((id, field)) if !field.hidden => {
                if self.viewer.sees_unmasked(field) {
                    return Some((id, field));
                }
                self.fault(
                    Code::MaskedField,
                    at,
                    format!("`{name}` is masked for you: it is shown, and cannot be used to filter, sort or aggregate"),
                );
                None
            }
            _ => {
                let hint = Self::field_hint(resource, name);
                self.fault(Code::UnknownField, at, format!("`{}` has no field `{}`{hint}", resource.full_name, shorten(name)));
                None
            }
        }
    }

    fn field_hint(resource: &Resource, name: &str) -> String {
        let known: Vec<&str> = resource.fields.iter().filter(|field| !field.hidden).map(|field| field.name.as_str()).collect();
        did_you_mean(name, &known)
    }

    /// A relation the rights allow to follow; one that is not allowed is as unknown as one that does not exist.
    fn usable_relation(&self, resource: &'c Resource, name: &str, rights: Rights) -> Option<&'c Relation> {
        resource.relation(name).filter(|relation| rights != Rights::Viewer || self.viewer.can_read(self.catalog.resource(relation.target)))
    }

    fn unknown_relation(&mut self, resource: &Resource, name: &str, at: At) {
        let known: Vec<&str> = resource
            .relations
            .iter()
            .filter(|relation| self.viewer.can_read(self.catalog.resource(relation.target)))
            .map(|relation| relation.name.as_str())
            .collect();
        let hint = did_you_mean(name, &known);
        self.fault(Code::UnknownRelation, at, format!("`{}` has no relation `{}`{hint}", resource.full_name, shorten(name)));
    }

    /// The predicate that picks one row by its key.
    fn by_key(&mut self, table: &Table<'c>, parts: &[&str]) -> Option<(Layer, Predicate<'c>)> {
        let key = &table.resource.key;
        if parts.len() != key.len() {
            let names: Vec<&str> = key.iter().map(|id| table.resource.fields[*id].name.as_str()).collect();
            self.faults.add(Code::Identifier, || "/id".into(), format!("the id is `{}`; found {} part(s)", names.join(","), parts.len()));
            return None;
        }
        let mut all = Vec::with_capacity(key.len());
        for (id, part) in key.iter().zip(parts) {
            let field = &table.resource.fields[*id];
            match value::from_text(field.kind.scalar(), part) {
                Ok(value) => all.push(Predicate::Compare { column: table.column(*id), comparison: Comparison::Eq, value }),
                Err(message) => self.faults.add(Code::Identifier, || "/id".into(), format!("`{}`: {message}", field.name)),
            }
        }
        Some((Layer::Query, Predicate::all(all)))
    }
}
