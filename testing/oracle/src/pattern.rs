//! The `iLike` pattern: PostgreSQL's LIKE with a backslash as escape, regardless of case.

/// Whether the whole string matches the pattern.
pub(crate) fn matches(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().map(lower).collect();
    let pattern: Vec<char> = pattern.chars().map(lower).collect();
    meets(&text, &pattern)
}

fn meets(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|skipped| meets(&text[skipped..], rest)),
        Some(('_', rest)) => text.split_first().is_some_and(|(_, after)| meets(after, rest)),
        Some(('\\', rest)) => match (rest.split_first(), text.split_first()) {
            (Some((wanted, rest)), Some((found, after))) => wanted == found && meets(after, rest),
            _ => false,
        },
        Some((wanted, rest)) => text.split_first().is_some_and(|(found, after)| wanted == found && meets(after, rest)),
    }
}

/// The simple lower case: one character for one character.
fn lower(character: char) -> char {
    let mut lowered = character.to_lowercase();
    match (lowered.next(), lowered.next()) {
        (Some(one), None) => one,
        // Only the capital I with a dot becomes two, an `i` and a dot; in simple lower case it is the `i`.
        (Some(first), Some(_)) => first,
        (None, _) => character,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_follow_postgresql_and_ignore_case() {
        assert!(matches("Éclair", "éC%"));
        assert!(matches("ЖУК", "жу_"));
        assert!(matches("100%", "100\\%"));
        assert!(!matches("1000", "100\\%"));
        assert!(matches("a_b", "a\\_B") && !matches("axb", "a\\_b"));
        assert!(matches("back\\slash", "back\\\\slash"));
        assert!(matches("", "%") && matches("", "") && !matches("", "_"));
        assert!(matches("🎈", "_"));
        assert!(matches("abc", "\\A%"));
        assert!(!matches("abc", "ab"));
    }
}
