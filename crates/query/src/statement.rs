//! The parsed Query Statement: its grammar is checked, its names and types are not.

use crate::error::{Code, Error, Faults};
use crate::json::Json;
use crate::pointer::{Layer, Location, Places};

/// The place of a fault of the parameter `fields`.
pub(crate) const FIELDS: &str = "/fields";

/// A parsed statement, of one layer or merged from several.
#[derive(Clone, Debug)]
pub struct Statement {
    /// The `where` of each layer, ANDed.
    pub(crate) filters: Vec<Clause>,
    pub(crate) relations: Vec<RelationNode>,
    pub(crate) order: Vec<Order>,
    pub(crate) aggregation: Option<Aggregation>,
    pub(crate) limit: Option<u64>,
    /// The limit before a constraint made it smaller.
    pub(crate) own_limit: Option<u64>,
    /// The layer that the limit is in, for a fault.
    pub(crate) limit_layer: Layer,
    pub(crate) offset: Option<u64>,
    /// What rows show; all fields if none.
    pub(crate) fields: Option<FieldSelection>,
    /// Whether the answer shows nothing of the rows, not even their number on the page.
    pub(crate) leaves_rows_out: bool,
    /// One for each layer.
    pub(crate) places: Vec<Places>,
    /// Names in `order` and `relations` that a constraint repeats: the place in the query and the place in the constraint.
    pub(crate) repeated: Vec<(Location, Location)>,
    /// Faults of the grammar. The plan reports them together with its own.
    pub(crate) faults: Faults,
}

/// The fields and relations that rows show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelection {
    pub(crate) fields: Vec<SelectedField>,
    place: SelectionPlace,
}

/// Where a selection was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum SelectionPlace {
    /// In the parameter `fields`.
    #[default]
    Parameter,
    /// In a GraphQL document, below the root field: a JSON Pointer of field names.
    Document(Box<str>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedField {
    pub(crate) name: Box<str>,
    /// The fields of a relation; all of them if none.
    pub(crate) below: Option<FieldSelection>,
}

impl FieldSelection {
    /// The selection of a root field of a GraphQL document, to be filled.
    pub fn of_document() -> Self {
        FieldSelection { fields: Vec::new(), place: SelectionPlace::Document("".into()) }
    }

    /// Adds a field, or a relation with all its fields.
    pub fn add(&mut self, name: &str) {
        match self.fields.iter_mut().find(|field| *field.name == *name) {
            Some(field) => field.below = None,
            None => self.fields.push(SelectedField { name: name.into(), below: None }),
        }
    }

    /// Adds fields of a relation. A relation that is here with all its fields stays so.
    pub fn add_below(&mut self, name: &str, add: impl FnOnce(&mut FieldSelection)) {
        let index = self.fields.iter().position(|field| *field.name == *name).unwrap_or_else(|| {
            let place = match &self.place {
                SelectionPlace::Parameter => SelectionPlace::Parameter,
                SelectionPlace::Document(above) => SelectionPlace::Document(format!("{above}/{name}").into()),
            };
            self.fields.push(SelectedField { name: name.into(), below: Some(FieldSelection { fields: Vec::new(), place }) });
            self.fields.len() - 1
        });
        if let Some(below) = &mut self.fields[index].below {
            add(below);
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&SelectedField> {
        self.fields.iter().find(|field| *field.name == *name)
    }

    /// The place of a fault of this name.
    pub(crate) fn pointer(&self, name: &str) -> String {
        match &self.place {
            SelectionPlace::Parameter => FIELDS.to_owned(),
            SelectionPlace::Document(above) => format!("{above}/{name}"),
        }
    }
}

/// One `where` object: its entries are ANDed.
#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) at: Location,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) enum Entry {
    And(Location, Vec<Clause>),
    Or(Location, Vec<Clause>),
    Not(Location, Clause),
    // A field with its operators or a relation with its `where`; the plan decides which.
    Named { name: Box<str>, at: Location, inside: Inside },
    // Reported already; it matches nothing.
    Refused,
    // A connector with a value of the wrong shape. Below a field it is an unknown operator instead, so the plan reports it.
    Malformed { word: &'static str, at: Location, code: Code, message: String },
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
    pub(crate) at: Location,
    pub(crate) filters: Vec<Clause>,
    pub(crate) order: Vec<Order>,
    pub(crate) limit: Option<u64>,
    /// The limit before a constraint made it smaller.
    pub(crate) own_limit: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) relations: Vec<RelationNode>,
}

#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) field: Box<str>,
    /// The place of the field's name.
    pub(crate) at: Location,
    pub(crate) direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Smallest first, NULL last.
    Ascending,
    /// Largest first, NULL first.
    Descending,
}

#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    pub(crate) at: Location,
    pub(crate) fields: Vec<AggregateField>,
    pub(crate) group_by: Vec<(Box<str>, Location)>,
}

#[derive(Clone, Debug)]
pub(crate) struct AggregateField {
    pub(crate) at: Location,
    /// `None` if it was reported already; the plan still checks the field.
    pub(crate) function: Option<Function>,
    pub(crate) field: Box<str>,
    pub(crate) field_at: Location,
    pub(crate) alias: MeasureAlias,
}

/// The result key of a measure.
#[derive(Clone, Debug)]
pub(crate) enum MeasureAlias {
    /// From function and field: `sum_total`.
    Default,
    Named(Box<str>),
    /// Reported already.
    Refused,
}

words! {
    /// In the order of the contract.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Function {
        Count = "count",
        /// The exact sum.
        Sum = "sum",
        Max = "max",
        Min = "min",
        /// The exact mean.
        Avg = "avg",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Compare(Comparison),
    In,
    NotIn,
    Between,
    IsNull,
    ILike,
    Contains,
    Overlap,
}

/// The operators that compare with one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
}

/// The operators with their names, in the order of the contract.
pub(crate) const OPERATORS: [(&str, Operator); 13] = [
    ("eq", Operator::Compare(Comparison::Eq)),
    ("ne", Operator::Compare(Comparison::Ne)),
    ("gt", Operator::Compare(Comparison::Gt)),
    ("gte", Operator::Compare(Comparison::Gte)),
    ("lt", Operator::Compare(Comparison::Lt)),
    ("lte", Operator::Compare(Comparison::Lte)),
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
    /// A statement without any key: all rows.
    pub fn empty(layer: Layer) -> Self {
        Statement {
            filters: Vec::new(),
            relations: Vec::new(),
            order: Vec::new(),
            aggregation: None,
            limit: None,
            own_limit: None,
            limit_layer: layer,
            offset: None,
            fields: None,
            leaves_rows_out: false,
            places: vec![Places::new(layer)],
            repeated: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// The same statement, with rows that show these fields only.
    #[must_use]
    pub fn showing(mut self, fields: Option<FieldSelection>) -> Self {
        self.fields = fields;
        self
    }

    /// The same for the parameter `fields` of a request, whose faults are reported with those of the statement.
    #[must_use]
    pub fn showing_parameter(mut self, fields: Result<Option<FieldSelection>, Error>) -> Self {
        match fields {
            Ok(fields) => self.showing(fields),
            Err(error) => {
                self.faults.absorb(error.into());
                self
            }
        }
    }

    /// The same statement for an answer that shows its total only. No row is read.
    #[must_use]
    pub fn without_rows(mut self) -> Self {
        self.leaves_rows_out = true;
        self
    }

    /// The places where the wire constraint repeats the name at this place.
    pub(crate) fn repeated_at(&self, at: Location) -> impl Iterator<Item = Location> + '_ {
        let again = move |(first, again): &(Location, Location)| (*first == at && again.layer == Layer::Constraint).then_some(*again);
        self.repeated.iter().filter_map(again)
    }

    pub(crate) fn pointer(&self, at: Location) -> String {
        self.places.iter().find(|places| places.root().layer == at.layer).map_or_else(String::new, |places| places.pointer(at))
    }
}
