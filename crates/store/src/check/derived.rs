//! Checks that the values of derived fields are found by an index, and that their zones exist.

use jiff::tz::TimeZone;
use query::catalog::{Catalog, Derived, Field, FieldId, JoinColumns, Native, RelatedValue, Resource};
use query::sql::index_expression;
use query::types::{Scalar, Type};

use crate::Error;
use crate::postgres::Postgres;
use crate::schema::Schema;

use super::relation::unset_column;
use super::{Checker, Finding, Severity};

impl<'c> Checker<'c> {
    pub(super) fn derived_fields(&mut self, resource: &'c Resource) {
        for field in &resource.fields {
            match &field.derived {
                Some(Derived::Related(related)) => self.related_value(resource, field, related),
                Some(Derived::Bucket(bucket)) => {
                    if let Some(zone) = bucket.zone.as_deref().filter(|zone| TimeZone::get(zone).is_err()) {
                        let message = format!("`zone` must be a name of the time zone database, such as \"Europe/Berlin\"; found {zone:?}");
                        self.error(field.line, format!("field `{}` of `{}`: {message}", field.name, resource.full_name));
                    }
                }
                Some(Derived::JsonPath(_) | Derived::Unresolved) | None => {}
            }
        }
    }

    /// Without an index each row of the resource reads the whole table behind the relation.
    fn related_value(&mut self, resource: &'c Resource, field: &Field, related: &RelatedValue) {
        let relation = &resource.relations[related.relation];
        let target = self.catalog.resource(relation.target);
        let (table, unset, columns): (_, _, Vec<&str>) = match &relation.join_columns {
            JoinColumns::Direct(pairs) => {
                let columns = pairs.iter().map(|(_, other)| target.fields[*other].column.plain());
                (&target.table, unset_column(target), columns.collect())
            }
            JoinColumns::Through { pivot, own, .. } => (pivot, None, own.iter().map(|(_, column)| column.plain()).collect()),
        };
        // Missing tables and columns are reported where they are declared.
        let Some(table) = self.schema.table(table, self.dialect) else { return };
        let is_complete = columns.iter().all(|column| table.column(column, self.dialect).is_some());
        if is_complete && !table.is_view && !table.is_indexed(&columns, unset, self.dialect) {
            let (listed, name, relation) = (columns.join(", "), self.schema.shown(table, self.dialect), &relation.name);
            let reason = format!("its relation `{relation}` has no index, so that each row reads all of `{name}`");
            self.warning(
                field.line,
                format!("field `{}` of `{}`: {reason}; add an index on {name} ({listed})", field.name, resource.full_name),
            );
        }
    }
}

/// What only PostgreSQL itself can tell of derived fields: whether an index finds values inside a column, and whether it knows a zone.
pub(crate) async fn ask_postgres(postgres: &Postgres, catalog: &Catalog, schema: &Schema) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for resource in catalog.resources().iter().filter(|resource| !resource.is_own()) {
        let Some(table) = schema.table(&resource.table, postgres.dialect()) else { continue };
        for field in &resource.fields {
            let what = format!("field `{}` of `{}`", field.name, resource.full_name);
            let mut find = |severity, message| findings.push(Finding { severity, line: field.line, message });
            if let Some(Derived::Bucket(bucket)) = &field.derived
                && let Some(zone) = bucket.zone.as_deref()
                && !postgres.knows_zone(zone).await?
            {
                let accepted = "name another zone, or install the package with its names, such as tzdata-legacy";
                find(Severity::Error, format!("{what}: PostgreSQL knows no `zone` {zone:?}; {accepted}"));
                continue;
            }
            let is_readable =
                |id: FieldId| table.column(resource.fields[id].column.plain(), postgres.dialect()).is_some_and(|column| !column.forbidden);
            let expression = field.source().filter(|of| is_readable(*of)).and_then(|_| index_expression(field, postgres.dialect()));
            let Some(expression) = expression.filter(|_| !table.is_view && !table.is_foreign_table) else { continue };
            if !postgres.has_index_on(table, &expression).await? {
                let advice = if is_too_long(resource, field) {
                    "make its column jsonb, since the expression over a json column is too long for an index".to_owned()
                } else {
                    format!("run CREATE INDEX ON {} (({expression}))", table.quoted())
                };
                find(Severity::Warning, format!("{what}: no index finds rows by it; if statements filter or sort by it, {advice}"));
            }
        }
    }
    Ok(findings)
}

/// Whether PostgreSQL cannot store the expression of an index on the field, which must fit a page of its catalog.
fn is_too_long(resource: &Resource, field: &Field) -> bool {
    let has_json_text = field.source().is_some_and(|of| resource.fields[of].native == Native::JsonText);
    has_json_text && field.kind == Type::One(Scalar::Timestamp)
}
