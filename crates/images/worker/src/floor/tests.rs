use super::*;
use image_plan::{Matrix, Range, Subsampling};
use pixel::to_planes;

const WEBP: Encoding = Encoding::Webp {
    quality: 80,
    method: 2,
    lossless: false,
};

fn drawn(size: Size, paint: impl Fn(u32, u32) -> [u8; 3]) -> Raster {
    let mut data = Vec::new();
    for y in 0..size.height_px {
        for x in 0..size.width_px {
            data.extend(paint(x, y));
        }
    }
    Raster::Packed(Packed {
        size,
        layout: Layout::Rgb,
        data,
    })
}

/// Returns a picture in which the colour of each pixel encodes its position.
fn map(size: Size) -> Raster {
    drawn(size, |x, y| [(x / 8) as u8, (y / 8) as u8, 0])
}

#[test]
fn tiles_are_spread_over_the_whole_picture() {
    let sample = sample(&map(Size::new(1801, 901)), 3);
    assert_eq!(sample.size, Size::new(384, 384));
    let at = |x: usize, y: usize| &sample.data[3 * (384 * y + x)..][..2];
    let tile_starts = [0, 128, 256].map(|begin| at(begin, begin).to_vec());
    // Each tile is centred in a third of the side. In `map`, the colour of a pixel is its
    // coordinates divided by 8.
    assert_eq!(tile_starts, [[28, 10], [104, 48], [178, 84]]);
    assert_eq!(at(383, 383), [178 + 15, 84 + 15]);
}

#[test]
fn a_picture_of_any_size_and_form_has_a_sample() {
    for (width_px, height_px) in [
        (1, 1),
        (7, 3),
        (127, 9_000),
        (128, 9_000),
        (385, 385),
        (601, 599),
    ] {
        let size = Size::new(width_px, height_px);
        let map = map(size);
        let of_pixels = sample(&map, TILES);
        assert!(of_pixels.size.pixels() <= size.pixels());
        for subsampling in [
            Subsampling::S444,
            Subsampling::S422,
            Subsampling::S420,
            Subsampling::S440,
            Subsampling::S411,
            Subsampling::S400,
        ] {
            let chroma = Plane::filled(subsampling.chroma(size), 128);
            let of_planes = sample(
                &Raster::Yuv(Yuv {
                    size,
                    subsampling,
                    range: Range::Full,
                    matrix: Matrix::Bt601,
                    luma: Plane::filled(size, 80),
                    chroma: (subsampling != Subsampling::S400).then(|| [chroma.clone(), chroma]),
                    alpha: None,
                }),
                TILES,
            );
            assert_eq!(of_planes.size, of_pixels.size, "{subsampling:?}, {size:?}");
        }
    }
}

#[test]
fn drawings_are_flat_and_photographs_are_not() {
    let size = Size::new(200, 100);
    let floor = |raster: &Raster| Floor::of(raster, WEBP).expect("a lossy encoding");
    let bars = drawn(size, |x, _| [if x % 10 < 5 { 0 } else { 255 }; 3]);
    assert!(floor(&bars).is_flat());
    assert!(!floor(&drawn(size, |x, y| [(x * y) as u8; 3])).is_flat());
    assert!(
        !floor(&Raster::Yuv(to_planes(
            bars,
            Subsampling::S420,
            Range::Full,
            Matrix::Bt601
        )))
        .is_flat()
    );
}

#[test]
fn lossless_outputs_are_not_measured() {
    let raster = map(Size::new(20, 20));
    for encoding in [
        Encoding::Png,
        Encoding::Webp {
            quality: 100,
            method: 2,
            lossless: true,
        },
    ] {
        assert!(Floor::of(&raster, encoding).is_none(), "{encoding:?}");
    }
}

#[test]
fn quality_rises_until_the_floor_is_met_and_not_for_ever() {
    let size = Size::new(200, 200);
    let noisy = |x: u32, y: u32| (x * 7919 + y * 104_729 + (x * y) % 251) as u8;
    let raster = drawn(size, |x, y| [noisy(x, y) / 8 + 40; 3]);
    let floor = Floor::of(&raster, WEBP).expect("a lossy encoding");
    let planes = to_planes(raster, Subsampling::S420, Range::Limited, Matrix::Bt601);
    let planes = Raster::Yuv(planes);
    let file = |encoding| codec::encode(&planes, None, encoding).expect("its form");
    let mut search = Search::new(&floor);
    let mut tried = vec![with_quality(WEBP, 1)];
    while let Some(next) = search.advance(tried[tried.len() - 1], file(tried[tried.len() - 1])) {
        assert!(!tried.contains(&next), "{next:?} was tried already");
        tried.push(next);
    }
    assert!(1 < tried.len() && tried.len() <= 1 + ATTEMPTS_MAX as usize);
    assert!(!search.has_failed());
    let best = search.into_best();
    let score = floor.score(WEBP, &best).expect("a picture");
    assert!((SCORE_MIN..SCORE_MIN + 10.0).contains(&score), "{score}");
}

#[test]
fn a_quality_below_the_default_has_no_floor() {
    let raster = map(Size::new(20, 20));
    let default = default_quality(Target::Webp);
    assert!(Floor::of(&raster, with_quality(WEBP, default)).is_some());
    assert!(Floor::of(&raster, with_quality(WEBP, default - 1)).is_none());
}

#[test]
fn a_search_ends_at_the_highest_quality_and_after_the_last_attempt() {
    let size = Size::new(64, 64);
    let raster = map(size);
    let floor = Floor::of(&raster, WEBP).expect("a lossy encoding");
    let other = drawn(size, |x, y| [(x * y) as u8, 0, y as u8]);
    let other = to_planes(other, Subsampling::S420, Range::Limited, Matrix::Bt601);
    // The outputs are of another picture, so that none reaches the floor.
    let file = codec::encode(&Raster::Yuv(other), None, WEBP).expect("its form");
    let mut search = Search::new(&floor);
    let mut encoding = with_quality(WEBP, 1);
    for _ in 0..ATTEMPTS_MAX {
        let next = search
            .advance(encoding, file.clone())
            .expect("attempts left");
        assert!(quality(encoding) < quality(next));
        encoding = next;
    }
    assert_eq!(search.advance(encoding, file.clone()), None);
    assert!(search.has_failed());
    assert_eq!(search.into_best(), file);
    let mut search = Search::new(&floor);
    assert_eq!(
        search.advance(with_quality(WEBP, QUALITY_MAX), file.clone()),
        None
    );
    assert_eq!(
        Search::new(&floor).advance(WEBP, b"no picture".to_vec()),
        None
    );
}
