//! Merges `query` and `constraint` into one statement. A constraint narrows a query and never widens it.

use crate::parse::Body;
use crate::pointer::Location;
use crate::statement::{Order, RelationNode, Statement};

/// The query of a body, narrowed by its constraint.
pub fn merged(Body { query, constraint }: Body) -> Statement {
    match constraint {
        Some(constraint) => merge(query, constraint),
        None => query,
    }
}

pub fn merge(query: Statement, constraint: Statement) -> Statement {
    let mut places = query.places;
    places.extend(constraint.places);
    let mut faults = query.faults;
    faults.absorb(constraint.faults);
    let mut filters = query.filters;
    filters.extend(constraint.filters);
    let mut repeated = query.repeated;
    repeated.extend(constraint.repeated);
    Statement {
        filters,
        relations: merge_relations(query.relations, constraint.relations, &mut repeated),
        order: merge_order(query.order, constraint.order, &mut repeated),
        aggregation: query.aggregation,
        limit: smaller(query.limit, constraint.limit),
        own_limit: query.own_limit,
        limit_layer: if query.limit.is_some() { query.limit_layer } else { constraint.limit_layer },
        // A constraint has no offset: it would hide rows that its `where` allows.
        offset: query.offset,
        fields: query.fields,
        leaves_rows_out: query.leaves_rows_out,
        places,
        repeated,
        faults,
    }
}

/// Adds relations, order and limit of the manifest's constraint to the root. Its `where` is added with the table.
pub(crate) fn with_policy(statement: Statement, constraint: &Statement) -> Statement {
    let mut constraint = constraint.clone();
    constraint.filters.clear();
    if let Some(aggregation) = &statement.aggregation {
        // Groups have no relations and no other columns.
        constraint.relations.clear();
        constraint.order.retain(|entry| aggregation.group_by.iter().any(|(name, _)| *name == entry.field));
    }
    merge(statement, constraint)
}

fn merge_relations(query: Vec<RelationNode>, constraint: Vec<RelationNode>, repeated: &mut Vec<(Location, Location)>) -> Vec<RelationNode> {
    let mut merged = query;
    for theirs in constraint {
        match merged.iter_mut().find(|ours| ours.name == theirs.name) {
            None => merged.push(theirs),
            Some(ours) => {
                repeated.push((ours.at, theirs.at));
                ours.filters.extend(theirs.filters);
                ours.order = merge_order(std::mem::take(&mut ours.order), theirs.order, repeated);
                ours.limit = smaller(ours.limit, theirs.limit);
                ours.relations = merge_relations(std::mem::take(&mut ours.relations), theirs.relations, repeated);
            }
        }
    }
    merged
}

fn merge_order(query: Vec<Order>, constraint: Vec<Order>, repeated: &mut Vec<(Location, Location)>) -> Vec<Order> {
    let mut merged = query;
    for theirs in constraint {
        match merged.iter().find(|ours| ours.field == theirs.field) {
            None => merged.push(theirs),
            Some(ours) => repeated.push((ours.at, theirs.at)),
        }
    }
    merged
}

/// The relations of an answer that the manifest loads too.
pub(crate) fn relations_of_policy(statement: Statement, constraint: &Statement) -> Statement {
    let loaded = Statement { filters: Vec::new(), order: Vec::new(), limit: None, ..constraint.clone() };
    with_policy(statement, &loaded)
}

fn smaller(ours: Option<u64>, theirs: Option<u64>) -> Option<u64> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
        (ours, theirs) => ours.or(theirs),
    }
}
