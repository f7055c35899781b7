//! Values that statements bind and rows hold, the same for both databases.

use identity::client::ClientId;
use identity::secret_token::Digest;
use identity::timestamp::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::Error;

const MICROS: i64 = 1_000_000;

/// A value to bind. Its `Debug` shows only the kind: drivers log bound values, and some are hashes.
#[derive(Clone, Copy)]
pub enum Bind<'a> {
    Null,
    Flag(bool),
    Number(i64),
    Text(&'a str),
    Id(Uuid),
    /// Microseconds since 1970.
    Timestamp(i64),
    Json(&'a str),
    Texts(&'a [String]),
    Ids(&'a [Uuid]),
    /// Bytes: hashes and sealed tokens.
    Bytes(&'a [u8]),
}

impl std::fmt::Debug for Bind<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Bind::Null => "Null",
            Bind::Flag(_) => "Flag(…)",
            Bind::Number(_) => "Number(…)",
            Bind::Text(_) => "Text(…)",
            Bind::Id(_) => "Id(…)",
            Bind::Timestamp(_) => "Timestamp(…)",
            Bind::Json(_) => "Json(…)",
            Bind::Texts(_) => "Texts(…)",
            Bind::Ids(_) => "Ids(…)",
            Bind::Bytes(_) => "Bytes(…)",
        })
    }
}

impl<'a> Bind<'a> {
    pub fn maybe<T>(value: Option<T>, bind: impl FnOnce(T) -> Bind<'a>) -> Self {
        value.map_or(Bind::Null, bind)
    }

    pub fn timestamp(timestamp: Timestamp) -> Self {
        Bind::Timestamp(timestamp.unix().saturating_mul(MICROS))
    }

    pub fn digest<Purpose>(digest: &'a Digest<Purpose>) -> Self {
        Bind::Bytes(digest.as_bytes())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum StoredValue {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
    Id(Uuid),
    Timestamp(i64),
    Texts(Vec<String>),
    Ids(Vec<Uuid>),
    Bytes(Vec<u8>),
}

/// A row of an answer. Columns count from zero.
#[derive(Clone, PartialEq)]
pub struct Row(pub(super) Vec<StoredValue>);

impl std::fmt::Debug for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A row may hold hashes and sealed tokens.
        write!(out, "Row({} columns)", self.0.len())
    }
}

impl Row {
    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), None | Some(StoredValue::Null))
    }

    pub fn flag(&self, column: usize) -> Result<bool, Error> {
        match self.0.get(column) {
            Some(StoredValue::Flag(flag)) => Ok(*flag),
            Some(StoredValue::Number(number)) => Ok(*number != 0),
            _ => Err(unexpected(column, "a flag")),
        }
    }

    pub fn number(&self, column: usize) -> Result<i64, Error> {
        match self.0.get(column) {
            Some(StoredValue::Number(number)) => Ok(*number),
            _ => Err(unexpected(column, "a number")),
        }
    }

    /// A string, or JSON as text.
    pub fn text(&self, column: usize) -> Result<&str, Error> {
        match self.0.get(column) {
            Some(StoredValue::Text(text)) => Ok(text),
            _ => Err(unexpected(column, "a string")),
        }
    }

    pub fn maybe_text(&self, column: usize) -> Result<Option<&str>, Error> {
        self.maybe(column, Row::text)
    }

    pub fn id(&self, column: usize) -> Result<Uuid, Error> {
        match self.0.get(column) {
            Some(StoredValue::Id(id)) => Ok(*id),
            Some(StoredValue::Text(text)) => text.parse().map_err(|_| unexpected(column, "an id")),
            _ => Err(unexpected(column, "an id")),
        }
    }

    pub fn maybe_id(&self, column: usize) -> Result<Option<Uuid>, Error> {
        self.maybe(column, Row::id)
    }

    /// Microseconds since 1970.
    pub fn micros(&self, column: usize) -> Result<i64, Error> {
        match self.0.get(column) {
            Some(StoredValue::Timestamp(micros)) => Ok(*micros),
            Some(StoredValue::Text(text)) => query::value::stored::timestamp(text).ok_or_else(|| unexpected(column, "a timestamp")),
            _ => Err(unexpected(column, "a timestamp")),
        }
    }

    pub fn timestamp(&self, column: usize) -> Result<Timestamp, Error> {
        Ok(Timestamp::from_unix(self.micros(column)?.div_euclid(MICROS)))
    }

    pub fn maybe_timestamp(&self, column: usize) -> Result<Option<Timestamp>, Error> {
        self.maybe(column, Row::timestamp)
    }

    pub fn client(&self, column: usize) -> Result<ClientId, Error> {
        ClientId::parse(self.text(column)?).map_err(|_| unexpected(column, "a client id"))
    }

    pub fn json(&self, column: usize) -> Result<Value, Error> {
        serde_json::from_str(self.text(column)?).map_err(|_| unexpected(column, "JSON"))
    }

    pub fn digest<Purpose>(&self, column: usize) -> Result<Digest<Purpose>, Error> {
        let bytes = self.bytes(column)?.try_into().map_err(|_| unexpected(column, "a digest"))?;
        Ok(Digest::from_bytes(bytes))
    }

    pub fn texts(&self, column: usize) -> Result<Vec<String>, Error> {
        match self.0.get(column) {
            Some(StoredValue::Texts(texts)) => Ok(texts.clone()),
            Some(StoredValue::Text(text)) => serde_json::from_str(text).map_err(|_| unexpected(column, "a list of strings")),
            _ => Err(unexpected(column, "a list of strings")),
        }
    }

    pub fn ids(&self, column: usize) -> Result<Vec<Uuid>, Error> {
        match self.0.get(column) {
            Some(StoredValue::Ids(ids)) => Ok(ids.clone()),
            Some(StoredValue::Text(_)) => {
                self.texts(column)?.iter().map(|text| text.parse().map_err(|_| unexpected(column, "a list of ids"))).collect()
            }
            _ => Err(unexpected(column, "a list of ids")),
        }
    }

    pub fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        match self.0.get(column) {
            Some(StoredValue::Bytes(bytes)) => Ok(bytes),
            _ => Err(unexpected(column, "bytes")),
        }
    }

    pub fn maybe_bytes(&self, column: usize) -> Result<Option<&[u8]>, Error> {
        self.maybe(column, Row::bytes)
    }

    fn maybe<'r, T>(&'r self, column: usize, read: impl FnOnce(&'r Self, usize) -> Result<T, Error>) -> Result<Option<T>, Error> {
        if self.is_null(column) { Ok(None) } else { read(self, column).map(Some) }
    }
}

pub(crate) fn unexpected(column: usize, wanted: &str) -> Error {
    Error::Unexpected(format!("column {column} of a record is not {wanted}"))
}
