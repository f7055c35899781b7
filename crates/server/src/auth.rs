//! Who is asking.

mod gate;
mod me;
pub(crate) mod routes;
pub(crate) mod shown;
mod verify;

pub use gate::{Caller, Gate};
