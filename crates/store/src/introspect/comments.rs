//! Moves comments at the end of a TOML table: the editor attaches them to the next header, so a new table would come before them.

use toml_edit::{DocumentMut, RawString, Table};

/// Takes the comments at the end of a resource's last table, for the header of the table that will follow it.
pub(super) fn take_ending(document: &mut DocumentMut, context: &str, name: &str) -> String {
    let Some(last) = position(document, context, name) else { return String::new() };
    if let Some(next) = next_position(document.as_table(), last)
        && let Some(table) = at(document.as_table_mut(), next)
    {
        let (ending, rest) = split(&text(table.decor().prefix()));
        // A comment right above a header belongs to that header.
        if !rest.trim_start_matches([' ', '\t']).starts_with('\n') {
            return String::new();
        }
        table.decor_mut().set_prefix(rest);
        return ending;
    }
    let (ending, rest) = split(&text(Some(document.trailing())));
    document.set_trailing(rest);
    ending
}

/// The position of a resource's last table, or of the table that holds it under dotted keys.
fn position(document: &DocumentMut, context: &str, name: &str) -> Option<isize> {
    let context = document.get("resource")?.get(context)?.as_table()?;
    last_position(context.get(name)?.as_table()?).or(context.position())
}

fn text(raw: Option<&RawString>) -> String {
    raw.and_then(RawString::as_str).unwrap_or_default().replace("\r\n", "\n")
}

fn split(text: &str) -> (String, String) {
    let length = text.split_inclusive('\n').take_while(|line| line.trim_start().starts_with('#')).map(str::len).sum();
    let (comments, rest) = text.split_at(length);
    let end = if comments.is_empty() || comments.ends_with('\n') { "" } else { "\n" };
    (format!("{comments}{end}"), rest.to_owned())
}

fn tables(table: &Table) -> impl Iterator<Item = &Table> {
    table.iter().filter_map(|(_, item)| item.as_table())
}

fn last_position(table: &Table) -> Option<isize> {
    tables(table).filter_map(last_position).last().or(table.position())
}

fn next_position(table: &Table, after: isize) -> Option<isize> {
    let own = table.position().filter(|position| *position > after && !table.is_implicit());
    tables(table).filter_map(|table| next_position(table, after)).chain(own).min()
}

fn at(table: &mut Table, position: isize) -> Option<&mut Table> {
    if table.position() == Some(position) && !table.is_implicit() {
        return Some(table);
    }
    table.iter_mut().filter_map(|(_, item)| item.as_table_mut()).find_map(|table| at(table, position))
}
