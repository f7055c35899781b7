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

/// The first day of the period that a day is in.
pub(crate) fn date_bucket(text: &str, unit: &str) -> String {
    show(first_day(date(text).expect("a date"), unit))
}

/// The start of the period that a canonical timestamp is in, as a canonical timestamp. The only zone is Europe/Berlin, by its rules since
/// 1950 as far as the data needs them: an hour ahead of UTC, and two from the last Sunday of March to the last of October since 1996.
/// Neither change is at midnight, so that every day has one start.
pub(crate) fn bucket(text: &str, unit: &str, zone: Option<&str>) -> String {
    assert!(matches!(zone, None | Some("Europe/Berlin")), "no rules for the zone {zone:?}");
    let day = date(&text[0..10]).expect("a date");
    let hour: i64 = text[11..13].parse().expect("an hour");
    if unit == "hour" {
        return format!("{}T{hour:02}:00:00.000000Z", show(day));
    }
    if zone.is_none() {
        return format!("{}T00:00:00.000000Z", show(first_day(day, unit)));
    }
    let local = if hour + hours_ahead(day, hour) >= 24 { next(day) } else { day };
    // Midnight is at 22 or 23 o'clock of the day before.
    let before = previous(first_day(local, unit));
    let hour = if hours_ahead(before, 23) == 2 { 22 } else { 23 };
    format!("{}T{hour}:00:00.000000Z", show(before))
}

/// How many hours Berlin is ahead at an hour of UTC.
fn hours_ahead(day: Day, hour: i64) -> i64 {
    let (year, ..) = day;
    assert!((1950..1980).contains(&year) || year >= 1996, "no rules for the year {year}");
    let last_sunday = |month| (0..7).fold((year, month, 31), |day, _| if weekday(day) == 6 { day } else { previous(day) });
    let (spring, autumn) = (last_sunday(3), last_sunday(10));
    if year >= 1996 && (day, hour) >= (spring, 1) && (day, hour) < (autumn, 1) { 2 } else { 1 }
}

fn first_day((year, month, day): Day, unit: &str) -> Day {
    match unit {
        "day" => (year, month, day),
        "week" => (0..weekday((year, month, day))).fold((year, month, day), |day, _| previous(day)),
        "month" => (year, month, 1),
        "quarter" => (year, [1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10][usize::try_from(month - 1).expect("a month")], 1),
        "year" => (year, 1, 1),
        other => panic!("no unit {other:?}"),
    }
}

/// The day of the week by Sakamoto's method: 0 is Monday.
fn weekday((year, month, day): Day) -> i64 {
    let shifts = [0, 3, 2, 5, 0, 3, 5, 1, 4, 6, 2, 4];
    let year = if month < 3 { year - 1 } else { year };
    let from_sunday = year + year / 4 - year / 100 + year / 400 + shifts[usize::try_from(month - 1).expect("a month")] + day;
    (from_sunday + 6) % 7
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

    #[test]
    fn periods_start_on_mondays_and_at_midnight_in_berlin() {
        assert_eq!(date_bucket("2024-01-01", "week"), "2024-01-01");
        assert_eq!(date_bucket("2023-12-31", "week"), "2023-12-25");
        assert_eq!(date_bucket("2000-02-29", "quarter"), "2000-01-01");
        for (text, unit, expected) in [
            ("2024-03-31T21:59:59.999999Z", "day", "2024-03-30T23:00:00.000000Z"),
            ("2024-03-31T22:00:00.000000Z", "month", "2024-03-31T22:00:00.000000Z"),
            ("2024-01-31T23:59:59.999999Z", "month", "2024-01-31T23:00:00.000000Z"),
            ("2024-11-02T10:00:00.000000Z", "week", "2024-10-27T23:00:00.000000Z"),
            ("2024-05-02T10:20:30.000001Z", "hour", "2024-05-02T10:00:00.000000Z"),
        ] {
            assert_eq!(bucket(text, unit, Some("Europe/Berlin")), expected, "{text} {unit}");
        }
    }
}
