use super::*;
use crate::{flatten, to_planes};

fn rgba(pixels: &[[u8; 4]]) -> Packed {
    Packed {
        size: Size::new(pixels.len() as u32, 1),
        layout: Layout::Rgba,
        data: pixels.concat(),
    }
}

#[test]
fn flattening_shows_white_through() {
    let flat = flatten(rgba(&[
        [10, 20, 30, 255],
        [10, 20, 30, 0],
        [0, 100, 255, 128],
    ]));
    assert_eq!(flat.layout, Layout::Rgb);
    assert_eq!(flat.data, [10, 20, 30, 255, 255, 255, 127, 177, 255]);
}

#[test]
fn chroma_of_a_cut_out_is_that_of_its_visible_part() {
    let red = [255, 0, 0, 255];
    let hidden_green = [0, 255, 0, 0];
    let chroma = |pixels: &[[u8; 4]]| {
        let picture = Raster::Packed(rgba(pixels));
        let yuv = to_planes(picture, Subsampling::S420, Range::Full, Matrix::Bt601);
        yuv.chroma.expect("4:2:0")
    };
    let edge = chroma(&[red, hidden_green]);
    let all_red = chroma(&[red, red]);
    for (edge, red) in edge.iter().zip(&all_red) {
        assert_near(&edge.data, &red.data, 1.0, 1);
    }
}
