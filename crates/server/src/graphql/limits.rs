//! What one document may ask for, measured on its text and its tree before anything is made of it.
//!
//! Fragments are measured once and their sums added where they are spread, so that a document that would unfold to
//! millions of fields costs no more than it is long.

use std::collections::HashMap;

use apollo_compiler::Node;
use apollo_compiler::ast::{Definition, DirectiveList, Document, FragmentDefinition, Selection};

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

/// Refuses a document that asks for too much, with what it asks for and what may be asked.
pub(super) fn check(document: &Document) -> Result<(), String> {
    let mut scales = Scales { fragments: HashMap::new(), known: HashMap::new(), depth: 0 };
    for definition in &document.definitions {
        if let Definition::FragmentDefinition(fragment) = definition {
            scales.fragments.insert(&fragment.name, fragment);
        }
    }
    for definition in &document.definitions {
        let measure = match definition {
            Definition::OperationDefinition(operation) => {
                let mut measure = scales.set(&operation.selection_set)?;
                measure.directives = measure.directives.saturating_add(operation.directives.len());
                for variable in &operation.variables {
                    measure.directives = measure.directives.saturating_add(variable.directives.len());
                }
                measure
            }
            // One that no operation uses is looked at all the same: validation walks it too.
            Definition::FragmentDefinition(fragment) => Measure { roots: 0, ..scales.fragment(&fragment.name)? },
            _ => continue,
        };
        for (what, found, most) in [
            ("levels of fields", measure.depth, DEEPEST),
            ("fields, its fragments unfolded", measure.fields, MOST_FIELDS),
            ("aliases", measure.aliases, MOST_ALIASES),
            ("fields at its root", measure.roots, MOST_ROOTS),
            ("directives", measure.directives, MOST_DIRECTIVES),
        ] {
            if found > most {
                return Err(format!("the document has {found} {what}; at most {most} are answered"));
            }
        }
    }
    Ok(())
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
        check(&Document::parse(text, "document").expect("a document"))
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
        assert!(message.contains("at most 2000"), "{message}");
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
