//! A fixed pseudo-random sequence, so that every demo has the same rows.

/// SplitMix64.
#[derive(Debug)]
pub(super) struct PseudoRandom(u64);

impl PseudoRandom {
    pub(super) fn new(seed: u64) -> Self {
        PseudoRandom(seed)
    }

    fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end`, exclusive.
    pub(super) fn below(&mut self, end: i64) -> i64 {
        (self.next_number() % end.max(1).unsigned_abs()) as i64
    }

    /// A number from `min` to `max`, inclusive.
    pub(super) fn between(&mut self, min: i64, max: i64) -> i64 {
        min + self.below(max - min + 1)
    }

    /// True in `share` of a hundred cases.
    pub(super) fn percent(&mut self, share: i64) -> bool {
        self.below(100) < share
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as i64) as usize]
    }

    pub(super) fn pick_word<'a>(&mut self, words: &'a str) -> &'a str {
        self.pick(&words.split(' ').collect::<Vec<_>>())
    }

    pub(super) fn weighted<'a>(&mut self, from: &[(&'a str, i64)]) -> &'a str {
        let mut left = self.below(from.iter().map(|(_, weight)| weight).sum());
        for (word, weight) in from {
            if left < *weight {
                return word;
            }
            left -= weight;
        }
        from[0].0
    }
}
