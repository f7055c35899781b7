//! The operation that is asked for, cut out of its document together with the fragments that it uses.

use std::collections::{HashMap, HashSet};

use apollo_compiler::Node;
use apollo_compiler::ast::{Definition, Document, FragmentDefinition, OperationDefinition, OperationType, Selection};

use crate::problem::Refusal;

use super::failure::Failure;

/// The document with this operation alone; without a name, its only one. What the document must obey as a whole is checked here: names
/// are unique, an operation without a name stands alone, and every fragment is used by some operation.
pub(super) fn select(document: &Document, asked: Option<&str>) -> Result<(Document, OperationType), Vec<Failure>> {
    let operations: Vec<&Node<OperationDefinition>> = document.definitions.iter().filter_map(as_operation).collect();
    check_names(&operations)?;
    let selected = match asked {
        Some(name) => operations.iter().find(|operation| operation.name.as_deref() == Some(name)),
        None if operations.len() > 1 => {
            return Err(unresolved("the document has several operations; `operationName` says which one is meant"));
        }
        None => operations.first(),
    };
    let selected = selected.copied().ok_or_else(|| match asked {
        Some(name) => unresolved(&format!("the document has no operation {name:.60}")),
        None => unresolved("the document has no operation"),
    })?;
    let operation_type = selected.operation_type;
    let fragments = Fragments::of(document);
    let used = fragments.used_by([selected]);
    let used_by_any = fragments.used_by(operations.iter().copied());
    // The validator says of one that it is unused.
    let unused = fragments.0.keys().find(|name| !used_by_any.contains(*name)).copied();
    let is_kept = |definition: &Definition| match definition {
        Definition::OperationDefinition(operation) => Node::ptr_eq(operation, selected),
        Definition::FragmentDefinition(fragment) => used.contains(fragment.name.as_str()) || unused == Some(fragment.name.as_str()),
        // The validator refuses what no document may define.
        _ => true,
    };
    let definitions = document.definitions.iter().filter(|definition| is_kept(definition)).cloned().collect();
    let reduced = Document { sources: document.sources.clone(), definitions };
    Ok((reduced, operation_type))
}

fn as_operation(definition: &Definition) -> Option<&Node<OperationDefinition>> {
    match definition {
        Definition::OperationDefinition(operation) => Some(operation),
        _ => None,
    }
}

fn check_names(operations: &[&Node<OperationDefinition>]) -> Result<(), Vec<Failure>> {
    let refused = |message: String| Err(vec![Failure::new(Refusal::Validation, message)]);
    let mut names = HashSet::new();
    for operation in operations {
        match &operation.name {
            None if operations.len() > 1 => return refused("an operation without a name must be the only one of its document".to_owned()),
            Some(name) if !names.insert(name) => return refused(format!("the operation `{name}` is defined several times")),
            _ => {}
        }
    }
    Ok(())
}

fn unresolved(message: &str) -> Vec<Failure> {
    vec![Failure::new(Refusal::Operation, message)]
}

/// The fragments of a document by name. Of those with one name the validator refuses all but the first.
struct Fragments<'d>(HashMap<&'d str, &'d FragmentDefinition>);

impl<'d> Fragments<'d> {
    fn of(document: &'d Document) -> Self {
        let mut fragments = HashMap::new();
        for definition in &document.definitions {
            if let Definition::FragmentDefinition(fragment) = definition {
                fragments.entry(fragment.name.as_str()).or_insert(&**fragment);
            }
        }
        Fragments(fragments)
    }

    /// The names of the fragments that operations use, directly or through others.
    fn used_by(&self, operations: impl IntoIterator<Item = &'d Node<OperationDefinition>>) -> HashSet<&'d str> {
        let mut used = HashSet::new();
        let mut sets: Vec<&'d [Selection]> = operations.into_iter().map(|operation| &operation.selection_set[..]).collect();
        while let Some(set) = sets.pop() {
            for selection in set {
                match selection {
                    Selection::Field(field) => sets.push(&field.selection_set),
                    Selection::InlineFragment(fragment) => sets.push(&fragment.selection_set),
                    Selection::FragmentSpread(spread) => {
                        if let Some(fragment) = self.0.get(spread.fragment_name.as_str())
                            && used.insert(fragment.name.as_str())
                        {
                            sets.push(&fragment.selection_set);
                        }
                    }
                }
            }
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(text: &str, asked: Option<&str>) -> Result<String, String> {
        let document = Document::parse(text, "document").expect("a document");
        let reduced = select(&document, asked).map_err(|failures| failures[0].problem.extensions().0)?;
        Ok(reduced.0.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn an_operation_comes_with_its_fragments_and_nothing_else() {
        // contract G3.6
        let text = "query A { ...f } query B { a { ...g } } fragment f on T { x } fragment g on T { ... { ...h } } fragment h on T { y }";
        assert_eq!(selected(text, Some("A")).as_deref(), Ok("query A { ...f } fragment f on T { x }"));
        let whole = selected(text, Some("B")).expect("B");
        assert!(whole.contains("fragment g") && whole.contains("fragment h") && !whole.contains("fragment f"), "{whole}");
        assert!(selected(text, Some("C")).is_err_and(|message| message.contains("no operation C")));
        assert!(selected(text, None).is_err_and(|message| message.contains("operationName")));
        assert!(selected("fragment f on T { x }", None).is_err_and(|message| message.contains("no operation")));
    }

    #[test]
    fn what_is_wrong_with_the_whole_document_is_not_overlooked() {
        // contract G3.6
        assert!(selected("query A { x } query A { y }", Some("A")).is_err_and(|message| message.contains("several times")));
        assert!(selected("{ x } query A { y }", Some("A")).is_err_and(|message| message.contains("without a name")));
        let unused = selected("query A { x } fragment f on T { x }", None).expect("left to the validator");
        assert!(unused.contains("fragment f"), "{unused}");
        let twice = selected("{ ...f } fragment f on T { x } fragment f on T { y }", None).expect("left to the validator");
        assert_eq!(twice.matches("fragment f").count(), 2);
        let circle = selected("{ ...f } fragment f on T { ...g } fragment g on T { ...f }", None).expect("left to the validator");
        assert!(circle.contains("fragment g"));
    }
}
