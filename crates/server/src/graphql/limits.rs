//! Limits of a document, checked before it is validated. Each fragment is measured once, and its sums are added at each spread, so that a
//! document that unfolds to millions of fields costs no more than its length.

use std::collections::HashMap;

use apollo_compiler::Node;
use apollo_compiler::ast::{Definition, Document, FragmentDefinition, OperationDefinition, Selection};

/// The bytes of a document. Long values belong in variables, which only the limit of the body bounds.
pub(super) const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
/// The tokens of a document, white space and commas included.
pub(super) const MAX_TOKENS: usize = 20_000;
/// The nesting of braces, brackets and parentheses.
pub(super) const MAX_NESTING: usize = 128;
/// The nesting of fields: enough for ten relations, and for the introspection query of every tool.
pub(super) const MAX_DEPTH: usize = 16;
/// The fields of an operation, fragments unfolded.
pub(super) const MAX_FIELDS: usize = 2_000;
pub(super) const MAX_ALIASES: usize = 50;
/// The aliases of an introspection query: each could be one more copy of the schema.
pub(super) const MAX_INTROSPECTION_ALIASES: usize = 10;
pub(super) const MAX_ROOT_FIELDS: usize = 20;
pub(super) const MAX_DIRECTIVES: usize = 50;
pub(super) const MAX_OPERATIONS: usize = 50;
/// The fields of all operations of one document, fragments unfolded.
pub(super) const MAX_DOCUMENT_FIELDS: usize = 10_000;
pub(super) const MAX_SPREADS: usize = 1_000;
pub(super) const MAX_DOCUMENT_DIRECTIVES: usize = 200;
pub(super) const MAX_BATCH: usize = 10;
pub(super) const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Measure {
    depth: usize,
    fields: usize,
    aliases: usize,
    roots: usize,
    directives: usize,
}

impl Measure {
    fn add(&mut self, other: Measure) {
        self.depth = self.depth.max(other.depth);
        self.fields = self.fields.saturating_add(other.fields);
        self.aliases = self.aliases.saturating_add(other.aliases);
        self.roots = self.roots.saturating_add(other.roots);
        self.directives = self.directives.saturating_add(other.directives);
    }
}

/// Checks the limits of a whole document, whichever of its operations is requested.
pub(super) fn check_document(document: &Document) -> Result<(), String> {
    let mut measurer = Measurer::of(document);
    let (mut operations, mut whole) = (0, Measure::default());
    for definition in &document.definitions {
        if let Definition::OperationDefinition(operation) = definition {
            operations += 1;
            if operations > MAX_OPERATIONS {
                return Err(format!("the document has more than {MAX_OPERATIONS} operations"));
            }
            whole.add(measurer.operation(operation)?);
        }
    }
    let written = WrittenCounts::of(document);
    check_limits(&[
        ("levels of fields", whole.depth, MAX_DEPTH),
        ("fields in all its operations, fragments unfolded", whole.fields, MAX_DOCUMENT_FIELDS),
        ("fragment spreads", written.spreads, MAX_SPREADS),
        ("directives", written.directives, MAX_DOCUMENT_DIRECTIVES),
    ])
}

/// Checks the limits of a document of one operation. Returns the number of its fields.
pub(super) fn check_operation(document: &Document) -> Result<usize, String> {
    let mut measurer = Measurer::of(document);
    let mut fields = 0;
    for definition in &document.definitions {
        let measure = match definition {
            Definition::OperationDefinition(operation) => measurer.operation(operation)?,
            // Unused fragments too: validation walks them.
            Definition::FragmentDefinition(fragment) => Measure { roots: 0, ..measurer.fragment(&fragment.name)? },
            _ => continue,
        };
        check_limits(&[
            ("levels of fields", measure.depth, MAX_DEPTH),
            ("fields, its fragments unfolded", measure.fields, MAX_FIELDS),
            ("aliases", measure.aliases, MAX_ALIASES),
            ("fields at its root", measure.roots, MAX_ROOT_FIELDS),
            ("directives", measure.directives, MAX_DIRECTIVES),
        ])?;
        fields = fields.max(measure.fields);
    }
    Ok(fields)
}

fn check_limits(counts: &[(&str, usize, usize)]) -> Result<(), String> {
    match counts.iter().find(|(_, found, max)| found > max) {
        Some((what, found, max)) => Err(format!("the document has {found} {what}; the maximum is {max}")),
        None => Ok(()),
    }
}

/// Counts of a document as it is written, fragments not unfolded.
#[derive(Default)]
struct WrittenCounts {
    spreads: usize,
    directives: usize,
}

impl WrittenCounts {
    fn of(document: &Document) -> Self {
        let mut written = WrittenCounts::default();
        for definition in &document.definitions {
            match definition {
                Definition::OperationDefinition(operation) => {
                    written.directives += operation_directives(operation);
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

    /// The parser limits the nesting, and so this recursion.
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

struct Measurer<'d> {
    fragments: HashMap<&'d str, &'d Node<FragmentDefinition>>,
    /// The measured fragments; none while a fragment is being measured.
    known: HashMap<&'d str, Option<Measure>>,
    /// The depth of the recursion: a chain of fragments can be as long as the document.
    depth: usize,
}

impl<'d> Measurer<'d> {
    fn of(document: &'d Document) -> Self {
        let mut fragments = HashMap::new();
        for definition in &document.definitions {
            if let Definition::FragmentDefinition(fragment) = definition {
                fragments.insert(fragment.name.as_str(), fragment);
            }
        }
        Measurer { fragments, known: HashMap::new(), depth: 0 }
    }

    fn operation(&mut self, operation: &'d OperationDefinition) -> Result<Measure, String> {
        Ok(with_directives(self.set(&operation.selection_set)?, operation_directives(operation)))
    }

    fn set(&mut self, selections: &'d [Selection]) -> Result<Measure, String> {
        self.depth += 1;
        if self.depth > 4 * MAX_NESTING {
            return Err(format!("fragments of the document spread each other more than {} levels deep", 4 * MAX_NESTING));
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
                Selection::InlineFragment(inline) => with_directives(self.set(&inline.selection_set)?, inline.directives.len()),
                Selection::FragmentSpread(spread) => with_directives(self.fragment(&spread.fragment_name)?, spread.directives.len()),
            };
            whole.add(part);
        }
        self.depth -= 1;
        Ok(whole)
    }

    fn fragment(&mut self, name: &'d str) -> Result<Measure, String> {
        if let Some(known) = self.known.get(name) {
            // Validation refuses a cycle of fragments; here it must only end.
            return Ok(known.unwrap_or_default());
        }
        let Some(fragment) = self.fragments.get(name).copied() else { return Ok(Measure::default()) };
        self.known.insert(name, None);
        let measure = with_directives(self.set(&fragment.selection_set)?, fragment.directives.len());
        self.known.insert(name, Some(measure));
        Ok(measure)
    }
}

fn with_directives(measure: Measure, count: usize) -> Measure {
    Measure { directives: measure.directives.saturating_add(count), ..measure }
}

fn operation_directives(operation: &OperationDefinition) -> usize {
    operation.directives.len() + operation.variables.iter().map(|variable| variable.directives.len()).sum::<usize>()
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
    fn the_limits_of_a_whole_document_are_checked() {
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
    fn fragments_that_double_each_other_are_measured_without_unfolding() {
        // contract G3.1, trap 19
        let mut bomb = String::from("{ ...f0 }");
        for index in 0..300 {
            let next = index + 1;
            _ = write!(bomb, " fragment f{index} on Query {{ ...f{next} ...f{next} }}");
        }
        bomb.push_str(" fragment f300 on Query { a }");
        let message = checked(&bomb).expect_err("too much");
        assert!(message.contains("the maximum is 10000"), "{message}");
    }

    #[test]
    fn measuring_a_cycle_of_fragments_ends() {
        // contract G3.1
        for text in ["{ ...a } fragment a on Query { ...a }", "{ x } fragment a on Query { b { ...b } } fragment b on Query { c { ...a } }"]
        {
            assert_eq!(checked(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn each_limit_of_an_operation_is_checked() {
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
