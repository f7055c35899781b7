//! The Query Statement: a JSON language to query declared resources, and its translation to SQL.
//!
//! ```text
//! body        = { "query"?: statement, "constraint"?: statement }
//! statement   = { "where"?: clause, "relations"?: relations, "order"?: [order*],
//!                 "aggregation"?: aggregation, "limit"?: 0..10000, "offset"?: 0.. }
//! clause      = { ("and" | "or"): [clause+] | "not": clause | field: operators | relation: clause }*
//! operators   = { operator: value }+
//! operator    = eq ne gt gte lt lte in notIn between isNull iLike contains overlap
//! relations   = { relation: true | node }*
//! node        = { "where"?, "order"?, "limit"?, "offset"?, "relations"? }
//! order       = { "field": field | relation "." field, "dir"?: "asc" | "desc" }
//! aggregation = { "fields": [{ "fn": function, "field": field | "*" | relation "." field, "as"?: alias }+],
//!                 "groupBy"?: [field | relation "." field]* }
//! function    = count sum max min avg
//! ```
//!
//! The stages, each with its own type: [`parse`] → [`merge`] → [`plan`] → [`sql`]. The crate has no I/O and knows nothing of HTTP.

/// An enum with a word for each variant.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.as_str() == word)
            }
        }
    };
}

mod account_variables;
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
pub mod payload;
pub mod plan;
pub mod pointer;
pub mod policy;
pub mod sql;
pub mod statement;
pub mod types;
pub mod value;
