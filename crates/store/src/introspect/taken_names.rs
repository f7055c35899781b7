//! Finds a free name for each resource. Two resources may not share a path of REST, or a type or query of GraphQL.

use std::collections::HashSet;

use query::catalog::kebab;

use super::case_and_plural::{capital, free, lower, singular};

/// GraphQL types of no resource: those of every schema, and those of a hub. A test of the server compares them with this list.
pub const OWN_TYPES: [&str; 41] = [
    "JSON",
    "DateTime",
    "Date",
    "Time",
    "UUID",
    "Decimal",
    "BigInt",
    "ID",
    "Int",
    "Float",
    "String",
    "Boolean",
    "QueryStatementInput",
    "Pagination",
    "Query",
    "Mutation",
    "Deleted",
    "Ended",
    "IamAccount",
    "IamAccountLink",
    "IamCreateAccountInput",
    "IamUpdateAccountInput",
    "IamSetAccountPasswordInput",
    "IamRole",
    "IamCreateRoleInput",
    "IamUpdateRoleInput",
    "IamPermission",
    "IamTenant",
    "IamCreateTenantInput",
    "IamUpdateTenantInput",
    "IamSession",
    "IamEvent",
    "OAuthClient",
    "OAuthClientSecret",
    "OAuthCreateClientInput",
    "OAuthUpdateClientInput",
    "HubApp",
    "HubCreateAppInput",
    "HubUpdateAppInput",
    "HubAppAccount",
    "HubCreateAppAccountInput",
];

#[derive(Default)]
pub(super) struct Names {
    taken: HashSet<(String, String)>,
    paths: HashSet<(String, String)>,
    types: HashSet<String>,
    queries: HashSet<String>,
}

impl Names {
    pub(super) fn take(&mut self, context: &str, name: &str, plural: &str) {
        self.taken.insert((context.to_owned(), name.to_owned()));
        self.paths.insert((kebab(context), kebab(plural)));
        self.types.insert(type_name(context, name));
        self.queries.extend(queries_of_one(context, name));
        self.queries.extend(queries_of_many(context, plural));
    }

    pub(super) fn make(&mut self, context: &str, wished: &str) -> (String, String) {
        let plural = free(&[wished.to_owned()], |plural| {
            self.paths.contains(&(kebab(context), kebab(plural))) || self.asks(&queries_of_many(context, plural))
        });
        let name = free(&[singular(&plural)], |name| {
            let kind = type_name(context, name);
            self.taken.contains(&(context.to_owned(), name.to_owned()))
                || self.types.contains(&kind)
                || OWN_TYPES.contains(&kind.as_str())
                || self.asks(&queries_of_one(context, name))
        });
        self.take(context, &name, &plural);
        (name, plural)
    }

    fn asks(&self, queries: &[String]) -> bool {
        queries.iter().any(|query| self.queries.contains(query))
    }
}

fn type_name(context: &str, name: &str) -> String {
    capital(context) + &capital(name)
}

fn queries_of_many(context: &str, plural: &str) -> [String; 2] {
    ["Paginate", "Get"].map(|verb| format!("{}{verb}{}", lower(context), capital(plural)))
}

/// Includes queries by key, since a table may get a key later.
fn queries_of_one(context: &str, name: &str) -> [String; 2] {
    ["", "ById"].map(|end| format!("{}Find{}{end}", lower(context), capital(name)))
}
