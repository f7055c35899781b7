//! Looks up what the values of a write meet in the database: rows that they refer to, and rows that have the same unique key.

use std::collections::HashSet;

use query::catalog::FieldId;
use query::sql::write::{Diagnosis, ReferenceCheck, UniqueCheck, ValuesAfter};
use query::value::Value;

use crate::Error;
use crate::assemble::Keys;

use super::super::open_transaction::Statement;
use super::super::transaction::are_there;
use super::super::{Savepoint, StepError, TransactionError, WriteFault, WriteFaultKind, WriteTransaction};
use super::{add_once, item_of};

/// The parts of a key, each as the database reads it.
type Parts = Vec<Vec<u8>>;

/// Adds the references that lead to no row that the caller can read.
pub(super) async fn references<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    targets: &Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    for reference in &diagnosis.references {
        let ReferenceCheck { after, level, .. } = reference;
        let rows = values_after::<S>(diagnosis, after, targets, &stored(transaction, after, targets).await?);
        let keys = keys_of_parts(after.kinds.len(), &rows);
        let there = are_there(transaction, level, &keys).await?;
        for row in 0..rows.len() {
            let is_missing = keys.number(row).is_some_and(|number| !there[number]);
            if is_missing && !reference.refers_to_new_row(row) {
                let (item, fields) = (item_of(diagnosis, row), after.fields.clone());
                add_once(faults, WriteFault { kind: WriteFaultKind::NoSuchRow, item, fields });
            }
        }
    }
    Ok(())
}

/// Adds the foreign keys that lead to no row, and that no reference of the viewer covers.
pub(super) async fn foreign_keys<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    targets: &Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    for check in &diagnosis.foreign_keys {
        let after = &check.after;
        let rows = values_after::<S>(diagnosis, after, targets, &stored(transaction, after, targets).await?);
        let keys = keys_of_parts(after.kinds.len(), &rows);
        if keys.len() == 0 {
            continue;
        }
        transaction.savepoint(Savepoint::Set).await?;
        let found = match transaction.numbers(Statement::of(&check.sql, Some(&keys))).await {
            Ok(found) => Some(found),
            // The database alone decides then.
            Err(StepError::Refused(_) | StepError::Store(Error::Refused(_) | Error::Unsupported(_))) => None,
            Err(error) => return Err(error.into()),
        };
        transaction.savepoint(Savepoint::Undo).await?;
        let Some(found) = found else { continue };
        for row in 0..rows.len() {
            let is_missing = keys.number(row).is_some_and(|number| !found.contains(&(number as u32)));
            if is_missing && !check.refers_to_new_row(row) {
                let (item, fields) = (item_of(diagnosis, row), after.fields.clone());
                add_once(faults, WriteFault { kind: WriteFaultKind::NoSuchRow, item, fields });
            }
        }
    }
    Ok(())
}

/// Adds the unique keys that another row has, or an earlier row of the same write. A key with a part that refers to no row that the caller
/// can read is left out: a conflict would tell whether there is such a row.
pub(super) async fn unique_keys<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    targets: &Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    // Of several numbers that a write adds to, the database decides which may pass the others.
    for UniqueCheck { after, sql } in diagnosis.unique_keys.iter().filter(|check| !check.after.has_sum || targets.len() < 2) {
        let stored = stored(transaction, after, targets).await?;
        let rows = values_after::<S>(diagnosis, after, targets, &stored);
        let known: Vec<Parts> = targets.each().collect();
        let own: Vec<&Parts> = (0..targets.rows()).filter_map(|row| known.get(targets.number(row)?)).collect();
        let with_own_key = |(row, parts): (usize, &Option<Parts>)| {
            let own = own.get(row).map_or(&[][..], |own| own.as_slice());
            parts.as_ref().map(|parts| [parts, own].concat())
        };
        let wanted: Vec<Option<Parts>> = rows.iter().enumerate().map(with_own_key).collect();
        let keys = keys_of_parts(after.kinds.len() + targets_width(targets), &wanted);
        let mut is_held = vec![false; keys.len()];
        if keys.len() > 0 {
            for number in transaction.numbers(Statement::of(sql, Some(&keys))).await? {
                is_held[number as usize] = true;
            }
        }
        let wanted: Vec<Option<Parts>> = rows.iter().map(|parts| comparable::<S>(after, parts.clone()?.into_iter().map(Some))).collect();
        let stored: Vec<Option<Parts>> = stored.into_iter().map(|parts| comparable::<S>(after, parts.into_iter())).collect();
        let mut taken: HashSet<&Parts> = HashSet::new();
        for (row, parts) in wanted.iter().enumerate() {
            let Some(parts) = parts else { continue };
            let item = item_of(diagnosis, row);
            let is_taken = !taken.insert(parts);
            let makes_way = |other: usize| {
                let is_changed = after.set[diagnosis.row_of(other)].is_some() && wanted[other].as_ref() != Some(parts);
                other != row && is_changed && stored[other].as_ref() == Some(parts)
            };
            // The database decides whether another row of the write makes way in time.
            let is_held = keys.number(row).is_some_and(|number| is_held[number]) && !(0..stored.len()).any(makes_way);
            if (is_taken || is_held) && !has_missing_reference(faults, item, &after.fields) {
                add_once(faults, WriteFault { kind: WriteFaultKind::Exists, item, fields: after.fields.clone() });
            }
        }
    }
    Ok(())
}

/// Adds the conflicts with unique indexes that no list of columns describes.
pub(super) async fn indexes<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    targets: &Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    let is_create = diagnosis.target.is_none();
    for check in diagnosis.indexes.iter().filter(|check| !check.has_sum || targets.len() < 2) {
        for (row, sql) in check.rows.iter().enumerate() {
            let Some(sql) = sql.as_ref().filter(|_| is_create || targets.len() > 0) else { continue };
            transaction.savepoint(Savepoint::Set).await?;
            let found = match transaction.numbers(Statement::of(sql, (!is_create).then_some(targets))).await {
                Ok(found) => found,
                // An expression fails on the new values. The database alone decides then.
                Err(StepError::Refused(_) | StepError::Store(Error::Refused(_) | Error::Unsupported(_))) => Vec::new(),
                Err(error) => return Err(error.into()),
            };
            transaction.savepoint(Savepoint::Undo).await?;
            let item = item_of(diagnosis, row);
            if !found.is_empty() && !has_missing_reference(faults, item, &check.fields) {
                add_once(faults, WriteFault { kind: WriteFaultKind::Exists, item, fields: check.fields.clone() });
            }
        }
    }
    Ok(())
}

/// How many parts the key of a changed row has; new rows have none yet.
fn targets_width(targets: &Keys) -> usize {
    if targets.len() > 0 { targets.width() } else { 0 }
}

/// The same parts for equal values; none if one of them is NULL.
fn comparable<S: WriteTransaction>(after: &ValuesAfter, parts: impl Iterator<Item = Option<Vec<u8>>>) -> Option<Parts> {
    after.kinds.iter().zip(parts).map(|(kind, part)| Some(S::comparable(*kind, part?))).collect()
}

fn has_missing_reference(faults: &[WriteFault], item: Option<usize>, fields: &[FieldId]) -> bool {
    let is_part = |fault: &&WriteFault| fault.item == item && fault.kind == WriteFaultKind::NoSuchRow;
    faults.iter().filter(is_part).any(|fault| fault.fields.iter().any(|field| fields.contains(field)))
}

/// What the rows to change have in these fields, with what the write adds; nothing if a sum leaves the range of its type.
async fn stored<S: WriteTransaction>(
    transaction: &mut S,
    after: &ValuesAfter,
    targets: &Keys,
) -> Result<Vec<Vec<Option<Vec<u8>>>>, TransactionError> {
    let Some(sql) = after.stored.as_ref().filter(|_| targets.len() > 0) else { return Ok(Vec::new()) };
    transaction.savepoint(Savepoint::Set).await?;
    let stored = match transaction.read(Statement::of(sql, Some(targets)), after.kinds.len()).await {
        Ok(rows) => rows,
        Err(StepError::Refused(_)) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    transaction.savepoint(Savepoint::Undo).await?;
    // In the order of the rows, which may name one twice.
    let row_of = |row| targets.number(row).and_then(|number| stored.get(number)).cloned();
    Ok((0..targets.rows()).map_while(row_of).collect())
}

/// The values of the fields after the write, for each row that it makes or changes; none if one of them is NULL or unknown.
fn values_after<S: WriteTransaction>(
    diagnosis: &Diagnosis,
    after: &ValuesAfter,
    targets: &Keys,
    stored: &[Vec<Option<Vec<u8>>>],
) -> Vec<Option<Parts>> {
    let count = if diagnosis.target.is_some() { targets.rows() } else { after.set.len() };
    let row = |row: usize| {
        let set = after.set[diagnosis.row_of(row)].as_ref()?;
        let part = |(place, value): (usize, &Option<Value>)| match value {
            Some(Value::Null) => None,
            Some(value) => Some(S::key_part(after.kinds[place], value)),
            None => stored.get(row)?[place].clone(),
        };
        set.iter().enumerate().map(part).collect()
    };
    (0..count).map(row).collect()
}

fn keys_of_parts(width: usize, rows: &[Option<Parts>]) -> Keys {
    let mut keys = Keys::new(width);
    for row in rows {
        match row {
            Some(parts) => keys.add(parts.iter().map(|part| Some(part.as_slice()))),
            None => keys.add((0..width).map(|_| None)),
        }
    }
    keys
}
