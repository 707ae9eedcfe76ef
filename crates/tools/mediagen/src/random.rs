//! Random numbers that depend on a seed only, and not on the machine: splitmix64.

/// State of one stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Returns a stream of random numbers that depends only on `seed` and `salt`. Numbers that are
    /// drawn from other streams do not affect it.
    pub(crate) fn apart(seed: u64, salt: u64) -> Random {
        let mut mixed = Random(seed ^ salt.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Random(mixed.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Returns a number in `first..=last`.
    pub(crate) fn within(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// Returns true with a probability of `pct` per cent.
    pub(crate) fn percent(&mut self, pct: usize) -> bool {
        self.below(100) < pct
    }

    pub(crate) fn choose(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
