//! Parses `aggregation`: functions over fields, grouped by other fields.

use crate::error::{Code, shorten};
use crate::json::Json;
use crate::messages::quoted_list;
use crate::pointer::Location;
use crate::statement::{AggregateField, Aggregation, Function, MeasureAlias};

use super::{Parser, found};

const BLOCK_KEYS: [&str; 2] = ["fields", "groupBy"];
const FIELD_KEYS: [&str; 3] = ["fn", "field", "as"];

impl Parser {
    pub(super) fn aggregation(&mut self, at: Location, value: Json) -> Option<Aggregation> {
        let entries = self.object(at, value, "`aggregation`", &BLOCK_KEYS)?;
        let mut fields = None;
        let mut group_by = Vec::new();
        for (key, value) in entries {
            if self.faults.is_full() {
                break;
            }
            match self.known_key(at, "`aggregation`", &BLOCK_KEYS, &key) {
                Some(("fields", at)) => fields = Some(self.aggregate_fields(at, value)),
                Some((_, at)) => group_by = self.group_by(at, value),
                None => {}
            }
        }
        if fields.is_none() {
            self.fault(Code::MissingKey, at, "`aggregation` needs `fields`");
        }
        Some(Aggregation { at, fields: fields.unwrap_or_default(), group_by })
    }

    fn aggregate_fields(&mut self, at: Location, value: Json) -> Vec<AggregateField> {
        let items = self.entries_of(at, value, "fields", "an array");
        if items.as_ref().is_some_and(Vec::is_empty) {
            self.fault(Code::Empty, at, "`fields` needs at least one entry");
        }
        let mut fields = Vec::new();
        for (index, item) in items.unwrap_or_default().into_iter().enumerate() {
            let at = self.places.index(at, index);
            fields.extend(self.aggregate_field(at, item));
        }
        fields
    }

    fn group_by(&mut self, at: Location, value: Json) -> Vec<(Box<str>, Location)> {
        let items = self.entries_of(at, value, "groupBy", "an array").unwrap_or_default();
        let mut names = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let at = self.places.index(at, index);
            names.extend(self.field_name(at, item).map(|name| (name, at)));
        }
        names
    }

    fn aggregate_field(&mut self, at: Location, item: Json) -> Option<AggregateField> {
        let entries = self.object(at, item, "an entry of `fields`", &FIELD_KEYS)?;
        // The outer `None` is an absent key, the inner one a value that was reported.
        let (mut function, mut field, mut alias) = (None, None, MeasureAlias::Default);
        for (key, value) in entries {
            if self.faults.is_full() {
                break;
            }
            match self.known_key(at, "an entry of `fields`", &FIELD_KEYS, &key) {
                Some(("fn", at)) => function = Some(self.function(at, &value)),
                Some(("field", at)) => field = Some(self.field_name(at, value).map(|name| (name, at))),
                Some((_, at)) => alias = self.alias(at, value).map_or(MeasureAlias::Refused, MeasureAlias::Named),
                None => {}
            }
        }
        if function.is_none() {
            self.fault(Code::MissingKey, at, format!("an entry of `fields` needs `fn`, one of {}", functions()));
        }
        if field.is_none() {
            self.fault(Code::MissingKey, at, "an entry of `fields` needs `field`, a field's name or `*`");
        }
        let (field, field_at) = field??;
        Some(AggregateField { at, function: function.flatten(), field, field_at, alias })
    }

    fn function(&mut self, at: Location, value: &Json) -> Option<Function> {
        let function = match value {
            Json::Text(word) => Function::from_word(word),
            _ => None,
        };
        if function.is_none() {
            self.fault(Code::UnknownWord, at, format!("`fn` must be one of {}; found {}", functions(), found(value)));
        }
        function
    }

    fn alias(&mut self, at: Location, value: Json) -> Option<Box<str>> {
        let Json::Text(alias) = value else {
            self.fault(Code::WrongShape, at, format!("`as` must be a string; found {}", value.noun()));
            return None;
        };
        if !self.allowed_name(at, &alias) {
            return None;
        }
        let mut characters = alias.bytes();
        let good = characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && characters.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && alias.len() <= 63;
        if !good {
            let message = format!("`as` must be a letter or `_`, then at most 62 letters, digits or `_`; found {:?}", shorten(&alias));
            self.fault(Code::Alias, at, message);
            return None;
        }
        Some(alias.into())
    }
}

fn functions() -> String {
    quoted_list(&Function::ALL.map(Function::as_str))
}
