//! Warns of a constraint that may show less than its author expects.

use query::catalog::Resource;
use query::constraints::{Mention, Sign};
use query::policy::{ACCOUNT_VARIABLES, is_account_variable};
use query::wording::{near_as, words};

use super::Checker;

impl<'c> Checker<'c> {
    pub(super) fn constraint(&mut self, resource: &'c Resource) {
        let Some((line, mentions)) = self.catalog.constraint_mentions(resource) else { return };
        for mention in mentions {
            match mention {
                Mention::Relation { path, relation, sign: Sign::Negated } => {
                    let target = self.catalog.resource(relation.target);
                    if self.catalog.constraint_mentions(target).is_some() {
                        self.warning(line, negated(resource, &path, target));
                    }
                }
                Mention::Relation { .. } => {}
                Mention::Variable(name) if is_account_variable(name) => {}
                Mention::Variable(name) => self.warning(line, unknown(resource, name)),
            }
        }
    }
}

fn negated(resource: &Resource, path: &str, target: &Resource) -> String {
    let (outer, inner) = (&resource.full_name, &target.full_name);
    format!(
        "constraint of `{outer}`: `not` stands over `{path}`, a relation to `{inner}`, which has a constraint of its own: rows of `{inner}` that the caller cannot see count as not there, and a caller who lacks a variable of that constraint sees nothing of `{outer}`"
    )
}

fn unknown(resource: &Resource, name: &str) -> String {
    fn plain(name: &str) -> &str {
        name.strip_prefix("$account.").unwrap_or(name)
    }
    let hint = near_as(plain(name), ACCOUNT_VARIABLES.iter().map(|known| (plain(known), *known)));
    let known = words(&ACCOUNT_VARIABLES);
    format!(
        "constraint of `{}`: no account has `{name}`{hint}, so that it shows nothing to anybody; there are {known} and `$account.meta.…`",
        resource.full_name
    )
}
