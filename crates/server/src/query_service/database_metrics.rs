//! The metrics of connections, hosts and read replicas, read at each scrape.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use store::hub_records::Records;
use store::{HostFigures, PoolFigures};

use crate::metrics::write_gauges;

use super::reader::DatabaseReader;
use super::replica::ReplicaFigures;
use super::write_metrics::WriteMetrics;

/// Everything that has connections to a database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseMetrics {
    pub(crate) reader: DatabaseReader,
    pub(crate) writes: WriteMetrics,
    /// The records of a hub.
    pub(crate) records: Option<Records>,
}

type Labels<'l, const N: usize> = [(&'static str, &'l str); N];

impl DatabaseMetrics {
    fn pools(&self) -> Vec<(&'static str, PoolFigures)> {
        let add = |sum: PoolFigures, pool: PoolFigures| PoolFigures {
            in_use: sum.in_use + pool.in_use,
            idle: sum.idle + pool.idle,
            waiting: sum.waiting + pool.waiting,
        };
        let replicas = self.reader.replicas().map(|replica| replica.database.pool()).reduce(add);
        let pools = [
            ("primary", Some(self.reader.primary.pool())),
            ("replica", replicas),
            ("write", self.writes.writers().map(store::Writers::pool)),
            ("hub", self.records.as_ref().map(Records::pool)),
        ];
        pools.into_iter().filter_map(|(pool, figures)| Some((pool, figures?))).collect()
    }

    /// The addresses that were tried, by the pools that use them.
    fn hosts(&self) -> Vec<(&'static str, HostFigures)> {
        let replicas = self.reader.replicas().flat_map(|replica| replica.database.hosts()).map(|host| ("replica", host));
        let writers = self.writes.writers().map(store::Writers::hosts).unwrap_or_default();
        let primary = self.reader.primary.hosts().into_iter().map(|host| ("primary", host));
        primary.chain(replicas).chain(writers.into_iter().map(|host| ("write", host))).collect()
    }
}

impl Collector for DatabaseMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> std::fmt::Result {
        let (pools, hosts) = (self.pools(), self.hosts());
        let connections = pools.iter().flat_map(|(pool, figures)| {
            let labels = |state| -> Labels<'_, 2> { [("pool", *pool), ("state", state)] };
            [(labels("in_use"), figures.in_use), (labels("idle"), figures.idle)]
        });
        write_gauges(&mut encoder, "peristyle_pool_connections", "Connections to the database.", connections)?;
        let waiting = pools.iter().map(|(pool, figures)| ([("pool", *pool)], figures.waiting));
        write_gauges(&mut encoder, "peristyle_pool_waiting", "Requests that wait for a connection to the database.", waiting)?;
        let host = |value: fn(&HostFigures) -> Option<bool>| {
            let labels = |pool: &'static str, host| -> Labels<'_, 2> { [("pool", pool), ("host", host)] };
            hosts.iter().filter_map(move |(pool, figures)| Some((labels(pool, &figures.host), usize::from(value(figures)?))))
        };
        let help = "Whether a host of the database answers, 0 or 1.";
        write_gauges(&mut encoder, "peristyle_database_host_answers", help, host(|figures| Some(figures.answers)))?;
        let help = "Whether the newest connection to a primary leads to this host, 0 or 1.";
        write_gauges(&mut encoder, "peristyle_database_host_primary", help, host(|figures| figures.is_primary))?;
        let replicas: Vec<ReplicaFigures> = self.reader.replicas().map(super::replica::Replica::figures).collect();
        let used = replicas.iter().map(|replica| ([("host", &*replica.server)], usize::from(replica.is_used)));
        write_gauges(&mut encoder, "peristyle_replica_used", "Whether reads use a read replica, 0 or 1.", used)?;
        let lag = replicas.iter().filter_map(|replica| Some(([("host", &*replica.server)], replica.lag?.as_secs_f64())));
        write_gauges(&mut encoder, "peristyle_replica_lag_seconds", "How far a read replica was behind its primary.", lag)
    }
}
