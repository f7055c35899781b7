//! Pages of every process: `/docs`, and refusals as pages. The binary holds everything on them.

mod docs;
mod refusal;
mod resources;

pub(crate) use docs::{SignIn, routes};
pub(crate) use refusal::RefusalPages;
