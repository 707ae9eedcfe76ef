//! JPEG, decoded and encoded by libjpeg-turbo's TurboJPEG interface.
//!
//! Planes are exchanged exactly as stored in the file: without conversion to RGB and without a
//! change of chroma resolution. TurboJPEG rounds the luma plane up to whole chroma samples;
//! [`padded`] computes the resulting sizes for both decoding and encoding.

mod decode;
mod encode;
mod handle;

pub(crate) use decode::{decode, decode_pixels};
pub(crate) use encode::encode;

use image_plan::{Size, Subsampling};
use turbojpeg_sys as tj;

/// Longest side that libjpeg supports: `JPEG_MAX_DIMENSION`.
const SIDE_PX_MAX: u32 = 65_500;

/// Subsamplings that both TurboJPEG and `image_plan` support.
const SUBSAMPLINGS: [(tj::TJSAMP, Subsampling); 6] = [
    (tj::TJSAMP_TJSAMP_444, Subsampling::S444),
    (tj::TJSAMP_TJSAMP_422, Subsampling::S422),
    (tj::TJSAMP_TJSAMP_420, Subsampling::S420),
    (tj::TJSAMP_TJSAMP_440, Subsampling::S440),
    (tj::TJSAMP_TJSAMP_411, Subsampling::S411),
    (tj::TJSAMP_TJSAMP_GRAY, Subsampling::S400),
];

fn subsampling_from_tj(sampling: i32) -> Option<Subsampling> {
    let (_, known) = SUBSAMPLINGS.iter().find(|(code, _)| *code == sampling)?;
    Some(*known)
}

fn subsampling_to_tj(subsampling: Subsampling) -> tj::TJSAMP {
    let (code, _) = SUBSAMPLINGS
        .iter()
        .find(|(_, known)| *known == subsampling)
        .expect("the table names every subsampling");
    *code
}

/// Returns the sizes of the luma plane and of each chroma plane that TurboJPEG accesses for a
/// picture of `size`.
///
/// Luma is rounded up to whole chroma samples, as by `tj3YUVPlaneWidth` and `tj3YUVPlaneHeight`.
fn padded(subsampling: Subsampling, size: Size) -> [Size; 2] {
    let (x, y) = subsampling.divisors();
    let chroma = subsampling.chroma(size);
    [Size::new(chroma.width_px * x, chroma.height_px * y), chroma]
}

#[cfg(test)]
mod tests;
