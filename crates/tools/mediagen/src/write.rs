//! Writer of song files. Each file contains a part of a payload (encoded audio), tags and perhaps a
//! cover. The writer also returns the values that a correct tag reader must find in the file.

mod audio;
mod comment;
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

/// Content of a file, and the entry for it in the manifest.
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    pub(crate) expected: Expected,
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
