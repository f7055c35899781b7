//! Parses server-sent events from bytes in pieces of any size, with a bounded size of an event.

const MAX_EVENT_BYTES: usize = 64 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamEvent {
    /// `id`, if it is a number.
    pub(super) id: Option<i64>,
    pub(super) event: Option<String>,
    /// `data`, its lines joined.
    pub(super) data: String,
}

#[derive(Debug, Default)]
pub(super) struct EventParser {
    rest: Vec<u8>,
    block: StreamEvent,
    bytes: usize,
}

impl EventParser {
    /// The events that these bytes complete.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Vec<StreamEvent>, String> {
        self.rest.extend_from_slice(bytes);
        let mut blocks = Vec::new();
        let mut start = 0;
        while let Some(length) = self.rest[start..].iter().position(|byte| *byte == b'\n') {
            let line = &self.rest[start..start + length];
            start += length + 1;
            self.bytes += line.len();
            let line = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(line)).map_err(|_| "the stream is not UTF-8".to_owned())?;
            if line.is_empty() {
                self.bytes = 0;
                blocks.push(std::mem::take(&mut self.block));
            } else {
                self.block.add(line);
            }
        }
        self.rest.drain(..start);
        if self.bytes + self.rest.len() > MAX_EVENT_BYTES {
            return Err("an event of the stream is too large".to_owned());
        }
        Ok(blocks)
    }
}

impl StreamEvent {
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
            // Comments, and fields that are not used.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_the_same_in_pieces_of_any_size() {
        // contract I38.4
        let text = "id: 7\nevent: secevent\ndata: a.b.c\n\n: still here\n\nid: 9\r\n\r\ndata:x\ndata: y\nother: z\n\n".as_bytes();
        let block =
            |id: Option<i64>, event: Option<&str>, data: &str| StreamEvent { id, event: event.map(str::to_owned), data: data.to_owned() };
        let expected =
            [block(Some(7), Some("secevent"), "a.b.c"), StreamEvent::default(), block(Some(9), None, ""), block(None, None, "x\ny")];
        for size in 1..=text.len() {
            let mut blocks = EventParser::default();
            let read: Vec<StreamEvent> = text.chunks(size).flat_map(|piece| blocks.read(piece).expect("a stream")).collect();
            assert_eq!(read, expected, "pieces of {size}");
        }
    }

    #[test]
    fn an_endless_event_and_invalid_utf8_are_refused() {
        // contract I38.4
        let mut blocks = EventParser::default();
        let endless = (0..100).map(|_| blocks.read(&[b'x'; 1_024])).find(Result::is_err);
        assert!(endless.is_some());
        let mut blocks = EventParser::default();
        let endless = (0..100).map(|_| blocks.read(format!("data: {}\n", "x".repeat(1_024)).as_bytes())).find(Result::is_err);
        assert!(endless.is_some());
        assert!(EventParser::default().read(b"\xff\n").is_err());
    }
}
