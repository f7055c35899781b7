//! The header `traceparent` (W3C Trace Context): the trace and the span of the caller.

use axum::http::HeaderMap;

pub(super) type TraceId = [u8; 16];
pub(super) type SpanId = [u8; 8];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceParent {
    pub(super) trace: TraceId,
    pub(super) span: SpanId,
    pub(super) is_sampled: bool,
}

impl TraceParent {
    /// The caller's trace; none if the header is missing, repeated or malformed. A malformed one begins a new trace.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all("traceparent").iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        Self::parse(value.to_str().ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let [version] = hex::<1>(version)?;
        // A later version may add parts; the first one has none.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let (trace, span, [flags]) = (hex::<16>(trace)?, hex::<8>(span)?, hex::<1>(flags)?);
        let is_valid = trace != [0; 16] && span != [0; 8];
        is_valid.then_some(TraceParent { trace, span, is_sampled: flags & 1 == 1 })
    }
}

/// Lower-case digits only, as the specification demands.
fn hex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; LENGTH];
    if text.len() != 2 * LENGTH {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// The same digits as the header has.
pub(super) fn hex_text(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a String cannot fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_names_trace_span_and_sampling() {
        let found = TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").expect("a parent");
        assert_eq!(hex_text(&found.trace), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((hex_text(&found.span).as_str(), found.is_sampled), ("00f067aa0ba902b7", true));
        assert!(TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00").is_some_and(|parent| !parent.is_sampled));
        assert!(TraceParent::parse("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
        for text in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e47é6-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(text), None, "{text}");
        }
    }
}
