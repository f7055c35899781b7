//! Places in a statement. A place becomes a JSON Pointer only when a fault needs it.

use std::fmt::Write;

words! {
    /// The source of a part of a statement.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Layer {
        /// The `query` of the body.
        Query = "query",
        /// The `constraint` of the body: the wire constraint.
        Constraint = "constraint",
        /// The manifest: constraint or soft delete.
        Policy = "policy",
        /// `scope` of the manifest: what a row must be before a write.
        Scope = "scope",
        /// The `expect` of the body of a write.
        Expect = "expect",
        /// `check` of the manifest: what a row must be after a write.
        Check = "check",
        /// A to-one relation that a write sets: it must lead to a row that the viewer can read.
        Reference = "reference",
        /// `min` and `max` of a field that a write adds to.
        Bounds = "bounds",
        /// The `returning` of the body of a write.
        Returning = "returning",
    }
}

impl Layer {
    /// Whether the manifest says it.
    pub(crate) fn is_manifest(self) -> bool {
        matches!(self, Layer::Policy | Layer::Scope | Layer::Check | Layer::Reference | Layer::Bounds)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    pub(crate) layer: Layer,
    node: u32,
}

#[derive(Clone, Debug)]
enum Segment {
    Root,
    Key(Box<str>),
    Static(&'static str),
    Index(u32),
}

/// The places of one layer's statement.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    layer: Layer,
    nodes: Vec<(u32, Segment)>,
}

impl Places {
    pub(crate) fn new(layer: Layer) -> Self {
        let mut nodes = Vec::with_capacity(32);
        nodes.push((0, Segment::Root));
        Places { layer, nodes }
    }

    pub(crate) fn root(&self) -> Location {
        Location { layer: self.layer, node: 0 }
    }

    fn push(&mut self, parent: Location, segment: Segment) -> Location {
        let node = self.nodes.len() as u32;
        self.nodes.push((parent.node, segment));
        Location { layer: self.layer, node }
    }

    pub(crate) fn key(&mut self, parent: Location, key: &str) -> Location {
        self.push(parent, Segment::Key(key.into()))
    }

    /// A key of the grammar, which needs no copy.
    pub(crate) fn word(&mut self, parent: Location, key: &'static str) -> Location {
        self.push(parent, Segment::Static(key))
    }

    pub(crate) fn index(&mut self, parent: Location, index: usize) -> Location {
        self.push(parent, Segment::Index(index as u32))
    }

    /// The JSON Pointer of a place, from the body's root.
    pub(crate) fn pointer(&self, at: Location) -> String {
        let mut chain = Vec::new();
        let mut node = at.node;
        while node != 0 {
            let (parent, segment) = &self.nodes[node as usize];
            chain.push(segment);
            node = *parent;
        }
        let mut pointer = Pointer::default();
        if !self.layer.is_manifest() {
            pointer.key(self.layer.as_str());
        }
        for segment in chain.into_iter().rev() {
            match segment {
                Segment::Root => {}
                Segment::Key(key) => pointer.key(key),
                Segment::Static(key) => pointer.key(key),
                Segment::Index(index) => pointer.index(*index as usize),
            }
        }
        pointer.finish()
    }
}

/// Longer names are cut; no known name is that long.
const MAX_NAME_CHARACTERS: usize = 4_000;
/// A pointer of this many bytes is not continued.
const MAX_POINTER_BYTES: usize = 8_000;

/// Builds a JSON Pointer (RFC 6901) of bounded length.
#[derive(Debug, Default)]
pub struct Pointer(String);

impl Pointer {
    /// Continues an existing pointer.
    pub fn at(base: &str) -> Self {
        Pointer(base.to_owned())
    }

    pub fn key(&mut self, name: &str) {
        if self.0.len() > MAX_POINTER_BYTES {
            return;
        }
        self.0.push('/');
        for (index, character) in name.chars().enumerate() {
            match character {
                _ if index == MAX_NAME_CHARACTERS => return self.0.push('…'),
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                other => self.0.push(other),
            }
        }
    }

    pub fn index(&mut self, index: usize) {
        if self.0.len() <= MAX_POINTER_BYTES {
            // Writing to a String cannot fail.
            _ = write!(self.0, "/{index}");
        }
    }

    pub fn finish(self) -> String {
        self.0
    }
}
