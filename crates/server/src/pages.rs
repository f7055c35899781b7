//! Pages for people, served by the binary itself: nothing on them comes from elsewhere.

mod docs;
mod document;
pub(crate) mod hub;
mod refusal;
mod resources;

use axum::Router;

use crate::app_state::Service;

pub(crate) use document::Style;
pub(crate) use refusal::{Pages, Refused};

/// The addresses of the pages that every process has; those of a hub are with its own.
pub(crate) fn routes() -> Router<Service> {
    docs::routes()
}
