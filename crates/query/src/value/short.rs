//! A short text that needs no allocation: what dates, times and ids are written as.

use std::fmt;
use std::ops::Deref;

/// As long as the longest of them, an id.
const ROOM: usize = 36;

/// At most 36 ASCII characters.
#[derive(Clone, Copy)]
pub struct ShortText {
    bytes: [u8; ROOM],
    len: usize,
}

impl ShortText {
    /// Adds an ASCII character; one too many would be a fault of ours and is left out.
    pub(super) fn push(&mut self, character: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = character;
            self.len += 1;
        }
    }

    /// Adds ASCII characters at once, which costs one look at the room that is left; too many would be a fault of ours and are left out.
    pub(super) fn push_all<const COUNT: usize>(&mut self, characters: [u8; COUNT]) {
        if let Some(place) = self.bytes.get_mut(self.len..).and_then(|room| room.first_chunk_mut()) {
            *place = characters;
            self.len += COUNT;
        }
    }

    /// Appends the characters: all of the room, and takes back what was not used, since a copy of a known size costs less than one of any.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(end);
    }

    /// Drops zeros at the end.
    pub(super) fn trim_zeros(&mut self) {
        while self.bytes[..self.len].ends_with(b"0") {
            self.len -= 1;
        }
    }
}

impl Default for ShortText {
    fn default() -> Self {
        ShortText { bytes: [0; ROOM], len: 0 }
    }
}

impl Deref for ShortText {
    type Target = str;

    fn deref(&self) -> &str {
        // Only ASCII was written.
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl From<ShortText> for String {
    fn from(text: ShortText) -> String {
        (*text).to_owned()
    }
}
