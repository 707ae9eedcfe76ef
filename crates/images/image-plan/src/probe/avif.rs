//! AVIF: parses the properties of the primary item, or the size of a sequence's track.
//!
//! ```text
//! ftyp
//! meta ─┬─ pitm   id of the primary item
//!       └─ iprp ─┬─ ipco   properties, numbered from 1: ispe · av1C · colr · irot · imir · clap …
//!                └─ ipma   item id → property indices, in the order in which they apply
//! moov ─── trak ─── tkhd   width and height of a track, 16.16 fixed point
//! ```
//! Sources: AV1 Image File Format 1.1; ISO/IEC 14496-12 and 23008-12 for the boxes.

use super::facts::{Colour, Facts, Frames, ProbeError, Unsupported};
use super::head::HeaderReader;
use super::png::{TRANSFER_HLG, TRANSFER_PQ};
use crate::format::ftyp_brands;
use crate::{Format, Orientation, SNIFF_BYTES, Size, Subsampling};
use std::ops::Range;

/// Maximum number of properties in a file. A picture has about ten. A grid does not need many more,
/// because its tiles share their properties.
const PROPERTIES_MAX: usize = 256;

/// Types of auxiliary items that contain alpha: the type of MPEG-B, and the older one of HEVC.
const ALPHA_URNS: [&[u8]; 2] = [
    b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0",
    b"urn:mpeg:hevc:2015:auxid:1\0",
];

/// Brands of HEVC pictures and sequences, and generic brands that do not name a codec.
const HEIF_BRANDS: [Kind; 9] = [
    *b"heic", *b"heix", *b"heim", *b"heis", *b"hevc", *b"hevx", *b"mif1", *b"mif2", *b"msf1",
];

/// Size of the version and flags at the start of a full box.
const VERSION_BYTES: u64 = 4;

pub(super) type Kind = [u8; 4];

/// Kind of a property or other box, and the range of its content in the file.
pub(super) type Property = (Kind, Range<u64>);

pub(super) fn probe(head: &mut HeaderReader<'_>) -> Result<Facts, ProbeError> {
    let sniffed = head.bytes(0, head.len_bytes().min(SNIFF_BYTES as u64) as usize)?;
    let animated = ftyp_brands(sniffed).any(|brand| brand == b"avis");
    let file = 0..head.len_bytes();
    let track = match animated {
        true => find(head, &file, b"moov")?,
        false => None,
    };
    let mut facts = match track {
        Some(moov) => sequence(head, moov)?,
        None => {
            let meta = child(head, &file, b"meta")?;
            still(head, &meta)?
        }
    };
    facts.animated = animated;
    if animated {
        facts.frames = Frames::AtLeast(1);
    }
    Ok(facts)
}

/// Returns the size of the upright primary item of a HEIC or HEIF file. Such files have the same
/// boxes as AVIF.
pub(super) fn heif_size(head: &mut HeaderReader<'_>) -> Result<Size, ProbeError> {
    let sniffed = head.bytes(0, head.len_bytes().min(SNIFF_BYTES as u64) as usize)?;
    if !ftyp_brands(sniffed).any(|brand| HEIF_BRANDS.iter().any(|known| known == brand)) {
        return Err(ProbeError::unknown());
    }
    let file = 0..head.len_bytes();
    let meta = child(head, &file, b"meta")?;
    still(head, &meta).map(|facts| facts.oriented())
}

/// Returns the orientation that the properties of `item` state. `meta` is the content of the box
/// `meta` after its version and flags.
pub(super) fn stated_orientation(
    head: &mut HeaderReader<'_>,
    meta: &Range<u64>,
    item: u32,
) -> Result<Orientation, ProbeError> {
    let Some(iprp) = find(head, meta, b"iprp")? else {
        return Ok(Orientation::Upright);
    };
    let ipco = child(head, &iprp, b"ipco")?;
    let properties = properties(head, &ipco)?;
    let mut facts = Facts::new(Format::Heif, Size::new(0, 0), Colour::Ycc);
    for number in associations(head, &iprp, item)? {
        let property = usize::from(number)
            .checked_sub(1)
            .and_then(|index| properties.get(index));
        if let Some((kind, content)) = property
            && matches!(kind, b"irot" | b"imir")
        {
            apply(head, &mut facts, kind, content)?;
        }
    }
    Ok(facts.orientation)
}

/// Reads the size of a sequence. No other property is needed, because sequences are sent unchanged.
/// The optional still picture of a sequence may lack required properties, so it is not used.
fn sequence(head: &mut HeaderReader<'_>, moov: Range<u64>) -> Result<Facts, ProbeError> {
    let trak = child(head, &moov, b"trak")?;
    let tkhd = child(head, &trak, b"tkhd")?;
    // Width and height are the last fields of the box in all its versions.
    let sides = (tkhd.end - tkhd.start).saturating_sub(8);
    let [w1, w0, _, _, h1, h0, _, _] = head.field(&tkhd, sides)?;
    let size = Size::new(
        u16::from_be_bytes([w1, w0]).into(),
        u16::from_be_bytes([h1, h0]).into(),
    );
    Ok(Facts::new(Format::Avif, size, Colour::Ycc))
}

fn still(head: &mut HeaderReader<'_>, meta: &Range<u64>) -> Result<Facts, ProbeError> {
    let meta = meta.start + VERSION_BYTES..meta.end;
    let pitm = child(head, &meta, b"pitm")?;
    let primary = primary_item(head, &pitm)?;
    let iprp = child(head, &meta, b"iprp")?;
    let ipco = child(head, &iprp, b"ipco")?;
    let properties = properties(head, &ipco)?;
    let numbers = associations(head, &iprp, primary)?;

    let mut facts = Facts::new(Format::Avif, Size::new(0, 0), Colour::Ycc);
    for number in numbers {
        // Property indices start at 1; 0 means no property.
        let property = usize::from(number)
            .checked_sub(1)
            .and_then(|index| properties.get(index));
        if let Some((kind, content)) = property {
            apply(head, &mut facts, kind, content)?;
        }
    }
    for (kind, content) in &properties {
        match kind {
            // A grid has no decoder configuration of its own, but each of its tiles has one. So the
            // first configuration in the file is used.
            b"av1C" if facts.subsampling.is_none() => configuration(head, &mut facts, content)?,
            b"auxC" => facts.alpha |= is_alpha(head, content)?,
            _ => {}
        }
    }
    Ok(facts)
}

/// Records a property of the primary item in `facts`.
fn apply(
    head: &mut HeaderReader<'_>,
    facts: &mut Facts,
    kind: &Kind,
    content: &Range<u64>,
) -> Result<(), ProbeError> {
    match kind {
        b"ispe" => {
            let [w3, w2, w1, w0, h3, h2, h1, h0] = head.field(content, VERSION_BYTES)?;
            facts.stored = Size::new(
                u32::from_be_bytes([w3, w2, w1, w0]),
                u32::from_be_bytes([h3, h2, h1, h0]),
            );
        }
        b"av1C" => configuration(head, facts, content)?,
        b"colr" => colour(head, facts, content)?,
        b"irot" => {
            let [angle] = head.field(content, 0)?;
            let rotation = match angle & 3 {
                0 => Orientation::Upright,
                // The property states the angle in quarter turns counter-clockwise.
                1 => Orientation::Turn270,
                2 => Orientation::Turn180,
                _ => Orientation::Turn90,
            };
            facts.orientation = facts.orientation.then(rotation);
        }
        b"imir" => {
            let [axis] = head.field(content, 0)?;
            // ISO/IEC 23008-12:2022 §6.5.12: 0 exchanges top and bottom, 1 left and right.
            let mirror = match axis & 1 {
                0 => Orientation::Flip,
                _ => Orientation::Mirror,
            };
            facts.orientation = facts.orientation.then(mirror);
        }
        b"clap" => facts.unsupported = facts.unsupported.or(Some(Unsupported::Aperture)),
        _ => {}
    }
    Ok(())
}

/// Reads the content of `av1C`. The third byte consists of tier u1 · high bit depth u1 · 12 bits u1
/// · monochrome u1 · horizontal and vertical subsampling, u1 each · siting u2.
fn configuration(
    head: &mut HeaderReader<'_>,
    facts: &mut Facts,
    content: &Range<u64>,
) -> Result<(), ProbeError> {
    let [_, _, bits] = head.field(content, 0)?;
    facts.bit_depth = match bits >> 5 & 3 {
        0 | 1 => 8,
        2 => 10,
        _ => 12,
    };
    facts.subsampling = match bits >> 2 & 7 {
        0b000 => Some(Subsampling::S444),
        0b010 => Some(Subsampling::S422),
        0b011 => Some(Subsampling::S420),
        0b001 => None,
        _ => Some(Subsampling::S400),
    };
    if facts.subsampling == Some(Subsampling::S400) {
        facts.colour = Colour::Grey;
    }
    Ok(())
}

/// Reads the content of `colr`: an ICC profile, or the code points of H.273 as primaries u16 ·
/// transfer u16 · matrix u16 · range u1.
fn colour(
    head: &mut HeaderReader<'_>,
    facts: &mut Facts,
    content: &Range<u64>,
) -> Result<(), ProbeError> {
    const MATRIX_IDENTITY: u16 = 0;
    let kind: Kind = head.field(content, 0)?;
    match &kind {
        b"prof" | b"rICC" => facts.profile_bytes = (content.end - content.start).saturating_sub(4),
        b"nclx" => {
            let [_, _, t1, t0, m1, m0] = head.field(content, 4)?;
            if matches!(u16::from_be_bytes([t1, t0]), TRANSFER_PQ | TRANSFER_HLG) {
                facts.unsupported = Some(Unsupported::Hdr);
            }
            if u16::from_be_bytes([m1, m0]) == MATRIX_IDENTITY && facts.colour == Colour::Ycc {
                facts.colour = Colour::Rgb;
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_alpha(head: &mut HeaderReader<'_>, content: &Range<u64>) -> Result<bool, ProbeError> {
    let urn = content.start + VERSION_BYTES;
    for alpha in ALPHA_URNS {
        let fits = urn + alpha.len() as u64 <= content.end;
        if fits && head.bytes(urn, alpha.len())? == alpha {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reads the id of the primary item from `pitm`. The id has 16 bits in version 0 of the box, 32
/// bits in later versions.
fn primary_item(head: &mut HeaderReader<'_>, pitm: &Range<u64>) -> Result<u32, ProbeError> {
    let [version, _, _, _] = head.field(pitm, 0)?;
    item_id(head, pitm, VERSION_BYTES, version)
}

/// Reads the item id at `offset` in `content`. [`item_id_bytes`] gives the size of the id.
pub(super) fn item_id(
    head: &mut HeaderReader<'_>,
    content: &Range<u64>,
    offset: u64,
    version: u8,
) -> Result<u32, ProbeError> {
    match item_id_bytes(version) {
        2 => Ok(u16::from_be_bytes(head.field(content, offset)?).into()),
        _ => head.field(content, offset).map(u32::from_be_bytes),
    }
}

pub(super) const fn item_id_bytes(version: u8) -> u64 {
    if version == 0 { 2 } else { 4 }
}

fn properties(head: &mut HeaderReader<'_>, ipco: &Range<u64>) -> Result<Vec<Property>, ProbeError> {
    let mut properties = Vec::new();
    let mut at = ipco.start;
    while let Some((kind, content)) = next_box(head, at..ipco.end)? {
        if properties.len() == PROPERTIES_MAX {
            return Err(ProbeError::malformed("avif with too many properties"));
        }
        at = content.end;
        properties.push((kind, content));
    }
    Ok(properties)
}

/// Returns the indices of `item`'s properties.
///
/// ```text
/// ipma: version u8 · flags u24 · entries u32 · (item id · count u8 · count × number)…
///       number: essential u1 · index u7, or u15 if flag 1 is set
/// ```
fn associations(
    head: &mut HeaderReader<'_>,
    iprp: &Range<u64>,
    item: u32,
) -> Result<Vec<u16>, ProbeError> {
    let mut at = iprp.start;
    while let Some((kind, content)) = next_box(head, at..iprp.end)? {
        at = content.end;
        if kind != *b"ipma" {
            continue;
        }
        let [version, _, _, flags] = head.field(&content, 0)?;
        let number_bytes = 1 + u64::from(flags & 1);
        let mut entry = VERSION_BYTES + 4;
        while entry < content.end - content.start {
            let id = item_id(head, &content, entry, version)?;
            let counted = entry + item_id_bytes(version);
            let [count] = head.field(&content, counted)?;
            let first = counted + 1;
            let end = first + u64::from(count) * number_bytes;
            if id == item {
                let offsets = (first..end).step_by(number_bytes as usize);
                let numbers = offsets.map(|offset| match number_bytes {
                    1 => head.field(&content, offset).map(|[n]| u16::from(n & 0x7f)),
                    _ => {
                        let number = head.field(&content, offset)?;
                        Ok(u16::from_be_bytes(number) & 0x7fff)
                    }
                });
                return numbers.collect();
            }
            entry = end;
        }
    }
    Ok(Vec::new())
}

/// Returns the content of the first box of `kind` in `area`. Fails if there is none.
fn child(
    head: &mut HeaderReader<'_>,
    area: &Range<u64>,
    kind: &Kind,
) -> Result<Range<u64>, ProbeError> {
    let found = find(head, area, kind)?;
    found.ok_or(ProbeError::malformed("avif without a picture"))
}

/// Returns the content of the first box of `kind` in `area`, if any.
pub(super) fn find(
    head: &mut HeaderReader<'_>,
    area: &Range<u64>,
    kind: &Kind,
) -> Result<Option<Range<u64>>, ProbeError> {
    let mut at = area.start;
    while let Some((found, content)) = next_box(head, at..area.end)? {
        if found == *kind {
            return Ok(Some(content));
        }
        at = content.end;
    }
    Ok(None)
}

/// Reads the box at the start of `area`, which must not extend beyond `area`. Returns `None` if
/// `area` is empty.
///
/// ```text
/// size u32 · kind · [size u64, if the first size is 1] · content     size 0: up to the end of area
/// ```
pub(super) fn next_box(
    head: &mut HeaderReader<'_>,
    area: Range<u64>,
) -> Result<Option<Property>, ProbeError> {
    if area.end <= area.start {
        return Ok(None);
    }
    let [s3, s2, s1, s0, kind @ ..]: [u8; 8] = head.array(area.start)?;
    let (size, head_bytes) = match u32::from_be_bytes([s3, s2, s1, s0]) {
        0 => (area.end - area.start, 8),
        1 => (u64::from_be_bytes(head.array(area.start + 8)?), 16),
        size => (size.into(), 8),
    };
    if size < head_bytes || area.end - area.start < size {
        return Err(ProbeError::malformed(
            "iso media box larger than its parent box",
        ));
    }
    let content = area.start + head_bytes..area.start + size;
    Ok(Some((kind, content)))
}
