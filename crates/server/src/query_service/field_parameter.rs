//! The parameter `fields` in the URL of a request.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use query::error::{Code, Error};
use query::messages::did_you_mean;
use query::parse;
use query::pointer::Pointer;
use query::statement::FieldSelection;

const NAME: &str = "fields";

/// The parameter `fields`. Other parameters are ignored, except a misspelling of it.
pub(crate) fn field_parameter(query: Option<&str>) -> Result<Option<FieldSelection>, Error> {
    let mut found = None;
    for pair in query.unwrap_or_default().split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name);
        if name == NAME {
            if found.replace(value).is_some() {
                return Err(Error::one(Code::DuplicateKey, "/fields", "`fields` came more than once; write one list with commas"));
            }
            continue;
        }
        let hint = did_you_mean(&name, &[NAME]);
        if !hint.is_empty() {
            let mut path = Pointer::default();
            path.key(&name);
            return Err(Error::one(Code::UnknownKey, path.finish(), format!("`{name}` is not a parameter{hint}")));
        }
    }
    found.map(|names| parse::field_selection(&decoded(names))).transpose()
}

/// A part of the query of a URL. A blank may be a plus, as in forms.
fn decoded(part: &str) -> String {
    let part = if part.contains('+') { Cow::Owned(part.replace('+', " ")) } else { Cow::Borrowed(part) };
    percent_decode_str(&part).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // contract E1.6
    #[test]
    fn blanks_are_written_in_two_ways() {
        let parsed = |query: &str| field_parameter(Some(query)).map_err(|error| error.faults.into_iter().map(|fault| fault.path).collect());
        let expected: Result<_, Vec<String>> = Ok(parse::field_selection("id, title").ok());
        for query in ["fields=id,title", "fields=id%2C+title", "fields=id,%20title", "f%69elds=id,title", "limit=5&fields=+id+,title&x"] {
            assert_eq!(parsed(query), expected, "{query}");
        }
        for query in ["", "limit=5", "x=fields", "analyze"] {
            assert_eq!(parsed(query), Ok(None), "{query}");
        }
    }

    // contract E1.6
    #[test]
    fn a_misspelled_name_is_reported() {
        for (query, path, code) in [
            ("Fields=id", "/Fields", Code::UnknownKey),
            ("feilds=id", "/feilds", Code::UnknownKey),
            ("fields[]=id", "/fields[]", Code::UnknownKey),
            ("fields%5B%5D=id", "/fields[]", Code::UnknownKey),
            ("fields=id&fields=id", "/fields", Code::DuplicateKey),
            ("fields", "/fields", Code::Empty),
        ] {
            let fault = field_parameter(Some(query)).expect_err(query).faults.remove(0);
            assert_eq!((fault.path.as_str(), fault.code), (path, code), "{query}");
        }
    }
}
