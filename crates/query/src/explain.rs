//! `explain`: the merged statement, and SQL, parameter types and predicates with their layers of each level. It shows no bound values.

use serde_json::{Map, Value as Object, json};

use crate::catalog::Field;
use crate::json::Json;
use crate::plan::predicate::Predicate;
use crate::plan::write::WritePlan;
use crate::plan::{Plan, PlanBody, RowSource, Select, Table};
use crate::pointer::Layer;
use crate::sql::write::WriteQuery;
use crate::sql::{Arity, Dialect, Level, Param, Query, Sql, Total, fragment};
use crate::statement::{Clause, Direction, Entry, Function, Inside, MeasureAlias, Order, RelationNode, Statement};

/// The merged statement as JSON. Its values come from the caller: query and wire constraint.
pub fn statement(statement: &Statement) -> Object {
    let mut object = Map::new();
    if let Some(filter) = filters(&statement.filters) {
        object.insert("where".into(), filter);
    }
    if !statement.relations.is_empty() {
        object.insert("relations".into(), relations(&statement.relations));
    }
    if !statement.order.is_empty() {
        object.insert("order".into(), order(&statement.order));
    }
    if let Some(aggregation) = &statement.aggregation {
        let fields: Vec<Object> = aggregation
            .fields
            .iter()
            .map(|field| match &field.alias {
                MeasureAlias::Named(alias) => json!({ "fn": field.function.map(Function::as_str), "field": field.field, "as": alias }),
                MeasureAlias::Default | MeasureAlias::Refused => {
                    json!({ "fn": field.function.map(Function::as_str), "field": field.field })
                }
            })
            .collect();
        let groups: Vec<&str> = aggregation.group_by.iter().map(|(name, _)| &**name).collect();
        object.insert("aggregation".into(), json!({ "fields": fields, "groupBy": groups }));
    }
    bounds(&mut object, statement.limit, statement.offset);
    Object::Object(object)
}

fn bounds(object: &mut Map<String, Object>, limit: Option<u64>, offset: Option<u64>) {
    if let Some(limit) = limit {
        object.insert("limit".into(), limit.into());
    }
    if let Some(offset) = offset {
        object.insert("offset".into(), offset.into());
    }
}

fn filters(clauses: &[Clause]) -> Option<Object> {
    match clauses {
        [] => None,
        [only] => Some(clause(only)),
        several => Some(json!({ "and": several.iter().map(clause).collect::<Vec<_>>() })),
    }
}

fn clause(clause_: &Clause) -> Object {
    let mut object = Map::new();
    for entry in &clause_.entries {
        match entry {
            Entry::And(_, clauses) => object.insert("and".into(), clauses.iter().map(clause).collect()),
            Entry::Or(_, clauses) => object.insert("or".into(), clauses.iter().map(clause).collect()),
            Entry::Not(_, inner) => object.insert("not".into(), clause(inner)),
            Entry::Refused | Entry::Malformed { .. } => None,
            Entry::Named { name, inside, .. } => {
                let value = match inside {
                    Inside::Object(inner) => clause(inner),
                    Inside::Plain(json) => plain(json),
                };
                object.insert(name.to_string(), value)
            }
        };
    }
    Object::Object(object)
}

fn plain(json: &Json) -> Object {
    match json {
        Json::Null => Object::Null,
        Json::Bool(value) => Object::Bool(*value),
        Json::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| Object::String(text.to_string())),
        Json::Text(text) => Object::String(text.clone()),
        Json::Array(items) => items.iter().map(plain).collect(),
        Json::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
    }
}

fn order(entries: &[Order]) -> Object {
    entries
        .iter()
        .map(|entry| json!({ "field": entry.field, "dir": if entry.direction == Direction::Ascending { "asc" } else { "desc" } }))
        .collect()
}

fn relations(nodes: &[RelationNode]) -> Object {
    let mut object = Map::new();
    for node in nodes {
        let mut shape = Map::new();
        if let Some(filter) = filters(&node.filters) {
            shape.insert("where".into(), filter);
        }
        if !node.order.is_empty() {
            shape.insert("order".into(), order(&node.order));
        }
        bounds(&mut shape, node.limit, node.offset);
        if !node.relations.is_empty() {
            shape.insert("relations".into(), relations(&node.relations));
        }
        let value = if shape.is_empty() { Object::Bool(true) } else { Object::Object(shape) };
        object.insert(node.name.to_string(), value);
    }
    Object::Object(object)
}

/// The SQL, parameter types and predicates of each level, and the statement that counts.
pub fn levels(plan: &Plan<'_>, query: &Query, dialect: Dialect) -> Object {
    let mut levels = Vec::new();
    match &plan.body {
        PlanBody::Rows(select) => rows(&mut levels, "", select, &query.root, dialect),
        PlanBody::Groups(grouped) => levels.push(level("", &query.root.sql, &grouped.source, dialect)),
    }
    let total = match &query.total {
        Total::Count(sql) => json!({ "sql": sql.text(), "parameters": parameters(sql.params()) }),
        Total::One | Total::Unasked => Object::Null,
    };
    json!({ "levels": levels, "total": total })
}

/// The statements of a write in their order: SQL, parameter types, and predicates with their layers.
pub fn write(plan: &WritePlan<'_>, query: &WriteQuery, dialect: Dialect) -> Object {
    let mut levels = Vec::new();
    if let (Some(target), Some(rendered)) = (&plan.target, &query.target) {
        let mut found = level("target", &rendered.level.sql, &target.select.source, dialect);
        add_lifted(&mut found, Layer::Scope, plan);
        levels.push(found);
        if let (Some(child), Some(rendered)) = (&plan.lock, &rendered.lock) {
            levels.push(level("lock", &rendered.level.sql, &child.select.source, dialect));
        }
    }
    for ((layer, child), (_, rendered)) in plan.preconditions.iter().zip(&query.preconditions) {
        levels.push(level(layer.as_str(), &rendered.level.sql, &child.select.source, dialect));
    }
    for change in &query.changes {
        let sql = &change.sql;
        levels.push(json!({ "path": "change", "sql": sql.text(), "parameters": parameters(sql.params()), "predicates": [] }));
    }
    for check in &query.repeats {
        levels.push(json!({ "path": "unique", "sql": check.sql.text(), "parameters": parameters(check.sql.params()), "predicates": [] }));
    }
    let checked = levels.len();
    if let (Some(child), Some(rendered)) = (&plan.postcondition, &query.postcondition) {
        levels.push(level("after", &rendered.level.sql, &child.select.source, dialect));
    }
    if let (Some(child), Some(rendered)) = (&plan.answer, &query.answer) {
        rows(&mut levels, "answer", &child.select, &rendered.level, dialect);
    }
    if let Some(found) = levels.get_mut(checked) {
        add_lifted(found, Layer::Check, plan);
    }
    json!({ "operation": plan.form.as_str(), "levels": levels, "total": Object::Null })
}

/// Shows at a level that a rule of the manifest does not bind the viewer, and the permission that lifts it.
fn add_lifted(level: &mut Object, layer: Layer, plan: &WritePlan<'_>) {
    let lifted = plan.lifted.iter().filter(|(lifted, _)| *lifted == layer);
    let resource = &plan.resource.full_name;
    let shown = lifted.map(|(_, permission)| lifted_predicate(layer, resource, permission));
    if let Some(predicates) = level["predicates"].as_array_mut() {
        predicates.extend(shown);
    }
}

fn lifted_predicate(layer: Layer, resource: &str, permission: &str) -> Object {
    json!({ "source": layer.as_str(), "resource": resource, "sql": "TRUE", "parameters": [], "unless": permission })
}

fn rows(levels: &mut Vec<Object>, path: &str, select: &Select<'_>, rendered: &Level, dialect: Dialect) {
    levels.push(level(path, &rendered.sql, &select.source, dialect));
    for (child, rendered) in select.children.iter().zip(&rendered.children) {
        let name = &child.relation.name;
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        rows(levels, &path, &child.select, &rendered.level, dialect);
    }
}

fn level(path: &str, sql: &Sql, source: &RowSource<'_>, dialect: Dialect) -> Object {
    let predicates = Predicates::of(source, sql, dialect);
    json!({ "path": path, "sql": sql.text(), "parameters": parameters(sql.params()), "predicates": predicates })
}

fn parameters(params: &[Param]) -> Vec<String> {
    params
        .iter()
        .map(|param| match param.arity {
            Arity::One => param.kind.as_str().to_owned(),
            Arity::List => format!("{}[]", param.kind.as_str()),
        })
        .collect()
}

/// The predicates of a level, each with its layer.
struct Predicates<'s> {
    list: Vec<Object>,
    /// The SQL of the level.
    sql: &'s Sql,
    dialect: Dialect,
}

/// Where a predicate comes from.
#[derive(Clone, Copy)]
enum Source<'f> {
    Layer(Layer),
    /// The `where` of a derived field.
    Field(&'f Field),
}

impl<'s> Predicates<'s> {
    fn of(source: &RowSource<'_>, sql: &'s Sql, dialect: Dialect) -> Vec<Object> {
        let mut predicates = Predicates { list: Vec::new(), sql, dialect };
        predicates.table(&source.table);
        for (layer, predicate) in &source.filters {
            predicates.predicate(&source.table, Source::Layer(*layer), predicate);
        }
        for join in &source.joins {
            predicates.table(&join.table);
        }
        predicates.list
    }

    fn table(&mut self, table: &Table<'_>) {
        if let Some(permission) = table.lifted_by() {
            self.list.push(lifted_predicate(Layer::Policy, &table.resource.full_name, permission));
        }
        self.predicate(table, Source::Layer(Layer::Policy), table.policy());
        for lookup in table.lookups() {
            self.table(&lookup.table);
            self.predicate(&lookup.table, Source::Field(lookup.field), &lookup.filter);
        }
    }

    fn predicate(&mut self, table: &Table<'_>, source: Source<'_>, predicate: &Predicate<'_>) {
        match predicate {
            Predicate::Always => {}
            Predicate::All(all) => all.iter().for_each(|predicate| self.predicate(table, source, predicate)),
            other => {
                let sql = fragment(other, self.sql, self.dialect);
                let (word, field) = match source {
                    Source::Layer(layer) => (layer.as_str(), None),
                    Source::Field(field) => ("field", Some(field).filter(|field| !field.hidden)),
                };
                let resource = &table.resource.full_name;
                let mut shown = json!({ "source": word, "resource": resource, "sql": sql.text(), "parameters": parameters(sql.params()) });
                if let Some(field) = field {
                    shown["field"] = json!(field.name);
                }
                self.list.push(shown);
                self.inside(other);
            }
        }
    }

    /// The policies of the tables that a predicate reaches.
    fn inside(&mut self, predicate: &Predicate<'_>) {
        match predicate {
            Predicate::All(all) | Predicate::Any(all) => all.iter().for_each(|predicate| self.inside(predicate)),
            Predicate::Not(inner) => self.inside(inner),
            Predicate::Exists(exists) => {
                self.table(&exists.table);
                self.inside(&exists.filter);
            }
            _ => {}
        }
    }
}
