//! What one document may ask for, measured on its text and its tree before anything is made of it.
//!
//! Fragments are measured once and their sums added where they are spread, so that a document that would unfold to
//! millions of fields costs no more than it is long.

use std::collections::HashMap;

use apollo_compiler::Node;
use apollo_compiler::ast::{Definition, DirectiveList, Document, FragmentDefinition, OperationDefinition, Selection};

/// The longest document, in bytes. Values belong in variables, which only the body's own limit bounds.
pub(super) const MOST_BYTES: usize = 64 * 1024;
/// The most tokens, white space and commas included.
pub(super) const MOST_TOKENS: usize = 20_000;
/// How deep braces, brackets and parentheses of a document may nest.
pub(super) const MOST_NESTING: usize = 128;
/// How deep fields may nest: ten relations and what is around them, and the introspection query of every tool.
pub(super) const DEEPEST: usize = 16;
/// The most fields once fragments are unfolded.
pub(super) const MOST_FIELDS: usize = 2_000;
/// The most aliases.
pub(super) const MOST_ALIASES: usize = 50;
/// The most aliases of a document that asks for the schema: each could be another copy of it.
pub(super) const MOST_INTROSPECTION_ALIASES: usize = 10;
/// The most fields of the root.
pub(super) const MOST_ROOTS: usize = 20;
/// The most directives.
pub(super) const MOST_DIRECTIVES: usize = 50;
/// The operations of one document.
pub(super) const MAX_OPERATIONS: usize = 50;
/// The fields of all operations of one document, once fragments are unfolded.
pub(super) const MAX_DOCUMENT_FIELDS: usize = 10_000;
/// The fragment spreads of one document.
pub(super) const MAX_SPREADS: usize = 1_000;
/// The directives of one document.
pub(super) const MAX_DOCUMENT_DIRECTIVES: usize = 200;
/// The most requests in one batch.
pub(super) const MOST_REQUESTS: usize = 10;
/// The largest answer that is built, in bytes.
pub(super) const MOST_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// What an operation or a fragment comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Measure {
    depth: usize,
    fields: usize,
    aliases: usize,
    /// Fields that stand at the top, fragments unfolded.
    roots: usize,
    directives: usize,
}

impl Measure {
    /// Both, side by side.
    fn beside(&mut self, other: Measure) {
        self.depth = self.depth.max(other.depth);
        self.fields = self.fields.saturating_add(other.fields);
        self.aliases = self.aliases.saturating_add(other.aliases);
        self.roots = self.roots.saturating_add(other.roots);
        self.directives = self.directives.saturating_add(other.directives);
    }
}

/// Refuses a document that is too much as a whole, whichever of its operations is asked for.
pub(super) fn check_document(document: &Document) -> Result<(), String> {
    let mut scales = Scales::of(document);
    let (mut operations, mut whole) = (0, Measure::default());
    for definition in &document.definitions {
        if let Definition::OperationDefinition(operation) = definition {
            operations += 1;
            if operations > MAX_OPERATIONS {
                return Err(format!("the document has more than {MAX_OPERATIONS} operations"));
            }
            whole.beside(scales.operation(operation)?);
        }
    }
    let written = Written::of(document);
    within(&[
        ("levels of fields", whole.depth, DEEPEST),
        ("fields in all its operations, fragments unfolded", whole.fields, MAX_DOCUMENT_FIELDS),
        ("fragment spreads", written.spreads, MAX_SPREADS),
        ("directives", written.directives, MAX_DOCUMENT_DIRECTIVES),
    ])
}

/// Refuses a document of one operation that asks for too much; says how many fields it has.
pub(super) fn check_operation(document: &Document) -> Result<usize, String> {
    let mut scales = Scales::of(document);
    let mut fields = 0;
    for definition in &document.definitions {
        let measure = match definition {
            Definition::OperationDefinition(operation) => scales.operation(operation)?,
            // One that no operation uses is looked at all the same: validation walks it too.
            Definition::FragmentDefinition(fragment) => Measure { roots: 0, ..scales.fragment(&fragment.name)? },
            _ => continue,
        };
        within(&[
            ("levels of fields", measure.depth, DEEPEST),
            ("fields, its fragments unfolded", measure.fields, MOST_FIELDS),
            ("aliases", measure.aliases, MOST_ALIASES),
            ("fields at its root", measure.roots, MOST_ROOTS),
            ("directives", measure.directives, MOST_DIRECTIVES),
        ])?;
        fields = fields.max(measure.fields);
    }
    Ok(fields)
}

fn within(measures: &[(&str, usize, usize)]) -> Result<(), String> {
    match measures.iter().find(|(_, found, most)| found > most) {
        Some((what, found, most)) => Err(format!("the document has {found} {what}; at most {most} are answered")),
        None => Ok(()),
    }
}

/// What stands in a document, as it is written.
#[derive(Default)]
struct Written {
    spreads: usize,
    directives: usize,
}

impl Written {
    fn of(document: &Document) -> Self {
        let mut written = Written::default();
        for definition in &document.definitions {
            match definition {
                Definition::OperationDefinition(operation) => {
                    written.directives += operation.directives.len();
                    written.directives += operation.variables.iter().map(|variable| variable.directives.len()).sum::<usize>();
                    written.set(&operation.selection_set);
                }
                Definition::FragmentDefinition(fragment) => {
                    written.directives += fragment.directives.len();
                    written.set(&fragment.selection_set);
                }
                _ => {}
            }
        }
        written
    }

    /// The parser bounds how deep selections nest.
    fn set(&mut self, selections: &[Selection]) {
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    self.directives += field.directives.len();
                    self.set(&field.selection_set);
                }
                Selection::InlineFragment(fragment) => {
                    self.directives += fragment.directives.len();
                    self.set(&fragment.selection_set);
                }
                Selection::FragmentSpread(spread) => {
                    self.spreads += 1;
                    self.directives += spread.directives.len();
                }
            }
        }
    }
}

struct Scales<'d> {
    fragments: HashMap<&'d str, &'d Node<FragmentDefinition>>,
    known: HashMap<&'d str, State>,
    /// How deep this measuring itself has gone: a chain of fragments can be as long as the document.
    depth: usize,
}

#[derive(Clone, Copy)]
enum State {
    Open,
    Measured(Measure),
}

impl<'d> Scales<'d> {
    fn of(document: &'d Document) -> Self {
        let mut fragments = HashMap::new();
        for definition in &document.definitions {
            if let Definition::FragmentDefinition(fragment) = definition {
                fragments.insert(fragment.name.as_str(), fragment);
            }
        }
        Scales { fragments, known: HashMap::new(), depth: 0 }
    }

    fn operation(&mut self, operation: &'d OperationDefinition) -> Result<Measure, String> {
        let mut measure = self.set(&operation.selection_set)?;
        measure.directives = measure.directives.saturating_add(operation.directives.len());
        for variable in &operation.variables {
            measure.directives = measure.directives.saturating_add(variable.directives.len());
        }
        Ok(measure)
    }

    fn set(&mut self, selections: &'d [Selection]) -> Result<Measure, String> {
        self.depth += 1;
        if self.depth > 4 * MOST_NESTING {
            return Err(format!("fragments of the document lead on to each other more than {} times", 4 * MOST_NESTING));
        }
        let mut whole = Measure::default();
        for selection in selections {
            let part = match selection {
                Selection::Field(field) => {
                    let inner = self.set(&field.selection_set)?;
                    Measure {
                        depth: inner.depth.saturating_add(1),
                        fields: inner.fields.saturating_add(1),
                        aliases: inner.aliases.saturating_add(usize::from(field.alias.is_some())),
                        roots: 1,
                        directives: inner.directives.saturating_add(field.directives.len()),
                    }
                }
                Selection::InlineFragment(inline) => with(self.set(&inline.selection_set)?, &inline.directives),
                Selection::FragmentSpread(spread) => with(self.fragment(&spread.fragment_name)?, &spread.directives),
            };
            whole.beside(part);
        }
        self.depth -= 1;
        Ok(whole)
    }

    fn fragment(&mut self, name: &'d str) -> Result<Measure, String> {
        match self.known.get(name) {
            Some(State::Measured(measure)) => return Ok(*measure),
            // One that leads back to itself is refused by validation; here it must only have an end.
            Some(State::Open) => return Ok(Measure::default()),
            None => {}
        }
        let Some(fragment) = self.fragments.get(name).copied() else { return Ok(Measure::default()) };
        self.known.insert(name, State::Open);
        let measure = with(self.set(&fragment.selection_set)?, &fragment.directives);
        self.known.insert(name, State::Measured(measure));
        Ok(measure)
    }
}

fn with(mut measure: Measure, directives: &DirectiveList) -> Measure {
    measure.directives = measure.directives.saturating_add(directives.len());
    measure
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        let document = Document::parse(text, "document").expect("a document");
        check_document(&document)?;
        check_operation(&document).map(drop)
    }

    #[test]
    fn a_document_is_measured_as_a_whole() {
        // contract G3.6, attack 56
        let fragment = format!("fragment f on Query {{ {} }}", "a ".repeat(1_900));
        let operations = |count: usize| (0..count).fold(fragment.clone(), |text, index| format!("{text} query q{index} {{ ...f }}"));
        let whole = |text: &str| check_document(&Document::parse(text, "document").expect("a document"));
        assert_eq!(whole(&operations(5)), Ok(()));
        assert!(whole(&operations(6)).is_err_and(|message| message.contains("in all its operations")));
        assert!(whole(&operations(850)).is_err_and(|message| message.contains("more than 50 operations")));
        let spreads = format!("{{ {} }} fragment f on Query {{ a }}", "...f ".repeat(1_001));
        assert!(whole(&spreads).is_err_and(|message| message.contains("fragment spreads")));
        let directives = (0..5).fold(String::new(), |text, index| format!("{text} query q{index} {{ a {} }}", "@d ".repeat(41)));
        assert!(whole(&directives).is_err_and(|message| message.contains("directives")));
    }

    #[test]
    fn fragments_that_double_each_other_are_measured_without_being_unfolded() {
        // contract G3.1, trap 19
        let mut bomb = String::from("{ ...f0 }");
        for index in 0..300 {
            let next = index + 1;
            _ = write!(bomb, " fragment f{index} on Query {{ ...f{next} ...f{next} }}");
        }
        bomb.push_str(" fragment f300 on Query { a }");
        let message = checked(&bomb).expect_err("too much");
        assert!(message.contains("at most 10000"), "{message}");
    }

    #[test]
    fn a_fragment_that_leads_back_to_itself_has_an_end() {
        // contract G3.1
        for text in ["{ ...a } fragment a on Query { ...a }", "{ x } fragment a on Query { b { ...b } } fragment b on Query { c { ...a } }"]
        {
            assert_eq!(checked(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn each_measure_has_its_end() {
        // contract G3.1, trap 19
        let times = |text: &str, count: usize| (0..count).map(|index| text.replace('#', &index.to_string())).collect::<String>();
        for (good, bad) in [
            (format!("{{ {} }}", times("f# ", 20)), format!("{{ {} }}", times("f# ", 21))),
            (format!("{{ a {{ {} }} }}", times("f#: x ", 50)), format!("{{ a {{ {} }} }}", times("f#: x ", 51))),
            (format!("{{ a {} }}", times("@d ", 50)), format!("{{ a {} }}", times("@d ", 51))),
            (format!("{{ a{} {} }}", "{a".repeat(15), "}".repeat(15)), format!("{{ a{} {} }}", "{a".repeat(16), "}".repeat(16))),
            (format!("{{ a {{ {} }} }}", times("f# ", 1999)), format!("{{ a {{ {} }} }}", times("f# ", 2000))),
        ] {
            assert_eq!(checked(&good), Ok(()), "{good:.80}");
            assert!(checked(&bad).is_err(), "{bad:.80}");
        }
    }
}
