//! Where a piece of a statement stands: a small arena of path segments, turned into a JSON Pointer only when a fault needs it.

use std::fmt::Write;

/// Which of the three layers a piece of a statement came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The client's `query`.
    Query,
    /// The `constraint` that arrived on the wire.
    Constraint,
    /// The manifest's own constraint or soft delete.
    Policy,
}

impl Layer {
    /// The layer's name in explain.
    pub fn as_str(self) -> &'static str {
        match self {
            Layer::Query => "query",
            Layer::Constraint => "constraint",
            Layer::Policy => "policy",
        }
    }
}

/// A place in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
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

    pub(crate) fn root(&self) -> At {
        At { layer: self.layer, node: 0 }
    }

    fn push(&mut self, parent: At, segment: Segment) -> At {
        let node = self.nodes.len() as u32;
        self.nodes.push((parent.node, segment));
        At { layer: self.layer, node }
    }

    pub(crate) fn key(&mut self, parent: At, key: &str) -> At {
        self.push(parent, Segment::Key(key.into()))
    }

    /// A key of the grammar itself, which needs no copy.
    pub(crate) fn word(&mut self, parent: At, key: &'static str) -> At {
        self.push(parent, Segment::Static(key))
    }

    pub(crate) fn index(&mut self, parent: At, index: usize) -> At {
        self.push(parent, Segment::Index(index as u32))
    }

    /// The JSON Pointer of a place, from the body's root.
    pub(crate) fn pointer(&self, at: At) -> String {
        let mut chain = Vec::new();
        let mut node = at.node;
        while node != 0 {
            let (parent, segment) = &self.nodes[node as usize];
            chain.push(segment);
            node = *parent;
        }
        let mut pointer = String::new();
        match self.layer {
            Layer::Query => pointer.push_str("/query"),
            Layer::Constraint => pointer.push_str("/constraint"),
            Layer::Policy => {}
        }
        for segment in chain.into_iter().rev() {
            pointer.push('/');
            match segment {
                Segment::Root => {}
                Segment::Key(key) => escape(&mut pointer, key),
                Segment::Static(key) => escape(&mut pointer, key),
                // Writing to a String cannot fail.
                Segment::Index(index) => _ = write!(pointer, "{index}"),
            }
        }
        pointer
    }
}

/// Appends one reference token as RFC 6901 wants it.
pub fn escape(pointer: &mut String, token: &str) {
    for character in token.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}
