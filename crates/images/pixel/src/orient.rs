//! Rotation and mirroring for the eight EXIF orientations.

use crate::scale::{shift_grid, with_subsampling};
use image_plan::{Orientation, Packed, Plane, Raster, Rect, Size, Subsampling, Yuv};

/// Rotates and mirrors the picture upright.
///
/// A transposition turns 4:2:2 into 4:4:0 and 4:4:0 into 4:2:2. Transposed 4:1:1 has no name, so
/// 4:1:1 is converted to 4:2:2 first.
///
/// If a mirrored side is not a multiple of the subsampling, the incomplete chroma samples would be
/// at the wrong edge. Then chroma is resampled to the grid that begins at the new edge.
#[must_use]
pub fn orient(raster: Raster, orientation: Orientation) -> Raster {
    if orientation == Orientation::Upright {
        return raster;
    }
    let steps = OrientationSteps::of(orientation);
    match raster {
        Raster::Yuv(yuv) => Raster::Yuv(orient_yuv(yuv, steps)),
        Raster::Packed(packed) => Raster::Packed(orient_packed(&packed, steps)),
    }
}

/// Returns the rectangle of the stored picture that contains the pixels of `upright`, a rectangle
/// of the upright picture. `stored` is the size of the stored picture.
///
/// # Panics
/// If `upright` is not inside the upright picture.
#[must_use]
pub fn stored(upright: Rect, stored: Size, orientation: Orientation) -> Rect {
    let steps = OrientationSteps::of(orientation);
    let mut rect = upright;
    if steps.transposes {
        (rect.x, rect.y) = (rect.y, rect.x);
        rect.size = rect.size.transposed();
    }
    if steps.mirrors_columns {
        rect.x = stored.width_px - rect.x - rect.size.width_px;
    }
    if steps.mirrors_rows {
        rect.y = stored.height_px - rect.y - rect.size.height_px;
    }
    rect
}

/// Returns the rectangle of the upright picture that contains the pixels of `rect`, a rectangle of
/// the stored picture: the inverse of [`stored`]. `size` is the size of the stored picture.
///
/// # Panics
/// If `rect` is not inside the stored picture.
#[must_use]
pub fn upright(rect: Rect, size: Size, orientation: Orientation) -> Rect {
    let steps = OrientationSteps::of(orientation);
    let mut rect = rect;
    if steps.mirrors_columns {
        rect.x = size.width_px - rect.x - rect.size.width_px;
    }
    if steps.mirrors_rows {
        rect.y = size.height_px - rect.y - rect.size.height_px;
    }
    if steps.transposes {
        (rect.x, rect.y) = (rect.y, rect.x);
        rect.size = rect.size.transposed();
    }
    rect
}

/// Orientation as independent steps: mirror columns, mirror rows, then transpose.
#[derive(Clone, Copy)]
struct OrientationSteps {
    mirrors_columns: bool,
    mirrors_rows: bool,
    transposes: bool,
}

impl OrientationSteps {
    fn of(orientation: Orientation) -> OrientationSteps {
        use Orientation::{Flip, Mirror, Transverse, Turn90, Turn180, Turn270};
        OrientationSteps {
            mirrors_columns: matches!(orientation, Mirror | Turn180 | Transverse | Turn270),
            mirrors_rows: matches!(orientation, Flip | Turn180 | Transverse | Turn90),
            transposes: orientation.transposes(),
        }
    }

    fn size(self, size: Size) -> Size {
        if self.transposes {
            size.transposed()
        } else {
            size
        }
    }
}

fn orient_packed(packed: &Packed, steps: OrientationSteps) -> Packed {
    let width = packed.size.width_px as usize;
    let data = match packed.layout.channels() {
        3 => {
            let pixels = packed.data.as_chunks::<3>().0;
            orient_pixels(pixels, width, packed.size, steps).into_flattened()
        }
        _ => {
            let pixels = packed.data.as_chunks::<4>().0;
            orient_pixels(pixels, width, packed.size, steps).into_flattened()
        }
    };
    Packed {
        size: steps.size(packed.size),
        layout: packed.layout,
        data,
    }
}

fn orient_yuv(yuv: Yuv, steps: OrientationSteps) -> Yuv {
    let yuv = match yuv.subsampling {
        Subsampling::S411 if steps.transposes => with_subsampling(yuv, Subsampling::S422),
        _ => yuv,
    };
    let subsampling = match yuv.subsampling {
        Subsampling::S422 if steps.transposes => Subsampling::S440,
        Subsampling::S440 if steps.transposes => Subsampling::S422,
        other => other,
    };
    let (across, down) = yuv.subsampling.divisors();
    let right_px = overhang(steps.mirrors_columns, yuv.size.width_px, across);
    let down_px = overhang(steps.mirrors_rows, yuv.size.height_px, down);
    let (right_px, down_px) = if steps.transposes {
        (down_px, right_px)
    } else {
        (right_px, down_px)
    };
    let chroma = |plane: &Plane| {
        let plane = orient_plane(plane, steps);
        if (right_px, down_px) == (0.0, 0.0) {
            plane
        } else {
            shift_grid(&plane, right_px, down_px)
        }
    };
    Yuv {
        size: steps.size(yuv.size),
        subsampling,
        range: yuv.range,
        matrix: yuv.matrix,
        luma: orient_plane(&yuv.luma, steps),
        chroma: yuv
            .chroma
            .as_ref()
            .map(|planes| planes.each_ref().map(chroma)),
        alpha: yuv.alpha.as_ref().map(|alpha| orient_plane(alpha, steps)),
    }
}

/// Returns the length, in chroma samples, of the part of a mirrored chroma axis that precedes the
/// picture. The last stored chroma sample may cover fewer than `divisor` luma samples. After
/// mirroring, it is the first, and its uncovered part precedes the picture.
fn overhang(mirrored: bool, luma_px: u32, divisor: u32) -> f64 {
    if mirrored {
        f64::from(luma_px.next_multiple_of(divisor) - luma_px) / f64::from(divisor)
    } else {
        0.0
    }
}

fn orient_plane(plane: &Plane, steps: OrientationSteps) -> Plane {
    let size = steps.size(plane.size);
    let data = if steps.transposes {
        transpose_plane(plane, steps)
    } else {
        orient_pixels(&plane.data, plane.stride, plane.size, steps)
    };
    Plane {
        size,
        stride: size.width_px as usize,
        data,
    }
}

/// Side of the blocks in which pixels are transposed. A block is small enough for its cache lines
/// to remain in the first-level cache.
const BLOCK: usize = 16;

fn orient_pixels<P: Copy>(
    pixels: &[P],
    stride: usize,
    size: Size,
    steps: OrientationSteps,
) -> Vec<P> {
    let (width, height) = (size.width_px as usize, size.height_px as usize);
    let row = |y: usize| {
        let y = if steps.mirrors_rows {
            height - 1 - y
        } else {
            y
        };
        &pixels[y * stride..y * stride + width]
    };
    let mut out = Vec::with_capacity(width * height);
    if !steps.transposes {
        for y in 0..height {
            if steps.mirrors_columns {
                out.extend(row(y).iter().rev());
            } else {
                out.extend_from_slice(row(y));
            }
        }
        return out;
    }
    out.resize(width * height, pixels[0]);
    for top in (0..height).step_by(BLOCK) {
        for left in (0..width).step_by(BLOCK) {
            for y in top..(top + BLOCK).min(height) {
                let row = row(y);
                for x in left..(left + BLOCK).min(width) {
                    let from = if steps.mirrors_columns {
                        width - 1 - x
                    } else {
                        x
                    };
                    out[x * height + y] = row[from];
                }
            }
        }
    }
    out
}

/// Does the same as [`orient_pixels`], but faster, for planes that are transposed. This case is
/// frequent, because cameras store portrait photographs rotated by 90°. A plane is transposed in
/// squares of 8 × 8 bytes, and the eight rows of a square fit in eight registers.
fn transpose_plane(plane: &Plane, steps: OrientationSteps) -> Vec<u8> {
    let (width, height) = (plane.size.width_px as usize, plane.size.height_px as usize);
    let row = |y: usize| {
        plane.row(if steps.mirrors_rows {
            height - 1 - y
        } else {
            y
        } as u32)
    };
    let column = |x: usize| {
        if steps.mirrors_columns {
            width - 1 - x
        } else {
            x
        }
    };
    let mut out = vec![0; width * height];
    let (whole_width, whole_height) = (width / 8 * 8, height / 8 * 8);
    // The inner loop is the vertical one, because it fills whole cache lines of the result.
    for left in (0..whole_width).step_by(8) {
        let first = column(left).min(column(left + 7));
        for top in (0..whole_height).step_by(8) {
            let square = std::array::from_fn(|y| {
                let bytes = row(top + y)[first..].first_chunk();
                u64::from_le_bytes(*bytes.expect("eight columns from `first` are inside the row"))
            });
            for (x, line) in transpose_square(square).into_iter().enumerate() {
                let x = if steps.mirrors_columns {
                    left + 7 - x
                } else {
                    left + x
                };
                out[x * height + top..][..8].copy_from_slice(&line.to_le_bytes());
            }
        }
    }
    for y in 0..height {
        let row = row(y);
        let first_column = if y < whole_height { whole_width } else { 0 };
        for x in first_column..width {
            out[x * height + y] = row[column(x)];
        }
    }
    out
}

/// Transposes a square of 8 × 8 bytes. Exchanges blocks of 4 × 4 across the diagonal, then of 2 ×
/// 2, then single bytes (Hacker's Delight §7-3).
fn transpose_square(mut rows: [u64; 8]) -> [u64; 8] {
    const STEPS: [(usize, u32, u64); 3] = [
        (4, 32, 0x0000_0000_ffff_ffff),
        (2, 16, 0x0000_ffff_0000_ffff),
        (1, 8, 0x00ff_00ff_00ff_00ff),
    ];
    for (distance, bits, low) in STEPS {
        for first in (0..8).filter(|row| row & distance == 0) {
            let second = first + distance;
            let exchanged = ((rows[first] >> bits) ^ rows[second]) & low;
            rows[second] ^= exchanged;
            rows[first] ^= exchanged << bits;
        }
    }
    rows
}
