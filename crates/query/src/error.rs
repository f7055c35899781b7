//! What is wrong with a statement: where (a JSON Pointer), what, and what would have been accepted. Knows nothing of HTTP.

use std::fmt;

use crate::pointer::Layer;

/// At most this many faults are reported in one answer, so that a hostile statement cannot make a huge one.
pub const MAX_FAULTS: usize = 100;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// The stable code of a fault: `QS1xx` shape, `QS2xx` limits, `QS3xx` names and types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $doc])+ $name,)+ }

        impl Code {
            /// Every code there is, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name),+];

            /// The code as it stands in an answer.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)+ }
            }
        }
    };
}

codes! {
    /// The text is not JSON.
    NotJson = "QS100",
    /// A key stands twice in one object.
    DuplicateKey = "QS101",
    /// A key that this object does not have.
    UnknownKey = "QS102",
    /// A value of another shape was expected.
    WrongShape = "QS103",
    /// Not one of the thirteen operators.
    UnknownOperator = "QS104",
    /// Empty where something is needed.
    Empty = "QS105",
    /// A bare value where an operator object belongs.
    BareValue = "QS106",
    /// The operator's value has the wrong shape.
    OperatorShape = "QS107",
    /// A required key is missing.
    MissingKey = "QS108",
    /// Two things that do not go together.
    Combination = "QS109",
    /// A text holds U+0000.
    NulCharacter = "QS110",
    /// Nested deeper than ten.
    Depth = "QS201",
    /// A limit above 10000.
    Limit = "QS202",
    /// A limit or offset that is not a whole number from 0.
    WholeNumber = "QS203",
    /// Too many nodes of `where`.
    FilterNodes = "QS204",
    /// Too many relation nodes.
    RelationNodes = "QS205",
    /// Too many values in one list.
    ListLength = "QS206",
    /// Too many entries of `order`, `groupBy` or `fields`, or too many tables that their dot-paths lead to.
    Entries = "QS207",
    /// JSON nested too deeply to be read.
    JsonDepth = "QS208",
    /// `RAW`, `AND`, `OR` or `NOT` as a name.
    ReservedName = "QS301",
    /// No such field.
    UnknownField = "QS302",
    /// No such relation.
    UnknownRelation = "QS303",
    /// A field that is masked for the caller.
    MaskedField = "QS304",
    /// The operator does not go with the field's type.
    OperatorType = "QS305",
    /// The value does not fit the field's type.
    ValueType = "QS306",
    /// A dot-path that is not allowed here.
    DotPath = "QS307",
    /// A function, sort or group that does not go with the type.
    FunctionType = "QS308",
    /// An alias that is no name.
    Alias = "QS309",
    /// Two equal keys in one result.
    EqualKeys = "QS310",
    /// An order entry that names no group.
    OrderGroup = "QS311",
    /// A word that is not one of those allowed (`fn`, `dir`).
    UnknownWord = "QS312",
    /// The id in the address does not fit the key.
    Identifier = "QS313",
}

/// One fault of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of fault.
    pub code: Code,
    /// A JSON Pointer into the body.
    pub path: String,
    /// What was found and what is accepted.
    pub message: String,
}

/// All faults of a statement. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The faults in the order they were met, at most [`MAX_FAULTS`].
    pub faults: Vec<Fault>,
}

impl Error {
    /// An error with a single fault.
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

/// Collects faults while a stage goes on looking for more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Adds one. Where it stands is asked only while there is room: a path may be as long as a body, and a body may have as many faults
    /// as bytes.
    pub(crate) fn add(&mut self, code: Code, path: impl FnOnce() -> String, message: impl Into<String>) {
        if !self.is_full() {
            self.0.push(Fault { code, path: path(), message: message.into() });
        }
    }

    /// Whether no more are told, so that looking for more is in vain.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FAULTS
    }

    /// Whether a fault of this code stands somewhere in the layer.
    pub(crate) fn has(&self, code: Code, layer: Layer) -> bool {
        let is_in = |path: &str| path.strip_prefix('/').is_some_and(|path| path.starts_with(layer.as_str()));
        self.0.iter().any(|fault| fault.code == code && is_in(&fault.path))
    }

    pub(crate) fn absorb(&mut self, others: Faults) {
        self.0.extend(others.0);
        self.0.truncate(MAX_FAULTS);
    }

    pub(crate) fn finish(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error { faults: self.0 }) }
    }
}

/// A message about a piece of this layer. What stands in a constraint is not repeated: whoever sees the answer need not be who sent it.
pub(crate) fn about(layer: Layer, message: impl Into<String>) -> String {
    let mut message = message.into();
    if layer == Layer::Constraint
        && let Some(end) = message.find("; found ")
    {
        message.truncate(end);
    }
    message
}

/// A text of the client short enough for a message.
pub(crate) fn shorten(text: &str) -> String {
    if text.chars().count() <= 60 {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(57).collect();
    short.push('…');
    short
}
