//! Warns of a constraint that may show less than its author expects.

use query::catalog::Resource;
use query::constraints::{Polarity, Reference};
use query::messages::{did_you_mean_as, quoted_list};
use query::policy::{ACCOUNT_VARIABLES, is_account_variable};

use super::Checker;

impl<'c> Checker<'c> {
    pub(super) fn constraint(&mut self, resource: &'c Resource) {
        let Some((line, references)) = self.catalog.constraint_references(resource) else { return };
        for reference in references {
            match reference {
                Reference::Relation { path, relation, polarity: Polarity::Negated } => {
                    let target = self.catalog.resource(relation.target);
                    if self.catalog.constraint_references(target).is_some() {
                        self.warning(line, negated(resource, &path, target));
                    }
                }
                Reference::Relation { .. } | Reference::Field { .. } => {}
                Reference::Variable(name) if is_account_variable(name) => {}
                Reference::Variable(name) => self.warning(line, unknown(resource, name)),
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
    let hint = did_you_mean_as(plain(name), ACCOUNT_VARIABLES.iter().map(|known| (plain(known), *known)));
    let known = quoted_list(&ACCOUNT_VARIABLES);
    format!(
        "constraint of `{}`: no account has `{name}`{hint}, so that it shows nothing to anybody; there are {known} and `$account.meta.…`",
        resource.full_name
    )
}
