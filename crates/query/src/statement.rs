//! The Query Statement as a value: its grammar was looked at, names and types were not.

use crate::error::{Code, Faults};
use crate::json::Json;
use crate::pointer::{At, Layer, Places};

/// A parsed statement, of one layer or merged from several.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The wheres of all layers; all of them must hold.
    pub(crate) filters: Vec<Clause>,
    pub(crate) relations: Vec<RelationNode>,
    pub(crate) order: Vec<Order>,
    pub(crate) aggregation: Option<Aggregation>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: Option<u64>,
    /// One arena a layer.
    pub(crate) places: Vec<Places>,
    /// What a constraint says of an order's field or of a relation that the query named already: where the query does, where it does.
    pub(crate) repeated: Vec<(At, At)>,
    /// What the grammar found wrong; a statement with faults never becomes a plan, which reports its own beside them.
    pub(crate) faults: Faults,
}

/// One where object: its entries are ANDed.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) at: At,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) enum Entry {
    And(At, Vec<Clause>),
    Or(At, Vec<Clause>),
    Not(At, Clause),
    /// A field with its operators or a relation with its where: only the catalog can tell.
    Named {
        name: Box<str>,
        at: At,
        inside: Inside,
    },
    /// Something the grammar refused already; it matches nothing and is told once.
    Refused,
    /// A connector whose value has not its shape. It is told as such only where a connector can stand, and that only the catalog can tell.
    Malformed {
        word: &'static str,
        at: At,
        code: Code,
        message: String,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Inside {
    Object(Clause),
    Plain(Json),
}

/// A relation to load, `true` or a relation node.
#[derive(Clone, Debug)]
pub(crate) struct RelationNode {
    pub(crate) name: Box<str>,
    pub(crate) at: At,
    pub(crate) filters: Vec<Clause>,
    pub(crate) order: Vec<Order>,
    pub(crate) limit: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) relations: Vec<RelationNode>,
}

#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) field: Box<str>,
    /// Where the field's name stands.
    pub(crate) at: At,
    pub(crate) direction: Direction,
}

/// Which way an order entry sorts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first, NULL last.
    Ascending,
    /// Largest first, NULL first.
    Descending,
}

#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    pub(crate) at: At,
    pub(crate) fields: Vec<AggregateField>,
    pub(crate) group_by: Vec<(Box<str>, At)>,
}

#[derive(Clone, Debug)]
pub(crate) struct AggregateField {
    pub(crate) at: At,
    /// None if it was refused already; its field is looked at all the same.
    pub(crate) function: Option<Function>,
    pub(crate) field: Box<str>,
    pub(crate) field_at: At,
    pub(crate) alias: MeasureAlias,
}

/// The key of a measure in its result.
#[derive(Clone, Debug)]
pub(crate) enum MeasureAlias {
    /// Made from function and field.
    Default,
    Named(Box<str>),
    /// Refused already.
    Refused,
}

/// The five aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// How many.
    Count,
    /// The exact sum.
    Sum,
    /// The exact mean.
    Avg,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

impl Function {
    /// All of them, in the order the contract lists them.
    pub(crate) const ALL: [Function; 5] = [Function::Count, Function::Sum, Function::Max, Function::Min, Function::Avg];

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Function::ALL.into_iter().find(|function| function.as_str() == word)
    }

    /// The word in a statement.
    pub fn as_str(self) -> &'static str {
        match self {
            Function::Count => "count",
            Function::Sum => "sum",
            Function::Avg => "avg",
            Function::Min => "min",
            Function::Max => "max",
        }
    }
}

/// The thirteen operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    In,
    NotIn,
    Between,
    IsNull,
    ILike,
    Contains,
    Overlap,
}

/// Their names, in the order the contract lists them.
pub(crate) const OPERATORS: [(&str, Operator); 13] = [
    ("eq", Operator::Eq),
    ("ne", Operator::Ne),
    ("gt", Operator::Gt),
    ("gte", Operator::Gte),
    ("lt", Operator::Lt),
    ("lte", Operator::Lte),
    ("in", Operator::In),
    ("notIn", Operator::NotIn),
    ("between", Operator::Between),
    ("isNull", Operator::IsNull),
    ("iLike", Operator::ILike),
    ("contains", Operator::Contains),
    ("overlap", Operator::Overlap),
];

impl Operator {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        OPERATORS.iter().find(|(name, _)| *name == word).map(|(_, operator)| *operator)
    }

    pub(crate) fn as_str(self) -> &'static str {
        OPERATORS.iter().find(|(_, operator)| *operator == self).map_or("", |(name, _)| name)
    }
}

impl Statement {
    /// The statement that asks for everything.
    pub fn empty(layer: Layer) -> Self {
        Statement {
            filters: Vec::new(),
            relations: Vec::new(),
            order: Vec::new(),
            aggregation: None,
            limit: None,
            offset: None,
            places: vec![Places::new(layer)],
            repeated: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// Where a constraint on the wire says again what stands there.
    pub(crate) fn said_again(&self, at: At) -> impl Iterator<Item = At> + '_ {
        let again = move |(first, again): &(At, At)| (*first == at && again.layer == Layer::Constraint).then_some(*again);
        self.repeated.iter().filter_map(again)
    }

    /// The JSON Pointer of a place in this statement.
    pub(crate) fn pointer(&self, at: At) -> String {
        self.places.iter().find(|places| places.root().layer == at.layer).map_or_else(String::new, |places| places.pointer(at))
    }
}
