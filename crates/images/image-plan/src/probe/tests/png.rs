use super::write::*;
use super::*;
use expect_test::expect;

#[test]
fn chunks() {
    let size = (640, 480);
    let plain = |kind| png(size, kind, &[]);
    let rgb = |chunks: &[Vec<u8>]| png(size, [8, 2, 0], chunks);
    let no_data = chunk(b"IEND", b"");
    let mut long = chunk(b"tEXt", b"");
    long[0] = 0x80;
    check(
        &[
            ("grey", plain([8, 0, 0])),
            ("bits", plain([1, 0, 0])),
            ("rgb", plain([8, 2, 0])),
            ("deep rgb", plain([16, 2, 0])),
            ("palette", plain([4, 3, 0])),
            ("grey and alpha", plain([8, 4, 0])),
            ("rgba, interlaced", plain([8, 6, 1])),
            ("impossible depth", plain([16, 3, 0])),
            ("impossible type", plain([8, 1, 0])),
            ("transparent colour", rgb(&[chunk(b"tRNS", &[0; 6])])),
            ("apng", rgb(&[chunk(b"acTL", &[0; 8])])),
            ("profile", rgb(&[chunk(b"iCCP", &[0; 2639])])),
            ("exif", rgb(&[chunk(b"eXIf", &tiff(true, 5))])),
            (
                "exif with a prefix",
                rgb(&[chunk(b"eXIf", &exif(false, 5))]),
            ),
            ("hdr", rgb(&[chunk(b"cICP", &[9, 16, 0, 1])])),
            ("sdr", rgb(&[chunk(b"cICP", &[12, 13, 0, 1])])),
            ("cut cicp", rgb(&[chunk(b"cICP", &[9])])),
            ("no pixels", png((0, 480), [8, 2, 0], &[])),
            ("too wide", png((1 << 31, 1), [8, 2, 0], &[])),
            ("no image data", rgb(&[no_data])),
            ("endless chunk", rgb(&[long])),
            ("cut", plain([8, 2, 0])[..40].to_vec()),
            (
                "no header",
                [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IDAT", &[0; 13])].concat(),
            ),
        ],
        expect![[r#"
            grey: Png 640x480 Grey 8 lossless
            bits: Png 640x480 Grey 1 lossless
            rgb: Png 640x480 Rgb 8 lossless
            deep rgb: Png 640x480 Rgb 16 lossless
            palette: Png 640x480 Rgb 8 lossless
            grey and alpha: Png 640x480 Grey 8 alpha lossless
            rgba, interlaced: Png 640x480 Rgb 8 alpha lossless progressive
            impossible depth: Malformed: png of an unknown colour type
            impossible type: Malformed: png of an unknown colour type
            transparent colour: Png 640x480 Rgb 8 alpha lossless
            apng: Png 640x480 Rgb 8 animated:1 lossless
            profile: Png 640x480 Rgb 8 lossless profile:2639
            exif: Png 640x480 Rgb 8 Transpose lossless
            exif with a prefix: Png 640x480 Rgb 8 Transpose lossless
            hdr: Png 640x480 Rgb 8 lossless unsupported:Hdr
            sdr: Png 640x480 Rgb 8 lossless
            cut cicp: Malformed: a part of the file is shorter than its fields
            no pixels: Malformed: picture without pixels
            too wide: Malformed: png of impossible size
            no image data: Malformed: png without image data
            endless chunk: Malformed: png chunk of impossible length
            cut: Truncated: header is cut off
            no header: Malformed: png without a header
        "#]],
    );
}
