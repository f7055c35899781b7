//! The types of SQLite columns are inferred from their values.

use query::sql::Dialect;

use crate::{has, passes, sqlite};

// contract P4.3
#[test]
fn types_follow_the_values_that_do_not_fit_the_declared_type() {
    let schema = sqlite(
        "CREATE TABLE odds (
             id INTEGER PRIMARY KEY, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP, changed TIMESTAMPTZ, standard TIMESTAMP, seconds DATETIME,
             day DATE, anything, mixed, bits BIT, size NUMBER, ratio FLOATING POINT, length INTERVAL, flag BOOLEAN, code UUID, note JSON,
             amount DECIMAL(10, 2), plain TEXT, lost BLOB);
         INSERT INTO odds (changed, standard, seconds, day, anything, mixed, bits, size, ratio, length, flag, code, note, amount, plain, lost)
         VALUES ('2024-01-01 10:00:00.5', '2024-01-01T10:00:00.000000Z', 1700000000, '2024-01-01 00:00:00', 5, 'x', 1, 2.5, 1.5, '1 day', 'true',
                 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'no json', 1.25, '2024-01-01', x'00'),
                (NULL, NULL, NULL, NULL, NULL, 7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
         CREATE VIEW glances AS SELECT id, anything, mixed FROM odds;
         CREATE TABLE empties (id INTEGER PRIMARY KEY, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP, kept TIMESTAMP, other DATETIME, free);",
    );
    let text = store::introspect::manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    for line in [
        r#"made = { type = "timestamp", stored = "datetime" }"#,
        r#"changed = { type = "timestamp", stored = "datetime" }"#,
        r#"standard = "timestamp""#,
        r#"seconds = { type = "timestamp", stored = "unix" }"#,
        r#"day = { type = "timestamp", stored = "datetime" }"#,
        r#"anything = "bigint""#,
        r#"bits = "bigint""#,
        r#"size = "float""#,
        r#"ratio = "float""#,
        r#"length = "text""#,
        r#"flag = "text""#,
        r#"code = "text""#,
        r#"note = "text""#,
        r#"amount = "decimal""#,
        r#"plain = "text""#,
        r#"kept = "timestamp""#,
        r#"other = { type = "timestamp", stored = "datetime" }"#,
        r#"free = "text""#,
    ] {
        has(&text, line);
    }
    assert!(text.contains("column \"lost\" (BLOB) is left out"), "{text}");
    assert!(text.contains("column \"mixed\""), "{text}");
}

// contract P4.3
#[test]
fn only_large_numbers_are_read_as_seconds() {
    let schema = sqlite(
        "CREATE TABLE t (
             id INTEGER PRIMARY KEY, julian DATETIME, noon TIMESTAMP, day DATE, year DATE, millis TIMESTAMP, number DATE, small DATETIME,
             seconds DATETIME, parts TIMESTAMP, born DATE);
         INSERT INTO t VALUES
             (1, 2460310.5, julianday('2024-05-05 12:00'), 20240101, 2024, 1704067200000, 19723, 0, 0, 1704067200.5, -300000000),
             (2, 2460311.25, julianday('2024-05-06 12:00'), 20241231, 1999, 1704067201000, 19724, 5, 1704067200, 1704067201, 86400);",
    );
    let text = store::introspect::manifest(&schema, Dialect::Sqlite);
    assert_eq!(passes(&text, &schema, Dialect::Sqlite), Vec::<String>::new());
    for line in [
        r#"julian = "float""#,
        r#"noon = "bigint""#,
        r#"day = "bigint""#,
        r#"year = "bigint""#,
        r#"millis = "bigint""#,
        r#"number = "bigint""#,
        r#"small = "bigint""#,
        r#"seconds = { type = "timestamp", stored = "unix" }"#,
        r#"parts = { type = "timestamp", stored = "unix" }"#,
        r#"born = { type = "timestamp", stored = "unix" }"#,
        r#"# column "julian" (DATETIME) holds numbers that are no seconds since 1970, read as float"#,
        r#"# column "day" (DATE) holds numbers that are no seconds since 1970, read as bigint"#,
    ] {
        has(&text, line);
    }
}
