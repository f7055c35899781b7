//! From what a statement gives to a field of the answer: rows as their selection wants them, and pages.

use bytes::Bytes;
use futures_util::StreamExt;
use store::Answer;
use store::run::Page;

use crate::error::{Problem, Refusal};

use super::budget::Budget;
use super::schema::Question;
use super::selection::Picked;
use super::shape::{self, Kind, Rows, Shape};

/// It is our own writing that is read here.
const UNREAD: Problem = Problem::Internal("rows cannot be read");

/// Rows as objects of their type, each shaped as it comes.
pub(super) async fn rows(answer: Answer, shape: &Shape<'_>, kind: Kind, question: Question, budget: &Budget) -> Result<Vec<u8>, Problem> {
    let list = question == Question::Get;
    let mut out = Vec::new();
    if list {
        out.push(b'[');
    }
    let mut count = 0;
    let mut share = budget.share();
    let mut add = |bytes: &[u8], out: &mut Vec<u8>| {
        let text = std::str::from_utf8(bytes).map_err(|_| Problem::Internal("rows are no UTF-8"))?;
        let mut rows = Rows { buffer: out, count };
        shape.rows(text, kind, &mut rows).ok_or(UNREAD)?;
        count = rows.count;
        share.grow_to(rows.buffer.len())
    };
    match answer {
        Answer::Nothing => return Ok(b"null".to_vec()),
        Answer::Whole(bytes) => add(&bytes, &mut out)?,
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
        out.push(b']');
    }
    Ok(out)
}

/// A page. Its rows are not looked into.
pub(super) async fn page(answer: Answer, parts: &[Picked<'_>], budget: &Budget) -> Result<Vec<u8>, Problem> {
    let wanted = parts.iter().filter(|part| part.field().name == "rows").count();
    let mut share = budget.share();
    let page = match answer {
        Answer::Nothing => None,
        Answer::Whole(bytes) => Page::of(&bytes),
        Answer::Chunks(mut chunks) => {
            let mut whole = Vec::new();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                if wanted > 0 {
                    share.take(chunk.len())?;
                } else if whole.len() > Page::TAIL {
                    whole.drain(..whole.len() - Page::TAIL);
                }
                whole.extend_from_slice(&chunk);
            }
            if wanted > 0 {
                Page::of(&whole.into())
            } else {
                Page::numbers(&whole).map(|(count, total)| Page { total, count, rows: Bytes::new() })
            }
        }
    };
    let Page { total, count, rows } = page.ok_or(UNREAD)?;
    // What came in pieces is counted once already.
    share.grow_to(wanted.saturating_mul(rows.len()))?;
    share.keep();
    let mut out = Vec::with_capacity(wanted * rows.len() + parts.len() * 32);
    out.push(b'{');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&shape::key(part.key));
        match part.field().name.as_str() {
            "total" => out.extend_from_slice(int(total)?.to_string().as_bytes()),
            "count" => out.extend_from_slice(int(count)?.to_string().as_bytes()),
            "rows" => out.extend_from_slice(&rows),
            _ => out.extend_from_slice(&shape::text("Pagination")),
        }
    }
    out.push(b'}');
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
