//! Cropping, scaling and chroma subsampling in one step.

mod plane;

use self::plane::{Axis, TapsCache, View, filtered};
use crate::rgb::to_packed;
use crate::subsample::reduce;
use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3, U8x4};
use fast_image_resize::{Filter, FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};
use image_plan::{Kernel, Layout, Packed, Plane, Raster, Rect, Size, Subsampling, Yuv};
use std::f64::consts::PI;
use std::sync::LazyLock;

/// Part of a picture, in pixels. Its edges may lie inside a pixel, which is usual after a JPEG was
/// decoded at a fraction of its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Distance of the area from the left edge of the picture.
    pub left_px: f64,
    /// Distance of the area from the top edge of the picture.
    pub top_px: f64,
    /// Width of the area; positive.
    pub width_px: f64,
    /// Height of the area; positive.
    pub height_px: f64,
}

impl Area {
    /// Returns the area that covers a whole picture of `size`.
    #[must_use]
    pub fn whole(size: Size) -> Area {
        Area {
            left_px: 0.0,
            top_px: 0.0,
            width_px: f64::from(size.width_px),
            height_px: f64::from(size.height_px),
        }
    }

    /// Returns the area that corresponds to `self` in the picture reduced by the factors `across`
    /// and `down`.
    #[must_use]
    pub fn divided(self, across: u32, down: u32) -> Area {
        let (across, down) = (f64::from(across), f64::from(down));
        Area {
            left_px: self.left_px / across,
            top_px: self.top_px / down,
            width_px: self.width_px / across,
            height_px: self.height_px / down,
        }
    }

    fn is_size(&self, size: Size) -> bool {
        self.width_px == f64::from(size.width_px) && self.height_px == f64::from(size.height_px)
    }

    fn starts_on_whole_pixel(&self) -> bool {
        self.left_px.fract() == 0.0 && self.top_px.fract() == 0.0
    }

    /// Returns the smallest rectangle of whole pixels that contains the area.
    fn outer(&self, size: Size) -> Rect {
        let x = self.left_px.floor();
        let y = self.top_px.floor();
        let right = (self.left_px + self.width_px).ceil();
        let bottom = (self.top_px + self.height_px).ceil();
        assert!(
            0.0 <= x
                && 0.0 <= y
                && x < right
                && y < bottom
                && right <= f64::from(size.width_px)
                && bottom <= f64::from(size.height_px),
            "{self:?} of {size:?}"
        );
        Rect {
            x: x as u32,
            y: y as u32,
            size: Size::new((right - x) as u32, (bottom - y) as u32),
        }
    }
}

impl From<Rect> for Area {
    fn from(rect: Rect) -> Area {
        Area {
            left_px: f64::from(rect.x),
            top_px: f64::from(rect.y),
            ..Area::whole(rect.size)
        }
    }
}

/// Scales `area` of the picture to `size` with Lanczos3, as [`scale_by`].
///
/// # Panics
/// As [`scale_by`].
#[must_use]
pub fn scale(raster: Raster, area: Area, size: Size, chroma: Subsampling) -> Raster {
    scale_by(Kernel::Lanczos3, raster, area, size, chroma)
}

/// Scales `area` of the picture to `size` with the filter `kernel`. Planes get chroma in the
/// subsampling `chroma`; planes without chroma stay without chroma.
///
/// Pixels that `area` does not touch never affect the result. A picture that needs no change is
/// returned unchanged. Planes with alpha become RGBA if their size changes, because only
/// premultiplied colours can be filtered.
///
/// # Panics
/// If `size` is empty, `area` is not inside the picture, or `chroma` is [`Subsampling::S400`].
#[must_use]
pub fn scale_by(
    kernel: Kernel,
    raster: Raster,
    area: Area,
    size: Size,
    chroma: Subsampling,
) -> Raster {
    assert!(size.pixels() != 0, "{size:?}");
    let mut scaler = Scaler {
        kernel,
        ..Scaler::new(area.is_size(size))
    };
    match raster {
        Raster::Yuv(ref yuv) if yuv.alpha.is_some() && !scaler.copies_luma => {
            Raster::Packed(scaler.packed(to_packed(raster), area, size))
        }
        Raster::Yuv(yuv) => Raster::Yuv(scaler.yuv(yuv, area, size, chroma)),
        Raster::Packed(packed) => Raster::Packed(scaler.packed(packed, area, size)),
    }
}

/// Returns the planes with chroma resampled to `subsampling`.
pub(crate) fn with_subsampling(yuv: Yuv, subsampling: Subsampling) -> Yuv {
    let size = yuv.size;
    Scaler::new(true).yuv(yuv, Area::whole(size), size, subsampling)
}

/// Resamples a plane to a grid that is shifted by `right_px` and `down_px`. The last column and row
/// are repeated where the grid extends beyond the plane.
pub(crate) fn shift_grid(plane: &Plane, right_px: f64, down_px: f64) -> Plane {
    let size = plane.size;
    let extended = extended(plane);
    let area = Area {
        left_px: right_px,
        top_px: down_px,
        ..Area::whole(size)
    };
    Scaler::new(true).plane(extended, area, size)
}

/// Extends a plane by one column and one row, which repeat the last ones.
fn extended(plane: &Plane) -> Plane {
    let size = Size::new(plane.size.width_px + 1, plane.size.height_px + 1);
    let mut data = Vec::with_capacity(size.pixels() as usize);
    for y in 0..size.height_px {
        let row = plane.row(y.min(plane.size.height_px - 1));
        data.extend_from_slice(row);
        data.push(row[row.len() - 1]);
    }
    unpadded_plane(size, data)
}

struct Scaler {
    resizer: Resizer,
    taps: TapsCache,
    /// True if luma is copied without filtering; chroma may still be resampled.
    copies_luma: bool,
    /// Filter for luma and for pixels, and for chroma if luma is filtered.
    kernel: Kernel,
    /// True if the fourth channel is alpha, so that the resizer must premultiply.
    premultiplies: bool,
}

impl Scaler {
    fn new(copies_luma: bool) -> Scaler {
        Scaler {
            resizer: Resizer::new(),
            taps: TapsCache::default(),
            copies_luma,
            kernel: Kernel::default(),
            premultiplies: false,
        }
    }

    fn yuv(&mut self, yuv: Yuv, area: Area, size: Size, chroma: Subsampling) -> Yuv {
        assert!(chroma != Subsampling::S400, "scaling does not drop colour");
        let from = yuv.subsampling;
        Yuv {
            size,
            subsampling: match from {
                Subsampling::S400 => from,
                _ => chroma,
            },
            range: yuv.range,
            matrix: yuv.matrix,
            luma: self.plane(yuv.luma, area, size),
            chroma: yuv
                .chroma
                .map(|planes| planes.map(|plane| self.chroma(plane, (from, chroma), area, size))),
            alpha: yuv.alpha.map(|alpha| self.plane(alpha, area, size)),
        }
    }

    /// Resamples a chroma plane from subsampling `from` to subsampling `to`, to match luma that was
    /// scaled from `area` to `size`.
    fn chroma(
        &mut self,
        plane: Plane,
        (from, to): (Subsampling, Subsampling),
        area: Area,
        size: Size,
    ) -> Plane {
        let (from_x, from_y) = from.divisors();
        let (to_x, to_y) = to.divisors();
        let area = area.divided(from_x, from_y);
        let coarser = to_x.is_multiple_of(from_x) && to_y.is_multiple_of(from_y);
        if self.copies_luma && coarser && area.starts_on_whole_pixel() {
            let blocks = crop_pixels(plane, area);
            return reduce(blocks, to_x / from_x, to_y / from_y);
        }
        if size.width_px.is_multiple_of(to_x) && size.height_px.is_multiple_of(to_y) {
            return self.plane(plane, area, to.chroma(size));
        }
        // The new chroma grid extends beyond the picture, where there are no samples to filter. So
        // chroma is first scaled to the grid of luma. Then `reduce` reduces it and repeats the
        // edge. This costs little, because the time of filtering depends mainly on the size of the
        // source, not on that of the result.
        reduce(self.plane(plane, area, size), to_x, to_y)
    }

    fn plane(&mut self, plane: Plane, area: Area, size: Size) -> Plane {
        if area.is_size(size) && area.starts_on_whole_pixel() {
            return crop_pixels(plane, area);
        }
        let outer = area.outer(plane.size);
        if !self.copies_luma {
            return self.filtered(&plane, outer, area, size);
        }
        let stride = u32::try_from(plane.stride).expect("rows are shorter than 2^32 samples");
        let stored = Size::new(stride, plane.size.height_px);
        let rows = TypedImageRef::<U8>::from_buffer(stored.width_px, stored.height_px, &plane.data)
            .expect("a plane has stride × height bytes");
        unpadded_plane(size, self.resize(&rows, outer, area, size))
    }

    /// Applies the kernel. Reads only the samples of `plane` inside `outer`.
    fn filtered(&mut self, plane: &Plane, outer: Rect, area: Area, size: Size) -> Plane {
        let view = View {
            plane,
            x: outer.x as usize,
            y: outer.y as usize,
            width: outer.size.width_px as usize,
            height: outer.size.height_px as usize,
        };
        let across = self.taps.taps(Axis {
            length: view.width,
            start: area.left_px - f64::from(outer.x),
            extent: area.width_px,
            count: size.width_px as usize,
            kernel: self.kernel,
        });
        let down = self.taps.taps(Axis {
            length: view.height,
            start: area.top_px - f64::from(outer.y),
            extent: area.height_px,
            count: size.height_px as usize,
            kernel: self.kernel,
        });
        filtered(view, &across, &down)
    }

    fn packed(&mut self, packed: Packed, area: Area, size: Size) -> Packed {
        if area == Area::whole(packed.size) && size == packed.size {
            return packed;
        }
        let (from, data) = (packed.size, &packed.data);
        let data = match packed.layout {
            Layout::Rgb => self.pixels::<U8x3>(data, from, area, size),
            Layout::Rgba | Layout::Cmyk => {
                self.premultiplies = packed.layout == Layout::Rgba;
                self.pixels::<U8x4>(data, from, area, size)
            }
        };
        Packed {
            size,
            layout: packed.layout,
            data,
        }
    }

    fn pixels<P: PixelTrait>(
        &mut self,
        data: &[u8],
        from: Size,
        area: Area,
        size: Size,
    ) -> Vec<u8> {
        let rows = TypedImageRef::<P>::from_buffer(from.width_px, from.height_px, data)
            .expect("the buffer of a packed picture has its size");
        self.resize(&rows, area.outer(from), area, size)
    }

    /// Calls the resizer of `fast_image_resize` with only the pixels inside `outer`.
    fn resize<P: PixelTrait>(
        &mut self,
        rows: &TypedImageRef<P>,
        outer: Rect,
        area: Area,
        size: Size,
    ) -> Vec<u8> {
        let algorithm = match self.kernel {
            _ if self.copies_luma => ResizeAlg::Convolution(FilterType::Bilinear),
            Kernel::Lanczos3 => ResizeAlg::Convolution(lanczos3()),
            Kernel::Cubic => ResizeAlg::Convolution(FilterType::CatmullRom),
            Kernel::Linear => ResizeAlg::Convolution(FilterType::Bilinear),
            Kernel::Nearest => ResizeAlg::Nearest,
        };
        let (left, width) = inside(area.left_px, area.width_px, outer.x, outer.size.width_px);
        let (top, height) = inside(area.top_px, area.height_px, outer.y, outer.size.height_px);
        let options = ResizeOptions::new()
            .resize_alg(algorithm)
            .use_alpha(self.premultiplies)
            .crop(left, top, width, height);
        let Size {
            width_px,
            height_px,
        } = outer.size;
        let view = TypedCroppedImage::from_ref(rows, outer.x, outer.y, width_px, height_px)
            .expect("the outer rectangle is inside the picture");
        let mut data = vec![0; size.pixels() as usize * P::size()];
        let mut target = TypedImage::<P>::from_buffer(size.width_px, size.height_px, &mut data)
            .expect("the buffer was made for this size");
        self.resizer
            .resize_typed(&view, &mut target, &options)
            .expect("the area is inside its outer rectangle");
        data
    }
}

/// Number of entries of [`LANCZOS3`] per unit of the filter's argument.
const LANCZOS3_STEPS: usize = 512;

/// Weights of Lanczos3 from 0 to 3. `fast_image_resize` computes its weights again for every plane.
/// For small pictures, this would take as long as the filtering itself, so the weights are looked
/// up in this table. Linear interpolation between two entries has an error below 2·10⁻⁶, a
/// thirtieth of the error by which the resizer rounds its weights.
static LANCZOS3: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let weight = |step: usize| {
        // With t = πx/3: sinc(x) · sinc(x/3) = sin 3t · sin t / 3t².
        let t = step as f64 / LANCZOS3_STEPS as f64 * (PI / 3.0);
        match step {
            0 => 1.0,
            _ => (3.0 * t).sin() * t.sin() / (3.0 * t * t),
        }
    };
    let mut weights: Vec<f64> = (0..=3 * LANCZOS3_STEPS).map(weight).collect();
    // The weight at 3 is exactly zero. The extra entry is for arguments that round to 3.
    weights[3 * LANCZOS3_STEPS] = 0.0;
    weights.push(0.0);
    weights
});

fn lanczos3() -> FilterType {
    let filter =
        Filter::new("Lanczos3", lanczos3_weight, 3.0).expect("the filter's support is above zero");
    FilterType::Custom(filter)
}

fn lanczos3_weight(x: f64) -> f64 {
    let position = x.abs() * LANCZOS3_STEPS as f64;
    let step = position as usize;
    match LANCZOS3.get(step..step + 2) {
        Some([low, high]) => low + (high - low) * (position - step as f64),
        _ => 0.0,
    }
}

/// Converts an interval on one axis of the picture to coordinates of a view, which begins at
/// `origin` and has `length` pixels. Ensures that rounding does not move the interval's end beyond
/// the view.
fn inside(start: f64, extent: f64, origin: u32, length: u32) -> (f64, f64) {
    let start = start - f64::from(origin);
    let length = f64::from(length);
    if start + extent <= length {
        (start, extent)
    } else {
        (start, (length - start).next_down())
    }
}

/// Returns the pixels that `area` touches, without filtering.
fn crop_pixels(plane: Plane, area: Area) -> Plane {
    let Rect { x, y, size } = area.outer(plane.size);
    if size == plane.size {
        return plane;
    }
    let columns = x as usize..(x + size.width_px) as usize;
    let data = (y..y + size.height_px).flat_map(|y| &plane.row(y)[columns.clone()]);
    unpadded_plane(size, data.copied().collect())
}

fn unpadded_plane(size: Size, data: Vec<u8>) -> Plane {
    assert_eq!(data.len() as u64, size.pixels());
    Plane {
        size,
        stride: size.width_px as usize,
        data,
    }
}

#[cfg(test)]
mod tests {
    use super::lanczos3_weight;

    #[test]
    fn weights_are_those_of_lanczos3() {
        let sinc = |x: f64| match x {
            0.0 => 1.0,
            x => (std::f64::consts::PI * x).sin() / (std::f64::consts::PI * x),
        };
        for step in -40_000..=40_000 {
            let x = f64::from(step) / 10_000.0;
            let right = if x.abs() < 3.0 {
                sinc(x) * sinc(x / 3.0)
            } else {
                0.0
            };
            let from_table = lanczos3_weight(x);
            assert!(
                (from_table - right).abs() < 2e-6,
                "{x}: {from_table}, not {right}"
            );
        }
    }
}
