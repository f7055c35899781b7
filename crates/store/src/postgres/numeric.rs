//! PostgreSQL's binary `numeric`: groups of four decimal digits, a weight and a scale.

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;

fn field(raw: &[u8], index: usize) -> Option<u16> {
    let start = index.checked_mul(2)?;
    Some(u16::from_be_bytes(raw.get(start..start.checked_add(2)?)?.try_into().ok()?))
}

/// The number as stored, its scale kept; nothing for NaN and the infinities.
pub(super) fn text(raw: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(raw.len() * 2);
    append(&mut out, raw)?;
    String::from_utf8(out).ok()
}

/// Appends the same to bytes that are being written.
pub(super) fn append(out: &mut Vec<u8>, raw: &[u8]) -> Option<()> {
    let count = usize::from(field(raw, 0)?);
    let weight = i32::from(field(raw, 1)? as i16);
    let sign = field(raw, 2)?;
    let scale = usize::from(field(raw, 3)?);
    if sign != POSITIVE && sign != NEGATIVE {
        return None;
    }
    let groups = raw.get(8..8 + count * 2)?;
    let group = |position: i32| -> u16 {
        // Groups before the first and after the last are zero.
        let index = usize::try_from(weight - position).unwrap_or(usize::MAX);
        field(groups, index).unwrap_or(0)
    };
    if sign == NEGATIVE {
        out.push(b'-');
    }
    if weight < 0 {
        out.push(b'0');
    }
    for position in (0..=weight).rev() {
        push_group(out, group(position), position == weight);
    }
    if scale > 0 {
        out.push(b'.');
        let start = out.len();
        let mut position = -1;
        while out.len() - start < scale {
            push_group(out, group(position), false);
            position -= 1;
        }
        out.truncate(start + scale);
    }
    Some(())
}

fn push_group(out: &mut Vec<u8>, group: u16, first: bool) {
    if first {
        out.extend_from_slice(itoa::Buffer::new().format(group).as_bytes());
        return;
    }
    out.extend_from_slice(&[1000, 100, 10, 1].map(|divisor| b'0' + (group / divisor % 10) as u8));
}

/// Appends a plain decimal text (`-12.50`) in binary form.
pub(super) fn write(out: &mut Vec<u8>, text: &str) {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    // Both sides are filled up to whole groups of four.
    let lead = (4 - whole.len() % 4) % 4;
    let trail = (4 - fraction.len() % 4) % 4;
    let digits: Vec<u8> =
        std::iter::repeat_n(b'0', lead).chain(whole.bytes()).chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', trail)).collect();
    let mut groups: Vec<u16> =
        digits.chunks(4).map(|group| group.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'))).collect();
    let mut weight = ((whole.len() + lead) / 4) as i32 - 1;
    let leading = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..leading);
    weight -= leading as i32;
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    let sign = if negative && !groups.is_empty() { NEGATIVE } else { POSITIVE };
    for header in [groups.len() as u16, weight as i16 as u16, sign, fraction.len() as u16] {
        out.extend_from_slice(&header.to_be_bytes());
    }
    for group in groups {
        out.extend_from_slice(&group.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_decimal_comes_back_as_it_was() {
        for text in [
            "0",
            "0.00",
            "1",
            "-1",
            "12.50",
            "10000",
            "100000000",
            "0.0001",
            "0.00001",
            "-0.5",
            "99999999999999999999.123456789",
            "1000000000000.00000000001",
        ] {
            let mut raw = Vec::new();
            super::write(&mut raw, text);
            assert_eq!(super::text(&raw).as_deref(), Some(text));
        }
    }
}
