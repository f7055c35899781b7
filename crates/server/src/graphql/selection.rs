//! Which fields a selection comes to, once fragments are unfolded and `@skip` and `@include` decided.

use std::collections::HashSet;
use std::fmt;

use apollo_compiler::executable::{DirectiveList, Field, Operation, Selection, SelectionSet};
use apollo_compiler::{ExecutableDocument, Node};
use query::json::Json;

use crate::problem::{Problem, Refusal};

use super::arguments::{Literals, Variables};

/// The fields that share a response key. They are the same field by validation; only what is selected below them differs.
pub(super) struct Picked<'d> {
    pub(super) key: &'d str,
    pub(super) fields: Vec<&'d Node<Field>>,
}

/// Among the arguments of a field may be a password.
impl fmt::Debug for Picked<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Picked").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<'d> Picked<'d> {
    /// The first of them, which stands for all.
    pub(super) fn field(&self) -> &'d Node<Field> {
        self.fields[0]
    }

    /// What is selected below all of them.
    pub(super) fn below(&self, document: &'d ExecutableDocument, variables: &Variables) -> Vec<Picked<'d>> {
        pick(document, self.fields.iter().map(|field| &field.selection_set), variables)
    }
}

/// The fields of selections that stand for the same object, in the order they are first named. There are no interfaces and
/// no unions in the schema, so a fragment that passed validation always applies.
pub(super) fn pick<'d>(
    document: &'d ExecutableDocument,
    sets: impl IntoIterator<Item = &'d SelectionSet>,
    variables: &Variables,
) -> Vec<Picked<'d>> {
    let mut picker = Picker { document, variables, unfolded: HashSet::new(), picked: Vec::new() };
    for set in sets {
        picker.set(set);
    }
    picker.picked
}

struct Picker<'d, 'v> {
    document: &'d ExecutableDocument,
    variables: &'v Variables,
    unfolded: HashSet<&'d str>,
    picked: Vec<Picked<'d>>,
}

impl<'d> Picker<'d, '_> {
    fn set(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            if !self.is_wanted(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    let key = field.response_key().as_str();
                    match self.picked.iter_mut().find(|picked| picked.key == key) {
                        Some(picked) => picked.fields.push(field),
                        None => self.picked.push(Picked { key, fields: vec![field] }),
                    }
                }
                Selection::InlineFragment(inline) => self.set(&inline.selection_set),
                Selection::FragmentSpread(spread) => {
                    if self.unfolded.insert(&spread.fragment_name)
                        && let Some(fragment) = self.document.fragments.get(&spread.fragment_name)
                    {
                        self.set(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn is_wanted(&self, directives: &DirectiveList) -> bool {
        let says = |name: &str, word: bool| conditions(directives, name, self.variables).any(|value| value == Json::Bool(word));
        !says("skip", true) && !says("include", false)
    }
}

/// What the directives of this name are told.
fn conditions<'v>(directives: &'v DirectiveList, name: &'v str, variables: &'v Variables) -> impl Iterator<Item = Json> + 'v {
    let values = directives.get_all(name).filter_map(|directive| directive.specified_argument_by_name("if"));
    values.filter_map(|value| Literals::new(variables, String::new()).read(value).ok())
}

/// Refuses an operation in which `@skip` or `@include` is told null: a variable that has a default may still be sent as null, and whether
/// its field is wanted is then not known.
pub(super) fn check_conditions(document: &ExecutableDocument, operation: &Operation, variables: &Variables) -> Result<(), Problem> {
    if variables.values().all(|variable| variable.json != Json::Null) {
        return Ok(());
    }
    let mut seen = HashSet::new();
    let mut open = vec![&operation.selection_set];
    while let Some(set) = open.pop() {
        for selection in &set.selections {
            for name in ["skip", "include"] {
                if conditions(selection.directives(), name, variables).any(|value| value == Json::Null) {
                    return Err(Problem::Graphql(Refusal::Input, format!("`if` of `@{name}` is true or false; found null")));
                }
            }
            match selection {
                Selection::Field(field) => open.push(&field.selection_set),
                Selection::InlineFragment(inline) => open.push(&inline.selection_set),
                Selection::FragmentSpread(spread) if seen.insert(&spread.fragment_name) => {
                    open.extend(document.fragments.get(&spread.fragment_name).map(|fragment| &fragment.selection_set));
                }
                Selection::FragmentSpread(_) => {}
            }
        }
    }
    Ok(())
}
