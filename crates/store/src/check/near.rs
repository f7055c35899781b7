//! "Did you mean": the nearest of the names there are.

/// ` (did you mean …?)`, or nothing when no name is near.
pub(super) fn near<'n>(found: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    near_as(found, known.into_iter().map(|word| (word, word)))
}

/// The same for names that are shown in another form than they are compared in.
pub(super) fn near_as<'n>(found: &str, known: impl IntoIterator<Item = (&'n str, &'n str)>) -> String {
    let found = found.to_lowercase();
    let measured = known.into_iter().map(|(word, shown)| (distance(&found, &word.to_lowercase()), word, shown));
    match measured.min_by_key(|(distance, ..)| *distance) {
        Some((distance, word, shown)) if distance <= 3 && distance * 2 <= word.chars().count().max(2) => {
            format!(" (did you mean `{shown}`?)")
        }
        _ => String::new(),
    }
}

/// How many letters to add, drop, change or swap with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut best = (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}
