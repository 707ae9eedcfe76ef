//! The generator behind `math.random`: the linear congruential generator of `lrand48`, as in Redis.
//! It starts in the same state in every process, and goes on from script to script.

/// State of the generator: 48 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(u64);

impl Default for Random {
    fn default() -> Random {
        Random(0x1234_abcd_330e)
    }
}

impl Random {
    /// Returns a generator with this seed.
    pub(crate) fn new(seed: u32) -> Random {
        Random(u64::from(seed) << 16 | 0x330e)
    }

    /// Returns the next number, from 0 up to but excluding 1.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & ((1 << 48) - 1);
        let number = self.0 >> 17;
        (number % u64::from(i32::MAX.unsigned_abs())) as f64 / f64::from(i32::MAX)
    }
}
