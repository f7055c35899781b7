//! Parses a manifest from the TOML tree, which has the position of each value for messages.

mod write;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::json::Json;
use crate::messages::{did_you_mean, quoted_list};

use write::FIELD_WRITE_KEYS;

use super::{
    DerivedDeclaration, FieldDeclaration, Manifest, ManifestError, ManifestFault, RelatedFunction, RelationDeclaration, ResourceDeclaration,
};

const RESOURCE_KEYS: [&str; 9] = ["table", "plural", "permission", "public", "soft-delete", "constraint", "write", "fields", "relations"];
const FIELD_KEYS: [&str; 30] = [
    "type",
    "key",
    "column",
    "null",
    "hidden",
    "mask",
    "unmask",
    "values",
    "stored",
    "write",
    "write-permission",
    "preset",
    "min",
    "max",
    "min-length",
    "max-length",
    "pattern",
    "min-items",
    "max-items",
    "count",
    "sum",
    "avg",
    "exists",
    "where",
    "json",
    "path",
    "bucket",
    "of",
    "zone",
    "eager",
];
/// The keys that make a field a derived one.
const DERIVED_KEYS: [&str; 8] = ["count", "sum", "min", "max", "avg", "exists", "json", "bucket"];
/// The keys that only a field with a column takes.
const COLUMN_KEYS: [&str; 4] = ["key", "column", "null", "stored"];
const RELATION_KEYS: [&str; 5] = ["one", "many", "on", "through", "to"];

impl Manifest {
    /// Reads a manifest. The catalog reports the faults of its names and shapes, together with those of its references.
    pub fn read(text: &str) -> Result<Self, ManifestError> {
        let tree = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            ManifestError(vec![ManifestFault { line: Lines::of(text).at(offset), message: format!("not TOML: {}", error.message()) }])
        })?;
        let mut reader = Reader { lines: Lines::of(text), faults: Vec::new() };
        let mut manifest = Manifest::default();
        for (key, value) in tree.get_ref() {
            if key.get_ref() != "resource" {
                let message = format!("unknown key `{}`; a manifest has only `[resource.<context>.<name>]` tables", key.get_ref());
                reader.fault(key.span().start, message);
                continue;
            }
            for (context, value) in reader.table(value, "resource") {
                for (name, value) in reader.table(value, "a context") {
                    match reader.resource(context, name, value) {
                        Some(resource) => manifest.resources.push(resource),
                        None => manifest.broken.push(format!("{}.{}", context.0, name.0)),
                    }
                }
            }
        }
        manifest.faults = reader.faults;
        Ok(manifest)
    }
}

/// The offset of each line.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(place, _)| place + 1)).collect())
    }

    fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset)
    }
}

struct Reader {
    lines: Lines,
    faults: Vec<ManifestFault>,
}

/// A fault that was reported already.
struct Reported;

type KeyValue<'v> = (&'v str, &'v Spanned<DeValue<'v>>, usize);

impl Reader {
    fn fault(&mut self, offset: usize, message: impl Into<String>) {
        let line = self.lines.at(offset);
        self.faults.push(ManifestFault { line, message: message.into() });
    }

    fn line(&self, offset: usize) -> usize {
        self.lines.at(offset)
    }

    fn table<'v>(&mut self, value: &'v Spanned<DeValue<'v>>, what: &str) -> Vec<((&'v str, usize), &'v Spanned<DeValue<'v>>)> {
        if let Some(table) = value.get_ref().as_table() {
            return table.iter().map(|(key, value)| ((key.get_ref().as_ref(), key.span().start), value)).collect();
        }
        self.fault(value.span().start, format!("{what} must be a table"));
        Vec::new()
    }

    fn entries<'v>(&mut self, value: &'v Spanned<DeValue<'v>>, what: &str, known: &[&str]) -> Vec<KeyValue<'v>> {
        let mut entries = Vec::new();
        for ((key, offset), value) in self.table(value, what) {
            if known.contains(&key) {
                entries.push((key, value, offset));
            } else {
                self.fault(offset, format!("unknown key `{key}`{}; {what} takes {}", did_you_mean(key, known), quoted_list(known)));
            }
        }
        entries
    }

    fn text(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.as_deref().is_none_or(|text| text.is_empty() || text.contains('\0')) {
            self.fault(value.span().start, format!("`{key}` must be a string that is not empty"));
            return None;
        }
        text
    }

    fn boolean(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<bool> {
        let boolean = value.get_ref().as_bool();
        if boolean.is_none() {
            self.fault(value.span().start, format!("`{key}` must be true or false"));
        }
        boolean
    }

    fn name(&mut self, offset: usize, name: &str, what: &str) -> bool {
        let mut bytes = name.bytes();
        let good = bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !good {
            let message = format!("{name:?} is not a valid name for {what}; accepted are a letter or `_`, then letters, digits or `_`");
            self.fault(offset, message);
        }
        good
    }

    fn resource(&mut self, context: (&str, usize), name: (&str, usize), value: &Spanned<DeValue<'_>>) -> Option<ResourceDeclaration> {
        if !self.name(context.1, context.0, "a context") || !self.name(name.1, name.0, "a resource") {
            return None;
        }
        let mut resource = ResourceDeclaration {
            line: self.line(name.1),
            context: context.0.to_owned(),
            name: name.0.to_owned(),
            table: None,
            plural: None,
            permission: None,
            permission_line: 0,
            public: false,
            soft_delete: None,
            constraint: None,
            write: None,
            fields: Vec::new(),
            relations: Vec::new(),
            broken: Vec::new(),
        };
        if value.get_ref().as_table().is_none() {
            resource.broken.push("fields".to_owned());
        }
        let mut public_at = None;
        for (key, value, offset) in self.entries(value, "a resource", &RESOURCE_KEYS) {
            let before = self.faults.len();
            match key {
                "table" => resource.table = self.text(value, key),
                "plural" => {
                    resource.plural = self.text(value, key);
                    if let Some(plural) = resource.plural.clone() {
                        self.name(offset, &plural, "a plural");
                    }
                }
                "permission" => {
                    resource.permission = self.text(value, key);
                    resource.permission_line = self.line(offset);
                }
                "public" => {
                    resource.public = self.boolean(value, key).unwrap_or_default();
                    public_at = Some(offset).filter(|_| resource.public);
                }
                "soft-delete" => resource.soft_delete = self.text(value, key).map(|name| (name, self.line(offset))),
                "constraint" => resource.constraint = Some((json(value.get_ref()), self.line(offset))),
                "write" => resource.write = Some(self.write(offset, value)),
                "fields" => {
                    for ((name, offset), value) in self.table(value, "`fields`") {
                        let field = self.field(name, offset, value);
                        resource.broken.extend(field.is_none().then(|| name.to_owned()));
                        resource.fields.extend(field);
                    }
                }
                _ => {
                    for ((name, offset), value) in self.table(value, "`relations`") {
                        let relation = self.relation(name, offset, value);
                        resource.broken.extend(relation.is_none().then(|| name.to_owned()));
                        resource.relations.extend(relation);
                    }
                }
            }
            if self.faults.len() > before {
                resource.broken.push(key.to_owned());
            }
        }
        if let (Some(offset), Some(permission)) = (public_at, &resource.permission) {
            self.fault(offset, format!("`public = true` contradicts `permission = {permission:?}`; a resource takes one of them"));
        }
        Some(resource)
    }

    fn field(&mut self, name: &str, offset: usize, value: &Spanned<DeValue<'_>>) -> Option<FieldDeclaration> {
        if !self.name(offset, name, "a field") {
            return None;
        }
        let mut field = FieldDeclaration { line: self.line(offset), name: name.to_owned(), ..FieldDeclaration::default() };
        if value.get_ref().as_str().is_some() {
            field.kind = self.text(value, "type")?;
            return Some(field);
        }
        let is_table = value.get_ref().as_table().is_some();
        if !is_table {
            let accepted = format!("its type or a table: `{name} = \"text\"` or `{name} = {{ type = \"text\", … }}`");
            self.fault(offset, format!("field `{name}` must be {accepted}"));
            return None;
        }
        let entries = self.entries(value, "a field", &FIELD_KEYS);
        let derived = self.derived(name, offset, &entries);
        let (mut has_type, mut is_broken) = (false, derived.is_err());
        field.derived = derived.unwrap_or_default();
        for (key, value, offset) in entries {
            match key {
                // Without a column, `min` and `max` say what is computed.
                _ if field.derived.is_none() && !is_broken && FIELD_WRITE_KEYS.contains(&key) => {
                    self.field_write(&mut field, (key, value, offset));
                }
                "type" => {
                    has_type = true;
                    let kind = self.text(value, key);
                    is_broken |= kind.is_none();
                    field.kind = kind.unwrap_or_default();
                }
                "eager" => field.eager = self.boolean(value, key),
                // A part of the key, rather than a resource without one.
                "key" => field.key = self.boolean(value, key).unwrap_or(true),
                "column" => field.column = self.text(value, key),
                "null" => field.null = self.boolean(value, key),
                "hidden" => field.hidden = self.boolean(value, key).unwrap_or_default(),
                "mask" => field.mask = self.text(value, key),
                "unmask" => field.unmask = self.text(value, key),
                "values" => {
                    field.values = self.texts(value, key);
                    is_broken |= field.values.is_none();
                }
                "stored" => field.stored = self.text(value, key),
                _ => {}
            }
        }
        if !has_type && !is_broken && field.derived.is_none() {
            self.fault(offset, format!("field `{name}` needs a type: `{name} = \"text\"` or `{name} = {{ type = \"text\", … }}`"));
            return None;
        }
        (!is_broken).then_some(field)
    }

    /// How the value of a field is computed; `None` if it has a column.
    fn derived(&mut self, name: &str, offset: usize, entries: &[KeyValue<'_>]) -> Result<Option<DerivedDeclaration>, Reported> {
        let find = |key: &str| entries.iter().find(|(found, ..)| *found == key);
        // In a field with a type, `min` and `max` are bounds of its value.
        let is_bound = |key: &str| matches!(key, "min" | "max") && find("type").is_some();
        let kinds: Vec<&str> = DERIVED_KEYS.into_iter().filter(|key| find(key).is_some() && !is_bound(key)).collect();
        let Some(kind) = kinds.first().copied() else {
            let Some((key, _, at)) = ["where", "path", "of", "zone", "eager"].into_iter().find_map(find) else { return Ok(None) };
            self.fault(
                *at,
                format!("field `{name}`: `{key}` is accepted for a derived field only, which has one of {}", quoted_list(&DERIVED_KEYS)),
            );
            return Err(Reported);
        };
        if kinds.len() > 1 {
            self.fault(offset, format!("field `{name}` has {}; a derived field has one of them", quoted_list(&kinds)));
            return Err(Reported);
        }
        let accepted: &[&str] = match kind {
            "json" => &["json", "path", "type", "values", "hidden", "mask", "unmask", "eager"],
            "bucket" => &["bucket", "of", "zone", "hidden", "mask", "unmask", "eager"],
            _ => &[kind, "where", "hidden", "mask", "unmask", "eager"],
        };
        let refused: Vec<_> = entries.iter().filter(|(key, ..)| !accepted.contains(key)).collect();
        for (key, _, at) in &refused {
            let why = if COLUMN_KEYS.contains(key) { ", since it has no column" } else { "" };
            self.fault(*at, format!("field `{name}` with `{kind}` does not take `{key}`{why}; it takes {}", quoted_list(accepted)));
        }
        if !refused.is_empty() {
            return Err(Reported);
        }
        let Some((_, value, _)) = find(kind) else { return Ok(None) };
        let of = self.text(value, kind).ok_or(Reported)?;
        Ok(Some(match kind {
            "json" => {
                let Some((_, value, at)) = find("path") else {
                    self.fault(offset, format!("field `{name}` needs `path`, such as `path = [\"plan\", \"tier\"]`"));
                    return Err(Reported);
                };
                let path = self.texts(value, "path").ok_or(Reported)?;
                if path.is_empty() || path.iter().any(|part| part.contains('\0')) {
                    self.fault(*at, format!("field `{name}`: `path` must have at least one name, and none with U+0000"));
                    return Err(Reported);
                }
                DerivedDeclaration::JsonPath { of, path }
            }
            "bucket" => {
                let Some((_, value, _)) = find("of") else {
                    self.fault(offset, format!("field `{name}` needs `of`, a date or a timestamp: `of = \"placedAt\"`"));
                    return Err(Reported);
                };
                let zone = match find("zone") {
                    Some((key, value, _)) => Some(self.text(value, key).ok_or(Reported)?),
                    None => None,
                };
                DerivedDeclaration::Bucket { unit: of, of: self.text(value, "of").ok_or(Reported)?, zone }
            }
            word => {
                let filter = find("where").map(|(_, value, _)| json(value.get_ref()));
                DerivedDeclaration::Related { function: RelatedFunction::from_word(word).ok_or(Reported)?, of, filter }
            }
        }))
    }

    fn texts(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<Vec<String>> {
        let items = value
            .get_ref()
            .as_array()
            .map(|items| items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<String>>>());
        if let Some(Some(items)) = items {
            return Some(items);
        }
        let hint = if key == "path" { ", also for the place of an element: `path = [\"items\", \"0\"]`" } else { "" };
        self.fault(value.span().start, format!("`{key}` must be an array of strings{hint}"));
        None
    }

    fn relation(&mut self, name: &str, offset: usize, value: &Spanned<DeValue<'_>>) -> Option<RelationDeclaration> {
        if !self.name(offset, name, "a relation") {
            return None;
        }
        let mut relation = RelationDeclaration { line: self.line(offset), name: name.to_owned(), ..RelationDeclaration::default() };
        let (mut targets, before) = (0, self.faults.len());
        for (key, value, _) in self.entries(value, "a relation", &RELATION_KEYS) {
            match key {
                "one" | "many" => {
                    targets += 1;
                    relation.many = key == "many";
                    relation.target = self.text(value, key).unwrap_or_default();
                }
                "through" => relation.through = self.text(value, key),
                "on" => relation.on = self.pairs(value, key),
                _ => relation.to = self.pairs(value, key),
            }
        }
        if self.faults.len() > before {
            return None;
        }
        if targets != 1 {
            let message = format!("relation `{name}` needs exactly one of `one` and `many`, naming a resource such as \"shop.order\"");
            self.fault(offset, message);
        }
        if relation.on.is_empty() {
            let message = format!("relation `{name}` needs `on`, from own field to field of the target: `on = {{ id = \"customerId\" }}`");
            self.fault(offset, message);
        }
        if relation.through.is_some() == relation.to.is_empty() {
            self.fault(offset, format!("relation `{name}`: `through` and `to` require each other"));
        }
        if relation.through.is_some() && !relation.many && targets == 1 {
            self.fault(offset, format!("relation `{name}`: `through` requires `many`"));
        }
        (self.faults.len() == before).then_some(relation)
    }

    fn pairs(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Vec<(String, String)> {
        let mut pairs = Vec::new();
        for ((left, _), value) in self.table(value, &format!("`{key}`")) {
            pairs.extend(self.text(value, key).map(|right| (left.to_owned(), right)));
        }
        pairs
    }
}

fn json(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => Json::Text(text.to_string()),
        DeValue::Integer(number) => {
            // JSON numbers are decimal.
            let value = i64::from_str_radix(number.as_str(), number.radix());
            Json::Number(value.map_or_else(|_| number.to_string(), |value| value.to_string()).into())
        }
        DeValue::Float(number) => Json::Number(number.to_string().into()),
        DeValue::Boolean(value) => Json::Bool(*value),
        DeValue::Datetime(value) => Json::Text(value.to_string()),
        DeValue::Array(items) => Json::Array(items.iter().map(|item| json(item.get_ref())).collect()),
        DeValue::Table(table) => {
            Json::Object(table.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect())
        }
    }
}
