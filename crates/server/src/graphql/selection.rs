//! Collects the fields of a selection: unfolds fragments, and applies `@skip` and `@include`.

use std::collections::HashSet;
use std::fmt;

use apollo_compiler::executable::{DirectiveList, Field, Operation, Selection, SelectionSet};
use apollo_compiler::{ExecutableDocument, Node};
use query::json::Json;

use crate::problem::{Problem, Refusal};

use super::arguments::{LiteralReader, Variables};

/// The fields with one response key. By validation they are the same field; only their subfields differ.
pub(super) struct SelectedField<'d> {
    pub(super) key: &'d str,
    pub(super) fields: Vec<&'d Node<Field>>,
}

/// Hides the arguments: one may be a password.
impl fmt::Debug for SelectedField<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SelectedField").field("key", &self.key).finish_non_exhaustive()
    }
}

impl<'d> SelectedField<'d> {
    /// The first field, which stands for all.
    pub(super) fn field(&self) -> &'d Node<Field> {
        self.fields[0]
    }

    pub(super) fn subfields(&self, document: &'d ExecutableDocument, variables: &Variables) -> Vec<SelectedField<'d>> {
        collect_fields(document, self.fields.iter().map(|field| &field.selection_set), variables)
    }
}

/// The fields of selections on one object, in the order of their first use: `CollectFields` of the specification. The schema has no
/// interfaces and no unions, so that a fragment that passed validation always applies.
pub(super) fn collect_fields<'d>(
    document: &'d ExecutableDocument,
    sets: impl IntoIterator<Item = &'d SelectionSet>,
    variables: &Variables,
) -> Vec<SelectedField<'d>> {
    let mut collector = FieldCollector { document, variables, unfolded: HashSet::new(), fields: Vec::new() };
    for set in sets {
        collector.set(set);
    }
    collector.fields
}

struct FieldCollector<'d, 'v> {
    document: &'d ExecutableDocument,
    variables: &'v Variables,
    unfolded: HashSet<&'d str>,
    fields: Vec<SelectedField<'d>>,
}

impl<'d> FieldCollector<'d, '_> {
    fn set(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            if !self.is_included(selection.directives()) {
                continue;
            }
            match selection {
                Selection::Field(field) => {
                    let key = field.response_key().as_str();
                    match self.fields.iter_mut().find(|selected| selected.key == key) {
                        Some(selected) => selected.fields.push(field),
                        None => self.fields.push(SelectedField { key, fields: vec![field] }),
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

    fn is_included(&self, directives: &DirectiveList) -> bool {
        let has = |name: &str, condition: bool| conditions(directives, name, self.variables).any(|value| value == Json::Bool(condition));
        !has("skip", true) && !has("include", false)
    }
}

fn conditions<'v>(directives: &'v DirectiveList, name: &'v str, variables: &'v Variables) -> impl Iterator<Item = Json> + 'v {
    let values = directives.get_all(name).filter_map(|directive| directive.specified_argument_by_name("if"));
    values.filter_map(|value| LiteralReader::new(variables, String::new()).read(value).ok())
}

/// Refuses `@skip` and `@include` with null: a client may send null even for a variable that has a default.
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
                    return Err(Problem::Graphql(Refusal::Input, format!("`if` of `@{name}` must be true or false; found null")));
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
