//! What stands in a text, eight bytes at a time: most texts are short, and looking at each byte costs more than copying them.

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// A quote, a backslash or a control character, which JSON escapes.
    pub(super) escapes: bool,
    /// A byte that is not ASCII.
    pub(super) beyond_ascii: bool,
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
/// Bytes that are neither.
const PLAIN: u64 = u64::from_ne_bytes([b' '; 8]);

/// Looks at all bytes.
pub(super) fn scan(bytes: &[u8]) -> Seen {
    let (mut escapes, mut all) = (0, 0);
    let mut look = |word: u64| {
        // A byte's own high bit is the same in all three, since neither character has one.
        let borrowed = less(word, 0x20) | less(word ^ (ONES * u64::from(b'"')), 1) | less(word ^ (ONES * u64::from(b'\\')), 1);
        escapes |= borrowed & !word;
        all |= word;
    };
    if let Some(last) = bytes.last_chunk::<8>() {
        let (words, _) = bytes.as_chunks::<8>();
        for word in words {
            look(u64::from_ne_bytes(*word));
        }
        // What is left over, with some that was looked at already.
        look(u64::from_ne_bytes(*last));
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        look(u64::from(u32::from_ne_bytes(*first)) << 32 | u64::from(u32::from_ne_bytes(*last)));
    } else {
        look(bytes.iter().fold(PLAIN, |word, byte| word << 8 | u64::from(*byte)));
    }
    Seen { escapes: escapes & HIGH != 0, beyond_ascii: all & HIGH != 0 }
}

/// The high bit of some byte, if one of them is less than `limit`, which is at most 0x80: a subtraction borrows there. It counts where the
/// byte had no high bit of its own. Bytes above it may borrow too, which changes nothing about whether there is one.
fn less(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(ONES * limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By looking at each.
    fn slowly(bytes: &[u8]) -> Seen {
        Seen {
            escapes: bytes.iter().any(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\'),
            beyond_ascii: bytes.iter().any(|byte| *byte >= 0x80),
        }
    }

    #[test]
    fn every_byte_is_seen_wherever_it_stands() {
        for length in 0..40 {
            for filler in [b'a', b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                assert_eq!(scan(&vec![filler; length]), slowly(&vec![filler; length]), "{length} {filler}");
                for place in 0..length {
                    for byte in 0..=255 {
                        let mut bytes = vec![filler; length];
                        bytes[place] = byte;
                        assert_eq!(scan(&bytes), slowly(&bytes), "{byte} at {place} of {length} beside {filler}");
                    }
                }
            }
        }
    }
}
