//! PostgreSQL's binary `numeric`: groups of four decimal digits, a weight and a scale.

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;

/// The number with its scale; none for NaN and the infinities.
pub(super) fn text(raw: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(raw.len() * 2);
    append(&mut out, raw)?;
    String::from_utf8(out).ok()
}

pub(super) fn append(out: &mut Vec<u8>, raw: &[u8]) -> Option<()> {
    let (fields, _) = raw.as_chunks::<2>();
    let ([count, weight, sign, scale], groups) = fields.split_first_chunk()?;
    let weight = i16::from_be_bytes(*weight);
    let scale = usize::from(u16::from_be_bytes(*scale));
    let groups = groups.get(..usize::from(u16::from_be_bytes(*count)))?;
    match u16::from_be_bytes(*sign) {
        POSITIVE => {}
        NEGATIVE => out.push(b'-'),
        _ => return None,
    }
    // Missing groups are zero.
    let group = |index: i32| usize::try_from(index).ok().and_then(|index| groups.get(index)).map_or(0, |group| u16::from_be_bytes(*group));
    let point = i32::from(weight) + 1;
    if weight < 0 {
        out.push(b'0');
    } else {
        out.extend_from_slice(itoa::Buffer::new().format(group(0)).as_bytes());
        (1..point).for_each(|index| push_group(out, group(index)));
    }
    if scale > 0 {
        out.push(b'.');
        let end = out.len() + scale;
        let mut index = point;
        while out.len() < end {
            push_group(out, group(index));
            index += 1;
        }
        out.truncate(end);
    }
    Some(())
}

fn push_group(out: &mut Vec<u8>, group: u16) {
    let (first, last) = ((group / 100) as u8, (group % 100) as u8);
    out.extend_from_slice(&[b'0' + first / 10, b'0' + first % 10, b'0' + last / 10, b'0' + last % 10]);
}

/// Appends a plain decimal text (`-12.50`) in binary form.
pub(super) fn write(out: &mut Vec<u8>, text: &str) {
    let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    // Both sides are padded to whole groups of four.
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
    fn every_decimal_survives_a_round_trip() {
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
