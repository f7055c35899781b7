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
        if !viewer.can_read(resource) && ["query", "expect", "constraint", "all"].iter().any(has) {
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
        let found = load::filtered(&session, resource, reach, &statement);
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

<<<<<<< HEAD
    /// Changes the rows one after the other, and checks what they have become.
    fn change(&self, items: &[Item], targets: &[Key], moment: &Moment) -> Result<(WriteOutcome, Option<World>), WriteOutcome> {
        let mut attempt =
            Attempt { world: self.world.clone(), faults: Vec::new(), broken: Vec::new(), refused: Vec::new(), changed: Vec::new() };
        let answer_before = (self.request.form.operation() == "delete").then(|| self.answer(self.world, targets));
        if self.request.form == Form::Create {
            for (index, item) in items.iter().enumerate() {
                self.create(&mut attempt, &items[..index], item, moment.keys.get(index).copied());
            }
        } else if is_list(self.request) {
            for (item, key) in items.iter().zip(targets) {
                self.update(&mut attempt, item, std::slice::from_ref(key));
            }
        } else if self.request.form.operation() == "delete" && self.resource.soft_delete.is_none() {
            self.delete(&mut attempt, targets);
        } else {
            self.update(&mut attempt, &items[0], targets);
        }
        if self.request.form.operation() != "delete" {
            self.after(&mut attempt);
        }
        let Attempt { world, faults, broken, changed, .. } = attempt;
        if !faults.is_empty() || !broken.is_empty() {
            return Err(WriteOutcome::Refused { faults, broken });
        }
        let keys: Vec<Key> =
            if self.request.form == Form::Create { changed.into_iter().map(|(_, key)| key).collect() } else { targets.to_vec() };
        Ok((answer_before.unwrap_or_else(|| self.answer(&world, &keys)), Some(world)))
    }

    fn create(&self, attempt: &mut Attempt, earlier: &[Item], item: &Item, made: Option<i64>) {
        let number = earlier.len();
        let cell = |index: usize| {
            let given = item.set.iter().find(|(field, _)| *field == index).map(|(_, cell)| cell.clone());
            let table = self.world.table(&self.resource.name);
            match given {
                Some(cell) => cell,
                // Any key that no row has, if the database did not make one.
                None if self.resource.fields[index].key && table.makes_key => Cell::Whole(made.unwrap_or(-1 - number as i64)),
                None => database::default(self.world, self.resource, index),
            }
        };
        let row: Row = (0..self.resource.fields.len()).map(cell).collect();
        let place = self.item_place(number);
        let key = self.key_of(&row);
        let mut next = attempt.world.clone();
        next.rows_mut(&self.resource.name).push(row.clone());
        // A row that refers to a refused row of the same payload may be right.
        let mut faults = if self.refers_to(earlier, &row) { Vec::new() } else { self.references(&next, item, &row, &place, &[]) };
        for key in &self.world.table(&self.resource.name).unique {
            let values = |item: &Item| -> Option<Key> {
                let value =
                    |name: &&str| item.set.iter().find(|(field, _)| *field == self.resource.index(name)).map(|(_, cell)| cell.clone());
                key.iter().map(value).collect::<Option<Key>>().filter(|cells| cells.iter().all(|cell| !cell.is_null()))
            };
            let Some(wanted) = values(item) else { continue };
            let held = |row: &Row| same_key(&key.iter().map(|name| row[self.resource.index(name)].clone()).collect::<Key>(), &wanted);
            let is_taken = self.world.rows(&self.resource.name).iter().any(held);
            if is_taken || earlier.iter().any(|item| values(item).is_some_and(|values| same_key(&values, &wanted))) {
                faults.extend(self.faults_at("EXISTS", key, item, &place));
            }
        }
        if !faults.is_empty() {
            return attempt.faults.extend(faults);
        }
        let index = next.rows(&self.resource.name).len() - 1;
        self.settle(attempt, next, &[index], item, &place);
        attempt.changed.push((place, key));
    }

    /// Whether the row refers to one of these items. Only categories refer to themselves, and have one reference.
    fn refers_to(&self, earlier: &[Item], row: &Row) -> bool {
        self.resource.relations.iter().filter(|relation| !relation.many && relation.target == self.resource.name).any(|relation| {
            let (own, other) = &relation.on[0];
            let made = |item: &Item| item.set.iter().find(|(field, _)| *field == self.resource.index(other)).map(|(_, cell)| cell.clone());
            earlier.iter().filter_map(made).any(|cell| row[self.resource.index(own)].equals(&cell) == Some(true))
        })
    }

    /// Changes rows as one item says.
    fn update(&self, attempt: &mut Attempt, item: &Item, keys: &[Key]) {
        let number = if is_list(self.request) { attempt.changed.len() } else { 0 };
        let place = self.item_place(number);
        let mut next = attempt.world.clone();
        let mut faults = Vec::new();
        let mut changed = Vec::new();
        for key in keys {
            let index = self.place(&next, key);
            let mut row = next.rows(&self.resource.name)[index].clone();
            for (field, cell) in &item.set {
                row[*field] = cell.clone();
            }
            let mut stuck = Vec::new();
            for (field, added) in &item.add {
                let declared = &self.resource.fields[*field];
                if let Some(sum) = value::sum(declared, &row[*field], added).filter(|sum| value::is_in_bounds(declared, sum)) {
                    row[*field] = sum;
                } else {
                    faults.push(WriteFault::new("OUT_OF_RANGE", format!("/increment/{}", declared.name)));
                    stuck.push(declared.name.as_str());
                }
            }
            faults.extend(self.references(&self.with_row(&next, index, &row), item, &row, &place, &stuck));
            next.rows_mut(&self.resource.name)[index] = row;
            changed.push(index);
        }
        if faults.is_empty() {
            self.settle(attempt, next, &changed, item, &place);
        } else {
            attempt.faults.extend(faults);
        }
        attempt.changed.extend(keys.iter().map(|key| (place.clone(), key.clone())));
    }

    fn with_row(&self, world: &World, index: usize, row: &Row) -> World {
        let mut world = world.clone();
        world.rows_mut(&self.resource.name)[index].clone_from(row);
        world
    }

    fn delete(&self, attempt: &mut Attempt, keys: &[Key]) {
        let mut next = attempt.world.clone();
        next.rows_mut(&self.resource.name).retain(|row| !keys.iter().any(|key| same_key(&self.key_of(row), key)));
        for key in keys {
            let row = &self.world.rows(&self.resource.name)[self.place(self.world, key)];
            if database::is_in_use(&next, self.resource, row) && attempt.faults.is_empty() {
                attempt.faults.push(WriteFault::new("IN_USE", ""));
            }
        }
        attempt.world = next;
    }

    /// Keeps the change of an item if the database does.
    fn settle(&self, attempt: &mut Attempt, next: World, changed: &[usize], item: &Item, place: &str) {
        let mut broken: Vec<Vec<WriteFault>> = Vec::new();
        for index in changed {
            for (code, fields) in database::broken(&next, self.resource, *index) {
                broken.push(self.faults_at(code, &fields, item, place));
            }
        }
        if broken.is_empty() {
            attempt.world = next;
        } else {
            attempt.broken.push(broken);
            attempt.refused.push(place.to_owned());
        }
    }

    /// The references that the item writes and that lead to no row that the viewer can read. A number that is stuck in its range leads
    /// nowhere.
    fn references(&self, world: &World, item: &Item, row: &Row, place: &str, stuck: &[&str]) -> Vec<WriteFault> {
        let session = Session::new(world, self.viewer);
        let resource = session.resource(&self.resource.name);
        let mut faults = Vec::new();
        for relation in resource.relations.iter().filter(|relation| !relation.many && relation.through.is_none()) {
            let own: Vec<&str> = relation.on.iter().map(|(own, _)| own.as_str()).collect();
            let is_written = own.iter().any(|name| item.writes(resource.index(name)));
            let is_null = own.iter().any(|name| row[resource.index(name)].is_null());
            let can_read = self.viewer.can_read(session.resource(&relation.target));
            let is_stuck = own.iter().any(|name| stuck.contains(name));
            if is_written && !is_null && !is_stuck && can_read && session.related(resource, row, relation).is_empty() {
                faults.extend(self.faults_at("NO_SUCH_ROW", &own, item, place));
            }
        }
        faults
    }

    /// A fault at each of these fields that the payload has, or at the item.
    fn faults_at(&self, code: &str, fields: &[&str], item: &Item, place: &str) -> Vec<WriteFault> {
        let is_in_payload = |name: &&&str| {
            let field = self.resource.field(name).expect("a field");
            field.writes.is_any() && item.writes(self.resource.index(name))
        };
        let named: Vec<WriteFault> = fields.iter().filter(is_in_payload).map(|name| self.fault_at(code, name, item, place)).collect();
        if named.is_empty() { vec![WriteFault::new(code, place)] } else { named }
    }

    fn fault_at(&self, code: &str, name: &str, item: &Item, place: &str) -> WriteFault {
        let is_added = item.add.iter().any(|(field, _)| *field == self.resource.index(name));
        WriteFault::new(code, format!("{}/{name}", if is_added { "/increment" } else { place }))
    }

    fn item_place(&self, number: usize) -> String {
        match self.request.form.operation() {
            "create" | "update" if is_list(self.request) => format!("/payload/{number}"),
            "create" | "update" => "/payload".to_owned(),
            _ => String::new(),
        }
    }

    /// Rows without another fault must be in reach and as `check` says.
    fn after(&self, attempt: &mut Attempt) {
        let session = Session::new(&attempt.world, self.viewer);
        let resource = session.resource(&self.resource.name);
        let visible: Vec<Key> = session.visible(resource).iter().map(|row| self.key_of(row)).collect();
        let mut faults = Vec::new();
        for (place, key) in &attempt.changed {
            let is_below = |path: &str| path == place || path.starts_with(&format!("{place}/")) || path.starts_with("/increment");
            let is_faulty = attempt.faults.iter().any(|fault| is_below(&fault.path)) || attempt.refused.contains(place);
            if is_faulty {
                continue;
            }
            let row = &attempt.world.rows(&self.resource.name)[self.place(&attempt.world, key)];
            let is_visible = visible.iter().any(|other| same_key(other, key));
            let fault = WriteFault::new("CHECK_FAILED", place.clone());
            if !(faults.contains(&fault) || is_visible && self.meets_rule(&attempt.world, self.rules.check.as_ref(), row)) {
                faults.push(fault);
            }
        }
        attempt.faults.extend(faults);
    }

=======
>>>>>>> write-oracle
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
            let parts = resource.keys().into_iter().zip(key).map(|(field, cell)| (field.name.clone(), cell.show(field.kind)));
            Value::Object(parts.collect::<Map<_, _>>())
        };
        let mut rows: Vec<Value> = keys.iter().map(shown).collect();
        let is_one = self.request.form.takes_id() || (self.request.form == Form::Create && !is_list(self.request));
        let answer = if is_one { rows.remove(0) } else { Value::Array(rows) };
        WriteOutcome::Done { count: keys.len(), rows: Some(answer) }
    }
}
