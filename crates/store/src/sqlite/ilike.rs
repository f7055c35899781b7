//! PostgreSQL's ILIKE: `%` matches any run, `_` any character, a backslash escapes the next; case is folded character by character.

use std::sync::Arc;

use rusqlite::Result;
use rusqlite::functions::Context;

use super::cell;
use super::interrupt::Effort;

pub(super) fn ilike(context: &Context<'_>) -> Result<Option<bool>> {
    let Some(text) = cell::text(context.get_raw(0)) else { return Ok(None) };
    // The pattern is the same for every row, so SQLite caches the parsed one.
    let pattern: Arc<Vec<Token>> = context.get_or_create_aux(1, |value| -> std::result::Result<Vec<Token>, rusqlite::Error> {
        Ok(tokens(cell::text(value).unwrap_or_default()))
    })?;
    matches(&pattern, text).map(Some)
}

#[derive(Debug, PartialEq)]
enum Token {
    Run,
    One,
    Exactly(char),
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            '%' => Token::Run,
            '_' => Token::One,
            '\\' => Token::Exactly(fold(characters.next().unwrap_or('\\'))),
            other => Token::Exactly(fold(other)),
        });
    }
    tokens
}

/// Folds one character to one, as a C library does. The few that would become two stay as they are.
fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    // A C library folds İ to a plain i.
    if character == '\u{130}' {
        return 'i';
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

/// After a mismatch only the latest `%` can match one character more, so there is no exponential search.
fn matches(pattern: &[Token], text: &str) -> Result<bool> {
    let (mut at, mut rest) = (0, text.chars());
    let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
    let mut effort = Effort::default();
    loop {
        effort.spend()?;
        let mut after = rest.clone();
        let Some(character) = after.next() else { break };
        match pattern.get(at) {
            // A `%` at the end matches the rest.
            Some(Token::Run) if at + 1 == pattern.len() => return Ok(true),
            Some(Token::Run) => {
                at += 1;
                retry = Some((at, rest.clone()));
            }
            Some(Token::One) => (at, rest) = (at + 1, after),
            Some(Token::Exactly(expected)) if *expected == fold(character) => (at, rest) = (at + 1, after),
            _ => match &mut retry {
                Some((start, skipped)) => {
                    _ = skipped.next();
                    (at, rest) = (*start, skipped.clone());
                }
                None => return Ok(false),
            },
        }
    }
    Ok(pattern[at..].iter().all(|token| *token == Token::Run))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(pattern: &str, text: &str) -> bool {
        matches(&tokens(pattern), text).unwrap()
    }

    #[test]
    fn patterns_match_as_in_postgresql() {
        // trap 11, contract Q3.6
        for (pattern, text, expected) in [
            ("ali%", "Alice", true),
            ("%É%", "café", true),
            ("жУК", "Жук", true),
            ("a_c", "aXc", true),
            ("a_c", "ac", false),
            ("100\\%", "100%", true),
            ("100\\%", "1000", false),
            ("a\\_b", "axb", false),
            ("\\\\", "\\", true),
            ("", "", true),
            ("%", "", true),
            ("", "x", false),
            ("%a%b%c%", "xxaxxbxxcxx", true),
            ("%a%b%c", "abcabcab", false),
            ("%é_ü%", "xxÉßÜyy", true),
            ("é%", "xé", false),
            ("i", "İ", true),
            ("İx", "IX", true),
        ] {
            assert_eq!(like(pattern, text), expected, "{pattern:?} on {text:?}");
        }
    }

    #[test]
    fn a_hostile_pattern_does_not_take_exponential_time() {
        assert!(!like(&"%a".repeat(2_000), &"b".repeat(20_000)));
    }
}
