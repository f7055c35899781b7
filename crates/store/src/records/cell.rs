//! Values on their way into and out of records, whichever database keeps them.

use identity::client::ClientId;
use identity::moment::Moment;
use identity::opaque::Digest;
use serde_json::Value;
use uuid::Uuid;

use crate::Error;

const MICROS: i64 = 1_000_000;

/// A value to bind. Its `Debug` tells the kind alone: drivers print what is bound into their own logs, and hashes are among it.
#[derive(Clone, Copy)]
pub enum Bind<'a> {
    /// NULL, of whatever type the statement wants.
    Null,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A text.
    Text(&'a str),
    /// An id.
    Id(Uuid),
    /// Microseconds since 1970.
    Instant(i64),
    /// A JSON text.
    Json(&'a str),
    /// A list of texts.
    Texts(&'a [String]),
    /// A list of ids.
    Ids(&'a [Uuid]),
    /// Bytes: hashes and what is sealed.
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
            Bind::Instant(_) => "Instant(…)",
            Bind::Json(_) => "Json(…)",
            Bind::Texts(_) => "Texts(…)",
            Bind::Ids(_) => "Ids(…)",
            Bind::Bytes(_) => "Bytes(…)",
        })
    }
}

impl<'a> Bind<'a> {
    /// NULL where there is nothing.
    pub fn maybe<T>(value: Option<T>, bind: impl FnOnce(T) -> Bind<'a>) -> Self {
        value.map_or(Bind::Null, bind)
    }

    /// A moment.
    pub fn moment(moment: Moment) -> Self {
        Bind::Instant(moment.unix().saturating_mul(MICROS))
    }

    /// What is kept of a token.
    pub fn digest<Purpose>(digest: &'a Digest<Purpose>) -> Self {
        Bind::Bytes(digest.as_bytes())
    }
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
    Id(Uuid),
    Instant(i64),
    Texts(Vec<String>),
    Ids(Vec<Uuid>),
    Bytes(Vec<u8>),
}

/// A row that was read. Columns count from zero.
#[derive(Clone, PartialEq)]
pub struct Row(pub(super) Vec<Cell>);

impl std::fmt::Debug for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A row may hold hashes and sealed tokens.
        write!(out, "Row({} columns)", self.0.len())
    }
}

impl Row {
    /// Whether the column is NULL.
    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), None | Some(Cell::Null))
    }

    /// True or false.
    pub fn flag(&self, column: usize) -> Result<bool, Error> {
        match self.0.get(column) {
            Some(Cell::Flag(flag)) => Ok(*flag),
            Some(Cell::Number(number)) => Ok(*number != 0),
            _ => Err(unexpected(column, "a flag")),
        }
    }

    /// A whole number.
    pub fn number(&self, column: usize) -> Result<i64, Error> {
        match self.0.get(column) {
            Some(Cell::Number(number)) => Ok(*number),
            _ => Err(unexpected(column, "a number")),
        }
    }

    /// A text, or JSON as a text.
    pub fn text(&self, column: usize) -> Result<&str, Error> {
        match self.0.get(column) {
            Some(Cell::Text(text)) => Ok(text),
            _ => Err(unexpected(column, "a text")),
        }
    }

    /// A text, or nothing.
    pub fn maybe_text(&self, column: usize) -> Result<Option<&str>, Error> {
        self.maybe(column, Row::text)
    }

    /// An id.
    pub fn id(&self, column: usize) -> Result<Uuid, Error> {
        match self.0.get(column) {
            Some(Cell::Id(id)) => Ok(*id),
            Some(Cell::Text(text)) => text.parse().map_err(|_| unexpected(column, "an id")),
            _ => Err(unexpected(column, "an id")),
        }
    }

    /// An id, or nothing.
    pub fn maybe_id(&self, column: usize) -> Result<Option<Uuid>, Error> {
        self.maybe(column, Row::id)
    }

    /// Microseconds since 1970.
    pub fn instant(&self, column: usize) -> Result<i64, Error> {
        match self.0.get(column) {
            Some(Cell::Instant(micros)) => Ok(*micros),
            Some(Cell::Text(text)) => query::value::stored::timestamp(text).ok_or_else(|| unexpected(column, "an instant")),
            _ => Err(unexpected(column, "an instant")),
        }
    }

    /// A moment.
    pub fn moment(&self, column: usize) -> Result<Moment, Error> {
        Ok(Moment::from_unix(self.instant(column)?.div_euclid(MICROS)))
    }

    /// A moment, or nothing.
    pub fn maybe_moment(&self, column: usize) -> Result<Option<Moment>, Error> {
        self.maybe(column, Row::moment)
    }

    /// The id of a client.
    pub fn client(&self, column: usize) -> Result<ClientId, Error> {
        ClientId::parse(self.text(column)?).map_err(|_| unexpected(column, "a client id"))
    }

    /// JSON, read.
    pub fn json(&self, column: usize) -> Result<Value, Error> {
        serde_json::from_str(self.text(column)?).map_err(|_| unexpected(column, "JSON"))
    }

    /// What is kept of a token.
    pub fn digest<Purpose>(&self, column: usize) -> Result<Digest<Purpose>, Error> {
        let bytes = self.bytes(column)?.try_into().map_err(|_| unexpected(column, "a digest"))?;
        Ok(Digest::from_bytes(bytes))
    }

    /// A list of texts.
    pub fn texts(&self, column: usize) -> Result<Vec<String>, Error> {
        match self.0.get(column) {
            Some(Cell::Texts(texts)) => Ok(texts.clone()),
            Some(Cell::Text(text)) => serde_json::from_str(text).map_err(|_| unexpected(column, "a list of texts")),
            _ => Err(unexpected(column, "a list of texts")),
        }
    }

    /// A list of ids.
    pub fn ids(&self, column: usize) -> Result<Vec<Uuid>, Error> {
        match self.0.get(column) {
            Some(Cell::Ids(ids)) => Ok(ids.clone()),
            Some(Cell::Text(_)) => {
                self.texts(column)?.iter().map(|text| text.parse().map_err(|_| unexpected(column, "a list of ids"))).collect()
            }
            _ => Err(unexpected(column, "a list of ids")),
        }
    }

    /// Bytes.
    pub fn bytes(&self, column: usize) -> Result<&[u8], Error> {
        match self.0.get(column) {
            Some(Cell::Bytes(bytes)) => Ok(bytes),
            _ => Err(unexpected(column, "bytes")),
        }
    }

    /// Bytes, or nothing.
    pub fn maybe_bytes(&self, column: usize) -> Result<Option<&[u8]>, Error> {
        self.maybe(column, Row::bytes)
    }

    fn maybe<'r, T>(&'r self, column: usize, read: impl FnOnce(&'r Self, usize) -> Result<T, Error>) -> Result<Option<T>, Error> {
        if self.is_null(column) { Ok(None) } else { read(self, column).map(Some) }
    }
}

/// A record that is not as this program keeps it.
pub(crate) fn unexpected(column: usize, wanted: &str) -> Error {
    Error::Unexpected(format!("column {column} of a record is not {wanted}"))
}
