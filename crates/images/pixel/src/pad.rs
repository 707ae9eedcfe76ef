//! Padding of a picture to a larger frame.

use image_plan::{Layout, Packed, Plane, Range, Raster, Rgba, Size, Yuv};

/// Places the picture in a frame of size `frame`, `left_px` and `top_px` from its edges. The margin
/// has the colour `margin`; without it, the margin is transparent if the picture has alpha,
/// otherwise white.
///
/// Planes with subsampled chroma are aligned to a whole chroma sample (with 4:2:0, up to one pixel
/// left of or above the position), so that no sample needs filtering. Chroma samples that extend
/// into the margin are blended with neutral chroma.
///
/// # Panics
/// If the picture is not inside the frame, or for planes with a colour of the margin.
#[must_use]
pub(crate) fn place(
    raster: Raster,
    frame: Size,
    (left_px, top_px): (u32, u32),
    margin: Option<Rgba>,
) -> Raster {
    let size = raster.size();
    if size == frame {
        return raster;
    }
    assert!(
        u64::from(left_px) + u64::from(size.width_px) <= u64::from(frame.width_px)
            && u64::from(top_px) + u64::from(size.height_px) <= u64::from(frame.height_px),
        "{size:?} at {left_px}, {top_px} in {frame:?}"
    );
    match raster {
        Raster::Yuv(yuv) => {
            assert!(margin.is_none(), "planes have no coloured margin");
            Raster::Yuv(pad_yuv(&yuv, frame, left_px, top_px))
        }
        Raster::Packed(packed) => {
            Raster::Packed(pad_packed(&packed, frame, (left_px, top_px), margin))
        }
    }
}

fn pad_packed(
    packed: &Packed,
    frame: Size,
    (left_px, top_px): (u32, u32),
    margin: Option<Rgba>,
) -> Packed {
    let Rgba(margin) = margin.unwrap_or(match packed.layout {
        Layout::Rgb => Rgba::WHITE,
        Layout::Rgba | Layout::Cmyk => Rgba::TRANSPARENT,
    });
    let margin = &margin[..packed.layout.channels()];
    let mut data = margin.repeat(frame.pixels() as usize);
    let row_bytes = packed.size.width_px as usize * margin.len();
    let frame_bytes = frame.width_px as usize * margin.len();
    let start = top_px as usize * frame_bytes + left_px as usize * margin.len();
    let rows = data[start..].chunks_mut(frame_bytes);
    for (to, from) in rows.zip(packed.data.chunks_exact(row_bytes)) {
        to[..row_bytes].copy_from_slice(from);
    }
    Packed {
        size: frame,
        layout: packed.layout,
        data,
    }
}

fn pad_yuv(yuv: &Yuv, frame: Size, left_px: u32, top_px: u32) -> Yuv {
    let white = match yuv.range {
        Range::Full => 255,
        Range::Limited => 235,
    };
    let (across, down) = yuv.subsampling.divisors();
    let (left, top) = (left_px / across, top_px / down);
    let at = (left * across, top * down);
    let chroma = |plane: &Plane| {
        let mut plane = blend_margin(plane, yuv.size, (across, down), at, frame);
        plane = pad_plane(&plane, yuv.subsampling.chroma(frame), (left, top), 128);
        plane
    };
    Yuv {
        size: frame,
        subsampling: yuv.subsampling,
        range: yuv.range,
        matrix: yuv.matrix,
        luma: pad_plane(&yuv.luma, frame, at, white),
        chroma: yuv
            .chroma
            .as_ref()
            .map(|planes| planes.each_ref().map(chroma)),
        alpha: yuv
            .alpha
            .as_ref()
            .map(|alpha| pad_plane(alpha, frame, at, 0)),
    }
}

/// Returns a chroma plane whose last column and row are blended with neutral chroma, in proportion
/// to the part of each sample that lies in the margin.
fn blend_margin(
    plane: &Plane,
    luma: Size,
    (across, down): (u32, u32),
    (left_px, top_px): (u32, u32),
    frame: Size,
) -> Plane {
    let mut plane = plane.clone();
    let covered_columns = part(luma.width_px, across, frame.width_px - left_px);
    let covered_rows = part(luma.height_px, down, frame.height_px - top_px);
    let (width, height) = (plane.size.width_px as usize, plane.size.height_px as usize);
    for y in 0..height {
        let end = y * plane.stride + width;
        fade(&mut plane.data[end - 1..end], covered_columns, across);
    }
    let last = (height - 1) * plane.stride;
    fade(&mut plane.data[last..last + width], covered_rows, down);
    plane
}

/// Returns the number of the last chroma sample's luma samples that belong to the picture and not
/// to the margin. Returns `divisor` if the frame ends where the picture ends, because there is no
/// margin then.
fn part(luma_px: u32, divisor: u32, frame_rest_px: u32) -> u32 {
    match luma_px % divisor {
        0 => divisor,
        _ if luma_px == frame_rest_px => divisor,
        rest => rest,
    }
}

fn fade(samples: &mut [u8], covered: u32, divisor: u32) {
    let (covered, divisor) = (covered as u16, divisor as u16);
    for sample in samples {
        let sum = u16::from(*sample) * covered + 128 * (divisor - covered);
        *sample = ((sum + divisor / 2) / divisor) as u8;
    }
}

fn pad_plane(plane: &Plane, frame: Size, (left, top): (u32, u32), margin: u8) -> Plane {
    let mut out = Plane::filled(frame, margin);
    let width = plane.size.width_px as usize;
    for y in 0..plane.size.height_px {
        let start = (top + y) as usize * out.stride + left as usize;
        out.data[start..start + width].copy_from_slice(plane.row(y));
    }
    out
}
