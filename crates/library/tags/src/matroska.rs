//! Matroska and WebM files with audio only: properties of the first audio track, tags and
//! attachments. The clusters, which contain the audio, are mostly skipped.
//!
//! ```text
//! element: id, whose leading zero bits give its width (1 to 4 bytes) ·
//!          length, also with leading zero bits (1 to 8 bytes; all ones: unknown) · content
//! EBML · Segment { SeekHead { Seek { id · position } } · Info { scale · duration · title } ·
//!        Tracks { TrackEntry { kind · codec · Audio { rate · channels · bits } } } ·
//!        Tags { Tag { Targets { level } · SimpleTag { name · text } } } ·
//!        Attachments { AttachedFile { MIME type · data } } · Cluster … }
//! ```
//! Big-endian. Elements after the clusters are found through the seek head. Sources: RFC 8794
//! (EBML), RFC 9559 (Matroska), the Matroska tag specification.

use crate::input::Input;
use crate::media::{AudioHash, Codec, Container, Mime, Picture, PictureKind, Stored};
use crate::{Error, ErrorKind, Field, Media, text};
use std::ops::Range;

pub(crate) const MAGIC: &[u8; 4] = b"\x1a\x45\xdf\xa3";

const SEGMENT: u32 = 0x1853_8067;
const SEEK_HEAD: u32 = 0x114d_9b74;
const SEEK: u32 = 0x4dbb;
const SEEK_ID: u32 = 0x53ab;
const SEEK_POSITION: u32 = 0x53ac;
const INFO: u32 = 0x1549_a966;
const SEGMENT_UID: u32 = 0x73a4;
const TIMESTAMP_SCALE: u32 = 0x2a_d7b1;
const DURATION: u32 = 0x4489;
const TITLE: u32 = 0x7ba9;
const TRACKS: u32 = 0x1654_ae6b;
const TRACK_ENTRY: u32 = 0xae;
const TRACK_TYPE: u32 = 0x83;
const CODEC_ID: u32 = 0x86;
const AUDIO: u32 = 0xe1;
const SAMPLING_FREQUENCY: u32 = 0xb5;
const CHANNELS: u32 = 0x9f;
const BIT_DEPTH: u32 = 0x6264;
const TAGS: u32 = 0x1254_c367;
const TAG: u32 = 0x7373;
const TARGETS: u32 = 0x63c0;
const TARGET_TYPE_VALUE: u32 = 0x68ca;
const SIMPLE_TAG: u32 = 0x67c8;
const TAG_NAME: u32 = 0x45a3;
const TAG_STRING: u32 = 0x4487;
const ATTACHMENTS: u32 = 0x1941_a469;
const ATTACHED_FILE: u32 = 0x61a7;
const FILE_MIME_TYPE: u32 = 0x4660;
const FILE_DATA: u32 = 0x465c;
const CUES: u32 = 0x1c53_bb6b;
const CLUSTER: u32 = 0x1f43_b675;
const TIMESTAMP: u32 = 0xe7;
const SIMPLE_BLOCK: u32 = 0xa3;
const BLOCK_GROUP: u32 = 0xa0;
const BLOCK: u32 = 0xa1;

/// Types of tracks, as numbered in the file.
const VIDEO: u64 = 1;
const SOUND: u64 = 2;
/// Levels at which a tag applies, as numbered in the file: the album, or a part of the album.
const ALBUM: u64 = 50;
const PART: u64 = 40;
/// Nanoseconds per tick, unless the segment states another scale.
const SCALE_NS: u64 = 1_000_000;
/// Maximum bytes of an element header.
const HEAD_BYTES: usize = 12;
/// Maximum bytes of the name of a codec, a tag or a MIME type; longer names are ignored.
const NAME_BYTES_MAX: u64 = 64;
/// Maximum number of elements that are read after the clusters.
const SEEKS_MAX: usize = 16;
/// Maximum bytes before the end of the file that are searched for the last cluster.
const TAIL_BYTES_MAX: u64 = 1 << 20;
/// Bytes read per step of the search for the last cluster.
const STEP_BYTES: u64 = 64 << 10;
/// Number of bytes of the first cluster that are included in the audio hash.
const SOUND_BYTES: usize = 256;

/// One element: its id and its body.
struct Element {
    id: u32,
    body: Range<u64>,
}

/// Values found so far while the segment is read.
struct Known {
    uid: Vec<u8>,
    scale_ns: u64,
    ticks: f64,
    has_video: bool,
    /// Ids of elements and their positions, from the seek head.
    seeks: Vec<(u32, u64)>,
    seen: Vec<u32>,
}

pub(crate) fn read(input: &mut Input<'_>) -> Result<Media, Error> {
    let mut media = Media::new(Container::Matroska, Codec::Other);
    let mut known = Known {
        uid: Vec::new(),
        scale_ns: SCALE_NS,
        ticks: 0.0,
        has_video: false,
        seeks: Vec::new(),
        seen: Vec::new(),
    };
    let mut at = 0;
    let whole = 0..input.len();
    let segment = loop {
        match next(input, &mut at, &whole)? {
            Some(Element { id: SEGMENT, body }) => break body,
            Some(_) => {}
            None => return Err(Error::malformed("the Matroska file has no segment")),
        }
    };
    let mut at = segment.start;
    let (mut sound, mut sound_at) = (Vec::new(), segment.end);
    while let Some(element) = next(input, &mut at, &segment)? {
        if element.id == CLUSTER {
            sound_at = element.body.start;
            sound = input.up_to(sound_at, SOUND_BYTES)?.to_vec();
            break;
        }
        part(input, &element, &mut known, &mut media)?;
    }
    for (id, position) in std::mem::take(&mut known.seeks) {
        let mut at = segment.start.saturating_add(position);
        if !known.seen.contains(&id)
            && let Some(element) = next(input, &mut at, &segment)?
            && element.id == id
        {
            part(input, &element, &mut known, &mut media)?;
        }
    }
    if known.has_video {
        return Err(Error::malformed(
            "the Matroska file has a video track, so it is not indexed as music",
        ));
    }
    if media.audio.sample_rate_hz == 0 {
        return Err(Error::malformed("the Matroska file has no audio track"));
    }
    // If the writer of the file could not seek back to fill in the duration, the duration is taken
    // from the last cluster.
    let is_stated = 0.0 < known.ticks;
    if !is_stated && sound_at < segment.end {
        known.ticks = match last_ticks(input, &(sound_at..segment.end)) {
            Err(err) if err.kind != ErrorKind::Io => 0.0,
            ticks => ticks? as f64,
        };
    }
    // Casts saturate, and turn NaN into zero.
    let ms = (known.ticks * known.scale_ns as f64 / 1e6).round() as u64;
    let samples = u128::from(ms) * u128::from(media.audio.sample_rate_hz) / 1000;
    let samples = u64::try_from(samples).unwrap_or(u64::MAX);
    media.audio.measure(samples, segment.end - sound_at);
    media.audio.exact = is_stated && ms != 0;
    media.audio_hash = AudioHash::of("matroska", ms, &[&known.uid[..], &sound].concat());
    Ok(media)
}

/// Finds the last cluster and returns the start time of its last block.
fn last_ticks(input: &mut Input<'_>, clusters: &Range<u64>) -> Result<u64, Error> {
    let mut end = clusters.end;
    let first = end.saturating_sub(TAIL_BYTES_MAX).max(clusters.start);
    while first < end {
        let at = end.saturating_sub(STEP_BYTES).max(first);
        let bytes = input.up_to(at, (end - at) as usize + HEAD_BYTES)?;
        let heads = bytes.windows(4).take((end - at) as usize).enumerate().rev();
        let mut heads = heads.filter(|(_, head)| *head == CLUSTER.to_be_bytes());
        if let Some((skip, _)) = heads.next() {
            let mut start = at + skip as u64;
            if let Some(cluster) = next(input, &mut start, clusters)? {
                return last_block(input, &cluster.body);
            }
        }
        end = at;
    }
    // No cluster begins in the searched bytes. The last block is then searched for in the first
    // cluster, in whose content `clusters` begins.
    last_block(input, clusters)
}

/// Returns the start time of a cluster's last block.
fn last_block(input: &mut Input<'_>, cluster: &Range<u64>) -> Result<u64, Error> {
    let (mut start, mut last, mut at) = (0, 0, cluster.start);
    while let Some(element) = next(input, &mut at, cluster)? {
        let block = match element.id {
            TIMESTAMP => {
                start = unsigned(input, &element.body)?;
                continue;
            }
            SIMPLE_BLOCK => element.body,
            BLOCK_GROUP => {
                let mut inner = element.body.start;
                match next(input, &mut inner, &element.body)? {
                    Some(block) if block.id == BLOCK => block.body,
                    _ => continue,
                }
            }
            // Cue points or tags after a cluster of unknown length mark its end.
            CUES | TAGS => break,
            _ => continue,
        };
        // A block consists of the track number, nearly always one byte, and the time relative to
        // the cluster, i16, before its content.
        let since = i16::from_be_bytes(input.field(&block, 1)?);
        last = last.max(start.saturating_add_signed(since.into()));
    }
    Ok(last)
}

/// Returns the element at `at` and moves `at` past it; `None` if no element can begin there.
fn next(
    input: &mut Input<'_>,
    at: &mut u64,
    parent: &Range<u64>,
) -> Result<Option<Element>, Error> {
    input.part()?;
    if parent.end <= *at {
        return Ok(None);
    }
    let left = usize::try_from(parent.end - *at).map_or(HEAD_BYTES, |left| left.min(HEAD_BYTES));
    let head = input.up_to(*at, left)?;
    let id_bytes = head
        .first()
        .map_or(8, |first| first.leading_zeros() as usize)
        + 1;
    let size_bytes = head
        .get(id_bytes)
        .map_or(8, |first| first.leading_zeros() as usize)
        + 1;
    let size = head.get(id_bytes..id_bytes + size_bytes);
    let Some(size) = size.filter(|_| id_bytes <= 4 && size_bytes <= 8) else {
        return Ok(None);
    };
    let (id, size) = (number(&head[..id_bytes]) as u32, number(size));
    let mask = (1 << (7 * size_bytes)) - 1;
    let start = *at + (id_bytes + size_bytes) as u64;
    let end = match size & mask {
        unknown if unknown == mask => parent.end,
        bytes => start.saturating_add(bytes),
    };
    if parent.end < end && !matches!(id, SEGMENT | CLUSTER) {
        return Err(Error::truncated(
            "a Matroska element is longer than its parent",
        ));
    }
    let end = end.min(parent.end);
    *at = end;
    let body = start.min(end)..end;
    Ok(Some(Element { id, body }))
}

fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter();
    bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Reads one child of the segment. If the child is damaged, the values before the damage are kept.
fn part(
    input: &mut Input<'_>,
    element: &Element,
    known: &mut Known,
    media: &mut Media,
) -> Result<(), Error> {
    known.seen.truncate(SEEKS_MAX);
    known.seen.push(element.id);
    let body = &element.body;
    let read = match element.id {
        SEEK_HEAD => seek_head(input, body, known),
        INFO => info(input, body, known, media),
        TRACKS => tracks(input, body, known, media),
        TAGS => tags(input, body, media),
        ATTACHMENTS => attachments(input, body, media),
        _ => Ok(()),
    };
    match read {
        Err(err) if err.is_local() => {
            media.issue("a Matroska element is malformed");
            Ok(())
        }
        other => other,
    }
}

fn unsigned(input: &mut Input<'_>, body: &Range<u64>) -> Result<u64, Error> {
    let bytes = (body.end - body.start).min(8) as usize;
    Ok(number(input.bytes(body.start, bytes)?))
}

fn float(input: &mut Input<'_>, body: &Range<u64>) -> Result<f64, Error> {
    Ok(match body.end - body.start {
        4 => f32::from_be_bytes(input.array(body.start)?).into(),
        8 => f64::from_be_bytes(input.array(body.start)?),
        _ => 0.0,
    })
}

fn string(input: &mut Input<'_>, body: &Range<u64>, bytes_max: u64) -> Result<String, Error> {
    let bytes = (body.end - body.start).min(bytes_max) as usize;
    let mut out = String::new();
    text::utf8(input.bytes(body.start, bytes)?, &mut out);
    out.truncate(out.find('\0').unwrap_or(out.len()));
    Ok(out)
}

fn seek_head(input: &mut Input<'_>, body: &Range<u64>, known: &mut Known) -> Result<(), Error> {
    let mut at = body.start;
    while let Some(seek) = next(input, &mut at, body)? {
        if seek.id != SEEK || SEEKS_MAX <= known.seeks.len() {
            continue;
        }
        let (mut id, mut position, mut inner) = (0, 0, seek.body.start);
        while let Some(field) = next(input, &mut inner, &seek.body)? {
            match field.id {
                SEEK_ID => id = unsigned(input, &field.body)?,
                SEEK_POSITION => position = unsigned(input, &field.body)?,
                _ => {}
            }
        }
        known.seeks.push((id as u32, position));
    }
    Ok(())
}

fn info(
    input: &mut Input<'_>,
    body: &Range<u64>,
    known: &mut Known,
    media: &mut Media,
) -> Result<(), Error> {
    let mut at = body.start;
    while let Some(field) = next(input, &mut at, body)? {
        match field.id {
            SEGMENT_UID => {
                let bytes = (field.body.end - field.body.start).min(NAME_BYTES_MAX);
                known.uid = input.bytes(field.body.start, bytes as usize)?.to_vec();
            }
            TIMESTAMP_SCALE => known.scale_ns = unsigned(input, &field.body)?,
            DURATION => known.ticks = float(input, &field.body)?,
            TITLE => {
                let limit = input.limits.value_bytes_max as u64;
                let title = string(input, &field.body, limit)?;
                if !media.tags.has(Field::Title) {
                    media.tags.push(Field::Title, &title);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn tracks(
    input: &mut Input<'_>,
    body: &Range<u64>,
    known: &mut Known,
    media: &mut Media,
) -> Result<(), Error> {
    let mut at = body.start;
    while let Some(entry) = next(input, &mut at, body)? {
        let (mut kind, mut codec, mut audio) = (0, String::new(), None);
        let mut inner = entry.body.start;
        while entry.id == TRACK_ENTRY
            && let Some(field) = next(input, &mut inner, &entry.body)?
        {
            match field.id {
                TRACK_TYPE => kind = unsigned(input, &field.body)?,
                CODEC_ID => codec = string(input, &field.body, NAME_BYTES_MAX)?,
                AUDIO => audio = Some(field.body),
                _ => {}
            }
        }
        known.has_video |= kind == VIDEO;
        if kind == SOUND && media.audio.sample_rate_hz == 0 {
            media.audio.codec = codec_of(&codec);
            sound(input, &audio.unwrap_or(0..0), media)?;
        }
    }
    Ok(())
}

fn sound(input: &mut Input<'_>, body: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    // Defaults of RFC 9559 §5.1.4.1.29.
    (media.audio.sample_rate_hz, media.audio.channels) = (8_000, 1);
    let mut at = body.start;
    while let Some(field) = next(input, &mut at, body)? {
        match field.id {
            SAMPLING_FREQUENCY => {
                let hz = float(input, &field.body)?.round() as u32;
                media.audio.sample_rate_hz = hz.max(1);
            }
            CHANNELS => media.audio.channels = unsigned(input, &field.body)? as u16,
            BIT_DEPTH => {
                let bits = unsigned(input, &field.body)?;
                if matches!(media.audio.codec, Codec::Flac | Codec::Alac | Codec::Pcm) {
                    media.audio.bits = u8::try_from(bits).unwrap_or(0);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn codec_of(id: &str) -> Codec {
    match id {
        "A_OPUS" => Codec::Opus,
        "A_VORBIS" => Codec::Vorbis,
        "A_FLAC" => Codec::Flac,
        "A_ALAC" => Codec::Alac,
        "A_MPEG/L1" => Codec::Mp1,
        "A_MPEG/L2" => Codec::Mp2,
        "A_MPEG/L3" => Codec::Mp3,
        "A_WAVPACK4" => Codec::WavPack,
        "A_TTA1" => Codec::TrueAudio,
        id if id.starts_with("A_AAC") => Codec::Aac,
        id if id.starts_with("A_PCM/") => Codec::Pcm,
        _ => Codec::Other,
    }
}

fn tags(input: &mut Input<'_>, body: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    let mut at = body.start;
    while let Some(tag) = next(input, &mut at, body)? {
        let (mut level, mut inner) = (0, tag.body.start);
        while tag.id == TAG
            && let Some(field) = next(input, &mut inner, &tag.body)?
        {
            match field.id {
                TARGETS => level = level_of(input, &field.body)?,
                SIMPLE_TAG => simple_tag(input, &field.body, level, media)?,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Returns the level at which a tag applies: album, disc or track. Returns 0 if the tag states no
/// level, as most writers do for a track.
fn level_of(input: &mut Input<'_>, body: &Range<u64>) -> Result<u64, Error> {
    let mut at = body.start;
    while let Some(field) = next(input, &mut at, body)? {
        if field.id == TARGET_TYPE_VALUE {
            return unsigned(input, &field.body);
        }
    }
    Ok(0)
}

fn simple_tag(
    input: &mut Input<'_>,
    body: &Range<u64>,
    level: u64,
    media: &mut Media,
) -> Result<(), Error> {
    input.limits.admit(&media.tags)?;
    let (mut name, mut value, mut at) = (String::new(), String::new(), body.start);
    let limit = input.limits.value_bytes_max as u64;
    while let Some(field) = next(input, &mut at, body)? {
        match field.id {
            TAG_NAME => name = string(input, &field.body, NAME_BYTES_MAX)?,
            TAG_STRING => {
                if limit < field.body.end - field.body.start {
                    media.issue(
                        "the value of a tag is longer than the limit; only its beginning is kept",
                    );
                }
                value = string(input, &field.body, limit)?;
            }
            _ => {}
        }
    }
    let field = match (level, &*name.to_ascii_uppercase()) {
        (ALBUM, "TITLE") => Some(Field::Album),
        (ALBUM, "ARTIST") => Some(Field::AlbumArtist),
        (ALBUM, "TOTAL_PARTS") => Some(Field::TrackTotal),
        (ALBUM, "PART_NUMBER") => None,
        (PART, "PART_NUMBER") => Some(Field::DiscNumber),
        (PART, "TITLE") => Some(Field::DiscSubtitle),
        (_, "PART_NUMBER") => Some(Field::TrackNumber),
        (_, "DATE_RELEASED" | "DATE_RECORDED") => Some(Field::Date),
        (_, "LEAD_PERFORMER") => Some(Field::Performer),
        (_, "REMIXED_BY") => Some(Field::Remixer),
        (_, name) => Field::from_key(name.as_bytes()),
    };
    match field {
        // The title of the segment was read before, and in most files the tag repeats it.
        Some(Field::Title) if media.tags.has(Field::Title) => {}
        Some(field) => media.tags.push(field, &value),
        None => {}
    }
    Ok(())
}

fn attachments(input: &mut Input<'_>, body: &Range<u64>, media: &mut Media) -> Result<(), Error> {
    let mut at = body.start;
    while let Some(file) = next(input, &mut at, body)? {
        let (mut mime, mut data, mut inner) = (String::new(), None, file.body.start);
        while file.id == ATTACHED_FILE
            && let Some(field) = next(input, &mut inner, &file.body)?
        {
            match field.id {
                FILE_MIME_TYPE => mime = string(input, &field.body, NAME_BYTES_MAX)?,
                FILE_DATA => data = Some(field.body),
                _ => {}
            }
        }
        let Some(data) = data.filter(|_| mime.starts_with("image/")) else {
            continue;
        };
        if input.limits.pictures_max <= media.pictures.len() {
            media.issue("the file has more pictures than the limit allows");
            break;
        }
        // The first picture is the cover, by the specification of attachments.
        let is_first = media.pictures.is_empty();
        media.pictures.push(Picture {
            kind: if is_first {
                PictureKind::FRONT
            } else {
                PictureKind::OTHER
            },
            mime: Mime::parse(mime.as_bytes()),
            stored: Stored::Plain,
            offset: data.start,
            bytes: data.end - data.start,
            skip: 0,
        });
    }
    Ok(())
}
