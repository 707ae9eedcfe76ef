use super::write::*;
use super::*;
use expect_test::expect;

#[test]
fn valid_files() {
    let size = (640, 480);
    let extended = |flags, chunks: &[Vec<u8>]| webp(&[&[vp8x(flags, size)], chunks].concat());
    let profile = || riff(b"ICCP", &[1; 547]);
    check(
        &[
            ("lossy", webp(&[vp8(SIZE)])),
            (
                "lossy that asks to be scaled",
                webp(&[vp8((640 | 0x8000, 480 | 0x4000))]),
            ),
            ("lossless", webp(&[vp8l(size, false)])),
            ("lossless with alpha", webp(&[vp8l(size, true)])),
            ("largest lossless", webp(&[vp8l((16_384, 16_384), false)])),
            ("extended", extended(0, &[vp8(SIZE)])),
            (
                "alpha",
                extended(0x10, &[riff(b"ALPH", &[0; 9]), vp8(SIZE)]),
            ),
            ("profile", extended(0x20, &[profile(), vp8(SIZE)])),
            (
                "exif behind the image",
                extended(8, &[vp8(SIZE), riff(b"EXIF", &tiff(false, 7))]),
            ),
            (
                "exif with a prefix",
                extended(8, &[vp8(SIZE), riff(b"EXIF", &exif(true, 7))]),
            ),
            ("extended lossless", extended(0x10, &[vp8l(size, true)])),
            (
                "animated",
                extended(0x12, &[riff(b"ANIM", &[0; 6]), riff(b"ANMF", &[0; 24])]),
            ),
            (
                "two frames",
                extended(
                    2,
                    &[
                        riff(b"ANMF", &[0; 24]),
                        riff(b"ANMF", &[0; 24]),
                        riff(b"EXIF", &tiff(false, 7)),
                    ],
                ),
            ),
            (
                "too many frames",
                extended(2, &vec![riff(b"ANMF", &[0; 9000]); 600]),
            ),
        ],
        expect![[r#"
            lossy: Webp 640x480 Ycc 8 S420
            lossy that asks to be scaled: Webp 640x480 Ycc 8 S420
            lossless: Webp 640x480 Rgb 8 lossless
            lossless with alpha: Webp 640x480 Rgb 8 alpha lossless
            largest lossless: Webp 16384x16384 Rgb 8 lossless
            extended: Webp 640x480 Ycc 8 S420
            alpha: Webp 640x480 Ycc 8 S420 alpha
            profile: Webp 640x480 Ycc 8 S420 profile:547
            exif behind the image: Webp 640x480 Ycc 8 S420 Transverse
            exif with a prefix: Webp 640x480 Ycc 8 S420 Transverse
            extended lossless: Webp 640x480 Rgb 8 alpha lossless
            animated: Webp 640x480 Ycc 8 animated:1 alpha
            two frames: Webp 640x480 Ycc 8 Transverse animated:2
            too many frames: Webp 640x480 Ycc 8 animated:512+
        "#]],
    );
}

#[test]
fn broken() {
    let size = (640, 480);
    let extended = |flags, chunks: &[Vec<u8>]| webp(&[&[vp8x(flags, size)], chunks].concat());
    let mut inter = vp8(SIZE);
    inter[8] = 1;
    let mut no_start = vp8(SIZE);
    no_start[11] = 0;
    let mut no_signature = vp8l(size, false);
    no_signature[8] = 0;
    check(
        &[
            ("no image", extended(0x20, &[riff(b"ICCP", &[1; 547])])),
            (
                "cut behind the head of the image",
                extended(0, &[riff(b"VP8 ", &vp8((1, 1))[8..])]),
            ),
            ("inter frame", webp(&[inter])),
            ("no start code", webp(&[no_start])),
            ("no signature", webp(&[no_signature])),
            ("unknown first chunk", webp(&[riff(b"XYZ ", &[])])),
            ("short header", webp(&[riff(b"VP8X", &[0; 9])])),
            ("no chunk", webp(&[])),
        ],
        expect![[r#"
            no image: Truncated: header is cut off
            cut behind the head of the image: Webp 640x480 Ycc 8 S420
            inter frame: Malformed: webp frame is not a key frame
            no start code: Malformed: webp without vp8's start code
            no signature: Malformed: webp without vp8l's signature
            unknown first chunk: Malformed: webp that begins with an unknown chunk
            short header: Malformed: a part of the file is shorter than its fields
            no chunk: Truncated: header is cut off
        "#]],
    );
}
