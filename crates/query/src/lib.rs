//! The Query Statement: a JSON language for asking declared resources, turned into SQL that cannot be injected into.
//!
//! ```text
//! body        = { "query"?: statement, "constraint"?: statement }
//! statement   = { "where"?: clause, "relations"?: relations, "order"?: [order*],
//!                 "aggregation"?: aggregation, "limit"?: 0..10000, "offset"?: 0.. }
//! clause      = { ("and" | "or"): [clause+] | "not": clause | field: leaf | relation: clause }*
//! leaf        = { operator: value }+
//! operator    = eq ne gt gte lt lte in notIn between isNull iLike contains overlap
//! relations   = { relation: true | node }*
//! node        = { "where"?, "order"?, "limit"?, "offset"?, "relations"? }
//! order       = { "field": field | relation "." field, "dir"?: "asc" | "desc" }
//! aggregation = { "fields": [{ "fn": function, "field": field | "*" | relation "." field, "as"?: alias }+],
//!                 "groupBy"?: [field | relation "." field]* }
//! function    = count sum max min avg
//! ```
//!
//! A statement changes its type at each stage: [`parse`] → [`merge`] → [`plan`] → [`sql`]. Nothing here waits, reads a
//! file, or knows of HTTP.

pub mod catalog;
pub mod constraints;
pub mod describe;
pub mod error;
pub mod explain;
pub mod json;
pub mod manifest;
pub mod merge;
pub mod messages;
pub mod parse;
pub mod plan;
pub mod pointer;
pub mod policy;
pub mod sql;
pub mod statement;
pub mod types;
pub mod value;
