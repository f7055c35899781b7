//! Encodes one value in PostgreSQL's binary form as JSON.

use std::sync::Once;

use query::catalog::Mask;
use query::plan::Show;
use query::types::Scalar;
use tokio_postgres::types::Type;

use crate::json_encoder;

use super::{EPOCH_DAYS, EPOCH_MICROS, numeric};

#[derive(Clone, Copy)]
pub(super) enum Wire {
    Bool,
    Integer,
    /// 64 bits for a field of 32; larger values are invalid.
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
    /// None if the field cannot read this type: a column may change its type while the server runs, and a read replica may differ.
    pub(super) fn of(scalar: &Scalar, kind: &Type, show: Show) -> Option<Self> {
        let wire = match scalar {
            Scalar::Bool if *kind == Type::BOOL => Wire::Bool,
            Scalar::Int if *kind == Type::INT8 => Wire::WideInteger,
            Scalar::Int | Scalar::BigInt if matches!(*kind, Type::INT8 | Type::INT4 | Type::INT2) => Wire::Integer,
            Scalar::Float if *kind == Type::FLOAT4 => Wire::Single,
            Scalar::Float if *kind == Type::FLOAT8 => Wire::Double,
            Scalar::Decimal if *kind == Type::NUMERIC => Wire::Decimal,
            Scalar::Text | Scalar::ReadAsText | Scalar::Enum(_)
                if matches!(*kind, Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME) =>
            {
                match show {
                    Show::Plain => Wire::Text,
                    Show::Masked(mask) => Wire::Masked(mask),
                }
            }
            Scalar::Uuid if *kind == Type::UUID => Wire::Uuid,
            Scalar::Date if *kind == Type::DATE => Wire::Date,
            Scalar::Time if *kind == Type::TIME => Wire::Time,
            Scalar::Timestamp if matches!(*kind, Type::TIMESTAMPTZ | Type::TIMESTAMP) => Wire::Timestamp,
            Scalar::Json if *kind == Type::JSON => Wire::Json,
            Scalar::Json if *kind == Type::JSONB => Wire::Jsonb,
            _ => return changed_type(kind),
        };
        Some(wire)
    }

    #[expect(clippy::inline_always, reason = "called for each value of an answer")]
    #[inline(always)]
    pub(super) fn write(self, out: &mut Vec<u8>, raw: &[u8]) -> Option<()> {
        match self {
            Wire::Bool => json_encoder::boolean(out, *raw.first()? != 0),
            Wire::Integer => json_encoder::integer(out, whole(raw)?),
            Wire::WideInteger => json_encoder::integer(out, i32::try_from(whole(raw)?).ok()?.into()),
            Wire::Single => json_encoder::single(out, f32::from_be_bytes(raw.try_into().ok()?)),
            Wire::Double => json_encoder::float(out, f64::from_be_bytes(raw.try_into().ok()?)),
            Wire::Decimal => json_encoder::quoted_by(out, |out| numeric::append(out, raw)),
            Wire::Text => json_encoder::utf8(out, raw, Show::Plain)?,
            Wire::Masked(mask) => json_encoder::utf8(out, raw, Show::Masked(mask))?,
            Wire::Uuid => json_encoder::uuid(out, raw.try_into().ok()?),
            Wire::Date => {
                let days = i32::from_be_bytes(raw.try_into().ok()?);
                // The ends of the range are PostgreSQL's infinities.
                if days == i32::MAX || days == i32::MIN {
                    return None;
                }
                json_encoder::date(out, i64::from(days) + i64::from(EPOCH_DAYS));
            }
            Wire::Time => json_encoder::time(out, i64::from_be_bytes(raw.try_into().ok()?)),
            Wire::Timestamp => {
                let micros = i64::from_be_bytes(raw.try_into().ok()?);
                if micros == i64::MAX || micros == i64::MIN {
                    return None;
                }
                json_encoder::timestamp(out, micros.checked_add(EPOCH_MICROS)?);
            }
            Wire::Json => json_encoder::json(out, raw),
            // It begins with a version byte, and has no line breaks.
            Wire::Jsonb => out.extend_from_slice(raw.get(1..)?),
        }
        Some(())
    }
}

pub(super) fn whole(raw: &[u8]) -> Option<i64> {
    Some(match raw.len() {
        2 => i64::from(i16::from_be_bytes(raw.try_into().ok()?)),
        4 => i64::from(i32::from_be_bytes(raw.try_into().ok()?)),
        8 => i64::from_be_bytes(raw.try_into().ok()?),
        _ => return None,
    })
}

/// Logs once that a column has another type now; its values read as null.
pub(super) fn changed_type<T>(kind: &Type) -> Option<T> {
    static LOGGED: Once = Once::new();
    LOGGED.call_once(|| {
        let message = "a column has another type than at the start, and reads as null; run `peristyle check` and restart";
        tracing::error!(found = kind.name(), "{message}");
    });
    None
}
