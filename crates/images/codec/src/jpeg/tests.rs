//! Tests with JPEGs that our own encoder does not write, and tests of TurboJPEG behaviour that this
//! crate relies on.

use std::ffi::c_int;

use image_plan::{Layout, Packed, Range, Raster, Size, Subsampling};
use turbojpeg_sys as tj;

use super::handle::{Block, Handle, Outcome};
use super::{SUBSAMPLINGS, padded};
use crate::tests::pictures::{SIZES, distance, packed, yuv};
use crate::{DecodeOptions, Error, ErrorKind, Limits, Shrink};

const SIZE: Size = Size::new(33, 31);

/// Compresses interleaved pixels without colour conversion, with the given parameters.
fn compress(pixels: &Packed, parameters: &[(tj::TJPARAM, i32)]) -> Vec<u8> {
    let format = match pixels.layout {
        Layout::Rgb => tj::TJPF_TJPF_RGB,
        Layout::Rgba => tj::TJPF_TJPF_RGBA,
        Layout::Cmyk => tj::TJPF_TJPF_CMYK,
    };
    let mut handle = Handle::new(tj::TJINIT_TJINIT_COMPRESS).expect("an instance");
    for (parameter, value) in parameters {
        handle.set(*parameter, *value).expect("a known parameter");
    }
    let (width, height) = (
        pixels.size.width_px as c_int,
        pixels.size.height_px as c_int,
    );
    let mut block = Block::empty();
    let (start, len) = block.slots();
    // SAFETY: every test passes a picture from `packed`, which creates as many pixels as the size
    // states. The slots are empty and exclusively borrowed, so the callee allocates the output
    // itself.
    let status = unsafe {
        tj::tj3Compress8(
            handle.as_ptr(),
            pixels.data.as_ptr(),
            width,
            0,
            height,
            format,
            start,
            len,
        )
    };
    assert_eq!(handle.outcome(status), Ok(Outcome::Clean));
    // SAFETY: the call that filled the block succeeded, so the block's slots describe initialised
    // bytes.
    unsafe { block.bytes() }.to_vec()
}

fn quality_and(more: &[(tj::TJPARAM, i32)]) -> Vec<(tj::TJPARAM, i32)> {
    let mut parameters = vec![
        (tj::TJPARAM_TJPARAM_QUALITY, 98),
        (tj::TJPARAM_TJPARAM_SUBSAMP, tj::TJSAMP_TJSAMP_444),
    ];
    parameters.extend_from_slice(more);
    parameters
}

fn progressive(size: Size) -> Vec<u8> {
    let parameters = quality_and(&[(tj::TJPARAM_TJPARAM_PROGRESSIVE, 1)]);
    compress(&packed(size, Layout::Rgb), &parameters)
}

fn decode(file: &[u8]) -> Result<crate::Decoded, Error> {
    super::decode(file, &DecodeOptions::whole(SIZE))
}

#[track_caller]
fn check_close(file: &[u8], expected: Raster, distance_max: f64) {
    let decoded = decode(file).expect("decodes");
    let distance = distance(&decoded.raster, &expected);
    assert!(distance < distance_max, "{distance}");
    assert!(!decoded.damaged);
}

#[test]
fn planes_are_padded_as_turbojpeg_does() {
    for (code, subsampling) in SUBSAMPLINGS {
        for side in 1..70 {
            let [luma, chroma] = padded(subsampling, Size::new(side, side));
            let components = if subsampling == Subsampling::S400 {
                1
            } else {
                3
            };
            for (component, ours) in [luma, chroma, chroma].iter().take(components).enumerate() {
                let (component, side) = (component as c_int, side as c_int);
                // SAFETY: the callee only computes a number from numbers.
                let width = unsafe { tj::tj3YUVPlaneWidth(component, side, code) };
                // SAFETY: the callee only computes a number from numbers.
                let height = unsafe { tj::tj3YUVPlaneHeight(component, side, code) };
                let ours = (ours.width_px as c_int, ours.height_px as c_int);
                assert_eq!(ours, (width, height), "{subsampling:?} {component} {side}");
            }
        }
    }
}

#[test]
fn cmyk_and_ycck_with_adobes_marker_are_inverted() {
    let ink = packed(SIZE, Layout::Cmyk);
    let mut stored = ink.clone();
    stored.data.iter_mut().for_each(|ink| *ink = 255 - *ink);
    for colours in [tj::TJCS_TJCS_CMYK, tj::TJCS_TJCS_YCCK] {
        let parameters = quality_and(&[(tj::TJPARAM_TJPARAM_COLORSPACE, colours as i32)]);
        let file = compress(&stored, &parameters);
        check_close(&file, Raster::Packed(ink.clone()), 2.0);
    }
}

#[test]
fn cmyk_without_adobes_marker_is_not_inverted() {
    let ink = packed(SIZE, Layout::Cmyk);
    let parameters = quality_and(&[(tj::TJPARAM_TJPARAM_COLORSPACE, tj::TJCS_TJCS_CMYK as i32)]);
    let mut file = compress(&ink, &parameters);
    // The offset of the Adobe marker, which consists of FF EE 00 0E, "Adobe" and 7 more bytes.
    let marker = file
        .windows(5)
        .position(|five| five == b"Adobe")
        .expect("a marker")
        - 4;
    file.drain(marker..marker + 16);
    check_close(&file, Raster::Packed(ink), 2.0);
}

#[test]
fn rgb_and_odd_subsampling_give_rgb() {
    let rgb = packed(SIZE, Layout::Rgb);
    let as_rgb = [(tj::TJPARAM_TJPARAM_COLORSPACE, tj::TJCS_TJCS_RGB as i32)];
    let as_441 = [(tj::TJPARAM_TJPARAM_SUBSAMP, tj::TJSAMP_TJSAMP_441)];
    for (parameters, distance_max) in [(as_rgb, 1.0), (as_441, 4.0)] {
        let file = compress(&rgb, &quality_and(&parameters));
        check_close(&file, Raster::Packed(rgb.clone()), distance_max);
    }
}

#[test]
fn lossless_jpeg_is_exact() {
    let rgb = packed(SIZE, Layout::Rgb);
    let file = compress(&rgb, &[(tj::TJPARAM_TJPARAM_LOSSLESS, 1)]);
    let decoded = decode(&file).expect("decodes");
    assert_eq!(decoded.raster, Raster::Packed(rgb));
}

#[test]
fn twelve_bits_are_not_supported() {
    let rgb = packed(SIZE, Layout::Rgb);
    let mut file = compress(&rgb, &quality_and(&[]));
    let frame = file
        .windows(2)
        .position(|two| two == [0xff, 0xc0])
        .expect("SOF0");
    // A precision of 12 bits requires SOF1.
    file[frame + 1] = 0xc1;
    file[frame + 4] = 12;
    assert_eq!(
        decode(&file).expect_err("refused").kind,
        ErrorKind::Unsupported
    );
}

#[test]
fn arithmetic_coding_is_read() {
    let rgb = packed(SIZE, Layout::Rgb);
    let coded = quality_and(&[(tj::TJPARAM_TJPARAM_ARITHMETIC, 1)]);
    let coded = decode(&compress(&rgb, &coded)).expect("decodes");
    let plain = decode(&compress(&rgb, &quality_and(&[]))).expect("decodes");
    assert_eq!(coded.raster, plain.raster);
}

#[test]
fn a_shrunk_picture_has_the_sides_rounded_up_and_the_same_colours() {
    for (_, subsampling) in SUBSAMPLINGS {
        for size in SIZES {
            let whole = Raster::Yuv(yuv(size, subsampling, Range::Full));
            let file = super::encode(&whole, None, 98).expect("encodes");
            for shrink in Shrink::ALL {
                let options = DecodeOptions {
                    shrink,
                    ..DecodeOptions::whole(size)
                };
                let decoded = super::decode(&file, &options).expect("decodes");
                let smaller = shrink.apply(size);
                assert_eq!(decoded.raster.size(), smaller);
                // The test pattern looks similar at every size. So the shrunk picture should
                // roughly equal the pattern generated at the smaller size.
                let expected = Raster::Yuv(yuv(smaller, subsampling, Range::Full));
                let distance = distance(&decoded.raster, &expected);
                let side = size.width_px.min(size.height_px) / shrink.divisor();
                assert!(
                    side < 4 || distance < 30.0,
                    "{subsampling:?} {size:?} {shrink:?}: {distance}"
                );
            }
        }
    }
}

#[test]
fn scans_beyond_the_limit_are_refused() {
    let file = progressive(SIZE);
    let decode = |jpeg_scans_max| {
        let limits = Limits {
            jpeg_scans_max,
            ..Limits::DEFAULT
        };
        let options = DecodeOptions {
            limits,
            ..DecodeOptions::whole(SIZE)
        };
        super::decode(&file, &options)
    };
    for limit in [2, 9] {
        let refusal = decode(limit).expect_err("refused");
        assert_eq!(refusal.kind, ErrorKind::TooLarge);
        // This message shows that the scans were counted before any of them was decoded.
        assert_eq!(refusal.detail, "jpeg: 10 scans exceed the limit");
    }
    // The file has the ten scans that libjpeg writes, so a limit of ten accepts it.
    assert!(!decode(10).expect("decodes").damaged);
}

#[test]
fn scans_of_a_thumbnail_in_a_segment_do_not_count() {
    let thumbnail = progressive(Size::new(16, 16));
    let mut file = progressive(SIZE);
    let length = u16::try_from(2 + thumbnail.len()).expect("it fits a segment");
    let segment = [&[0xff, 0xe1][..], &length.to_be_bytes(), &thumbnail].concat();
    file.splice(2..2, segment);
    let limits = Limits {
        jpeg_scans_max: 10,
        ..Limits::DEFAULT
    };
    let options = DecodeOptions {
        limits,
        ..DecodeOptions::whole(SIZE)
    };
    assert!(!super::decode(&file, &options).expect("decodes").damaged);
}

#[test]
fn scratch_memory_beyond_the_limit_is_refused() {
    let size = Size::new(1500, 1500);
    let file = progressive(size);
    let limits = Limits {
        // The coefficients of this progressive picture occupy 13.5 MB (2 bytes per sample), which
        // exceeds this limit.
        scratch_bytes_max: 8 << 20,
        ..Limits::DEFAULT
    };
    let options = DecodeOptions {
        limits,
        ..DecodeOptions::whole(size)
    };
    let refusal = super::decode(&file, &options).expect_err("refused");
    assert_eq!(refusal.kind, ErrorKind::TooLarge, "{refusal}");
}

#[test]
fn tables_without_a_picture_are_undecodable() {
    let refusal = decode(&[0xff, 0xd8, 0xff, 0xd9]).expect_err("refused");
    assert_eq!(refusal.kind, ErrorKind::Undecodable);
}

#[test]
fn cut_and_flipped_progressive_files_do_no_harm() {
    let file = progressive(SIZE);
    let mut damaged = 0;
    for len in (0..file.len()).step_by(5) {
        match decode(&file[..len]) {
            Ok(decoded) => damaged += u32::from(decoded.damaged),
            Err(err) => assert_eq!(err.kind, ErrorKind::Undecodable, "{len}: {err}"),
        }
    }
    assert!(damaged > 10, "{damaged}");
    for bit in (0..file.len() * 8).step_by(13) {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Err(err) = decode(&flipped) {
            assert_ne!(err.kind, ErrorKind::Failed, "{bit}: {err}");
        }
    }
}

/// After an earlier warning, TurboJPEG reports errors with the code of warnings.
#[test]
fn an_error_after_a_warning_is_an_error() {
    let file = progressive(SIZE);
    let scan = |nth: usize| {
        let starts = file
            .windows(2)
            .enumerate()
            .filter(|(_, two)| *two == [0xff, 0xda]);
        starts.map(|(at, _)| at).nth(nth).expect("a scan")
    };
    let mut warned = file.clone();
    warned.splice(scan(2)..scan(2), [0x11, 0x22]);
    assert!(decode(&warned).expect("decodes").damaged);

    let mut failing = warned;
    let frame: Vec<u8> = vec![0xff, 0xc2, 0, 11, 8, 0, 31, 0, 33, 1, 1, 0x11, 0];
    failing.splice(scan(2)..scan(2), [&[0x11, 0x22], frame.as_slice()].concat());
    let refusal = decode(&failing).expect_err("refused");
    assert_eq!(refusal.kind, ErrorKind::Undecodable, "{refusal}");
}
