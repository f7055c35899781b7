//! What can be asked of a declared resource, by the end of its address.

/// Something that can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Paginate,
    List,
    /// Another name of `list`.
    Get,
    Find,
    FindById,
    Explain,
}

impl Verb {
    pub(crate) const ALL: [Verb; 6] = [Verb::Paginate, Verb::List, Verb::Get, Verb::Find, Verb::FindById, Verb::Explain];

    /// Its name for programs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verb::Paginate => "paginate",
            Verb::List => "list",
            Verb::Get => "get",
            Verb::Find => "find",
            Verb::FindById => "findById",
            Verb::Explain => "explain",
        }
    }

    /// The end of its address, where `{id}` stands for a key.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Verb::FindById => "find/{id}",
            other => other.name(),
        }
    }

    /// The verb whose address ends like this.
    pub(crate) fn of(end: &str) -> Option<Self> {
        Verb::ALL.into_iter().find(|verb| verb.end() == end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_verb_by_its_end_and_none_by_another() {
        for verb in Verb::ALL {
            assert_eq!(Verb::of(verb.end()), Some(verb));
        }
        for end in ["", "Paginate", "findById", "find/", "find/7", "list "] {
            assert_eq!(Verb::of(end), None, "{end:?}");
        }
    }
}
