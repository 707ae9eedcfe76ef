//! Decodes JPEG to planes if its colours are YCbCr or grey, else to RGB or CMYK.

use std::ffi::c_int;

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use turbojpeg_sys as tj;

use super::handle::{Block, Handle, Outcome};
use super::{padded, subsampling_from_tj};
use crate::{DecodeOptions, Decoded, Error, ErrorKind, Limits, Shrink, buffer};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let mut handle = Handle::new(tj::TJINIT_TJINIT_DECOMPRESS)?;
    set_limits(&mut handle, options)?;
    let header = read_header(&mut handle, bytes)?;
    options
        .limits
        .admit_shrunk("jpeg", header.size, options.shrink, options.stored)?;
    check_scans(bytes, &options.limits)?;
    let profile = take_profile(&mut handle, &options.limits)?;
    shrink(&mut handle, options.shrink)?;
    let size = options.shrink.apply(header.size);
    let (raster, outcome) = match header.pixel_layout {
        PixelLayout::Planes(subsampling) => {
            let (yuv, outcome) = decode_planes(&mut handle, bytes, subsampling, size)?;
            (Raster::Yuv(yuv), outcome)
        }
        PixelLayout::Packed(layout) => {
            let (mut packed, outcome) = decode_packed(&mut handle, bytes, layout, size)?;
            if layout == Layout::Cmyk && has_adobe_marker(bytes) {
                // Adobe's applications store the complement of each ink, so 255 means no ink. All
                // other software follows this convention.
                packed.data.iter_mut().for_each(|ink| *ink = !*ink);
            }
            (Raster::Packed(packed), outcome)
        }
    };
    Ok(Decoded {
        raster,
        profile,
        damaged: outcome == Outcome::Damaged,
    })
}

/// Decodes a JPEG to pixels of `layout`, RGB or CMYK, in the colours that its header states. Inks
/// are not inverted. `fits` returns whether a picture of the given size is permitted. Also returns
/// whether the file is damaged, so that some pixels are missing.
pub(crate) fn decode_pixels(
    bytes: &[u8],
    layout: Layout,
    limits: &Limits,
    fits: impl Fn(Size) -> bool,
) -> Result<(Packed, bool), Error> {
    let mut handle = Handle::new(tj::TJINIT_TJINIT_DECOMPRESS)?;
    let options = DecodeOptions {
        limits: *limits,
        ..DecodeOptions::whole(Size::new(0, 0))
    };
    set_limits(&mut handle, &options)?;
    let header = read_header(&mut handle, bytes)?;
    let is_ink = matches!(header.pixel_layout, PixelLayout::Packed(Layout::Cmyk));
    if !fits(header.size) || is_ink != (layout == Layout::Cmyk) {
        let detail = "jpeg: the size or the colours of the embedded JPEG differ from those in \
                      the header of the enclosing file";
        return Err(Error::new(ErrorKind::Undecodable, detail));
    }
    limits.admit("jpeg", header.size, header.size)?;
    check_scans(bytes, limits)?;
    let (packed, outcome) = decode_packed(&mut handle, bytes, layout, header.size)?;
    Ok((packed, outcome == Outcome::Damaged))
}

/// Properties read from the header of a JPEG.
struct Header {
    size: Size,
    pixel_layout: PixelLayout,
}

/// Pixel layout to which a JPEG is decoded.
enum PixelLayout {
    Planes(Subsampling),
    Packed(Layout),
}

fn set_limits(handle: &mut Handle, options: &DecodeOptions) -> Result<(), Error> {
    let limits = &options.limits;
    let saturate = |limit: usize| i32::try_from(limit).unwrap_or(i32::MAX);
    // TurboJPEG compares its limit with the number of pixels before shrinking. Shrinking divides
    // this number by `shrink * shrink`, so the limit on decoded pixels is multiplied by the same
    // factor.
    let shrink = options.shrink.divisor() as usize;
    let pixels = (limits.pixels_max as usize).saturating_mul(shrink * shrink);
    // Each limit is at least 1, because 0 means no limit to TurboJPEG.
    let scans = saturate(limits.jpeg_scans_max as usize).max(1);
    let pixels = saturate(pixels).max(1);
    let scratch_mb = saturate(limits.scratch_bytes_max >> 20).max(1);
    handle.set(tj::TJPARAM_TJPARAM_SCANLIMIT, scans)?;
    handle.set(tj::TJPARAM_TJPARAM_MAXPIXELS, pixels)?;
    handle.set(tj::TJPARAM_TJPARAM_MAXMEMORY, scratch_mb)
}

/// Refuses files with too many scans before any is decoded. libjpeg enforces its own limit only
/// after it has decoded the permitted scans.
fn check_scans(bytes: &[u8], limits: &Limits) -> Result<(), Error> {
    let scans = count_scans(bytes);
    if (limits.jpeg_scans_max as usize) < scans {
        let detail = format!("jpeg: {scans} scans exceed the limit");
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    Ok(())
}

/// Counts the scans of the picture. Skips segments by their length (ITU-T T.81 §B.1.1), so that the
/// scans of an embedded thumbnail do not count.
fn count_scans(bytes: &[u8]) -> usize {
    const END_OF_IMAGE: u8 = 0xd9;
    const START_OF_SCAN: u8 = 0xda;
    let mut scans = 0;
    let mut rest = bytes;
    while let Some(at) = rest
        .windows(2)
        .position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff))
    {
        let marker = rest[at + 1];
        rest = &rest[at + 2..];
        // The markers TEM, RST0 to RST7 and SOI are not followed by a length.
        if matches!(marker, 0x01 | 0xd0..=0xd8) {
            continue;
        }
        if marker == END_OF_IMAGE {
            break;
        }
        scans += usize::from(marker == START_OF_SCAN);
        let Some(length) = rest.first_chunk::<2>() else {
            break;
        };
        rest = rest
            .get(usize::from(u16::from_be_bytes(*length))..)
            .unwrap_or_default();
    }
    scans
}

fn read_header(handle: &mut Handle, bytes: &[u8]) -> Result<Header, Error> {
    // SAFETY: `bytes` is readable for its length. The callee keeps a pointer to it that no later
    // call reads, because each call sets its source again.
    let status = unsafe {
        tj::tj3DecompressHeader(handle.as_ptr(), bytes.as_ptr(), bytes.len() as tj::size_t)
    };
    // A warning is ignored here: the call that decodes reads the header again and repeats the
    // warning.
    handle.outcome(status)?;
    let side = |px: i32| u32::try_from(px).unwrap_or(0);
    let size = Size::new(
        side(handle.parameter(tj::TJPARAM_TJPARAM_JPEGWIDTH)),
        side(handle.parameter(tj::TJPARAM_TJPARAM_JPEGHEIGHT)),
    );
    if size.pixels() == 0 {
        // The file holds tables only: valid JPEG, but without a picture.
        return Err(Error::new(
            ErrorKind::Undecodable,
            "jpeg: the file has tables, but no picture",
        ));
    }
    let precision_bits = handle.parameter(tj::TJPARAM_TJPARAM_PRECISION);
    if precision_bits != 8 {
        let detail = format!("jpeg: unsupported precision of {precision_bits} bits per sample");
        return Err(Error::new(ErrorKind::Unsupported, detail));
    }
    let subsampling = subsampling_from_tj(handle.parameter(tj::TJPARAM_TJPARAM_SUBSAMP));
    let lossless = handle.parameter(tj::TJPARAM_TJPARAM_LOSSLESS) == 1;
    let colours = handle.parameter(tj::TJPARAM_TJPARAM_COLORSPACE);
    let pixel_layout = match (u32::try_from(colours), subsampling) {
        (Ok(tj::TJCS_TJCS_CMYK | tj::TJCS_TJCS_YCCK), _) => PixelLayout::Packed(Layout::Cmyk),
        (Ok(tj::TJCS_TJCS_YCbCr | tj::TJCS_TJCS_GRAY), Some(subsampling)) if !lossless => {
            PixelLayout::Planes(subsampling)
        }
        _ => PixelLayout::Packed(Layout::Rgb),
    };
    Ok(Header { size, pixel_layout })
}

fn take_profile(handle: &mut Handle, limits: &Limits) -> Result<Option<Vec<u8>>, Error> {
    let mut block = Block::empty();
    let (start, len) = block.slots();
    // SAFETY: both slots are exclusive borrows. On success, the callee gives up its copy of the
    // profile and stores the address and length of the copy, which `block` frees. On failure, the
    // callee stores null.
    let status = unsafe { tj::tj3GetICCProfile(handle.as_ptr(), start, len) };
    if status != 0 {
        // The call fails only if the header contains no profile.
        return Ok(None);
    }
    // SAFETY: the call above succeeded, so it stored the address and length of initialised bytes in
    // the slots of `block`.
    let profile = unsafe { block.bytes() };
    limits.check_profile("jpeg", profile.len())?;
    buffer::copy(profile).map(Some)
}

fn shrink(handle: &mut Handle, shrink: Shrink) -> Result<(), Error> {
    let factor = tj::tjscalingfactor {
        num: 1,
        denom: shrink.divisor() as c_int,
    };
    // SAFETY: the factor is passed by value; the callee looks it up in its table and stores it.
    let status = unsafe { tj::tj3SetScalingFactor(handle.as_ptr(), factor) };
    handle.outcome(status).map(drop)
}

fn decode_planes(
    handle: &mut Handle,
    bytes: &[u8],
    subsampling: Subsampling,
    size: Size,
) -> Result<(Yuv, Outcome), Error> {
    let [luma_size, chroma_size] = padded(subsampling, size);
    let mut luma = buffer::plane(luma_size)?;
    let mut chroma = match subsampling {
        Subsampling::S400 => None,
        _ => Some([buffer::plane(chroma_size)?, buffer::plane(chroma_size)?]),
    };
    let (mut planes, mut strides) = ([std::ptr::null_mut(); 3], [0; 3]);
    let [cb, cr] = chroma.as_mut().map_or([None, None], |pair| {
        let [cb, cr] = pair;
        [Some(cb), Some(cr)]
    });
    let parts = [Some(&mut luma), cb, cr];
    for ((plane, stride), part) in planes.iter_mut().zip(&mut strides).zip(parts) {
        if let Some(part) = part {
            *plane = part.data.as_mut_ptr();
            *stride = stride_to_c(part)?;
        }
    }
    // SAFETY: `bytes` is readable for its length. The callee reads the same header as
    // `read_header`, so it writes a picture of `size` in `subsampling`. In each plane, at the given
    // stride, it writes the rows and columns that `padded` returns. `buffer::plane` allocated
    // planes of this size. A test compares `padded` with TurboJPEG's own arithmetic. Breaks if
    // `size`, `subsampling` or the scaling factor ever differ from those of this handle and these
    // bytes.
    let status = unsafe {
        tj::tj3DecompressToYUVPlanes8(
            handle.as_ptr(),
            bytes.as_ptr(),
            bytes.len() as tj::size_t,
            planes.as_mut_ptr(),
            strides.as_mut_ptr(),
        )
    };
    let outcome = handle.outcome(status)?;
    // Rounding luma up added columns and rows. The added columns remain as row padding; the added
    // rows are removed.
    luma.size = size;
    luma.data.truncate(luma.stride * size.height_px as usize);
    let yuv = Yuv {
        size,
        subsampling,
        range: Range::Full,
        matrix: Matrix::Bt601,
        luma,
        chroma,
        alpha: None,
    };
    Ok((yuv, outcome))
}

fn decode_packed(
    handle: &mut Handle,
    bytes: &[u8],
    layout: Layout,
    size: Size,
) -> Result<(Packed, Outcome), Error> {
    let mut packed = buffer::packed(size, layout)?;
    let format = match layout {
        Layout::Rgb => tj::TJPF_TJPF_RGB,
        Layout::Rgba => tj::TJPF_TJPF_RGBA,
        Layout::Cmyk => tj::TJPF_TJPF_CMYK,
    };
    // SAFETY: `bytes` is readable for its length. The callee reads the same header as
    // `read_header`, so it writes `size.height_px` rows of `size.width_px` pixels without padding
    // (pitch 0). A pixel has one byte per channel of `layout`, so the pixels have the length of
    // `packed.data`. Breaks if `size` ever differs from the size that the callee computes for this
    // handle and these bytes.
    let status = unsafe {
        tj::tj3Decompress8(
            handle.as_ptr(),
            bytes.as_ptr(),
            bytes.len() as tj::size_t,
            packed.data.as_mut_ptr(),
            0,
            format,
        )
    };
    let outcome = handle.outcome(status)?;
    Ok((packed, outcome))
}

fn stride_to_c(plane: &Plane) -> Result<c_int, Error> {
    c_int::try_from(plane.stride).map_err(|_| {
        Error::new(
            ErrorKind::TooLarge,
            "jpeg: the stride of the picture exceeds 31 bits",
        )
    })
}

/// Returns whether an Adobe APP14 marker precedes the first scan (ITU-T T.872 §6.5.3).
fn has_adobe_marker(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(2..).unwrap_or(&[]);
    loop {
        rest = match rest {
            // A marker may be preceded by fill bytes.
            [0xff, 0xff, ..] => &rest[1..],
            [0xff, 0xda, ..] => return false,
            [0xff, marker, high, low, ..] => {
                let segment_bytes = usize::from(u16::from_be_bytes([*high, *low]));
                let Some(segment) = rest.get(4..2 + segment_bytes) else {
                    return false;
                };
                if *marker == 0xee && segment.starts_with(b"Adobe") {
                    return true;
                }
                &rest[2 + segment_bytes..]
            }
            _ => return false,
        };
    }
}
