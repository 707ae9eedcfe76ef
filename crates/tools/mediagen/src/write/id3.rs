//! ID3 tags: ID3v2 in three versions, and ID3v1.

use crate::art::Cover;
use crate::plan::Song;
use crate::random::Random;

/// Frame names by field, in versions 2.2, 2.3 and 2.4. Fields of [`USER_TEXTS`] are written as
/// user-defined text frames with a description.
const FRAMES: &[(&str, &str, &str, &str)] = &[
    ("title", "TT2", "TIT2", "TIT2"),
    ("artist", "TP1", "TPE1", "TPE1"),
    ("album", "TAL", "TALB", "TALB"),
    ("albumartist", "TP2", "TPE2", "TPE2"),
    ("tracknumber", "TRK", "TRCK", "TRCK"),
    ("discnumber", "TPA", "TPOS", "TPOS"),
    ("date", "TYE", "TYER", "TDRC"),
    ("genre", "TCO", "TCON", "TCON"),
    ("composer", "TCM", "TCOM", "TCOM"),
    ("compilation", "TCP", "TCMP", "TCMP"),
];
const USER_TEXTS: &[(&str, &str)] = &[
    ("artists", "ARTISTS"),
    ("musicbrainz_albumid", "MusicBrainz Album Id"),
    ("musicbrainz_artistid", "MusicBrainz Artist Id"),
    ("musicbrainz_releasetrackid", "MusicBrainz Release Track Id"),
    ("replaygain_track_gain", "REPLAYGAIN_TRACK_GAIN"),
];

/// Returns an ID3v2 tag in a random version.
pub(super) fn tag(song: &Song, cover: Option<&Cover>, random: &mut Random) -> Vec<u8> {
    let version = match random.below(20) {
        0 => 2,
        1..11 => 3,
        _ => 4,
    };
    let mut frames = Vec::new();
    let mut names: Vec<&str> = song.fields.iter().map(|(name, _)| *name).collect();
    names.dedup();
    for name in names {
        let values = song.fields.iter().filter(|(other, _)| *other == name);
        let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
        frames.push(frame(version, name, &values));
    }
    if let Some(cover) = cover {
        let at = if random.percent(10) { 0 } else { frames.len() };
        frames.insert(at, picture(version, cover));
    }
    let mut body = frames.concat();
    if random.percent(80) {
        body.resize(body.len() + random.within(0, 4096), 0);
    }
    let mut out = vec![b'I', b'D', b'3', version, 0, 0];
    out.extend(synchsafe(body.len()));
    out.extend(body);
    out
}

fn synchsafe(length: usize) -> [u8; 4] {
    [length >> 21, length >> 14, length >> 7, length].map(|part| part as u8 & 0x7f)
}

fn framed(version: u8, name: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let mut out = name.as_bytes().to_vec();
    match version {
        2 => out.extend(&(length as u32).to_be_bytes()[1..]),
        3 => out.extend((length as u32).to_be_bytes()),
        _ => out.extend(synchsafe(length)),
    }
    if version != 2 {
        out.extend([0, 0]);
    }
    out.extend(body);
    out
}

/// Returns the code of the text encoding, the encoded texts, and the length of a terminator in
/// bytes. Version 2.4 uses UTF-8. Older versions use Latin-1 if it has all characters of the texts,
/// and UTF-16 otherwise.
fn encoded(version: u8, texts: &[&str]) -> (u8, Vec<Vec<u8>>, usize) {
    let is_latin = texts
        .iter()
        .all(|text| text.chars().all(|letter| (letter as u32) < 256));
    match version {
        4 => (
            3,
            texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
            1,
        ),
        _ if is_latin => {
            let latin = |text: &&str| text.chars().map(|letter| letter as u8).collect();
            (0, texts.iter().map(latin).collect(), 1)
        }
        _ => {
            let utf16 = |text: &&str| {
                let units = text.encode_utf16().flat_map(u16::to_le_bytes);
                [0xff, 0xfe].into_iter().chain(units).collect()
            };
            (1, texts.iter().map(utf16).collect(), 2)
        }
    }
}

fn frame(version: u8, name: &str, values: &[&str]) -> Vec<u8> {
    let plain = FRAMES.iter().find(|(field, ..)| *field == name);
    if let Some((_, old, middle, new)) = plain {
        let (encoding, values, end) = encoded(version, values);
        let mut body = vec![encoding];
        body.extend(values.join(&vec![0; end][..]));
        let name = [old, middle, new][usize::from(version) - 2];
        return framed(version, name, &body);
    }
    if name == "lyrics" {
        let (encoding, values, end) = encoded(version, &["", values[0]]);
        let mut body = vec![encoding];
        body.extend(b"eng");
        body.extend(values.join(&vec![0; end][..]));
        return framed(version, if version == 2 { "ULT" } else { "USLT" }, &body);
    }
    let found = USER_TEXTS.iter().find(|(field, _)| *field == name);
    let description = found.expect("the plan uses no other fields").1;
    let texts: Vec<&str> = [description].iter().chain(values).copied().collect();
    let (encoding, texts, end) = encoded(version, &texts);
    let mut body = vec![encoding];
    body.extend(texts.join(&vec![0; end][..]));
    framed(version, if version == 2 { "TXX" } else { "TXXX" }, &body)
}

fn picture(version: u8, cover: &Cover) -> Vec<u8> {
    let mut body = vec![0];
    match (version, cover.is_png) {
        (2, false) => body.extend(b"JPG"),
        (2, true) => body.extend(b"PNG"),
        _ => {
            body.extend(cover.mime().as_bytes());
            body.push(0);
        }
    }
    body.extend([3, 0]);
    body.extend(&cover.bytes);
    framed(version, if version == 2 { "PIC" } else { "APIC" }, &body)
}

/// Returns an ID3v1 tag, the 128 bytes at the end of a file.
pub(super) fn old_tag(song: &Song) -> Vec<u8> {
    let mut out = b"TAG".to_vec();
    for (name, bytes) in [("title", 30), ("artist", 30), ("album", 30), ("date", 4)] {
        let value = song.fields.iter().find(|(field, _)| *field == name);
        let value = value.map_or("", |(_, value)| value.as_str());
        let latin = value
            .chars()
            .map(|letter| u8::try_from(letter as u32).unwrap_or(b'?'));
        let start = out.len();
        out.extend(latin.take(bytes));
        out.resize(start + bytes, 0);
    }
    out.resize(127, 0);
    out.push(255);
    out
}
