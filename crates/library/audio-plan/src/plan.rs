//! Plan of a transcode, and its binary encoding for the worker. In the table, a number before a
//! field is the field's offset in bytes. `gains present` has one bit for each of the two gains:
//!
//! ```text
//!  0 "SND1" · 4 codec u8 · channels u8 · gains present u8 · zero u8 · 8 bit rate u32
//! 12 track gain i16 · album gain i16 · 16 start u64 · 24 duration u64
//! 32 lengths of title, artist and album, u8 each · zero u8 · 36 title, artist, album
//! ```

use thiserror::Error;

use crate::SAMPLE_RATE_HZ;
use crate::source::Codec;

/// Maximum length of the title, artist or album of a plan, in bytes. Longer texts are cut.
pub const TEXT_BYTES_MAX: usize = 120;

const MAGIC: [u8; 4] = *b"SND1";
const HEAD_BYTES: usize = 36;

/// Playback gains in 1/256 dB relative to −23 LUFS, the unit of the R128 tags of RFC 7845 §5.2.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gain {
    /// Gain of the track, if known.
    pub track: Option<i16>,
    /// Gain of the album, if known.
    pub album: Option<i16>,
}

impl Gain {
    /// Converts a ReplayGain value, in 1/100 dB relative to −18 LUFS, to the unit of [`Gain`].
    #[must_use]
    pub fn of_replay_gain(cdb: i16) -> i16 {
        let r128 = (i32::from(cdb) - 500) * 256;
        (r128 as f64 / 100.0).round().clamp(-32_768.0, 32_767.0) as i16
    }
}

/// Plan of the transcode of a track to Opus in Ogg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Codec of the original.
    pub codec: Codec,
    /// Number of channels of the output: 1 or 2.
    pub channels: u8,
    /// Average bit rate of the output, in bits per second.
    pub bit_rate_bps: u32,
    /// Position in the track at which the output starts, in milliseconds.
    pub start_ms: u64,
    /// Length of the whole track in milliseconds, as the catalog states it.
    pub duration_ms: u64,
    /// Gains that are written to the tags of the output.
    pub gain: Gain,
    /// Title for the output's tags; empty if unknown.
    pub title: String,
    /// Artist for the output's tags; empty if unknown.
    pub artist: String,
    /// Album for the output's tags; empty if unknown.
    pub album: String,
}

/// Estimated cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Estimated CPU time in milliseconds.
    pub cpu_ms: u64,
    /// Estimated size of the output in bytes.
    pub bytes: u64,
}

/// Reason why bytes cannot be decoded as a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("malformed audio plan: {self:?}")]
pub enum MalformedPlan {
    /// The encoded plan is longer or shorter than its fields require.
    Length,
    /// The bytes do not start with the magic number of a plan.
    Magic,
    /// A field has an invalid value.
    Value,
}

impl Plan {
    /// Returns the expected playing time of the output in milliseconds.
    #[must_use]
    pub fn playing_ms(&self) -> u64 {
        self.duration_ms.saturating_sub(self.start_ms)
    }

    /// Returns the expected number of samples per channel of the output.
    #[must_use]
    pub fn playing_samples(&self) -> u64 {
        self.playing_ms() * u64::from(SAMPLE_RATE_HZ) / 1_000
    }

    /// Returns the maximum number of samples per channel of the output. This is more than the
    /// expected number, since the length of a track is only an estimate for some formats.
    #[must_use]
    pub fn samples_max(&self) -> u64 {
        const LONGER_MS: u64 = 10_000;
        let longer = LONGER_MS + self.duration_ms / 8;
        self.playing_samples() + longer * u64::from(SAMPLE_RATE_HZ) / 1_000
    }

    /// Estimates the cost. The track is decoded from its beginning, but encoded only from the start
    /// position.
    #[must_use]
    pub fn cost(&self) -> Cost {
        // Measured on a slow core: one second of CPU time decodes 300 seconds of audio, or mixes,
        // resamples and encodes 60 seconds of stereo.
        let cpu_ms = self.duration_ms / 300 + self.playing_ms() * u64::from(self.channels) / 120;
        Cost {
            cpu_ms,
            bytes: self.playing_ms() * u64::from(self.bit_rate_bps) / 8_000,
        }
    }

    /// Returns the maximum size of the output in bytes. It is a constant for the headers plus twice
    /// the estimate, since the output may exceed its bit rate and the track may be longer than
    /// stated.
    #[must_use]
    pub fn output_bytes_max(&self) -> u64 {
        const HEAD_BYTES: u64 = 64 << 10;
        2 * self.cost().bytes + HEAD_BYTES
    }

    /// Returns the plan as bytes.
    ///
    /// # Panics
    /// If a text is longer than [`TEXT_BYTES_MAX`]. The caller must shorten it with
    /// [`cut`](Plan::cut).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let texts = [&self.title, &self.artist, &self.album];
        assert!(
            texts.iter().all(|text| text.len() <= TEXT_BYTES_MAX),
            "texts must be cut to TEXT_BYTES_MAX"
        );
        let gains_present =
            u8::from(self.gain.track.is_some()) | u8::from(self.gain.album.is_some()) << 1;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 3 * TEXT_BYTES_MAX);
        bytes.extend(MAGIC);
        bytes.extend([self.codec as u8, self.channels, gains_present, 0]);
        bytes.extend(self.bit_rate_bps.to_le_bytes());
        bytes.extend(self.gain.track.unwrap_or(0).to_le_bytes());
        bytes.extend(self.gain.album.unwrap_or(0).to_le_bytes());
        bytes.extend(self.start_ms.to_le_bytes());
        bytes.extend(self.duration_ms.to_le_bytes());
        bytes.extend(texts.map(|text| text.len() as u8));
        bytes.push(0);
        texts.iter().for_each(|text| bytes.extend(text.as_bytes()));
        bytes
    }

    /// Returns whether the bytes start with the magic number of an audio plan.
    #[must_use]
    pub fn is_plan(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Decodes a plan from its bytes.
    ///
    /// # Errors
    /// [`MalformedPlan`] if the bytes are not exactly one valid plan.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, MalformedPlan> {
        let (head, texts) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(MalformedPlan::Length)?;
        if head[..4] != MAGIC {
            return Err(MalformedPlan::Magic);
        }
        let [codec, channels, gains_present, 0] = head[4..8] else {
            return Err(MalformedPlan::Value);
        };
        let codec = Codec::ALL.into_iter().find(|known| *known as u8 == codec);
        let codec = codec.ok_or(MalformedPlan::Value)?;
        let gain =
            |bit: u8, at: usize| match (gains_present & bit, i16::from_le_bytes(array(head, at))) {
                (0, 0) => Ok(None),
                (0, _) => Err(MalformedPlan::Value),
                (_, gain) => Ok(Some(gain)),
            };
        let gain = Gain {
            track: gain(1, 12)?,
            album: gain(2, 14)?,
        };
        let bit_rate_bps = u32::from_le_bytes(array(head, 8));
        let start_ms = u64::from_le_bytes(array(head, 16));
        let duration_ms = u64::from_le_bytes(array(head, 24));
        let [title, artist, album, 0] = head[32..] else {
            return Err(MalformedPlan::Value);
        };
        let is_valid = matches!(channels, 1 | 2)
            && gains_present < 4
            && (500..=512_000).contains(&bit_rate_bps)
            && start_ms < duration_ms;
        if !is_valid {
            return Err(MalformedPlan::Value);
        }
        let mut rest = texts;
        let mut text = |length: u8| {
            let (text, behind) = rest
                .split_at_checked(length.into())
                .ok_or(MalformedPlan::Length)?;
            rest = behind;
            let text = str::from_utf8(text).map_err(|_| MalformedPlan::Value)?;
            match text.len() <= TEXT_BYTES_MAX {
                true => Ok(text.to_owned()),
                false => Err(MalformedPlan::Value),
            }
        };
        let plan = Plan {
            codec,
            channels,
            bit_rate_bps,
            start_ms,
            duration_ms,
            gain,
            title: text(title)?,
            artist: text(artist)?,
            album: text(album)?,
        };
        match rest {
            [] => Ok(plan),
            _ => Err(MalformedPlan::Length),
        }
    }

    /// Returns the start of the text, cut to at most [`TEXT_BYTES_MAX`] bytes.
    #[must_use]
    pub fn cut(text: &str) -> String {
        text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
    }
}

fn array<const N: usize>(head: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    *head[at..].first_chunk().expect("fields lie in the head")
}
