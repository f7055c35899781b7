//! `fields=id,name,orders.total`: the fields that an answer shows.

use crate::error::{Code, Error, shorten};
use crate::statement::{FIELDS, FieldSelection};

/// How many names `fields` may have.
const MAX_FIELDS: usize = 1_000;

/// Parses the parameter `fields`.
pub fn field_selection(text: &str) -> Result<FieldSelection, Error> {
    let mut selection = FieldSelection::default();
    for (index, path) in text.split(',').map(str::trim).enumerate() {
        if index >= MAX_FIELDS {
            return Err(Error::one(Code::Entries, FIELDS, format!("`fields` takes at most {MAX_FIELDS} names")));
        }
        if path.is_empty() || path.split('.').any(str::is_empty) {
            let message = "`fields` is a list of names with commas between, such as `id,name,orders.total`";
            return Err(Error::one(Code::Empty, FIELDS, format!("{message}; found {:?}", shorten(path))));
        }
        if path.split('.').count() > super::MAX_DEPTH + 1 {
            return Err(Error::one(Code::Depth, FIELDS, format!("`fields` follows at most {} relations", super::MAX_DEPTH)));
        }
        insert(&mut selection, path);
    }
    Ok(selection)
}

fn insert(selection: &mut FieldSelection, path: &str) {
    match path.split_once('.') {
        Some((name, rest)) => selection.add_below(name, |below| insert(below, rest)),
        None => selection.add(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_a_tree() {
        fn names(selection: &FieldSelection) -> Vec<(&str, Vec<&str>)> {
            selection
                .fields
                .iter()
                .map(|field| (&*field.name, field.below.iter().flat_map(names).map(|(name, _)| name).collect()))
                .collect()
        }
        let selection = field_selection("id, orders.total,orders.id,tags.name,tags").unwrap();
        assert_eq!(names(&selection), [("id", vec![]), ("orders", vec!["total", "id"]), ("tags", vec![])]);
    }

    #[test]
    fn a_list_without_a_name_is_refused() {
        for text in ["", ",", "a,", "a,,b", "a..b", ".a", "a."] {
            assert_eq!(field_selection(text).unwrap_err().faults[0].code, Code::Empty, "{text:?}");
        }
        assert_eq!(field_selection(&["a"; 1_001].join(",")).unwrap_err().faults[0].code, Code::Entries);
        assert_eq!(field_selection(&["a"; 12].join(".")).unwrap_err().faults[0].code, Code::Depth);
    }
}
