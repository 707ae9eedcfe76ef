use super::write::*;
use super::*;
use expect_test::expect;

fn colour_frame() -> Vec<u8> {
    frame(0xc0, SIZE, &[0x22, 0x11, 0x11])
}

/// Returns a valid JPEG with `segments` between its frame and its scan.
fn with(segments: &[Vec<u8>]) -> Vec<u8> {
    jpeg(&[&[colour_frame()], segments].concat())
}

#[test]
fn frames() {
    let sof = |marker, sampling: &[u8]| jpeg(&[frame(marker, SIZE, sampling)]);
    let mut twelve = frame(0xc1, SIZE, &[0x11]);
    twelve[4] = 12;
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
        "#]],
    );
}

#[test]
fn broken_frames() {
    let cut = segment(0xc0, &[8, 1, 224, 2, 128, 3, 1, 0x22]);
    let sof = || frame(0xc0, SIZE, &[0x11]);
    check(
        &[
            ("no components", jpeg(&[frame(0xc0, SIZE, &[])])),
            ("no height", jpeg(&[frame(0xc0, (640, 0), &[0x11])])),
            ("no width", jpeg(&[frame(0xc0, (0, 480), &[0x11])])),
            ("cut frame", jpeg(&[cut])),
            ("no frame", jpeg(&[])),
            ("two frames", jpeg(&[sof(), sof()])),
            ("no scan", vec![0xff, 0xd8, 0xff, 0xd9]),
            ("nothing", vec![0xff, 0xd8, 0xff]),
            (
                "segment of one byte",
                vec![0xff, 0xd8, 0xff, 0xe0, 0, 1, 0, 0],
            ),
        ],
        expect![[r#"
            no components: Jpeg 640x480 Ycc 8 unsupported:Components
            no height: Malformed: jpeg without a height
            no width: Malformed: picture without pixels
            cut frame: Malformed: a part of the file is shorter than its fields
            no frame: Malformed: jpeg with a scan before its frame
            two frames: Malformed: jpeg with two frames
            no scan: Malformed: jpeg without a scan
            nothing: Truncated: header is cut off
            segment of one byte: Malformed: jpeg segment with a length below 2
        "#]],
    );
}

#[test]
fn colours() {
    let jfif = || segment(0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    let adobe = |transform| segment(0xee, &[&b"Adobe\0\x64\0\0\0\0"[..], &[transform]].concat());
    let four = |segments: &[Vec<u8>]| jpeg(&[segments, &[frame(0xc0, SIZE, &[0x11; 4])]].concat());
    let mut named_rgb = frame(0xc0, SIZE, &[0x11, 0x11, 0x11]);
    for (index, name) in [(10, b'R'), (13, b'G'), (16, b'B')] {
        named_rgb[index] = name;
    }
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
        "#]],
    );
}

#[test]
fn segments() {
    let profile = |bytes: usize| {
        let tag = b"ICC_PROFILE\0\x01\x02";
        segment(0xe2, &[&tag[..], &vec![7; bytes]].concat())
    };
    let exif = |orientation| segment(0xe1, &exif(false, orientation));
    let xmp = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0");
    let multi_picture = segment(0xe2, b"MPF\0 and a directory behind it");
    let table = |number, bytes| segment(0xdb, &[&[number][..], &vec![1; bytes]].concat());
    let garbage = |bytes| [segment(0xfe, b"comment"), vec![0; bytes], colour_frame()].concat();
    check(
        &[
            ("profile in two parts", with(&[profile(1000), profile(24)])),
            ("app2 of others", with(&[multi_picture])),
            ("orientation", with(&[exif(6)])),
            ("xmp before exif", with(&[xmp, exif(8)])),
            ("first exif wins", with(&[exif(3), exif(6)])),
            ("fill bytes", with(&[vec![0xff; 9]])),
            ("garbage between segments", jpeg(&[garbage(100)])),
            ("too much garbage", jpeg(&[garbage(5000)])),
            (
                "table behind a restart",
                with(&[vec![0xff, 0xd0], table(0, 64)]),
            ),
            ("fifth table", with(&[table(4, 64)])),
            ("table cut off", with(&[table(0, 63)])),
        ],
        expect![[r#"
            profile in two parts: Jpeg 640x480 Ycc 8 S420 profile:1024
            app2 of others: Jpeg 640x480 Ycc 8 S420
            orientation: Jpeg 640x480 Ycc 8 S420 Turn90
            xmp before exif: Jpeg 640x480 Ycc 8 S420 Turn270
            first exif wins: Jpeg 640x480 Ycc 8 S420 Turn180
            fill bytes: Jpeg 640x480 Ycc 8 S420
            garbage between segments: Jpeg 640x480 Ycc 8 S420
            too much garbage: Malformed: jpeg without a marker after a segment
            table behind a restart: Jpeg 640x480 Ycc 8 S420 q100
            fifth table: Malformed: jpeg with a fifth quantisation table
            table cut off: Malformed: jpeg with a truncated quantisation table
        "#]],
    );
}

/// Returns the luma table of T.81 annex K, scaled and clamped as documented for libjpeg's
/// `jpeg_add_quant_table`.
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
    // The sum of the first table is about twice that of quality 50. The sum of the second, 0, is
    // below that of every table of libjpeg.
    assert_eq!(quality([vec![0], vec![115; 64]].concat()), Some(25));
    assert_eq!(quality([vec![0], vec![0; 64]].concat()), Some(100));
    // Without a luma table the quality is not estimated.
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
    let valid = exif(false, 6);
    let patched = |at: usize, bytes: &[u8]| {
        let mut block = valid.clone();
        block[at..at + bytes.len()].copy_from_slice(bytes);
        block
    };
    let broken = [
        exif(false, 0),
        exif(false, 9),
        patched(6, b"IM"),
        patched(8, &[43]),
        // The directory offset lies after the end of the block, or near the maximum of u32, or the
        // directory crosses the end of the block.
        patched(10, &1000u32.to_le_bytes()),
        patched(10, &u32::MAX.to_le_bytes()),
        patched(10, &(valid.len() as u32 - 7).to_le_bytes()),
        // An orientation of type LONG; a directory without the tag; a directory with too many
        // entries; and two blocks that end too early.
        patched(6 + 24, &[4]),
        patched(6 + 22, &[0x13]),
        [&patched(14, &[0xff, 0xff])[..20], &[0; 20]].concat(),
        b"Exif\0\0".to_vec(),
        b"Exif\0\0II".to_vec(),
    ];
    for block in broken {
        assert_eq!(oriented(&block), Orientation::Upright, "{block:x?}");
    }
    // A block that ends directly after its last directory entry is valid, because the entry is
    // complete.
    assert_eq!(oriented(&valid[..6 + 10 + 24]), Orientation::Turn90);
}
