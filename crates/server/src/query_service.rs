//! What answering a Query Statement needs: the catalog, the reader, and the way from a statement to SQL to rows.

pub mod explain;
pub(crate) mod operation;
pub mod reader;
mod row_key;
pub(crate) mod statement_request;
