//! Writes rows with their relations in pieces.

use super::{Batch, Loaded};

/// At most so many rows without relations are written at once.
const MAX_LEAVES: usize = 64;

/// Writes rows. A shared related row is written once for each parent, so a row may have any size, and writing can stop anywhere.
#[derive(Debug)]
pub(crate) struct Rows<'b> {
    batch: &'b Batch,
    next: usize,
    /// The open rows and lists, the innermost last.
    steps: Vec<Step<'b>>,
}

#[derive(Debug)]
enum Step<'b> {
    Row(Row<'b>),
    /// The rest of a list, and whether a part is written.
    List(&'b Batch, &'b [u32], bool),
}

#[derive(Clone, Copy, Debug)]
struct Row<'b> {
    batch: &'b Batch,
    index: usize,
    written: usize,
}

impl Rows<'_> {
    pub(crate) fn begin(&mut self) -> bool {
        let more = self.next < self.batch.len();
        if more {
            self.steps.push(Step::Row(Row::of(self.batch, self.next)));
            self.next += 1;
        }
        more
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Writes the open row until there is enough; returns whether the row is complete.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>, enough: usize) -> bool {
        while let Some(step) = self.steps.last_mut() {
            match step {
                Step::Row(row) => {
                    let row = *row;
                    self.steps.pop();
                    self.row(row, out);
                }
                Step::List(batch, members, begun) => match members.split_first() {
                    None => {
                        out.push(b']');
                        self.steps.pop();
                    }
                    Some((row, rest)) => {
                        if std::mem::replace(begun, true) {
                            out.push(b',');
                        }
                        *members = rest;
                        let row = Row::of(batch, *row as usize);
                        self.row(row, out);
                    }
                },
            }
            if out.len() >= enough && self.is_open() {
                return false;
            }
        }
        true
    }
}

impl<'b> Rows<'b> {
    pub(super) fn of(batch: &'b Batch) -> Self {
        Rows::from(batch, 0)
    }

    /// The rows from this one on.
    pub(super) fn from(batch: &'b Batch, next: usize) -> Self {
        Rows { batch, next, steps: Vec::new() }
    }

    /// Writes a row up to its next relation of unbounded size.
    fn row(&mut self, row: Row<'b>, out: &mut Vec<u8>) {
        let Row { batch, index, mut written } = row;
        let own = batch.row(index);
        if written == 0 {
            out.extend_from_slice(own);
        }
        while let Some(loaded) = batch.relations.get(written) {
            // The first member of a row without fields has no comma.
            let is_first = own.len() == 1 && written == 0;
            out.extend_from_slice(&loaded.member.key[usize::from(is_first)..]);
            written += 1;
            let members = loaded.members(index);
            if loaded.batch.relations.is_empty() && members.len() <= MAX_LEAVES {
                loaded.leaves(members, out);
                continue;
            }
            match members.first() {
                None => out.extend_from_slice(if loaded.member.many { b"[]" } else { b"null" }),
                Some(first) => {
                    self.steps.push(Step::Row(Row { written, ..row }));
                    if loaded.member.many {
                        out.push(b'[');
                        self.steps.push(Step::List(&loaded.batch, members, false));
                    } else {
                        self.steps.push(Step::Row(Row::of(&loaded.batch, *first as usize)));
                    }
                    return;
                }
            }
        }
        out.push(b'}');
    }
}

impl<'b> Row<'b> {
    fn of(batch: &'b Batch, index: usize) -> Self {
        Row { batch, index, written: 0 }
    }
}

impl Loaded {
    fn leaves(&self, members: &[u32], out: &mut Vec<u8>) {
        let leaf = |row: u32, out: &mut Vec<u8>| {
            out.extend_from_slice(self.batch.row(row as usize));
            out.push(b'}');
        };
        match (self.member.many, members) {
            (true, []) => out.extend_from_slice(b"[]"),
            (false, []) => out.extend_from_slice(b"null"),
            (false, [row, ..]) => leaf(*row, out),
            (true, [first, rest @ ..]) => {
                out.push(b'[');
                leaf(*first, out);
                for row in rest {
                    out.push(b',');
                    leaf(*row, out);
                }
                out.push(b']');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Keys, Member};
    use super::*;

    fn batch(rows: &[&str]) -> Batch {
        let mut batch = Batch::default();
        for row in rows {
            batch.buffer().extend_from_slice(row.as_bytes());
            batch.end_row();
        }
        batch
    }

    fn keys<const N: usize>(rows: [Option<&str>; N]) -> Keys {
        let mut keys = Keys::new(1);
        for key in rows {
            keys.add(std::iter::once(key.map(str::as_bytes)));
        }
        keys
    }

    fn many(key: &str) -> Member {
        Member { key: key.as_bytes().into(), many: true }
    }

    #[test]
    fn children_keep_their_order_and_may_be_shared() {
        let mut parents = batch(&["{\"id\":1", "{\"id\":2", "{\"id\":3", "{"]);
        let children = batch(&["{\"n\":1", "{\"n\":2", "{\"n\":3"]);
        parents.attach(many(r#","c":"#), keys([Some("a"), Some("b"), None, Some("a")]), &[0, 1, 0], children);
        assert_eq!(
            written(&parents, usize::MAX),
            r#"{"id":1,"c":[{"n":1},{"n":3}]} {"id":2,"c":[{"n":2}]} {"id":3,"c":[]} {"c":[{"n":1},{"n":3}]} "#
        );
    }

    #[test]
    fn the_written_size_counts_shared_rows_each_time() {
        let mut parents = batch(&["{\"id\":1", "{\"id\":2"]);
        parents.attach(many(r#","c":"#), keys([Some("a"); 2]), &[0, 0], batch(&["{\"n\":1", "{\"n\":2"]));
        let (size, taken) = (parents.written_size(), written(&parents, usize::MAX).len());
        assert!((taken..taken + 16).contains(&size), "{size} for {taken}");
        // A thousand for each of a thousand, and so on, saturates.
        let mut crowd = batch(&["{\"n\":1"; 1_000]);
        for _ in 0..9 {
            let mut above = batch(&["{\"n\":1"; 1_000]);
            above.attach(many(r#","c":"#), keys([Some("a"); 1_000]), &[0; 1_000], crowd);
            crowd = above;
        }
        assert_eq!(crowd.written_size(), usize::MAX);
    }

    /// All rows, each with a space after it, in pieces of at least so many bytes.
    fn written(batch: &Batch, piece: usize) -> String {
        let mut rows = batch.rows();
        let mut whole = String::new();
        while rows.begin() {
            loop {
                let mut out = Vec::new();
                let is_complete = rows.write(&mut out, piece);
                whole.push_str(std::str::from_utf8(&out).expect("text"));
                if is_complete {
                    break;
                }
            }
            whole.push(' ');
        }
        whole
    }

    /// Levels of two rows each, every row with both rows below it.
    fn doubling(levels: usize, is_list: bool) -> Batch {
        let mut below = batch(&["{\"n\":0", "{"]);
        for _ in 0..levels {
            let mut above = batch(&["{\"n\":1", "{"]);
            let owners: &[u32] = if is_list { &[0, 1] } else { &[0] };
            above.attach(Member { many: is_list, ..many(r#","c":"#) }, keys([Some("a"), Some("b")]), owners, below);
            above.attach(many(r#","d":"#), keys([None, Some("a")]), &[0, 0], batch(&["{\"m\":1", "{\"m\":2"]));
            below = above;
        }
        below
    }

    #[test]
    fn pieces_of_any_size_give_the_same_rows() {
        for is_list in [true, false] {
            let batch = doubling(4, is_list);
            let whole = written(&batch, usize::MAX);
            for row in whole.split_terminator(' ') {
                serde_json::from_str::<serde_json::Value>(row).expect(row);
            }
            for piece in [1, 2, 7, 30, 64, 1_000] {
                assert_eq!(written(&batch, piece), whole);
            }
        }
    }

    #[test]
    fn an_endless_row_is_written_in_pieces() {
        // Every level has two rows, and each of them both rows below.
        let mut below = batch(&["{\"n\":0", "{\"n\":1"]);
        for _ in 0..200 {
            let mut above = batch(&["{\"n\":0", "{\"n\":1"]);
            above.attach(many(r#","c":"#), keys([Some("a"); 2]), &[0, 0], below);
            below = above;
        }
        let mut rows = below.rows();
        assert!(rows.begin());
        for _ in 0..100 {
            let mut out = Vec::new();
            assert!(!rows.write(&mut out, 1_000));
            assert!(out.len() < 2_000);
        }
    }
}
