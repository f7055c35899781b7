//! Turns the answer of the store into a field of the GraphQL response: rows with the selected fields, and pages.

use futures_util::StreamExt;
use store::Answer;

use crate::problem::{Problem, Refusal};

use super::answer_budget::AnswerBudget;
use super::output::Output;
use super::row_shape::{self, RowKind, RowShape, RowWriter};
use super::schema::QueryField;
use super::selection::SelectedField;

/// The store wrote these rows, so this is a fault of ours.
const UNREADABLE: Problem = Problem::Internal("could not read the rows of the store");

/// Rows as objects of their type. Each row gets its shape as it is read.
pub(super) async fn rows_answer(
    answer: Answer,
    shape: &RowShape<'_>,
    kind: RowKind,
    query_field: QueryField,
    budget: &AnswerBudget,
) -> Result<Output, Problem> {
    let is_list = query_field == QueryField::Get;
    let mut out = Output::default();
    if is_list {
        out.extend(b"[");
    }
    let mut count = 0;
    let mut share = budget.share();
    let mut add = |bytes: &[u8], out: &mut Output| {
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::Internal("rows of the store are not UTF-8"))?;
        let mut rows = RowWriter { buffer: out.buffer(), count };
        shape.rows(text, kind, &mut rows).ok_or(UNREADABLE)?;
        count = rows.count;
        out.close_full_piece();
        share.grow_to(out.len())
    };
    match answer {
        Answer::Nothing => {
            out.extend(b"null");
            return Ok(out);
        }
        Answer::Whole(bytes) | Answer::Page(bytes, _) => add(&bytes, &mut out)?,
        Answer::Chunks(mut chunks) => {
            // A chunk ends anywhere, and a row at a newline. Dropping the other chunks cancels the statement.
            let mut pending = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                budget.check(pending.len() + chunk.len())?;
                let (complete, rest) = chunk.split_at(chunk.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
                if !complete.is_empty() {
                    pending.extend_from_slice(complete);
                    add(&pending, &mut out)?;
                    pending.clear();
                }
                pending.extend_from_slice(rest);
            }
            add(&pending, &mut out)?;
        }
    }
    share.keep();
    if is_list {
        out.extend(b"]");
    }
    Ok(out)
}

/// A page of this type. Its rows pass unchanged.
pub(super) async fn page_answer(
    answer: Answer,
    page_type: &str,
    parts: &[SelectedField<'_>],
    budget: &AnswerBudget,
) -> Result<Output, Problem> {
    let copies = parts.iter().filter(|part| part.field().name == "rows").count();
    let mut share = budget.share();
    let (rows, numbers) = match answer {
        Answer::Page(rows, numbers) => {
            share.take(copies.saturating_mul(rows.len()))?;
            (vec![rows], numbers)
        }
        Answer::Chunks(mut chunks) => {
            let mut rows = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                share.take(copies.saturating_mul(chunk.len()))?;
                if copies > 0 {
                    rows.push(chunk);
                }
            }
            (rows, chunks.numbers().ok_or(UNREADABLE)?)
        }
        Answer::Whole(_) | Answer::Nothing => return Err(UNREADABLE),
    };
    share.keep();
    let mut out = Output::default();
    out.extend(b"{");
    for (index, part) in parts.iter().enumerate() {
        row_shape::comma(index, out.buffer());
        out.extend(&row_shape::key(part.key));
        match part.field().name.as_str() {
            "total" => out.extend(int(numbers.total)?.to_string().as_bytes()),
            "count" => out.extend(int(numbers.count)?.to_string().as_bytes()),
            "rows" => rows.iter().for_each(|piece| out.share(piece)),
            "next" => out.extend(numbers.next.as_deref().unwrap_or("null").as_bytes()),
            _ => out.extend(&row_shape::quoted(page_type)),
        }
    }
    out.extend(b"}");
    Ok(out)
}

fn int(number: i64) -> Result<i32, Problem> {
    i32::try_from(number).map_err(|_| {
        Problem::Graphql(
            Refusal::Total,
            format!("{number} rows are more than GraphQL's `Int` can hold; add a condition to `where`, or use `paginate` over REST"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_beyond_int_is_an_error() {
        // contract G2.6, trap 13
        assert_eq!(int(2_147_483_647).ok(), Some(i32::MAX));
        for number in [2_147_483_648, i64::MAX] {
            assert!(matches!(int(number), Err(Problem::Graphql(Refusal::Total, message)) if message.contains(&number.to_string())));
        }
    }
}
