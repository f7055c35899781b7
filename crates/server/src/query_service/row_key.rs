//! The id of a row in a URL or an argument: one string for all columns of the key.

use percent_encoding::percent_decode_str;
use query::error::{Code, Error};

/// The parts of an id, each percent-decoded. Many clients encode the whole id with its commas; if that leaves too few parts, the id is
/// decoded before it is split.
pub(crate) fn key_parts(raw: &str, count: usize) -> Result<Vec<String>, Error> {
    if count == 1 {
        return Ok(vec![decoded(raw)?]);
    }
    let parts = raw.split(',').map(decoded).collect::<Result<Vec<String>, Error>>()?;
    if parts.len() < count {
        let whole: Vec<String> = decoded(raw)?.split(',').map(str::to_owned).collect();
        if whole.len() == count {
            return Ok(whole);
        }
    }
    Ok(parts)
}

fn decoded(text: &str) -> Result<String, Error> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| Error::one(Code::Identifier, "/id", "the id must be percent-encoded UTF-8; found other bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_composite_key_may_hold_a_comma() {
        let parts = |raw, count| key_parts(raw, count).expect("UTF-8");
        assert_eq!(parts("a%2Cb,c", 2), ["a,b", "c"]);
        assert_eq!(parts("a%2Cb", 2), ["a", "b"]);
        assert_eq!(parts("a%2Cb%2Cc", 2), ["a,b,c"]);
        assert_eq!(parts("a%2Cb,c", 3), ["a", "b", "c"]);
        assert_eq!(parts("a,b", 1), ["a,b"]);
        assert_eq!(parts("%C3%91U", 1), ["ÑU"]);
        assert_eq!(parts("%zz%4", 1), ["%zz%4"]);
    }

    #[test]
    fn bytes_that_are_no_utf8_are_refused() {
        assert!(key_parts("%FF", 1).is_err());
        assert!(key_parts("1,%C3%28", 2).is_err());
    }
}
