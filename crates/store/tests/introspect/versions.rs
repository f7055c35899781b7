//! What newer PostgreSQL versions added reads as what older ones have.

use super::{has, has_not, passes, with_postgres};
use query::sql::Dialect;
use store::introspect::manifest;
use store::schema::read_postgres;

/// Since PostgreSQL 18: virtual columns, time-ordered ids, `NOT NULL` that old rows break, keys over periods and keys without enforcement.
const NEW: &str = "
    CREATE EXTENSION btree_gist;
    CREATE TABLE rooms (id int PRIMARY KEY);
    CREATE TABLE leases (id int, during daterange, PRIMARY KEY (id, during WITHOUT OVERLAPS));
    CREATE TABLE bookings (
        id uuid PRIMARY KEY DEFAULT uuidv7(), price numeric NOT NULL, gross numeric GENERATED ALWAYS AS (price * 1.2) VIRTUAL, note text,
        room_id int REFERENCES rooms NOT ENFORCED, lease_id int, during daterange,
        FOREIGN KEY (lease_id, PERIOD during) REFERENCES leases (id, PERIOD during));
    CREATE INDEX ON bookings (room_id);
    INSERT INTO bookings (price, room_id) VALUES (10, 7);
    ALTER TABLE bookings ADD CONSTRAINT noted NOT NULL note NOT VALID";

const OLD: &str = "
    CREATE TABLE rooms (id int PRIMARY KEY);
    CREATE TABLE leases (id int, during daterange, PRIMARY KEY (id, during));
    CREATE TABLE bookings (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(), price numeric NOT NULL, gross numeric GENERATED ALWAYS AS (price * 1.2) STORED, note text,
        room_id int, lease_id int, during daterange);
    CREATE INDEX ON bookings (room_id);
    INSERT INTO bookings (price, room_id) VALUES (10, 7);
    ALTER TABLE bookings ADD FOREIGN KEY (room_id) REFERENCES rooms NOT VALID";

// contract P4.1, P4.5
#[tokio::test]
async fn what_postgresql_18_added_reads_as_what_older_versions_have() {
    with_postgres("", "", |client| async move {
        let version: i32 = client.query_one("SELECT current_setting('server_version_num')::int4", &[]).await.unwrap().get(0);
        client.batch_execute(if version < 180_000 { OLD } else { NEW }).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        assert_eq!(passes(&text, &schema, Dialect::Postgres), Vec::<String>::new(), "{text}");
        has(&text, r#"id = { type = "uuid", key = true }"#);
        has(&text, r#"price = { type = "decimal", null = false }"#);
        has(&text, r#"gross = "decimal""#);
        has(&text, r#"note = "text""#);
        has(&text, r#"room = { one = "app.room", on = { roomId = "id" } }"#);
        has_not(&text, r#"= "app.lease""#);
        assert_eq!(
            text.contains("is left out: it joins periods that overlap, and a relation joins equal values"),
            version >= 180_000,
            "{text}"
        );
    })
    .await;
}
