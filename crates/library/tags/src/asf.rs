//! Windows Media Audio: the header of an ASF file, and the location of its audio. In the table, `@`
//! precedes the offset of a field in bytes: in `object`, `header` and `data object` from the
//! object's start, otherwise from the start of the object's content.
//!
//! ```text
//! object: @0 GUID · @16 length of the whole object in bytes u64 · @24 content
//! header: @24 number of objects u32 · @28 reserved · @30 objects
//! data object, after the header: @24 file id · … · @50 packets
//! file properties: @0 file id · @40 duration u64, in units of 100 ns · @56 preroll u64, in ms
//!                  @64 flags u32; flag 1 means broadcast
//! stream properties: @0 kind · @16 … · @54 codec u16 · @56 channels u16 · @58 sample rate u32
//!                    @62 bytes per second u32 · @66 frame u16 · @68 bits per sample u16
//! content description: @0 five lengths u16 · title, author, copyright, description, rating
//! extended description: @0 count u16 · name length u16 · name · kind u16 · length u16 · value
//! header extension: @18 length u32 · @22 objects
//! metadata library: @0 count u16 · language u16 · stream u16 · name length u16 · kind u16
//!                   length u32 · name · value
//! ```
//! Little-endian, texts in UTF-16. Source: Microsoft's Advanced Systems Format specification,
//! revision 01.20.03.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container, Mime, Picture, PictureKind, Stored};
use crate::{Error, Field, Media, text, wav};
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 16] = b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c";

const FILE: &[u8; 16] = b"\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\0\xc0\x0c\x20\x53\x65";
const STREAM: &[u8; 16] = b"\x91\x07\xdc\xb7\xb7\xa9\xcf\x11\x8e\xe6\0\xc0\x0c\x20\x53\x65";
const AUDIO: &[u8; 16] = b"\x40\x9e\x69\xf8\x4d\x5b\xcf\x11\xa8\xfd\0\x80\x5f\x5c\x44\x2b";
const CONTENT: &[u8; 16] = b"\x33\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c";
const EXTENDED: &[u8; 16] = b"\x40\xa4\xd0\xd2\x07\xe3\xd2\x11\x97\xf0\0\xa0\xc9\x5e\xa8\x50";
const EXTENSION: &[u8; 16] = b"\xb5\x03\xbf\x5f\x2e\xa9\xcf\x11\x8e\xe3\0\xc0\x0c\x20\x53\x65";
const METADATA: &[u8; 16] = b"\xea\xcb\xf8\xc5\xaf\x5b\x77\x48\x84\x67\xaa\x8c\x44\xfa\x4c\xca";
const LIBRARY: &[u8; 16] = b"\x94\x1c\x23\x44\x98\x94\xd1\x49\xa1\x41\x1d\x13\x4e\x45\x70\x54";

const HEAD_BYTES: u64 = 24;
/// Bytes of the header before its objects.
const HEADER_BYTES: u64 = 30;
/// Bytes of the data object before its packets.
const DATA_BYTES: u64 = 50;
const BROADCAST: u32 = 1;

/// Maximum bytes of a value's name; values with longer names are ignored.
const NAME_BYTES_MAX: usize = 128;
/// Number of bytes that are read from the start of a picture's value. The fields before the picture
/// are within these bytes.
const PICTURE_HEAD_BYTES: u64 = 512;

/// Types of values, as numbered in the file.
const UNICODE: u16 = 0;
const BYTES: u16 = 1;

/// Names of values, without their prefix `WM/`, that differ from the names in other formats.
const NAMES: &[(&str, Field)] = &[
    ("AlbumTitle", Field::Album),
    ("Author", Field::Artist),
    ("BeatsPerMinute", Field::Bpm),
    ("CatalogNo", Field::CatalogNumber),
    ("ContentGroupDescription", Field::Grouping),
    ("IsCompilation", Field::Compilation),
    ("ModifiedBy", Field::Remixer),
    ("OriginalReleaseTime", Field::OriginalDate),
    ("OriginalReleaseYear", Field::OriginalDate),
    ("PartOfSet", Field::DiscNumber),
    ("SetSubTitle", Field::DiscSubtitle),
];

/// Fields of the header from which the duration is computed.
#[derive(Default)]
struct Times {
    id: [u8; 16],
    duration_ms: u64,
    is_live: bool,
    bytes_per_second: u32,
}

pub(crate) fn read(input: &mut Input<'_>) -> Result<Media, Error> {
    let mut media = Media::new(Container::Asf, Codec::Other);
    let mut times = Times::default();
    let bytes = u64::from_le_bytes(input.array(16)?);
    if bytes < HEADER_BYTES || input.len() < bytes {
        return Err(Error::truncated("the ASF header is truncated"));
    }
    objects(input, HEADER_BYTES..bytes, true, &mut times, &mut media)?;
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed("the ASF file has no audio stream"));
    }
    let start = bytes.saturating_add(DATA_BYTES).min(input.len());
    let data = start..input.len();
    let data_bytes = data.end - data.start;
    if times.is_live || times.duration_ms == 0 {
        let ms = u128::from(data_bytes) * 1000 / u128::from(times.bytes_per_second.max(1));
        times.duration_ms = u64::try_from(ms).unwrap_or(u64::MAX);
        media.audio.exact = false;
    }
    let samples = u128::from(times.duration_ms) * u128::from(media.audio.sample_rate_hz) / 1000;
    let samples = u64::try_from(samples).unwrap_or(u64::MAX);
    media.audio.measure(samples, data_bytes);
    let sampled = wav::sampled(input, "asf", &data)?;
    media.audio_hash = AudioHash::of("asf", sampled.0, &times.id);
    Ok(media)
}

/// Reads the objects in a range. A header extension is an object that contains further objects. It
/// is read only if `is_outer` is true, so the nesting is bounded.
fn objects(
    input: &mut Input<'_>,
    range: Range<u64>,
    is_outer: bool,
    times: &mut Times,
    media: &mut Media,
) -> Result<(), Error> {
    let mut at = range.start;
    while at + HEAD_BYTES <= range.end {
        input.part()?;
        let kind: [u8; 16] = input.array(at)?;
        let bytes = u64::from_le_bytes(input.array(at + 16)?);
        let end = at.checked_add(bytes).filter(|end| *end <= range.end);
        let Some(end) = end.filter(|_| HEAD_BYTES <= bytes) else {
            media.issue("an ASF object is longer than its parent");
            break;
        };
        let body = at + HEAD_BYTES..end;
        at = end;
        let read = match &kind {
            FILE => file(input, &body, times),
            STREAM => stream(input, &body, times, media),
            CONTENT => content(input, &body, media),
            EXTENDED => values(input, &body, false, media),
            METADATA | LIBRARY => values(input, &body, true, media),
            EXTENSION if is_outer => {
                let inner = (body.start + 22).min(body.end)..body.end;
                objects(input, inner, false, times, media)
            }
            _ => Ok(()),
        };
        match read {
            Err(err) if err.is_local() => media.issue("an ASF object is malformed"),
            other => other?,
        }
    }
    Ok(())
}

fn file(input: &mut Input<'_>, body: &Range<u64>, times: &mut Times) -> Result<(), Error> {
    times.id = input.field(body, 0)?;
    let duration_ms = u64::from_le_bytes(input.field(body, 40)?) / 10_000;
    let preroll_ms = u64::from_le_bytes(input.field(body, 56)?);
    times.duration_ms = duration_ms.saturating_sub(preroll_ms);
    times.is_live = u32::from_le_bytes(input.field(body, 64)?) & BROADCAST != 0;
    Ok(())
}

/// Reads the properties of a stream, if it is the first audio stream.
fn stream(
    input: &mut Input<'_>,
    body: &Range<u64>,
    times: &mut Times,
    media: &mut Media,
) -> Result<(), Error> {
    if media.audio.sample_rate_hz != 0 || &input.field(body, 0)? != AUDIO {
        return Ok(());
    }
    let half = |input: &mut Input<'_>, at| input.field(body, at).map(u16::from_le_bytes);
    media.audio.codec = match half(input, 54)? {
        0x0a | 0x160..=0x163 => Codec::Wma,
        0x55 => Codec::Mp3,
        _ => Codec::Other,
    };
    media.audio.channels = half(input, 56)?;
    media.audio.sample_rate_hz = u32::from_le_bytes(input.field(body, 58)?);
    times.bytes_per_second = u32::from_le_bytes(input.field(body, 62)?);
    // Only the lossless codec, 0x163, has a meaningful bit depth.
    if half(input, 54)? == 0x163 {
        media.audio.bits = u8::try_from(half(input, 68)?).unwrap_or(0);
    }
    Ok(())
}

fn content(input: &mut Input<'_>, body: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    let fields = [
        Field::Title,
        Field::Artist,
        Field::Copyright,
        Field::Comment,
    ];
    let lengths: [u8; 10] = input.field(body, 0)?;
    let (lengths, _) = lengths.as_chunks::<2>();
    let mut at = body.start + 10;
    for (field, length) in fields.into_iter().zip(lengths) {
        let bytes = u64::from(u16::from_le_bytes(*length));
        let value = at..(at + bytes).min(body.end);
        at += bytes;
        push(input, &value, field, media)?;
    }
    Ok(())
}

/// Reads named values. In the metadata library each value also has a stream number, and the name
/// follows the lengths of the name and the value.
fn values(
    input: &mut Input<'_>,
    body: &Range<u64>,
    is_library: bool,
    media: &mut Media,
) -> Result<(), Error> {
    let count = u16::from_le_bytes(input.field(body, 0)?);
    let mut at = body.start + 2;
    for _ in 0..count {
        input.part()?;
        input.limits.admit(&media.tags)?;
        let here = at..body.end;
        let half = |input: &mut Input<'_>, skip| {
            let half = input.field(&here, skip).map(u16::from_le_bytes);
            half.map(u64::from)
        };
        let (name, kind, value_at, bytes) = if is_library {
            let name_bytes = half(input, 4)?;
            let bytes = u32::from_le_bytes(input.field(&here, 8)?);
            let name = at + 12..at + 12 + name_bytes;
            (name.clone(), half(input, 6)?, name.end, u64::from(bytes))
        } else {
            let name_bytes = half(input, 0)?;
            let name = at + 2..at + 2 + name_bytes;
            let (kind, bytes) = (half(input, 2 + name_bytes)?, half(input, 4 + name_bytes)?);
            (name.clone(), kind, name.end + 4, bytes)
        };
        let value = value_at..value_at + bytes;
        if body.end < value.end {
            return Err(Error::malformed("a value is longer than its ASF object"));
        }
        at = value.end;
        value_of(input, &name, kind as u16, &value, media)?;
    }
    Ok(())
}

fn value_of(
    input: &mut Input<'_>,
    name: &Range<u64>,
    kind: u16,
    value: &Range<u64>,
    media: &mut Media,
) -> Result<(), Error> {
    let bytes = ((name.end - name.start) as usize).min(NAME_BYTES_MAX);
    let mut text = String::new();
    text::utf16(input.bytes(name.start, bytes)?, false, &mut text);
    let name = text.trim_end_matches('\0');
    if name == "WM/Picture" && kind == BYTES {
        return picture(input, value, media);
    }
    // `WM/Track` counts from zero and is ignored in favour of `WM/TrackNumber`.
    if name == "WM/Track" {
        return Ok(());
    }
    let name = name.strip_prefix("WM/").unwrap_or(name);
    let mut names = NAMES.iter();
    let known = names.find(|(known, _)| known.eq_ignore_ascii_case(name));
    let field = known.map(|(_, field)| *field);
    let Some(field) = field.or_else(|| Field::from_key(name.as_bytes())) else {
        return Ok(());
    };
    match kind {
        UNICODE => push(input, value, field, media),
        BYTES => Ok(()),
        // All other types are integers of two to eight bytes.
        _ => {
            let bytes = ((value.end - value.start) as usize).min(8);
            let bytes = input.bytes(value.start, bytes)?.iter().rev();
            let number = bytes.fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
            media.tags.push(field, &number.to_string());
            Ok(())
        }
    }
}

fn push(
    input: &mut Input<'_>,
    value: &Range<u64>,
    field: Field,
    media: &mut Media,
) -> Result<(), Error> {
    let bytes = value.end.saturating_sub(value.start);
    let limit = input.limits.value_bytes_max as u64;
    if limit < bytes {
        media.issue("the value of a tag is longer than the limit; only its beginning is kept");
    }
    let mut text = String::new();
    let value = input.bytes(value.start, bytes.min(limit) as usize)?;
    text::utf16(value, false, &mut text);
    // Some writers repeat the content description in the extended content description, so a text
    // that the field already has is not added again.
    let text = text.trim_end_matches('\0');
    if !media.tags.all(field).any(|known| known == text) {
        media.tags.push(field, text);
    }
    Ok(())
}

/// Reads a picture, whose value consists of: kind u8 · length u32 · media type and terminator ·
/// description and terminator · picture.
fn picture(input: &mut Input<'_>, value: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    if input.limits.pictures_max <= media.pictures.len() {
        media.issue("the file has more pictures than the limit allows");
        return Ok(());
    }
    let bytes = (value.end - value.start).min(PICTURE_HEAD_BYTES);
    let head = input.bytes(value.start, bytes as usize)?;
    let end_of = |at: usize| {
        let (units, _) = head.get(at..)?.as_chunks::<2>();
        Some(at + 2 * units.iter().position(|unit| *unit == [0, 0])?)
    };
    let ends = end_of(5).and_then(|mime| Some((mime, end_of(mime + 2)? + 2)));
    let Some((mime_end, skip)) = ends else {
        media.issue("a picture in the ASF file is malformed");
        return Ok(());
    };
    let mut mime = String::new();
    text::utf16(&head[5..mime_end], false, &mut mime);
    media.pictures.push(Picture {
        kind: PictureKind(head[0]),
        mime: Mime::parse(mime.as_bytes()),
        stored: Stored::Plain,
        offset: value.start + skip as u64,
        bytes: value.end - value.start - skip as u64,
        skip: 0,
    });
    Ok(())
}
