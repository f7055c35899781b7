//! The operations that read a declared resource, and the path of each.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadOperation {
    Paginate,
    KeysetPaginate,
    List,
    /// Another name of `list`.
    Get,
    Find,
    FindById,
    Explain,
}

impl ReadOperation {
    pub(crate) const ALL: [Self; 7] =
        [Self::Paginate, Self::KeysetPaginate, Self::List, Self::Get, Self::Find, Self::FindById, Self::Explain];

    pub(crate) fn name(self) -> &'static str {
        match self {
            ReadOperation::Paginate => "paginate",
            ReadOperation::KeysetPaginate => "keysetPaginate",
            ReadOperation::List => "list",
            ReadOperation::Get => "get",
            ReadOperation::Find => "find",
            ReadOperation::FindById => "findById",
            ReadOperation::Explain => "explain",
        }
    }

    /// The end of its path; `{id}` stands for a key.
    pub(crate) fn path_end(self) -> &'static str {
        match self {
            ReadOperation::FindById => "find/{id}",
            ReadOperation::KeysetPaginate => "keyset-paginate",
            other => other.name(),
        }
    }

    /// Whether it needs a key that the caller sees.
    pub(crate) fn needs_key(self) -> bool {
        matches!(self, ReadOperation::KeysetPaginate | ReadOperation::FindById)
    }

    pub(crate) fn from_path_end(end: &str) -> Option<Self> {
        ReadOperation::ALL.into_iter().find(|operation| operation.path_end() == end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_path_names_one_operation_or_none() {
        for operation in ReadOperation::ALL {
            assert_eq!(ReadOperation::from_path_end(operation.path_end()), Some(operation));
        }
        for end in ["", "Paginate", "keysetPaginate", "findById", "find/", "find/7", "list "] {
            assert_eq!(ReadOperation::from_path_end(end), None, "{end:?}");
        }
    }
}
