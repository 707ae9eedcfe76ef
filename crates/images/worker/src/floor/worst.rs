//! Tiles of a sample in which an encoder did the most damage.
//!
//! The damage of a tile is the squared error of its pixels divided by the squared differences of
//! neighbouring pixels, because errors are more visible in smooth areas than in detail.

use image_plan::{Packed, Size};

use super::TILE_PX;

/// Number of tiles along each side of the returned pictures.
const SIDE: usize = 2;
/// Minimum number of tiles in a sample. With fewer, comparing the whole sample costs hardly more.
const SAMPLE_TILES_MIN: usize = 2 * SIDE * SIDE;
/// Squared difference that is added per value of a pixel, so that noise in an even area does not
/// make the damage of its tile arbitrarily large.
const EVEN: u64 = 4;

/// Returns the tiles of `reference` and `output` with the most damage, each as one picture of
/// [`SIDE`] × [`SIDE`] tiles. Returns `None` if the pictures differ in size or layout, or have
/// fewer than [`SAMPLE_TILES_MIN`] tiles.
pub(super) fn tiles(reference: &Packed, output: &Packed) -> Option<(Packed, Packed)> {
    if reference.size != output.size || reference.layout != output.layout {
        return None;
    }
    let grid = Grid::of(reference);
    let mut positions: Vec<_> = grid.positions().collect();
    if positions.len() < SAMPLE_TILES_MIN {
        return None;
    }
    positions.sort_by_cached_key(|&position| {
        std::cmp::Reverse(grid.damage(position, &reference.data, &output.data))
    });
    positions.truncate(SIDE * SIDE);
    Some((
        grid.assemble(&positions, reference),
        grid.assemble(&positions, output),
    ))
}

/// Division of a picture into whole tiles. The rest at the right and lower edge is left out.
struct Grid {
    columns: usize,
    rows: usize,
    row_bytes: usize,
    tile_bytes: usize,
    channels: usize,
}

impl Grid {
    fn of(picture: &Packed) -> Grid {
        let channels = picture.layout.channels();
        Grid {
            columns: (picture.size.width_px / TILE_PX) as usize,
            rows: (picture.size.height_px / TILE_PX) as usize,
            row_bytes: picture.size.width_px as usize * channels,
            tile_bytes: TILE_PX as usize * channels,
            channels,
        }
    }

    /// Returns the column and row of each tile.
    fn positions(&self) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns;
        (0..self.rows).flat_map(move |row| (0..columns).map(move |column| (column, row)))
    }

    /// Returns the rows of pixels of a tile in `data`.
    fn rows_of<'data>(
        &self,
        (column, row): (usize, usize),
        data: &'data [u8],
    ) -> impl Iterator<Item = &'data [u8]> {
        let (row_bytes, tile_bytes) = (self.row_bytes, self.tile_bytes);
        (0..TILE_PX as usize).map(move |y| {
            let start = (row * TILE_PX as usize + y) * row_bytes + column * tile_bytes;
            &data[start..start + tile_bytes]
        })
    }

    /// Returns the damage of a tile, in thousandths.
    fn damage(&self, position: (usize, usize), reference: &[u8], output: &[u8]) -> u64 {
        let (mut error, mut detail) = (0, 0);
        let rows = self.rows_of(position, reference);
        for (before, after) in rows.zip(self.rows_of(position, output)) {
            error += squared_differences(before, after);
            detail += squared_differences(before, &before[self.channels..]);
        }
        let values = (TILE_PX as usize * self.tile_bytes) as u64;
        1000 * error / (detail + EVEN * values)
    }

    /// Returns the tiles at `positions` as one picture, [`SIDE`] tiles per row.
    fn assemble(&self, positions: &[(usize, usize)], picture: &Packed) -> Packed {
        let mut data = Vec::with_capacity(positions.len() * TILE_PX as usize * self.tile_bytes);
        for line in positions.chunks(SIDE) {
            let mut tiles: Vec<_> = line
                .iter()
                .map(|&position| self.rows_of(position, &picture.data))
                .collect();
            for _ in 0..TILE_PX {
                data.extend(tiles.iter_mut().filter_map(Iterator::next).flatten());
            }
        }
        let side_px = SIDE as u32 * TILE_PX;
        Packed {
            size: Size::new(side_px, side_px),
            layout: picture.layout,
            data,
        }
    }
}

/// Returns the sum of the squared differences of the values of two rows, up to the end of the
/// shorter row.
fn squared_differences(left: &[u8], right: &[u8]) -> u64 {
    let squares = left.iter().zip(right).map(|(left, right)| {
        let difference = u32::from(left.abs_diff(*right));
        difference * difference
    });
    u64::from(squares.sum::<u32>())
}
