//! Points in time as whole seconds since 1970. The crate has no clock: each rule that depends on time takes it as an argument.

/// Whole seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_unix(seconds: i64) -> Self {
        Timestamp(seconds)
    }

    pub const fn unix(self) -> i64 {
        self.0
    }

    pub const fn plus(self, seconds: i64) -> Self {
        Timestamp(self.0.saturating_add(seconds))
    }

    /// Seconds from the other timestamp to this one; negative if this one is earlier, as with the clocks of two machines.
    pub const fn since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
