//! Warns of what everyone can read and change.

use identity::strategy::Strategy;
use query::catalog::write_rules::WriteOperation;
use query::catalog::{Catalog, Resource};

use crate::config::Config;

/// How many resources a line of the log names.
pub(super) const MAX_LOGGED_RESOURCES: usize = 20;

/// A warning that names the resources that everyone can read, although the manifest does not say so. Under `none` everyone can read anyway.
pub(crate) fn open_resources(config: &Config, catalog: &Catalog, max_names: usize) -> Option<String> {
    let names: Vec<&str> = catalog.open_resources().map(|resource| resource.full_name.as_str()).collect();
    if config.strategy == Strategy::None || names.is_empty() {
        return None;
    }
    let opening = match names.len() {
        1 => "1 resource has no permission: everyone can read it".to_owned(),
        count => format!("{count} resources have no permission: everyone can read them"),
    };
    let listed = names[..names.len().min(max_names)].join(", ");
    let more =
        if names.len() > max_names { format!(" and {} more, see `peristyle check`", names.len() - max_names) } else { String::new() };
    Some(format!("{opening}: {listed}{more}; set `permission`, or `public = true` if this is meant"))
}

/// A warning that names the operations by which everyone can change rows. Under `none` the boot warns of the strategy itself.
pub(super) fn open_writes(config: &Config, catalog: &Catalog) -> Option<String> {
    let described = |resource: &Resource| {
        let operations: Vec<&str> = resource.write_rules()?.open_operations().map(WriteOperation::as_str).collect();
        (!operations.is_empty()).then(|| format!("{} ({})", resource.full_name, operations.join(", ")))
    };
    let open: Vec<String> = catalog.resources().iter().filter_map(described).collect();
    if config.strategy == Strategy::None || open.is_empty() {
        return None;
    }
    let listed = open[..open.len().min(MAX_LOGGED_RESOURCES)].join("; ");
    let more = open.len().saturating_sub(MAX_LOGGED_RESOURCES);
    let more = if more > 0 { format!("; and {more} more, see `peristyle check`") } else { String::new() };
    Some(format!(
        "everyone can change rows, also without a sign-in: {listed}{more}; name a permission in place of `true`, if not everyone may"
    ))
}
