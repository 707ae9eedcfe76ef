//! Serialized effects, a part of a serialized plan. In the table, `@` precedes the offset of a
//! field in bytes; numbers have two bytes each, little-endian, unless stated otherwise.
//!
//! ```text
//! @0 flags u8 · kernel u8 · @2 angle · @4 gamma · @6 brightness · contrast · saturation
//! @12 duotone: dark 3 × u8 · light 3 × u8 · @18 blur · @20 unsharp: sigma · amount
//! @24 threshold u8 · bitonal u8 · @26 pixelate · @28 pad: top · right · bottom · left
//! @36 background 4 × u8 · @40 round · zero · @44 end
//! ```
//! Fields of absent options are 0.

use std::num::NonZeroU8;

use super::{Angle, Duotone, Effects, Kernel, Padding, Rgb, Rgba, Tone, Unsharp};

/// Size of serialized effects in bytes.
pub(crate) const EFFECTS_BYTES: usize = 44;

const SEPIA: u8 = 1;
const INVERT: u8 = 2;
const DUOTONE: u8 = 4;
const BACKGROUND: u8 = 8;
const FLAGS: [u8; 4] = [SEPIA, INVERT, DUOTONE, BACKGROUND];

impl Effects {
    /// Serializes the effects.
    pub(crate) fn to_bytes(self) -> [u8; EFFECTS_BYTES] {
        let Effects {
            tone, unsharp, pad, ..
        } = self;
        let is_set = [
            tone.sepia,
            tone.invert,
            tone.duotone.is_some(),
            self.background.is_some(),
        ];
        let flags = FLAGS.iter().zip(is_set).map(|(flag, is_set)| match is_set {
            true => *flag,
            false => 0,
        });
        let mut bytes = [0; EFFECTS_BYTES];
        bytes[..2].copy_from_slice(&[flags.sum(), self.kernel as u8]);
        let (sigma, amount, threshold) = unsharp.map_or((0, 0, 0), |it| {
            (it.sigma_centipx, it.amount_pct, it.threshold)
        });
        bytes[24] = threshold;
        bytes[25] = tone.bitonal.map_or(0, NonZeroU8::get);
        let numbers = [
            (2, self.angle.centidegrees),
            (4, tone.gamma_pct.unwrap_or(0)),
            (6, tone.brightness_pct.cast_unsigned()),
            (8, tone.contrast_pct.cast_unsigned()),
            (10, tone.saturation_pct.cast_unsigned()),
            (18, self.blur_centipx),
            (20, sigma),
            (22, amount),
            (26, self.pixelate_px),
            (28, pad.top_px),
            (30, pad.right_px),
            (32, pad.bottom_px),
            (34, pad.left_px),
            (40, self.round_px),
        ];
        for (at, number) in numbers {
            bytes[at..at + 2].copy_from_slice(&number.to_le_bytes());
        }
        if let Some(Duotone { dark, light }) = tone.duotone {
            bytes[12..15].copy_from_slice(&dark.0);
            bytes[15..18].copy_from_slice(&light.0);
        }
        if let Some(Rgba(colour)) = self.background {
            bytes[36..40].copy_from_slice(&colour);
        }
        bytes
    }

    /// Parses effects. Returns `None` if a field is out of range, or if an unused field is not 0.
    pub(crate) fn from_bytes(bytes: &[u8; EFFECTS_BYTES]) -> Option<Effects> {
        let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let has = |flag: u8| bytes[0] & flag != 0;
        let channels = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2]];
        let mut kernels = Kernel::ALL.into_iter();
        let effects = Effects {
            kernel: kernels.find(|kernel| *kernel as u8 == bytes[1])?,
            angle: Angle {
                centidegrees: number(2),
            },
            tone: Tone {
                gamma_pct: Some(number(4)).filter(|gamma| *gamma != 0),
                brightness_pct: number(6).cast_signed(),
                contrast_pct: number(8).cast_signed(),
                saturation_pct: number(10).cast_signed(),
                sepia: has(SEPIA),
                bitonal: NonZeroU8::new(bytes[25]),
                duotone: has(DUOTONE).then(|| Duotone {
                    dark: Rgb(channels(12)),
                    light: Rgb(channels(15)),
                }),
                invert: has(INVERT),
            },
            blur_centipx: number(18),
            unsharp: (number(20) != 0).then(|| Unsharp {
                sigma_centipx: number(20),
                amount_pct: number(22),
                threshold: bytes[24],
            }),
            pixelate_px: number(26),
            pad: Padding {
                top_px: number(28),
                right_px: number(30),
                bottom_px: number(32),
                left_px: number(34),
            },
            background: has(BACKGROUND).then(|| Rgba([bytes[36], bytes[37], bytes[38], bytes[39]])),
            round_px: number(40),
        };
        // Serializing again finds unused fields that are not 0, and unknown flags.
        let is_valid = effects.is_in_range() && effects.to_bytes() == *bytes;
        is_valid.then_some(effects)
    }

    /// Returns whether all fields are in the ranges that their descriptions state.
    fn is_in_range(&self) -> bool {
        let tone = &self.tone;
        let percentages = [tone.brightness_pct, tone.contrast_pct, tone.saturation_pct];
        let Padding {
            top_px,
            right_px,
            bottom_px,
            left_px,
        } = self.pad;
        let lengths = [top_px, right_px, bottom_px, left_px, self.round_px];
        let quarter = Angle::FULL / 4;
        (self.angle.is_zero() || !self.angle.centidegrees.is_multiple_of(quarter))
            && self.angle.centidegrees < Angle::FULL
            && tone.gamma_pct.is_none_or(|gamma| {
                gamma != 100 && (Tone::GAMMA_PCT_MIN..=Tone::GAMMA_PCT_MAX).contains(&gamma)
            })
            && percentages
                .iter()
                .all(|pct| (Tone::PCT_MIN..=Tone::PCT_MAX).contains(pct))
            && self.blur_centipx <= Effects::SIGMA_CENTIPX_MAX
            && self.unsharp.is_none_or(|unsharp| {
                unsharp.sigma_centipx <= Effects::SIGMA_CENTIPX_MAX
                    && (1..=Unsharp::AMOUNT_PCT_MAX).contains(&unsharp.amount_pct)
            })
            && self.pixelate_px != 1
            && self.pixelate_px <= Effects::PIXELATE_PX_MAX
            && lengths
                .iter()
                .all(|length| *length <= Effects::LENGTH_PX_MAX)
    }
}
