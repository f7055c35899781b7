//! Warns of conditions of the manifest that may show or allow less than their author expects: constraints, `scope`, `check`, and the `where` of
//! derived fields.

use query::catalog::{Resource, ResourceId};
use query::constraints::{ConditionDependency, ConditionKind, Polarity, RowCondition};
use query::messages::{did_you_mean_as, quoted_list};
use query::policy::{ACCOUNT_VARIABLES, is_account_variable};

use super::Checker;

impl Checker<'_> {
    pub(super) fn conditions(&mut self, id: ResourceId) {
        let resource = self.catalog.resource(id);
        for RowCondition { kind, line, dependencies } in self.catalog.conditions(id) {
            let what = described(kind, resource);
            for dependency in dependencies {
                match dependency {
                    ConditionDependency::Relation { path, relation, polarity: Polarity::Negated } => {
                        let target = self.catalog.resource(relation.target);
                        if target.has_constraint() {
                            let inner = &target.full_name;
                            let closed =
                                closed(kind, resource).map(|end| format!(", and a caller who lacks a variable of that constraint {end}"));
                            let found = format!("`not` stands over `{path}`, a relation to `{inner}`, which has a constraint of its own");
                            let rows = format!("rows of `{inner}` that the caller cannot see count as not there");
                            self.warning(line, format!("{what}: {found}: {rows}{}", closed.unwrap_or_default()));
                        }
                    }
                    ConditionDependency::Relation { .. } | ConditionDependency::Field { .. } => {}
                    ConditionDependency::Variable(name) if is_account_variable(name) => {}
                    ConditionDependency::Variable(name) => self.warning(line, format!("{what}: {}", unknown(kind, name))),
                }
            }
        }
    }
}

fn described(kind: ConditionKind<'_>, resource: &Resource) -> String {
    let name = &resource.full_name;
    match kind {
        ConditionKind::Constraint => format!("constraint of `{name}`"),
        ConditionKind::Scope => format!("`scope` of `{name}`"),
        ConditionKind::Check => format!("`check` of `{name}`"),
        ConditionKind::DerivedField(field) => format!("field `{}` of `{name}`", field.name),
    }
}

/// What a caller gets who lacks a variable of a constraint that the condition follows.
fn closed(kind: ConditionKind<'_>, resource: &Resource) -> Option<String> {
    let name = &resource.full_name;
    match kind {
        ConditionKind::Constraint => Some(format!("sees nothing of `{name}`")),
        ConditionKind::Scope => Some(format!("changes nothing of `{name}`")),
        ConditionKind::Check => Some(format!("writes nothing of `{name}`")),
        ConditionKind::DerivedField(_) => None,
    }
}

fn unknown(kind: ConditionKind<'_>, name: &str) -> String {
    fn plain(name: &str) -> &str {
        name.strip_prefix("$account.").unwrap_or(name)
    }
    let hint = did_you_mean_as(plain(name), ACCOUNT_VARIABLES.iter().map(|known| (plain(known), *known)));
    let known = quoted_list(&ACCOUNT_VARIABLES);
    let effect = match kind {
        ConditionKind::Constraint => "it shows nothing to anybody",
        ConditionKind::Scope => "nobody can change a row",
        ConditionKind::Check => "nobody can write a row",
        ConditionKind::DerivedField(_) => "no related row counts for anybody",
    };
    format!("no account has `{name}`{hint}, so that {effect}; there are {known} and `$account.meta.…`")
}
