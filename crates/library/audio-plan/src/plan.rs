//! What a worker is told to make.
//!
//! ```text
//! 0 "SND1" · 4 codec u8 · channels u8 · gains there u8 · zero u8 · 8 bit rate u32 · 12 track gain i16 · album gain i16
//! 16 start u64 · 24 duration u64 · 32 lengths of title, artist and album u8 · zero u8 · 36 the three texts
//! ```

use std::fmt;

use crate::SAMPLE_RATE_HZ;
use crate::source::Codec;

/// Bytes of each text; longer ones are cut.
pub const TEXT_BYTES_MAX: usize = 120;

const MAGIC: [u8; 4] = *b"SND1";
const HEAD_BYTES: usize = 36;

/// How much louder or softer a track is to be played, in 1/256 dB against −23 LUFS: R128 of RFC 7845 §5.2.1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gain {
    /// For the track alone.
    pub track: Option<i16>,
    /// For its album.
    pub album: Option<i16>,
}

impl Gain {
    /// The same gain as ReplayGain has it, in 1/100 dB against −18 LUFS.
    #[must_use]
    pub fn of_replay_gain(cdb: i16) -> i16 {
        let r128 = (i32::from(cdb) - 500) * 256;
        (r128 as f64 / 100.0).round().clamp(-32_768.0, 32_767.0) as i16
    }
}

/// Opus in Ogg, made of a track.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the file is.
    pub codec: Codec,
    /// Of what is made: 1 or 2.
    pub channels: u8,
    /// Of what is made, on average.
    pub bit_rate_bps: u32,
    /// Where it begins.
    pub start_ms: u64,
    /// Length of the whole track, as far as the index knows.
    pub duration_ms: u64,
    /// Told to players.
    pub gain: Gain,
    /// Told to players; empty where it is not known.
    pub title: String,
    /// Likewise.
    pub artist: String,
    /// Likewise.
    pub album: String,
}

/// What a plan takes, estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// CPU time.
    pub cpu_ms: u64,
    /// Bytes of the answer.
    pub bytes: u64,
}

/// Bytes that are no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedPlan {
    /// Not as long as they say.
    Length,
    /// They do not begin as a plan does.
    Magic,
    /// A value that no plan has.
    Value,
}

impl fmt::Display for MalformedPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed plan of sound: {self:?}")
    }
}

impl std::error::Error for MalformedPlan {}

impl Plan {
    /// How long what is made plays, as far as the index knows.
    #[must_use]
    pub fn playing_ms(&self) -> u64 {
        self.duration_ms.saturating_sub(self.start_ms)
    }

    /// Its samples a channel, likewise.
    #[must_use]
    pub fn playing_samples(&self) -> u64 {
        self.playing_ms() * u64::from(SAMPLE_RATE_HZ) / 1_000
    }

    /// The most samples a channel that are made: a track may turn out to be longer than the index says, as durations of some
    /// formats are estimates.
    #[must_use]
    pub fn samples_max(&self) -> u64 {
        const LONGER_MS: u64 = 10_000;
        let longer = LONGER_MS + self.duration_ms / 8;
        self.playing_samples() + longer * u64::from(SAMPLE_RATE_HZ) / 1_000
    }

    /// What it takes, estimated: what is skipped is decoded, what is made also encoded.
    #[must_use]
    pub fn cost(&self) -> Cost {
        // Taken for a slow core: 300 seconds decoded in one, 60 of stereo mixed, resampled and encoded.
        let cpu_ms = self.duration_ms / 300 + self.playing_ms() * u64::from(self.channels) / 120;
        Cost {
            cpu_ms,
            bytes: self.playing_ms() * u64::from(self.bit_rate_bps) / 8_000,
        }
    }

    /// The most that its answer can have: the encoder aims at a rate on average, and hard passages take more.
    #[must_use]
    pub fn answer_bytes_max(&self) -> u64 {
        const HEAD_BYTES: u64 = 64 << 10;
        2 * self.cost().bytes + HEAD_BYTES
    }

    /// The plan's bytes.
    ///
    /// # Panics
    /// When a text is longer than [`TEXT_BYTES_MAX`]: a bug of the caller, for whom [`cut`](Plan::cut) is there.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let texts = [&self.title, &self.artist, &self.album];
        assert!(
            texts.iter().all(|text| text.len() <= TEXT_BYTES_MAX),
            "texts are cut"
        );
        let there = u8::from(self.gain.track.is_some()) | u8::from(self.gain.album.is_some()) << 1;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + 3 * TEXT_BYTES_MAX);
        bytes.extend(MAGIC);
        bytes.extend([self.codec as u8, self.channels, there, 0]);
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

    /// Whether bytes are meant as a plan of sound.
    #[must_use]
    pub fn is_plan(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`MalformedPlan`] when the bytes are not exactly one.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, MalformedPlan> {
        let (head, texts) = bytes
            .split_first_chunk::<HEAD_BYTES>()
            .ok_or(MalformedPlan::Length)?;
        if head[..4] != MAGIC {
            return Err(MalformedPlan::Magic);
        }
        let [codec, channels, there, 0] = head[4..8] else {
            return Err(MalformedPlan::Value);
        };
        let codec = Codec::ALL.into_iter().find(|known| *known as u8 == codec);
        let codec = codec.ok_or(MalformedPlan::Value)?;
        let gain = |bit: u8, at: usize| match (there & bit, i16::from_le_bytes(array(head, at))) {
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
        let is_sound = matches!(channels, 1 | 2)
            && there < 4
            && (500..=512_000).contains(&bit_rate_bps)
            && start_ms < duration_ms;
        if !is_sound {
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

    /// As much of a text as a plan takes.
    #[must_use]
    pub fn cut(text: &str) -> String {
        text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
    }
}

fn array<const N: usize>(head: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    *head[at..].first_chunk().expect("fields lie in the head")
}
