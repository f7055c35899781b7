//! How messages name what there is.

/// `` `a`, `b`, `c` ``
pub fn words(words: &[&str]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(word);
        text.push('`');
    }
    text
}

/// ` (did you mean …?)`, or nothing when none of the words is near.
pub fn near<'a>(found: &str, known: impl IntoIterator<Item = &'a &'a str>) -> String {
    near_as(found, known.into_iter().map(|word| (*word, *word)))
}

/// The same for names that are shown in another form than they are compared in.
pub fn near_as<'a>(found: &str, known: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    // A name far longer than any of ours is near none, and comparing it would take its time.
    if found.len() > 64 {
        return String::new();
    }
    let found = found.to_lowercase();
    let measured = known.into_iter().map(|(word, shown)| (strsim::damerau_levenshtein(&found, &word.to_lowercase()), word, shown));
    match measured.min() {
        Some((distance, word, shown)) if distance <= 3 && distance * 2 <= word.chars().count().max(2) => {
            format!(" (did you mean `{shown}`?)")
        }
        _ => String::new(),
    }
}
