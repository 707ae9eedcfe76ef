use super::*;
use crate::{drop_opaque, flatten, to_yuv};

fn rgba(pixels: &[[u8; 4]]) -> Packed {
    Packed {
        size: Size::new(pixels.len() as u32, 1),
        layout: Layout::Rgba,
        data: pixels.concat(),
    }
}

#[test]
fn an_opaque_alpha_channel_is_dropped() {
    let opaque = rgba(&[[1, 2, 3, 255], [4, 5, 6, 255]]);
    let Raster::Packed(packed) = drop_opaque(Raster::Packed(opaque)) else {
        panic!("packed stays packed");
    };
    assert_eq!(
        (packed.layout, packed.data),
        (Layout::Rgb, vec![1, 2, 3, 4, 5, 6])
    );
    let seen_through = Raster::Packed(rgba(&[[1, 2, 3, 255], [4, 5, 6, 254]]));
    assert_eq!(drop_opaque(seen_through.clone()), seen_through);
}

#[test]
fn an_opaque_alpha_plane_is_dropped_whatever_its_padding() {
    let size = Size::new(5, 3);
    let mut yuv = noise_yuv(size, Subsampling::S420, false, None);
    let mut alpha = noise_plane(1, size, 2, 0);
    for row in alpha.data.chunks_mut(7) {
        row[..5].fill(255);
    }
    yuv.alpha = Some(alpha);
    assert!(!drop_opaque(Raster::Yuv(yuv.clone())).has_alpha());
    yuv.alpha.as_mut().expect("set above").data[8] = 254;
    assert!(drop_opaque(Raster::Yuv(yuv)).has_alpha());
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
    let yuv =
        |pixels: &[[u8; 4]]| to_yuv(&rgba(pixels), Subsampling::S420, Range::Full, Matrix::Bt601);
    let edge = yuv(&[red, hidden_green]).chroma.expect("4:2:0");
    let all_red = yuv(&[red, red]).chroma.expect("4:2:0");
    for (edge, red) in edge.iter().zip(&all_red) {
        assert_near(&edge.data, &red.data, 1.0, 1);
    }
}
