//! Faults of a statement: where (a JSON Pointer), what is wrong, and what is accepted. Knows nothing of HTTP.

use std::fmt;

use crate::pointer::Layer;

/// How many faults one answer reports, so that a hostile statement cannot produce a huge answer.
pub const MAX_FAULTS: usize = 100;

words! {
    /// The stable code of a fault: `QS1xx` shape, `QS2xx` limits, `QS3xx` names and types of statements, `WR1xx` writes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Code {
        NotJson = "QS100",
        DuplicateKey = "QS101",
        UnknownKey = "QS102",
        WrongShape = "QS103",
        UnknownOperator = "QS104",
        /// Empty, but at least one entry is required.
        Empty = "QS105",
        /// A value without an operator.
        BareValue = "QS106",
        OperatorShape = "QS107",
        MissingKey = "QS108",
        /// Two keys that cannot be combined.
        Combination = "QS109",
        NulCharacter = "QS110",
        /// A key that the operation does not take.
        OperationKey = "QS111",
        /// `where` or `relations` is nested too deeply.
        Depth = "QS201",
        /// A limit above 10000, or above `QUERY_MAX_ROWS`.
        Limit = "QS202",
        /// A limit or offset that is not a whole number from 0.
        WholeNumber = "QS203",
        FilterNodes = "QS204",
        RelationNodes = "QS205",
        ListLength = "QS206",
        /// Too many entries of `order`, `groupBy` or `fields`, or too many tables joined by dot-paths.
        Entries = "QS207",
        JsonDepth = "QS208",
        /// `RAW`, `AND`, `OR` or `NOT` as a name.
        ReservedName = "QS301",
        UnknownField = "QS302",
        UnknownRelation = "QS303",
        /// A field that is masked for the caller.
        MaskedField = "QS304",
        OperatorType = "QS305",
        ValueType = "QS306",
        /// A dot-path that is not allowed here.
        DotPath = "QS307",
        /// A function, `order` or `groupBy` that does not apply to the type.
        FunctionType = "QS308",
        Alias = "QS309",
        EqualKeys = "QS310",
        /// An order entry that is not in `groupBy`.
        OrderGroup = "QS311",
        /// An unknown `fn` or `dir`.
        UnknownWord = "QS312",
        /// The id in the path does not fit the key.
        Identifier = "QS313",
        /// The operation needs a key that the viewer sees.
        NoVisibleKey = "QS314",
        /// A keyset page ends at a row whose position no statement can name.
        UnrepresentablePosition = "QS315",
        /// The body of a write, or a part of it, has the wrong shape.
        WriteShape = "WR100",
        WriteUnknownKey = "WR101",
        /// A key of the body that the operation does not take, or not beside another.
        WriteKey = "WR102",
        /// A key of the body that the operation needs.
        WriteMissingKey = "WR103",
        /// Nothing to write.
        WriteEmpty = "WR104",
        /// Too many rows in one payload.
        WriteRows = "WR105",
        /// An update or delete by query without a condition.
        EmptyWhere = "WR106",
        /// A derived field in `where`, `order` or `expect` of a write.
        WriteDerived = "WR107",
        WriteUnknownField = "WR110",
        /// A field that cannot be written, at all or in this operation.
        NotWritable = "WR111",
        /// A field that needs a permission to be written.
        WritePermission = "WR112",
        /// A new row lacks a value that it needs.
        RequiredValue = "WR113",
        WriteType = "WR114",
        /// Null for a field that is never null.
        NullValue = "WR115",
        ValueRule = "WR116",
        /// A string contains U+0000.
        WriteNul = "WR117",
        /// A field that cannot be incremented.
        Increment = "WR118",
        /// A key in the payload that differs from the address, or is missing.
        WriteIdentifier = "WR119",
        /// The same row twice in a payload.
        RepeatedRow = "WR120",
        /// An `If-Match` that is no version.
        IfMatch = "WR121",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub code: Code,
    /// A JSON Pointer into the body.
    pub path: String,
    pub message: String,
}

/// All faults of a statement. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The faults in the order of detection, at most [`MAX_FAULTS`].
    pub faults: Vec<Fault>,
}

impl Error {
    pub fn one(code: Code, path: impl Into<String>, message: impl Into<String>) -> Self {
        Error { faults: vec![Fault { code, path: path.into(), message: message.into() }] }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                out.write_str("; ")?;
            }
            write!(out, "{} at {:?}: {}", fault.code.as_str(), fault.path, fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault. `path` is called only while there is room, because a body can have many faults with long paths.
    pub(crate) fn add(&mut self, code: Code, path: impl FnOnce() -> String, message: impl Into<String>) {
        if !self.is_full() {
            self.0.push(Fault { code, path: path(), message: message.into() });
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no more faults are reported, so that a stage can stop.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    /// Whether the layer has a fault of this code.
    pub(crate) fn has(&self, code: Code, layer: Layer) -> bool {
        let is_in = |path: &str| path.strip_prefix('/').is_some_and(|path| path.starts_with(layer.as_str()));
        self.0.iter().any(|fault| fault.code == code && is_in(&fault.path))
    }

    /// Whether there is a fault at this place.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.0.iter().any(|fault| fault.path == path)
    }

    pub(crate) fn absorb(&mut self, others: Faults) {
        self.0.extend(others.0);
        self.0.truncate(MAX_FAULTS);
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error { faults: self.0 }) }
    }
}

impl From<Error> for Faults {
    fn from(error: Error) -> Self {
        Faults(error.faults)
    }
}

/// A message about this layer, without found values of a wire constraint: another program may have added the constraint.
pub(crate) fn about(layer: Layer, message: impl Into<String>) -> String {
    let mut message = message.into();
    if layer == Layer::Constraint
        && let Some(end) = message.find("; found ")
    {
        message.truncate(end);
    }
    message
}

/// A string of the client, shortened for a message.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(57).collect();
    short.push('…');
    short
}
