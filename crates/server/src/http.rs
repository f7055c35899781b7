//! What every endpoint reads from a request and writes to a response: bodies, headers, client addresses, ETags.

pub(crate) mod accept;
pub(crate) mod admission;
pub(crate) mod bearer_token;
pub(crate) mod body;
pub(crate) mod client;
pub mod client_address;
pub(crate) mod drain_body;
pub(crate) mod etag;
pub(crate) mod request_context;
