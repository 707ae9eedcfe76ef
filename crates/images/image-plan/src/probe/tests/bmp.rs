use super::write::*;
use super::*;
use expect_test::expect;

#[test]
fn headers() {
    let size: [u8; 8] = [128, 2, 0, 0, 224, 1, 0, 0];
    let of = |header: u32, bits: u8, compression: u8| {
        bmp(header, &[(18, &size), (28, &[bits]), (30, &[compression])])
    };
    let top_down = (-480i32).to_le_bytes();
    check(
        &[
            ("os/2", bmp(12, &[(18, &[128, 2, 224, 1]), (24, &[24])])),
            ("short os/2", bmp(16, &[(18, &size), (28, &[24])])),
            ("rgb", of(40, 24, 0)),
            ("palette", of(40, 8, 0)),
            ("run lengths", of(40, 8, 1)),
            ("run lengths of other depth", of(40, 4, 1)),
            (
                "top down",
                bmp(40, &[(18, &size), (22, &top_down), (28, &[24])]),
            ),
            ("unused fourth byte", of(40, 32, 0)),
            ("masks without alpha", of(56, 32, 3)),
            (
                "masks with alpha",
                bmp(
                    124,
                    &[(18, &size), (28, &[32, 0, 3]), (66, &[0, 0, 0, 255])],
                ),
            ),
            (
                "profile",
                bmp(
                    124,
                    &[(18, &size), (28, &[24]), (70, b"DEBM"), (130, &[0, 2])],
                ),
            ),
            ("jpeg inside", of(40, 24, 4)),
            ("odd depth", of(40, 23, 0)),
            (
                "negative width",
                bmp(40, &[(18, &top_down), (22, &size[4..]), (28, &[24])]),
            ),
            (
                "most negative height",
                bmp(40, &[(18, &size), (22, &[0, 0, 0, 0x80]), (28, &[24])]),
            ),
            ("no pixels", bmp(40, &[(28, &[24])])),
            ("cut", of(40, 24, 0)[..30].to_vec()),
        ],
        expect![[r#"
            os/2: Bmp 640x480 Rgb 8 lossless
            short os/2: Bmp 640x480 Rgb 8 lossless
            rgb: Bmp 640x480 Rgb 8 lossless
            palette: Bmp 640x480 Rgb 8 lossless
            run lengths: Bmp 640x480 Rgb 8 lossless
            run lengths of other depth: Bmp 640x480 Rgb 8 lossless unsupported:Compression
            top down: Bmp 640x480 Rgb 8 lossless
            unused fourth byte: Bmp 640x480 Rgb 8 lossless
            masks without alpha: Bmp 640x480 Rgb 8 lossless
            masks with alpha: Bmp 640x480 Rgb 8 alpha lossless
            profile: Bmp 640x480 Rgb 8 lossless profile:512
            jpeg inside: Bmp 640x480 Rgb 8 lossless unsupported:Compression
            odd depth: Bmp 640x480 Rgb 8 lossless unsupported:Compression
            negative width: Malformed: bmp with a negative width
            most negative height: Bmp 640x2147483648 Rgb 8 lossless
            no pixels: Malformed: picture without pixels
            cut: Truncated: the header is cut off
        "#]],
    );
}
