//! As many connections as the server under test has. Each prepares its statements when it is made.

use deadpool::managed::{self, BuildError, Metrics, RecycleError, RecycleResult};
use tokio_postgres::{Client, Config, NoTls, Statement};

use crate::writes::WriteStatements;

/// The default of the server under test.
const CONNECTIONS: usize = 16;

const CUSTOMERS: &str = "SELECT id, name, email, country, tags, profile, created_at, active FROM customers";

/// A connection and all its prepared statements.
pub(crate) struct Connection {
    pub(crate) client: Client,
    pub(crate) named_customers: Statement,
    pub(crate) customers: Statement,
    pub(crate) count_customers: Statement,
    pub(crate) orders: Statement,
    pub(crate) items: Statement,
    pub(crate) products: Statement,
    pub(crate) statuses: Statement,
    pub(crate) counted_customers: Statement,
    pub(crate) best_customers: Statement,
    pub(crate) first_orders: Statement,
    pub(crate) next_orders: Statement,
    pub(crate) months: Statement,
    /// None unless the program writes: the tables of the write workloads may not exist.
    pub(crate) writes: Option<WriteStatements>,
}

pub(crate) type Pool = managed::Pool<Connector>;

/// The workloads that the program answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It sorts rows that are equal by the requested order by their key.
    Reads,
    /// It does not sort them further.
    LooseReads,
    /// It answers writes, on so many connections.
    Writes(usize),
}

pub(crate) struct Connector {
    config: Config,
    mode: Mode,
}

pub(crate) fn pool(url: &str, mode: Mode) -> Result<Pool, Box<dyn std::error::Error>> {
    let connections = if let Mode::Writes(connections) = mode { connections } else { CONNECTIONS };
    let connector = Connector { config: url.parse()?, mode };
    managed::Pool::builder(connector).max_size(connections).build().map_err(|error: BuildError| error.into())
}

impl managed::Manager for Connector {
    type Type = Connection;
    type Error = tokio_postgres::Error;

    async fn create(&self) -> Result<Connection, tokio_postgres::Error> {
        let (client, connection) = self.config.connect(NoTls).await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                eprintln!("a connection ended: {error}");
            }
        });
        let ties = if self.mode == Mode::LooseReads { "" } else { ", id" };
        // Values of a client are bound, as they must be.
        Ok(Connection {
            named_customers: client
                .prepare(&format!("{CUSTOMERS} WHERE country = $1 AND name ILIKE $2 ORDER BY created_at{ties} LIMIT $3"))
                .await?,
            customers: client.prepare(&format!("{CUSTOMERS} WHERE country = $1 ORDER BY created_at{ties} LIMIT $2 OFFSET $3")).await?,
            count_customers: client.prepare("SELECT count(*) FROM customers WHERE country = $1").await?,
            orders: client
                .prepare(&format!(
                    "SELECT k.n, o.* FROM unnest($1::int8[]) WITH ORDINALITY AS k(id, n) CROSS JOIN LATERAL \
                     (SELECT id, customer_id, status, total, placed_at FROM orders WHERE customer_id = k.id ORDER BY placed_at DESC{ties} LIMIT $2) AS o",
                ))
                .await?,
            items: client
                .prepare(
                    "SELECT k.n, i.id, i.order_id, i.product_id, i.qty, i.price FROM unnest($1::int8[]) WITH ORDINALITY AS k(id, n) \
                     JOIN order_items AS i ON i.order_id = k.id ORDER BY i.id",
                )
                .await?,
            products: client
                .prepare(
                    "SELECT k.n, p.id, p.name, p.category, p.price FROM unnest($1::int8[]) WITH ORDINALITY AS k(id, n) \
                     JOIN products AS p ON p.id = k.id",
                )
                .await?,
            statuses: client
                .prepare(
                    "SELECT status, count(*), sum(total) FROM orders WHERE placed_at >= $1 AND placed_at < $2 \
                     GROUP BY status ORDER BY status",
                )
                .await?,
            counted_customers: client
                .prepare(&format!(
                    "SELECT id, name, (SELECT count(*) FROM orders WHERE customer_id = c.id), \
                     (SELECT count(*) FROM orders WHERE customer_id = c.id AND status = $1) \
                     FROM customers AS c WHERE country = $2 ORDER BY created_at DESC{ties} LIMIT $3",
                ))
                .await?,
            best_customers: client
                .prepare(&format!(
                    "SELECT id, name, revenue FROM customers AS c CROSS JOIN LATERAL \
                     (SELECT sum(total) AS revenue FROM orders WHERE customer_id = c.id) AS o \
                     WHERE country = $1 AND created_at >= $2 AND revenue > $3::int8 ORDER BY revenue DESC{ties} LIMIT $4",
                ))
                .await?,
            first_orders: client
                .prepare("SELECT 0::int8, id, customer_id, status, total, placed_at FROM orders ORDER BY placed_at, id LIMIT $1")
                .await?,
            next_orders: client
                .prepare(
                    "SELECT 0::int8, id, customer_id, status, total, placed_at FROM orders WHERE (placed_at, id) > ($1, $2) \
                     ORDER BY placed_at, id LIMIT $3",
                )
                .await?,
            months: client
                .prepare(
                    "SELECT date_trunc('month', placed_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', count(*), sum(total) FROM orders \
                     WHERE placed_at >= $1 AND placed_at < $2 GROUP BY 1 ORDER BY 1",
                )
                .await?,
            writes: if matches!(self.mode, Mode::Writes(_)) { Some(WriteStatements::prepare(&client).await?) } else { None },
            client,
        })
    }

    async fn recycle(&self, connection: &mut Connection, _: &Metrics) -> RecycleResult<tokio_postgres::Error> {
        if connection.client.is_closed() { Err(RecycleError::message("the connection is closed")) } else { Ok(()) }
    }
}
