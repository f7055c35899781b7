//! Parts that messages share: lists of accepted names, and "did you mean".

/// `` `a`, `b`, `c` ``
pub fn quoted_list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// `1 character`, `2 characters`
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// ` (did you mean …?)`, or an empty string if no known name is similar.
pub fn did_you_mean<'a>(found: &str, known: impl IntoIterator<Item = &'a &'a str>) -> String {
    did_you_mean_as(found, known.into_iter().map(|name| (*name, *name)))
}

/// Compares with the first name of each pair and shows the second.
pub fn did_you_mean_as<'a>(found: &str, known: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    // Comparing takes time proportional to the length, and no known name is this long.
    if found.len() > 64 {
        return String::new();
    }
    let found = found.to_lowercase();
    let distances = known.into_iter().map(|(name, shown)| (strsim::damerau_levenshtein(&found, &name.to_lowercase()), name, shown));
    match distances.min() {
        Some((distance, name, shown)) if distance <= 3 && distance * 2 <= name.chars().count().max(2) => {
            format!(" (did you mean `{shown}`?)")
        }
        _ => String::new(),
    }
}
