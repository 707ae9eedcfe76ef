//! Comparison with the crate lofty: tags that lofty writes are read back, and durations agree.

use super::{SINES, read, read_counted};
use crate::{Field, Media, PictureKind, Stored, read_cover};
use lofty::config::WriteOptions;
use lofty::file::{AudioFile as _, TaggedFileExt as _};
use lofty::picture::{MimeType, Picture, PictureType};
use lofty::probe::Probe;
use lofty::tag::{ItemKey, ItemValue, Tag, TagExt as _, TagItem, TagType};
use std::io::Cursor;

/// Values written into each tag; every format supports these fields.
const TEXTS: &[(ItemKey, Field, &str)] = &[
    (ItemKey::TrackTitle, Field::Title, "Für Elise – エリーゼ"),
    (ItemKey::AlbumTitle, Field::Album, "Bagatellen"),
    (ItemKey::TrackArtist, Field::Artist, "Ludwig van Beethoven"),
    (ItemKey::AlbumArtist, Field::AlbumArtist, "Various"),
    (ItemKey::Composer, Field::Composer, "Beethoven"),
    (ItemKey::Genre, Field::Genre, "Klassik"),
    (ItemKey::RecordingDate, Field::Date, "1810-04-27"),
    (ItemKey::UnsyncLyrics, Field::Lyrics, "la la\nla"),
    (
        ItemKey::TrackArtistSortOrder,
        Field::ArtistSort,
        "Beethoven, Ludwig van",
    ),
    (ItemKey::ReplayGainTrackGain, Field::TrackGain, "-6.10 dB"),
    (
        ItemKey::MusicBrainzReleaseId,
        Field::ReleaseId,
        "c7d1ae2c-0b3b-4d2c-9b3a-000000000001",
    ),
];

fn tag_types(name: &str) -> &'static [TagType] {
    match name {
        "flac" | "ogg" | "opus" | "spx" => &[TagType::VorbisComments],
        "wv" => &[TagType::Ape],
        "mp3" => &[TagType::Id3v2, TagType::Ape],
        "m4a" | "alac" => &[TagType::Mp4Ilst],
        _ => &[TagType::Id3v2],
    }
}

fn tagged(bytes: &[u8], kind: TagType, art: &[u8]) -> Vec<u8> {
    let mut tag = Tag::new(kind);
    for &(key, _, text) in TEXTS {
        tag.push(TagItem::new(key, ItemValue::Text(text.to_owned())));
    }
    tag.push(TagItem::new(
        ItemKey::TrackNumber,
        ItemValue::Text("3".to_owned()),
    ));
    tag.push(TagItem::new(
        ItemKey::TrackTotal,
        ItemValue::Text("12".to_owned()),
    ));
    if !art.is_empty() {
        let cover = Picture::unchecked(art.to_vec());
        let cover = cover.pic_type(PictureType::CoverFront);
        tag.push_picture(cover.mime_type(MimeType::Jpeg).build());
    }
    let mut file = Cursor::new(bytes.to_vec());
    tag.save_to(&mut file, WriteOptions::default())
        .expect("lofty writes what it was given");
    file.into_inner()
}

/// Returns incompressible bytes that begin and end like a JPEG. Some tag formats must escape some
/// of these bytes.
fn art(bytes: usize) -> Vec<u8> {
    let noise = (0..bytes as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8);
    [
        &[0xff, 0xd8, 0xff, 0xe0][..],
        &noise.collect::<Vec<_>>(),
        &[0xff, 0xd9],
    ]
    .concat()
}

fn has_all(name: &str, media: &Media) {
    for (_, field, text) in TEXTS {
        assert_eq!(media.tags.first(*field), Some(*text), "{name}: {field:?}");
    }
    let number = media
        .tags
        .first(Field::TrackNumber)
        .expect("a track number");
    assert_eq!(number.split('/').next(), Some("3"), "{name}");
}

#[test]
fn what_lofty_writes_is_read() {
    for (name, bytes) in SINES {
        for &kind in tag_types(name) {
            let file = tagged(bytes, kind, &[]);
            let media = read(&file).unwrap_or_else(|err| panic!("{name} {kind:?}: {err}"));
            has_all(name, &media);
            assert_eq!(media.issues, [""; 0], "{name} {kind:?}");
        }
    }
}

#[test]
fn a_cover_is_found_stepped_over_and_read_back() {
    let art = art(300_000);
    for (name, bytes) in SINES {
        // Lofty does not write pictures into APE tags.
        for &kind in tag_types(name).iter().filter(|kind| **kind != TagType::Ape) {
            let file = tagged(bytes, kind, &art);
            let (media, spent) = read_counted(&file);
            has_all(name, &media);
            let cover = media
                .cover()
                .unwrap_or_else(|| panic!("{name} {kind:?}: no cover"));
            assert_eq!(cover.kind, PictureKind::FRONT, "{name}");
            let read = read_cover(&file[..], file.len() as u64, cover, 1 << 20);
            let read = read.unwrap_or_else(|err| panic!("{name} {kind:?}: {err}"));
            assert!(read == art, "{name} {kind:?}: another picture, {cover:?}");
            assert!(
                spent.reads <= 7 && spent.bytes <= 64 << 10,
                "{name} {kind:?}: {spent:?}"
            );
            assert_eq!(
                cover.stored == Stored::Plain,
                !matches!(name, "ogg" | "opus" | "spx")
            );
        }
    }
}

#[test]
fn durations_are_those_of_lofty() {
    for (name, bytes) in SINES {
        let theirs = Probe::new(Cursor::new(bytes)).guess_file_type();
        let theirs = theirs.expect("memory can be read").read();
        let theirs = theirs.expect("a sound file");
        let properties = theirs.properties();
        let ours = read(bytes).expect("a sound file").audio;
        let their_ms = properties.duration().as_millis() as u64;
        let added_ms = match name {
            // Lofty includes the samples that the encoder added at both ends: three frames.
            "mp3" => 79,
            // Lofty estimates the duration from the bit rate of the first frame, and is 28 ms off.
            "aac" => 28,
            _ => 1,
        };
        assert!(
            ours.duration_ms.abs_diff(their_ms) <= added_ms,
            "{name}: {} and {their_ms} ms",
            ours.duration_ms
        );
        // For Opus, lofty returns the sample rate before encoding; decoded audio has 48 kHz.
        let rate_hz = if name == "opus" {
            44_100
        } else {
            ours.sample_rate_hz
        };
        assert_eq!(properties.sample_rate(), Some(rate_hz), "{name}");
        assert_eq!(
            properties.channels().map(u16::from),
            Some(ours.channels),
            "{name}"
        );
        assert!(
            theirs
                .primary_tag()
                .is_none_or(|tag| tag.pictures().is_empty())
        );
    }
}

#[test]
fn a_new_tag_leaves_the_audio_hash() {
    for (name, bytes) in SINES {
        let before = read(bytes).expect("a sound file").audio_hash;
        for &kind in tag_types(name) {
            let after = read(&tagged(bytes, kind, &art(5000))).expect("a sound file");
            assert_eq!(before, after.audio_hash, "{name} {kind:?}");
        }
    }
}
