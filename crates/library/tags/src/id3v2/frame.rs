//! One frame of an ID3v2 tag: the meaning of its id, and its text.

use super::undo;
use crate::input::Input;
use crate::media::{Mime, Picture, PictureKind, Stored};
use crate::{Error, Field, Limits, Media, Tags, genres, text};
use std::ops::Range;

/// The header of a frame.
pub(super) struct Frame {
    pub(super) version: u8,
    /// Frame id; the three letters of version 2.2 have a zero byte appended.
    pub(super) name: [u8; 4],
    /// Second byte of the frame's flags; it describes the encoding of the content.
    pub(super) flags: u8,
    /// True if the 2.4 tag marks every frame as unsynchronised, regardless of the frame's own flag.
    pub(super) tag_unsynchronised: bool,
}

/// Text frames: their ids in version 2.2 and in later versions, and their fields.
const TEXTS: &[(&[u8; 3], &[u8; 4], Field)] = &[
    (b"TAL", b"TALB", Field::Album),
    (b"TBP", b"TBPM", Field::Bpm),
    (b"TCM", b"TCOM", Field::Composer),
    (b"TCO", b"TCON", Field::Genre),
    (b"TCP", b"TCMP", Field::Compilation),
    (b"TCR", b"TCOP", Field::Copyright),
    (b"TEN", b"TENC", Field::EncodedBy),
    (b"TLA", b"TLAN", Field::Language),
    (b"TMT", b"TMED", Field::Media),
    (b"TOR", b"TORY", Field::OriginalDate),
    (b"TP1", b"TPE1", Field::Artist),
    (b"TP2", b"TPE2", Field::AlbumArtist),
    (b"TP3", b"TPE3", Field::Conductor),
    (b"TP4", b"TPE4", Field::Remixer),
    (b"TPA", b"TPOS", Field::DiscNumber),
    (b"TPB", b"TPUB", Field::Label),
    (b"TRC", b"TSRC", Field::Isrc),
    (b"TRK", b"TRCK", Field::TrackNumber),
    (b"TS2", b"TSO2", Field::AlbumArtistSort),
    (b"TSA", b"TSOA", Field::AlbumSort),
    (b"TSC", b"TSOC", Field::ComposerSort),
    (b"TSP", b"TSOP", Field::ArtistSort),
    (b"TST", b"TSOT", Field::TitleSort),
    (b"TT1", b"TIT1", Field::Grouping),
    (b"TT2", b"TIT2", Field::Title),
    (b"TT3", b"TIT3", Field::Subtitle),
    (b"TXT", b"TEXT", Field::Lyricist),
    (b"TYE", b"TYER", Field::Date),
    (b"GP1", b"GRP1", Field::Grouping),
    (b"MVN", b"MVNM", Field::MovementName),
    (b"---", b"TDOR", Field::OriginalDate),
    (b"---", b"TDRC", Field::Date),
    (b"---", b"TDRL", Field::ReleaseDate),
    (b"---", b"TMOO", Field::Mood),
    (b"---", b"TSST", Field::DiscSubtitle),
];

/// Bytes read from the start of a picture frame. They contain the fields before the picture, unless
/// its description is long.
const PICTURE_HEAD_BYTES: usize = 512;
/// Owner that marks a unique file identifier as the id of a MusicBrainz recording.
const MUSICBRAINZ: &[u8] = b"http://musicbrainz.org\0";

/// Text encodings, by their number in the frame.
const LATIN1: u8 = 0;
const UTF16: u8 = 1;
const UTF16_BE: u8 = 2;

/// Fields that precede the picture in a picture frame.
pub(super) struct PictureHead {
    kind: PictureKind,
    mime: Mime,
    /// Bytes of the body before the picture; `None` if the fields are broken.
    skip: Option<u64>,
    unsynchronised: bool,
}

/// Parts of a date, which versions 2.2 and 2.3 store in separate frames.
#[derive(Default)]
pub(super) struct OldDate {
    year: String,
    /// Day and month, two digits each.
    day: String,
}

impl OldDate {
    pub(super) fn finish(self, tags: &mut Tags) {
        let date = match (self.year.as_bytes(), self.day.as_bytes()) {
            ([_, _, _, _], &[d1, d0, m1, m0]) if self.day.bytes().all(|b| b.is_ascii_digit()) => {
                let [d1, d0, m1, m0] = [d1, d0, m1, m0].map(char::from);
                format!("{}-{m1}{m0}-{d1}{d0}", self.year)
            }
            _ => self.year,
        };
        if tags.first(Field::Date).is_none() {
            tags.push(Field::Date, &date);
        }
    }
}

impl Frame {
    /// Returns the length of the fields that precede the content according to the frame's flags.
    /// Returns `None` if the content is compressed or encrypted.
    fn extra_bytes(&self) -> Option<u64> {
        let (group, scrambled, length) = match self.version {
            3 => (0x20, 0xc0, 0),
            4 => (0x40, 0x0c, 0x01),
            _ => return Some(0),
        };
        if self.flags & scrambled != 0 {
            return None;
        }
        let group_bytes = u64::from(self.flags & group != 0);
        let length_bytes = if self.flags & length != 0 { 4 } else { 0 };
        Some(group_bytes + length_bytes)
    }

    fn unsynchronised(&self) -> bool {
        self.version == 4 && (self.flags & 0x02 != 0 || self.tag_unsynchronised)
    }

    /// Reads the fields before the picture of a picture frame whose body begins at `at`:
    ///
    /// ```text
    /// encoding u8 · media type and zero byte, or three letters in version 2.2 · kind u8 ·
    /// description and terminator · picture
    /// ```
    pub(super) fn picture_head(
        &self,
        input: &mut Input<'_>,
        at: u64,
        tag_end: u64,
    ) -> Result<Option<PictureHead>, Error> {
        if !matches!(&self.name, b"APIC" | b"PIC\0") {
            return Ok(None);
        }
        let unsynchronised = self.unsynchronised();
        let broken = PictureHead {
            kind: PictureKind::OTHER,
            mime: Mime::Unknown,
            skip: None,
            unsynchronised,
        };
        let Some(extra) = self.extra_bytes() else {
            return Ok(Some(broken));
        };
        let room = tag_end
            .saturating_sub(at + extra)
            .min(PICTURE_HEAD_BYTES as u64);
        let head = input.up_to(at + extra, room as usize)?;
        let Some((encoding, rest)) = head.split_first() else {
            return Ok(Some(broken));
        };
        let is_short = self.name == *b"PIC\0";
        let mime_end = match is_short {
            true => Some(3),
            false => rest.iter().position(|&byte| byte == 0),
        };
        let kind_at = mime_end.map(|end| if is_short { end } else { end + 1 });
        let Some((mime, kind, described)) = mime_end.zip(kind_at).and_then(|(end, kind_at)| {
            Some((
                rest.get(..end)?,
                *rest.get(kind_at)?,
                rest.get(kind_at + 1..)?,
            ))
        }) else {
            return Ok(Some(broken));
        };
        let picture = split_terminated(*encoding, described).map(|(_, picture)| picture);
        let skip = picture.map(|picture| extra + (head.len() - picture.len()) as u64);
        Ok(Some(PictureHead {
            kind: PictureKind(kind),
            mime: Mime::parse(mime),
            skip,
            unsynchronised,
        }))
    }

    /// Reads a frame other than a picture.
    pub(super) fn read(
        &self,
        input: &mut Input<'_>,
        body: Range<u64>,
        (tags, dates): (&mut Tags, &mut OldDate),
        media: &mut Media,
    ) -> Result<(), Error> {
        if !self.is_wanted() || body.is_empty() {
            return Ok(());
        }
        let Some(extra) = self.extra_bytes() else {
            media.issue("a frame of the ID3 tag is compressed or encrypted, and is skipped");
            return Ok(());
        };
        let limits = input.limits;
        limits.admit(tags)?;
        let bytes = (body.end - body.start).saturating_sub(extra);
        if limits.value_bytes_max as u64 <= bytes {
            media.issue("the value of a tag is longer than the limit; only its beginning is kept");
        }
        let kept = bytes.min(limits.value_bytes_max as u64) as usize;
        let content = input.bytes(body.start + extra, kept)?;
        if self.unsynchronised() {
            let mut plain = Vec::new();
            undo(content, &mut false, &mut plain);
            self.content(&plain, tags, dates);
        } else {
            self.content(content, tags, dates);
        }
        Ok(())
    }

    fn is_wanted(&self) -> bool {
        self.name[0] == b'T'
            || matches!(
                &self.name,
                b"COMM" | b"COM\0" | b"USLT" | b"ULT\0" | b"SYLT" | b"SLT\0" | b"UFID" | b"UFI\0"
            )
            || matches!(
                &self.name,
                b"IPLS" | b"IPL\0" | b"RVA2" | b"GRP1" | b"GP1\0" | b"MVNM" | b"MVN\0"
            )
    }

    fn content(&self, content: &[u8], tags: &mut Tags, dates: &mut OldDate) {
        match &self.name {
            b"COMM" | b"COM\0" => described(content, tags, Field::Comment),
            b"USLT" | b"ULT\0" => described(content, tags, Field::Lyrics),
            b"SYLT" | b"SLT\0" => timed_lyrics(content, tags),
            b"UFID" | b"UFI\0" => {
                if let Some(id) = content.strip_prefix(MUSICBRAINZ) {
                    tags.push(Field::RecordingId, &String::from_utf8_lossy(id));
                }
            }
            b"TXXX" | b"TXX\0" => user_text(content, tags),
            b"TIPL" | b"TMCL" | b"IPLS" | b"IPL\0" => people(content, tags),
            b"RVA2" => volume(content, tags),
            b"TDAT" | b"TDA\0" => dates.day = texts(content).remove(0),
            b"TYER" | b"TYE\0" => dates.year = texts(content).remove(0),
            _ => self.text(content, tags),
        }
    }

    fn text(&self, content: &[u8], tags: &mut Tags) {
        let mut rows = TEXTS.iter();
        let row = rows.find(|(old, new, _)| {
            **new == self.name || self.name[3] == 0 && **old == self.name[..3]
        });
        let Some((_, _, field)) = row else {
            return;
        };
        for value in texts(content) {
            match field {
                Field::Genre => genre(&value, tags),
                _ => tags.push(*field, &value),
            }
        }
    }
}

impl PictureHead {
    pub(super) fn report(self, body: Range<u64>, limits: &Limits, media: &mut Media) {
        let bytes = body.end - body.start;
        match self.skip {
            Some(skip) if skip <= bytes && media.pictures.len() < limits.pictures_max => {
                media.pictures.push(Picture {
                    kind: self.kind,
                    mime: self.mime,
                    stored: match self.unsynchronised {
                        true => Stored::Unsynchronised,
                        false => Stored::Plain,
                    },
                    offset: body.start + skip,
                    bytes: bytes - skip,
                    skip: 0,
                });
            }
            Some(skip) if skip <= bytes => {
                media.issue("the file has more pictures than the limit allows")
            }
            _ => media.issue("a picture frame of the ID3 tag is malformed"),
        }
    }
}

/// Splits `bytes` after the first string in this encoding, and drops the terminator of the string.
fn split_terminated(encoding: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    if matches!(encoding, UTF16 | UTF16_BE) {
        let (units, _) = bytes.as_chunks::<2>();
        let end = units.iter().position(|unit| *unit == [0, 0])?;
        return Some((&bytes[..2 * end], &bytes[2 * end + 2..]));
    }
    let end = bytes.iter().position(|&byte| byte == 0)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

fn decode(encoding: u8, bytes: &[u8]) -> String {
    let mut out = String::new();
    match encoding {
        LATIN1 => text::latin1(bytes, &mut out),
        UTF16 => text::utf16(bytes, false, &mut out),
        UTF16_BE => text::utf16(bytes, true, &mut out),
        _ => text::utf8(bytes, &mut out),
    }
    out
}

/// Returns the strings of a text frame: at least one, possibly empty. If only the first string has
/// a byte order mark, as some writers do, the mark applies to all strings.
fn texts(content: &[u8]) -> Vec<String> {
    let Some((&encoding, mut rest)) = content.split_first() else {
        return vec![String::new()];
    };
    let big_endian = rest.starts_with(&[0xfe, 0xff]);
    let encoding = if encoding == UTF16 && big_endian {
        UTF16_BE
    } else {
        encoding
    };
    let mut texts = Vec::new();
    while let Some((one, behind)) = split_terminated(encoding, rest) {
        texts.push(decode(encoding, one));
        rest = behind;
    }
    if !rest.is_empty() || texts.is_empty() {
        texts.push(decode(encoding, rest));
    }
    texts
}

/// Reads a frame that consists of an encoding, a language code of three letters, a description and
/// a text. Skips a comment with a description, because such a comment is meant for programs.
fn described(content: &[u8], tags: &mut Tags, field: Field) {
    let Some((&encoding, rest)) = content.split_first() else {
        return;
    };
    let rest = rest.get(3..).unwrap_or_default();
    let Some((description, rest)) = split_terminated(encoding, rest) else {
        return;
    };
    let description = decode(encoding, description);
    if field == Field::Lyrics || description.trim().is_empty() {
        tags.push(field, &decode(encoding, rest));
    }
}

/// Reads synchronised lyrics, and stores them in the LRC format. The content is: encoding, language
/// code of three letters, time unit (2: milliseconds), content type (0: other, 1: lyrics, 2: a
/// transcription), description, then strings, each with a timestamp. A string is a line. But if any
/// string contains a line end, the strings are only parts of lines.
fn timed_lyrics(content: &[u8], tags: &mut Tags) {
    let [encoding, _, _, _, 2, 0..=2, rest @ ..] = content else {
        return;
    };
    let mut texts = Vec::new();
    let mut rest = split_terminated(*encoding, rest).map(|(_, rest)| rest);
    while let Some((text, behind)) = rest.and_then(|rest| split_terminated(*encoding, rest))
        && let Some((time, behind)) = behind.split_first_chunk()
    {
        texts.push((u32::from_be_bytes(*time), decode(*encoding, text)));
        rest = Some(behind);
    }
    let is_words = texts.iter().any(|(_, text)| text.contains('\n'));
    let mut lines: Vec<(u32, String)> = Vec::new();
    let mut begins = true;
    for (ms, text) in texts {
        match lines.last_mut() {
            Some((_, line)) if is_words && !begins && !text.starts_with('\n') => *line += &text,
            _ => lines.push((ms, text.clone())),
        }
        begins = text.ends_with('\n');
    }
    let mut lrc = String::new();
    for (ms, line) in lines {
        let (minutes, seconds, ms) = (ms / 60_000, ms / 1000 % 60, ms % 1000);
        let line: Vec<&str> = line.split_whitespace().collect();
        lrc += &format!("[{minutes:02}:{seconds:02}.{ms:03}]{}\n", line.join(" "));
    }
    tags.push(Field::Lyrics, &lrc);
}

/// Reads a user-defined text frame: encoding, description (the key) and values.
fn user_text(content: &[u8], tags: &mut Tags) {
    let mut texts = texts(content).into_iter();
    let field = texts.next().and_then(|key| Field::from_key(key.as_bytes()));
    let Some(field) = field else {
        return;
    };
    for value in texts {
        tags.push(field, &value);
    }
}

/// Reads a list of people: pairs of a role and a name.
fn people(content: &[u8], tags: &mut Tags) {
    for pair in texts(content).chunks_exact(2) {
        let [part, name] = pair else { continue };
        let field = match part.to_ascii_lowercase().as_str() {
            "arranger" => Field::Arranger,
            "dj-mix" => Field::DjMixer,
            "engineer" => Field::Engineer,
            "mix" => Field::Mixer,
            "producer" => Field::Producer,
            "" => continue,
            _ => {
                tags.push(Field::Performer, &format!("{name} ({part})"));
                continue;
            }
        };
        tags.push(field, name);
    }
}

/// Reads `RVA2`: a name, a zero byte, and for each channel its type u8, its gain i16 in 1/512 dB,
/// and its peak. Channel type 1 is the master volume.
fn volume(content: &[u8], tags: &mut Tags) {
    let Some((name, rest)) = split_terminated(LATIN1, content) else {
        return;
    };
    let field = match name.to_ascii_lowercase().as_slice() {
        b"track" => Field::TrackGain,
        b"album" => Field::AlbumGain,
        _ => return,
    };
    if let [1, high, low, ..] = *rest {
        let gain = f64::from(i16::from_be_bytes([high, low])) / 512.0;
        tags.push(field, &format!("{gain:.2} dB"));
    }
}

/// Parses a genre in the notations `Genre`, `17`, `(17)`, `(4)Eurodisco`, `(51)(39)` and
/// `((Foot)notes`.
fn genre(value: &str, tags: &mut Tags) {
    let mut names: Vec<&str> = Vec::new();
    let mut rest = value;
    while let Some(behind) = rest.strip_prefix('(')
        && let Some((number, next)) = behind.split_once(')')
        && let Some(name) = genres::referred(number)
    {
        if !names.contains(&name) {
            names.push(name);
        }
        rest = next;
    }
    let rest = rest.strip_prefix("((").map_or(rest, |_| &rest[1..]);
    let last = genres::referred(rest).unwrap_or(rest);
    if !names.contains(&last) {
        names.push(last);
    }
    for name in names {
        tags.push(Field::Genre, name);
    }
}
