//! Server-sent events as they come: bytes in pieces of any size into blocks, bounded in size.

/// No block of a hub is larger.
const LONGEST: usize = 64 * 1024;

/// What stands between two empty lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// `id`, where it is a number.
    pub(super) id: Option<i64>,
    /// `event`
    pub(super) event: Option<String>,
    /// `data`, its lines joined.
    pub(super) data: String,
}

/// Gathers bytes.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    rest: Vec<u8>,
    block: Block,
    bytes: usize,
}

impl Blocks {
    /// The blocks that these bytes complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Vec<Block>, String> {
        self.rest.extend_from_slice(bytes);
        let mut blocks = Vec::new();
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = &self.rest[start..start + length];
            start += length + 1;
            self.bytes += line.len();
            let line = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).map_err(|_| "the stream is no text".to_owned())?;
            if line.is_empty() {
                self.bytes = 0;
                blocks.push(std::mem::take(&mut self.block));
            } else {
                self.block.add(line);
            }
        }
        self.rest.drain(..start);
        if self.bytes + self.rest.len() > LONGEST {
            return Err("a block of the stream is too large".to_owned());
        }
        Ok(blocks)
    }
}

impl Block {
    fn add(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" => self.id = value.parse().ok(),
            "event" => self.event = Some(value.to_owned()),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // A comment begins with a colon; other names mean nothing here.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_same_however_they_are_cut() {
        // contract I38.4
        let text = "id: 7\nevent: secevent\ndata: a.b.c\n\n: still here\n\nid: 9\r\n\r\ndata:x\ndata: y\nother: z\n\n".as_bytes();
        let block = |id: Option<i64>, event: Option<&str>, data: &str| Block { id, event: event.map(str::to_owned), data: data.to_owned() };
        let expected = [block(Some(7), Some("secevent"), "a.b.c"), Block::default(), block(Some(9), None, ""), block(None, None, "x\ny")];
        for size in 1..=text.len() {
            let mut blocks = Blocks::default();
            let read: Vec<Block> = text.chunks(size).flat_map(|piece| blocks.read(piece).expect("a stream")).collect();
            assert_eq!(read, expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_stream_that_is_no_stream_is_given_up() {
        // contract I38.4
        let mut blocks = Blocks::default();
        let endless = (0..100).map(|_| blocks.read(&[b'x'; 1_024])).find(Result::is_err);
        assert!(endless.is_some());
        let mut blocks = Blocks::default();
        let endless = (0..100).map(|_| blocks.read(format!("data: {}\n", "x".repeat(1_024)).as_bytes())).find(Result::is_err);
        assert!(endless.is_some());
        assert!(Blocks::default().read(b"\xff\n").is_err());
    }
}
