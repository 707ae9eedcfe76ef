//! Tests of the structure of the WebP files that we write, and of pictures that exceed VP8's
//! limits.

use expect_test::{Expect, expect};
use image_plan::{Layout, Matrix, Plane, Range, Raster, Size, Subsampling, Yuv};

use super::{Effort, decode, encode};
use crate::tests::pictures::{noise, packed, with_alpha, yuv};
use crate::{DecodeOptions, ErrorKind};

const SIZE: Size = Size::new(300, 2);

const LOSSY: Effort = Effort {
    quality: 80,
    method: 2,
    lossless: false,
};
const LOSSLESS: Effort = Effort {
    lossless: true,
    ..LOSSY
};

/// Compares the list of chunks of the encoded file with `expected`. The list shows the bytes of
/// `VP8X`, the length of `ICCP`, and only the names of other chunks.
#[track_caller]
fn check(raster: Raster, profile: Option<&[u8]>, effort: Effort, expected: Expect) {
    let file = encode(&raster, profile, effort).expect("encodes");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("4 bytes"));
    assert_eq!(&file[..4], b"RIFF");
    assert_eq!(word(4) as usize, file.len() - 8);
    assert_eq!(&file[8..12], b"WEBP");
    let (mut at, mut lines) = (12, String::new());
    while at < file.len() {
        let len = word(at + 4) as usize;
        let name = String::from_utf8_lossy(&file[at..at + 4]).into_owned();
        let payload = &file[at + 8..at + 8 + len];
        let shown = match name.as_str() {
            "VP8X" => format!("{payload:02x?}"),
            "ICCP" => format!("{len} bytes"),
            _ => "…".to_owned(),
        };
        lines.push_str(&format!("{name} {shown}\n"));
        at += 8 + len.next_multiple_of(2);
    }
    assert_eq!(at, file.len());
    expected.assert_eq(&lines);
}

#[test]
fn without_a_profile_the_file_is_as_small_as_can_be() {
    let planes = yuv(SIZE, Subsampling::S420, Range::Limited);
    check(
        Raster::Yuv(planes),
        None,
        LOSSY,
        expect![[r#"
        VP8  …
    "#]],
    );
}

#[test]
fn a_profile_makes_the_file_an_extended_one() {
    let planes = yuv(SIZE, Subsampling::S420, Range::Limited);
    let odd = noise(11, 1);
    check(
        Raster::Yuv(planes.clone()),
        Some(&odd),
        LOSSY,
        expect![[r#"
        VP8X [20, 00, 00, 00, 2b, 01, 00, 01, 00, 00]
        ICCP 11 bytes
        VP8  …
    "#]],
    );
    let even = noise(12, 1);
    check(
        Raster::Yuv(with_alpha(planes)),
        Some(&even),
        LOSSY,
        expect![[r#"
        VP8X [30, 00, 00, 00, 2b, 01, 00, 01, 00, 00]
        ICCP 12 bytes
        ALPH …
        VP8  …
    "#]],
    );
}

#[test]
fn alpha_of_a_lossless_stream_is_announced() {
    let profile = noise(12, 1);
    let rgb = Raster::Packed(packed(SIZE, Layout::Rgb));
    check(
        rgb,
        Some(&profile),
        LOSSLESS,
        expect![[r#"
        VP8X [20, 00, 00, 00, 2b, 01, 00, 01, 00, 00]
        ICCP 12 bytes
        VP8L …
    "#]],
    );
    let rgba = Raster::Packed(packed(SIZE, Layout::Rgba));
    check(
        rgba,
        Some(&profile),
        LOSSLESS,
        expect![[r#"
        VP8X [30, 00, 00, 00, 2b, 01, 00, 01, 00, 00]
        ICCP 12 bytes
        VP8L …
    "#]],
    );
}

#[test]
fn an_animation_without_frames_is_undecodable() {
    // The header states an animation and a canvas of 1 × 1 (VP8X); an ANIM chunk follows.
    let mut file = b"RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend_from_slice(b"ANIM\x06\x00\x00\x00\0\0\0\0\0\0");
    let refusal = decode(&file, &DecodeOptions::whole(Size::new(1, 1))).expect_err("refused");
    assert_eq!(refusal.kind, ErrorKind::Undecodable);
}

/// Noise of this size needs 530 KB of prediction modes, but VP8's partition 0 holds only 512 KiB.
/// The encoder must therefore choose modes that need fewer bytes.
#[test]
fn modes_are_reduced_to_fit_partition_0() {
    let size = Size::new(4400, 4400);
    let chroma_size = Subsampling::S420.chroma(size);
    let raster = Raster::Yuv(Yuv {
        size,
        subsampling: Subsampling::S420,
        range: Range::Limited,
        matrix: Matrix::Bt601,
        luma: Plane {
            size,
            stride: size.width_px as usize,
            data: noise(size.pixels() as usize, 1),
        },
        chroma: Some([(); 2].map(|()| Plane::filled(chroma_size, 128))),
        alpha: None,
    });
    let effort = Effort {
        quality: 8,
        ..LOSSY
    };
    let file = encode(&raster, None, effort).expect("encodes");
    // The frame tag follows the headers of the file and of the chunk. Its upper 19 bits are the
    // length of partition 0 (RFC 6386 §9.1).
    let tag = u32::from_le_bytes([file[20], file[21], file[22], 0]);
    assert!(tag >> 5 < 64 << 10, "{} bytes of modes", tag >> 5);
}
