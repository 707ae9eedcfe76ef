//! Contents of files in the index, in a compact encoding. Later scans read the contents of
//! unchanged files from the index, and do not open these files again.
//!
//! ```text
//! music: container · codec | exact << 7
//!        numbers: duration ms, rate, channels, bits, bit/s · audio hash 8 bytes
//!        count of fields · each: field u8 · string    or field | 0x80 · 16 bytes of a UUID
//!        count of pictures · each: kind u8 · mime u8 · stored u8 · numbers: offset, bytes, skip
//!        count of issues · each: string
//! photo: numbers: flags, width, height, taken, offset, latitude, longitude, altitude,
//!        make, model, lens, exposure ns, f-number, ISO speed, focal length
//!        count of places · each: strings: name, sublocation, city, state, country
//! playlist: name · count of entries · each: target · title
//! unreadable: string
//! ```
//! Counts and numbers have 7 bits per byte, lowest first; signed numbers are zigzag-encoded.
//! Strings are references to the table of strings. `exact` is 1 if the duration is not an estimate.
//! `stored` is the encoding of a picture's bytes. `skip` is the number of decoded bytes before the
//! picture.

use std::borrow::Cow;

use tags::{
    Audio, AudioHash, Codec, Container, Exposure, Field, Listed, Listing, Media, Mime,
    PhotoMetadata, Picture, PictureKind, Place, Position, Stored, Tags,
};

use crate::Photo;
use crate::layout::{put_number, take_number};
use crate::strings::Strings;

/// Flag of a tag field whose value is a UUID and is stored in binary form.
const UUID: u8 = 0x80;
const EXACT: u8 = 0x80;

/// Function that returns the string for a reference.
pub(crate) type Lookup<'a> = dyn Fn(u32) -> Cow<'a, str> + 'a;

pub(crate) fn put_media(out: &mut Vec<u8>, media: &Media, strings: &mut Strings) {
    let audio = &media.audio;
    out.push(media.container as u8);
    out.push(audio.codec as u8 | if audio.exact { EXACT } else { 0 });
    for number in [
        audio.duration_ms,
        audio.sample_rate_hz.into(),
        audio.channels.into(),
        audio.bits.into(),
        audio.bitrate_bps.into(),
    ] {
        put_number(out, number);
    }
    out.extend(media.audio_hash.0.to_le_bytes());
    put_number(out, media.tags.iter().count() as u64);
    for (field, value) in media.tags.iter() {
        match parse_uuid(value) {
            Some(uuid) => {
                out.push(field as u8 | UUID);
                out.extend(uuid);
            }
            None => {
                out.push(field as u8);
                put_number(out, strings.reference(value.as_bytes()).into());
            }
        }
    }
    put_number(out, media.pictures.len() as u64);
    for picture in &media.pictures {
        out.extend([picture.kind.0, picture.mime as u8, picture.stored as u8]);
        for number in [picture.offset, picture.bytes, picture.skip.into()] {
            put_number(out, number);
        }
    }
    put_number(out, media.issues.len() as u64);
    for issue in &media.issues {
        put_number(out, strings.reference(issue.as_bytes()).into());
    }
}

pub(crate) fn take_media(bytes: &mut &[u8], lookup: &Lookup<'_>) -> Option<Media> {
    let container = *Container::ALL.get(usize::from(take_byte(bytes)?))?;
    let codec = take_byte(bytes)?;
    let audio = Audio {
        codec: *Codec::ALL.get(usize::from(codec & !EXACT))?,
        exact: codec & EXACT != 0,
        duration_ms: take_number(bytes)?,
        sample_rate_hz: take_number(bytes)? as u32,
        channels: take_number(bytes)? as u16,
        bits: take_number(bytes)? as u8,
        bitrate_bps: take_number(bytes)? as u32,
    };
    let audio_hash = AudioHash(u64::from_le_bytes(take_array(bytes)?));
    let mut tags = Tags::default();
    for _ in 0..take_number(bytes)? {
        let field = take_byte(bytes)?;
        let name = *Field::ALL.get(usize::from(field & !UUID))?;
        if field & UUID != 0 {
            tags.push(name, &show_uuid(take_array(bytes)?));
        } else {
            tags.push(name, &lookup(take_number(bytes)? as u32));
        }
    }
    let mut pictures = Vec::new();
    for _ in 0..take_number(bytes)? {
        let [kind, mime, stored] = take_array(bytes)?;
        pictures.push(Picture {
            kind: PictureKind(kind),
            mime: *MIMES.get(usize::from(mime))?,
            stored: *STOREDS.get(usize::from(stored))?,
            offset: take_number(bytes)?,
            bytes: take_number(bytes)?,
            skip: take_number(bytes)? as u32,
        });
    }
    let mut issues = Vec::new();
    for _ in 0..take_number(bytes)? {
        issues.push(Cow::Owned(lookup(take_number(bytes)? as u32).into_owned()));
    }
    Some(Media {
        container,
        audio,
        tags,
        pictures,
        audio_hash,
        issues,
    })
}

const MIMES: [Mime; 7] = [
    Mime::Unknown,
    Mime::Jpeg,
    Mime::Png,
    Mime::Gif,
    Mime::Bmp,
    Mime::Webp,
    Mime::Link,
];
const STOREDS: [Stored; 4] = [
    Stored::Plain,
    Stored::Base64,
    Stored::OggBase64,
    Stored::Unsynchronised,
];

pub(crate) fn put_photo(out: &mut Vec<u8>, photo: &Photo, strings: &mut Strings) {
    let PhotoMetadata {
        taken_local_s,
        offset_min,
        make,
        model,
        lens,
        exposure,
        position,
        places,
    } = &photo.metadata;
    let text = |text: &Option<String>, strings: &mut Strings| {
        u64::from(
            text.as_ref()
                .map_or(0, |text| strings.reference(text.as_bytes())),
        )
    };
    let altitude = position.and_then(|position| position.altitude_m);
    let flags = u64::from(taken_local_s.is_some())
        | u64::from(offset_min.is_some()) << 1
        | u64::from(position.is_some()) << 2
        | u64::from(altitude.is_some()) << 3;
    let position = position.map_or((0, 0), |position| {
        (position.latitude_e7, position.longitude_e7)
    });
    for number in [
        flags,
        photo.width_px.into(),
        photo.height_px.into(),
        fold_sign(taken_local_s.unwrap_or(0)),
        fold_sign(offset_min.unwrap_or(0).into()),
        fold_sign(position.0.into()),
        fold_sign(position.1.into()),
        fold_sign(altitude.unwrap_or(0).into()),
        text(make, strings),
        text(model, strings),
        text(lens, strings),
        // Zero is stored for an unknown value, since these values are never zero.
        exposure.time_ns.unwrap_or(0),
        exposure.f_number_e2.unwrap_or(0).into(),
        exposure.iso.unwrap_or(0).into(),
        exposure.focal_mm_e2.unwrap_or(0).into(),
        places.len() as u64,
    ] {
        put_number(out, number);
    }
    for place in places {
        let Place {
            name,
            sublocation,
            city,
            state,
            country,
        } = place;
        for name in [name, sublocation, city, state, country] {
            put_number(out, text(name, strings));
        }
    }
}

pub(crate) fn take_photo(bytes: &mut &[u8], lookup: &Lookup<'_>) -> Option<Photo> {
    let mut numbers = [0; 16];
    for number in &mut numbers {
        *number = take_number(bytes)?;
    }
    let [
        flags,
        width,
        height,
        taken,
        offset,
        north,
        east,
        above,
        make,
        model,
        lens,
        time,
        f_number,
        iso,
        focal,
        places,
    ] = numbers;
    let has = |flag: u32| flags >> flag & 1 == 1;
    let text = |reference: u64| {
        let text = lookup(reference as u32).into_owned();
        (!text.is_empty()).then_some(text)
    };
    let known = |number: u64| Some(number as u32).filter(|number| *number != 0);
    let places = (0..places).map(|_| take_place(bytes, &text));
    let metadata = PhotoMetadata {
        places: places.collect::<Option<_>>()?,
        taken_local_s: has(0).then_some(unfold_sign(taken)),
        offset_min: has(1).then_some(unfold_sign(offset) as i16),
        make: text(make),
        model: text(model),
        lens: text(lens),
        exposure: Exposure {
            time_ns: (time != 0).then_some(time),
            f_number_e2: known(f_number),
            iso: known(iso),
            focal_mm_e2: known(focal),
        },
        position: has(2).then_some(Position {
            latitude_e7: unfold_sign(north) as i32,
            longitude_e7: unfold_sign(east) as i32,
            altitude_m: has(3).then_some(unfold_sign(above) as i32),
        }),
    };
    Some(Photo {
        width_px: width as u32,
        height_px: height as u32,
        metadata,
    })
}

fn take_place(bytes: &mut &[u8], text: &dyn Fn(u64) -> Option<String>) -> Option<Place> {
    Some(Place {
        name: text(take_number(bytes)?),
        sublocation: text(take_number(bytes)?),
        city: text(take_number(bytes)?),
        state: text(take_number(bytes)?),
        country: text(take_number(bytes)?),
    })
}

pub(crate) fn put_listing(out: &mut Vec<u8>, listing: &Listing, strings: &mut Strings) {
    let name = listing.name.as_deref().unwrap_or("");
    put_number(out, strings.reference(name.as_bytes()).into());
    put_number(out, listing.entries.len() as u64);
    for Listed { target, title } in &listing.entries {
        put_number(out, strings.reference(target).into());
        put_number(out, strings.reference(title.as_bytes()).into());
    }
}

/// Decodes a playlist. `lookup` returns bytes, since a path may not be valid UTF-8.
pub(crate) fn take_listing<'a>(
    bytes: &mut &[u8],
    lookup: &dyn Fn(u32) -> &'a [u8],
) -> Option<Listing> {
    let text = |reference: u64| String::from_utf8_lossy(lookup(reference as u32)).into_owned();
    let name = text(take_number(bytes)?);
    let mut listing = Listing {
        name: (!name.is_empty()).then_some(name),
        entries: Vec::new(),
    };
    for _ in 0..take_number(bytes)? {
        listing.entries.push(Listed {
            target: lookup(take_number(bytes)? as u32).to_vec(),
            title: text(take_number(bytes)?),
        });
    }
    Some(listing)
}

fn fold_sign(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unfold_sign(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(byte)
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*array)
}

/// Positions of the hyphens in the canonical spelling of a UUID.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// Parses a UUID in its canonical spelling. Returns `None` for other spellings, which are stored as
/// text so that they are returned unchanged.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    let is_canonical = bytes.len() == 36
        && HYPHENS.iter().all(|at| bytes[*at] == b'-')
        && !bytes.iter().any(u8::is_ascii_uppercase);
    if !is_canonical {
        return None;
    }
    let mut out = [0; 16];
    // A hyphen in another place leaves fewer than 32 digits, which is an error.
    let decoded = hex::decode_to_slice(text.replace('-', ""), &mut out);
    decoded.is_ok().then_some(out)
}

fn show_uuid(bytes: [u8; 16]) -> String {
    let mut out = hex::encode(bytes);
    for at in HYPHENS {
        out.insert(at, '-');
    }
    out
}
