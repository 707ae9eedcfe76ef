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
    let sample = floor.decode_sample(WEBP, &best).expect("a picture");
    let score = floor.compare(&sample).expect("a score");
    assert!((SCORE_MIN..SCORE_MIN + 10.0).contains(&score), "{score}");
}

#[test]
fn a_requested_score_is_reached_by_a_lower_quality_if_possible() {
    let size = Size::new(320, 240);
    let noise = |x: u32, y: u32| (x * 7919 + y * 104_729 + (x * y) % 251) % 5;
    let raster = drawn(size, |x, y| {
        [x / 2 + noise(x, y), y / 2 + noise(y, x), (x + y) / 3].map(|value| value as u8)
    });
    let planes = to_planes(
        raster.clone(),
        Subsampling::S420,
        Range::Limited,
        Matrix::Bt601,
    );
    let planes = Raster::Yuv(planes);
    let file = |encoding| codec::encode(&planes, None, encoding).expect("its form");
    let found = |score_min: u8, start: u8| {
        let floor = Floor::of(&raster, WEBP).expect("a lossy encoding");
        let floor = floor.aiming_at(NonZeroU8::new(score_min));
        let mut search = Search::new(&floor);
        let mut tried = vec![with_quality(WEBP, start)];
        while let Some(next) = search.advance(tried[tried.len() - 1], file(tried[tried.len() - 1]))
        {
            assert!(!tried.contains(&next), "{next:?} was tried already");
            tried.push(next);
        }
        assert!(tried.len() <= 1 + ATTEMPTS_FOR_SCORE_MAX as usize);
        let best = search.into_best();
        let sample = floor.decode_sample(WEBP, &best).expect("a picture");
        (best, floor.compare(&sample).expect("a score"))
    };
    let first = file(with_quality(WEBP, 95));
    let scores = [60, 65, 70].map(|score_min| {
        let (best, score) = found(score_min, 95);
        assert!(f64::from(score_min) <= score, "{score} for {score_min}");
        assert!(best.len() < first.len(), "{score_min}: {}", best.len());
        score
    });
    assert!(scores.is_sorted(), "{scores:?}");
    // From a quality that is too low, the search rises.
    let (best, score) = found(70, 20);
    assert!(70.0 <= score, "{score}");
    assert!(file(with_quality(WEBP, 20)).len() < best.len());
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

/// Returns the part of the picture of 2 × 2 tiles that shows its tile `number`, counted by rows.
fn tile_of(picture: &Packed, number: usize) -> Vec<u8> {
    let tile_bytes = 3 * TILE_PX as usize;
    let (column, row) = (number % 2, number / 2);
    let rows = picture.data.chunks_exact(2 * tile_bytes);
    let rows = rows.skip(row * TILE_PX as usize).take(TILE_PX as usize);
    rows.flat_map(|line| line[column * tile_bytes..][..tile_bytes].to_vec())
        .collect()
}

#[test]
fn the_worst_tiles_are_those_with_the_most_damage_for_their_detail() {
    let size = Size::new(4 * TILE_PX + 40, 2 * TILE_PX + 7);
    let tile = |x: u32, y: u32| x / TILE_PX + 4 * (y / TILE_PX).min(1);
    // Tiles 0 to 3 have fine detail, tiles 4 to 7 are smooth.
    let value = |x: u32, y: u32| match tile(x, y) {
        0..=3 => (x * 90 % 256) as u8,
        number => 20 * number as u8,
    };
    let before = to_packed(drawn(size, |x, y| [value(x, y); 3]));
    let with_errors = |errors: [u8; 9]| {
        let value = |x, y| value(x, y).wrapping_add(errors[tile(x, y).min(8) as usize]);
        to_packed(drawn(size, |x, y| [value(x, y); 3]))
    };
    let (_, after) =
        worst::tiles(&before, &with_errors([6, 5, 0, 0, 2, 0, 4, 1, 0])).expect("tiles");
    let colours: Vec<u8> = (0..3).map(|number| tile_of(&after, number)[0]).collect();
    // The same error counts for more where the picture is smooth: tiles 6, 4 and 7 come before
    // tile 0 with its larger error.
    assert_eq!(colours, [6 * 20 + 4, 4 * 20 + 2, 7 * 20 + 1]);
    assert_eq!(after.size, Size::new(2 * TILE_PX, 2 * TILE_PX));
    assert_eq!(tile_of(&after, 3)[3], 90 + 6);
}

#[test]
fn a_sample_of_few_tiles_has_no_worst_tiles() {
    let picture = |width_px| to_packed(map(Size::new(width_px, 2 * TILE_PX)));
    let few = picture(4 * TILE_PX - 1);
    assert!(worst::tiles(&few, &few).is_none());
    let enough = picture(4 * TILE_PX);
    assert!(worst::tiles(&enough, &enough).is_some());
    assert!(worst::tiles(&enough, &few).is_none(), "other sizes");
}

#[test]
fn an_output_passes_by_its_worst_tiles_only_if_they_are_good() {
    let size = Size::new(512, 512);
    let raster = drawn(size, |x, y| {
        [(x / 2) as u8, (y / 2) as u8, ((x + y) / 4) as u8]
    });
    let floor = Floor::of(&raster, WEBP).expect("a lossy encoding");
    let clean = to_packed(raster);
    assert!(floor.is_clearly_reached(&clean));
    // One of sixteen tiles is ruined.
    let mut ruined = clean.clone();
    for (at, value) in ruined.data.iter_mut().enumerate() {
        let (x, y) = (at / 3 % 512, at / 3 / 512);
        if x < 128 && y < 128 {
            *value = value.wrapping_add((x * 7 + y * 13) as u8 % 61);
        }
    }
    assert!(!floor.is_clearly_reached(&ruined));
}
