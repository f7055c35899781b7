//! The id of a row in a URL or an argument: one string for all columns of the key.

use percent_encoding::percent_decode_str;

/// The parts of an id, each percent-decoded. Many clients encode the whole id with its commas; if that leaves too few parts, the id is
/// decoded before it is split.
pub(crate) fn key_parts(raw: &str, count: usize) -> Vec<String> {
    if count == 1 {
        return vec![decoded(raw)];
    }
    let parts: Vec<String> = raw.split(',').map(decoded).collect();
    if parts.len() < count {
        let whole: Vec<String> = decoded(raw).split(',').map(str::to_owned).collect();
        if whole.len() == count {
            return whole;
        }
    }
    parts
}

/// Bytes that are no UTF-8 become U+FFFD, which equals no key.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_composite_key_may_hold_a_comma() {
        assert_eq!(key_parts("a%2Cb,c", 2), ["a,b", "c"]);
        assert_eq!(key_parts("a%2Cb", 2), ["a", "b"]);
        assert_eq!(key_parts("a%2Cb%2Cc", 2), ["a,b,c"]);
        assert_eq!(key_parts("a%2Cb,c", 3), ["a", "b", "c"]);
        assert_eq!(key_parts("a,b", 1), ["a,b"]);
        assert_eq!(key_parts("%C3%91U", 1), ["ÑU"]);
        assert_eq!(key_parts("%zz%4", 1), ["%zz%4"]);
    }
}
