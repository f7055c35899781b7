//! One write: the answer and the next state.

use super::body::{self, Item, is_list, key_part, member, same_key};
use super::outcome::WriteOutcome;
use super::value;
use super::{Form, Moment, WriteRequest};
use crate::cell::Cell;
use crate::load;
use crate::policy;
use crate::schema::{Kind, Resource, Rule, Writes};
use crate::session::Session;
use crate::statement::{Order, Statement};
use crate::viewer::Viewer;
use crate::world::{Row, World};
use serde_json::{Map, Value};

/// Answers a write, and gives the next state if the write changes it.
pub fn write(world: &World, viewer: &Viewer, request: &WriteRequest, moment: &Moment) -> (WriteOutcome, Option<World>) {
    match Writing::new(world, viewer, request).and_then(|writing| writing.run(moment)) {
        Ok((answer, next)) => (answer, next.filter(|_| member(request, "dryRun") != Some(&Value::Bool(true)))),
        Err(refusal) => (refusal, None),
    }
}

/// Whether a row of an update names the version that it must have.
fn names_version(viewer: &Viewer, resource: &Resource, request: &WriteRequest) -> bool {
    let version = resource.writes.as_ref().and_then(|writes| writes.version.as_deref());
    let version = version.and_then(|name| resource.field(name)).filter(|field| viewer.knows(field));
    let Some(version) = version.filter(|_| request.form.operation() == "update") else { return false };
    match member(request, "payload") {
        Some(Value::Array(rows)) => rows.iter().any(|row| row.get(&version.name).is_some()),
        Some(row) => row.get(&version.name).is_some(),
        None => false,
    }
}

/// A write that its viewer may make.
pub(super) struct Writing<'a> {
    pub(super) world: &'a World,
    pub(super) viewer: &'a Viewer,
    pub(super) request: &'a WriteRequest,
    pub(super) resource: &'a Resource,
    pub(super) rules: &'a Writes,
}

/// The key of a row.
pub(super) type Key = Vec<Cell>;

impl<'a> Writing<'a> {
    fn new(world: &'a World, viewer: &'a Viewer, request: &'a WriteRequest) -> Result<Self, WriteOutcome> {
        let resource = world.schema.resource(&request.resource);
        let rules = resource.writes.as_ref().ok_or(WriteOutcome::NoOperation)?;
        match rules.right(request.form.operation()) {
            None => return Err(WriteOutcome::NoOperation),
            Some(Value::String(permission)) if !viewer.has_permission(permission) => return Err(WriteOutcome::Forbidden),
            Some(_) => {}
        }
        // A condition on rows would tell of rows that the viewer may not read.
        let has = |key: &&str| request.form.keys().contains(key) && member(request, key).is_some_and(|value| *value != Value::Bool(false));
        // So would a version, and an increment with its bounds.
        let adds = member(request, "increment").and_then(Value::as_object).is_some_and(|increment| !increment.is_empty());
        let asks = ["query", "expect", "constraint", "all"].iter().any(has)
            || (adds && request.form.operation() == "update")
            || request.if_match.is_some()
            || names_version(viewer, resource, request);
        if !viewer.can_read(resource) && asks {
            return Err(WriteOutcome::Forbidden);
        }
        Ok(Self { world, viewer, request, resource, rules })
    }

    fn run(&self, moment: &Moment) -> Result<(WriteOutcome, Option<World>), WriteOutcome> {
        let mut items = body::read(self.world, self.viewer, self.request).map_err(WriteOutcome::Invalid)?;
        let mut uuids = moment.uuids.iter();
        for item in &mut items {
            self.presets(item, moment, &mut uuids)?;
        }
        if self.request.form == Form::Create {
            return self.change(&items, &[], moment);
        }
        let targets = self.targets(&items)?;
        self.before(&items, &targets)?;
        if targets.is_empty() {
            return Ok((self.answer(self.world, &targets), None));
        }
        self.change(&items, &targets, moment)
    }

    /// Adds the values that the server writes.
    fn presets(&self, item: &mut Item, moment: &Moment, uuids: &mut std::slice::Iter<'_, String>) -> Result<(), WriteOutcome> {
        let operation = self.request.form.operation();
        if operation == "delete" && self.resource.soft_delete.is_none() {
            return Ok(());
        }
        for (index, field) in self.resource.fields.iter().enumerate() {
            let preset = if operation == "create" { &field.writes.create_preset } else { &field.writes.update_preset };
            let Some(preset) = preset else { continue };
            let given = match preset.as_str() {
                Some("$now") if field.kind == Kind::Date => Some(Value::from(&moment.now[..10])),
                Some("$now") => Some(Value::from(moment.now.as_str())),
                Some("$uuid") => Some(Value::from(uuids.next().expect("a uuid for each row").as_str())),
                Some(name) if name.starts_with("$account.") => {
                    let path = name.trim_start_matches("$account.").split('.');
                    path.into_iter().try_fold(&self.viewer.account, |value, name| value.get(name)).cloned()
                }
                _ => Some(preset.clone()),
            };
            let cell = given.filter(|value| !value.is_null()).and_then(|value| value::written(field, &value));
            item.set.push((index, cell.ok_or(WriteOutcome::Forbidden)?));
        }
        if let Some(field) = &self.resource.soft_delete {
            let index = self.resource.index(field);
            match operation {
                "delete" => item.set.push((index, Cell::Text(moment.now.clone()))),
                "restore" => item.set.push((index, Cell::Null)),
                _ => {}
            }
        }
        if let Some(version) = &self.rules.version {
            let index = self.resource.index(version);
            let has_default = self.world.table(&self.resource.name).defaults.iter().any(|(name, _)| name == version);
            match operation {
                "create" if has_default => {}
                "create" => item.set.push((index, Cell::Whole(1))),
                _ => item.add.push((index, Cell::Whole(1))),
            }
        }
        Ok(())
    }

    pub(super) fn key_of(&self, row: &Row) -> Key {
        self.resource.keys().iter().map(|key| row[self.resource.index(&key.name)].clone()).collect()
    }

    pub(super) fn place(&self, world: &World, key: &Key) -> usize {
        let found = world.rows(&self.resource.name).iter().position(|row| same_key(&self.key_of(row), key));
        found.expect("the row exists")
    }

    /// The keys of the rows to change, in the order of the answer.
    fn targets(&self, items: &[Item]) -> Result<Vec<Key>, WriteOutcome> {
        let session = Session::new(self.world, self.viewer);
        let resource = session.resource(&self.resource.name);
        let reach: Vec<&Row> =
            if self.request.form == Form::RestoreById { self.deleted(&session) } else { session.visible(resource).to_vec() };
        let statement = Statement::parse_optional(member(self.request, "query"))
            .narrowed_by(Statement::parse_optional(member(self.request, "constraint")));
        let mut found = load::filtered(&session, resource, reach, &statement);
        let named: Vec<Key> = match self.request.form {
            Form::Update if is_list(self.request) => items.iter().map(|item| item.key.clone()).collect(),
            Form::Update | Form::Delete => {
                let mut statement = statement;
                statement.order.extend(self.resource.keys().iter().map(|key| Order { field: key.name.clone(), descending: false }));
                let rows = statement.cut(load::sorted(&session, resource, found, &statement).concat());
                if rows.len() > self.rules.max_rows {
                    return Err(WriteOutcome::TooManyRows);
                }
                return Ok(rows.into_iter().map(|row| self.key_of(row)).collect());
            }
            _ => vec![
                self.resource
                    .keys()
                    .iter()
                    .zip(&self.request.id)
                    .map(|(field, text)| key_part(field, text).expect("the id fits"))
                    .collect(),
            ],
        };
        // Rows beyond the limit of the wire constraint are out of reach.
        let is_named = |row: &&Row| named.iter().any(|key| same_key(key, &self.key_of(row)));
        found.retain(is_named);
        let by_key = Statement {
            order: self.resource.keys().iter().map(|key| Order { field: key.name.clone(), descending: false }).collect(),
            ..statement
        };
        let found = by_key.cut(load::sorted(&session, resource, found, &by_key).concat());
        let is_found = |key: &Key| found.iter().any(|row| same_key(&self.key_of(row), key));
        if named.iter().all(is_found) { Ok(named) } else { Err(WriteOutcome::NotFound) }
    }

    /// The deleted rows that the constraint of the viewer allows.
    fn deleted(&self, session: &Session<'a>) -> Vec<&'a Row> {
        let resource = session.resource(&self.resource.name);
        let field = resource.index(resource.soft_delete.as_ref().expect("a restore needs soft-delete"));
        let scope = policy::scope(self.world, self.viewer, resource);
        let is_permitted = |row: &Row| match &scope {
            policy::Scope::Everything => true,
            policy::Scope::Nothing => false,
            policy::Scope::Where(clause) => session.meets(resource, row, clause) == Some(true),
        };
        self.world.rows(&resource.name).iter().filter(|row| !row[field].is_null() && is_permitted(row)).collect()
    }

    /// Holds the rows against `scope`, `expect` and the versions.
    fn before(&self, items: &[Item], targets: &[Key]) -> Result<(), WriteOutcome> {
        let rows: Vec<&Row> = targets.iter().map(|key| &self.world.rows(&self.resource.name)[self.place(self.world, key)]).collect();
        if !rows.iter().all(|row| self.meets_rule(self.world, self.rules.scope.as_ref(), row)) {
            return Err(WriteOutcome::OutOfScope);
        }
        let session = Session::new(self.world, self.viewer);
        let resource = session.resource(&self.resource.name);
        let is_expected =
            |row: &&&Row| member(self.request, "expect").is_none_or(|clause| session.meets(resource, row, clause) == Some(true));
        if !rows.iter().all(|row| is_expected(&row)) {
            return Err(WriteOutcome::Stale);
        }
        let Some(version) = &self.rules.version else { return Ok(()) };
        let if_match = self.request.if_match.as_ref().map(|text| Cell::Whole(text.trim_matches('"').parse().expect("a version")));
        for (index, row) in rows.iter().enumerate() {
            let item = if is_list(self.request) { &items[index] } else { &items[0] };
            let held = &row[self.resource.index(version)];
            if item.version.iter().chain(&if_match).any(|expected| held.equals(expected) != Some(true)) {
                return Err(WriteOutcome::Stale);
            }
        }
        Ok(())
    }

    pub(super) fn meets_rule(&self, world: &World, rule: Option<&Rule>, row: &Row) -> bool {
        let lifted = |rule: &Rule| rule.unless.as_deref().is_some_and(|permission| self.viewer.has_permission(permission));
        let Some(rule) = rule.filter(|rule| !lifted(rule)) else { return true };
        let session = Session::new(world, self.viewer);
        let resource = world.schema.resource(&self.resource.name);
        policy::resolve_clause(world, self.viewer, resource, &rule.clause)
            .is_some_and(|clause| session.meets(session.resource(&self.resource.name), row, &clause) == Some(true))
    }

    /// The rows as the viewer sees them.
    pub(super) fn answer(&self, world: &World, keys: &[Key]) -> WriteOutcome {
        let returning = member(self.request, "returning");
        if returning == Some(&Value::Bool(false)) {
            return WriteOutcome::Done { count: keys.len(), rows: None };
        }
        let session = Session::new(world, self.viewer);
        let resource = session.resource(&self.resource.name);
        let statement = Statement::parse_optional(returning.filter(|returning| returning.is_object()));
        let shown = |key: &Key| {
            let row = &world.rows(&resource.name)[self.place(world, key)];
            if self.viewer.can_read(resource) {
                return load::shown(&session, resource, row, &statement);
            }
            let seen = resource.keys().into_iter().zip(key).filter(|(field, _)| self.viewer.knows(field));
            let parts = seen.map(|(field, cell)| (field.name.clone(), cell.show(field.kind)));
            Value::Object(parts.collect::<Map<_, _>>())
        };
        let mut rows: Vec<Value> = keys.iter().map(shown).collect();
        let is_one = self.request.form.takes_id() || (self.request.form == Form::Create && !is_list(self.request));
        let answer = if is_one { rows.remove(0) } else { Value::Array(rows) };
        WriteOutcome::Done { count: keys.len(), rows: Some(answer) }
    }
}
