//! Writes a pattern of the manifest so that other engines read it alike: flags, classes such as `\d` and the dot mean other characters
//! elsewhere, so that they are written out.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look, Repetition};

/// The pattern in syntax that JavaScript, Python and others share. `None` if it uses more, such as word boundaries.
pub(super) fn portable(pattern: &str) -> Option<String> {
    let mut out = String::new();
    write(&mut out, &regex_syntax::parse(pattern).ok()?)?;
    Some(out)
}

fn write(out: &mut String, hir: &Hir) -> Option<()> {
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            std::str::from_utf8(&literal.0).ok()?.chars().for_each(|letter| escaped(out, letter, r"\^$.*+?()[]{}|"))
        }
        HirKind::Class(Class::Unicode(class)) => write_class(out, class)?,
        HirKind::Class(Class::Bytes(class)) => write_class(out, &class.to_unicode_class()?)?,
        HirKind::Look(Look::Start) => out.push('^'),
        HirKind::Look(Look::End) => out.push('$'),
        HirKind::Look(_) => return None,
        HirKind::Repetition(repetition) => write_repetition(out, repetition)?,
        HirKind::Capture(capture) => write_group(out, &capture.sub)?,
        HirKind::Concat(parts) => {
            let mut before: Option<&Hir> = None;
            for part in parts {
                let is_again = matches!(part.kind(), HirKind::Look(_)) && before == Some(part);
                match part.kind() {
                    _ if is_again => {}
                    HirKind::Alternation(_) => write_group(out, part)?,
                    _ => write(out, part)?,
                }
                before = Some(part);
            }
        }
        HirKind::Alternation(parts) => {
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    out.push('|');
                }
                write(out, part)?;
            }
        }
    }
    Some(())
}

fn write_group(out: &mut String, hir: &Hir) -> Option<()> {
    out.push_str("(?:");
    write(out, hir)?;
    out.push(')');
    Some(())
}

fn write_repetition(out: &mut String, Repetition { min, max, sub, .. }: &Repetition) -> Option<()> {
    match sub.kind() {
        HirKind::Class(_) => write(out, sub)?,
        _ => write_group(out, sub)?,
    }
    out.push_str(&match (*min, *max) {
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (0, Some(1)) => "?".to_owned(),
        (min, None) => format!("{{{min},}}"),
        (min, Some(max)) if min == max => format!("{{{min}}}"),
        (min, Some(max)) => format!("{{{min},{max}}}"),
    });
    Some(())
}

fn write_class(out: &mut String, class: &ClassUnicode) -> Option<()> {
    let ranges = class.ranges();
    let (first, last) = (ranges.first()?, ranges.last()?);
    if first.start() != '\0' || last.end() != char::MAX {
        out.push('[');
        write_ranges(out, class);
    } else {
        // Most characters: shorter by the others.
        let mut others = class.clone();
        others.negate();
        out.push_str(if others.ranges().is_empty() { r"[\s\S" } else { "[^" });
        write_ranges(out, &others);
    }
    out.push(']');
    Some(())
}

fn write_ranges(out: &mut String, class: &ClassUnicode) {
    for range in class.ranges() {
        escaped(out, range.start(), r"\[]^-");
        if range.start() != range.end() {
            out.push('-');
            escaped(out, range.end(), r"\[]^-");
        }
    }
}

fn escaped(out: &mut String, letter: char, special: &str) {
    if special.contains(letter) {
        out.push('\\');
    }
    out.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_pattern_stays_as_it_is() {
        for pattern in ["^[A-Z]{2}-[0-9]+$", "^a(?:b|cd)*$", r"^\+[0-9]{1,3}\.[^a-z]?$", r"^[\-\]a]{2,}$"] {
            assert_eq!(portable(pattern).as_deref(), Some(pattern));
        }
        assert_eq!(portable("^(?:^[A-Z]$)$").as_deref(), Some("^[A-Z]$"));
    }

    #[test]
    fn what_differs_between_engines_is_written_out() {
        assert_eq!(portable("^(?i)ab$").as_deref(), Some("^[Aa][Bb]$"));
        assert_eq!(portable("^.$").as_deref(), Some("^[^\n]$"));
        assert_eq!(portable("(?s)^.+$").as_deref(), Some(r"^[\s\S]+$"));
        assert_eq!(portable("^(?P<year>[0-9])$").as_deref(), Some("^(?:[0-9])$"));
        assert!(portable(r"^\d$").is_some_and(|digits| digits.starts_with("^[0-9٠-٩")));
        assert_eq!(portable(r"^\bword\b$"), None);
    }
}
