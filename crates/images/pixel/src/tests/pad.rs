use super::*;
use crate::frame;

/// Places the picture in the middle of the frame, without a background.
fn pad(raster: Raster, size: Size) -> Raster {
    let left_px = (size.width_px - raster.size().width_px) / 2;
    let top_px = (size.height_px - raster.size().height_px) / 2;
    frame(raster, size, (left_px, top_px), None)
}

#[test]
fn the_picture_stands_in_the_middle_of_white_or_nothing() {
    let pixel = |layout: Layout| Packed {
        size: Size::new(1, 1),
        layout,
        data: vec![9; layout.channels()],
    };
    let framed = |packed| packed_of(pad(Raster::Packed(packed), Size::new(3, 2))).data;
    let white = [255; 3];
    assert_eq!(
        framed(pixel(Layout::Rgb)),
        [white, [9; 3], white, white, white, white].concat()
    );
    let nothing = [0; 4];
    assert_eq!(
        framed(pixel(Layout::Rgba)),
        [nothing, [9; 4], nothing, nothing, nothing, nothing].concat()
    );
}

#[test]
fn planes_stand_where_rgb_would_to_a_pixel_and_their_margin_is_white() {
    for subsampling in COLOURED {
        for range in [Range::Full, Range::Limited] {
            for (width, height) in [(13, 7), (12, 8)] {
                let size = Size::new(width, height);
                let yuv =
                    crate::range::with_range(subsampled(&smooth_rgb(size), subsampling), range);
                let larger = Size::new(width + 9, height + 6);
                let Raster::Yuv(framed) = pad(Raster::Yuv(yuv.clone()), larger) else {
                    panic!("planes stay planes");
                };
                let (across, down) = subsampling.divisors();
                let (left, top) = (4 / across * across, 3 / down * down);
                for y in 0..height {
                    let row = &framed.luma.row(top + y)[left as usize..][..width as usize];
                    assert_eq!(row, yuv.luma.row(y));
                }
                let packed = packed_of(Raster::Yuv(framed));
                let corners = [&packed.data[..3], &packed.data[packed.data.len() - 3..]];
                for corner in corners {
                    assert_eq!(corner, [255, 255, 255], "{subsampling:?} {range:?}");
                }
            }
        }
    }
}

#[test]
fn chroma_at_the_margin_is_blended_with_neutral() {
    let size = Size::new(3, 1);
    let plane = |data: &[u8], size| Plane {
        size,
        stride: data.len(),
        data: data.to_vec(),
    };
    let yuv = Yuv {
        luma: plane(&[50, 60, 70], size),
        chroma: Some([1, 2].map(|_| plane(&[200, 100], Size::new(2, 1)))),
        ..noise_yuv(size, Subsampling::S420, false, None)
    };
    let Raster::Yuv(framed) = pad(Raster::Yuv(yuv), Size::new(8, 2)) else {
        panic!("planes stay planes");
    };
    assert_eq!(framed.luma.row(0), [255, 255, 50, 60, 70, 255, 255, 255]);
    let chroma = framed.chroma.expect("4:2:0");
    // A chroma sample that lies partly in the margin is blended with neutral chroma (128). Half of
    // the sample 200 lies in the margin, and three quarters of the sample 100.
    assert_eq!(chroma[0].row(0), [128, 164, 121, 128]);
}
