//! The steps of a write inside its transaction. A step that finds a refusal ends it, and the caller rolls back.

use bytes::Bytes;
use query::pointer::Layer;
use query::sql::write::{Target, WriteQuery};
use query::sql::{ChildLevel, Kind};
use query::value::Value;

use crate::Error;
use crate::assemble::{Batch, Gathered, Keys};
use crate::run::{StatementPart, load};

use super::open_transaction::Statement;
use super::{RetryReason, Savepoint, StepError, WriteRefusal, WriteTransaction, Written};

/// How often a transaction chooses its rows anew, because other writes changed them meanwhile.
const MAX_CHOICES: usize = 16;

#[derive(Debug)]
pub(crate) enum TransactionError {
    Refused(WriteRefusal),
    Unexplained,
    Retry(RetryReason),
    /// Nobody knows whether the database committed.
    InDoubt(Error),
    Store(Error),
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> Self {
        StepError::from(error).into()
    }
}

impl From<StepError> for TransactionError {
    fn from(error: StepError) -> Self {
        match error {
            StepError::Refused(_) => TransactionError::Unexplained,
            StepError::Retry(reason) => TransactionError::Retry(reason),
            StepError::Store(error) => TransactionError::Store(error),
        }
    }
}

/// Runs all steps of a write. The caller commits, or rolls back.
pub(crate) async fn write<S: WriteTransaction>(transaction: &mut S, query: &WriteQuery) -> Result<Written, TransactionError> {
    transaction.context().forget_related_rows();
    let mut keys = match &query.target {
        Some(target) => find(transaction, &query.key_kinds, target).await?,
        None => Keys::new(query.key_kinds.len()),
    };
    if query.target.is_some() && keys.len() == 0 {
        return Ok(Written { count: 0, rows: query.answer.as_ref().map(|_| Bytes::from_static(b"[]")) });
    }
    for (layer, level) in &query.preconditions {
        if !are_all_there(transaction, level, &keys).await? {
            let refusal = if *layer == Layer::Scope { WriteRefusal::OutOfScope } else { WriteRefusal::Stale };
            return Err(TransactionError::Refused(refusal));
        }
    }
    if let Some(change) = query.only_change()
        && let Some(level) = &query.answer
    {
        let mut left = transaction.memory();
        let statement = Statement::of(&change.sql, Some(&keys));
        let (changed, found) = transaction.execute_and_read(statement, level, &keys, &mut left).await?;
        check_count(changed, keys.len())?;
        let rows = answer_with_relations(transaction, query, &keys, AnswerRows { level, found, left }).await?;
        return Ok(Written { count: keys.rows(), rows: Some(rows) });
    }
    let before = if query.answers_before() { answer(transaction, query, &keys).await? } else { None };
    change(transaction, query, &mut keys).await?;
    for check in &query.repeats {
        if !transaction.numbers(Statement::of(&check.sql, Some(&keys))).await?.is_empty() {
            return Err(TransactionError::Unexplained);
        }
    }
    if let Some(level) = &query.postcondition
        && !are_all_there(transaction, level, &keys).await?
    {
        return Err(TransactionError::Unexplained);
    }
    let rows = if query.answers_before() { before } else { answer(transaction, query, &keys).await? };
    Ok(Written { count: keys.rows(), rows })
}

/// Finds and locks the rows to change; their keys in the order of the request.
pub(crate) async fn find<S: WriteTransaction>(transaction: &mut S, kinds: &[Kind], target: &Target) -> Result<Keys, TransactionError> {
    let width = kinds.len();
    let found = transaction.keys(Statement::of(&target.level.sql, None), width).await?;
    if let Some(named) = &target.keys {
        if found.len() < named.len() {
            return Err(TransactionError::Refused(WriteRefusal::NotFound));
        }
        return Ok(keys_of::<S>(kinds, named.iter().map(|values| Some(values.as_slice()))));
    }
    match &target.lock {
        Some(lock) => chosen(transaction, target, lock, found).await,
        None => counted(target, found),
    }
}

/// Locks the rows that `order` or `limit` chose.
async fn chosen<S: WriteTransaction>(
    transaction: &mut S,
    target: &Target,
    lock: &ChildLevel,
    mut found: Keys,
) -> Result<Keys, TransactionError> {
    for _ in 0..MAX_CHOICES {
        found = counted(target, found)?;
        if found.len() == 0 {
            return Ok(found);
        }
        transaction.savepoint(Savepoint::Set).await?;
        let is_locked = are_all_there(transaction, lock, &found).await?;
        let again = transaction.keys(Statement::of(&target.level.sql, None), found.width()).await?;
        if is_locked && again.is_same(&found) {
            transaction.savepoint(Savepoint::Release).await?;
            return Ok(found);
        }
        // While this waited for locks, other rows came first. Locks are taken in the order of keys, so these are given back.
        transaction.savepoint(Savepoint::Undo).await?;
        found = again;
    }
    Err(TransactionError::Retry(RetryReason::Conflict))
}

fn counted(target: &Target, found: Keys) -> Result<Keys, TransactionError> {
    let max = target.max_rows;
    if found.len() as u64 > max { Err(TransactionError::Refused(WriteRefusal::TooManyRows { max })) } else { Ok(found) }
}

/// Keys from values; a row without them has none.
pub(crate) fn keys_of<'v, S: WriteTransaction>(kinds: &[Kind], rows: impl Iterator<Item = Option<&'v [Value]>>) -> Keys {
    let mut keys = Keys::new(kinds.len());
    for values in rows {
        match values {
            None => keys.add(kinds.iter().map(|_| None)),
            Some(values) => {
                let parts: Vec<Vec<u8>> = kinds.iter().zip(values).map(|(kind, value)| S::key_part(*kind, value)).collect();
                keys.add(parts.iter().map(|part| Some(part.as_slice())));
            }
        }
    }
    keys
}

/// For each key whether the level has its row.
pub(crate) async fn are_there<S: WriteTransaction>(transaction: &mut S, level: &ChildLevel, keys: &Keys) -> Result<Vec<bool>, Error> {
    let mut there = vec![false; keys.len()];
    if keys.len() == 0 {
        return Ok(there);
    }
    let mut left = usize::MAX;
    if let Gathered::Whole(owners, _) = transaction.rows(StatementPart::Write, level, keys, &mut left).await? {
        for owner in owners {
            there[owner as usize] = true;
        }
    }
    Ok(there)
}

async fn are_all_there<S: WriteTransaction>(transaction: &mut S, level: &ChildLevel, keys: &Keys) -> Result<bool, Error> {
    Ok(are_there(transaction, level, keys).await?.into_iter().all(|there| there))
}

/// A trigger or a rule may keep a row from its change.
fn check_count(changed: u64, expected: usize) -> Result<(), TransactionError> {
    if changed == expected as u64 { Ok(()) } else { Err(TransactionError::Unexplained) }
}

async fn change<S: WriteTransaction>(transaction: &mut S, query: &WriteQuery, keys: &mut Keys) -> Result<(), TransactionError> {
    let is_create = query.target.is_none();
    let mut new_rows: Vec<Option<Vec<Vec<u8>>>> = Vec::new();
    for change in &query.changes {
        let runs = std::iter::once(change.sql.params()).chain(change.more.iter().map(Vec::as_slice));
        let mut items = change.items.iter();
        for params in runs {
            let statement = Statement { sql: &change.sql, params, keys: Some(&*keys) };
            if !is_create {
                let changed = transaction.execute(statement).await?;
                let expected = if change.items.is_empty() { keys.len() } else { 1 };
                check_count(changed, expected)?;
                continue;
            }
            let new = transaction.insert(statement, query.key_kinds.len()).await?;
            for key in new.each() {
                let Some(item) = items.next() else { return Err(TransactionError::Unexplained) };
                if new_rows.len() <= *item {
                    new_rows.resize(item + 1, None);
                }
                new_rows[*item] = Some(key);
            }
        }
        if is_create && items.next().is_some() {
            return Err(TransactionError::Unexplained);
        }
    }
    if is_create {
        for key in &new_rows {
            let Some(key) = key else { return Err(TransactionError::Unexplained) };
            keys.add(key.iter().map(|part| Some(part.as_slice())));
        }
    }
    Ok(())
}

/// The rows of the answer in the order of the keys.
async fn answer<S: WriteTransaction>(transaction: &mut S, query: &WriteQuery, keys: &Keys) -> Result<Option<Bytes>, TransactionError> {
    let Some(level) = &query.answer else { return Ok(None) };
    let mut left = transaction.memory();
    let found = transaction.rows(StatementPart::Rows, level, keys, &mut left).await?;
    answer_with_relations(transaction, query, keys, AnswerRows { level, found, left }).await.map(Some)
}

/// The rows of an answer, without what they are related to.
struct AnswerRows<'q> {
    level: &'q ChildLevel,
    found: Gathered,
    /// How many more bytes of rows the answer may have.
    left: usize,
}

/// The answer from its rows, after what they are related to is loaded.
async fn answer_with_relations<S: WriteTransaction>(
    transaction: &mut S,
    query: &WriteQuery,
    keys: &Keys,
    mut rows: AnswerRows<'_>,
) -> Result<Bytes, TransactionError> {
    let too_large = || TransactionError::Refused(WriteRefusal::AnswerTooLarge);
    let Gathered::Whole(owners, mut batch) = rows.found else { return Err(too_large()) };
    load(transaction, &rows.level.level, &mut batch, &mut rows.left).await?;
    if batch.is_heavy() || batch.written_size() > transaction.memory() {
        return Err(too_large());
    }
    answer_json(&batch, &owners, keys, query.is_one).ok_or(TransactionError::Unexplained)
}

fn answer_json(batch: &Batch, owners: &[u32], keys: &Keys, is_one: bool) -> Option<Bytes> {
    let mut rows = vec![None; keys.len()];
    for (row, owner) in owners.iter().enumerate() {
        rows[*owner as usize] = Some(row);
    }
    let mut out = Vec::with_capacity(batch.written_size() + 2);
    if !is_one {
        out.push(b'[');
    }
    for index in 0..keys.rows() {
        if index > 0 {
            out.push(b',');
        }
        batch.write_row(rows[keys.number(index)?]?, &mut out);
    }
    if !is_one {
        out.push(b']');
    }
    Some(out.into())
}
