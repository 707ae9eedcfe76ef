//! Writer of one song: a part of a payload, tags and perhaps a cover, with the result that a reader
//! must get.

mod flac;
mod id3;
mod mp3;
mod mp4;
mod ogg;
mod pcm;

use crate::art::Cover;
use crate::manifest::Expected;
use crate::payload::Payloads;
use crate::plan::{Kind, Song};

pub(crate) use pcm::wav_file;

/// Content of a file, and the entry for it in the manifest.
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
}

/// Properties of a file's audio.
struct Audio {
    duration_ms: u64,
    sample_rate_hz: u32,
    channels: u16,
}

/// Returns the file of `song`, with `cover` if the song embeds one.
pub(crate) fn song(song: &Song, cover: &Cover, payloads: &Payloads) -> File {
    let cover = song.embeds.then_some(cover);
    let (bytes, audio) = match song.kind {
        Kind::Flac => flac::write(song, cover, &payloads.flac),
        Kind::Mp3 => mp3::write(song, cover, &payloads.mp3),
        Kind::Aac => mp4::write(song, cover, &payloads.aac),
        Kind::Alac => mp4::write(song, cover, &payloads.alac),
        Kind::Opus => ogg::write(song, cover, &payloads.opus),
        Kind::Vorbis => ogg::write(song, cover, &payloads.vorbis),
        Kind::Wav => pcm::wav(song, cover),
        Kind::Aiff => pcm::aiff(song, cover),
    };
    let fields = song.fields.iter();
    let expected = Expected::Music {
        duration_ms: audio.duration_ms,
        sample_rate_hz: audio.sample_rate_hz,
        channels: audio.channels,
        fields: fields
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        cover_bytes: cover.map(|cover| cover.bytes.len() as u64),
    };
    File { bytes, expected }
}

fn ms(samples: u64, rate_hz: u32) -> u64 {
    (samples * 1000 + u64::from(rate_hz) / 2) / u64::from(rate_hz)
}

impl Cover {
    fn mime(&self) -> &'static str {
        if self.is_png {
            "image/png"
        } else {
            "image/jpeg"
        }
    }

    /// Returns the body of a FLAC picture block: kind, MIME type, description, sizes (unknown),
    /// length, picture.
    fn block(&self) -> Vec<u8> {
        let mime = self.mime();
        let mut out = 3u32.to_be_bytes().to_vec();
        out.extend((mime.len() as u32).to_be_bytes());
        out.extend(mime.as_bytes());
        out.extend([0; 20]);
        out.extend((self.bytes.len() as u32).to_be_bytes());
        out.extend(&self.bytes);
        out
    }
}

/// Returns a block of Vorbis comments: vendor, count, and each field as `KEY=value`.
fn comments(fields: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut text = |text: &[u8]| {
        out.extend((text.len() as u32).to_le_bytes());
        out.extend(text);
    };
    text(b"pelton media");
    let count = (fields.len() as u32).to_le_bytes();
    out.extend(count);
    for field in fields {
        out.extend((field.len() as u32).to_le_bytes());
        out.extend(field);
    }
    out
}

/// Returns the song's fields as Vorbis comments. With `upper`, their names are in upper case;
/// taggers differ in this.
fn comment_fields(song: &Song, upper: bool) -> Vec<Vec<u8>> {
    let fields = song.fields.iter().map(|(name, value)| {
        let name = if upper {
            name.to_uppercase()
        } else {
            (*name).to_owned()
        };
        format!("{name}={value}").into_bytes()
    });
    fields.collect()
}
