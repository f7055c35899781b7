//! The budgets of bytes, work and connections: the bounds of everything that a client can make the process hold.
//! `docs/guide/operations.md` lists each with its default, its metric and its refusal.

mod connections;
mod fair_queue;
mod feed_streams;
mod memory;

use std::net::{IpAddr, Ipv6Addr};

use uuid::Uuid;

pub use connections::{Activity, Connections};
pub(crate) use connections::{AddressLimit, ConnectionSlot, ConnectionSlotKind};
pub(crate) use fair_queue::{FairQueue, QueueLimits, Slot};
pub(crate) use feed_streams::{FeedSlot, FeedStreams};
pub(crate) use memory::{Memory, Reservation};

/// The memory of one connection without reservations: the buffers of its head, and bodies up to [`FREE_BODY_BYTES`].
const CONNECTION_BYTES: usize = 64 * 1024 + FREE_BODY_BYTES;
/// A body up to this size needs no reservation.
pub(crate) const FREE_BODY_BYTES: usize = 64 * 1024;
/// The memory to validate a body of the largest size: the tree is many times the size of its text.
const MAX_VALIDATION_BYTES: usize = 40 * 1024 * 1024;
const COMPRESSOR_BYTES: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug)]
pub struct BudgetSettings {
    /// `MEMORY_BUDGET`, in bytes.
    pub memory: usize,
    /// `MAX_CONNECTIONS`; as many as the memory allows if it is not set.
    pub max_connections: Option<usize>,
    /// `MAX_CONNECTIONS_PER_ADDRESS`; half of all connections if it is not set.
    pub max_connections_per_address: Option<usize>,
}

impl BudgetSettings {
    const DEFAULT_MAX_CONNECTIONS: usize = 4_096;
    /// The process cannot work with less memory.
    pub const MIN_MEMORY: usize = 64 * 1024 * 1024;

    pub fn connections(&self) -> usize {
        let by_memory = self.memory / 4 / CONNECTION_BYTES;
        self.max_connections.unwrap_or_else(|| by_memory.min(Self::DEFAULT_MAX_CONNECTIONS))
    }

    /// The bytes of rows, and again of related rows, that one of `pool` concurrent statements may hold: together a quarter of the memory.
    pub fn bytes_per_statement(&self, pool: usize) -> usize {
        (self.memory / 4 / 2 / pool.max(1)).clamp(256 * 1024, 8 * 1024 * 1024)
    }
}

#[derive(Clone, Debug)]
pub struct Budgets {
    pub connections: Connections,
    /// Bytes of request bodies and of the documents parsed from them.
    pub(crate) bodies: Memory,
    pub(crate) answers: Memory,
    pub(crate) statements: FairQueue,
    pub(crate) streams: FairQueue,
    pub(crate) identity: FairQueue,
    pub(crate) lookups: FairQueue,
    /// Writes to resources, so that those that wait for a lock do not delay reads.
    pub(crate) writes: FairQueue,
    /// Documents and statements that are parsed and validated.
    pub(crate) validation: FairQueue,
    /// Streams of a hub's change feed. Each holds its connection.
    pub(crate) change_feed: FeedStreams,
}

impl Budgets {
    pub fn new(settings: &BudgetSettings, pool: usize, write_pool: usize) -> Self {
        let connections = settings.connections();
        let per_address = settings.max_connections_per_address.unwrap_or(connections / 2).max(1);
        let streams = (pool / 2).max(1);
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let validations = cores.min(settings.memory / 8 / MAX_VALIDATION_BYTES).max(1);
        let queue = |slots| QueueLimits::new(slots, connections, per_address);
        Budgets {
            connections: Connections::new(connections, per_address),
            bodies: Memory::new(settings.memory / 16),
            answers: Memory::new(settings.memory / 4),
            statements: FairQueue::new(queue(pool)),
            streams: FairQueue::new(QueueLimits { slots_per_caller: (streams / 2).max(1), ..queue(streams) }),
            identity: FairQueue::new(queue(pool)),
            lookups: FairQueue::new(queue(Self::lookups(pool))),
            writes: FairQueue::new(QueueLimits {
                slots_per_caller: write_pool,
                ..queue(write_pool + Self::reserved_for_writes(write_pool))
            }),
            validation: FairQueue::new(QueueLimits { slots_per_caller: (validations / 2).max(1), ..queue(validations) }),
            change_feed: FeedStreams::new((connections / 4).max(1)),
        }
    }

    /// The database connections that a caller with `write_pool` writes at once cannot take: other callers write there.
    pub(crate) fn reserved_for_writes(write_pool: usize) -> usize {
        (write_pool / 4).max(1)
    }

    fn lookups(pool: usize) -> usize {
        (pool / 4).max(2)
    }

    /// The database connections that statements cannot take: for account lookups, for the readiness check, and for maintenance.
    pub(crate) fn reserved_connections(pool: usize) -> usize {
        Self::lookups(pool) + 2
    }

    pub(crate) fn reserve_compressor(&self, caller: CallerKey) -> Option<Reservation> {
        let mut reservation = self.answers.reserve(caller);
        reservation.grow(COMPRESSOR_BYTES).ok().map(|()| reservation)
    }

    pub(crate) fn figures(&self) -> Vec<(&'static str, Figures)> {
        vec![
            ("connections", self.connections.figures()),
            ("body_bytes", self.bodies.figures()),
            ("answer_bytes", self.answers.figures()),
            ("statements", self.statements.figures()),
            ("streams", self.streams.figures()),
            ("identity", self.identity.figures()),
            ("lookups", self.lookups.figures()),
            ("writes", self.writes.figures()),
            ("validation", self.validation.figures()),
            ("change_feed", self.change_feed.figures()),
        ]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) used: usize,
    pub(crate) limit: usize,
    pub(crate) waiting: usize,
    /// Requests that were refused since the process started.
    pub(crate) refused: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Overloaded {
    #[error("too many requests are being answered; try again shortly")]
    Busy,
    #[error("the memory for requests and answers is used up; try again shortly, or ask for less with `limit`")]
    Memory,
}

/// The caller that work and bytes are counted for: the account, or the client address of an anonymous request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallerKey {
    Account(Uuid),
    Address(IpAddr),
}

impl CallerKey {
    /// The caller at a client address. An IPv6 client has a whole /64 network of addresses, so the network counts as one.
    pub fn of_address(address: IpAddr) -> Self {
        CallerKey::Address(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_the_memory_fit_into_it() {
        // contract E9.1
        for (mebibytes, pool) in [(64, 16), (256, 16), (1024, 16), (1024, 200), (16 * 1024, 1000)] {
            let settings = BudgetSettings { memory: mebibytes << 20, max_connections: None, max_connections_per_address: None };
            let budgets = Budgets::new(&settings, pool, 4);
            let connections = budgets.connections.figures().limit * CONNECTION_BYTES;
            let bytes = budgets.bodies.figures().limit + budgets.answers.figures().limit;
            let statements = pool * 2 * settings.bytes_per_statement(pool);
            assert!(connections <= settings.memory / 4, "{mebibytes} MiB, {pool} connections");
            assert!(bytes <= settings.memory / 2, "{mebibytes} MiB, {pool} connections");
            // Below its least size a statement could not be run at all.
            assert!(statements <= (settings.memory / 4).max(pool * 512 * 1024), "{mebibytes} MiB, {pool} connections");
        }
    }

    #[test]
    fn one_caller_uses_the_write_pool_and_leaves_connections_for_others() {
        let settings = BudgetSettings { memory: 256 << 20, max_connections: None, max_connections_per_address: None };
        let caller = |last| CallerKey::of_address(IpAddr::from([203, 0, 113, last]));
        for (write_pool, reserved) in [(1, 1), (4, 1), (16, 4)] {
            let writes = Budgets::new(&settings, 16, write_pool).writes;
            let held: Vec<_> = (0..write_pool).map(|_| writes.try_acquire(caller(1)).expect("a slot")).collect();
            assert!(writes.try_acquire(caller(1)).is_err(), "{write_pool}");
            let others: Vec<_> = (0..reserved).map(|_| writes.try_acquire(caller(2)).expect("a slot")).collect();
            assert!(writes.try_acquire(caller(2)).is_err(), "{write_pool}");
            drop((held, others));
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_caller() {
        let key = |text: &str| CallerKey::of_address(text.parse().expect("an address"));
        assert_eq!(key("::ffff:203.0.113.9"), key("203.0.113.9"));
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), key("2001:db8:1:2::1"));
        assert_ne!(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
    }
}
