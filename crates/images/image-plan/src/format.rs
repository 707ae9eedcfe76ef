//! Formats of originals, their detection by magic bytes, and the EXIF orientations.

#[cfg(test)]
mod tests;

use crate::probe::{is_ico, is_pnm};

/// Number of bytes at the start of a file that [`Format::sniff`] examines.
pub const SNIFF_BYTES: usize = 1024;

/// Format of an original, detected by magic bytes and never by the file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// JPEG (ITU-T T.81).
    Jpeg,
    /// PNG (third edition), APNG included.
    Png,
    /// GIF 87a and 89a.
    Gif,
    /// WebP (RFC 9649).
    Webp,
    /// AVIF 1.1.
    Avif,
    /// Windows bitmap.
    Bmp,
    /// SVG. Requests that change nothing get the original.
    Svg,
    /// TIFF 6.0 and BigTIFF.
    Tiff,
    /// Windows icon.
    Ico,
    /// Truevision TGA. It has no magic bytes, so only [`crate::probe`] detects it.
    Tga,
    /// Quite OK Image.
    Qoi,
    /// PBM, PGM, PPM and PAM of Netpbm.
    Pnm,
    /// Radiance HDR (RGBE).
    Hdr,
    /// Photoshop document, PSD or PSB.
    Psd,
    /// HEIC and HEIF, of which an embedded JPEG preview is decoded.
    Heif,
    /// Raw file of a camera, of which an embedded JPEG preview is decoded: CR2, CR3, NEF, ARW, DNG,
    /// RAF, ORF and RW2. Those with the magic bytes of TIFF are detected by [`crate::probe`] only.
    Raw,
    /// SVG compressed with gzip. Only [`crate::probe`] detects it.
    Svgz,
    /// JPEG XL, as a bare codestream or in boxes.
    Jxl,
}

impl Format {
    /// All formats, in the order of their numbers in serialized plans.
    pub const ALL: [Format; 18] = [
        Format::Jpeg,
        Format::Png,
        Format::Gif,
        Format::Webp,
        Format::Avif,
        Format::Bmp,
        Format::Svg,
        Format::Tiff,
        Format::Ico,
        Format::Tga,
        Format::Qoi,
        Format::Pnm,
        Format::Hdr,
        Format::Psd,
        Format::Heif,
        Format::Raw,
        Format::Svgz,
        Format::Jxl,
    ];

    /// Detects the format of a file that begins with `head`. The first [`SNIFF_BYTES`] of a file
    /// are sufficient; of a shorter file, `head` must be the whole file. Never detects TGA and
    /// SVGZ, and detects raw files with the structure of a TIFF as TIFF.
    #[must_use]
    pub fn sniff(head: &[u8]) -> Option<Format> {
        let head = &head[..head.len().min(SNIFF_BYTES)];
        if head.starts_with(b"\xff\xd8\xff") {
            Some(Format::Jpeg)
        } else if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Format::Png)
        } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            Some(Format::Gif)
        } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            Some(Format::Webp)
        } else if is_avif(head) {
            Some(Format::Avif)
        } else if heif(head).is_some() {
            Some(Format::Heif)
        } else if is_raw(head) {
            Some(Format::Raw)
        } else if is_jxl(head) {
            Some(Format::Jxl)
        } else if is_bmp(head) {
            Some(Format::Bmp)
        } else if is_tiff(head) {
            Some(Format::Tiff)
        } else if is_ico(head) {
            Some(Format::Ico)
        } else if head.starts_with(b"qoif") {
            Some(Format::Qoi)
        } else if head.starts_with(b"8BPS\0\x01") || head.starts_with(b"8BPS\0\x02") {
            Some(Format::Psd)
        } else if head.starts_with(b"#?RADIANCE\n") || head.starts_with(b"#?RGBE\n") {
            Some(Format::Hdr)
        } else if is_pnm(head) {
            Some(Format::Pnm)
        } else if svg_root(head).is_some() {
            Some(Format::Svg)
        } else {
            None
        }
    }

    /// Returns whether browsers show pictures of this format. Other originals are sent only if they
    /// cannot be converted.
    #[must_use]
    pub const fn is_shown_by_browsers(self) -> bool {
        match self {
            Format::Jpeg
            | Format::Png
            | Format::Gif
            | Format::Webp
            | Format::Avif
            | Format::Bmp
            | Format::Svg
            | Format::Ico => true,
            Format::Tiff
            | Format::Tga
            | Format::Qoi
            | Format::Pnm
            | Format::Hdr
            | Format::Psd
            | Format::Heif
            | Format::Raw
            | Format::Svgz
            | Format::Jxl => false,
        }
    }

    /// Returns whether pictures of this format are drawings, which can be rendered at any size.
    #[must_use]
    pub const fn is_drawing(self) -> bool {
        matches!(self, Format::Svg | Format::Svgz)
    }

    /// Returns whether workers decode a JPEG if they decode a file of this format.
    #[must_use]
    pub const fn is_decoded_as_jpeg(self) -> bool {
        matches!(self, Format::Jpeg | Format::Heif | Format::Raw)
    }

    /// Returns the media type, as used in the `Content-Type` field.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Jpeg => "image/jpeg",
            Format::Png => "image/png",
            Format::Gif => "image/gif",
            Format::Webp => "image/webp",
            Format::Avif => "image/avif",
            Format::Bmp => "image/bmp",
            Format::Svg => "image/svg+xml",
            Format::Tiff => "image/tiff",
            Format::Ico => "image/vnd.microsoft.icon",
            Format::Tga => "image/x-tga",
            Format::Qoi => "image/qoi",
            Format::Pnm => "image/x-portable-anymap",
            Format::Hdr => "image/vnd.radiance",
            Format::Psd => "image/vnd.adobe.photoshop",
            Format::Heif => "image/heic",
            Format::Raw => "image/x-dcraw",
            Format::Svgz => "image/svg+xml-compressed",
            Format::Jxl => "image/jxl",
        }
    }

    /// Returns the usual file name extension, without the dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Jpeg => "jpg",
            Format::Png => "png",
            Format::Gif => "gif",
            Format::Webp => "webp",
            Format::Avif => "avif",
            Format::Bmp => "bmp",
            Format::Svg => "svg",
            Format::Tiff => "tiff",
            Format::Ico => "ico",
            Format::Tga => "tga",
            Format::Qoi => "qoi",
            Format::Pnm => "pnm",
            Format::Hdr => "hdr",
            Format::Psd => "psd",
            Format::Heif => "heic",
            Format::Raw => "raw",
            Format::Svgz => "svgz",
            Format::Jxl => "jxl",
        }
    }
}

/// Returns the brands of the `ftyp` box at the start of `head`, major brand first. Returns no
/// brands if `head` starts with another box. In the table, `@` precedes the offset of a field in
/// bytes; each brand has 4 bytes.
///
/// ```text
/// @0 size u32 · @4 "ftyp" · @8 major brand · @12 minor version · @16 compatible brands
/// ```
pub(crate) fn ftyp_brands(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_ftyp = head.get(4..8) == Some(b"ftyp");
    let size_bytes = match head.first_chunk() {
        Some(size) if is_ftyp => u32::from_be_bytes(*size) as usize,
        _ => 0,
    };
    let brands = &head[..size_bytes.min(head.len())];
    brands
        .chunks_exact(4)
        .skip(2)
        .enumerate()
        .filter(|(index, _)| *index != 1)
        .map(|(_, brand)| brand)
}

/// Returns the media type of a picture that Pelton recognizes but does not convert: JPEG 2000.
/// Returns `None` for all other files, including those of the formats that
/// [`Format::sniff`] detects.
#[must_use]
pub fn untouched(head: &[u8]) -> Option<&'static str> {
    const JPEG_2000: &[u8] = b"\0\0\0\x0cjP  \r\n\x87\n";
    head.starts_with(JPEG_2000).then_some("image/jp2")
}

/// Returns the media type of a file of `format` that begins with `head`. For HEIF, the result is
/// more precise than [`Format::media_type`].
#[must_use]
pub fn media_type_of_head(format: Format, head: &[u8]) -> &'static str {
    match format {
        Format::Heif => heif(head).unwrap_or(format.media_type()),
        _ => format.media_type(),
    }
}

/// Returns whether a file that begins with `head` is a camera raw file with its own magic bytes.
/// Other camera raw files have the magic bytes of TIFF.
fn is_raw(head: &[u8]) -> bool {
    const SIGNATURES: [&[u8]; 5] = [b"FUJIFILMCCD-RAW ", b"IIRO", b"IIRS", b"MMOR", b"IIU\0"];
    SIGNATURES.iter().any(|magic| head.starts_with(magic))
        || ftyp_brands(head).next() == Some(b"crx ")
}

/// Returns whether a file that begins with `head` is JPEG XL: a bare codestream, or a codestream in
/// boxes.
fn is_jxl(head: &[u8]) -> bool {
    head.starts_with(b"\xff\x0a") || head.starts_with(b"\0\0\0\x0cJXL \r\n\x87\n")
}

/// Returns the media type of a HEIF file (ISO/IEC 23008-12). A file may name several brands; the
/// first of `BRANDS` that the file names decides. So specific brands precede generic ones in
/// `BRANDS`.
fn heif(head: &[u8]) -> Option<&'static str> {
    const BRANDS: [(&[u8], &str); 12] = [
        (b"heic", "image/heic"),
        (b"heix", "image/heic"),
        (b"heim", "image/heic"),
        (b"heis", "image/heic"),
        (b"hevc", "image/heic-sequence"),
        (b"hevx", "image/heic-sequence"),
        (b"hevm", "image/heic-sequence"),
        (b"hevs", "image/heic-sequence"),
        (b"mif1", "image/heif"),
        (b"mif2", "image/heif"),
        (b"msf1", "image/heif-sequence"),
        (b"miaf", "image/heif"),
    ];
    let known = BRANDS
        .iter()
        .find(|(brand, _)| ftyp_brands(head).any(|named| named == *brand));
    known.map(|(_, media_type)| *media_type)
}

fn is_avif(head: &[u8]) -> bool {
    ftyp_brands(head).any(|brand| brand == b"avif" || brand == b"avis")
}

fn is_tiff(head: &[u8]) -> bool {
    const SIGNATURES: [&[u8]; 4] = [b"II*\0", b"MM\0*", b"II+\0\x08\0\0\0", b"MM\0+\0\x08\0\0"];
    SIGNATURES.iter().any(|magic| head.starts_with(magic))
}

/// Detects BMP. "BM" alone is not sufficient, because many text files begin with it, so the sizes
/// in the two headers must be plausible too.
fn is_bmp(head: &[u8]) -> bool {
    let Some(head) = head.first_chunk::<18>() else {
        return false;
    };
    let header_bytes = u32::from_le_bytes([head[14], head[15], head[16], head[17]]);
    let pixels_at = u32::from_le_bytes([head[10], head[11], head[12], head[13]]);
    head.starts_with(b"BM")
        && matches!(header_bytes, 12 | 16 | 40 | 52 | 56 | 64 | 108 | 124)
        && 14 + header_bytes <= pixels_at
}

/// Returns the text from the root element on, if that element is `svg` or `PREFIX:svg`. Skips
/// everything that XML permits before the root element.
pub(crate) fn svg_root(head: &[u8]) -> Option<&[u8]> {
    let mut rest = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    loop {
        rest = rest.trim_ascii_start();
        let after = if rest.starts_with(b"<?") {
            after(rest, b"?>")
        } else if rest.starts_with(b"<!--") {
            after(&rest[4..], b"-->")
        } else if let Some(doctype) = rest.strip_prefix(b"<!DOCTYPE") {
            after_doctype(doctype)
        } else {
            let is_svg = rest.strip_prefix(b"<").is_some_and(names_svg);
            return is_svg.then_some(rest);
        };
        match after {
            Some(after) => rest = after,
            None => return None,
        }
    }
}

/// Returns the part of `text` after the first occurrence of `end`.
fn after<'a>(text: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(end.len()).position(|window| window == end)?;
    Some(&text[at + end.len()..])
}

/// Returns the text after the document type declaration of an SVG. `doctype` starts after
/// `<!DOCTYPE`. An internal subset ends at `]` and may contain any number of `>`.
fn after_doctype(doctype: &[u8]) -> Option<&[u8]> {
    if !doctype.first()?.is_ascii_whitespace() || !names_svg(doctype.trim_ascii_start()) {
        return None;
    }
    let end = doctype.iter().position(|&byte| byte == b'>')?;
    match doctype[..end].iter().position(|&byte| byte == b'[') {
        None => Some(&doctype[end + 1..]),
        Some(subset) => after(after(&doctype[subset..], b"]")?, b">"),
    }
}

/// Returns whether `text` begins with the name `svg`, with or without a namespace prefix.
fn names_svg(text: &[u8]) -> bool {
    let end = text
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/' | b'['));
    let Some(name) = end.map(|end| &text[..end]) else {
        return false;
    };
    name == b"svg"
        || name
            .strip_suffix(b":svg")
            .is_some_and(|prefix| prefix.iter().all(u8::is_ascii_alphanumeric))
}

/// Transformation that makes a stored picture upright. The discriminants are the values of EXIF tag
/// 0x0112.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Orientation {
    /// 1: no transformation.
    #[default]
    Upright = 1,
    /// 2: mirroring left to right.
    Mirror = 2,
    /// 3: rotation by 180°.
    Turn180 = 3,
    /// 4: mirroring top to bottom.
    Flip = 4,
    /// 5: mirroring across the main diagonal, from top left to bottom right.
    Transpose = 5,
    /// 6: rotation by 90° clockwise.
    Turn90 = 6,
    /// 7: mirroring across the diagonal from top right to bottom left.
    Transverse = 7,
    /// 8: rotation by 270° clockwise.
    Turn270 = 8,
}

impl Orientation {
    /// Returns the orientation for a value of the EXIF tag; `None` if `value` is outside 1…8.
    #[must_use]
    pub const fn from_exif(value: u16) -> Option<Orientation> {
        Some(match value {
            1 => Orientation::Upright,
            2 => Orientation::Mirror,
            3 => Orientation::Turn180,
            4 => Orientation::Flip,
            5 => Orientation::Transpose,
            6 => Orientation::Turn90,
            7 => Orientation::Transverse,
            8 => Orientation::Turn270,
            _ => return None,
        })
    }

    /// Returns whether the orientation exchanges rows and columns.
    #[must_use]
    pub const fn transposes(self) -> bool {
        self as u8 >= 5
    }

    /// Returns the single orientation that has the effect of `self` followed by `next`.
    #[must_use]
    pub const fn then(self, next: Orientation) -> Orientation {
        let (mirrored, turns) = self.mirror_then_turns();
        let (next_mirrored, next_turns) = next.mirror_then_turns();
        // Rotating and then mirroring equals mirroring and then rotating the opposite way.
        let turns = if next_mirrored { 4 - turns } else { turns };
        match (mirrored != next_mirrored, (turns + next_turns) % 4) {
            (false, 0) => Orientation::Upright,
            (false, 1) => Orientation::Turn90,
            (false, 2) => Orientation::Turn180,
            (false, _) => Orientation::Turn270,
            (true, 0) => Orientation::Mirror,
            (true, 1) => Orientation::Transverse,
            (true, 2) => Orientation::Flip,
            (true, _) => Orientation::Transpose,
        }
    }

    /// Decomposes the orientation into an optional mirroring left to right (true if it is
    /// mirrored), and the number of clockwise quarter turns that follow.
    const fn mirror_then_turns(self) -> (bool, u8) {
        match self {
            Orientation::Upright => (false, 0),
            Orientation::Turn90 => (false, 1),
            Orientation::Turn180 => (false, 2),
            Orientation::Turn270 => (false, 3),
            Orientation::Mirror => (true, 0),
            Orientation::Transverse => (true, 1),
            Orientation::Flip => (true, 2),
            Orientation::Transpose => (true, 3),
        }
    }
}
