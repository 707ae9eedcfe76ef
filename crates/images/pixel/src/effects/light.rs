//! Conversion between encoded sRGB and linear light.
//!
//! The curve of sRGB is used for pictures with any profile. The curves of other RGB profiles are
//! similar, and a filter that converts with nearly the right curve, and back with the same curve,
//! differs little from one with the right curve.

use std::sync::LazyLock;

/// Linear light of each encoded level; 65535 is white.
static TO_LINEAR: LazyLock<[u16; 256]> = LazyLock::new(|| {
    std::array::from_fn(|level| {
        let encoded = level as f64 / 255.0;
        let linear = if encoded <= 0.040_45 {
            encoded / 12.92
        } else {
            ((encoded + 0.055) / 1.055).powf(2.4)
        };
        (linear * 65_535.0).round() as u16
    })
});

/// Nearest encoded level of each linear light. The nearest level is the one whose linear light is
/// nearest to the given one.
static TO_ENCODED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut levels = Vec::with_capacity(1 << 16);
    let mut level = 0_usize;
    for light in 0..=u16::MAX {
        let is_nearer = |level: usize| {
            let next = TO_LINEAR.get(level + 1);
            next.is_some_and(|next| next.abs_diff(light) <= TO_LINEAR[level].abs_diff(light))
        };
        while is_nearer(level) {
            level += 1;
        }
        levels.push(level as u8);
    }
    levels
});

/// Returns the table of the linear light of each encoded level.
pub(super) fn to_linear() -> &'static [u16; 256] {
    &TO_LINEAR
}

/// Returns the table of the encoded level of each linear light; it has 65,536 entries.
pub(super) fn to_encoded() -> &'static [u8] {
    &TO_ENCODED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_survives_the_conversion_to_linear_light_and_back() {
        for level in 0..=255_u8 {
            let light = to_linear()[usize::from(level)];
            assert_eq!(to_encoded()[usize::from(light)], level);
        }
        assert_eq!((to_linear()[0], to_linear()[255]), (0, 65_535));
        // Half of the light of white is encoded as 188.
        assert_eq!(to_encoded()[32_768], 188);
    }
}
