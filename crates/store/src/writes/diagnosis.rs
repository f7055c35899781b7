//! Finds all faults of a refused write: references, unique keys, constraints of the database, ranges, and what rows must be afterwards.
//!
//! Each row is written by itself behind a savepoint, so one fault does not hide another. The caller rolls back.

use query::catalog::FieldId;
use query::catalog::write_rules::{ConstraintKind, WriteOperation};
use query::sql::write::{Diagnosis, KeyedCheck, PartialReference, UniqueLookup};
use query::value::Value;

use crate::assemble::Keys;

use super::session::{RefusalKind, Statement};
use super::transaction::{are_there, find, keys_of};
use super::{DatabaseRefusal, Savepoint, SessionError, TransactionError, WriteFault, WriteFaultKind, WriteSession};

pub(crate) async fn diagnose<S: WriteSession>(session: &mut S, diagnosis: &Diagnosis) -> Result<Vec<WriteFault>, TransactionError> {
    let mut faults = Vec::new();
    for reference in &diagnosis.references {
        faults.extend(missing(session, diagnosis, reference).await?);
    }
    for lookup in &diagnosis.unique_keys {
        faults.extend(existing(session, lookup).await?);
    }
    let keys = match &diagnosis.target {
        Some(target) => find(session, &diagnosis.key_kinds, target).await?,
        None => Keys::new(diagnosis.key_kinds.len()),
    };
    for reference in &diagnosis.partial_references {
        if leads_nowhere(session, diagnosis, reference, &keys).await? {
            let (item, fields) = (item_of(diagnosis, reference.item), reference.fields.clone());
            faults.push(WriteFault { kind: WriteFaultKind::NoSuchRow, item, fields });
        }
    }
    increments(session, diagnosis, &keys, &mut faults).await?;
    rows(session, diagnosis, keys, &mut faults).await?;
    faults.sort_by_key(|fault| (fault.item, fault.fields.first().copied()));
    Ok(faults)
}

/// The row of the payload; none if the write has one for all.
fn item_of(diagnosis: &Diagnosis, item: usize) -> Option<usize> {
    (diagnosis.is_list || diagnosis.operation == WriteOperation::Create).then_some(item)
}

/// References that lead to no row that the caller can read.
async fn missing<S: WriteSession>(session: &mut S, diagnosis: &Diagnosis, check: &KeyedCheck) -> Result<Vec<WriteFault>, TransactionError> {
    let keys = keys_of::<S>(&check.kinds, check.values.iter().map(Option::as_deref));
    let there = are_there(session, &check.level, &keys).await?;
    let is_made = |item: usize| check.made[..=item].contains(&check.values[item]);
    let is_missing = |item: &usize| keys.number(*item).is_some_and(|number| !there[number]) && !is_made(*item);
    let fault = |item| WriteFault { kind: WriteFaultKind::NoSuchRow, item: item_of(diagnosis, item), fields: check.fields.clone() };
    Ok((0..check.values.len()).filter(is_missing).map(fault).collect())
}

/// Whether the reference of a stored row leads to no row that the caller can read, once a part of it is written.
async fn leads_nowhere<S: WriteSession>(
    session: &mut S,
    diagnosis: &Diagnosis,
    reference: &PartialReference,
    found: &Keys,
) -> Result<bool, TransactionError> {
    let own = reference.key.as_deref().map(|key| keys_of::<S>(&diagnosis.key_kinds, std::iter::once(Some(key))));
    let keys = own.as_ref().unwrap_or(found);
    session.savepoint(Savepoint::Set).await?;
    let outcome = match session.execute(Statement::of(&reference.sql, Some(keys))).await {
        Ok(_) => session.settle_constraints().await,
        Err(error) => Err(error),
    };
    let leads_nowhere = match outcome {
        Ok(()) => !are_there(session, &reference.level, keys).await?.into_iter().all(|there| there),
        Err(SessionError::Refused(DatabaseRefusal::SomeReference)) => true,
        Err(SessionError::Refused(DatabaseRefusal::Constraint { kind, .. })) => {
            matches!(kind, RefusalKind::InUse | RefusalKind::Reference)
        }
        Err(SessionError::Refused(_)) => false,
        Err(error) => return Err(error.into()),
    };
    session.savepoint(Savepoint::Undo).await?;
    Ok(leads_nowhere)
}

/// Unique keys that a row of the table or an earlier row of the payload has.
async fn existing<S: WriteSession>(session: &mut S, lookup: &UniqueLookup) -> Result<Vec<WriteFault>, TransactionError> {
    let keys = keys_of::<S>(&lookup.kinds, lookup.values.iter().map(Option::as_deref));
    let mut exists = vec![false; keys.len()];
    if keys.len() > 0 {
        for number in session.numbers(Statement::of(&lookup.sql, Some(&keys))).await? {
            exists[number as usize] = true;
        }
    }
    let mut faults = Vec::new();
    for item in 0..lookup.values.len() {
        if let Some(number) = keys.number(item)
            && std::mem::replace(&mut exists[number], true)
        {
            faults.push(WriteFault { kind: WriteFaultKind::Exists, item: Some(item), fields: lookup.fields.clone() });
        }
    }
    Ok(faults)
}

/// Fields that leave their range when the write adds to them.
async fn increments<S: WriteSession>(
    session: &mut S,
    diagnosis: &Diagnosis,
    keys: &Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    for increment in &diagnosis.increments {
        session.savepoint(Savepoint::Set).await?;
        let is_out = match session.execute(Statement::of(&increment.sql, Some(keys))).await {
            Err(SessionError::Refused(DatabaseRefusal::Range)) => true,
            Err(SessionError::Refused(_)) => false,
            Err(error) => return Err(error.into()),
            Ok(_) => match &increment.range {
                Some(range) => !are_there(session, range, keys).await?.into_iter().all(|there| there),
                None => false,
            },
        };
        session.savepoint(Savepoint::Undo).await?;
        if is_out {
            faults.push(WriteFault { kind: WriteFaultKind::OutOfRange, item: None, fields: vec![increment.field] });
        }
    }
    Ok(())
}

/// Writes each row without a fault by itself, and checks what it has become.
async fn rows<S: WriteSession>(
    session: &mut S,
    diagnosis: &Diagnosis,
    keys: Keys,
    faults: &mut Vec<WriteFault>,
) -> Result<(), TransactionError> {
    let is_create = diagnosis.operation == WriteOperation::Create;
    let mut made = if is_create { Keys::new(diagnosis.key_kinds.len()) } else { keys };
    let mut items: Vec<usize> = Vec::new();
    for (item, row) in diagnosis.rows.iter().enumerate() {
        if faults.iter().any(|fault| fault.item.is_none_or(|other| other == item)) {
            continue;
        }
        session.savepoint(Savepoint::Set).await?;
        let statement = Statement::of(&row.sql, row.by_keys.then_some(&made));
        let outcome = if is_create {
            match session.keys(statement, diagnosis.key_kinds.len()).await {
                Ok(new) => session.settle_constraints().await.map(|()| Some(new)),
                Err(error) => Err(error),
            }
        } else {
            match session.execute(statement).await {
                Ok(_) => session.settle_constraints().await.map(|()| None),
                Err(error) => Err(error),
            }
        };
        match outcome {
            Ok(new) => {
                session.savepoint(Savepoint::Release).await?;
                let added: Vec<Vec<Vec<u8>>> = new.iter().flat_map(Keys::each).collect();
                if is_create && added.is_empty() {
                    // A trigger kept the row out.
                    faults.push(WriteFault { kind: WriteFaultKind::Refused, item: Some(item), fields: Vec::new() });
                }
                for key in added {
                    made.add(key.iter().map(|part| Some(part.as_slice())));
                    items.push(item);
                }
            }
            Err(SessionError::Refused(refusal)) => {
                session.savepoint(Savepoint::Undo).await?;
                let item = item_of(diagnosis, item);
                faults.extend(explained(session, diagnosis, &refusal, item, &row.values).await?);
            }
            Err(error) => return Err(error.into()),
        }
    }
    let Some(level) = diagnosis.after.as_ref().filter(|_| made.len() > 0) else { return Ok(()) };
    let there = are_there(session, level, &made).await?;
    for row in 0..made.rows() {
        let item = if is_create { items.get(row).copied() } else { item_of(diagnosis, row) };
        let has_fault = faults.iter().any(|fault| fault.item.is_none() || fault.item == item);
        if !has_fault && made.number(row).is_some_and(|number| !there[number]) {
            faults.push(WriteFault { kind: WriteFaultKind::CheckFailed, item, fields: Vec::new() });
        }
    }
    Ok(())
}

/// The faults that a refusal of the database means.
async fn explained<S: WriteSession>(
    session: &mut S,
    diagnosis: &Diagnosis,
    refusal: &DatabaseRefusal,
    item: Option<usize>,
    values: &[(FieldId, Option<Value>)],
) -> Result<Vec<WriteFault>, TransactionError> {
    let fault = |kind, fields| WriteFault { kind, item, fields };
    let found = match refusal {
        DatabaseRefusal::Constraint { name, kind } => {
            let known = diagnosis.constraints.iter().find(|constraint| constraint.name == *name);
            let fields = known.map_or_else(Vec::new, |constraint| constraint.fields.clone());
            let is_own_reference = known.is_some_and(|constraint| constraint.kind == ConstraintKind::ForeignKey);
            let kind = match kind {
                RefusalKind::InUse if is_own_reference && diagnosis.operation != WriteOperation::Delete => RefusalKind::Reference,
                kind => *kind,
            };
            vec![fault(fault_kind(kind), if kind == RefusalKind::InUse { Vec::new() } else { fields })]
        }
        DatabaseRefusal::Columns { columns, kind } => {
            vec![fault(fault_kind(*kind), fields_of(diagnosis, columns))]
        }
        DatabaseRefusal::SomeReference if diagnosis.operation == WriteOperation::Delete => vec![fault(WriteFaultKind::InUse, Vec::new())],
        DatabaseRefusal::SomeReference => {
            let values: Vec<(String, Option<Value>)> =
                values.iter().map(|(id, value)| (diagnosis.columns[*id].clone(), value.clone())).collect();
            let broken = session.broken_references(&diagnosis.table, &values).await?;
            let faults: Vec<WriteFault> =
                broken.iter().map(|columns| fault(WriteFaultKind::NoSuchRow, fields_of(diagnosis, columns))).collect();
            if faults.is_empty() { vec![fault(WriteFaultKind::InUse, Vec::new())] } else { faults }
        }
        DatabaseRefusal::Range | DatabaseRefusal::Other => vec![fault(WriteFaultKind::Refused, Vec::new())],
    };
    Ok(found)
}

fn fault_kind(kind: RefusalKind) -> WriteFaultKind {
    match kind {
        RefusalKind::Unique => WriteFaultKind::Exists,
        RefusalKind::Reference => WriteFaultKind::NoSuchRow,
        RefusalKind::InUse => WriteFaultKind::InUse,
        RefusalKind::Other => WriteFaultKind::Refused,
    }
}

fn fields_of(diagnosis: &Diagnosis, columns: &[String]) -> Vec<FieldId> {
    let place = |name: &String| diagnosis.columns.iter().position(|column| column.eq_ignore_ascii_case(name));
    columns.iter().filter_map(place).collect()
}
