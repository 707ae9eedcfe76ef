//! Encodes planes as lossy WebP, and RGB or RGBA as lossless WebP.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::slice;

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use libwebp_sys as webp;
use webp::{WebPEncCSP, WebPEncodingError};

use super::container;
use crate::{Error, ErrorKind, buffer};

/// Settings of the WebP encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Quality, 0…100; has no effect if `lossless` is true.
    pub(crate) quality: u8,
    /// Compression method, 0…6; higher is slower.
    pub(crate) method: u8,
    /// True for lossless encoding (VP8L), false for lossy encoding (VP8).
    pub(crate) lossless: bool,
}

/// Values of libwebp's `partition_limit`, tried in this order. The value is the effort, 0…100, to
/// keep the prediction modes within the 512 KiB of VP8's partition 0. Some pictures of tens of
/// megapixels at low methods need the second value.
const PARTITION_LIMITS: [c_int; 2] = [0, 100];

/// Lowest compression method at which the VP8 encoder searches for the best prediction modes by
/// rate and distortion.
const METHOD_WITH_SEARCH: u8 = 3;

/// Deblocking strength in decoders, 0…100, for methods below [`METHOD_WITH_SEARCH`]. libwebp's
/// default of 60 suits the methods with search, which prefer encodings that need little deblocking.
/// On photographs this value gives fewer bytes at equal SSIMULACRA2, with no change in time.
const FILTER_STRENGTH_UNSEARCHED: c_int = 80;

/// Search effort of VP8L, passed in the quality setting; libwebp's default.
const LOSSLESS_EFFORT: f32 = 75.0;

pub(crate) fn encode(
    raster: &Raster,
    profile: Option<&[u8]>,
    effort: Effort,
) -> Result<Vec<u8>, Error> {
    let size = raster.size();
    if size.width_px.max(size.height_px) > webp::WEBP_MAX_DIMENSION {
        let detail = format!(
            "webp: {} × {} pixels exceed the format's limit",
            size.width_px, size.height_px
        );
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    let file = match raster {
        Raster::Yuv(yuv) if !effort.lossless => encode_planes(yuv, effort)?,
        Raster::Packed(packed) if effort.lossless => encode_packed(packed, effort)?,
        _ => {
            let detail =
                "webp: lossy encoding needs YUV planes, and lossless encoding needs packed pixels";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
    };
    match profile {
        Some(profile) => container::with_profile(&file, size, profile),
        None => Ok(file),
    }
}

fn encode_planes(yuv: &Yuv, effort: Effort) -> Result<Vec<u8>, Error> {
    let fits = yuv.subsampling == Subsampling::S420
        && yuv.range == Range::Limited
        && yuv.matrix == Matrix::Bt601;
    let (Some([cb, cr]), true) = (&yuv.chroma, fits) else {
        let detail = "webp: the encoder accepts only limited-range BT.601 planes at 4:2:0";
        return Err(Error::new(ErrorKind::Failed, detail));
    };
    // If there is alpha, libwebp smooths the samples under fully transparent pixels in place, so
    // libwebp gets copies.
    let mut copies = match &yuv.alpha {
        None => None,
        Some(_) => Some([duplicate(&yuv.luma)?, duplicate(cb)?, duplicate(cr)?]),
    };
    let [y, u, v] = match &mut copies {
        None => [&yuv.luma, cb, cr].map(|plane| plane.data.as_ptr().cast_mut()),
        Some(copies) => copies.each_mut().map(|copy| copy.as_mut_ptr()),
    };
    if cb.stride != cr.stride {
        let detail = "webp: chroma planes have different strides";
        return Err(Error::new(ErrorKind::Failed, detail));
    }
    let mut picture = new_picture(yuv.size)?;
    picture.use_argb = 0;
    picture.colorspace = WebPEncCSP::WEBP_YUV420;
    (picture.y, picture.u, picture.v) = (y, u, v);
    picture.y_stride = to_c_int(yuv.luma.stride)?;
    picture.uv_stride = to_c_int(cb.stride)?;
    if let Some(alpha) = &yuv.alpha {
        picture.colorspace = WebPEncCSP::WEBP_YUV420A;
        picture.a = alpha.data.as_ptr().cast_mut();
        picture.a_stride = to_c_int(alpha.stride)?;
    }
    let mut config = new_config(effort)?;
    for partition_limit in PARTITION_LIMITS {
        config.partition_limit = partition_limit;
        // SAFETY: `encode::check` verified that, at these strides, the planes are large enough for
        // a 4:2:0 picture of this size. libwebp never writes to `a`. It writes to y, u and v only
        // if `a` is set (`WebPCleanupTransparentArea`), and then y, u and v point into `copies`.
        // Setting `a` without copies would be unsound.
        let outcome = unsafe { run(&config, &mut picture) };
        match outcome {
            Err(EncodeFailure::PartitionOverflow) => {}
            Err(EncodeFailure::Other(err)) => return Err(err),
            Ok(file) => return Ok(file),
        }
    }
    let detail = "webp: the picture has too much detail for the format: partition 0 overflows";
    Err(Error::new(ErrorKind::TooLarge, detail))
}

/// Copies pixels into a picture of libwebp.
pub(super) fn import(packed: &Packed) -> Result<Imported, Error> {
    let import = match packed.layout {
        Layout::Rgb => webp::WebPPictureImportRGB,
        Layout::Rgba => webp::WebPPictureImportRGBA,
        Layout::Cmyk => {
            let detail = "webp: cannot encode CMYK pixels";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
    };
    let stride = to_c_int(packed.layout.channels() * packed.size.width_px as usize)?;
    let mut picture = Imported(new_picture(packed.size)?);
    picture.0.use_argb = 1;
    // SAFETY: the picture is initialised. The callee reads `height` rows of `stride` bytes, which
    // is the length of `packed.data`, as verified by `encode::check`. The callee allocates a copy,
    // which `Imported` frees.
    let imported = unsafe { import(&raw mut picture.0, packed.data.as_ptr(), stride) };
    if imported == 0 {
        return Err(Error::new(
            ErrorKind::OutOfMemory,
            "webp: cannot allocate the picture",
        ));
    }
    Ok(picture)
}

fn encode_packed(packed: &Packed, effort: Effort) -> Result<Vec<u8>, Error> {
    let mut picture = import(packed)?;
    let config = new_config(effort)?;
    // SAFETY: the picture's pixels are the copy that `import` allocated, and the picture owns this
    // copy.
    let outcome = unsafe { run(&config, &mut picture.0) };
    outcome.map_err(|refusal| match refusal {
        EncodeFailure::Other(err) => err,
        EncodeFailure::PartitionOverflow => Error::new(
            ErrorKind::Failed,
            "webp: the lossless encoder reported an overflow of partition 0, which only lossy files have",
        ),
    })
}

/// Picture whose pixels libwebp allocated; freed on drop.
pub(super) struct Imported(pub(super) webp::WebPPicture);

impl Drop for Imported {
    fn drop(&mut self) {
        // SAFETY: `new_picture` initialised the picture; the callee frees the memory that an import
        // allocated, if any.
        unsafe { webp::WebPPictureFree(&raw mut self.0) }
    }
}

/// Reason why libwebp produced no file.
enum EncodeFailure {
    PartitionOverflow,
    Other(Error),
}

/// Encodes `picture` and returns the file.
///
/// # Safety
/// The planes or pixels that `picture` references have the sizes and strides that `picture` states.
/// Planes that `WebPEncode` modifies are writable. Nothing else accesses the planes or pixels
/// during the call.
unsafe fn run(
    config: &webp::WebPConfig,
    picture: &mut webp::WebPPicture,
) -> Result<Vec<u8>, EncodeFailure> {
    let mut file = Vec::new();
    picture.writer = Some(write);
    picture.custom_ptr = (&raw mut file).cast();
    // SAFETY: the callee validates `config`. Our caller guarantees that the planes or pixels are as
    // `picture` states and that nothing else accesses them. `custom_ptr` points to the vector that
    // `write` expects, which we do not access until the call returns.
    let ok = unsafe { webp::WebPEncode(config, picture) };
    picture.custom_ptr = std::ptr::null_mut();
    if ok != 0 {
        return Ok(file);
    }
    let code = picture.error_code;
    let kind = match code {
        WebPEncodingError::VP8_ENC_ERROR_PARTITION0_OVERFLOW => {
            return Err(EncodeFailure::PartitionOverflow);
        }
        WebPEncodingError::VP8_ENC_ERROR_OUT_OF_MEMORY
        | WebPEncodingError::VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY
        // `write` fails only for lack of memory.
        | WebPEncodingError::VP8_ENC_ERROR_BAD_WRITE => ErrorKind::OutOfMemory,
        WebPEncodingError::VP8_ENC_ERROR_PARTITION_OVERFLOW
        | WebPEncodingError::VP8_ENC_ERROR_FILE_TOO_BIG => ErrorKind::TooLarge,
        _ => ErrorKind::Failed,
    };
    Err(EncodeFailure::Other(Error::new(
        kind,
        format!("webp: {code:?}"),
    )))
}

/// Output callback of libwebp: appends to the vector at `custom_ptr`. Returns 1 on success.
unsafe extern "C" fn write(
    data: *const u8,
    data_size: usize,
    picture: *const webp::WebPPicture,
) -> c_int {
    // SAFETY: libwebp passes the picture that it got from `run`. The picture is live until
    // `WebPEncode` returns.
    let custom_ptr: *mut c_void = unsafe { (*picture).custom_ptr };
    // SAFETY: `run` stored the address of a live `Vec<u8>` in `custom_ptr` and does not access the
    // vector while libwebp runs.
    let file: &mut Vec<u8> = unsafe { &mut *custom_ptr.cast() };
    if data_size == 0 {
        return 1;
    }
    // SAFETY: libwebp passes `data_size` readable bytes; `data_size` is not 0, see above.
    let data = unsafe { slice::from_raw_parts(data, data_size) };
    if file.try_reserve(data.len()).is_err() {
        return 0;
    }
    file.extend_from_slice(data);
    1
}

pub(super) fn new_config(effort: Effort) -> Result<webp::WebPConfig, Error> {
    let mut config = webp::WebPConfig::new()
        .map_err(|()| Error::new(ErrorKind::Failed, "webp: library version mismatch"))?;
    config.quality = if effort.lossless {
        LOSSLESS_EFFORT
    } else {
        f32::from(effort.quality)
    };
    config.method = c_int::from(effort.method);
    if effort.method < METHOD_WITH_SEARCH {
        config.filter_strength = FILTER_STRENGTH_UNSEARCHED;
    }
    config.lossless = c_int::from(effort.lossless);
    // The colours of fully transparent pixels may change if that makes the file smaller.
    config.exact = 0;
    config.thread_level = 0;
    Ok(config)
}

fn new_picture(size: Size) -> Result<webp::WebPPicture, Error> {
    let mut picture = MaybeUninit::<webp::WebPPicture>::zeroed();
    // SAFETY: the callee writes only the struct at the given address, and fails if the library's
    // version differs from the header's.
    let ok = unsafe { webp::WebPPictureInit(picture.as_mut_ptr()) };
    if !ok {
        let detail = "webp: library version mismatch";
        return Err(Error::new(ErrorKind::Failed, detail));
    }
    // SAFETY: `WebPPictureInit` succeeded, and all-zero is valid for the fields that it does not
    // set.
    let mut picture = unsafe { picture.assume_init() };
    picture.width = to_c_int(size.width_px as usize)?;
    picture.height = to_c_int(size.height_px as usize)?;
    Ok(picture)
}

fn duplicate(plane: &Plane) -> Result<Vec<u8>, Error> {
    buffer::copy(&plane.data)
}

pub(super) fn to_c_int(value: usize) -> Result<c_int, Error> {
    c_int::try_from(value).map_err(|_| {
        Error::new(
            ErrorKind::TooLarge,
            "webp: the stride of the picture exceeds 31 bits",
        )
    })
}
