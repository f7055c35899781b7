//! Dates, times and timestamps as counts of days and microseconds: parsing and writing.

const MICROS_A_DAY: i64 = 86_400_000_000;

/// Days since 1970-01-01 of a proleptic Gregorian date (Howard Hinnant's algorithm).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date of a day count, for the years 0001 to 9999.
fn civil(days: i64) -> Option<(u32, u32, u32)> {
    let shifted = u32::try_from(days.checked_add(719_468)?).ok()?;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    let year = year_of_era + era * 400 + u32::from(month <= 2);
    (1..=9999).contains(&year).then_some((year, month, day))
}

fn digits(bytes: &[u8], range: std::ops::Range<usize>) -> Option<i64> {
    let mut number = 0;
    for byte in bytes.get(range)? {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(number)
}

/// Parses `YYYY-MM-DD`, years 0001 to 9999.
pub fn date(text: &str) -> Option<i32> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) = (digits(bytes, 0..4)?, digits(bytes, 5..7)?, digits(bytes, 8..10)?);
    if year < 1 || !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let count = days(year, month, day);
    // February 30 would come back as a day in March.
    (civil(count) == Some((year as u32, month as u32, day as u32))).then_some(count as i32)
}

/// Parses `HH:MM:SS[.f]` with up to nine fraction digits, rounded to the microsecond. Returns microseconds and the length read.
fn clock(bytes: &[u8]) -> Option<(i64, usize)> {
    if bytes.len() < 8 || bytes[2] != b':' || bytes[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (digits(bytes, 0..2)?, digits(bytes, 3..5)?, digits(bytes, 6..8)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = ((hour * 60 + minute) * 60 + second) * 1_000_000;
    let mut read = 8;
    if bytes.get(8) == Some(&b'.') {
        let count = bytes[9..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 || count > 9 {
            return None;
        }
        let nanos = digits(bytes, 9..9 + count)? * 10_i64.pow(9 - count as u32);
        micros += (nanos + 500) / 1_000;
        read = 9 + count;
    }
    Some((micros, read))
}

/// Parses `HH:MM:SS[.ffffff]`.
pub fn time(text: &str) -> Option<i64> {
    let (micros, read) = clock(text.as_bytes())?;
    (read == text.len() && text.len() <= 15).then_some(micros)
}

/// Parses RFC 3339; no offset means UTC, and a plain date means midnight UTC.
pub fn timestamp(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if !text.is_ascii() || bytes.len() < 10 {
        return None;
    }
    let day = i64::from(date(&text[..10])?);
    if bytes.len() == 10 {
        return Some(day * MICROS_A_DAY);
    }
    if !matches!(bytes[10], b'T' | b't' | b' ') {
        return None;
    }
    let (micros, read) = clock(&bytes[11..])?;
    let offset = match &bytes[11 + read..] {
        b"" | b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let (hours, minutes) = match rest.len() {
                5 if rest[2] == b':' => (digits(rest, 0..2)?, digits(rest, 3..5)?),
                4 => (digits(rest, 0..2)?, digits(rest, 2..4)?),
                2 => (digits(rest, 0..2)?, 0),
                _ => return None,
            };
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = (hours * 60 + minutes) * 60;
            if *sign == b'-' { -seconds } else { seconds }
        }
        _ => return None,
    };
    let instant = day * MICROS_A_DAY + micros - offset * 1_000_000;
    // The offset can move the timestamp out of the years that can be written.
    civil(instant.div_euclid(MICROS_A_DAY)).map(|_| instant)
}

/// Appends `YYYY-MM-DD`. Returns `None` and appends nothing if the year is outside 0001 to 9999.
pub fn write_date(out: &mut Vec<u8>, days: i64) -> Option<()> {
    let (year, month, day) = civil(days)?;
    let (century, year, month, day) = (two_digits(year / 100), two_digits(year % 100), two_digits(month), two_digits(day));
    out.extend_from_slice(&[century[0], century[1], year[0], year[1], b'-', month[0], month[1], b'-', day[0], day[1]]);
    Some(())
}

/// Appends `HH:MM:SS[.f]`, the fraction without trailing zeros.
pub fn write_time(out: &mut Vec<u8>, micros: i64) {
    write_seconds(out, micros);
    if micros % 1_000_000 != 0 {
        write_fraction(out, micros);
        while out.ends_with(b"0") {
            out.pop();
        }
    }
}

/// Appends RFC 3339 in UTC, the fraction without trailing zeros. Returns `None` and appends nothing if the year is outside 0001 to 9999.
pub fn write_timestamp(out: &mut Vec<u8>, micros: i64) -> Option<()> {
    write_date(out, micros.div_euclid(MICROS_A_DAY))?;
    out.push(b'T');
    write_time(out, micros.rem_euclid(MICROS_A_DAY));
    out.push(b'Z');
    Some(())
}

/// `HH:MM:SS` of microseconds since midnight.
fn write_seconds(out: &mut Vec<u8>, micros: i64) {
    let seconds = (micros / 1_000_000) as u32;
    let (hour, minute, second) = (two_digits(seconds / 3_600), two_digits(seconds / 60 % 60), two_digits(seconds % 60));
    out.extend_from_slice(&[hour[0], hour[1], b':', minute[0], minute[1], b':', second[0], second[1]]);
}

/// `.ffffff`
fn write_fraction(out: &mut Vec<u8>, micros: i64) {
    let micros = (micros % 1_000_000) as u32;
    let (first, middle, last) = (two_digits(micros / 10_000), two_digits(micros / 100 % 100), two_digits(micros % 100));
    out.extend_from_slice(&[b'.', first[0], first[1], middle[0], middle[1], last[0], last[1]]);
}

fn two_digits(number: u32) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// `YYYY-MM-DD`; see [`write_date`].
pub fn date_text(days: i64) -> Option<String> {
    let mut out = Vec::new();
    write_date(&mut out, days)?;
    Some(super::ascii(out))
}

/// `HH:MM:SS[.f]`; see [`write_time`].
pub fn time_text(micros: i64) -> String {
    let mut out = Vec::new();
    write_time(&mut out, micros);
    super::ascii(out)
}

/// RFC 3339 in UTC; see [`write_timestamp`].
pub fn timestamp_text(micros: i64) -> Option<String> {
    let mut out = Vec::new();
    write_timestamp(&mut out, micros)?;
    Some(super::ascii(out))
}

/// The form that SQLite files store: always six fraction digits, so that strings sort as timestamps.
pub fn timestamp_fixed_text(micros: i64) -> String {
    let mut out = Vec::new();
    // A checked value has a year of four digits.
    _ = write_date(&mut out, micros.div_euclid(MICROS_A_DAY));
    out.push(b'T');
    let of_day = micros.rem_euclid(MICROS_A_DAY);
    write_seconds(&mut out, of_day);
    write_fraction(&mut out, of_day);
    out.push(b'Z');
    super::ascii(out)
}
