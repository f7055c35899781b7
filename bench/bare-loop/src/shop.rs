//! The workloads.

use std::collections::HashMap;
use std::ops::Range;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures_util::TryStreamExt;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

use crate::connection::Connection;
use crate::encode;

/// Runs a statement and passes on its rows as they arrive.
async fn each(
    connection: &Connection,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
    mut take: impl FnMut(&Row) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows = pin!(connection.client.query_raw(statement, parameters.iter().copied()).await?);
    while let Some(row) = rows.try_next().await? {
        take(&row)?;
    }
    Ok(())
}

/// W1
pub(crate) async fn filtered_page(connection: &Connection) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(8 * 1024);
    out.push(b'[');
    each(connection, &connection.named_customers, &[&"DE", &"ali%", &20_i64], |row| {
        encode::customer(&mut out, row)?;
        out.extend_from_slice(b"},");
        Ok(())
    })
    .await?;
    encode::close(&mut out);
    Ok(out)
}

/// W2
pub(crate) async fn page_with_total(connection: &Connection) -> Result<Vec<u8>, Error> {
    let mut rows = Vec::with_capacity(8 * 1024);
    let mut count = 0;
    each(connection, &connection.customers, &[&"DE", &20_i64, &40_i64], |row| {
        encode::customer(&mut rows, row)?;
        rows.extend_from_slice(b"},");
        count += 1;
        Ok(())
    })
    .await?;
    encode::close(&mut rows);
    let mut total = 0;
    each(connection, &connection.count_customers, &[&"DE"], |row| {
        total = row.try_get(0)?;
        Ok(())
    })
    .await?;
    let mut out = Vec::with_capacity(rows.len() + 64);
    out.extend_from_slice(b"{\"total\":");
    encode::integer(&mut out, total);
    out.extend_from_slice(b",\"count\":");
    encode::integer(&mut out, count);
    out.extend_from_slice(b",\"rows\":[");
    out.extend_from_slice(&rows);
    out.push(b'}');
    Ok(out)
}

/// Encoded rows of one level, each without its closing brace, and the keys of the next level.
#[derive(Default)]
struct Rows {
    bytes: Vec<u8>,
    ranges: Vec<Range<usize>>,
    keys: Vec<i64>,
}

impl Rows {
    fn add(&mut self, row: &Row, key: usize, encode: fn(&mut Vec<u8>, &Row) -> Result<(), Error>) -> Result<(), Error> {
        let start = self.bytes.len();
        encode(&mut self.bytes, row)?;
        self.ranges.push(start..self.bytes.len());
        self.keys.push(row.try_get(key)?);
        Ok(())
    }

    fn row(&self, index: usize) -> &[u8] {
        &self.bytes[self.ranges[index].clone()]
    }
}

/// The parent of a row; ordinals start at one.
fn parent(row: &Row) -> Result<usize, Error> {
    Ok(row.try_get::<_, i64>(0)? as usize - 1)
}

/// W3: one statement a level, then each level is put into the one above.
pub(crate) async fn three_levels(connection: &Connection) -> Result<Vec<u8>, Error> {
    let mut customers = Rows::default();
    each(connection, &connection.customers, &[&"DE", &20_i64, &0_i64], |row| customers.add(row, 0, encode::customer)).await?;

    let mut orders = Rows::default();
    let mut orders_of = vec![Vec::new(); customers.keys.len()];
    each(connection, &connection.orders, &[&customers.keys, &5_i64], |row| {
        orders_of[parent(row)?].push(orders.keys.len());
        orders.add(row, 1, encode::order)
    })
    .await?;

    let mut items = Rows::default();
    let mut items_of = vec![Vec::new(); orders.keys.len()];
    each(connection, &connection.items, &[&orders.keys], |row| {
        items_of[parent(row)?].push(items.keys.len());
        items.add(row, 3, encode::item)
    })
    .await?;

    let mut wanted = Vec::with_capacity(items.keys.len());
    let mut places = HashMap::with_capacity(items.keys.len());
    for key in &items.keys {
        places.entry(*key).or_insert_with(|| {
            wanted.push(*key);
            wanted.len() - 1
        });
    }
    let mut products = Rows::default();
    let mut product_of = vec![None; wanted.len()];
    each(connection, &connection.products, &[&wanted], |row| {
        product_of[parent(row)?] = Some(products.keys.len());
        products.add(row, 1, encode::product)
    })
    .await?;

    let mut out = Vec::with_capacity(customers.bytes.len() + orders.bytes.len() + items.bytes.len() + 2 * products.bytes.len() + 16 * 1024);
    out.push(b'[');
    for (customer, orders_of) in orders_of.iter().enumerate() {
        out.extend_from_slice(customers.row(customer));
        out.extend_from_slice(b",\"orders\":[");
        for &order in orders_of {
            out.extend_from_slice(orders.row(order));
            out.extend_from_slice(b",\"items\":[");
            for &item in &items_of[order] {
                out.extend_from_slice(items.row(item));
                out.extend_from_slice(b",\"product\":");
                match places.get(&items.keys[item]).and_then(|place| product_of[*place]) {
                    Some(product) => {
                        out.extend_from_slice(products.row(product));
                        out.push(b'}');
                    }
                    None => out.extend_from_slice(b"null"),
                }
                out.extend_from_slice(b"},");
            }
            encode::close(&mut out);
            out.extend_from_slice(b"},");
        }
        encode::close(&mut out);
        out.extend_from_slice(b"},");
    }
    encode::close(&mut out);
    Ok(out)
}

/// W4: the first of March 2023.
pub(crate) async fn aggregation(connection: &Connection) -> Result<Vec<u8>, Error> {
    let from = SystemTime::UNIX_EPOCH + Duration::from_secs(1_677_628_800);
    let to = from + Duration::from_secs(86_400);
    let mut out = Vec::with_capacity(1024);
    out.push(b'[');
    each(connection, &connection.statuses, &[&from, &to], |row| {
        encode::status(&mut out, row)?;
        out.extend_from_slice(b"},");
        Ok(())
    })
    .await?;
    encode::close(&mut out);
    Ok(out)
}

/// D1
pub(crate) async fn derived_counts(connection: &Connection) -> Result<Vec<u8>, Error> {
    listed(connection, &connection.counted_customers, &[&"paid", &"DE", &20_i64], encode::counted_customer).await
}

/// D2: customers since the first of June 2024.
pub(crate) async fn derived_sum(connection: &Connection) -> Result<Vec<u8>, Error> {
    let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_717_200_000);
    listed(connection, &connection.best_customers, &[&"NL", &since, &50_000_i64, &20_i64], encode::best_customer).await
}

/// D4: the week around the first of April 2023.
pub(crate) async fn months(connection: &Connection) -> Result<Vec<u8>, Error> {
    let from = SystemTime::UNIX_EPOCH + Duration::from_secs(1_679_961_600);
    let to = from + Duration::from_secs(7 * 86_400);
    listed(connection, &connection.months, &[&from, &to], encode::month).await
}

/// The rows of a statement as an array.
async fn listed(
    connection: &Connection,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
    encode: fn(&mut Vec<u8>, &Row) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(2 * 1024);
    out.push(b'[');
    each(connection, statement, parameters, |row| {
        encode(&mut out, row)?;
        out.extend_from_slice(b"},");
        Ok(())
    })
    .await?;
    encode::close(&mut out);
    Ok(out)
}

/// D3: the orders after an instant and a key, and the statement that continues.
pub(crate) async fn keyset_page(connection: &Connection, after: Option<(u64, i64)>) -> Result<Vec<u8>, Error> {
    const LIMIT: usize = 20;
    let limit = LIMIT as i64 + 1;
    let (mut rows, mut last, mut count) = (Vec::with_capacity(8 * 1024), None, 0);
    let mut take = |row: &Row| {
        count += 1;
        if count <= LIMIT {
            encode::order(&mut rows, row)?;
            rows.extend_from_slice(b"},");
            last = Some((row.try_get::<_, i64>(1)?, encode::instant(row, 5)?));
        }
        Ok(())
    };
    match after {
        None => each(connection, &connection.first_orders, &[&limit], take).await?,
        Some((seconds, id)) => {
            let instant = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            each(connection, &connection.next_orders, &[&instant, &id, &limit], &mut take).await?;
        }
    }
    encode::close(&mut rows);
    let mut out = Vec::with_capacity(rows.len() + 512);
    out.extend_from_slice(b"{\"count\":");
    encode::integer(&mut out, count.min(LIMIT) as i64);
    out.extend_from_slice(b",\"rows\":[");
    out.extend_from_slice(&rows);
    out.extend_from_slice(b",\"next\":");
    match last.filter(|_| count > LIMIT) {
        Some((id, micros)) => encode::next_orders(&mut out, id, micros),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
    Ok(out)
}
