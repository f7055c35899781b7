//! Writes PostgreSQL's binary columns as JSON bytes.

use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Error, Row};

type Fault = Box<dyn std::error::Error + Sync + Send>;

/// The bytes of a column, whatever its type. Every column of the shop is NOT NULL.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Fault> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn raw(row: &Row, column: usize) -> Result<&[u8], Error> {
    Ok(row.try_get::<_, Raw<'_>>(column)?.0)
}

/// `id, name, email, country, tags, profile, created_at, active`
pub(crate) fn customer(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(0)?);
    out.extend_from_slice(b",\"name\":");
    text(out, raw(row, 1)?);
    out.extend_from_slice(b",\"email\":");
    text(out, raw(row, 2)?);
    out.extend_from_slice(b",\"country\":");
    text(out, raw(row, 3)?);
    out.extend_from_slice(b",\"tags\":");
    texts(out, raw(row, 4)?);
    out.extend_from_slice(b",\"profile\":");
    // jsonb begins with a version byte.
    out.extend_from_slice(raw(row, 5)?.get(1..).unwrap_or(b"null"));
    out.extend_from_slice(b",\"createdAt\":");
    timestamp(out, number(raw(row, 6)?));
    out.extend_from_slice(if raw(row, 7)? == [0] { b",\"active\":false" } else { b",\"active\":true" });
    Ok(())
}

/// `n, id, customer_id, status, total, placed_at`
pub(crate) fn order(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(1)?);
    out.extend_from_slice(b",\"customerId\":");
    integer(out, row.try_get(2)?);
    out.extend_from_slice(b",\"status\":");
    text(out, raw(row, 3)?);
    out.extend_from_slice(b",\"total\":");
    decimal(out, raw(row, 4)?);
    out.extend_from_slice(b",\"placedAt\":");
    timestamp(out, number(raw(row, 5)?));
    Ok(())
}

/// `id, number, customer_id, status, total, placed_at`
pub(crate) fn written_order(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(0)?);
    out.extend_from_slice(b",\"number\":");
    text(out, raw(row, 1)?);
    out.extend_from_slice(b",\"customerId\":");
    integer(out, row.try_get(2)?);
    out.extend_from_slice(b",\"status\":");
    text(out, raw(row, 3)?);
    out.extend_from_slice(b",\"total\":");
    decimal(out, raw(row, 4)?);
    out.extend_from_slice(b",\"placedAt\":");
    timestamp(out, number(raw(row, 5)?));
    out.push(b'}');
    Ok(())
}

/// `n, id, order_id, product_id, qty, price`
pub(crate) fn item(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(1)?);
    out.extend_from_slice(b",\"orderId\":");
    integer(out, row.try_get(2)?);
    out.extend_from_slice(b",\"productId\":");
    integer(out, row.try_get(3)?);
    out.extend_from_slice(b",\"qty\":");
    integer(out, i64::from(row.try_get::<_, i32>(4)?));
    out.extend_from_slice(b",\"price\":");
    decimal(out, raw(row, 5)?);
    Ok(())
}

/// `n, id, name, category, price`
pub(crate) fn product(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(1)?);
    out.extend_from_slice(b",\"name\":");
    text(out, raw(row, 2)?);
    out.extend_from_slice(b",\"category\":");
    text(out, raw(row, 3)?);
    out.extend_from_slice(b",\"price\":");
    decimal(out, raw(row, 4)?);
    Ok(())
}

/// `status, count, sum`
pub(crate) fn status(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"status\":");
    text(out, raw(row, 0)?);
    out.extend_from_slice(b",\"n\":");
    integer(out, row.try_get(1)?);
    out.extend_from_slice(b",\"total\":");
    decimal(out, raw(row, 2)?);
    Ok(())
}

/// `id, name, count, count`
pub(crate) fn counted_customer(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(0)?);
    out.extend_from_slice(b",\"name\":");
    text(out, raw(row, 1)?);
    out.extend_from_slice(b",\"orderCount\":");
    integer(out, row.try_get(2)?);
    out.extend_from_slice(b",\"paidCount\":");
    integer(out, row.try_get(3)?);
    Ok(())
}

/// `id, name, sum`
pub(crate) fn best_customer(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"id\":");
    integer(out, row.try_get(0)?);
    out.extend_from_slice(b",\"name\":");
    text(out, raw(row, 1)?);
    out.extend_from_slice(b",\"revenue\":");
    decimal(out, raw(row, 2)?);
    Ok(())
}

/// `month, count, sum`
pub(crate) fn month(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    out.extend_from_slice(b"{\"placedMonth\":");
    timestamp(out, number(raw(row, 0)?));
    out.extend_from_slice(b",\"n\":");
    integer(out, row.try_get(1)?);
    out.extend_from_slice(b",\"total\":");
    decimal(out, raw(row, 2)?);
    Ok(())
}

/// Microseconds since 2000.
pub(crate) fn instant(row: &Row, column: usize) -> Result<i64, Error> {
    Ok(number(raw(row, column)?))
}

/// The statement that continues after an order.
pub(crate) fn next_orders(out: &mut Vec<u8>, id: i64, micros: i64) {
    out.extend_from_slice(b"{\"where\":{\"and\":[{\"or\":[{\"and\":[{\"placedAt\":{\"eq\":");
    timestamp(out, micros);
    out.extend_from_slice(b"}},{\"id\":{\"gt\":\"");
    integer(out, id);
    out.extend_from_slice(b"\"}}]},{\"placedAt\":{\"gt\":");
    timestamp(out, micros);
    out.extend_from_slice(b"}}]}]},\"order\":[{\"field\":\"placedAt\",\"dir\":\"asc\"}],\"limit\":20}");
}

/// Closes an array, and removes the comma after its last element.
pub(crate) fn close(out: &mut Vec<u8>) {
    match out.last_mut() {
        Some(last) if *last == b',' => *last = b']',
        _ => out.push(b']'),
    }
}

pub(crate) fn integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn number(raw: &[u8]) -> i64 {
    raw.iter().fold(0, |number, byte| number << 8 | i64::from(*byte))
}

fn text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let mut clean = 0;
    for (index, byte) in text.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[clean..index]);
        clean = index + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&text[clean..]);
    out.push(b'"');
}

/// Writes a `text[]` of one dimension: a header of five words, then each element after its length.
fn texts(out: &mut Vec<u8>, raw: &[u8]) {
    out.push(b'[');
    let mut rest = raw.get(20..).unwrap_or_default();
    while let Some((length, elements)) = rest.split_at_checked(4) {
        let (element, others) = elements.split_at_checked(number(length) as usize).unwrap_or_default();
        text(out, element);
        out.push(b',');
        rest = others;
    }
    close(out);
}

/// Writes a `numeric`: the number of groups of four digits, the weight of the first, sign, scale, and the groups.
fn decimal(out: &mut Vec<u8>, raw: &[u8]) {
    let word = |index: usize| raw.get(index * 2..index * 2 + 2).map_or(0, |word| i32::from(i16::from_be_bytes([word[0], word[1]])));
    let (count, weight, sign, scale) = (word(0), word(1), word(2), word(3) as usize);
    let group = |place: i32| if (0..count).contains(&place) { word(4 + place as usize) } else { 0 };
    out.extend_from_slice(if sign == 0 { b"\"" } else { b"\"-" });
    if weight < 0 {
        out.push(b'0');
    } else {
        integer(out, i64::from(group(0)));
        for place in 1..=weight {
            padded(out, group(place), 4);
        }
    }
    if scale > 0 {
        out.push(b'.');
        let end = out.len() + scale;
        // Zeros come before the first stored group.
        let mut place = weight + 1;
        while out.len() < end {
            padded(out, group(place), 4);
            place += 1;
        }
        out.truncate(end);
    }
    out.push(b'"');
}

fn padded(out: &mut Vec<u8>, number: i32, width: usize) {
    let mut digits = [b'0'; 4];
    let mut rest = number;
    for digit in digits[..width].iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[..width]);
}

/// Writes microseconds since 2000 as RFC 3339 in UTC, by Howard Hinnant's civil calendar.
fn timestamp(out: &mut Vec<u8>, micros: i64) {
    const DAY: i64 = 86_400_000_000;
    let shifted = micros.div_euclid(DAY) + 10_957 + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, fraction) = (micros.rem_euclid(DAY) / 1_000_000, micros.rem_euclid(1_000_000));
    out.push(b'"');
    padded(out, year as i32, 4);
    for (before, number) in [(b'-', month), (b'-', day), (b'T', seconds / 3_600), (b':', seconds / 60 % 60), (b':', seconds % 60)] {
        out.push(before);
        padded(out, number as i32, 2);
    }
    if fraction > 0 {
        let text = format!(".{fraction:06}");
        out.extend_from_slice(text.trim_end_matches('0').as_bytes());
    }
    out.extend_from_slice(b"Z\"");
}

#[cfg(test)]
mod tests {
    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn decimals_keep_their_scale() {
        let raw = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        for (words, expected) in [
            (&[2, 0, 0, 2, 12, 5000][..], "\"12.50\""),
            (&[2, 1, 0, 2, 12, 34], "\"120034.00\""),
            (&[1, -1, 0, 2, 700], "\"0.07\""),
            (&[1, -2, 0, 6, 1200], "\"0.000012\""),
            (&[0, 0, 0, 2], "\"0.00\""),
            (&[1, 1, 0x4000, 0, 3], "\"-30000\""),
        ] {
            assert_eq!(written(|out| super::decimal(out, &raw(words))), expected);
        }
    }

    #[test]
    fn instants_are_in_utc() {
        assert_eq!(written(|out| super::timestamp(out, 0)), "\"2000-01-01T00:00:00Z\"");
        assert_eq!(written(|out| super::timestamp(out, 762_523_200_000_000 + 1_500_000)), "\"2024-02-29T12:00:01.5Z\"");
    }

    #[test]
    fn texts_are_escaped() {
        assert_eq!(written(|out| super::text(out, b"a\"b\\\n\x01")), "\"a\\\"b\\\\\\n\\u0001\"");
    }
}
