//! One value in PostgreSQL's binary form → JSON bytes.

use std::sync::Once;

use query::catalog::Mask;
use query::plan::Show;
use query::types::Scalar;
use tokio_postgres::types::Type;

use crate::encode;

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

/// What the bytes of a column are, and what is written for them.
#[derive(Clone, Copy)]
pub(super) enum Wire {
    Bool,
    Integer,
    /// 64 bits, of which those that fit 32 are values.
    WideInteger,
    Single,
    Double,
    Decimal,
    Text,
    Masked(Mask),
    Uuid,
    Date,
    Time,
    Timestamp,
    Json,
    Jsonb,
}

impl Wire {
    /// How values of this type are read for this field type; nothing where they cannot be. At boot they could; but a column may be given another
    /// type while the server runs, and a replica may have another than the primary. Bytes of one type read as another would be values that
    /// nobody stored, or no JSON at all.
    pub(super) fn of(scalar: &Scalar, kind: &Type, show: Show) -> Option<Self> {
        let wire = match scalar {
            Scalar::Bool if *kind == Type::BOOL => Wire::Bool,
            Scalar::Int if *kind == Type::INT8 => Wire::WideInteger,
            Scalar::Int | Scalar::BigInt if matches!(*kind, Type::INT8 | Type::INT4 | Type::INT2) => Wire::Integer,
            Scalar::Float if *kind == Type::FLOAT4 => Wire::Single,
            Scalar::Float if *kind == Type::FLOAT8 => Wire::Double,
            Scalar::Decimal if *kind == Type::NUMERIC => Wire::Decimal,
            Scalar::Text | Scalar::Enum(_) if matches!(*kind, Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME) => match show {
                Show::Plain => Wire::Text,
                Show::Masked(mask) => Wire::Masked(mask),
            },
            Scalar::Uuid if *kind == Type::UUID => Wire::Uuid,
            Scalar::Date if *kind == Type::DATE => Wire::Date,
            Scalar::Time if *kind == Type::TIME => Wire::Time,
            Scalar::Timestamp if matches!(*kind, Type::TIMESTAMPTZ | Type::TIMESTAMP) => Wire::Timestamp,
            Scalar::Json if *kind == Type::JSON => Wire::Json,
            Scalar::Json if *kind == Type::JSONB => Wire::Jsonb,
            _ => return unlike(kind),
        };
        Some(wire)
    }

    /// Writes a value; nothing is written when it has no JSON form.
    #[expect(clippy::inline_always, reason = "called for each value of an answer")]
    #[inline(always)]
    pub(super) fn write(self, out: &mut Vec<u8>, raw: &[u8]) -> Option<()> {
        match self {
            Wire::Bool => encode::boolean(out, *raw.first()? != 0),
            Wire::Integer => encode::integer(out, whole(raw)?),
            Wire::WideInteger => encode::integer(out, i32::try_from(whole(raw)?).ok()?.into()),
            Wire::Single => encode::single(out, f32::from_be_bytes(raw.try_into().ok()?)),
            Wire::Double => encode::float(out, f64::from_be_bytes(raw.try_into().ok()?)),
            Wire::Decimal => {
                out.push(b'"');
                if numeric::append(out, raw).is_none() {
                    out.pop();
                    return None;
                }
                out.push(b'"');
            }
            Wire::Text => encode::utf8(out, raw, Show::Plain)?,
            Wire::Masked(mask) => encode::utf8(out, raw, Show::Masked(mask))?,
            Wire::Uuid => encode::uuid(out, raw.try_into().ok()?),
            Wire::Date => {
                let days = i32::from_be_bytes(raw.try_into().ok()?);
                // The ends of the range are PostgreSQL's infinities.
                if days == i32::MAX || days == i32::MIN {
                    return None;
                }
                encode::date(out, i64::from(days) + i64::from(EPOCH_DAYS));
            }
            Wire::Time => encode::time(out, i64::from_be_bytes(raw.try_into().ok()?)),
            Wire::Timestamp => {
                let micros = i64::from_be_bytes(raw.try_into().ok()?);
                if micros == i64::MAX || micros == i64::MIN {
                    return None;
                }
                encode::timestamp(out, micros.checked_add(EPOCH_MICROS)?);
            }
            Wire::Json => encode::json(out, raw),
            // It begins with a version byte, and is written on one line.
            Wire::Jsonb => out.extend_from_slice(raw.get(1..)?),
        }
        Some(())
    }
}

/// An integer of any of the three sizes.
pub(super) fn whole(raw: &[u8]) -> Option<i64> {
    Some(match raw.len() {
        2 => i64::from(i16::from_be_bytes(raw.try_into().ok()?)),
        4 => i64::from(i32::from_be_bytes(raw.try_into().ok()?)),
        8 => i64::from_be_bytes(raw.try_into().ok()?),
        _ => return None,
    })
}

/// Says, once, that a column is not what it was; its values read as null.
pub(super) fn unlike<T>(kind: &Type) -> Option<T> {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        let message = "a column has another type than at the start, and reads as null; run `peristyle check`, and start again";
        tracing::error!(found = kind.name(), "{message}");
    });
    None
}
