//! What the types of all resources share.

use std::fmt::Write;

use crate::types::{Scalar, Type};

/// The beginning of the module.
pub(super) const HEAD: &str = r#"// Made by `peristyle schema typescript` from the manifest. Do not edit: make it again.
// Types only. How deep a statement is, how many nodes it has and whether a text is a real date, the server checks.

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
/** A whole number of 64 bits; as a text it keeps every digit. */
export type BigIntValue = number | `${number}`;
/** An exact number; as a text it keeps every digit. */
export type DecimalValue = number | `${number}`;
/** A UUID. */
export type UuidValue = string;
/** `YYYY-MM-DD` */
export type DateValue = string;
/** `HH:MM:SS` with up to six decimals */
export type TimeValue = string;
/** RFC 3339; in a statement no offset means UTC, and a plain date its midnight in UTC. */
export type TimestampValue = string;
/** What a json field is compared with. */
export type JsonScalar = string | number | boolean;

/** `asc` when left out; NULL is last ascending, first descending. */
export type Direction = "asc" | "desc";
/** One entry of `order`. */
export interface OrderEntry<F extends string> {
  field: F;
  dir?: Direction;
}
/** What `paginate` answers. */
export interface Page<R> {
  /** All that match, whatever limit and offset. */
  total: number;
  /** The rows of this page. */
  count: number;
  rows: R[];
}
/** A group of an aggregation: entries of groupBy under the names asked, and a key for each measure. */
export type Group = { [key: string]: string | number | boolean | null };
/** An error, as `application/problem+json`. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors?: { code: string; path: string; message: string }[];
}
"#;

/// The end of the module: types that depend on the statement.
pub(super) const TAIL: &str = r#"
/** The name of a resource. */
export type ResourceName = keyof Resources;
/** The operations of every resource; `list` and `get` are two names of one. */
export type OperationName = "paginate" | "list" | "get" | "find";
/** A Query Statement for a resource. */
export type Statement<N extends ResourceName> = Resources[N]["statement"];
/** A second statement that narrows the first. */
export type Constraint<N extends ResourceName> = Resources[N]["constraint"];

/** The relations that a statement or a relation node asks for, as its rows show them. */
export type Loaded<N extends ResourceName, S> = S extends { relations: infer L }
  ? { [K in keyof L & keyof Resources[N]["one"]]: Row<Resources[N]["one"][K] & ResourceName, L[K]> | null } & {
      [K in keyof L & keyof Resources[N]["many"]]: Row<Resources[N]["many"][K] & ResourceName, L[K]>[];
    }
  : {};
/** A row as this statement shapes it: `Row<"shop.customer", typeof statement>`. */
export type Row<N extends ResourceName, S = {}> = S extends { aggregation: object } ? Group : Resources[N]["fields"] & Loaded<N, S>;
/** The answer of an operation to this statement. */
export type Answer<N extends ResourceName, O extends OperationName, S = {}> = O extends "paginate"
  ? Page<Row<N, S>>
  : O extends "find"
    ? Row<N, S>
    : Row<N, S>[];
"#;

/// The operators, one interface for each set of them.
pub(super) fn operators() -> String {
    let mut out = String::new();
    let sets = [
        ("EqualityOperators<T>", "bool", Type::One(Scalar::Bool)),
        ("ComparisonOperators<T>", "numbers, uuid, date, time and timestamp", Type::One(Scalar::Int)),
        ("TextOperators<T extends string>", "text and enum", Type::One(Scalar::Text)),
        ("JsonOperators<T>", "json", Type::One(Scalar::Json)),
        ("ElementOperators<T>", "arrays", Type::Array(Scalar::Text)),
    ];
    for (name, goes_with, kind) in sets {
        // Writing to a String cannot fail.
        _ = writeln!(out, "/** Operators of {goes_with}; several are ANDed. */\nexport interface {name} {{");
        for operator in kind.operators() {
            let takes = match operator {
                "in" | "notIn" => "readonly (T | null)[]",
                "between" => "readonly [T | null, T | null]",
                "isNull" => "boolean",
                "iLike" => "string",
                "contains" | "overlap" => "T | null | readonly (T | null)[]",
                _ => "T | null",
            };
            _ = writeln!(out, "  {operator}?: {takes};");
        }
        out.push_str("}\n");
    }
    out
}

/// The operators that go with a type, for values of the type named.
pub(super) fn operators_of(kind: &Type, values: &str) -> String {
    let set = match kind {
        Type::Array(_) => "ElementOperators",
        Type::One(Scalar::Bool) => "EqualityOperators",
        Type::One(Scalar::Text | Scalar::Enum(_)) => "TextOperators",
        Type::One(Scalar::Json) => "JsonOperators",
        Type::One(_) => "ComparisonOperators",
    };
    format!("{set}<{values}>")
}
