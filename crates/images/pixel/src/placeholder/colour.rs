//! Dominant colour of a picture.

use super::Pixels;

/// Number of equal parts into which each axis of the RGB cube is divided. The parts form boxes of
/// similar colours.
const BOXES: usize = 8;

/// Divides the colour cube into boxes, and returns the mean colour of the fullest box. The fullness
/// of a box is twice its number of pixels, plus the number of pixels in its six neighbours. So a
/// colour on the border of two boxes is found too. Pixels less than half opaque are ignored; if
/// there are no other pixels, the result is black.
pub(super) fn of(pixels: &Pixels) -> [u8; 3] {
    let mut sums = vec![[0_u32; 4]; BOXES * BOXES * BOXES];
    for [red, green, blue, alpha] in &pixels.rgba {
        if *alpha < 128 {
            continue;
        }
        let sum = &mut sums[box_index([red, green, blue].map(|level| usize::from(level / 32)))];
        for (sum, more) in sum.iter_mut().zip([*red, *green, *blue, 1]) {
            *sum += u32::from(more);
        }
    }
    let count = |at: [usize; 3]| sums[box_index(at)][3];
    let weight = |at: [usize; 3]| {
        let mut weight = 2 * count(at);
        for axis in 0..3 {
            for side in [at[axis].wrapping_sub(1), at[axis] + 1] {
                if side < BOXES {
                    let mut neighbour = at;
                    neighbour[axis] = side;
                    weight += count(neighbour);
                }
            }
        }
        weight
    };
    let boxes = (0..sums.len()).map(|at| [at / BOXES / BOXES, at / BOXES % BOXES, at % BOXES]);
    // Of equally full boxes the first is chosen, so that the result is deterministic. `max_by_key`
    // returns the last maximum, hence `rev`.
    let filled = boxes.filter(|at| count(*at) != 0).rev();
    let fullest = filled.max_by_key(|at| weight(*at));
    fullest.map_or([0; 3], |at| {
        let [red, green, blue, count] = sums[box_index(at)];
        [red, green, blue].map(|sum| ((sum + count / 2) / count) as u8)
    })
}

fn box_index([red, green, blue]: [usize; 3]) -> usize {
    (red * BOXES + green) * BOXES + blue
}
