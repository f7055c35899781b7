//! Checks each use of a variable by `IsVariableUsageAllowed` at every depth; the library's validator checks whole arguments only.

use std::collections::HashSet;

use apollo_compiler::ast::{Argument, DirectiveList, InputValueDefinition, Type, Value, VariableDefinition};
use apollo_compiler::executable::{Operation, Selection, SelectionSet};
use apollo_compiler::schema::ExtendedType;
use apollo_compiler::{ExecutableDocument, Name, Node, Schema};

use crate::problem::Refusal;

use super::graphql_error::{GraphqlError, MAX_ERRORS};

pub(super) fn check(schema: &Schema, document: &ExecutableDocument) -> Vec<GraphqlError> {
    let mut errors = Vec::new();
    for operation in document.operations.iter() {
        let mut usage = UsageCheck { schema, document, operation, seen: HashSet::new(), errors: Vec::new() };
        usage.directives(&operation.directives);
        usage.selections(&operation.selection_set);
        errors.append(&mut usage.errors);
    }
    errors.truncate(MAX_ERRORS);
    errors
}

/// The type of a position, and whether the schema has a default for it. A position inside a scalar of our own expects none.
#[derive(Clone, Copy)]
struct Expected<'s> {
    kind: &'s Type,
    has_default: bool,
}

impl<'s> Expected<'s> {
    fn of(definition: &'s InputValueDefinition) -> Self {
        Expected { kind: &definition.ty, has_default: definition.default_value.is_some() }
    }
}

/// Walks the selections of one operation. A fragment is walked once: at every spread its variables are those of the operation.
struct UsageCheck<'d> {
    schema: &'d Schema,
    document: &'d ExecutableDocument,
    operation: &'d Operation,
    seen: HashSet<&'d Name>,
    errors: Vec<GraphqlError>,
}

impl<'d> UsageCheck<'d> {
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
            self.value(&argument.value, definition.map(|definition| Expected::of(definition)));
        }
    }

    fn value(&mut self, value: &Value, expected: Option<Expected<'d>>) {
        match value {
            Value::Variable(name) => self.variable(name, expected),
            Value::List(items) => {
                let expected = match expected {
                    Some(Expected { kind: Type::List(kind) | Type::NonNullList(kind), .. }) => Some(Expected { kind, has_default: false }),
                    _ => None,
                };
                for item in items {
                    self.value(item, expected);
                }
            }
            Value::Object(fields) => {
                // One object may be given for a list of one.
                let object = expected.and_then(|expected| self.schema.types.get(expected.kind.inner_named_type()));
                for (name, field) in fields {
                    let definition = match object {
                        Some(ExtendedType::InputObject(object)) => object.fields.get(name),
                        _ => None,
                    };
                    self.value(field, definition.map(|definition| Expected::of(definition)));
                }
            }
            _ => {}
        }
    }

    fn variable(&mut self, name: &Name, expected: Option<Expected<'d>>) {
        let declared = self.operation.variables.iter().find(|variable| variable.name == *name);
        let message = match (declared, expected) {
            // The validator does not check variables inside JSON.
            (None, _) => format!("variable `${name}` is not declared"),
            (Some(variable), Some(Expected { kind, has_default })) if !is_allowed(variable, kind, has_default) => {
                format!("variable `${name}` of type `{}` cannot be used where `{kind}` is expected", variable.ty)
            }
            _ => return,
        };
        let location = name.location().and_then(|location| location.line_column(&self.document.sources));
        self.errors.push(GraphqlError { locations: location.into_iter().collect(), ..GraphqlError::new(Refusal::Validation, message) });
    }
}

/// The specification's `IsVariableUsageAllowed`: a default of the variable or of the position replaces null.
fn is_allowed(variable: &VariableDefinition, expected: &Type, has_default: bool) -> bool {
    if expected.is_non_null() && !variable.ty.is_non_null() {
        let has_value = variable.default_value.as_ref().is_some_and(|default| !default.is_null());
        return (has_value || has_default) && variable.ty.is_assignable_to(&expected.clone().nullable());
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
        check(&schema, &document).into_iter().map(|error| error.problem.extensions().0).collect()
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
    fn a_variable_inside_an_object_has_the_type_of_its_field() {
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
        let found = messages("query ($a: [Int]) { f(inner: { must: 1, count: $a }) { x } }");
        assert_eq!(found, ["variable `$a` of type `[Int]` cannot be used where `Int` is expected"]);
    }

    #[test]
    fn a_nullable_variable_needs_a_default_in_a_non_null_position() {
        // contract G2.5
        let at = |variable: &str, field: &str| format!("query ($a: {variable}) {{ f(inner: {{ must: 1, {field} }}) {{ x }} }}");
        good(&at("Int", "preset: $a"));
        good(&at("Int = 7", "more: { must: $a }"));
        good(&at("Int!", "more: { must: $a }"));
        bad(&at("Int", "more: { must: $a }"));
        bad(&at("Int = null", "more: { must: $a }"));
        bad(&at("[Int] = [7]", "more: { must: $a }"));
        // An entry of a list has no default; that of the variable counts.
        bad(&at("Int", "items: [$a]"));
        good(&at("Int = 7", "items: [$a]"));
        // The same rule holds for arguments.
        good("query ($a: Boolean) { f(must: $a) { x } }");
        bad("query ($a: Boolean = null) { f { x @skip(if: $a) } }");
    }

    #[test]
    fn a_list_position_takes_a_list_variable() {
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
    fn a_variable_inside_json_has_any_type_but_is_declared() {
        // contract G2.5
        for kind in ["Int", "[Int]", "JSON", "Inner"] {
            good(&format!("query ($a: {kind}) {{ f(json: {{ deep: [{{ x: $a }}, $a] }}) {{ x }} }}"));
        }
        good("query ($a: JSON!) { f(json: $a) { x } }");
        bad("query ($a: Int) { f(json: [{ y: $b, z: $a }]) { x } }");
    }

    #[test]
    fn directives_and_fragments_are_checked_for_every_operation_that_uses_them() {
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
