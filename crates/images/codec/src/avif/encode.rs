//! Encodes planes as lossy AVIF, and RGB or RGBA as lossless AVIF.

use std::ffi::{CStr, c_int};

use image_plan::{Layout, Matrix, Packed, Plane, Range, Raster, Size, Subsampling, Yuv};
use libavif_sys as avif;

use super::check;
use super::handle::{File, Owned, new_encoder, new_image};
use crate::{Error, ErrorKind, buffer};

/// Settings of the AVIF encoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Quality of colours and alpha, 0…100; has no effect if `lossless` is true.
    pub(crate) quality: u8,
    /// libaom's speed, 0…9; higher is faster. 10 has the effect of 9.
    pub(crate) speed: u8,
    /// True for lossless encoding: 4:4:4 with the identity matrix and quantiser 0.
    pub(crate) lossless: bool,
}

/// libaom's option that weights coefficients by frequency, used here for colours but not for alpha.
/// Of the options that affect quality (`tune`, `deltaq-mode`, `aq-mode`, `sharpness`,
/// `enable-chroma-deltaq`, `enable-qm`), only `enable-qm` saved bytes at equal SSIMULACRA2. It
/// takes no more time.
const QUANTISER_MATRICES: &CStr = c"color:enable-qm";

/// libaom's option to search for motion of the whole frame, which a still picture does not have.
/// Disabling the option saves the allocation of three image pyramids and, in a fresh process, the
/// page faults on their memory. The output is the same.
const GLOBAL_MOTION: &CStr = c"enable-global-motion";

/// libaom's option to predict blocks from other blocks of the same picture. libaom uses it at
/// speeds up to 6 for pictures that it classifies as screen content, even for photographs with flat
/// areas. The search then hashes every block of every size at every position. It takes 80 more
/// bytes per pixel and three times as long, so the option is disabled.
const INTRA_BLOCK_COPY: &CStr = c"enable-intrabc";

/// Maximum side of an AV1 frame in pixels.
const SIDE_PX_MAX: u32 = 65_536;

pub(crate) fn encode(
    raster: &Raster,
    profile: Option<&[u8]>,
    effort: Effort,
) -> Result<Vec<u8>, Error> {
    let size = raster.size();
    if size.width_px.max(size.height_px) > SIDE_PX_MAX {
        let detail = format!(
            "avif: {} × {} pixels exceed the format's limit",
            size.width_px, size.height_px
        );
        return Err(Error::new(ErrorKind::TooLarge, detail));
    }
    match raster {
        Raster::Yuv(yuv) if !effort.lossless => {
            let planes = Planes {
                luma: &yuv.luma,
                chroma: yuv.chroma.as_ref(),
                alpha: yuv.alpha.as_ref(),
            };
            write(&planes, yuv_colours(yuv)?, profile, effort)
        }
        Raster::Packed(packed) if effort.lossless => {
            let parts = split_planes(packed)?;
            let planes = Planes {
                luma: &parts.green,
                chroma: Some(&parts.blue_red),
                alpha: parts.alpha.as_ref(),
            };
            let colours = Colours {
                format: avif::AVIF_PIXEL_FORMAT_YUV444,
                range: avif::AVIF_RANGE_FULL,
                matrix: avif::AVIF_MATRIX_COEFFICIENTS_IDENTITY,
            };
            write(&planes, colours, profile, effort)
        }
        _ => {
            let detail =
                "avif: lossy encoding needs YUV planes, and lossless encoding needs packed pixels";
            Err(Error::new(ErrorKind::Failed, detail))
        }
    }
}

/// Planes of one picture. All come from a raster that `encode::check` accepted.
struct Planes<'a> {
    luma: &'a Plane,
    chroma: Option<&'a [Plane; 2]>,
    alpha: Option<&'a Plane>,
}

/// Subsampling, range and matrix of the planes, in libavif's constants.
struct Colours {
    format: avif::avifPixelFormat,
    range: avif::avifRange,
    matrix: u32,
}

fn yuv_colours(yuv: &Yuv) -> Result<Colours, Error> {
    Ok(Colours {
        format: match yuv.subsampling {
            Subsampling::S400 => avif::AVIF_PIXEL_FORMAT_YUV400,
            Subsampling::S420 => avif::AVIF_PIXEL_FORMAT_YUV420,
            Subsampling::S422 => avif::AVIF_PIXEL_FORMAT_YUV422,
            Subsampling::S444 => avif::AVIF_PIXEL_FORMAT_YUV444,
            Subsampling::S440 | Subsampling::S411 => {
                let detail = format!(
                    "avif: AV1 does not support subsampling {:?}",
                    yuv.subsampling
                );
                return Err(Error::new(ErrorKind::Failed, detail));
            }
        },
        range: match yuv.range {
            Range::Full => avif::AVIF_RANGE_FULL,
            Range::Limited => avif::AVIF_RANGE_LIMITED,
        },
        matrix: match yuv.matrix {
            Matrix::Bt601 => avif::AVIF_MATRIX_COEFFICIENTS_BT601,
            Matrix::Bt709 => avif::AVIF_MATRIX_COEFFICIENTS_BT709,
            Matrix::Bt2020 => avif::AVIF_MATRIX_COEFFICIENTS_BT2020_NCL,
        },
    })
}

fn write(
    planes: &Planes<'_>,
    colours: Colours,
    profile: Option<&[u8]>,
    effort: Effort,
) -> Result<Vec<u8>, Error> {
    let mut image = wrap_planes(planes, colours, profile)?;
    let mut encoder = new_encoder()?;
    let quality = if effort.lossless { 100 } else { effort.quality };
    encoder.codecChoice = avif::AVIF_CODEC_CHOICE_AOM;
    encoder.maxThreads = 1;
    encoder.speed = c_int::from(effort.speed);
    encoder.quality = c_int::from(quality);
    encoder.qualityAlpha = c_int::from(quality);
    set_option(&mut encoder, GLOBAL_MOTION, c"0")?;
    set_option(&mut encoder, INTRA_BLOCK_COPY, c"0")?;
    if !effort.lossless {
        set_option(&mut encoder, QUANTISER_MATRICES, c"1")?;
    }
    // SAFETY: `Owned` guarantees that both structs are live and initialised. The planes referenced
    // by the image belong to `planes`, outlive the call, have the sizes and strides stated in the
    // image, and are only read: libaom copies them into its own frame first.
    let result = unsafe {
        avif::avifEncoderAddImage(
            encoder.as_ptr(),
            image.as_ptr(),
            1,
            avif::AVIF_ADD_IMAGE_FLAG_SINGLE,
        )
    };
    check(result)?;
    let mut file = File::with_capacity(capacity_bytes(planes.luma.size))?;
    // SAFETY: `Owned` guarantees a live encoder, to which the call above added an image. The callee
    // allocates the memory that it stores in the slot.
    let result = unsafe { avif::avifEncoderFinish(encoder.as_ptr(), file.slot()) };
    check(result)?;
    buffer::copy(file.bytes())
}

fn set_option(
    encoder: &mut Owned<avif::avifEncoder>,
    name: &CStr,
    value: &CStr,
) -> Result<(), Error> {
    let encoder = encoder.as_ptr();
    // SAFETY: `Owned` guarantees a live encoder. A `CStr` is NUL-terminated, and the callee copies
    // both strings.
    check(unsafe {
        avif::avifEncoderSetCodecSpecificOption(encoder, name.as_ptr(), value.as_ptr())
    })
}

/// Returns the initial capacity of the buffer for the encoded file: two bits per pixel, which is
/// four times the size of a photograph at the default quality.
fn capacity_bytes(size: Size) -> usize {
    const BOXES_BYTES: u64 = 4 << 10;
    usize::try_from(size.pixels() / 4 + BOXES_BYTES)
        .expect("the planes are in memory, so their size fits")
}

/// Creates an image that references the planes without owning them.
fn wrap_planes(
    planes: &Planes<'_>,
    colours: Colours,
    profile: Option<&[u8]>,
) -> Result<Owned<avif::avifImage>, Error> {
    let mut image = new_image(planes.luma.size, colours.format)?;
    image.yuvRange = colours.range;
    image.matrixCoefficients = colours.matrix as avif::avifMatrixCoefficients;
    let shown = std::iter::once(planes.luma).chain(planes.chroma.into_iter().flatten());
    for (index, plane) in shown.enumerate() {
        image.yuvPlanes[index] = plane.data.as_ptr().cast_mut();
        image.yuvRowBytes[index] = stride(plane)?;
    }
    if let Some(alpha) = planes.alpha {
        image.alphaPlane = alpha.data.as_ptr().cast_mut();
        image.alphaRowBytes = stride(alpha)?;
    }
    match profile {
        None => {
            image.colorPrimaries = avif::AVIF_COLOR_PRIMARIES_BT709 as avif::avifColorPrimaries;
            image.transferCharacteristics =
                avif::AVIF_TRANSFER_CHARACTERISTICS_SRGB as avif::avifTransferCharacteristics;
        }
        Some(profile) => {
            // SAFETY: `Owned` guarantees a live image. `profile` is a slice, so `profile.len()`
            // bytes are readable, and the callee copies them.
            let result = unsafe {
                avif::avifImageSetProfileICC(image.as_ptr(), profile.as_ptr(), profile.len())
            };
            check(result)?;
        }
    }
    Ok(image)
}

/// Pixels separated into planes, in the order in which AV1 stores RGB (ITU-T H.273, matrix 0).
struct RgbPlanes {
    green: Plane,
    blue_red: [Plane; 2],
    alpha: Option<Plane>,
}

fn split_planes(packed: &Packed) -> Result<RgbPlanes, Error> {
    let size: Size = packed.size;
    let (mut green, mut blue, mut red) = (
        buffer::plane(size)?,
        buffer::plane(size)?,
        buffer::plane(size)?,
    );
    let rgb = red.data.iter_mut().zip(&mut green.data).zip(&mut blue.data);
    let alpha = match packed.layout {
        Layout::Rgb => {
            let (pixels, _) = packed.data.as_chunks::<3>();
            for (((r, g), b), pixel) in rgb.zip(pixels) {
                [*r, *g, *b] = *pixel;
            }
            None
        }
        Layout::Rgba => {
            let mut alpha = buffer::plane(size)?;
            let (pixels, _) = packed.data.as_chunks::<4>();
            for ((((r, g), b), a), pixel) in rgb.zip(&mut alpha.data).zip(pixels) {
                [*r, *g, *b, *a] = *pixel;
            }
            Some(alpha)
        }
        Layout::Cmyk => {
            let detail = "avif: cannot encode CMYK pixels";
            return Err(Error::new(ErrorKind::Failed, detail));
        }
    };
    Ok(RgbPlanes {
        green,
        blue_red: [blue, red],
        alpha,
    })
}

fn stride(plane: &Plane) -> Result<u32, Error> {
    u32::try_from(plane.stride).map_err(|_| {
        Error::new(
            ErrorKind::TooLarge,
            "avif: the stride of a plane exceeds 32 bits",
        )
    })
}
