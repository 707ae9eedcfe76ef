//! Pictures in the form in which SSIMULACRA2 compares them.

use fast_ssim2::{PixelDescriptor, PixelSlice};
use image_plan::{Layout, Packed, Size};

/// Adds opaque alpha to RGB. Decoders drop alpha if all pixels are opaque, but two pictures can be
/// compared only in the same layout.
pub(crate) fn with_alpha(picture: Packed) -> Packed {
    if picture.layout != Layout::Rgb {
        return picture;
    }
    let (pixels, _) = picture.data.as_chunks::<3>();
    Packed {
        layout: Layout::Rgba,
        data: pixels
            .iter()
            .flat_map(|[r, g, b]| [*r, *g, *b, 255])
            .collect(),
        ..picture
    }
}

/// Returns the picture as input of SSIMULACRA2, or `None` if the implementation does not support
/// the layout or size of the picture.
pub(crate) fn slice(picture: &Packed) -> Option<PixelSlice<'_>> {
    let descriptor = match picture.layout {
        Layout::Rgb => PixelDescriptor::RGB8_SRGB,
        Layout::Rgba => PixelDescriptor::RGBA8_SRGB,
        Layout::Cmyk => return None,
    };
    let Size {
        width_px,
        height_px,
    } = picture.size;
    let stride = width_px as usize * picture.layout.channels();
    let slice = PixelSlice::new(&picture.data, width_px, height_px, stride, descriptor);
    slice.ok().map(|slice| slice.erase())
}
