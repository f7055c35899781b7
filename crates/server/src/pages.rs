//! Pages for people, served by the binary itself: nothing on them comes from elsewhere.

mod docs;
mod document;
pub(crate) mod hub;
mod refusal;
mod resources;

pub(crate) use docs::routes;
pub(crate) use document::Style;
pub(crate) use refusal::Pages;
