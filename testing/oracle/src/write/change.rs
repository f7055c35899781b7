//! Changes the rows of a write, and finds the faults of each.

use super::body::{Item, is_list, member, same_key};
use super::database;
use super::outcome::{WriteFault, WriteOutcome};
use super::transition::{Key, Writing};
use super::value;
use super::{Form, Moment};
use crate::cell::Cell;
use crate::session::Session;
use crate::world::{Row, World};

impl Writing<'_> {
    /// Changes the rows one after the other, and checks what they have become.
    pub(super) fn change(&self, items: &[Item], targets: &[Key], moment: &Moment) -> Result<(WriteOutcome, Option<World>), WriteOutcome> {
        let mut attempt = Attempt {
            world: self.world.clone(),
            faults: Vec::new(),
            broken: Vec::new(),
            refused: Vec::new(),
            changed: Vec::new(),
            wanted: Vec::new(),
            targets: targets.to_vec(),
            items: items.to_vec(),
        };
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
        let missing = if self.refers_to(earlier, &row) { Vec::new() } else { self.references(&next, item, &row, &place, &[]) };
        let mut faults = Vec::new();
        for key in &self.world.table(&self.resource.name).unique {
            let values = |item: &Item| -> Option<Key> {
                let value =
                    |name: &&str| item.set.iter().find(|(field, _)| *field == self.resource.index(name)).map(|(_, cell)| cell.clone());
                key.iter().map(value).collect::<Option<Key>>().filter(|cells| cells.iter().all(|cell| !cell.is_null()))
            };
            let Some(wanted) = values(item) else { continue };
            let held = |row: &Row| same_key(&key.iter().map(|name| row[self.resource.index(name)].clone()).collect::<Key>(), &wanted);
            let is_taken = self.world.rows(&self.resource.name).iter().any(held);
            // A conflict would tell whether there is such a row.
            if missing.iter().any(|(own, _)| own.iter().any(|name| key.contains(&name.as_str()))) {
                continue;
            }
            if is_taken || earlier.iter().any(|item| values(item).is_some_and(|values| same_key(&values, &wanted))) {
                faults.extend(self.faults_at("EXISTS", key, item, &place));
            }
        }
        faults.extend(missing.into_iter().flat_map(|(_, faults)| faults));
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
            let missing = self.references(&self.with_row(&next, index, &row), item, &row, &place, &stuck);
            faults.extend(self.conflicts(attempt, item, (&row, key), (&missing, &stuck)));
            faults.extend(missing.into_iter().flat_map(|(_, faults)| faults));
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

    /// The unique keys that another row has, or an earlier row of the same write. A key with a part that refers to no row is left out.
    fn conflicts(
        &self,
        attempt: &mut Attempt,
        item: &Item,
        (row, own): (&Row, &Key),
        (missing, stuck): (&[MissingReference], &[&str]),
    ) -> Vec<WriteFault> {
        let place = self.item_place(if is_list(self.request) { attempt.changed.len() } else { 0 });
        let values = |row: &Row, key: &[&str]| -> Key { key.iter().map(|name| row[self.resource.index(name)].clone()).collect() };
        let mut faults = Vec::new();
        for (number, key) in self.world.table(&self.resource.name).unique.iter().enumerate() {
            let fields: Vec<usize> = key.iter().map(|name| self.resource.index(name)).collect();
            let is_added = fields.iter().any(|field| item.add.iter().any(|(added, _)| added == field));
            let wanted = values(row, key);
            let is_changed = fields.iter().any(|field| item.writes(*field)) && !wanted.iter().any(Cell::is_null);
            let is_stuck = key.iter().any(|name| stuck.contains(name));
            if !is_changed || is_stuck || (is_added && attempt.targets.len() > 1) {
                continue;
            }
            // The database decides whether another row of the write makes way in time.
            let makes_way = |other: &Row, key_of: &Key| {
                let Some(place) = attempt.targets.iter().position(|target| same_key(target, key_of)) else { return false };
                let item = &attempt.items[if is_list(self.request) { place } else { 0 }];
                let set = |field: &usize| item.set.iter().find(|(set, _)| set == field).map_or(&other[*field], |(_, cell)| cell).clone();
                let after: Key = fields.iter().map(set).collect();
                fields.iter().any(|field| item.writes(*field)) && !same_key(&after, &wanted)
            };
            let is_held = |other: &Row| {
                let key_of = self.key_of(other);
                !same_key(&key_of, own) && same_key(&values(other, key), &wanted) && !makes_way(other, &key_of)
            };
            let is_taken = attempt.wanted.iter().any(|(other, earlier)| *other == number && same_key(earlier, &wanted));
            let is_hidden = missing.iter().any(|(own, _)| own.iter().any(|name| key.contains(&name.as_str())));
            if !is_hidden && (is_taken || self.world.rows(&self.resource.name).iter().any(is_held)) {
                faults.extend(self.faults_at("EXISTS", key, item, &place));
            }
            attempt.wanted.push((number, wanted));
        }
        faults
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

    /// The references that the item writes and that lead to no row that the viewer can read, and its broken foreign keys. A number that is stuck in its range leads
    /// nowhere.
    fn references(&self, world: &World, item: &Item, row: &Row, place: &str, stuck: &[&str]) -> Vec<MissingReference> {
        let session = Session::new(world, self.viewer);
        let resource = session.resource(&self.resource.name);
        let mut missing = Vec::new();
        for relation in resource.relations.iter().filter(|relation| !relation.many && relation.through.is_none()) {
            let own: Vec<&str> = relation.on.iter().map(|(own, _)| own.as_str()).collect();
            let is_written = own.iter().any(|name| item.writes(resource.index(name)));
            let is_null = own.iter().any(|name| row[resource.index(name)].is_null());
            let can_read = self.viewer.can_read(session.resource(&relation.target));
            let is_stuck = own.iter().any(|name| stuck.contains(name));
            if is_written && !is_null && !is_stuck && can_read && session.related(resource, row, relation).is_empty() {
                let faults = self.faults_at("NO_SUCH_ROW", &own, item, place);
                missing.push((own.into_iter().map(str::to_owned).collect(), faults));
            }
        }
        let is_reference = |fields: &[&str]| {
            let mut relations = resource.relations.iter().filter(|relation| !relation.many && relation.through.is_none());
            relations.any(|relation| {
                let can_read = self.viewer.can_read(session.resource(&relation.target));
                can_read && relation.on.len() == fields.len() && relation.on.iter().all(|(own, _)| fields.contains(&own.as_str()))
            })
        };
        // Where the viewer reads no relation, the foreign key alone decides. A default of a new row is not known before.
        for key in world.table(&self.resource.name).foreign_keys.iter().filter(|key| !is_reference(key.fields)) {
            let mut written = key.fields.iter().map(|name| item.writes(resource.index(name)));
            let is_written = if self.request.form.operation() == "create" { written.all(|is| is) } else { written.any(|is| is) };
            let is_stuck = key.fields.iter().any(|name| stuck.contains(name));
            if is_written && !is_stuck && !database::leads(world, self.resource, row, key) {
                let faults = self.faults_at("NO_SUCH_ROW", key.fields, item, place);
                missing.push((key.fields.iter().map(|&name| name.to_owned()).collect(), faults));
            }
        }
        missing
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
            "update" if member(self.request, "payload").is_none() => "/increment".to_owned(),
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
            let is_right = is_visible && self.meets_rule(&attempt.world, self.rules.check.as_ref(), row);
            if !is_right && !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        attempt.faults.extend(faults);
    }
}

/// The own fields of a reference that leads nowhere, and its faults.
type MissingReference = (Vec<String>, Vec<WriteFault>);

/// What the items of a write have done so far.
struct Attempt {
    world: World,
    faults: Vec<WriteFault>,
    broken: Vec<Vec<Vec<WriteFault>>>,
    /// The items that the database refused.
    refused: Vec<String>,
    /// The places and keys of the items.
    changed: Vec<(String, Key)>,
    /// The unique keys that changed rows shall have, each with its number.
    wanted: Vec<(usize, Key)>,
    /// The keys of all rows to change.
    targets: Vec<Key>,
    items: Vec<Item>,
}
