//! Finds the checks in a `CREATE TABLE` of SQLite, which no pragma lists, and the words of a `CREATE INDEX`.

use super::ColumnNullTest;

/// A `CHECK (…)`.
pub(super) struct CheckClause {
    /// Its name in an error: the name after `CONSTRAINT`, or the text in the brackets.
    pub(super) name: String,
    /// The names in the brackets.
    pub(super) words: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    /// A keyword or a name, quoted or not.
    Word,
    /// A string or a number.
    Literal,
    Sign,
}

#[derive(Clone, Copy)]
struct Token<'s> {
    kind: TokenKind,
    text: &'s str,
    start: usize,
}

impl Token<'_> {
    fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }
}

pub(super) fn check_clauses(sql: &str) -> Vec<CheckClause> {
    let tokens = tokens(sql);
    let (mut clauses, mut depth, mut name) = (Vec::new(), 0_usize, None);
    for (place, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            // A name counts until the next column or constraint.
            "," if depth == 1 => name = None,
            _ if depth == 1 && token.is_word("CONSTRAINT") => name = tokens.get(place + 1).map(|token| unquoted(token.text)),
            _ if depth == 1 && token.is_word("CHECK") => {
                let Some((inside, end)) = brackets(&tokens[place + 1..]) else { continue };
                let text = sql[tokens[place + 1].start + 1..end].trim();
                clauses.push(CheckClause { name: name.clone().unwrap_or_else(|| unquoted(text)), words: words(inside) });
            }
            _ => {}
        }
    }
    clauses
}

/// The generated columns of a `CREATE TABLE`, each with the names in its expression.
pub(super) fn generated_columns(sql: &str) -> Vec<(String, Vec<String>)> {
    let tokens = tokens(sql);
    let (mut columns, mut depth, mut name) = (Vec::new(), 0_usize, None);
    let mut starts = false;
    for (place, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => {
                depth += 1;
                starts = depth == 1;
            }
            ")" => depth = depth.saturating_sub(1),
            "," if depth == 1 => starts = true,
            _ if depth == 1 && starts => {
                name = Some(unquoted(token.text));
                starts = false;
            }
            _ if depth == 1 && token.is_word("AS") => {
                columns.extend(brackets(&tokens[place + 1..]).and_then(|(inside, _)| Some((name.clone()?, words(inside)))));
            }
            _ => {}
        }
    }
    columns
}

/// Whether a constraint of a table says what a conflict does, and not that it refuses the row.
pub(super) fn decides_conflicts(sql: &str) -> bool {
    let tokens = tokens(sql);
    let is_decided = |words: &[Token<'_>]| words[0].is_word("ON") && words[1].is_word("CONFLICT") && !words[2].is_word("ABORT");
    tokens.windows(3).any(is_decided)
}

/// The columns that a condition such as `gone IS NULL AND (box_id IS NOT NULL)` tests; none if it has another form.
pub(super) fn null_tests(condition: &str) -> Option<Vec<ColumnNullTest>> {
    let mut words = tokens(condition);
    words.retain(|token| !matches!(token.text, "(" | ")"));
    let parts = words.split(|token| token.is_word("AND"));
    let test = |part: &[Token<'_>]| {
        let (column, test) = part.split_first().filter(|(column, _)| column.kind == TokenKind::Word)?;
        let is = |expected: &[&str]| test.len() == expected.len() && test.iter().zip(expected).all(|(token, word)| token.is_word(word));
        let is_null = is(&["IS", "NULL"]) || is(&["ISNULL"]);
        let is_not_null = is(&["IS", "NOT", "NULL"]) || is(&["NOT", "NULL"]) || is(&["NOTNULL"]);
        (is_null || is_not_null).then(|| ColumnNullTest { column: unquoted(column.text), is_null })
    };
    parts.map(test).collect()
}

/// The names in a `CREATE INDEX`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct IndexWords {
    /// Those between the brackets.
    pub(super) key: Vec<String>,
    /// Those in the condition of a partial index.
    pub(super) condition: Vec<String>,
}

/// The text after WHERE in a `CREATE INDEX`.
pub(super) fn index_condition(sql: &str) -> Option<&str> {
    let found = tokens(sql).into_iter().find(|token| token.is_word("WHERE"))?;
    Some(&sql[found.start + found.text.len()..])
}

pub(super) fn index_words(sql: &str) -> IndexWords {
    let tokens = tokens(sql);
    let start = tokens.iter().position(|token| token.text == "(").unwrap_or(tokens.len());
    let Some((inside, _)) = brackets(&tokens[start..]) else { return IndexWords::default() };
    // Beside the two brackets.
    let rest = &tokens[start + inside.len() + 2..];
    let condition = rest.iter().position(|token| token.is_word("WHERE")).map_or(&[][..], |place| &rest[place + 1..]);
    IndexWords { key: words(inside), condition: words(condition) }
}

/// The expressions of a `CREATE INDEX` without their order, and its condition.
pub(super) fn index_expressions(sql: &str) -> Option<(Vec<String>, Option<String>)> {
    let tokens = tokens(sql);
    let start = tokens.iter().position(|token| token.text == "(")?;
    let (inside, close) = brackets(&tokens[start..])?;
    let (mut parts, mut depth, mut first) = (Vec::new(), 0_usize, 0);
    for (place, token) in inside.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                parts.push(expression(sql, &inside[first..place], token.start)?);
                first = place + 1;
            }
            _ => {}
        }
    }
    parts.push(expression(sql, &inside[first..], close)?);
    let rest = &tokens[start + inside.len() + 2..];
    let condition = rest.iter().position(|token| token.is_word("WHERE")).and_then(|place| rest.get(place + 1));
    Some((parts, condition.map(|token| sql[token.start..].trim().trim_end_matches(';').to_owned())))
}

/// The text of these tokens, which end before `end`, without `ASC` or `DESC`.
fn expression(sql: &str, tokens: &[Token<'_>], end: usize) -> Option<String> {
    let last = tokens.last().filter(|token| token.is_word("ASC") || token.is_word("DESC"));
    Some(sql[tokens.first()?.start..last.map_or(end, |token| token.start)].trim().to_owned())
}

/// The tokens between an opening bracket and its closing one, and the position of the closing one.
fn brackets<'t, 's>(tokens: &'t [Token<'s>]) -> Option<(&'t [Token<'s>], usize)> {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate() {
        match token.text {
            "(" => depth += 1,
            ")" if depth == 1 => return Some((&tokens[1..place], token.start)),
            ")" => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn words(tokens: &[Token<'_>]) -> Vec<String> {
    tokens.iter().filter(|token| token.kind == TokenKind::Word).map(|token| unquoted(token.text)).collect()
}

/// A text without its quotes. SQLite names a check without a name by its text, and takes quotes at its start for those of a name.
fn unquoted(text: &str) -> String {
    let close = match text.chars().next() {
        Some('[') => ']',
        Some(quote @ ('"' | '`' | '\'')) => quote,
        _ => return text.to_owned(),
    };
    let mut out = String::new();
    let mut rest = text[1..].chars().peekable();
    while let Some(character) = rest.next() {
        if character == close && (close == ']' || rest.next_if_eq(&close).is_none()) {
            break;
        }
        out.push(character);
    }
    out
}

fn tokens(sql: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = sql[start..].chars().next() {
        let rest = &sql[start..];
        let (kind, length) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            '\'' => (Some(TokenKind::Literal), quoted_length(rest, '\'')),
            '"' | '`' => (Some(TokenKind::Word), quoted_length(rest, first)),
            '[' => (Some(TokenKind::Word), rest.find(']').map_or(rest.len(), |end| end + 1)),
            _ if first.is_ascii_digit() => (Some(TokenKind::Literal), plain_length(rest)),
            _ if is_plain(first) => (Some(TokenKind::Word), plain_length(rest)),
            _ => (Some(TokenKind::Sign), first.len_utf8()),
        };
        tokens.extend(kind.map(|kind| Token { kind, text: &rest[..length], start }));
        start += length;
    }
    tokens
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$') || !character.is_ascii()
}

fn plain_length(text: &str) -> usize {
    text.find(|character| !is_plain(character)).unwrap_or(text.len())
}

/// The length of a quoted text with its quotes; a doubled quote is a part of it.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut rest = text.char_indices().skip(1).peekable();
    while let Some((place, character)) = rest.next() {
        if character == quote && rest.next_if(|(_, next)| *next == quote).is_none() {
            return place + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{
        ColumnNullTest, IndexWords, check_clauses, decides_conflicts, generated_columns, index_condition, index_expressions, index_words,
        null_tests,
    };

    #[test]
    fn each_check_has_the_name_of_its_error_and_its_columns() {
        let sql = r#"CREATE TABLE "a(b" (id INTEGER PRIMARY KEY CHECK ( id > 0 ), -- CHECK (no)
            "odd name" TEXT CONSTRAINT "short one" NOT NULL CHECK (length("odd name") < 5) DEFAULT 'CHECK (x)',
            [c] INT, /* CHECK (y) */ d TEXT CHECK("d" <> 'c'), CONSTRAINT total CHECK (c + (id * 2) > 1), CHECK (c IN (1, 2)))"#;
        let found: Vec<(String, Vec<String>)> = check_clauses(sql).into_iter().map(|clause| (clause.name, clause.words)).collect();
        let expected = [
            ("id > 0", vec!["id"]),
            ("short one", vec!["length", "odd name"]),
            ("d", vec!["d"]),
            ("total", vec!["c", "id"]),
            ("c IN (1, 2)", vec!["c", "IN"]),
        ];
        let expected = expected.map(|(name, words)| (name.to_owned(), words.into_iter().map(str::to_owned).collect::<Vec<_>>()));
        assert_eq!(found, expected);
        assert!(check_clauses("CREATE TABLE t (a INT CHECK (a > ").is_empty());
    }

    #[test]
    fn a_generated_column_has_the_names_of_its_expression() {
        let sql =
            r#"CREATE TABLE t (a INT, "b c" TEXT AS (lower(d) || a) STORED, d TEXT, e INT GENERATED ALWAYS AS (a + 1), CHECK (a > 0))"#;
        let names = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let expected = [("b c".to_owned(), names(&["lower", "d", "a"])), ("e".to_owned(), names(&["a"]))];
        assert_eq!(generated_columns(sql), expected);
    }

    #[test]
    fn a_clause_on_conflicts_is_found_outside_of_comments_and_strings() {
        assert!(decides_conflicts("CREATE TABLE t (a INT UNIQUE on conflict Replace)"));
        assert!(!decides_conflicts("CREATE TABLE t (a INT UNIQUE ON CONFLICT ABORT, b TEXT DEFAULT 'ON CONFLICT IGNORE')"));
        assert!(!decides_conflicts("CREATE TABLE t (a INT) -- ON CONFLICT IGNORE x"));
    }

    #[test]
    fn an_index_has_expressions_and_a_condition() {
        let sql = "CREATE UNIQUE INDEX i ON t (lower(email || ',') DESC, \"b\" COLLATE NOCASE asc, c) WHERE gone IS NULL AND (d > 1);";
        let parts = ["lower(email || ',')", "\"b\" COLLATE NOCASE", "c"].map(str::to_owned).to_vec();
        assert_eq!(index_expressions(sql), Some((parts, Some("gone IS NULL AND (d > 1)".to_owned()))));
        assert_eq!(index_expressions("CREATE UNIQUE INDEX i ON t (a)"), Some((vec!["a".to_owned()], None)));
        assert_eq!(index_expressions(""), None);
    }

    #[test]
    fn the_key_of_an_index_is_apart_from_its_condition() {
        let words = index_words("CREATE UNIQUE INDEX i ON t (lower(email), \"b\") WHERE gone IS NULL");
        assert_eq!(words.key, ["lower", "email", "b"]);
        assert_eq!(words.condition, ["gone", "IS", "NULL"]);
        assert_eq!(index_words("CREATE INDEX i"), IndexWords::default());
        assert!(index_words("CREATE INDEX i ON t (a)").condition.is_empty());
    }

    #[test]
    fn a_condition_of_null_tests_is_read() {
        let test = |column: &str, is_null| ColumnNullTest { column: column.to_owned(), is_null };
        assert_eq!(null_tests("(gone IS NULL)"), Some(vec![test("gone", true)]));
        assert_eq!(null_tests("((\"Box id\" IS NOT NULL) AND gone isnull)"), Some(vec![test("Box id", false), test("gone", true)]));
        for other in ["gone IS NULL OR a IS NULL", "NOT gone IS NULL", "a = 1 AND gone IS NULL", "a", "lower(a) IS NULL"] {
            assert_eq!(null_tests(other), None, "{other}");
        }
        assert_eq!(index_condition("CREATE INDEX i ON t (a) WHERE a NOTNULL"), Some(" a NOTNULL"));
        assert_eq!(index_condition("CREATE INDEX i ON t (a) -- WHERE"), None);
    }
}
