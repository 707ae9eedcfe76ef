use super::write::*;
use super::*;
use expect_test::expect;

#[test]
fn blocks() {
    let image = |blocks: &[u8]| gif_image(SIZE, blocks);
    let netscape = [&b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"[..]].concat();
    let mut inset = image(&[9]);
    inset[1] = 1;
    let mut hanging = gif_image((600, 400), &[9]);
    hanging[1..5].copy_from_slice(&[100, 0, 90, 0]);
    let mut local = image(&[]);
    local[9] = 0x81;
    local.splice(10..10, [0; 12]);
    let one = |blocks: &[Vec<u8>]| gif(SIZE, blocks);
    let cut = |file: Vec<u8>| file[..file.len() - 6].to_vec();
    check(
        &[
            ("one image", one(&[image(&[255, 255, 7])])),
            (
                "one image that says it loops",
                one(&[netscape, image(&[9])]),
            ),
            ("two images", one(&[image(&[9]), image(&[9])])),
            (
                "three images, the last one cut",
                cut(one(&[
                    image(&[9]),
                    gif_control(0),
                    image(&[9]),
                    image(&[9]),
                ])),
            ),
            (
                "images longer than the walk",
                one(&[image(&[9]), image(&[255; 9000]), image(&[9])]),
            ),
            ("transparent", one(&[gif_control(1), image(&[9])])),
            ("opaque", one(&[gif_control(0), image(&[9])])),
            ("transparent second", one(&[image(&[9]), gif_control(1)])),
            ("local colours", one(&[local])),
            ("image beside the corner", one(&[inset])),
            (
                "image smaller than the screen",
                one(&[gif_image((640, 479), &[9])]),
            ),
            (
                "comment behind the image",
                one(&[image(&[9]), b"\x21\xfe\x02hi\0".to_vec()]),
            ),
            (
                "rubbish behind the image",
                one(&[image(&[9]), b"rubbish".to_vec()]),
            ),
            (
                "cut in the image",
                one(&[image(&[255, 255])])[..100].to_vec(),
            ),
            ("cut in the control", one(&[gif_control(1)])[..22].to_vec()),
            ("no image", one(&[])),
            ("nothing but a screen", one(&[])[..19].to_vec()),
            ("unknown block", one(&[b"x".to_vec()])),
            (
                "image larger than the screen",
                one(&[gif_image((641, 500), &[9])]),
            ),
            ("image over the edge", one(&[hanging])),
            ("no screen", gif((0, 0), &[image(&[9])])),
            ("no pixels", gif((0, 0), &[gif_image((0, 0), &[9])])),
            (
                "first image longer than the walk",
                one(&[image(&[255; 9000])]),
            ),
        ],
        expect![[r#"
            one image: Gif 640x480 Rgb 8 lossless
            one image that says it loops: Gif 640x480 Rgb 8 lossless
            two images: Gif 640x480 Rgb 8 animated:2 lossless
            three images, the last one cut: Gif 640x480 Rgb 8 animated:3 lossless
            images longer than the walk: Gif 640x480 Rgb 8 animated:2+ lossless
            transparent: Gif 640x480 Rgb 8 alpha lossless
            opaque: Gif 640x480 Rgb 8 lossless
            transparent second: Gif 640x480 Rgb 8 lossless
            local colours: Gif 640x480 Rgb 8 lossless
            image beside the corner: Gif 641x480 Rgb 8 alpha lossless
            image smaller than the screen: Gif 640x480 Rgb 8 alpha lossless
            comment behind the image: Gif 640x480 Rgb 8 lossless
            rubbish behind the image: Gif 640x480 Rgb 8 lossless
            cut in the image: Gif 640x480 Rgb 8 lossless
            cut in the control: Truncated: the header is cut off
            no image: Malformed: gif without an image
            nothing but a screen: Truncated: the header is cut off
            unknown block: Malformed: gif with an unknown block
            image larger than the screen: Gif 641x500 Rgb 8 lossless
            image over the edge: Gif 700x490 Rgb 8 alpha lossless
            no screen: Gif 640x480 Rgb 8 lossless
            no pixels: Malformed: picture without pixels
            first image longer than the walk: Gif 640x480 Rgb 8 animated:1+ lossless
        "#]],
    );
}

/// File that returns at most 32 bytes per read.
struct Slow(Vec<u8>);

impl ReadAt for Slow {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let count = buf.len().min(32);
        self.0[..].read_at(offset, &mut buf[..count])
    }
}

#[test]
fn a_count_that_ends_at_the_limit_of_reads_is_not_exact() {
    let bytes = gif(SIZE, &[gif_image(SIZE, &[9]), gif_image(SIZE, &[255; 500])]);
    let length = bytes.len() as u64;
    let facts = probe(&bytes[..], length).expect("sound");
    assert_eq!(facts.frames, Frames::Exactly(2));
    let facts = probe(&Slow(bytes), length).expect("the first image is sound");
    assert_eq!(facts.frames, Frames::AtLeast(1));
    assert!(facts.animated);
}
