//! Finds all faults of a refused write: references, unique keys, constraints of the database, ranges, and what rows must be afterwards.
//!
//! Each row is written by itself behind a savepoint, so one fault does not hide another. The caller rolls back.

mod lookups;

use query::catalog::FieldId;
use query::catalog::write_rules::{ConstraintKind, WriteOperation};
use query::sql::ChildLevel;
use query::sql::write::{Diagnosis, RowStatement};
use query::value::Value;

use crate::assemble::Keys;

use super::open_transaction::{RefusalKind, Statement};
use super::transaction::{are_there, find};
use super::{DatabaseRefusal, Savepoint, StepError, TransactionError, WriteFault, WriteFaultKind, WriteTransaction};

/// When deferred constraints are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeferredCheck {
    /// After all rows: rows may need each other.
    AtEnd,
    /// After each row, so that a refusal belongs to one.
    EachRow,
}

pub(crate) async fn diagnose<S: WriteTransaction>(transaction: &mut S, diagnosis: &Diagnosis) -> Result<Vec<WriteFault>, TransactionError> {
    let mut faults = Vec::new();
    match find_faults(transaction, diagnosis, &mut faults).await {
        // A trigger ended the transaction, and with it the diagnosis.
        Err(TransactionError::Unexplained) if !faults.is_empty() => {}
        result => result?,
    }
    faults.sort_by_key(|fault| (fault.item, fault.fields.first().copied()));
    Ok(faults)
}

async fn find_faults<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    let targets = match &diagnosis.target {
        Some(target) => find(transaction, &diagnosis.key_kinds, target).await?,
        None => Keys::new(diagnosis.key_kinds.len()),
    };
    lookups::references(transaction, diagnosis, &targets, faults).await?;
    lookups::foreign_keys(transaction, diagnosis, &targets, faults).await?;
    lookups::unique_keys(transaction, diagnosis, &targets, faults).await?;
    lookups::indexes(transaction, diagnosis, &targets, faults).await?;
    increments(transaction, diagnosis, &targets, faults).await?;
    let known = faults.len();
    transaction.savepoint(Savepoint::Set).await?;
    write_rows(transaction, diagnosis, (&targets, DeferredCheck::AtEnd), faults).await?;
    let refusal = match transaction.check_deferred_constraints().await {
        Ok(()) => return Ok(()),
        Err(StepError::Refused(refusal)) => refusal,
        Err(error) => return Err(error.into()),
    };
    transaction.savepoint(Savepoint::Undo).await?;
    faults.truncate(known);
    write_rows(transaction, diagnosis, (&targets, DeferredCheck::EachRow), faults).await?;
    if faults.len() == known {
        let whole = match &diagnosis.rows[..] {
            [row] => (item_of(diagnosis, 0), row.values.as_slice()),
            _ => (None, [].as_slice()),
        };
        faults.extend(faults_of_refusal(transaction, diagnosis, &refusal, whole).await?);
    }
    Ok(())
}

/// The row of the payload; none if the write has one for all.
fn item_of(diagnosis: &Diagnosis, item: usize) -> Option<usize> {
    (diagnosis.is_list || diagnosis.operation == WriteOperation::Create).then_some(item)
}

/// Adds a fault, once.
fn add_once(faults: &mut Vec<WriteFault>, fault: WriteFault) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

fn has_fault(faults: &[WriteFault], item: Option<usize>) -> bool {
    faults.iter().any(|fault| fault.item.is_none() || fault.item == item)
}

/// Fields that leave their range when the write adds to them.
async fn increments<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    targets: &Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    for increment in &diagnosis.increments {
        transaction.savepoint(Savepoint::Set).await?;
        let (is_out, is_undone) = match transaction.execute(Statement::of(&increment.sql, Some(targets))).await {
            Err(StepError::Refused(refusal)) => (refusal == DatabaseRefusal::Range, transaction.savepoint(Savepoint::Undo).await),
            Err(error) => return Err(error.into()),
            Ok(_) => {
                let is_out = match &increment.range {
                    Some(range) => !are_there(transaction, range, targets).await?.into_iter().all(|there| there),
                    None => false,
                };
                (is_out, transaction.savepoint(Savepoint::Undo).await)
            }
        };
        let kind = if is_out { WriteFaultKind::OutOfRange } else { WriteFaultKind::Refused };
        if is_out || is_undone.is_err() {
            faults.push(WriteFault { kind, item: None, fields: vec![increment.field] });
        }
        is_undone?;
    }
    Ok(())
}

/// Writes each row without a fault by itself, and checks what it has become.
async fn write_rows<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    (targets, deferred_check): (&Keys, DeferredCheck),
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    let mut new_rows = Keys::new(diagnosis.key_kinds.len());
    let mut items: Vec<usize> = Vec::new();
    for (number, row) in diagnosis.rows.iter().enumerate() {
        let item = item_of(diagnosis, number);
        if has_fault(faults, item) {
            continue;
        }
        transaction.savepoint(Savepoint::Set).await?;
        match write_row(transaction, diagnosis, row, (targets, deferred_check)).await {
            Ok(Some(new)) => {
                transaction.savepoint(Savepoint::Release).await?;
                for key in new.each() {
                    new_rows.add(key.iter().map(|part| Some(part.as_slice())));
                    items.push(number);
                }
            }
            Ok(None) => {
                transaction.savepoint(Savepoint::Undo).await?;
                faults.push(WriteFault { kind: WriteFaultKind::Refused, item, fields: Vec::new() });
            }
            Err(StepError::Refused(refusal)) => {
                if let Err(error) = transaction.savepoint(Savepoint::Undo).await {
                    faults.push(WriteFault { kind: WriteFaultKind::Refused, item, fields: Vec::new() });
                    return Err(error.into());
                }
                let found = faults_of_refusal(transaction, diagnosis, &refusal, (item, &row.values)).await?;
                faults.extend(found);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let all: Vec<usize> = (0..targets.rows()).collect();
    let changed = if diagnosis.operation == WriteOperation::Create { (&new_rows, items.as_slice()) } else { (targets, all.as_slice()) };
    check_postconditions(transaction, diagnosis, changed, faults).await
}

/// Runs the statement of one row. Returns the keys of new rows; none if the database changed fewer rows than it was asked to.
async fn write_row<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    row: &RowStatement,
    (targets, deferred_check): (&Keys, DeferredCheck),
) -> Result<Option<Keys>, StepError> {
    let width = diagnosis.key_kinds.len();
    let statement = Statement::of(&row.sql, row.by_keys.then_some(targets));
    let new = if diagnosis.operation == WriteOperation::Create {
        Some(transaction.insert(statement, width).await?).filter(|new| new.len() > 0)
    } else {
        let expected = if row.by_keys { targets.len() as u64 } else { 1 };
        (transaction.execute(statement).await? == expected).then(|| Keys::new(width))
    };
    if deferred_check == DeferredCheck::EachRow {
        transaction.check_deferred_for_row(&diagnosis.table, &values_by_column(diagnosis, &row.values)).await?;
    }
    Ok(new)
}

/// Checks what the rows with these keys have become.
async fn check_postconditions<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    (keys, items): (&Keys, &[usize]),
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    if keys.len() == 0 {
        return Ok(());
    }
    for check in &diagnosis.repeats {
        let repeated = transaction.numbers(Statement::of(&check.sql, Some(keys))).await?;
        let is_repeated = |row: usize| keys.number(row).is_some_and(|number| repeated.contains(&(number as u32)));
        for (_, number) in items.iter().enumerate().filter(|(row, _)| is_repeated(*row)) {
            let item = item_of(diagnosis, *number);
            if !has_fault(faults, item) {
                faults.push(WriteFault { kind: WriteFaultKind::Exists, item, fields: check.fields.clone() });
            }
        }
    }
    for reference in &diagnosis.references {
        let Some(level) = &reference.dangling else { continue };
        let writes = |row: usize| reference.after.set[row].is_some() && !reference.refers_to_new_row(row);
        for number in rows_matching(transaction, (level, true), (keys, items)).await? {
            let item = item_of(diagnosis, number);
            if writes(diagnosis.row_of(number)) && !has_fault(faults, item) {
                faults.push(WriteFault { kind: WriteFaultKind::NoSuchRow, item, fields: reference.after.fields.clone() });
            }
        }
    }
    if let Some(level) = &diagnosis.postcondition_without_references {
        for number in rows_matching(transaction, (level, false), (keys, items)).await? {
            let item = item_of(diagnosis, number);
            if !has_fault(faults, item) {
                faults.push(WriteFault { kind: WriteFaultKind::CheckFailed, item, fields: Vec::new() });
            }
        }
    }
    Ok(())
}

/// The numbers of the rows that a level has, or of those that it does not have.
async fn rows_matching<S: WriteTransaction>(
    transaction: &mut S,
    (level, has): (&ChildLevel, bool),
    (keys, items): (&Keys, &[usize]),
) -> Result<Vec<usize>, TransactionError> {
    let there = are_there(transaction, level, keys).await?;
    let meets = |row: usize| keys.number(row).is_some_and(|number| there[number] == has);
    Ok(items.iter().enumerate().filter(|(row, _)| meets(*row)).map(|(_, number)| *number).collect())
}

fn values_by_column(diagnosis: &Diagnosis, values: &[(FieldId, Option<Value>)]) -> Vec<(String, Option<Value>)> {
    values.iter().map(|(id, value)| (diagnosis.columns[*id].clone(), value.clone())).collect()
}

/// The faults that a refusal of the database means.
async fn faults_of_refusal<S: WriteTransaction>(
    transaction: &mut S,
    diagnosis: &Diagnosis,
    refusal: &DatabaseRefusal,
    (item, values): (Option<usize>, &[(FieldId, Option<Value>)]),
) -> Result<Vec<WriteFault>, TransactionError> {
    let fault = |kind, fields| WriteFault { kind, item, fields };
    let found = match refusal {
        DatabaseRefusal::Constraint { name, kind } => {
            let known = diagnosis.facts.constraints.iter().find(|constraint| constraint.name == *name);
            let fields = known.map_or_else(Vec::new, |constraint| constraint.fields.clone());
            match kind {
                RefusalKind::Unique => vec![fault(WriteFaultKind::Exists, fields)],
                RefusalKind::Other => vec![fault(WriteFaultKind::Refused, fields)],
                RefusalKind::ForeignKey => {
                    let is_own = known.is_some_and(|constraint| constraint.kind == ConstraintKind::ForeignKey);
                    let is_written = values.iter().any(|(id, _)| fields.contains(id));
                    let is_of_other = diagnosis.facts.referring.contains(name);
                    let kind = foreign_key_fault(diagnosis.operation, (is_own && is_written, is_of_other));
                    vec![fault(kind, if kind == WriteFaultKind::NoSuchRow { fields } else { referred(diagnosis, values) })]
                }
            }
        }
        DatabaseRefusal::Columns { columns, kind } => {
            let kind = if *kind == RefusalKind::Unique { WriteFaultKind::Exists } else { WriteFaultKind::Refused };
            vec![fault(kind, fields_of(diagnosis, columns))]
        }
        DatabaseRefusal::SomeReference => {
            let broken = transaction.broken_references(&diagnosis.table, &values_by_column(diagnosis, values)).await?;
            if broken.is_empty() {
                let is_referred_to = !diagnosis.facts.referring.is_empty();
                let kind = foreign_key_fault(diagnosis.operation, (false, is_referred_to));
                vec![fault(kind, if kind == WriteFaultKind::InUse { referred(diagnosis, values) } else { Vec::new() })]
            } else {
                broken.iter().map(|columns| fault(WriteFaultKind::NoSuchRow, fields_of(diagnosis, columns))).collect()
            }
        }
        DatabaseRefusal::Range | DatabaseRefusal::Value => vec![fault(WriteFaultKind::Refused, beyond_limits(diagnosis, values))],
        DatabaseRefusal::Other => vec![fault(WriteFaultKind::Refused, Vec::new())],
    };
    Ok(found)
}

/// What a broken foreign key means: one of the row itself, or one that leads to the row. A trigger may break any other.
fn foreign_key_fault(operation: WriteOperation, (is_own, is_of_other): (bool, bool)) -> WriteFaultKind {
    match operation {
        WriteOperation::Delete => WriteFaultKind::InUse,
        WriteOperation::Create => WriteFaultKind::NoSuchRow,
        WriteOperation::Update | WriteOperation::Restore if is_own => WriteFaultKind::NoSuchRow,
        WriteOperation::Update | WriteOperation::Restore if is_of_other => WriteFaultKind::InUse,
        WriteOperation::Update | WriteOperation::Restore => WriteFaultKind::Refused,
    }
}

/// The fields whose values do not fit their columns.
fn beyond_limits(diagnosis: &Diagnosis, values: &[(FieldId, Option<Value>)]) -> Vec<FieldId> {
    let limits = &diagnosis.facts.limits;
    let is_beyond = |(id, value): &&(FieldId, Option<Value>)| {
        let value = value.as_ref().unwrap_or(&Value::Null);
        limits.iter().any(|(limited, limit)| limited == id && !limit.takes(value))
    };
    values.iter().filter(is_beyond).map(|(id, _)| *id).collect()
}

fn fields_of(diagnosis: &Diagnosis, columns: &[String]) -> Vec<FieldId> {
    let place = |name: &String| diagnosis.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
    let sources = |name: &&String| diagnosis.facts.sources.iter().find(|(generated, _)| generated.eq_ignore_ascii_case(name));
    let computed_from = columns.iter().filter_map(|name| sources(&name)).flat_map(|(_, fields)| fields.iter().copied());
    columns.iter().filter_map(place).chain(computed_from).collect()
}

/// The written fields that foreign keys of other tables lead to.
fn referred(diagnosis: &Diagnosis, values: &[(FieldId, Option<Value>)]) -> Vec<FieldId> {
    values.iter().map(|(id, _)| *id).filter(|id| diagnosis.facts.referred.contains(id)).collect()
}
