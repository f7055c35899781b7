//! Where Citus keeps the rows of a relation.

use super::{Catalog, ResourceId};

/// On which servers of Citus the related rows are. The default is that of a database without Citus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelationPlacement {
    /// Each server holds the related rows of its rows.
    pub is_colocated: bool,
    /// The related rows, or those of the pivot, are distributed and not co-located with the rows that they are joined with.
    pub is_separate: bool,
    /// The related rows are distributed and not co-located with those of the pivot.
    pub is_separate_from_pivot: bool,
}

impl Catalog {
    /// Notes on which servers of Citus the related rows are. Called while a catalog is made.
    pub fn set_placement(&mut self, resource: ResourceId, relation: usize, placement: RelationPlacement) {
        self.resources[resource].relations[relation].placement = placement;
    }
}
