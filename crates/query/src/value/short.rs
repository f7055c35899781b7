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

    /// Adds the last digits of a number that is not negative, two for each pair. A division by a constant costs next to nothing, one by a
    /// divisor that is computed a lot, and a page of rows has hundreds of them.
    pub(super) fn push_pairs<const PAIRS: usize>(&mut self, number: i64) {
        let mut rest = number as u32;
        let mut pairs = [[b'0'; 2]; PAIRS];
        for pair in pairs.iter_mut().rev() {
            let both = (rest % 100) as u8;
            *pair = [b'0' + both / 10, b'0' + both % 10];
            rest /= 100;
        }
        let digits = pairs.as_flattened();
        if let Some(place) = self.bytes.get_mut(self.len..self.len + digits.len()) {
            place.copy_from_slice(digits);
            self.len += digits.len();
        }
    }

    /// The characters.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
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
