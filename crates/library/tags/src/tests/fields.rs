//! Tests that every field needed by a library is read from every format and kind of tag. The tags
//! are written by lofty, or by hand if lofty cannot write them.

use std::io::Cursor;

use lofty::config::WriteOptions;
use lofty::mp4::{Atom, AtomData, AtomIdent, Ilst};
use lofty::ogg::tag::VorbisComments;
use lofty::tag::{ItemKey, ItemValue, Tag, TagExt as _, TagItem, TagType};

use super::{read, sine};
use crate::Field;

const RECORDING: &str = "11111111-0b3b-4d2c-9b3a-000000000001";
const RELEASE: &str = "22222222-0b3b-4d2c-9b3a-000000000002";
const GROUP: &str = "33333333-0b3b-4d2c-9b3a-000000000003";
const ARTIST: &str = "44444444-0b3b-4d2c-9b3a-000000000004";
const GUEST: &str = "55555555-0b3b-4d2c-9b3a-000000000005";
const TRACK: &str = "66666666-0b3b-4d2c-9b3a-000000000006";
const WORK: &str = "77777777-0b3b-4d2c-9b3a-000000000007";

/// Fields with the values that lofty writes and that the reader must return.
const FIELDS: &[(ItemKey, Field, &[&str])] = &[
    (ItemKey::TrackTitle, Field::Title, &["Für Elise – エリーゼ"]),
    (
        ItemKey::TrackTitleSortOrder,
        Field::TitleSort,
        &["Elise, Für"],
    ),
    (ItemKey::AlbumTitle, Field::Album, &["Bagatellen"]),
    (
        ItemKey::AlbumTitleSortOrder,
        Field::AlbumSort,
        &["Bagatellen, Die"],
    ),
    (ItemKey::TrackArtist, Field::Artist, &["Ann & Bob"]),
    (ItemKey::TrackArtists, Field::Artists, &["Ann", "Bob"]),
    (
        ItemKey::TrackArtistSortOrder,
        Field::ArtistSort,
        &["Ann, The"],
    ),
    (ItemKey::AlbumArtist, Field::AlbumArtist, &["Various"]),
    (
        ItemKey::AlbumArtistSortOrder,
        Field::AlbumArtistSort,
        &["Various, The"],
    ),
    (ItemKey::Composer, Field::Composer, &["Ludwig", "Clara"]),
    (
        ItemKey::ComposerSortOrder,
        Field::ComposerSort,
        &["Beethoven"],
    ),
    (ItemKey::Lyricist, Field::Lyricist, &["Friedrich"]),
    (ItemKey::Conductor, Field::Conductor, &["Kapellmeister"]),
    (ItemKey::Performer, Field::Performer, &["Eve (piano)"]),
    (ItemKey::Remixer, Field::Remixer, &["DJ Elise"]),
    (ItemKey::Producer, Field::Producer, &["Paul"]),
    (ItemKey::Genre, Field::Genre, &["Klassik", "Bagatelle"]),
    (ItemKey::RecordingDate, Field::Date, &["1810-04-27"]),
    (
        ItemKey::OriginalReleaseDate,
        Field::OriginalDate,
        &["1867-05-01"],
    ),
    (ItemKey::DiscNumber, Field::DiscNumber, &["2"]),
    (ItemKey::UnsyncLyrics, Field::Lyrics, &["la la\nla"]),
    (
        ItemKey::MusicBrainzReleaseType,
        Field::ReleaseType,
        &["album"],
    ),
    (
        ItemKey::ReplayGainTrackGain,
        Field::TrackGain,
        &["-6.10 dB"],
    ),
    (ItemKey::ReplayGainTrackPeak, Field::TrackPeak, &["0.988"]),
    (
        ItemKey::ReplayGainAlbumGain,
        Field::AlbumGain,
        &["-7.20 dB"],
    ),
    (ItemKey::ReplayGainAlbumPeak, Field::AlbumPeak, &["0.999"]),
    (ItemKey::R128TrackGain, Field::R128TrackGain, &["-256"]),
    (ItemKey::R128AlbumGain, Field::R128AlbumGain, &["512"]),
    (
        ItemKey::MusicBrainzRecordingId,
        Field::RecordingId,
        &[RECORDING],
    ),
    (ItemKey::MusicBrainzTrackId, Field::ReleaseTrackId, &[TRACK]),
    (ItemKey::MusicBrainzReleaseId, Field::ReleaseId, &[RELEASE]),
    (
        ItemKey::MusicBrainzReleaseGroupId,
        Field::ReleaseGroupId,
        &[GROUP],
    ),
    (
        ItemKey::MusicBrainzArtistId,
        Field::ArtistId,
        &[ARTIST, GUEST],
    ),
    (
        ItemKey::MusicBrainzReleaseArtistId,
        Field::AlbumArtistId,
        &[ARTIST],
    ),
    (ItemKey::MusicBrainzWorkId, Field::WorkId, &[WORK]),
];

/// Formats, each with a kind of tag that occurs in it. The last value is true if this is an ID3v2
/// tag of version 2.3.
const FORMATS: &[(&str, TagType, bool)] = &[
    ("flac", TagType::VorbisComments, false),
    ("ogg", TagType::VorbisComments, false),
    ("opus", TagType::VorbisComments, false),
    ("mp3", TagType::Id3v2, false),
    ("mp3", TagType::Id3v2, true),
    ("mp3", TagType::Ape, false),
    ("m4a", TagType::Mp4Ilst, false),
    ("alac", TagType::Mp4Ilst, false),
    ("wav", TagType::Id3v2, false),
    ("wav", TagType::Id3v2, true),
    ("aiff", TagType::Id3v2, false),
    ("aiff", TagType::Id3v2, true),
];

/// Returns the fields that lofty cannot write into a kind of tag, or writes in its own way; the
/// tests below write them by hand.
fn by_hand(kind: TagType, is_v23: bool) -> &'static [Field] {
    use Field::{
        AlbumSort, ArtistSort, ComposerSort, Genre, OriginalDate, Performer, R128AlbumGain,
        R128TrackGain, TitleSort,
    };
    match (kind, is_v23) {
        (TagType::VorbisComments, _) => &[ComposerSort],
        (TagType::Id3v2, false) => &[Performer, R128TrackGain, R128AlbumGain],
        (TagType::Id3v2, true) => &[
            TitleSort,
            AlbumSort,
            ArtistSort,
            Performer,
            Genre,
            OriginalDate,
            R128TrackGain,
            R128AlbumGain,
        ],
        (TagType::Ape, _) => &[ComposerSort, R128TrackGain, R128AlbumGain],
        (TagType::Mp4Ilst, _) => &[Performer, R128TrackGain, R128AlbumGain],
        _ => unreachable!("no kind of the table"),
    }
}

#[test]
fn every_format_has_every_field() {
    let mut wrong = Vec::new();
    for &(name, kind, is_v23) in FORMATS {
        let mut tag = Tag::new(kind);
        for &(key, _, texts) in FIELDS {
            for text in texts {
                tag.push(TagItem::new(key, ItemValue::Text((*text).to_owned())));
            }
        }
        let mut file = Cursor::new(sine(name).to_vec());
        let options = WriteOptions::default().use_id3v23(is_v23);
        tag.save_to(&mut file, options)
            .expect("lofty writes what it was given");
        let file = file.into_inner();
        let media = read(&file).expect("a sound file");
        for &(_, field, texts) in FIELDS {
            let found: Vec<&str> = media.tags.all(field).collect();
            if found != texts && !by_hand(kind, is_v23).contains(&field) {
                wrong.push(format!("{name} {kind:?} {is_v23}: {field:?} {found:?}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// Checks the fields of a file with hand-written tags.
fn check(name: &str, file: &[u8], expected: &[(Field, &[&str])]) {
    let media = read(file).unwrap_or_else(|err| panic!("{name}: {err}"));
    for &(field, texts) in expected {
        let found: Vec<&str> = media.tags.all(field).collect();
        assert_eq!(found, texts, "{name}: {field:?}");
    }
    assert_eq!(media.issues, [""; 0], "{name}");
}

#[test]
fn vorbis_comments_by_hand() {
    for name in ["flac", "ogg", "opus"] {
        let mut comments = VorbisComments::default();
        comments.push("COMPOSERSORT".to_owned(), "Beethoven".to_owned());
        // Some programs write keys in lower case, or other keys for the same fields.
        comments.push("performer".to_owned(), "Eve (piano)".to_owned());
        comments.push("YEAR".to_owned(), "1810".to_owned());
        let mut file = Cursor::new(sine(name).to_vec());
        let saved = comments.save_to(&mut file, WriteOptions::default());
        saved.expect("lofty writes what it was given");
        check(
            name,
            &file.into_inner(),
            &[
                (Field::ComposerSort, &["Beethoven"]),
                (Field::Performer, &["Eve (piano)"]),
                (Field::Date, &["1810"]),
            ],
        );
    }
}

#[test]
fn mp4_items_by_hand() {
    let free = |name: &str, texts: &[&str]| {
        let ident = AtomIdent::Freeform {
            mean: "com.apple.iTunes".into(),
            name: name.to_owned().into(),
        };
        let texts = texts.iter().map(|text| AtomData::UTF8((*text).to_owned()));
        Atom::from_collection(ident, texts.collect()).expect("some data")
    };
    for name in ["m4a", "alac"] {
        let mut items = Ilst::new();
        items.insert(free("PERFORMER", &["Eve (piano)", "Max (viola)"]));
        items.insert(free("R128_TRACK_GAIN", &["-256"]));
        items.insert(free("replaygain_track_gain\0", &["-6.10 dB\0"]));
        items.insert(free("R128_ALBUM_GAIN", &["512"]));
        let mut file = Cursor::new(sine(name).to_vec());
        let saved = items.save_to(&mut file, WriteOptions::default());
        saved.expect("lofty writes what it was given");
        check(
            name,
            &file.into_inner(),
            &[
                (Field::Performer, &["Eve (piano)", "Max (viola)"]),
                (Field::R128TrackGain, &["-256"]),
                (Field::TrackGain, &["-6.10 dB"]),
                (Field::R128AlbumGain, &["512"]),
            ],
        );
    }
}

#[test]
fn ape_items_by_hand() {
    let items = super::ends::ape(&[
        ("ComposerSort", "Beethoven"),
        ("R128_TRACK_GAIN", "-256"),
        ("R128_ALBUM_GAIN", "512"),
    ]);
    check(
        "ape",
        &[sine("mp3"), &items].concat(),
        &[
            (Field::ComposerSort, &["Beethoven"]),
            (Field::R128TrackGain, &["-256"]),
            (Field::R128AlbumGain, &["512"]),
        ],
    );
}

/// Returns an ID3v2 tag of version 2.2, 2.3 or 2.4 with these frames.
fn id3v2(version: u8, frames: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in frames {
        let bytes = content.len() as u32;
        assert!(bytes < 128, "one number in every version");
        body.extend(name.as_bytes());
        body.extend(&bytes.to_be_bytes()[if version == 2 { 1 } else { 0 }..]);
        body.extend(&[0, 0][if version == 2 { 2 } else { 0 }..]);
        body.extend(*content);
    }
    let bytes = body.len();
    let size = [bytes >> 21, bytes >> 14, bytes >> 7, bytes].map(|part| part as u8 & 0x7f);
    [&b"ID3"[..], &[version, 0, 0], &size, &body].concat()
}

/// Returns files with the ID3v2 tag: before an MP3, and in a chunk of WAV and AIFF.
fn with_id3v2(tag: &[u8]) -> [(&'static str, Vec<u8>); 3] {
    let chunk = |id: &[u8; 4], bytes: [u8; 4]| {
        let mut chunk = [&id[..], &bytes, tag].concat();
        chunk.resize(chunk.len().next_multiple_of(2), 0);
        chunk
    };
    let bytes = tag.len() as u32;
    [
        ("mp3", [tag, sine("mp3")].concat()),
        (
            "wav",
            [sine("wav"), &chunk(b"id3 ", bytes.to_le_bytes())].concat(),
        ),
        (
            "aiff",
            [sine("aiff"), &chunk(b"ID3 ", bytes.to_be_bytes())].concat(),
        ),
    ]
}

#[test]
fn id3v2_by_hand() {
    let gains: [(&str, &[u8]); 2] = [
        ("TXXX", b"\x03R128_TRACK_GAIN\0-256"),
        ("TXXX", b"\0R128_ALBUM_GAIN\x00512"),
    ];
    let version3 = [
        ("TSOT", &b"\0Elise"[..]),
        ("TSOA", b"\0Bagatellen, Die"),
        ("TSOP", b"\0Ann, The"),
        ("IPLS", b"\0piano\0Eve\0viola\0Max"),
        ("TCON", b"\0(32)Bagatelle"),
        ("TORY", b"\x001867"),
        ("TYER", b"\x001810"),
        ("TDAT", b"\x002704"),
    ];
    let version4 = [("TMCL", &b"\x03piano\0Eve\0viola\0Max"[..])];
    let gained: [(Field, &[&str]); 2] = [
        (Field::R128TrackGain, &["-256"]),
        (Field::R128AlbumGain, &["512"]),
    ];
    let players: (Field, &[&str]) = (Field::Performer, &["Eve (piano)", "Max (viola)"]);
    for (name, file) in with_id3v2(&id3v2(3, &[&version3[..], &gains].concat())) {
        let expected: [(Field, &[&str]); 7] = [
            (Field::TitleSort, &["Elise"]),
            (Field::AlbumSort, &["Bagatellen, Die"]),
            (Field::ArtistSort, &["Ann, The"]),
            players,
            (Field::Genre, &["Classical", "Bagatelle"]),
            (Field::OriginalDate, &["1867"]),
            (Field::Date, &["1810-04-27"]),
        ];
        check(name, &file, &[&expected[..], &gained].concat());
    }
    for (name, file) in with_id3v2(&id3v2(4, &[&version4[..], &gains].concat())) {
        check(name, &file, &[&[players][..], &gained].concat());
    }
}

#[test]
fn id3v2_lyrics_by_hand() {
    let lines = b"\x03eng\x02\x01\0One\0\0\0\x03\xe8Two words\0\0\x01\0\0";
    let words = b"\x00eng\x02\x01words\0A\0\0\0\0\x01 long\0\0\0\0\x02\nline\0\0\0\x04\0";
    let in_frames_of_mpeg = b"\x03eng\x01\x01\0One\0\0\0\x03\xe8";
    let cut = b"\x03eng\x02\x01\0One\0\0\0\x03\xe8Two";
    let frames = [
        ("USLT", &b"\x03eng\0In English"[..]),
        ("USLT", b"\x03deu\0Auf Deutsch"),
        ("SYLT", lines),
        ("SYLT", words),
        ("SYLT", in_frames_of_mpeg),
        ("SYLT", cut),
    ];
    for (name, file) in with_id3v2(&id3v2(3, &frames)) {
        let expected: (Field, &[&str]) = (
            Field::Lyrics,
            &[
                "In English",
                "Auf Deutsch",
                "[00:01.000]One\n[01:05.536]Two words",
                "[00:00.001]A long\n[00:01.024]line",
                "[00:01.000]One",
            ],
        );
        check(name, &file, &[expected]);
    }
}

#[test]
fn id3v2_2_by_hand() {
    let recording = format!("http://musicbrainz.org\0{RECORDING}");
    let artists = format!("\0MusicBrainz Artist Id\0{ARTIST}");
    let frames: [(&str, &[u8]); 25] = [
        ("TT2", b"\0F\xfcr Elise"),
        ("TST", b"\0Elise"),
        ("TAL", b"\x01\xff\xfeB\0a\0"),
        ("TSA", b"\0Bagatellen, Die"),
        ("TP1", b"\0Ann & Bob"),
        ("TSP", b"\0Ann, The"),
        ("TP2", b"\0Various"),
        ("TS2", b"\0Various, The"),
        ("TP3", b"\0Kapellmeister"),
        ("TP4", b"\0DJ Elise"),
        ("TCM", b"\0Ludwig"),
        ("TSC", b"\0Beethoven"),
        ("TXT", b"\0Friedrich"),
        ("IPL", b"\0piano\0Eve\0producer\0Paul"),
        ("TCO", b"\0(32)"),
        ("TYE", b"\x001810"),
        ("TDA", b"\x002704"),
        ("TOR", b"\x001867"),
        ("TPA", b"\x002/3"),
        ("TRK", b"\x003/12"),
        ("ULT", b"\0deu\0la la\nla"),
        ("TXX", b"\0replaygain_track_gain\0-6.10 dB"),
        ("TXX", b"\0ARTISTS\0Ann"),
        ("TXX", artists.as_bytes()),
        ("UFI", recording.as_bytes()),
    ];
    for (name, file) in with_id3v2(&id3v2(2, &frames)) {
        check(
            name,
            &file,
            &[
                (Field::Title, &["Für Elise"]),
                (Field::TitleSort, &["Elise"]),
                (Field::Album, &["Ba"]),
                (Field::AlbumSort, &["Bagatellen, Die"]),
                (Field::Artist, &["Ann & Bob"]),
                (Field::Artists, &["Ann"]),
                (Field::ArtistSort, &["Ann, The"]),
                (Field::AlbumArtist, &["Various"]),
                (Field::AlbumArtistSort, &["Various, The"]),
                (Field::Conductor, &["Kapellmeister"]),
                (Field::Remixer, &["DJ Elise"]),
                (Field::Composer, &["Ludwig"]),
                (Field::ComposerSort, &["Beethoven"]),
                (Field::Lyricist, &["Friedrich"]),
                (Field::Performer, &["Eve (piano)"]),
                (Field::Producer, &["Paul"]),
                (Field::Genre, &["Classical"]),
                (Field::Date, &["1810-04-27"]),
                (Field::OriginalDate, &["1867"]),
                (Field::DiscNumber, &["2/3"]),
                (Field::TrackNumber, &["3/12"]),
                (Field::Lyrics, &["la la\nla"]),
                (Field::TrackGain, &["-6.10 dB"]),
                (Field::ArtistId, &[ARTIST]),
                (Field::RecordingId, &[RECORDING]),
            ],
        );
    }
}

/// ID3v1, the only tag of many MP3 files: title, artist, album, year, comment, number, genre.
#[test]
fn id3v1_by_hand() {
    let mut tag = b"TAG".to_vec();
    for (text, bytes) in [
        ("Elise", 30),
        ("Ann", 30),
        ("Ba", 30),
        ("1810", 4),
        ("Nice", 28),
    ] {
        let end = tag.len() + bytes;
        tag.extend(text.as_bytes());
        tag.resize(end, b' ');
    }
    tag.extend([0, 7, 32]);
    check(
        "id3v1",
        &[sine("mp3"), &tag].concat(),
        &[
            (Field::Title, &["Elise"]),
            (Field::Artist, &["Ann"]),
            (Field::Album, &["Ba"]),
            (Field::Date, &["1810"]),
            (Field::Comment, &["Nice"]),
            (Field::TrackNumber, &["7"]),
            (Field::Genre, &["Classical"]),
        ],
    );
}
