//! Decodes WebP to planes if lossy, to RGB or RGBA if lossless.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use image_plan::{Format, Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use libwebp_sys as webp;
use webp::{VP8StatusCode, WEBP_CSP_MODE};

use super::container;
use crate::animation::decode_frame;
use crate::{DecodeOptions, Decoded, Error, ErrorKind, buffer};

pub(crate) fn decode(bytes: &[u8], options: &DecodeOptions) -> Result<Decoded, Error> {
    let Some(header) = read_header(bytes)? else {
        return decode_frame(Format::Webp, bytes, options);
    };
    options.limits.admit("webp", header.size, options.stored)?;
    let profile = match container::profile(bytes) {
        Some(profile) => {
            options.limits.check_profile("webp", profile.len())?;
            Some(buffer::copy(profile)?)
        }
        None => None,
    };
    let (raster, is_complete) = if header.lossless {
        let (packed, is_complete) = decode_packed(bytes, &header)?;
        (Raster::Packed(packed), is_complete)
    } else {
        decode_planes(bytes, &header)?
    };
    Ok(Decoded {
        raster,
        profile,
        damaged: !is_complete,
    })
}

/// Properties read from the headers of a WebP file.
struct Header {
    size: Size,
    alpha: bool,
    lossless: bool,
}

/// Reads the headers of a file, or of a frame. Returns `None` if the file is animated.
fn read_header(bytes: &[u8]) -> Result<Option<Header>, Error> {
    let features = features(bytes)?;
    let header = Header {
        size: size(&features),
        alpha: features.has_alpha != 0,
        // libwebp's codes: 1 is lossy, 2 is lossless.
        lossless: features.format == 2,
    };
    Ok(Some(header).filter(|_| features.has_animation == 0))
}

/// Returns the size of the canvas of an animation, or `None` if the file is not animated.
pub(super) fn canvas_size(bytes: &[u8]) -> Result<Option<Size>, Error> {
    let features = features(bytes)?;
    Ok(Some(size(&features)).filter(|_| features.has_animation != 0))
}

fn size(features: &webp::WebPBitstreamFeatures) -> Size {
    let side = |px: c_int| u32::try_from(px).unwrap_or(0);
    Size::new(side(features.width), side(features.height))
}

/// Decodes one frame of an animation to RGBA. The frame must have the size `size`.
pub(super) fn decode_rgba(frame: &[u8], size: Size) -> Result<Packed, Error> {
    let header = read_header(frame)?.filter(|header| header.size == size);
    let Some(header) = header else {
        let detail = "webp: the size of a frame differs from the size that the file states";
        return Err(Error::new(ErrorKind::Undecodable, detail));
    };
    let (pixels, is_complete) = decode_pixels(frame, header.size, Layout::Rgba)?;
    match is_complete {
        true => Ok(pixels),
        false => Err(Error::new(
            ErrorKind::Undecodable,
            "webp: a frame is cut off",
        )),
    }
}

fn features(bytes: &[u8]) -> Result<webp::WebPBitstreamFeatures, Error> {
    let mut features = MaybeUninit::<webp::WebPBitstreamFeatures>::zeroed();
    // SAFETY: `bytes` is readable for its length and `features` is writable for its size; the
    // callee keeps neither pointer.
    let status =
        unsafe { webp::WebPGetFeatures(bytes.as_ptr(), bytes.len(), features.as_mut_ptr()) };
    if status != VP8StatusCode::VP8_STATUS_OK {
        return Err(error(status));
    }
    // SAFETY: the struct consists of six integers and an array of integers. All were zeroed, and
    // the callee wrote only integers.
    Ok(unsafe { features.assume_init() })
}

fn decode_planes(bytes: &[u8], header: &Header) -> Result<(Raster, bool), Error> {
    let size = header.size;
    let chroma_size = Subsampling::S420.chroma(size);
    let mut luma = buffer::plane(size)?;
    let mut cb = buffer::plane(chroma_size)?;
    let mut cr = buffer::plane(chroma_size)?;
    let mut alpha = header.alpha.then(|| buffer::plane(size)).transpose()?;

    let (colours, a) = match &mut alpha {
        None => (WEBP_CSP_MODE::MODE_YUV, Default::default()),
        Some(alpha) => (WEBP_CSP_MODE::MODE_YUVA, PlaneBuffer::of(alpha)?),
    };
    let (y, u, v) = (
        PlaneBuffer::of(&mut luma)?,
        PlaneBuffer::of(&mut cb)?,
        PlaneBuffer::of(&mut cr)?,
    );
    let planes = webp::WebPYUVABuffer {
        y: y.start,
        u: u.start,
        v: v.start,
        a: a.start,
        y_stride: y.stride,
        u_stride: u.stride,
        v_stride: v.stride,
        a_stride: a.stride,
        y_size: y.len,
        u_size: u.len,
        v_size: v.len,
        a_size: a.len,
    };
    let output = webp::WebPDecBuffer__bindgen_ty_1 { YUVA: planes };
    // SAFETY: `planes` holds the addresses and true lengths of vectors that are live and not
    // accessed until the call returns.
    let rows = unsafe { run(bytes, colours, output) }?;

    let is_complete = rows == size.height_px;
    if !is_complete {
        fill_missing(&mut luma, rows, MID_GREY);
        fill_missing(&mut cb, rows.div_ceil(2), NEUTRAL);
        fill_missing(&mut cr, rows.div_ceil(2), NEUTRAL);
        if let Some(alpha) = &mut alpha {
            fill_missing(alpha, rows, OPAQUE);
        }
    }
    let yuv = Yuv {
        size,
        subsampling: Subsampling::S420,
        range: Range::Limited,
        matrix: Matrix::Bt601,
        luma,
        chroma: Some([cb, cr]),
        alpha: alpha.and_then(buffer::unless_opaque),
    };
    Ok((Raster::Yuv(yuv), is_complete))
}

/// Decodes to RGB, or to RGBA if some pixel is not opaque.
fn decode_packed(bytes: &[u8], header: &Header) -> Result<(Packed, bool), Error> {
    match header.alpha {
        false => decode_pixels(bytes, header.size, Layout::Rgb),
        true => {
            let (packed, is_complete) = decode_pixels(bytes, header.size, Layout::Rgba)?;
            Ok((buffer::without_opaque_alpha(packed), is_complete))
        }
    }
}

/// Decodes to pixels of the given layout. Also returns whether all rows were decoded.
fn decode_pixels(bytes: &[u8], size: Size, layout: Layout) -> Result<(Packed, bool), Error> {
    let colours = match layout {
        Layout::Rgba => WEBP_CSP_MODE::MODE_RGBA,
        _ => WEBP_CSP_MODE::MODE_RGB,
    };
    let mut packed: Packed = buffer::packed(size, layout)?;
    let row_bytes = layout.channels() * size.width_px as usize;
    let pixels = webp::WebPRGBABuffer {
        rgba: packed.data.as_mut_ptr(),
        stride: to_c_int(row_bytes)?,
        size: packed.data.len(),
    };
    let output = webp::WebPDecBuffer__bindgen_ty_1 { RGBA: pixels };
    // SAFETY: `pixels` holds the address and true length of a vector that is live and not accessed
    // until the call returns.
    let rows = unsafe { run(bytes, colours, output) }?;
    Ok((packed, rows == size.height_px))
}

/// Decodes into `output` and returns the number of rows written from the top, at least one.
///
/// Uses the incremental decoder even for complete files: only this decoder keeps the rows before
/// the first damage.
///
/// # Safety
/// `colours` selects a variant of the union `output`. The memory that this variant references must
/// have the stated lengths. Until this function returns, only the callee may access the memory.
unsafe fn run(
    bytes: &[u8],
    colours: WEBP_CSP_MODE,
    output: webp::WebPDecBuffer__bindgen_ty_1,
) -> Result<u32, Error> {
    let mut target = webp::WebPDecBuffer {
        colorspace: colours,
        width: 0,
        height: 0,
        is_external_memory: 1,
        u: output,
        pad: [0; 4],
        private_memory: std::ptr::null_mut(),
    };
    // SAFETY: `target` outlives `decoder`, which is declared after it, and we do not access
    // `target` while `decoder` lives. Before it writes a sample, the callee checks that the lengths
    // in `target` suffice for the picture (`CheckDecBuffer`).
    let decoder = unsafe { webp::WebPINewDecoder(&raw mut target) };
    let Some(decoder) = NonNull::new(decoder).map(Decoder) else {
        return Err(Error::new(
            ErrorKind::OutOfMemory,
            "webp: cannot allocate a decoder",
        ));
    };
    // SAFETY: `decoder` is live, and `bytes` outlives it. Our caller guarantees that the memory
    // that `target` references has the stated lengths, and that only the callee accesses it.
    let status = unsafe { webp::WebPIUpdate(decoder.0.as_ptr(), bytes.as_ptr(), bytes.len()) };
    let mut rows = 0;
    let unwanted = std::ptr::null_mut;
    // SAFETY: `decoder` is live; the callee accepts null for unwanted results and writes one
    // integer to `rows`.
    unsafe {
        webp::WebPIDecodedArea(
            decoder.0.as_ptr(),
            unwanted(),
            unwanted(),
            unwanted(),
            &raw mut rows,
        )
    };
    match status {
        VP8StatusCode::VP8_STATUS_OUT_OF_MEMORY => Err(error(status)),
        _ if rows > 0 => Ok(rows.unsigned_abs()),
        _ => Err(error(status)),
    }
}

/// Incremental decoder, deleted on drop.
struct Decoder(NonNull<webp::WebPIDecoder>);

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `WebPINewDecoder`, `self` is its only owner, and `drop`
        // runs once.
        unsafe { webp::WebPIDelete(self.0.as_ptr()) }
    }
}

/// Address, stride and length of a plane, in libwebp's types.
struct PlaneBuffer {
    start: *mut u8,
    stride: c_int,
    len: usize,
}

impl PlaneBuffer {
    fn of(plane: &mut Plane) -> Result<PlaneBuffer, Error> {
        Ok(PlaneBuffer {
            start: plane.data.as_mut_ptr(),
            stride: to_c_int(plane.stride)?,
            len: plane.data.len(),
        })
    }
}

impl Default for PlaneBuffer {
    fn default() -> PlaneBuffer {
        PlaneBuffer {
            start: std::ptr::null_mut(),
            stride: 0,
            len: 0,
        }
    }
}

/// Luma of rows that could not be decoded: mid-grey in limited range, which libjpeg also uses for
/// missing rows.
const MID_GREY: u8 = 126;
/// Chroma of rows that could not be decoded.
const NEUTRAL: u8 = 128;
/// Alpha of rows that could not be decoded.
const OPAQUE: u8 = 255;

fn fill_missing(plane: &mut Plane, first_row: u32, value: u8) {
    plane.data[first_row as usize * plane.stride..].fill(value);
}

fn to_c_int(value: usize) -> Result<c_int, Error> {
    c_int::try_from(value).map_err(|_| {
        Error::new(
            ErrorKind::TooLarge,
            "webp: the stride of the picture exceeds 31 bits",
        )
    })
}

fn error(status: VP8StatusCode) -> Error {
    let kind = match status {
        VP8StatusCode::VP8_STATUS_OUT_OF_MEMORY => ErrorKind::OutOfMemory,
        VP8StatusCode::VP8_STATUS_UNSUPPORTED_FEATURE => ErrorKind::Unsupported,
        VP8StatusCode::VP8_STATUS_INVALID_PARAM => ErrorKind::Failed,
        _ => ErrorKind::Undecodable,
    };
    Error::new(kind, format!("webp: {status:?}"))
}
