//! Unique, stable names for definitions and types.

use std::collections::{HashMap, HashSet};

use crate::catalog::{Catalog, FieldId, ResourceId};
use crate::types::Scalar;

const ENDINGS: &[&str] = &[
    "",
    "Fields",
    "Where",
    "Relations",
    "Node",
    "Field",
    "Number",
    "Ordered",
    "Sortable",
    "Path",
    "Order",
    "Measure",
    "Aggregation",
    "Statement",
    "Constraint",
    "Request",
    "KeysetStatement",
    "KeysetRequest",
    "Page",
    "PartialRow",
];

/// The endings of the definitions of writes.
const WRITE_ENDINGS: &[&str] = &[
    "CreateInput",
    "UpdateInput",
    "UpdateByIdInput",
    "UpdateItemInput",
    "IncrementInput",
    "Condition",
    "Target",
    "Returning",
    "Rows",
    "CreateRequest",
    "UpdateByIdRequest",
    "UpdateRequest",
    "UpdateByQueryRequest",
    "UpdateByKeyRequest",
    "DeleteByIdRequest",
    "DeleteRequest",
    "RestoreByIdRequest",
];

/// Names that all resources share.
const SHARED: &str = "Answer AnswerOf BigIntValue ComparisonOperators Constraint DateValue DecimalValue Direction ElementOperators EqualityOperators FieldName FieldNames \
    FloatValue ForeignTextOperators Group IntValue Json JsonScalar JsonValue KeysetPage KeysetStatement Limit Loaded NameHead NarrowedRelations NarrowedRow \
    NarrowedTarget Offset OperationName OrderEntry Page Problem ResourceName Resources Returned Row \
    Statement TextPattern TextValue TimeValue TimestampValue UuidValue WriteAnswer WriteChanges WriteChecks \
    WriteCount WriteName WriteOptions WriteRequest WriteTarget WrittenRows";

/// Names of a hub's operations and endpoints. They are reserved in every description, so that a manifest always has the same names.
const HUB: &str = "Deleted Ended HubCreateAppAccountInput HubCreateAppInput HubUpdateAppInput IamAccountLink IamCreateAccountInput \
    IamCreateRoleInput IamCreateTenantInput IamSetAccountPasswordInput IamUpdateAccountInput IamUpdateRoleInput IamUpdateTenantInput \
    KeyAlone OAuthClientSecret OAuthCreateClientInput OAuthError OAuthUpdateClientInput Operations TokenRequest TokenResponse";

/// Makes names unique by appending underscores.
#[derive(Debug, Default)]
pub struct UniqueNames(HashSet<String>);

impl UniqueNames {
    /// The name itself, or the first free one with underscores.
    pub fn claim(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    /// A name that is free with every ending; claims all of them.
    fn claim_all(&mut self, wanted: &str, endings: &[&str]) -> String {
        let mut name = wanted.to_owned();
        while endings.iter().any(|ending| self.0.contains(&format!("{name}{ending}"))) {
            name.push('_');
        }
        self.0.extend(endings.iter().map(|ending| format!("{name}{ending}")));
        name
    }
}

pub fn upper_first(name: &str) -> String {
    let mut characters = name.chars();
    characters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + characters.as_str())
}

/// The names of every resource and of its enums.
#[derive(Debug)]
pub(super) struct Names {
    resources: Vec<String>,
    enums: HashMap<(ResourceId, FieldId), String>,
    /// The names before [`WRITE_ENDINGS`], for resources with writes.
    writes: HashMap<ResourceId, String>,
}

impl Names {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut claims = UniqueNames::default();
        for name in SHARED.split(' ').chain(HUB.split(' ')) {
            claims.claim(name);
        }
        for scalar in crate::types::TYPE_NAMES {
            for ending in ["Operators", "ArrayOperators"] {
                claims.claim(&format!("{}{ending}", upper_first(scalar)));
            }
        }
        let base = |context: &str, name: &str| upper_first(context) + &upper_first(name);
        let resources: Vec<String> =
            catalog.resources().iter().map(|resource| claims.claim_all(&base(&resource.context, &resource.name), ENDINGS)).collect();
        let mut enums = HashMap::new();
        for (id, resource) in catalog.resources().iter().enumerate() {
            for (field, declared) in resource.fields.iter().enumerate() {
                if !declared.hidden && matches!(declared.kind.scalar(), Scalar::Enum(_)) {
                    let wanted = resources[id].clone() + &upper_first(&declared.name);
                    enums.insert((id, field), claims.claim_all(&wanted, &["", "Operators"]));
                }
            }
        }
        // Last, so that new writes change no other name.
        let writable = catalog.resources().iter().enumerate().filter(|(_, resource)| resource.write_rules().is_some());
        let writes = writable.map(|(id, _)| (id, claims.claim_all(&resources[id], WRITE_ENDINGS))).collect();
        Names { resources, enums, writes }
    }

    /// The name of a resource with one of [`ENDINGS`].
    pub(super) fn part(&self, resource: ResourceId, ending: &str) -> String {
        format!("{}{ending}", self.resources[resource])
    }

    /// The name of a resource with one of [`WRITE_ENDINGS`].
    pub(super) fn write_part(&self, resource: ResourceId, ending: &str) -> String {
        format!("{}{ending}", self.writes.get(&resource).map_or("", String::as_str))
    }

    pub(super) fn values(&self, resource: ResourceId, field: FieldId) -> &str {
        self.enums.get(&(resource, field)).map_or("", String::as_str)
    }
}
