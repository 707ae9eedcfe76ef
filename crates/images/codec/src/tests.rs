//! Tests of every format through the crate's public functions: results, refusals, and damaged
//! files.

pub(crate) mod pictures;
mod stills;

use image_plan::{Encoding, Format, Layout, Range, Raster, Size, Subsampling};

use crate::{DecodeOptions, Decoded, Error, ErrorKind, Limits, Shrink, decode, encode, warm_up};
use pictures::{SIZES, distance, noise, noisy, packed, with_alpha, yuv};

const JPEG: Encoding = Encoding::Jpeg { quality: 95 };
const WEBP: Encoding = Encoding::Webp {
    quality: 95,
    method: 2,
    lossless: false,
};
const WEBP_LOSSLESS: Encoding = Encoding::Webp {
    quality: 75,
    method: 2,
    lossless: true,
};
const AVIF: Encoding = Encoding::Avif {
    quality: 95,
    speed: 9,
    lossless: false,
};
const AVIF_LOSSLESS: Encoding = Encoding::Avif {
    quality: 0,
    speed: 9,
    lossless: true,
};

fn format(encoding: Encoding) -> Format {
    match encoding {
        Encoding::Jpeg { .. } => Format::Jpeg,
        Encoding::Png => Format::Png,
        Encoding::Webp { .. } => Format::Webp,
        Encoding::Avif { .. } => Format::Avif,
    }
}

fn read(encoding: Encoding, file: &[u8], size: Size) -> Result<Decoded, Error> {
    decode(format(encoding), file, &DecodeOptions::whole(size))
}

fn round_trip(raster: &Raster, profile: Option<&[u8]>, encoding: Encoding) -> Decoded {
    let file = encode(raster, profile, encoding)
        .unwrap_or_else(|err| panic!("{encoding:?} of {:?}: {err}", raster.size()));
    read(encoding, &file, raster.size())
        .unwrap_or_else(|err| panic!("{encoding:?} of {:?}: {err}", raster.size()))
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.expect_err("refused").kind
}

#[test]
fn lossless_encodings_give_back_every_sample() {
    for encoding in [Encoding::Png, WEBP_LOSSLESS, AVIF_LOSSLESS] {
        for size in SIZES {
            for layout in [Layout::Rgb, Layout::Rgba] {
                let raster = Raster::Packed(packed(size, layout));
                let decoded = round_trip(&raster, None, encoding);
                assert_eq!(decoded.raster, raster, "{encoding:?}");
                assert_eq!((decoded.profile, decoded.damaged), (None, false));
            }
        }
        let raster = Raster::Packed(noisy(Size::new(61, 43), Layout::Rgb, 1));
        assert_eq!(round_trip(&raster, None, encoding).raster, raster);
    }
}

#[test]
fn grey_png_gives_back_every_sample() {
    for size in SIZES {
        let grey = yuv(size, Subsampling::S400, Range::Full);
        for yuv in [grey.clone(), with_alpha(grey)] {
            let raster = Raster::Yuv(yuv);
            let decoded = round_trip(&raster, None, Encoding::Png);
            assert_eq!(distance(&decoded.raster, &raster), 0.0);
        }
    }
}

/// Asserts that encoding and decoding keep the layout and change the samples only slightly.
#[track_caller]
fn check_close(encoding: Encoding, subsampling: Subsampling, range: Range, alpha: bool) {
    for size in SIZES {
        let mut yuv = yuv(size, subsampling, range);
        if alpha {
            yuv = with_alpha(yuv);
        }
        let raster = Raster::Yuv(yuv);
        let decoded = round_trip(&raster, None, encoding);
        let distance = distance(&decoded.raster, &raster);
        // The limit allows for a 4:2:0 picture of a single pixel. Such a picture has only one luma
        // and two chroma samples, so a small error in one of them has a large effect on the mean
        // difference.
        assert!(
            distance < 2.5,
            "{encoding:?} {subsampling:?} {size:?}: {distance}"
        );
        assert!(!decoded.damaged);
    }
}

#[test]
fn jpeg_keeps_planes_in_every_subsampling() {
    check_close(JPEG, Subsampling::S444, Range::Full, false);
    check_close(JPEG, Subsampling::S422, Range::Full, false);
    check_close(JPEG, Subsampling::S420, Range::Full, false);
    check_close(JPEG, Subsampling::S440, Range::Full, false);
    check_close(JPEG, Subsampling::S411, Range::Full, false);
    check_close(JPEG, Subsampling::S400, Range::Full, false);
}

#[test]
fn webp_keeps_planes_and_alpha() {
    check_close(WEBP, Subsampling::S420, Range::Limited, false);
    check_close(WEBP, Subsampling::S420, Range::Limited, true);
}

#[test]
fn avif_keeps_planes_range_and_alpha() {
    for subsampling in [
        Subsampling::S400,
        Subsampling::S420,
        Subsampling::S422,
        Subsampling::S444,
    ] {
        check_close(AVIF, subsampling, Range::Full, false);
        check_close(AVIF, subsampling, Range::Limited, true);
    }
}

#[test]
fn opaque_alpha_is_dropped() {
    let size = Size::new(9, 7);
    let mut opaque = packed(size, Layout::Rgba);
    opaque
        .data
        .iter_mut()
        .skip(3)
        .step_by(4)
        .for_each(|a| *a = 255);
    let mut without = packed(size, Layout::Rgb);
    let (pixels, _) = opaque.data.as_chunks::<4>();
    without.data = pixels
        .iter()
        .flat_map(|[r, g, b, _]| [*r, *g, *b])
        .collect();
    let opaque = Raster::Packed(opaque);
    for encoding in [Encoding::Png, WEBP_LOSSLESS, AVIF_LOSSLESS] {
        let decoded = round_trip(&opaque, None, encoding);
        assert_eq!(
            decoded.raster,
            Raster::Packed(without.clone()),
            "{encoding:?}"
        );
    }
}

#[test]
fn every_container_carries_the_profile() {
    let size = Size::new(33, 31);
    // The profile is longer than the 65,519 bytes that a single JPEG marker can hold, and its
    // length is odd, so that WebP pads it.
    let profile = noise(150_001, 7);
    let full = Raster::Yuv(yuv(size, Subsampling::S420, Range::Full));
    let limited = Raster::Yuv(yuv(size, Subsampling::S420, Range::Limited));
    let translucent = Raster::Yuv(with_alpha(yuv(size, Subsampling::S420, Range::Limited)));
    let rgb = Raster::Packed(packed(size, Layout::Rgb));
    let rgba = Raster::Packed(packed(size, Layout::Rgba));
    let cases = [
        (&full, JPEG),
        (&rgb, Encoding::Png),
        (&limited, WEBP),
        (&translucent, WEBP),
        (&rgb, WEBP_LOSSLESS),
        (&rgba, WEBP_LOSSLESS),
        (&full, AVIF),
        (&rgba, AVIF_LOSSLESS),
    ];
    for (raster, encoding) in cases {
        let plain = round_trip(raster, None, encoding);
        let tagged = round_trip(raster, Some(&profile), encoding);
        assert_eq!(tagged.profile.as_ref(), Some(&profile), "{encoding:?}");
        assert_eq!(tagged.raster, plain.raster, "{encoding:?}");
        assert_eq!(plain.profile, None, "{encoding:?}");
    }
}

/// Returns a file of each output format, with its encoding.
fn files(size: Size) -> Vec<(Encoding, Vec<u8>)> {
    let make = |raster: &Raster, encoding| {
        let profile = noise(300, 3);
        let file = encode(raster, Some(&profile), encoding).expect("encodes");
        (encoding, file)
    };
    let full = Raster::Yuv(yuv(size, Subsampling::S420, Range::Full));
    let limited = yuv(size, Subsampling::S420, Range::Limited);
    let rgba = Raster::Packed(noisy(size, Layout::Rgba, 5));
    vec![
        make(&full, JPEG),
        make(&rgba, Encoding::Png),
        make(&Raster::Yuv(with_alpha(limited)), WEBP),
        make(&rgba, WEBP_LOSSLESS),
        make(&full, AVIF),
        make(&rgba, AVIF_LOSSLESS),
    ]
}

#[test]
fn another_size_than_expected_is_refused() {
    for (encoding, file) in files(Size::new(33, 31)) {
        let read = read(encoding, &file, Size::new(33, 32));
        assert_eq!(kind(read), ErrorKind::Undecodable, "{encoding:?}");
    }
}

#[test]
fn pictures_and_profiles_beyond_the_limits_are_refused() {
    let size = Size::new(33, 31);
    let tight = [
        Limits {
            pixels_max: 33 * 31 - 1,
            ..Limits::DEFAULT
        },
        Limits {
            side_px_max: 32,
            ..Limits::DEFAULT
        },
    ];
    for (encoding, file) in files(size) {
        for limits in tight {
            let options = DecodeOptions {
                limits,
                ..DecodeOptions::whole(size)
            };
            let read = decode(format(encoding), &file, &options);
            assert_eq!(kind(read), ErrorKind::TooLarge, "{encoding:?} {limits:?}");
        }
    }
    let jpeg = &files(size)[0];
    assert_eq!(format(jpeg.0), Format::Jpeg, "the format that shrinks");
    let halved = DecodeOptions {
        limits: Limits {
            pixels_max: 17 * 16,
            ..Limits::DEFAULT
        },
        shrink: Shrink::Half,
        ..DecodeOptions::whole(size)
    };
    let read = decode(Format::Jpeg, &jpeg.1, &halved);
    assert!(read.is_ok(), "{read:?}");
    let limits = Limits {
        profile_bytes_max: 299,
        ..Limits::DEFAULT
    };
    for (encoding, file) in files(size) {
        let options = DecodeOptions {
            limits,
            ..DecodeOptions::whole(size)
        };
        let read = decode(format(encoding), &file, &options);
        assert_eq!(kind(read), ErrorKind::TooLarge, "{encoding:?}");
    }
}

#[test]
fn a_truncated_file_is_partly_decoded_or_refused() {
    let size = Size::new(64, 48);
    for (encoding, file) in files(size) {
        let step = (file.len() / 200).max(1);
        let mut damaged = 0;
        for len in (0..file.len()).step_by(step) {
            match read(encoding, &file[..len], size) {
                Ok(decoded) => {
                    assert_eq!(decoded.raster.size(), size);
                    damaged += u32::from(decoded.damaged);
                }
                Err(err) => assert_ne!(err.kind, ErrorKind::Failed, "{encoding:?} {len}: {err}"),
            }
        }
        // A truncated AVIF is never decoded partially.
        assert_eq!(
            damaged > 0,
            format(encoding) != Format::Avif,
            "{encoding:?}"
        );
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    let size = Size::new(64, 48);
    for (encoding, file) in files(size) {
        let at = noise(4 * 400, 11);
        let (at, _) = at.as_chunks::<4>();
        for at in at {
            let bit = u32::from_le_bytes(*at) as usize % (file.len() * 8);
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            match read(encoding, &flipped, size) {
                Ok(decoded) => assert_eq!(decoded.raster.size(), size),
                Err(err) => assert_ne!(err.kind, ErrorKind::Failed, "{encoding:?} {bit}: {err}"),
            }
        }
    }
}

#[test]
fn junk_is_refused() {
    for format in [
        Format::Jpeg,
        Format::Png,
        Format::Gif,
        Format::Webp,
        Format::Avif,
        Format::Bmp,
        Format::Tiff,
        Format::Ico,
        Format::Tga,
        Format::Qoi,
        Format::Pnm,
        Format::Hdr,
        Format::Psd,
    ] {
        for len in [0, 1, 2, 11, 12, 13, 30, 1000] {
            let read = decode(
                format,
                &noise(len, 1),
                &DecodeOptions::whole(Size::new(1, 1)),
            );
            assert_eq!(kind(read), ErrorKind::Undecodable, "{format:?} {len}");
        }
    }
}

#[test]
fn encoders_refuse_unsupported_rasters() {
    let size = Size::new(5, 5);
    let full = |subsampling| Raster::Yuv(yuv(size, subsampling, Range::Full));
    let limited = |subsampling| Raster::Yuv(yuv(size, subsampling, Range::Limited));
    let rgb = Raster::Packed(packed(size, Layout::Rgb));
    let rgba = Raster::Packed(packed(size, Layout::Rgba));
    let cmyk = Raster::Packed(packed(size, Layout::Cmyk));
    let translucent = Raster::Yuv(with_alpha(yuv(size, Subsampling::S420, Range::Full)));
    let cases = [
        (&limited(Subsampling::S420), JPEG),
        (&translucent, JPEG),
        (&rgba, JPEG),
        (&cmyk, JPEG),
        (&full(Subsampling::S420), Encoding::Png),
        (&limited(Subsampling::S400), Encoding::Png),
        (&cmyk, Encoding::Png),
        (&full(Subsampling::S420), WEBP),
        (&limited(Subsampling::S444), WEBP),
        (&limited(Subsampling::S400), WEBP),
        (&rgb, WEBP),
        (&limited(Subsampling::S420), WEBP_LOSSLESS),
        (&cmyk, WEBP_LOSSLESS),
        (&full(Subsampling::S411), AVIF),
        (&rgb, AVIF),
        (&full(Subsampling::S444), AVIF_LOSSLESS),
        (&cmyk, AVIF_LOSSLESS),
    ];
    for (raster, encoding) in cases {
        let refusal = kind(encode(raster, None, encoding));
        assert_eq!(refusal, ErrorKind::Failed, "{encoding:?}");
    }
}

/// The fields of a raster are public, and the C encoders rely on the sizes in them, so `encode`
/// must check them.
#[test]
fn rasters_with_wrong_sizes_are_refused() {
    let size = Size::new(8, 8);
    let whole = yuv(size, Subsampling::S420, Range::Limited);
    let mut short = whole.clone();
    short.luma.data.truncate(8 * 11 - 1);
    let mut narrow = whole.clone();
    narrow.luma.stride = 7;
    let mut without_chroma = whole.clone();
    without_chroma.chroma = None;
    let mut small_chroma = whole.clone();
    small_chroma.subsampling = Subsampling::S444;
    let mut huge = whole.clone();
    huge.luma.stride = usize::MAX / 2;
    let mut small_alpha = with_alpha(whole.clone());
    small_alpha.alpha = Some(pictures::plane(Size::new(8, 7), 0));
    let mut empty = whole;
    empty.size = Size::new(0, 8);
    let rasters = [
        short,
        narrow,
        without_chroma,
        small_chroma,
        huge,
        small_alpha,
        empty,
    ];
    for yuv in rasters {
        let refusal = kind(encode(&Raster::Yuv(yuv), None, WEBP));
        assert_eq!(refusal, ErrorKind::Failed);
    }
    let mut long = packed(size, Layout::Rgb);
    long.data.push(0);
    let refusal = kind(encode(&Raster::Packed(long), None, Encoding::Png));
    assert_eq!(refusal, ErrorKind::Failed);
}

#[test]
fn a_picture_wider_than_the_format_is_too_large() {
    let wide = Size::new(65_537, 1);
    let full = Raster::Yuv(yuv(wide, Subsampling::S420, Range::Full));
    let limited = Raster::Yuv(yuv(Size::new(16_384, 1), Subsampling::S420, Range::Limited));
    for (raster, encoding) in [(&full, JPEG), (&limited, WEBP), (&full, AVIF)] {
        let refusal = kind(encode(raster, None, encoding));
        assert_eq!(refusal, ErrorKind::TooLarge, "{encoding:?}");
    }
}

#[test]
fn every_codec_warms_up() {
    warm_up();
}
