//! The names of a resource in GraphQL. The schema declares them, and `introspect` chooses resources that share none.

use crate::catalog::Resource;

use super::upper_first;

/// The names of one resource in GraphQL: its types, its queries and its mutations.
#[derive(Clone, Debug)]
pub struct GraphqlNames {
    context: String,
    /// `Order`
    one: String,
    /// `Orders`
    many: String,
    /// `Orders` in a mutation of several rows. `StaffRows` if the plain plural would name a mutation of one row.
    list: String,
}

impl GraphqlNames {
    pub fn of(resource: &Resource) -> Self {
        GraphqlNames::new(&resource.context, &resource.name, &resource.plural)
    }

    pub fn new(context: &str, name: &str, plural: &str) -> Self {
        let (one, many) = (upper_first(name), upper_first(plural));
        let is_ambiguous = many == one || many == format!("{one}ById");
        let list = if is_ambiguous { format!("{many}Rows") } else { many.clone() };
        GraphqlNames { context: context.to_owned(), one, many, list }
    }

    /// The type of a row: `ShopOrder`.
    pub fn row(&self) -> String {
        self.kind("")
    }

    /// The type of an answer with several rows.
    pub fn rows(&self) -> String {
        self.kind("Rows")
    }

    pub fn create_input(&self) -> String {
        self.kind("CreateInput")
    }

    pub fn update_input(&self) -> String {
        self.kind("UpdateInput")
    }

    pub fn increment_input(&self) -> String {
        self.kind("IncrementInput")
    }

    pub fn paginate(&self) -> String {
        self.field("Paginate", &self.many)
    }

    pub fn keyset_paginate(&self) -> String {
        self.field("KeysetPaginate", &self.many)
    }

    pub fn get(&self) -> String {
        self.field("Get", &self.many)
    }

    pub fn find(&self) -> String {
        self.field("Find", &self.one)
    }

    pub fn find_by_id(&self) -> String {
        self.by_id("Find")
    }

    pub fn create(&self) -> String {
        self.field("Create", &self.one)
    }

    pub fn create_list(&self) -> String {
        self.field("Create", &self.list)
    }

    pub fn update_by_id(&self) -> String {
        self.by_id("Update")
    }

    pub fn update_list(&self) -> String {
        self.field("Update", &self.list)
    }

    pub fn delete_by_id(&self) -> String {
        self.by_id("Delete")
    }

    pub fn delete_list(&self) -> String {
        self.field("Delete", &self.list)
    }

    pub fn restore_by_id(&self) -> String {
        self.by_id("Restore")
    }

    /// The types, whether or not the resource has writes.
    pub fn types(&self) -> [String; 5] {
        [self.row(), self.rows(), self.create_input(), self.update_input(), self.increment_input()]
    }

    /// The fields of `Query` and `Mutation` that name one row.
    pub fn fields_of_one(&self) -> [String; 6] {
        [self.find(), self.find_by_id(), self.create(), self.update_by_id(), self.delete_by_id(), self.restore_by_id()]
    }

    /// The fields of `Query` and `Mutation` that name several rows.
    pub fn fields_of_many(&self) -> [String; 6] {
        [self.paginate(), self.keyset_paginate(), self.get(), self.create_list(), self.update_list(), self.delete_list()]
    }

    fn kind(&self, end: &str) -> String {
        format!("{}{}{end}", upper_first(&self.context), self.one)
    }

    fn field(&self, verb: &str, what: &str) -> String {
        format!("{}{verb}{what}", lower_first(&self.context))
    }

    fn by_id(&self, verb: &str) -> String {
        format!("{}ById", self.field(verb, &self.one))
    }
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_lowercase().to_string() + letters.as_str())
}
