//! The operators of other query languages, and ours that do the same: for the message about an unknown operator.

use crate::statement::{Comparison, Operator};
use crate::types::Type;

/// One of our operators, and how to write it if its name is not enough.
type Ours = (Operator, Option<&'static str>);

const PREFIX: Option<&str> = Some(r#"with a pattern such as "abc%""#);
const SUFFIX: Option<&str> = Some(r#"with a pattern such as "%abc""#);
const PART: Option<&str> = Some(r#"with a pattern such as "%abc%""#);
const NEGATED: Option<&str> = Some("under `not`");
const REVERSED: Option<&str> = Some("with the opposite value");

/// What to use instead of an operator of another language on a field of this type.
pub(super) fn hint(name: &str, kind: &Type) -> Option<String> {
    let (operator, manner) = ours(name).iter().find(|(operator, _)| kind.admits(*operator))?;
    let manner = manner.map_or_else(String::new, |manner| format!(" {manner}"));
    Some(format!(" (did you mean `{}`{manner}?)", operator.as_str()))
}

/// The operators of ours that do what another language's operator does, the first that fits the field counts. Hasura writes `_eq`,
/// Mongo `$eq`, Sequelize `[Op.eq]`, Aurora `[eq]`, PostgREST `neq`, Prisma `equals` and `startsWith`, Django `icontains`.
fn ours(name: &str) -> &'static [Ours] {
    // No known name is this long.
    if name.len() > 32 {
        return &[];
    }
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_prefix("Op.").unwrap_or(bare);
    let plain: String = bare.chars().filter(|letter| !matches!(letter, '_' | '-' | '$' | '@')).collect::<String>().to_ascii_lowercase();
    match plain.as_str() {
        "=" | "==" | "===" | "eq" | "equals" | "equal" | "equalto" | "exact" => &[(Operator::Compare(Comparison::Eq), None)],
        "!=" | "!==" | "<>" | "ne" | "neq" | "notequal" | "notequals" | "noteq" => &[(Operator::Compare(Comparison::Ne), None)],
        ">" | "gt" | "greaterthan" | "after" => &[(Operator::Compare(Comparison::Gt), None)],
        ">=" | "gte" | "ge" | "greaterthanorequal" | "greaterthanorequalto" => &[(Operator::Compare(Comparison::Gte), None)],
        "<" | "lt" | "lessthan" | "before" => &[(Operator::Compare(Comparison::Lt), None)],
        "<=" | "lte" | "le" | "lessthanorequal" | "lessthanorequalto" => &[(Operator::Compare(Comparison::Lte), None)],
        "in" | "oneof" | "isin" => &[(Operator::In, None)],
        "nin" | "notin" | "noneof" | "notoneof" => &[(Operator::NotIn, None)],
        "between" | "range" => &[(Operator::Between, None)],
        "null" | "is" | "isnot" | "isnull" | "isnil" => &[(Operator::IsNull, None)],
        "exists" | "isnotnull" | "notnull" => &[(Operator::IsNull, REVERSED)],
        "startswith" | "istartswith" | "beginswith" | "prefix" => &[(Operator::ILike, PREFIX)],
        "endswith" | "iendswith" | "suffix" => &[(Operator::ILike, SUFFIX)],
        "like" | "ilike" => &[(Operator::ILike, None)],
        "match" | "matches" | "regex" | "iregex" | "regexp" | "similar" | "search" | "substring" | "icontains" => {
            &[(Operator::ILike, PART)]
        }
        "notlike" | "nlike" | "notilike" | "nilike" | "notregexp" | "notiregexp" | "notcontains" => &[(Operator::ILike, NEGATED)],
        "contains" | "includes" | "has" => &[(Operator::Contains, None), (Operator::ILike, PART)],
        "hasevery" | "containsall" | "all" | "cs" => &[(Operator::Contains, None)],
        "hassome" | "overlap" | "overlaps" | "containsany" | "anyof" | "any" | "ov" => &[(Operator::Overlap, None)],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scalar;

    #[test]
    fn an_operator_of_another_language_names_ours() {
        // contract Q3.1
        let hint_on = |kind: &Type, name: &str| hint(name, kind).unwrap_or_default();
        let text = Type::One(Scalar::Text);
        for (name, expected) in [
            ("startsWith", " (did you mean `iLike` with a pattern such as \"abc%\"?)"),
            ("starts_with", " (did you mean `iLike` with a pattern such as \"abc%\"?)"),
            ("endsWith", " (did you mean `iLike` with a pattern such as \"%abc\"?)"),
            ("contains", " (did you mean `iLike` with a pattern such as \"%abc%\"?)"),
            ("search", " (did you mean `iLike` with a pattern such as \"%abc%\"?)"),
            ("_ilike", " (did you mean `iLike`?)"),
            ("_eq", " (did you mean `eq`?)"),
            ("$ne", " (did you mean `ne`?)"),
            ("equals", " (did you mean `eq`?)"),
            ("_is_null", " (did you mean `isNull`?)"),
            ("not_in", " (did you mean `notIn`?)"),
            ("[startsWith]", " (did you mean `iLike` with a pattern such as \"abc%\"?)"),
            ("[Op.like]", " (did you mean `iLike`?)"),
            ("Op.gte", " (did you mean `gte`?)"),
            ("[Op.notLike]", " (did you mean `iLike` under `not`?)"),
            ("$exists", " (did you mean `isNull` with the opposite value?)"),
            (">=", " (did you mean `gte`?)"),
        ] {
            assert_eq!(hint_on(&text, name), expected, "{name}");
        }
        assert_eq!(hint_on(&Type::Array(Scalar::Text), "hasSome"), " (did you mean `overlap`?)");
        assert_eq!(hint_on(&Type::Array(Scalar::Text), "includes"), " (did you mean `contains`?)");
        assert_eq!(hint("startsWith", &Type::One(Scalar::Int)), None, "iLike does not fit a number");
        assert_eq!(hint("frobnicate", &text), None);
    }
}
