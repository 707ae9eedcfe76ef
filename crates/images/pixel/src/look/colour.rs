//! The colour that most of a picture has.

use super::Pixels;

/// Boxes on each axis of the cube of colours.
const BOXES: usize = 8;

/// The mean of the pixels in the fullest box of the colour cube; a box counts twice, and its six neighbours once, so that a
/// colour on the edge of two boxes is not lost to both. Pixels less than half opaque do not count; without any others it is
/// black.
pub(super) fn of(pixels: &Pixels) -> [u8; 3] {
    let mut sums = vec![[0_u32; 4]; BOXES * BOXES * BOXES];
    for [red, green, blue, alpha] in &pixels.rgba {
        if *alpha < 128 {
            continue;
        }
        let sum = &mut sums[place([red, green, blue].map(|level| usize::from(level / 32)))];
        for (sum, more) in sum.iter_mut().zip([*red, *green, *blue, 1]) {
            *sum += u32::from(more);
        }
    }
    let count = |at: [usize; 3]| sums[place(at)][3];
    let weight = |at: [usize; 3]| {
        let mut weight = 2 * count(at);
        for axis in 0..3 {
            for side in [at[axis].wrapping_sub(1), at[axis] + 1] {
                if side < BOXES {
                    let mut beside = at;
                    beside[axis] = side;
                    weight += count(beside);
                }
            }
        }
        weight
    };
    let boxes = (0..sums.len()).map(|at| [at / BOXES / BOXES, at / BOXES % BOXES, at % BOXES]);
    // Of equals the first, so that the same picture always has the same colour.
    let filled = boxes.filter(|at| count(*at) != 0).rev();
    let fullest = filled.max_by_key(|at| weight(*at));
    fullest.map_or([0; 3], |at| {
        let [red, green, blue, count] = sums[place(at)];
        [red, green, blue].map(|sum| ((sum + count / 2) / count) as u8)
    })
}

fn place([red, green, blue]: [usize; 3]) -> usize {
    (red * BOXES + green) * BOXES + blue
}
