//! The statements that find two rows with equal values in a unique key. SQLite's index compares what is stored, so that it takes `1.5` and
//! `1.50` for two decimals.

use crate::catalog::write_rules::WriteOperation;
use crate::catalog::{Field, FieldId, Resource};
use crate::plan::predicate::{Alias, Column};
use crate::plan::write::WritePlan;
use crate::sql::{Dialect, Sql, Writer, dialect};

use super::join_keys;

/// A unique key whose values may be stored in several forms.
#[derive(Clone, Debug)]
pub struct RepeatCheck {
    pub fields: Vec<FieldId>,
    /// Returns the numbers of the given keys whose row has the same values as another row.
    pub sql: Sql,
}

/// The unique keys that the write changes and that the database does not compare by value.
pub(super) fn repeats(plan: &WritePlan<'_>, dialect: Dialect) -> Vec<RepeatCheck> {
    let resource = plan.resource;
    let has_several_forms = |id: &FieldId| dialect::has_several_forms(dialect, &resource.fields[*id]);
    let is_written = |id: &FieldId| plan.rows.iter().any(|row| row.fields().any(|field| field == *id));
    let is_create = plan.form.operation() == WriteOperation::Create;
    let keys = plan.rules.facts.unique_keys.iter();
    keys.filter(|fields| fields.iter().any(has_several_forms) && (is_create || fields.iter().any(is_written)))
        .map(|fields| RepeatCheck { fields: fields.clone(), sql: repeated(resource, fields, dialect) })
        .collect()
}

fn repeated(resource: &Resource, fields: &[FieldId], dialect: Dialect) -> Sql {
    let own: Vec<&Field> = resource.key_fields().collect();
    let mut writer = Writer::new(dialect);
    writer.raw("SELECT k.n FROM ");
    dialect::keys(&mut writer, &own);
    join_keys(&mut writer, resource, &own);
    if fields != resource.key {
        dialect::join_keys_first(&mut writer);
        writer.table_name(&resource.table);
        writer.raw(" AS t1 ON ");
        writer.separated(" AND ", fields, |writer, id| {
            let column = |alias| Column { alias: Alias(alias), field: &resource.fields[*id] };
            dialect::join_column_to_key(writer, column(1), &resource.fields[*id]);
            writer.raw(" = ");
            dialect::join_column_to_key(writer, column(0), &resource.fields[*id]);
        });
    }
    writer.raw(" GROUP BY k.n HAVING count(*) > 1");
    writer.finish()
}
