//! Whether variables may stand where they are used. The validator before it looks at arguments alone, and only at the names of
//! types below them; this is the specification's `IsVariableUsageAllowed` at every depth.

use std::collections::HashSet;

use apollo_compiler::ast::{Argument, DirectiveList, InputValueDefinition, Type, Value, VariableDefinition};
use apollo_compiler::executable::{Operation, Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{ExecutableDocument, Name, Node, Schema};

use crate::problem::Refusal;

use super::failure::{Failure, MOST_TOLD};

/// Everything that is wrong with the uses of variables in a document that is valid otherwise.
pub(super) fn check(schema: &Schema, document: &ExecutableDocument) -> Vec<Failure> {
    let mut failures = Vec::new();
    for operation in document.operations.iter() {
        let mut walk = Walk { schema, document, operation, seen: HashSet::new(), failures: Vec::new() };
        walk.directives(&operation.directives);
        walk.selections(&operation.selection_set);
        failures.append(&mut walk.failures);
    }
    failures.truncate(MOST_TOLD);
    failures
}

/// What is expected where a value stands.
#[derive(Clone, Copy)]
enum Place<'s> {
    /// A value of a type; `defaulted` where the schema has one for a value that is left out.
    Typed { kind: &'s Type, defaulted: bool },
    /// Somewhere in a scalar of our own, which takes anything.
    Free,
}

impl<'s> Place<'s> {
    fn of(definition: &'s InputValueDefinition) -> Self {
        Place::Typed { kind: &definition.ty, defaulted: definition.default_value.is_some() }
    }
}

/// The way through what one operation selects. A fragment is gone through once: its variables are the operation's wherever
/// it is spread.
struct Walk<'d> {
    schema: &'d Schema,
    document: &'d ExecutableDocument,
    operation: &'d Operation,
    seen: HashSet<&'d Name>,
    failures: Vec<Failure>,
}

impl<'d> Walk<'d> {
    fn selections(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    self.directives(&field.directives);
                    self.arguments(&field.arguments, &field.definition.arguments);
                    self.selections(&field.selection_set);
                }
                Selection::InlineFragment(fragment) => {
                    self.directives(&fragment.directives);
                    self.selections(&fragment.selection_set);
                }
                Selection::FragmentSpread(spread) => {
                    self.directives(&spread.directives);
                    let Some(fragment) = self.document.fragments.get(&spread.fragment_name) else { continue };
                    if self.seen.insert(&spread.fragment_name) {
                        self.directives(&fragment.directives);
                        self.selections(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn directives(&mut self, directives: &DirectiveList) {
        for directive in directives {
            if let Some(definition) = self.schema.directive_definitions.get(&directive.name) {
                self.arguments(&directive.arguments, &definition.arguments);
            }
        }
    }

    fn arguments(&mut self, arguments: &[Node<Argument>], definitions: &'d [Node<InputValueDefinition>]) {
        for argument in arguments {
            let definition = definitions.iter().find(|definition| definition.name == argument.name);
            self.value(&argument.value, definition.map_or(Place::Free, |definition| Place::of(definition)));
        }
    }

    fn value(&mut self, value: &Value, place: Place<'d>) {
        match value {
            Value::Variable(name) => self.variable(name, place),
            Value::List(items) => {
                let place = match place {
                    Place::Typed { kind: Type::List(kind) | Type::NonNullList(kind), .. } => Place::Typed { kind, defaulted: false },
                    _ => Place::Free,
                };
                for item in items {
                    self.value(item, place);
                }
            }
            Value::Object(fields) => {
                let expected = match place {
                    // One object may stand for a list of one.
                    Place::Typed { kind, .. } => self.schema.types.get(kind.inner_named_type()),
                    Place::Free => None,
                };
                for (name, field) in fields {
                    let definition = match expected {
                        Some(ExtendedType::InputObject(object)) => object.fields.get(name),
                        _ => None,
                    };
                    self.value(field, definition.map_or(Place::Free, |definition| Place::of(definition)));
                }
            }
            _ => {}
        }
    }

    fn variable(&mut self, name: &Name, place: Place<'d>) {
        let declared = self.operation.variables.iter().find(|variable| variable.name == *name);
        let message = match (declared, place) {
            // The validator does not look into JSON.
            (None, _) => format!("variable `${name}` is not declared"),
            (Some(variable), Place::Typed { kind, defaulted }) if !is_allowed(variable, kind, defaulted) => {
                format!("variable `${name}` of type `{}` cannot be used where `{kind}` is expected", variable.ty)
            }
            _ => return,
        };
        let location = name.location().and_then(|location| location.line_column(&self.document.sources));
        self.failures.push(Failure { locations: location.into_iter().collect(), ..Failure::new(Refusal::Validation, message) });
    }
}

/// The specification's `IsVariableUsageAllowed`: a default, of the variable or of the place, takes the place of null.
fn is_allowed(variable: &VariableDefinition, expected: &Type, defaulted: bool) -> bool {
    if expected.is_non_null() && !variable.ty.is_non_null() {
        let has_value = variable.default_value.as_ref().is_some_and(|default| !default.is_null());
        return (has_value || defaulted) && variable.ty.is_assignable_to(&expected.clone().nullable());
    }
    variable.ty.is_assignable_to(expected)
}

#[cfg(test)]
mod tests {
    use apollo_compiler::validation::Valid;

    use super::*;

    const SCHEMA: &str = r"
        scalar JSON
        directive @note(text: String!, tags: [String!], more: Inner) on QUERY | FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT | FRAGMENT_DEFINITION
        input Inner { count: Int, must: Int!, preset: Int! = 3, items: [Int!], nested: [[Int]], more: Inner, many: [Inner!] }
        type Query { f(inner: Inner, list: [Int!], many: [Inner], json: JSON, must: Boolean! = true): Query, x: Int }
    ";

    fn messages(text: &str) -> Vec<String> {
        let schema = apollo_compiler::Schema::parse_and_validate(SCHEMA, "schema").expect("a schema");
        let document: Valid<ExecutableDocument> =
            ExecutableDocument::parse_and_validate(&schema, text, "document").unwrap_or_else(|error| panic!("{text}: {error}"));
        check(&schema, &document).into_iter().map(|failure| failure.problem.extensions().0).collect()
    }

    #[track_caller]
    fn good(text: &str) {
        assert_eq!(messages(text), [""; 0], "{text}");
    }

    #[track_caller]
    fn bad(text: &str) {
        assert_eq!(messages(text).len(), 1, "{text}: {:?}", messages(text));
    }

    #[test]
    fn a_variable_inside_an_object_is_of_its_field_s_type() {
        // contract G2.5
        for kind in ["Int", "Int!"] {
            good(&format!("query ($a: {kind}) {{ f(inner: {{ must: 1, count: $a }}) {{ x }} }}"));
        }
        for kind in ["[Int]", "[[Int]]", "[Int!]!", "[Int]!"] {
            bad(&format!("query ($a: {kind}) {{ f(inner: {{ must: 1, count: $a }}) {{ x }} }}"));
            bad(&format!("query ($a: {kind}) {{ f(inner: {{ must: 1, more: {{ must: 1, count: $a }} }}) {{ x }} }}"));
            bad(&format!("query ($a: {kind}) {{ f(inner: {{ must: 1, many: [{{ must: 1, count: $a }}] }}) {{ x }} }}"));
            bad(&format!("query ($a: {kind}) {{ f(many: {{ must: 1, count: $a }}) {{ x }} }}"));
        }
        let told = messages("query ($a: [Int]) { f(inner: { must: 1, count: $a }) { x } }");
        assert_eq!(told, ["variable `$a` of type `[Int]` cannot be used where `Int` is expected"]);
    }

    #[test]
    fn a_variable_that_may_be_null_needs_a_default_where_null_is_not_taken() {
        // contract G2.5
        let at = |variable: &str, field: &str| format!("query ($a: {variable}) {{ f(inner: {{ must: 1, {field} }}) {{ x }} }}");
        good(&at("Int", "preset: $a"));
        good(&at("Int = 7", "more: { must: $a }"));
        good(&at("Int!", "more: { must: $a }"));
        bad(&at("Int", "more: { must: $a }"));
        bad(&at("Int = null", "more: { must: $a }"));
        bad(&at("[Int] = [7]", "more: { must: $a }"));
        // An entry of a list has no default of its own, the variable's counts.
        bad(&at("Int", "items: [$a]"));
        good(&at("Int = 7", "items: [$a]"));
        // Usages at an argument are held to the same.
        good("query ($a: Boolean) { f(must: $a) { x } }");
        bad("query ($a: Boolean = null) { f { x @skip(if: $a) } }");
    }

    #[test]
    fn a_variable_is_a_list_where_a_list_is_expected() {
        // contract G2.5
        let at = |variable: &str, field: &str| format!("query ($a: {variable}) {{ f(inner: {{ must: 1, {field} }}) {{ x }} }}");
        for kind in ["[Int!]", "[Int!]!"] {
            good(&at(kind, "items: $a"));
        }
        for kind in ["Int", "Int!", "[Int]", "[[Int!]!]"] {
            bad(&at(kind, "items: $a"));
        }
        good(&at("Int", "nested: [[$a]]"));
        good(&at("[Int!]", "nested: [$a]"));
        bad(&at("[Int!]", "nested: [[$a]]"));
        bad(&at("Int", "nested: [$a]"));
        bad("query ($a: Int) { f(list: [$a]) { x } }");
        good("query ($a: Int!) { f(list: [1, $a]) { x } }");
        bad("query ($a: [Inner]) { f(many: [$a]) { x } }");
    }

    #[test]
    fn whatever_stands_inside_json_is_of_any_type_but_declared() {
        // contract G2.5
        for kind in ["Int", "[Int]", "JSON", "Inner"] {
            good(&format!("query ($a: {kind}) {{ f(json: {{ deep: [{{ x: $a }}, $a] }}) {{ x }} }}"));
        }
        good("query ($a: JSON!) { f(json: $a) { x } }");
        bad("query ($a: Int) { f(json: [{ y: $b, z: $a }]) { x } }");
    }

    #[test]
    fn directives_and_fragments_are_held_to_it_by_every_operation_that_uses_them() {
        // contract G2.5
        bad("query ($a: [Int]) { f { x @note(text: \"\", more: { must: 1, count: $a }) } }");
        bad("query ($a: String) { f { x @note(text: \"\", tags: [$a]) } }");
        bad("query ($a: String) @note(text: \"\", tags: [$a]) { x }");
        bad("query ($a: String) { ... @note(text: \"\", tags: [$a]) { x } }");
        bad("query ($a: String) { ...F @note(text: \"\", tags: [$a]) } fragment F on Query { x }");
        let fragment = "fragment F on Query { f(inner: { must: 1, count: $a }) { x } } fragment G on Query { ...F ...F }";
        good(&format!("query A($a: Int) {{ ...F }} query B($a: Int!) {{ f {{ ...G }} }} {fragment}"));
        bad(&format!("query A($a: Int) {{ ...G }} query B($a: [Int]) {{ g: f {{ ...G }} ...F }} {fragment}"));
    }
}
