//! Checks that the values of derived fields are found by an index.

use jiff::tz::TimeZone;
use query::catalog::{Derived, Field, FieldId, Link, RelatedValue, Resource};
use query::sql::index_expression;

use super::Checker;

impl<'c> Checker<'c> {
    pub(super) fn derived_fields(&mut self, resource: &'c Resource) {
        for field in &resource.fields {
            match &field.derived {
                Some(Derived::Related(related)) => self.related_value(resource, field, related),
                Some(Derived::JsonPath(path)) => {
                    let parts: Vec<&str> = path.path.iter().map(|part| &**part).collect();
                    self.expression(resource, field, path.of, &parts);
                }
                Some(Derived::Bucket(bucket)) => {
                    if let Some(zone) = bucket.zone.as_deref().filter(|zone| TimeZone::get(zone).is_err()) {
                        let message = format!("`zone` must be a name of the time zone database, such as \"Europe/Berlin\"; found {zone:?}");
                        self.error(field.line, format!("field `{}` of `{}`: {message}", field.name, resource.full_name));
                    }
                    self.expression(resource, field, bucket.of, &[bucket.unit.as_str()]);
                }
                Some(Derived::Unresolved) | None => {}
            }
        }
    }

    /// Without an index each row of the resource reads the whole table behind the relation.
    fn related_value(&mut self, resource: &'c Resource, field: &Field, related: &RelatedValue) {
        let relation = &resource.relations[related.relation];
        let target = self.catalog.resource(relation.target);
        let (table, columns): (_, Vec<&str>) = match &relation.link {
            Link::Direct(pairs) => (&target.table, pairs.iter().map(|(_, other)| target.fields[*other].column.plain()).collect()),
            Link::Through { pivot, own, .. } => (pivot, own.iter().map(|(_, column)| column.plain()).collect()),
        };
        // Missing tables and columns are reported where they are declared.
        let Some(table) = self.schema.table(table, self.dialect) else { return };
        let is_complete = columns.iter().all(|column| table.column(column, self.dialect).is_some());
        if is_complete && !table.is_view && !table.is_indexed(&columns, self.dialect) {
            let (listed, name, relation) = (columns.join(", "), self.schema.shown(table, self.dialect), &relation.name);
            let reason = format!("its relation `{relation}` has no index, so that each row reads all of `{name}`");
            self.warning(
                field.line,
                format!("field `{}` of `{}`: {reason}; add an index on {name} ({listed})", field.name, resource.full_name),
            );
        }
    }

    /// PostgreSQL finds values inside a column by an index on the expression. One that names the column and all these words may be it.
    fn expression(&mut self, resource: &'c Resource, field: &Field, of: FieldId, words: &[&str]) {
        let Some(table) = self.schema.table(&resource.table, self.dialect).filter(|_| self.dialect.is_postgres()) else { return };
        let column = resource.fields[of].column.plain();
        let is_for = |expression: &String| expression.contains(column) && words.iter().all(|word| expression.contains(word));
        if table.is_view || table.column(column, self.dialect).is_none() || table.expressions.iter().any(is_for) {
            return;
        }
        let Some(expression) = index_expression(field, self.dialect) else { return };
        let name = self.schema.shown(table, self.dialect);
        let advice = format!("CREATE INDEX ON {name} (({expression}))");
        self.warning(
            field.line,
            format!(
                "field `{}` of `{}`: no index finds rows by it; if statements filter or sort by it, run {advice}",
                field.name, resource.full_name
            ),
        );
    }
}
