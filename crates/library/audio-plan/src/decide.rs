//! What a player gets.

use crate::plan::{Gain, Plan};
use crate::source::{Codec, Source};

/// What an Opus encoder is given at least and at most, a channel: RFC 6716 §2.1.1 has it work from 6 to 510 kb/s of stereo.
const BIT_RATE_KBPS_MIN: u32 = 6;
const BIT_RATE_KBPS_MAX: u32 = 510;
/// Where only a format is asked for: transparent to most ears in stereo.
const BIT_RATE_KBPS_USUAL: u32 = 128;

/// What a player would rather have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// It does not say.
    Any,
    /// The file as it is, whatever else is asked for.
    Raw,
    /// Opus in Ogg.
    Opus,
    /// One that cannot be made. Players ask for their usual one along with a bit rate; the rate is then what counts.
    Other,
}

impl Format {
    /// What a player's word for a format means.
    #[must_use]
    pub fn named(name: &str) -> Format {
        let is = |known: &&str| name.eq_ignore_ascii_case(known);
        match name {
            "" => Format::Any,
            _ if is(&"raw") => Format::Raw,
            _ if ["opus", "ogg", "oga"].iter().any(is) => Format::Opus,
            _ => Format::Other,
        }
    }
}

/// What a player asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The format.
    pub format: Format,
    /// The most it takes; 0 for no limit.
    pub bit_rate_kbps_max: u32,
    /// Where it begins.
    pub start_ms: u64,
}

/// What is taken on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest track. Default 1 hour.
    pub duration_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            duration_ms_max: 3_600_000,
        }
    }
}

/// Why a player gets the file as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It asked for that, or the file already is what it asked for.
    Wanted,
    /// Nothing here decodes it.
    Undecodable,
    /// It is longer than [`Limits::duration_ms_max`], or nobody knows how long.
    TooLong,
}

/// What a player gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The file.
    Raw(Why),
    /// What this plan makes of it.
    Make(Plan),
    /// Nothing: it would begin behind its end.
    Behind,
}

/// Decides what answers `wish` for `source`. Texts and gains of the plan are for the caller to add.
#[must_use]
pub fn decide(wish: &Wish, source: &Source, limits: &Limits) -> Decision {
    let exceeds = wish.bit_rate_kbps_max != 0 && wish.bit_rate_kbps_max < source.bit_rate_kbps;
    let is_wanted = match wish.format {
        Format::Raw => false,
        Format::Opus => source.codec != Some(Codec::Opus) || exceeds || wish.start_ms != 0,
        Format::Any | Format::Other => exceeds || wish.start_ms != 0,
    };
    if !is_wanted {
        return Decision::Raw(Why::Wanted);
    }
    let Some(codec) = source.codec else {
        return Decision::Raw(Why::Undecodable);
    };
    if source.duration_ms == 0 || limits.duration_ms_max < source.duration_ms {
        return Decision::Raw(Why::TooLong);
    }
    if source.duration_ms <= wish.start_ms {
        return Decision::Behind;
    }
    Decision::Make(Plan {
        codec,
        channels: source.channels.clamp(1, 2),
        bit_rate_bps: bit_rate_kbps(wish, source, codec) * 1_000,
        start_ms: wish.start_ms,
        duration_ms: source.duration_ms,
        gain: Gain::default(),
        title: String::new(),
        artist: String::new(),
        album: String::new(),
    })
}

/// No more than what is asked for, and no more than what there is: bits beyond a lossy file's own would be spent on its
/// flaws.
fn bit_rate_kbps(wish: &Wish, source: &Source, codec: Codec) -> u32 {
    let asked = match wish.bit_rate_kbps_max {
        0 => BIT_RATE_KBPS_USUAL,
        asked => asked,
    };
    let there = match source.bit_rate_kbps {
        known @ 1.. if !codec.is_lossless() => known,
        _ => BIT_RATE_KBPS_MAX,
    };
    let channel_max = BIT_RATE_KBPS_MAX / 2 * u32::from(source.channels.clamp(1, 2));
    asked.min(there).min(channel_max).max(BIT_RATE_KBPS_MIN)
}
