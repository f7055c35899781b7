//! The data as one viewer sees it: visible rows, related rows, and rows that meet a clause.

use crate::cell::Cell;
use crate::derived;
use crate::operator::{apply, both, either, negated};
use crate::policy;
use crate::schema::{Relation, Resource};
use crate::viewer::Viewer;
use crate::world::{Row, World};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub world: &'a World,
    pub viewer: &'a Viewer,
    /// The visible rows of each resource, cached.
    visible: RefCell<BTreeMap<String, Rc<Vec<&'a Row>>>>,
    /// The values of derived fields, by the place of the row in memory and the number of the field; cached.
    derived: RefCell<HashMap<(usize, usize), Cell>>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(world: &'a World, viewer: &'a Viewer) -> Self {
        Self { world, viewer, visible: RefCell::default(), derived: RefCell::default() }
    }

    pub(crate) fn resource(&self, name: &str) -> &'a Resource {
        self.world.schema.resource(name)
    }

    /// The value of a field in a row.
    pub(crate) fn cell(&self, resource: &'a Resource, row: &Row, index: usize) -> Cell {
        let field = &resource.fields[index];
        let Some(declared) = &field.derived else {
            return row[index].clone();
        };
        let place = (std::ptr::from_ref(row).addr(), index);
        if let Some(known) = self.derived.borrow().get(&place) {
            return known.clone();
        }
        let value = derived::value(self, resource, row, field, declared);
        self.derived.borrow_mut().insert(place, value.clone());
        value
    }

    /// The rows that are not soft-deleted and meet the manifest's constraint.
    pub(crate) fn visible(&self, resource: &'a Resource) -> Rc<Vec<&'a Row>> {
        if let Some(known) = self.visible.borrow().get(&resource.name) {
            return Rc::clone(known);
        }
        let constraint = policy::scope(self.world, self.viewer, resource);
        let alive = |row: &Row| resource.soft_delete.as_ref().is_none_or(|field| row[resource.index(field)].is_null());
        let permitted = |row: &Row| match &constraint {
            policy::Scope::Everything => true,
            policy::Scope::Nothing => false,
            policy::Scope::Where(clause) => self.meets(resource, row, clause) == Some(true),
        };
        let rows: Vec<&Row> = self.world.rows(&resource.name).iter().filter(|row| alive(row) && permitted(row)).collect();
        let rows = Rc::new(rows);
        self.visible.borrow_mut().insert(resource.name.clone(), Rc::clone(&rows));
        rows
    }

    /// The visible related rows, each once.
    pub(crate) fn related(&self, resource: &'a Resource, row: &Row, relation: &Relation) -> Vec<&'a Row> {
        let target = self.resource(&relation.target);
        let candidates = self.visible(target);
        let leads_to = |other: &Row| match &relation.through {
            None => relation.on.iter().all(|(own, theirs)| row[resource.index(own)].equals(&other[target.index(theirs)]) == Some(true)),
            Some(through) => self.world.pivot(&through.table).iter().any(|pair| {
                let own = relation.on.iter().all(|(field, column)| same(resource, row, field, &pair[column]));
                own && through.to.iter().all(|(column, field)| same(target, other, field, &pair[column]))
            }),
        };
        candidates.iter().copied().filter(|other| leads_to(other)).collect()
    }

    /// Whether a row meets a where clause: true, false or unknown.
    pub(crate) fn meets(&self, resource: &'a Resource, row: &Row, clause: &Value) -> Option<bool> {
        let mut result = Some(true);
        for (key, value) in clause.as_object().expect("a clause is an object") {
            result = both(result, self.meets_entry(resource, row, key, value));
        }
        result
    }

    fn meets_entry(&self, resource: &'a Resource, row: &Row, key: &str, value: &Value) -> Option<bool> {
        let clauses = || value.as_array().expect("a connector holds a list").iter();
        match key {
            "and" => clauses().map(|clause| self.meets(resource, row, clause)).fold(Some(true), both),
            "or" => clauses().map(|clause| self.meets(resource, row, clause)).fold(Some(false), either),
            "not" => negated(self.meets(resource, row, value)),
            _ => match resource.relation(key) {
                Some(relation) => {
                    let target = self.resource(&relation.target);
                    let related = self.related(resource, row, relation);
                    Some(related.into_iter().any(|other| self.meets(target, other, value) == Some(true)))
                }
                None => self.meets_operators(resource, row, key, value),
            },
        }
    }

    fn meets_operators(&self, resource: &'a Resource, row: &Row, name: &str, values: &Value) -> Option<bool> {
        let index = resource.index(name);
        let cell = self.cell(resource, row, index);
        let operators = values.as_object().expect("operators are an object").iter();
        operators.map(|(operator, value)| apply(&resource.fields[index], &cell, operator, value)).fold(Some(true), both)
    }
}

fn same(resource: &Resource, row: &Row, field: &str, value: &Value) -> bool {
    let index = resource.index(field);
    row[index].equals(&Cell::given_or_null(&resource.fields[index], value)) == Some(true)
}
