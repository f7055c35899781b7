//! Points in time, as whole seconds since 1970: the crate has no clock, every rule that depends on time is told it.

/// Whole seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// The moment with this Unix time.
    pub const fn from_unix(seconds: i64) -> Self {
        Moment(seconds)
    }

    /// Its Unix time.
    pub const fn unix(self) -> i64 {
        self.0
    }

    /// So many seconds later.
    pub const fn plus(self, seconds: i64) -> Self {
        Moment(self.0.saturating_add(seconds))
    }

    /// Seconds from the other moment to this one; negative when this one is earlier, as clocks of two machines may have it.
    pub const fn since(self, earlier: Moment) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
