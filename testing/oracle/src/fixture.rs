//! The data of the differential test: a manifest, rows, scripts for both databases, and viewers.

mod data;
mod means;
mod organisation;
mod sales;
pub(crate) mod script;
pub(crate) mod viewers;

use crate::schema::Schema;
use crate::world::World;
use std::sync::OnceLock;

/// The text of the manifest, for the server under test.
pub const MANIFEST: &str = include_str!("../fixture/manifest.toml");

/// The rows of the fixture.
pub fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::new(Schema::parse(MANIFEST), &data::rows(), data::pivots()))
}
