//! From what a statement gives to a field of the answer: rows as their selection wants them, and pages.

use futures_util::StreamExt;
use store::Answer;

use crate::problem::{Problem, Refusal};

use super::budget::Budget;
use super::output::Output;
use super::schema::Question;
use super::selection::Picked;
use super::shape::{self, Kind, Rows, Shape};

/// It is our own writing that is read here.
const UNREAD: Problem = Problem::Internal("rows cannot be read");

/// Rows as objects of their type, each shaped as it comes.
pub(super) async fn rows(answer: Answer, shape: &Shape<'_>, kind: Kind, question: Question, budget: &Budget) -> Result<Output, Problem> {
    let list = question == Question::Get;
    let mut out = Output::default();
    if list {
        out.extend(b"[");
    }
    let mut count = 0;
    let mut share = budget.share();
    let mut add = |bytes: &[u8], out: &mut Output| {
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::Internal("rows are no UTF-8"))?;
        let mut rows = Rows { buffer: out.buffer(), count };
        shape.rows(text, kind, &mut rows).ok_or(UNREAD)?;
        count = rows.count;
        out.settle();
        share.grow_to(out.len())
    };
    match answer {
        Answer::Nothing => {
            out.extend(b"null");
            return Ok(out);
        }
        Answer::Whole(bytes) | Answer::Page(bytes, _) => add(&bytes, &mut out)?,
        Answer::Chunks(mut chunks) => {
            // A chunk ends anywhere, and a row with its line. Dropping the rest cancels the statement.
            let mut open = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                budget.has(open.len() + chunk.len())?;
                let (ended, begun) = chunk.split_at(chunk.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1));
                if !ended.is_empty() {
                    open.extend_from_slice(ended);
                    add(&open, &mut out)?;
                    open.clear();
                }
                open.extend_from_slice(begun);
            }
            add(&open, &mut out)?;
        }
    }
    share.keep();
    if list {
        out.extend(b"]");
    }
    Ok(out)
}

/// A page. Its rows are not looked into.
pub(super) async fn page(answer: Answer, parts: &[Picked<'_>], budget: &Budget) -> Result<Output, Problem> {
    let wanted = parts.iter().filter(|part| part.field().name == "rows").count();
    let mut share = budget.share();
    let (rows, numbers) = match answer {
        Answer::Page(rows, numbers) => {
            share.take(wanted.saturating_mul(rows.len()))?;
            (vec![rows], numbers)
        }
        Answer::Chunks(mut chunks) => {
            let mut rows = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                share.take(wanted.saturating_mul(chunk.len()))?;
                if wanted > 0 {
                    rows.push(chunk);
                }
            }
            (rows, chunks.numbers().ok_or(UNREAD)?)
        }
        Answer::Whole(_) | Answer::Nothing => return Err(UNREAD),
    };
    share.keep();
    let mut out = Output::default();
    out.extend(b"{");
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.extend(b",");
        }
        out.extend(&shape::key(part.key));
        match part.field().name.as_str() {
            "total" => out.extend(int(numbers.total)?.to_string().as_bytes()),
            "count" => out.extend(int(numbers.count)?.to_string().as_bytes()),
            "rows" => rows.iter().for_each(|piece| out.share(piece)),
            _ => out.extend(&shape::text("Pagination")),
        }
    }
    out.extend(b"}");
    Ok(out)
}

/// A number as GraphQL's `Int`: an error rather than a wrong number.
fn int(number: i64) -> Result<i32, Problem> {
    i32::try_from(number).map_err(|_| {
        Problem::Graphql(
            Refusal::Total,
            format!("{number} rows are more than GraphQL's `Int` can count; narrow the statement, or use the REST `paginate`"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_beyond_int_is_an_error_and_no_wrong_number() {
        // contract G2.6, trap 13
        assert_eq!(int(2_147_483_647).ok(), Some(i32::MAX));
        for number in [2_147_483_648, i64::MAX] {
            assert!(matches!(int(number), Err(Problem::Graphql(Refusal::Total, message)) if message.contains(&number.to_string())));
        }
    }
}
