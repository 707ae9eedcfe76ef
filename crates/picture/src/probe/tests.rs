mod prop;
mod write;

use super::*;
use expect_test::{Expect, expect};
use std::cell::RefCell;
use write::*;

/// Bytes followed by as many zeros as make up `len_bytes`, that count how they are read.
struct Sparse<'a> {
    bytes: &'a [u8],
    len_bytes: u64,
    reads: RefCell<Vec<usize>>,
}

impl<'a> Sparse<'a> {
    fn new(bytes: &'a [u8], len_bytes: u64) -> Sparse<'a> {
        Sparse {
            bytes,
            len_bytes,
            reads: RefCell::default(),
        }
    }

    fn count_and_sum(&self) -> (usize, usize) {
        let reads = self.reads.borrow();
        (reads.len(), reads.iter().sum())
    }
}

impl ReadAt for Sparse<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.reads.borrow_mut().push(buf.len());
        let left = self.len_bytes.saturating_sub(offset);
        let count = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        buf[..count].fill(0);
        self.bytes.read_at(offset, &mut buf[..count])?;
        Ok(count)
    }
}

/// One line that says only what is not usual.
fn line(facts: &Facts) -> String {
    let Facts {
        format,
        stored,
        colour,
        bit_depth,
        ..
    } = facts;
    let mut line = format!(
        "{format:?} {}x{} {colour:?} {bit_depth}",
        stored.width_px, stored.height_px
    );
    let words = [
        facts
            .subsampling
            .map(|subsampling| format!("{subsampling:?}")),
        (facts.orientation != Orientation::Upright).then(|| format!("{:?}", facts.orientation)),
        facts.animated.then(|| "animated".to_owned()),
        facts.alpha.then(|| "alpha".to_owned()),
        facts.lossless.then(|| "lossless".to_owned()),
        facts.progressive.then(|| "progressive".to_owned()),
        facts
            .profile()
            .then(|| format!("profile:{}", facts.profile_bytes)),
        facts.jpeg_quality.map(|quality| format!("q{quality}")),
        facts.unsupported.map(|why| format!("unsupported:{why:?}")),
    ];
    for word in words.into_iter().flatten() {
        line.push(' ');
        line.push_str(&word);
    }
    line
}

fn outcome(bytes: &[u8]) -> String {
    match probe(bytes, bytes.len() as u64) {
        Ok(facts) => line(&facts),
        Err(err) => format!("{:?}: {err}", err.kind),
    }
}

fn check(files: &[(&str, Vec<u8>)], expect: Expect) {
    let mut table = String::new();
    for (name, bytes) in files {
        table.push_str(&format!("{name}: {}\n", outcome(bytes)));
    }
    expect.assert_eq(&table);
}

const SIZE: (u16, u16) = (640, 480);

#[test]
fn jpeg_frames() {
    let sof = |marker, sampling: &[u8]| jpeg(&[frame(marker, SIZE, sampling)]);
    let mut twelve = frame(0xc1, SIZE, &[0x11]);
    twelve[4] = 12;
    let cut = segment(0xc0, &[8, 1, 224, 2, 128, 3, 1, 0x22]);
    check(
        &[
            ("grey", sof(0xc0, &[0x11])),
            ("grey of other factors", sof(0xc0, &[0x22])),
            ("4:4:4", sof(0xc0, &[0x11, 0x11, 0x11])),
            ("4:4:4 of larger factors", sof(0xc0, &[0x22, 0x22, 0x22])),
            ("4:2:2", sof(0xc0, &[0x21, 0x11, 0x11])),
            ("4:2:0", sof(0xc0, &[0x22, 0x11, 0x11])),
            ("4:4:0", sof(0xc0, &[0x12, 0x11, 0x11])),
            ("4:1:1", sof(0xc0, &[0x41, 0x11, 0x11])),
            ("4:1:0", sof(0xc0, &[0x42, 0x11, 0x11])),
            ("chromas that differ", sof(0xc0, &[0x22, 0x12, 0x11])),
            ("factors of zero", sof(0xc0, &[0x22, 0x00, 0x00])),
            ("progressive", sof(0xc2, &[0x22, 0x11, 0x11])),
            ("arithmetic", sof(0xc9, &[0x22, 0x11, 0x11])),
            ("lossless", sof(0xc3, &[0x11])),
            ("hierarchical", sof(0xc5, &[0x11])),
            ("twelve bits", jpeg(&[twelve])),
            ("two components", sof(0xc0, &[0x11, 0x11])),
            ("five components", sof(0xc0, &[0x11; 5])),
            ("no components", sof(0xc0, &[])),
            ("no height", jpeg(&[frame(0xc0, (640, 0), &[0x11])])),
            ("no width", jpeg(&[frame(0xc0, (0, 480), &[0x11])])),
            ("cut frame", jpeg(&[cut])),
            ("no frame", jpeg(&[])),
            (
                "two frames",
                jpeg(&[frame(0xc0, SIZE, &[0x11]), frame(0xc0, SIZE, &[0x11])]),
            ),
            ("no scan", vec![0xff, 0xd8, 0xff, 0xd9]),
            ("nothing", vec![0xff, 0xd8, 0xff]),
            (
                "segment of one byte",
                vec![0xff, 0xd8, 0xff, 0xe0, 0, 1, 0, 0],
            ),
        ],
        expect![[r#"
            grey: Jpeg 640x480 Grey 8 S400
            grey of other factors: Jpeg 640x480 Grey 8 S400
            4:4:4: Jpeg 640x480 Ycc 8 S444
            4:4:4 of larger factors: Jpeg 640x480 Ycc 8 S444
            4:2:2: Jpeg 640x480 Ycc 8 S422
            4:2:0: Jpeg 640x480 Ycc 8 S420
            4:4:0: Jpeg 640x480 Ycc 8 S440
            4:1:1: Jpeg 640x480 Ycc 8 S411
            4:1:0: Jpeg 640x480 Ycc 8
            chromas that differ: Jpeg 640x480 Ycc 8
            factors of zero: Jpeg 640x480 Ycc 8
            progressive: Jpeg 640x480 Ycc 8 S420 progressive
            arithmetic: Jpeg 640x480 Ycc 8 S420
            lossless: Jpeg 640x480 Grey 8 S400 lossless unsupported:Process
            hierarchical: Jpeg 640x480 Grey 8 S400 unsupported:Process
            twelve bits: Jpeg 640x480 Grey 12 S400 unsupported:Precision
            two components: Jpeg 640x480 Grey 8 unsupported:Components
            five components: Jpeg 640x480 Ycc 8 S444 unsupported:Components
            no components: Jpeg 640x480 Ycc 8 unsupported:Components
            no height: Malformed: jpeg without a height
            no width: Malformed: picture without pixels
            cut frame: Malformed: part shorter than its fields
            no frame: Malformed: jpeg with a scan before its frame
            two frames: Malformed: jpeg with two frames
            no scan: Malformed: jpeg without a scan
            nothing: Truncated: header is cut off
            segment of one byte: Malformed: jpeg segment shorter than its length
        "#]],
    );
}

#[test]
fn jpeg_segments() {
    let sof = || frame(0xc0, SIZE, &[0x22, 0x11, 0x11]);
    let with = |segments: &[Vec<u8>]| jpeg(&[&[sof()], segments].concat());
    let jfif = || segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    let adobe = |transform| segment(0xee, &[&b"Adobe\0\x64\0\0\0\0"[..], &[transform]].concat());
    let four = |segments: &[Vec<u8>]| jpeg(&[segments, &[frame(0xc0, SIZE, &[0x11; 4])]].concat());
    let icc = |bytes: usize| {
        segment(
            0xe2,
            &[&b"ICC_PROFILE\0\x01\x02"[..], &vec![7; bytes]].concat(),
        )
    };
    let mut named_rgb = frame(0xc0, SIZE, &[0x11, 0x11, 0x11]);
    for (index, name) in [(10, b'R'), (13, b'G'), (16, b'B')] {
        named_rgb[index] = name;
    }
    let garbage = |bytes: usize| [segment(0xfe, b"comment"), vec![0; bytes], sof()].concat();
    check(
        &[
            ("jfif", with(&[jfif()])),
            ("named rgb", jpeg(&[named_rgb])),
            ("adobe rgb", with(&[adobe(0)])),
            ("adobe rgb that is jfif", with(&[jfif(), adobe(0)])),
            ("adobe ycc", with(&[adobe(1)])),
            ("cmyk", four(&[])),
            ("adobe cmyk", four(&[adobe(0)])),
            ("adobe ycck", four(&[adobe(2)])),
            ("profile in two parts", with(&[icc(1000), icc(24)])),
            (
                "app2 of others",
                with(&[segment(0xe2, b"MPF\0 and a directory behind it")]),
            ),
            ("orientation", with(&[segment(0xe1, &exif(false, 6))])),
            (
                "xmp before exif",
                with(&[
                    segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0"),
                    segment(0xe1, &exif(true, 8)),
                ]),
            ),
            (
                "first exif wins",
                with(&[
                    segment(0xe1, &exif(false, 3)),
                    segment(0xe1, &exif(false, 6)),
                ]),
            ),
            ("fill bytes", with(&[vec![0xff; 9]])),
            ("garbage between segments", jpeg(&[garbage(100)])),
            ("too much garbage", jpeg(&[garbage(5000)])),
            (
                "table before a restart",
                with(&[
                    vec![0xff, 0xd0],
                    segment(0xdb, &[&[0][..], &[1; 64]].concat()),
                ]),
            ),
            (
                "fifth table",
                with(&[segment(0xdb, &[&[4][..], &[1; 64]].concat())]),
            ),
            ("table cut off", with(&[segment(0xdb, &[0; 64])])),
        ],
        expect![[r#"
            jfif: Jpeg 640x480 Ycc 8 S420
            named rgb: Jpeg 640x480 Rgb 8 S444
            adobe rgb: Jpeg 640x480 Rgb 8 S420
            adobe rgb that is jfif: Jpeg 640x480 Ycc 8 S420
            adobe ycc: Jpeg 640x480 Ycc 8 S420
            cmyk: Jpeg 640x480 Cmyk 8 S444
            adobe cmyk: Jpeg 640x480 Cmyk 8 S444
            adobe ycck: Jpeg 640x480 Ycck 8 S444
            profile in two parts: Jpeg 640x480 Ycc 8 S420 profile:1024
            app2 of others: Jpeg 640x480 Ycc 8 S420
            orientation: Jpeg 640x480 Ycc 8 S420 Turn90
            xmp before exif: Jpeg 640x480 Ycc 8 S420 Turn270
            first exif wins: Jpeg 640x480 Ycc 8 S420 Turn180
            fill bytes: Jpeg 640x480 Ycc 8 S420
            garbage between segments: Jpeg 640x480 Ycc 8 S420
            too much garbage: Malformed: jpeg segments lead nowhere
            table before a restart: Jpeg 640x480 Ycc 8 S420 q100
            fifth table: Malformed: jpeg with a fifth quantisation table
            table cut off: Malformed: jpeg with a cut quantisation table
        "#]],
    );
}

/// Annex K's luma table, scaled and clamped as libjpeg's `jpeg_add_quant_table` documents it.
fn luma_table(quality: u32) -> Vec<u16> {
    let annex_k = "16 11 10 16 24 40 51 61 12 12 14 19 26 58 60 55 14 13 16 24 40 57 69 56 14 17 22 29 51 87 80 62 \
        18 22 37 56 68 109 103 77 24 35 55 64 81 104 113 92 49 64 78 87 103 121 120 101 72 92 95 98 112 100 103 99";
    let scale = if quality < 50 {
        5000 / quality
    } else {
        200 - quality * 2
    };
    let entries = annex_k
        .split(' ')
        .map(|entry| entry.parse::<u32>().expect("a number"));
    entries
        .map(|entry| ((entry * scale + 50) / 100).clamp(1, 255) as u16)
        .collect()
}

#[test]
fn a_jpegs_quality_reads_from_its_luma_table() {
    let quality = |table: Vec<u8>| {
        let bytes = jpeg(&[
            segment(0xdb, &table),
            frame(0xc0, SIZE, &[0x22, 0x11, 0x11]),
        ]);
        probe(bytes.as_slice(), bytes.len() as u64)
            .expect("a sound header")
            .jpeg_quality
    };
    for stated in 1..=100 {
        let table = luma_table(stated);
        let eight = table.iter().map(|entry| *entry as u8);
        let sixteen = table.iter().flat_map(|entry| entry.to_be_bytes());
        assert_eq!(
            quality([0].into_iter().chain(eight).collect()),
            Some(stated as u8)
        );
        assert_eq!(
            quality([0x10].into_iter().chain(sixteen).collect()),
            Some(stated as u8)
        );
    }
    // Twice as coarse as 50, and finer than all.
    assert_eq!(quality([vec![0], vec![115; 64]].concat()), Some(25));
    assert_eq!(quality([vec![0], vec![0; 64]].concat()), Some(100));
    // A table for chroma only says nothing of luma.
    assert_eq!(quality([vec![1], vec![99; 64]].concat()), None);
}

#[test]
fn exif_orientations() {
    let oriented = |block: &[u8]| {
        let bytes = jpeg(&[segment(0xe1, block), frame(0xc0, SIZE, &[0x11])]);
        probe(bytes.as_slice(), bytes.len() as u64)
            .expect("a sound header")
            .orientation
    };
    for value in 1..=8 {
        let expected = Orientation::from_exif(value);
        assert_eq!(Some(oriented(&exif(false, value))), expected);
        assert_eq!(Some(oriented(&exif(true, value))), expected);
    }
    let sound = exif(false, 6);
    let patched = |at: usize, bytes: &[u8]| {
        let mut block = sound.clone();
        block[at..at + bytes.len()].copy_from_slice(bytes);
        block
    };
    let broken = [
        exif(false, 0),
        exif(false, 9),
        patched(6, b"IM"),
        patched(8, &[43]),
        // A directory behind the block, around the address space, and over the block's own end.
        patched(10, &1000u32.to_le_bytes()),
        patched(10, &u32::MAX.to_le_bytes()),
        patched(10, &(sound.len() as u32 - 7).to_le_bytes()),
        // A value of four bytes; no such entry among too many.
        patched(6 + 24, &[4]),
        patched(6 + 22, &[0x13]),
        [&patched(14, &[0xff, 0xff])[..20], &[0; 20]].concat(),
        b"Exif\0\0".to_vec(),
        b"Exif\0\0II".to_vec(),
    ];
    for block in broken {
        assert_eq!(oriented(&block), Orientation::Upright, "{block:x?}");
    }
    // The entry is whole, though the block ends right behind it.
    assert_eq!(oriented(&sound[..6 + 10 + 24]), Orientation::Turn90);
}

#[test]
fn png_headers() {
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
            apng: Png 640x480 Rgb 8 animated lossless
            profile: Png 640x480 Rgb 8 lossless profile:2639
            exif: Png 640x480 Rgb 8 Transpose lossless
            exif with a prefix: Png 640x480 Rgb 8 Transpose lossless
            hdr: Png 640x480 Rgb 8 lossless unsupported:Hdr
            sdr: Png 640x480 Rgb 8 lossless
            cut cicp: Malformed: part shorter than its fields
            no pixels: Malformed: picture without pixels
            too wide: Malformed: png of impossible size
            no image data: Malformed: png without image data
            endless chunk: Malformed: png chunk of impossible length
            cut: Truncated: header is cut off
            no header: Malformed: png without a header
        "#]],
    );
}

#[test]
fn gif_headers() {
    let image = |blocks: &[u8]| gif_image(SIZE, blocks);
    let netscape = [&b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"[..]].concat();
    let mut inset = image(&[9]);
    inset[1] = 1;
    let mut local = image(&[]);
    local[9] = 0x81;
    local.splice(10..10, [0; 12]);
    let one = |blocks: &[Vec<u8>]| gif(SIZE, blocks);
    check(
        &[
            ("one image", one(&[image(&[255, 255, 7])])),
            (
                "one image that says it loops",
                one(&[netscape, image(&[9])]),
            ),
            ("two images", one(&[image(&[9]), image(&[9])])),
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
            ("no pixels", gif((0, 0), &[image(&[9])])),
            (
                "first image longer than the walk",
                one(&[image(&[255; 9000])]),
            ),
        ],
        expect![[r#"
            one image: Gif 640x480 Rgb 8 lossless
            one image that says it loops: Gif 640x480 Rgb 8 lossless
            two images: Gif 640x480 Rgb 8 animated lossless
            transparent: Gif 640x480 Rgb 8 alpha lossless
            opaque: Gif 640x480 Rgb 8 lossless
            transparent second: Gif 640x480 Rgb 8 lossless
            local colours: Gif 640x480 Rgb 8 lossless
            image beside the corner: Gif 640x480 Rgb 8 alpha lossless
            image smaller than the screen: Gif 640x480 Rgb 8 alpha lossless
            comment behind the image: Gif 640x480 Rgb 8 lossless
            rubbish behind the image: Gif 640x480 Rgb 8 lossless
            cut in the image: Gif 640x480 Rgb 8 lossless
            cut in the control: Truncated: header is cut off
            no image: Malformed: gif without an image
            nothing but a screen: Truncated: header is cut off
            unknown block: Malformed: gif with an unknown block
            no pixels: Malformed: picture without pixels
            first image longer than the walk: Gif 640x480 Rgb 8 animated lossless
        "#]],
    );
}

#[test]
fn webp_headers() {
    let size = (640, 480);
    let extended = |flags, chunks: &[Vec<u8>]| webp(&[&[vp8x(flags, size)], chunks].concat());
    let mut inter = vp8(SIZE);
    inter[8] = 1;
    let mut no_start = vp8(SIZE);
    no_start[11] = 0;
    let mut no_signature = vp8l(size, false);
    no_signature[8] = 0;
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
            ("no image", extended(0x20, &[profile()])),
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
            animated: Webp 640x480 Ycc 8 animated alpha
            no image: Truncated: header is cut off
            cut behind the head of the image: Webp 640x480 Ycc 8 S420
            inter frame: Malformed: webp that is no key frame
            no start code: Malformed: webp without vp8's start code
            no signature: Malformed: webp without vp8l's signature
            unknown first chunk: Malformed: webp that begins with an unknown chunk
            short header: Malformed: part shorter than its fields
            no chunk: Truncated: header is cut off
        "#]],
    );
}

#[test]
fn avif_headers() {
    let size = (640, 480);
    let of = |properties: &[Vec<u8>]| {
        let own = [&[ispe(size), av1c(0x0c)], properties].concat();
        avif(own.len() as u8, &own)
    };
    let irot = |angle| iso(b"irot", &[angle]);
    let imir = |axis| iso(b"imir", &[axis]);
    let auxc = |urn: &[u8]| iso(b"auxC", &[&[0; 4], urn].concat());
    let profile = iso(b"colr", &[&b"prof"[..], &[0; 456]].concat());
    let depth = |bits| avif(2, &[ispe(size), av1c(bits)]);
    let alpha = |urn| {
        avif(
            2,
            &[ispe(size), av1c(0x0c), ispe(size), av1c(0x1c), auxc(urn)],
        )
    };
    check(
        &[
            ("4:2:0", depth(0x0c)),
            ("4:2:2", depth(0x08)),
            ("4:4:4", depth(0x00)),
            ("monochrome", depth(0x1c)),
            ("ten bits", depth(0x4c)),
            ("twelve bits", depth(0x6c)),
            ("alpha", alpha(ALPHA_URN)),
            (
                "alpha by its old name",
                alpha(b"urn:mpeg:hevc:2015:auxid:1\0"),
            ),
            ("depth map", alpha(b"urn:mpeg:hevc:2015:auxid:2\0")),
            ("grid", avif(1, &[ispe(size), ispe((320, 240)), av1c(0x4c)])),
            ("profile", of(&[profile])),
            ("sdr", of(&[nclx(13, 6)])),
            ("identity matrix", of(&[nclx(13, 0)])),
            ("pq", of(&[nclx(16, 9)])),
            ("hlg", of(&[nclx(18, 9)])),
            ("turned", of(&[irot(1)])),
            ("turned twice", of(&[irot(2)])),
            ("turned thrice", of(&[irot(3)])),
            ("flipped", of(&[imir(0)])),
            ("mirrored", of(&[imir(1)])),
            ("turned, then mirrored", of(&[irot(1), imir(1)])),
            ("mirrored, then turned", of(&[imir(1), irot(1)])),
            ("aperture", of(&[iso(b"clap", &[0; 32])])),
            ("no size", avif(1, &[av1c(0x0c)])),
            ("no pixels", avif(1, &[ispe((0, 480))])),
            ("short size", avif(1, &[iso(b"ispe", &[0; 8])])),
            ("size of another item", avif(0, &[ispe(size)])),
        ],
        expect![[r#"
            4:2:0: Avif 640x480 Ycc 8 S420
            4:2:2: Avif 640x480 Ycc 8 S422
            4:4:4: Avif 640x480 Ycc 8 S444
            monochrome: Avif 640x480 Grey 8 S400
            ten bits: Avif 640x480 Ycc 10 S420
            twelve bits: Avif 640x480 Ycc 12 S420
            alpha: Avif 640x480 Ycc 8 S420 alpha
            alpha by its old name: Avif 640x480 Ycc 8 S420 alpha
            depth map: Avif 640x480 Ycc 8 S420
            grid: Avif 640x480 Ycc 10 S420
            profile: Avif 640x480 Ycc 8 S420 profile:456
            sdr: Avif 640x480 Ycc 8 S420
            identity matrix: Avif 640x480 Rgb 8 S420
            pq: Avif 640x480 Ycc 8 S420 unsupported:Hdr
            hlg: Avif 640x480 Ycc 8 S420 unsupported:Hdr
            turned: Avif 640x480 Ycc 8 S420 Turn270
            turned twice: Avif 640x480 Ycc 8 S420 Turn180
            turned thrice: Avif 640x480 Ycc 8 S420 Turn90
            flipped: Avif 640x480 Ycc 8 S420 Flip
            mirrored: Avif 640x480 Ycc 8 S420 Mirror
            turned, then mirrored: Avif 640x480 Ycc 8 S420 Transverse
            mirrored, then turned: Avif 640x480 Ycc 8 S420 Transpose
            aperture: Avif 640x480 Ycc 8 S420 unsupported:Aperture
            no size: Malformed: picture without pixels
            no pixels: Malformed: picture without pixels
            short size: Malformed: part shorter than its fields
            size of another item: Malformed: picture without pixels
        "#]],
    );
}

#[test]
fn avif_boxes() {
    let sound = avif(2, &[ispe((640, 480)), av1c(0x0c)]);
    let head = ftyp(&[b"avif"]);
    let meta = &sound[ftyp(&[b"avif", b"mif1"]).len()..];
    let tkhd = [
        &[0; 76],
        &640u32.to_be_bytes()[2..],
        &[0; 2],
        &480u32.to_be_bytes()[2..],
        &[0; 2],
    ]
    .concat();
    let moov = iso(b"moov", &iso(b"trak", &iso(b"tkhd", &tkhd)));
    let sequence = ftyp(&[b"avis", b"avif"]);
    let wide = [&[0, 0, 0, 1], &b"free"[..], &24u64.to_be_bytes(), &[0; 8]].concat();
    let to_the_end = [&[0; 4], &meta[4..]].concat();
    let ids = |version: u8| {
        let id = |id: u8| match version {
            0 => vec![0, id],
            _ => vec![0, 0, 0, id],
        };
        // Numbers of 15 bits, of which the highest bit says that the property is essential.
        let ipma = [
            &[version, 0, 0, 1, 0, 0, 0, 1],
            &id(9)[..],
            &[2, 0x80, 2, 0, 1],
        ]
        .concat();
        let ipco = [av1c(0x0c), ispe((640, 480))].concat();
        let iprp = [iso(b"ipco", &ipco), iso(b"ipma", &ipma)].concat();
        let pitm = iso(b"pitm", &[&[version, 0, 0, 0], &id(9)[..]].concat());
        let meta = [&[0; 4], &pitm[..], &iso(b"iprp", &iprp)].concat();
        [ftyp(&[b"avif"]), iso(b"meta", &meta)].concat()
    };
    let crowd = avif(
        1,
        &[vec![ispe((640, 480))], vec![iso(b"free", &[]); 256]].concat(),
    );
    check(
        &[
            ("long numbers", ids(0)),
            ("long ids", ids(1)),
            ("meta behind a wide box", [&head[..], &wide, meta].concat()),
            (
                "meta to the end of the file",
                [&head[..], &to_the_end].concat(),
            ),
            ("sequence", [&sequence[..], &moov].concat()),
            (
                "sequence behind a broken picture",
                [&sequence[..], &iso(b"meta", &[0; 4]), &moov].concat(),
            ),
            ("sequence that is a picture", [&sequence[..], meta].concat()),
            ("sequence of nothing", sequence.clone()),
            (
                "track without a size",
                [
                    &sequence[..],
                    &iso(b"moov", &iso(b"trak", &iso(b"tkhd", &[0; 7]))),
                ]
                .concat(),
            ),
            ("no meta", head.clone()),
            (
                "box beyond its parent",
                [&head[..], b"\0\0\x01\0meta\0\0\0\0"].concat(),
            ),
            (
                "box smaller than its head",
                [&head[..], b"\0\0\0\x07meta\0\0\0\0"].concat(),
            ),
            ("empty meta", [&head[..], &iso(b"meta", &[])].concat()),
            ("too many properties", crowd),
        ],
        expect![[r#"
            long numbers: Avif 640x480 Ycc 8 S420
            long ids: Avif 640x480 Ycc 8 S420
            meta behind a wide box: Avif 640x480 Ycc 8 S420
            meta to the end of the file: Avif 640x480 Ycc 8 S420
            sequence: Avif 640x480 Ycc 8 animated
            sequence behind a broken picture: Avif 640x480 Ycc 8 animated
            sequence that is a picture: Avif 640x480 Ycc 8 S420 animated
            sequence of nothing: Malformed: avif without a picture
            track without a size: Malformed: part shorter than its fields
            no meta: Malformed: avif without a picture
            box beyond its parent: Malformed: avif box that exceeds its parent
            box smaller than its head: Malformed: avif box that exceeds its parent
            empty meta: Malformed: avif without a picture
            too many properties: Malformed: avif with too many properties
        "#]],
    );
}

#[test]
fn bmp_headers() {
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
            negative width: Malformed: bmp of negative width
            most negative height: Bmp 640x2147483648 Rgb 8 lossless
            no pixels: Malformed: picture without pixels
            cut: Truncated: header is cut off
        "#]],
    );
}

#[test]
fn other_files() {
    check(
        &[
            ("svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec()),
            ("empty", vec![]),
            ("text", b"BMW, GIF and RIFF are words".to_vec()),
        ],
        expect![[r#"
            svg: Svg 1x1 Rgb 8 alpha unsupported:Vector
            empty: Unknown: not a picture
            text: Unknown: not a picture
        "#]],
    );
}

#[test]
fn bombs_cost_no_more_than_other_headers() {
    const HUGE: u64 = 1 << 40;
    let check = |name: &str, bytes: &[u8], reads: (usize, usize), expect: Expect| {
        let source = Sparse::new(bytes, HUGE);
        let outcome = match probe(&source, HUGE) {
            Ok(facts) => line(&facts),
            Err(err) => format!("{:?}: {err}", err.kind),
        };
        expect.assert_eq(&outcome);
        assert_eq!(source.count_and_sum(), reads, "{name}");
    };
    let png_bomb = png((30_000, 30_000), [8, 2, 0], &[]);
    check(
        "large png",
        &png_bomb,
        (1, 4096),
        expect!["Png 30000x30000 Rgb 8 lossless"],
    );
    let jpeg_bomb = jpeg(&[frame(0xc2, (65_500, 65_500), &[0x22, 0x11, 0x11])]);
    check(
        "large jpeg",
        &jpeg_bomb,
        (1, 4096),
        expect!["Jpeg 65500x65500 Ycc 8 S420 progressive"],
    );
    let mut profile = png((1, 1), [8, 2, 0], &[chunk(b"iCCP", &[])]);
    profile[33..37].copy_from_slice(&i32::MAX.to_be_bytes());
    // What stands behind the profile are zeros.
    check(
        "giant profile",
        &profile,
        (2, 8192),
        expect!["Malformed: png chunk without a name"],
    );
    let segments = jpeg(&vec![segment(0xe2, &[0; 65_533]); 40]);
    check(
        "segment after segment",
        &segments,
        (41, 41 * 4096),
        expect!["Malformed: jpeg with a scan before its frame"],
    );
    let chunks = png((1, 1), [8, 2, 0], &vec![chunk(b"teXt", &[0; 4084]); 2000]);
    check(
        "chunk after chunk",
        &chunks,
        (1024, 1024 * 4096),
        expect!["Malformed: header takes too many reads"],
    );
}

#[test]
fn a_source_that_fails_or_shrinks_is_told_from_a_broken_picture() {
    struct Failing;
    impl ReadAt for Failing {
        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::PermissionDenied))
        }
    }
    let err = probe(&Failing, 100).expect_err("nothing can be read");
    assert_eq!(err.kind, ProbeErrorKind::Io);
    let source = error::Error::source(&err).expect("the cause is kept");
    assert_eq!(source.to_string(), "permission denied");

    let bytes = png((640, 480), [8, 2, 0], &[]);
    let err = probe(&bytes[..20], bytes.len() as u64).expect_err("the file shrank");
    assert_eq!(err.kind, ProbeErrorKind::Truncated);
}

#[test]
fn short_and_interrupted_reads_are_continued() {
    struct Dripping<'a>(&'a [u8], RefCell<u32>);
    impl ReadAt for Dripping<'_> {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            *self.1.borrow_mut() += 1;
            if *self.1.borrow() % 2 == 1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = buf.len().min(7);
            self.0.read_at(offset, &mut buf[..count])
        }
    }
    let bytes = jpeg(&[segment(0xe1, &exif(true, 6)), frame(0xc0, SIZE, &[0x11])]);
    let whole = probe(bytes.as_slice(), bytes.len() as u64).expect("a sound header");
    let source = Dripping(&bytes, RefCell::new(0));
    let dripped = probe(&source, bytes.len() as u64).expect("the same header");
    assert_eq!(dripped, whole);
    assert_eq!(whole.oriented(), Size::new(480, 640));
}
