//! Dates, times and timestamps as canonical strings that sort chronologically.

/// Whether the string is a real day, `YYYY-MM-DD`.
pub(crate) fn is_date(text: &str) -> bool {
    date(text).is_some()
}

/// `HH:MM:SS[.ffffff]` with all six digits of its fraction.
pub(crate) fn time(text: &str) -> Option<String> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "000000"));
    let numbers = numbers(clock, ':', &[2, 2, 2])?;
    let digits = (1..=6).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let valid = numbers[0] < 24 && numbers[1] < 60 && numbers[2] < 60 && digits;
    valid.then(|| format!("{clock}.{fraction:0<6}"))
}

/// An RFC 3339 timestamp as `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
pub(crate) fn timestamp(text: &str) -> Option<String> {
    let (day, rest) = text.split_once('T')?;
    let mut day = date(day)?;
    if let Some(clock) = rest.strip_suffix('Z') {
        return Some(format!("{}T{}Z", show(day), time(clock)?));
    }
    let sign_at = rest.rfind(['+', '-'])?;
    let (clock, offset) = rest.split_at(sign_at);
    let parts = numbers(&offset[1..], ':', &[2, 2])?;
    if parts[0] >= 24 || parts[1] >= 60 {
        return None;
    }
    let clock = time(clock)?;
    let minutes = parts[0] * 60 + parts[1];
    let ahead = if offset.starts_with('-') { -minutes } else { minutes };
    let local: i64 = clock[0..2].parse::<i64>().ok()? * 60 + clock[3..5].parse::<i64>().ok()?;
    let mut utc = local - ahead;
    if utc < 0 {
        utc += 24 * 60;
        day = previous(day);
    } else if utc >= 24 * 60 {
        utc -= 24 * 60;
        day = next(day);
    }
    Some(format!("{}T{:02}:{:02}{}Z", show(day), utc / 60, utc % 60, &clock[5..]))
}

/// A canonical time without trailing zeros in its fraction.
pub(crate) fn short_time(text: &str) -> String {
    text.trim_end_matches('0').strip_suffix('.').map_or_else(|| text.trim_end_matches('0').to_owned(), str::to_owned)
}

/// A canonical timestamp without trailing zeros in its fraction.
pub(crate) fn short_timestamp(text: &str) -> String {
    format!("{}Z", short_time(text.trim_end_matches('Z')))
}

type Day = (i64, i64, i64);

fn date(text: &str) -> Option<Day> {
    let numbers = numbers(text, '-', &[4, 2, 2])?;
    let (year, month, day) = (numbers[0], numbers[1], numbers[2]);
    let valid = year >= 1 && (1..=12).contains(&month) && day >= 1 && day <= days_in(year, month);
    valid.then_some((year, month, day))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

fn previous((year, month, day): Day) -> Day {
    match (month, day) {
        (1, 1) => (year - 1, 12, 31),
        (_, 1) => (year, month - 1, days_in(year, month - 1)),
        _ => (year, month, day - 1),
    }
}

fn next((year, month, day): Day) -> Day {
    match (month, day) {
        (12, 31) => (year + 1, 1, 1),
        _ if day == days_in(year, month) => (year, month + 1, 1),
        _ => (year, month, day + 1),
    }
}

fn show((year, month, day): Day) -> String {
    format!("{year:04}-{month:02}-{day:02}")
}

/// The numbers between separators, each with a fixed number of digits.
fn numbers(text: &str, separator: char, widths: &[usize]) -> Option<Vec<i64>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let shaped = parts.len() == widths.len()
        && parts.iter().zip(widths).all(|(part, width)| part.len() == *width && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !shaped {
        return None;
    }
    parts.iter().map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_become_utc_with_six_digits() {
        assert_eq!(timestamp("2024-03-01T00:30:00+01:00").as_deref(), Some("2024-02-29T23:30:00.000000Z"));
        assert_eq!(timestamp("2023-12-31T23:30:00.5-01:00").as_deref(), Some("2024-01-01T00:30:00.500000Z"));
        assert_eq!(timestamp("2023-02-29T00:00:00Z"), None);
        assert_eq!(timestamp("yesterday"), None);
        assert_eq!(short_timestamp("2024-01-01T10:00:00.000000Z"), "2024-01-01T10:00:00Z");
        assert_eq!(short_timestamp("2024-01-01T10:00:00.120000Z"), "2024-01-01T10:00:00.12Z");
        assert_eq!(short_time("10:00:00.000000"), "10:00:00");
        assert_eq!(time("24:00:00"), None);
        assert_eq!(time("23:59:59.25").as_deref(), Some("23:59:59.250000"));
    }
}
