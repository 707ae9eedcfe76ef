use super::*;

fn rgb(size: Size, data: Vec<u8>) -> Packed {
    Packed {
        size,
        layout: Layout::Rgb,
        data,
    }
}

#[test]
fn the_same_size_is_the_same_picture() {
    let size = Size::new(5, 3);
    let picture = rgb(size, (0..45).map(|sample| sample * 5).collect());
    assert_eq!(scale(&picture, size), picture);
}

#[test]
fn a_flat_picture_stays_flat() {
    let picture = rgb(Size::new(31, 17), vec![201; 31 * 17 * 3]);
    let small = scale(&picture, Size::new(7, 4));
    assert_eq!(small.data, [201; 7 * 4 * 3]);
}

#[test]
fn a_ramp_stays_a_ramp() {
    let ramp = (0..120_u32).flat_map(|x| [2 * x as u8; 3]).collect();
    let small = scale(&rgb(Size::new(120, 1), ramp), Size::new(60, 1));
    let middle: Vec<u8> = (10..50).map(|x| small.data[x * 3]).collect();
    // Each output pixel is the mean of two adjacent pixels of the ramp.
    let expected: Vec<u8> = (10..50).map(|x| (4 * x + 1) as u8).collect();
    assert_eq!(middle, expected);
}
