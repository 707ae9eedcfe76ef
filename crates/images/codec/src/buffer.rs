//! Allocation of pixel memory. Failure is an error and never aborts the process.

use image_plan::{Layout, Packed, Plane, Size};

use crate::{Error, ErrorKind};

/// Returns `len` zero bytes.
pub(crate) fn zeroed(len: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, len)?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// Reserves capacity for exactly `additional` more bytes.
pub(crate) fn reserve(bytes: &mut Vec<u8>, additional: usize) -> Result<(), Error> {
    bytes.try_reserve_exact(additional).map_err(|_| {
        let detail = format!("cannot allocate {additional} bytes");
        Error::new(ErrorKind::OutOfMemory, detail)
    })
}

/// Returns a plane of zeros without row padding.
pub(crate) fn plane(size: Size) -> Result<Plane, Error> {
    let stride = size.width_px as usize;
    let data = zeroed(stride * size.height_px as usize)?;
    Ok(Plane { size, stride, data })
}

/// Returns interleaved pixels, all zero.
pub(crate) fn packed(size: Size, layout: Layout) -> Result<Packed, Error> {
    let data = zeroed(layout.channels() * size.width_px as usize * size.height_px as usize)?;
    Ok(Packed { size, layout, data })
}

/// Copies bytes that a library owns, such as a profile or a finished file.
pub(crate) fn copy(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut copy = Vec::new();
    reserve(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Converts RGBA to RGB if all pixels are opaque, which saves one channel in all later steps.
pub(crate) fn without_opaque_alpha(mut rgba: Packed) -> Packed {
    assert_eq!(rgba.layout, Layout::Rgba);
    let (pixels, _) = rgba.data.as_chunks::<4>();
    if pixels.iter().any(|[_, _, _, alpha]| *alpha != 255) {
        return rgba;
    }
    for pixel in 0..rgba.data.len() / 4 {
        rgba.data.copy_within(4 * pixel..4 * pixel + 3, 3 * pixel);
    }
    rgba.data.truncate(rgba.data.len() / 4 * 3);
    rgba.layout = Layout::Rgb;
    rgba
}

/// Divides the colours of a pixel by its alpha, which is its last sample; rounds to nearest.
pub(crate) fn unpremultiply(pixel: &mut [u8]) {
    let Some((alpha, colours)) = pixel.split_last_mut() else {
        return;
    };
    let alpha = u32::from(*alpha);
    for sample in colours {
        let numerator = u32::from(*sample) * 255 + alpha / 2;
        // The colours of a fully transparent pixel become 0.
        *sample = numerator.checked_div(alpha).unwrap_or(0).min(255) as u8;
    }
}

/// Returns `alpha`, or `None` if all pixels are opaque.
pub(crate) fn unless_opaque(alpha: Plane) -> Option<Plane> {
    let opaque = (0..alpha.size.height_px).all(|y| alpha.row(y).iter().all(|a| *a == 255));
    if opaque { None } else { Some(alpha) }
}
