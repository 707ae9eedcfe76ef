//! Functions that write minimal file headers.

pub(super) const ALPHA_URN: &[u8] = b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0";

/// Writes a TIFF directory that contains a width before the orientation, sorted by tag as cameras
/// do.
pub(super) fn tiff(big_endian: bool, orientation: u16) -> Vec<u8> {
    let u16 = |value: u16| match big_endian {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let u32 = |value: u32| match big_endian {
        true => value.to_be_bytes(),
        false => value.to_le_bytes(),
    };
    let mut out = if big_endian { b"MM" } else { b"II" }.to_vec();
    out.extend(u16(42));
    out.extend(u32(8));
    out.extend(u16(2));
    for (tag, value) in [(0x0100, 4000), (0x0112, orientation)] {
        out.extend(u16(tag));
        out.extend(u16(3));
        out.extend(u32(1));
        out.extend(u16(value));
        out.extend([0, 0]);
    }
    out.extend([0; 4]);
    out
}

pub(super) fn exif(big_endian: bool, orientation: u16) -> Vec<u8> {
    [&b"Exif\0\0"[..], &tiff(big_endian, orientation)].concat()
}

/// Writes a JPEG of `segments` and an empty scan.
pub(super) fn jpeg(segments: &[Vec<u8>]) -> Vec<u8> {
    let scan = segment(0xda, &[1, 1, 0, 0, 63, 0]);
    [&[0xff, 0xd8], &segments.concat()[..], &scan, &[0xff, 0xd9]].concat()
}

pub(super) fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16 + 2).to_be_bytes();
    [&[0xff, marker], &length[..], payload].concat()
}

/// Writes a frame with one component per entry of `sampling`, whose two hexadecimal digits are the
/// sampling factors. The first component uses quantisation table 0, the others table 1.
pub(super) fn frame(marker: u8, (width, height): (u16, u16), sampling: &[u8]) -> Vec<u8> {
    let mut payload = vec![8];
    payload.extend(height.to_be_bytes());
    payload.extend(width.to_be_bytes());
    payload.push(sampling.len() as u8);
    for (index, factors) in sampling.iter().enumerate() {
        payload.extend([index as u8 + 1, *factors, u8::from(index != 0)]);
    }
    segment(marker, &payload)
}

pub(super) fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [&length, &kind[..], data, &[0; 4]].concat()
}

/// Writes a PNG with `chunks` before its image data; `kind` consists of bit depth, colour type and
/// interlace method.
pub(super) fn png((width, height): (u32, u32), kind: [u8; 3], chunks: &[Vec<u8>]) -> Vec<u8> {
    let [bit_depth, colour_type, interlace] = kind;
    let mut header = width.to_be_bytes().to_vec();
    header.extend(height.to_be_bytes());
    header.extend([bit_depth, colour_type, 0, 0, interlace]);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    out.extend(chunk(b"IHDR", &header));
    out.extend(chunks.concat());
    out.extend(chunk(b"IDAT", b"data"));
    out
}

/// Writes a GIF with a global colour table of two colours, followed by `blocks`.
pub(super) fn gif((width, height): (u16, u16), blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"GIF89a".to_vec();
    out.extend(width.to_le_bytes());
    out.extend(height.to_le_bytes());
    out.extend([0x80, 0, 0]);
    out.extend([0; 6]);
    out.extend(blocks.concat());
    out.push(0x3b);
    out
}

/// Writes a GIF image at the top left corner of the screen, with sub-blocks of the lengths in
/// `blocks`.
pub(super) fn gif_image((width, height): (u16, u16), blocks: &[u8]) -> Vec<u8> {
    let mut out = vec![0x2c, 0, 0, 0, 0];
    out.extend(width.to_le_bytes());
    out.extend(height.to_le_bytes());
    out.extend([0, 2]);
    for length in blocks {
        out.push(*length);
        out.extend(vec![0x2c; usize::from(*length)]);
    }
    out.push(0);
    out
}

pub(super) fn gif_control(flags: u8) -> Vec<u8> {
    vec![0x21, 0xf9, 4, flags, 0, 0, 0, 0]
}

pub(super) fn webp(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = chunks.concat();
    let size = (body.len() as u32 + 4).to_le_bytes();
    [&b"RIFF"[..], &size, b"WEBP", &body].concat()
}

pub(super) fn riff(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let size = (data.len() as u32).to_le_bytes();
    let pad = &[0][..data.len() % 2];
    [kind, &size[..], data, pad].concat()
}

pub(super) fn vp8((width, height): (u16, u16)) -> Vec<u8> {
    let (width, height) = (width.to_le_bytes(), height.to_le_bytes());
    riff(
        b"VP8 ",
        &[&[0, 0, 0, 0x9d, 0x01, 0x2a], &width[..], &height].concat(),
    )
}

pub(super) fn vp8l((width, height): (u32, u32), alpha: bool) -> Vec<u8> {
    let bits = (width - 1) | (height - 1) << 14 | u32::from(alpha) << 28;
    riff(b"VP8L", &[&[0x2f], &bits.to_le_bytes()[..]].concat())
}

pub(super) fn vp8x(flags: u8, (width, height): (u32, u32)) -> Vec<u8> {
    let (width, height) = ((width - 1).to_le_bytes(), (height - 1).to_le_bytes());
    riff(
        b"VP8X",
        &[&[flags, 0, 0, 0], &width[..3], &height[..3]].concat(),
    )
}

pub(super) fn iso(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let size = (content.len() as u32 + 8).to_be_bytes();
    [&size, &kind[..], content].concat()
}

pub(super) fn ftyp(brands: &[&[u8; 4]]) -> Vec<u8> {
    let mut content = [&brands[0][..], &[0; 4]].concat();
    brands[1..].iter().for_each(|brand| content.extend(*brand));
    iso(b"ftyp", &content)
}

/// Writes an AVIF with two items. Item 1 is the primary one and has the first `own` properties;
/// item 2 has the remaining ones.
pub(super) fn avif(own: u8, properties: &[Vec<u8>]) -> Vec<u8> {
    let all = properties.len() as u8;
    let mut ipma = vec![0, 0, 0, 0, 0, 0, 0, 2];
    for (id, numbers) in [(2, own + 1..=all), (1, 1..=own)] {
        ipma.extend([0, id, numbers.clone().count() as u8]);
        ipma.extend(numbers);
    }
    let iprp = [iso(b"ipco", &properties.concat()), iso(b"ipma", &ipma)].concat();
    let pitm = iso(b"pitm", &[0, 0, 0, 0, 0, 1]);
    let meta = [vec![0; 4], pitm, iso(b"iprp", &iprp)].concat();
    [ftyp(&[b"avif", b"mif1"]), iso(b"meta", &meta)].concat()
}

pub(super) fn ispe((width, height): (u32, u32)) -> Vec<u8> {
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    iso(b"ispe", &[&[0; 4], &width[..], &height].concat())
}

/// Writes a decoder configuration (`av1C`); `bits` contains depth and subsampling.
pub(super) fn av1c(bits: u8) -> Vec<u8> {
    iso(b"av1C", &[0x81, 0, bits, 0])
}

pub(super) fn nclx(transfer: u8, matrix: u8) -> Vec<u8> {
    let points = [0, 1, 0, transfer, 0, matrix, 0x80];
    iso(b"colr", &[&b"nclx"[..], &points].concat())
}

/// Writes a BMP with a header of `header_bytes`. Each of `fields` overwrites bytes at its offset in
/// the file.
pub(super) fn bmp(header_bytes: u32, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let pixels_at = 14 + header_bytes;
    let mut out = vec![0; pixels_at as usize];
    out[..2].copy_from_slice(b"BM");
    out[10..14].copy_from_slice(&pixels_at.to_le_bytes());
    out[14..18].copy_from_slice(&header_bytes.to_le_bytes());
    for (offset, bytes) in fields {
        out[*offset..offset + bytes.len()].copy_from_slice(bytes);
    }
    out
}
