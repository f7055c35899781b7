//! A row in an answer: its fields as the viewer sees them.

use crate::cell::Cell;
use crate::schema::{Field, Kind, Mask, Resource};
use crate::session::Session;
use crate::viewer::Viewer;
use crate::world::Row;
use serde_json::{Map, Value};

/// Every eager field that the viewer knows, masked if necessary.
pub(crate) fn row<'a>(session: &Session<'a>, resource: &'a Resource, row: &Row) -> Map<String, Value> {
    let visible = resource.fields.iter().enumerate().filter(|(_, field)| field.eager && session.viewer.knows(field));
    visible.map(|(index, field)| (field.name.clone(), shown(session.viewer, field, &session.cell(resource, row, index)))).collect()
}

fn shown(viewer: &Viewer, field: &Field, cell: &Cell) -> Value {
    match field.mask {
        Some(mask) if viewer.sees_masked(field) => masked(mask, field, cell),
        _ => cell.show(field.kind),
    }
}

fn masked(mask: Mask, field: &Field, cell: &Cell) -> Value {
    if mask == Mask::Redact {
        let texts = !field.array && matches!(field.kind, Kind::Text | Kind::Enum);
        return if texts { Value::from("***") } else { Value::Null };
    }
    let Cell::Text(text) = cell else {
        return Value::Null;
    };
    Value::from(if mask == Mask::Email { masked_email(text) } else { last_four(text) })
}

fn masked_email(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((local, domain)) => {
            let first: String = local.chars().take(1).collect();
            format!("{first}***@{domain}")
        }
        None => "***".to_owned(),
    }
}

fn last_four(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    if characters.len() <= 4 {
        return "***".to_owned();
    }
    let tail: String = characters[characters.len() - 4..].iter().collect();
    format!("***{tail}")
}

#[cfg(test)]
mod tests {
    use super::{last_four, masked_email};

    #[test]
    fn masks_show_no_more_than_they_may() {
        assert_eq!(masked_email("ana@example.org"), "a***@example.org");
        assert_eq!(masked_email("\"a@b\"@example.org"), "\"***@example.org");
        assert_eq!(masked_email("élan@example.org"), "é***@example.org");
        assert_eq!(masked_email("@example.org"), "***@example.org");
        assert_eq!(masked_email("no address"), "***");
        assert_eq!(last_four("12345"), "***2345");
        assert_eq!(last_four("1234"), "***");
        assert_eq!(last_four("äöü🎈é"), "***öü🎈é");
        assert_eq!(last_four(""), "***");
    }
}
