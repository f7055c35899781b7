//! A page taken apart again without being read, by the frame that `sink` puts around its rows.

use bytes::Bytes;

/// The parts of an answer to `paginate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many rows match.
    pub total: i64,
    /// How many rows are in this page.
    pub count: i64,
    /// The rows as one JSON array.
    pub rows: Bytes,
}

impl Page {
    /// How much of an answer's end is enough for [`Page::numbers`].
    pub const TAIL: usize = 96;

    /// The parts of a whole answer: nothing if it is none of ours.
    pub fn of(answer: &Bytes) -> Option<Page> {
        if answer.starts_with(b"{\"rows\":") {
            let (count, total, end) = tail(answer)?;
            return Some(Page { total, count, rows: answer.slice(b"{\"rows\":".len()..end) });
        }
        // The numbers before the rows are never longer than two 64-bit integers.
        let head = &answer[..answer.len().min(Self::TAIL)];
        let start = find(head, b"\"rows\":")? + b"\"rows\":".len();
        let numbers = std::str::from_utf8(&answer[..start]).ok()?;
        let (total, rest) = numbers.strip_prefix("{\"total\":")?.split_once(",\"count\":")?;
        let count = rest.strip_suffix(",\"rows\":")?;
        let end = answer.len().checked_sub(1)?;
        Some(Page { total: total.parse().ok()?, count: count.parse().ok()?, rows: answer.slice(start..end) })
    }

    /// Count and total from the end of a streamed page, for those who let the rows go by.
    pub fn numbers(end: &[u8]) -> Option<(i64, i64)> {
        tail(end).map(|(count, total, _)| (count, total))
    }
}

/// Count, total, and where the rows end.
fn tail(answer: &[u8]) -> Option<(i64, i64, usize)> {
    let from = answer.len().saturating_sub(Page::TAIL);
    // Rows may hold the same words; only the last ones are the frame's.
    let start = answer[from..].windows(b"],\"count\":".len()).rposition(|window| window == b"],\"count\":")? + from;
    let numbers = std::str::from_utf8(&answer[start..]).ok()?;
    let (count, total) = numbers.strip_prefix("],\"count\":")?.strip_suffix('}')?.split_once(",\"total\":")?;
    Some((count.parse().ok()?, total.parse().ok()?, start + 1))
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}

#[cfg(test)]
mod tests {
    use query::plan::Operation;

    use super::super::Format;
    use super::super::sink::Frame;
    use super::*;

    #[test]
    fn a_page_is_taken_apart_as_it_was_put_together() {
        for (answer, total, count, rows) in [
            (r#"{"total":3,"count":2,"rows":[{"a":1},{"a":2}]}"#, 3, 2, r#"[{"a":1},{"a":2}]"#),
            (r#"{"total":0,"count":0,"rows":[]}"#, 0, 0, "[]"),
            (r#"{"rows":[{"a":"],\"count\":9,\"total\":9}"}],"count":1,"total":7}"#, 7, 1, r#"[{"a":"],\"count\":9,\"total\":9}"}]"#),
            (r#"{"rows":[],"count":0,"total":9223372036854775807}"#, i64::MAX, 0, "[]"),
        ] {
            let page = Page::of(&Bytes::from_static(answer.as_bytes())).expect(answer);
            assert_eq!(page, Page { total, count, rows: Bytes::from_static(rows.as_bytes()) });
        }
        let (uncounted, counted) = (Frame::new(Operation::Paginate, Format::Json), Frame::counted(Operation::Paginate, Format::Json, 0, 5));
        for answer in [uncounted.end(5), counted.end(5)] {
            assert_eq!(Page::of(&answer), Some(Page { total: 5, count: 0, rows: Bytes::from_static(b"[]") }));
        }
        assert_eq!(Page::of(&Bytes::from_static(b"[]")), None);
        assert_eq!(Page::of(&Bytes::new()), None);
        assert_eq!(Page::numbers(br#"xyz"}],"count":12,"total":34}"#), Some((12, 34)));
    }
}
