//! Tests of the headers of TIFF, ICO, TGA, QOI, PNM, Radiance HDR and PSD.

use super::*;
use expect_test::expect;
use testkit::stills::{self, Page, Tiff};

#[test]
fn generated_files() {
    let files = stills::all();
    check(
        &files,
        expect![[r#"
            tga: Tga 21x13 Rgb 8 Flip lossless
            tga: Tga 21x13 Rgb 8 Flip lossless
            tga: Tga 21x13 Grey 8 lossless
            qoi: Qoi 21x13 Rgb 8 lossless
            pgm: Pnm 21x13 Grey 8 lossless
            pgm: Pnm 21x13 Grey 16 lossless
            ppm: Pnm 21x13 Rgb 8 lossless
            ppm: Pnm 21x13 Rgb 8 lossless
            pbm: Pnm 21x13 Grey 1 lossless
            pam: Pnm 21x13 Rgb 8 lossless
            hdr: Hdr 21x13 Rgb 8
            psd: Psd 21x13 Rgb 8 lossless
            psd: Psd 21x13 Rgb 8 lossless
            ico: Ico 21x13 Rgb 8 alpha lossless
            tif: Tiff 21x13 Rgb 8 lossless
            tif: Tiff 21x13 Rgb 8 Turn90 lossless pages:2
            tif: Tiff 21x13 Grey 8 lossless
            tif: Tiff 21x13 Grey 8 lossless
            tif: Tiff 21x13 Grey 8 lossless
        "#]],
    );
}

fn page(bits: &[u16], photometric: u16, compression: u16) -> Page {
    Page::new((640, 480), bits, photometric, compression, vec![vec![0]])
}

#[test]
fn pages_of_tiff() {
    let of = |page| Tiff::of(page).to_bytes();
    let grey = |bits| page(&[bits], 1, 1);
    let mut without_strips = page(&[8], 1, 1);
    without_strips.tags.retain(|(tag, _)| *tag != 257);
    check(
        &[
            ("bits", of(grey(1))),
            ("deep", of(grey(16))),
            ("32 bits", of(grey(32))),
            ("floating point", of(grey(16).with(339, &[3]))),
            ("rgb", of(page(&[8; 3], 2, 5))),
            ("unequal bits", of(page(&[5, 6, 5], 2, 1))),
            ("alpha", of(page(&[8; 4], 2, 8).with(338, &[2]))),
            ("associated alpha", of(page(&[16; 4], 2, 8).with(338, &[1]))),
            ("fourth sample", of(page(&[8; 4], 2, 8).with(338, &[0]))),
            ("palette", of(page(&[4], 3, 1).with(320, &[0; 48]))),
            ("no palette", of(page(&[4], 3, 1))),
            ("ink", of(page(&[8; 4], 5, 1))),
            ("other ink", of(page(&[8; 4], 5, 1).with(332, &[2]))),
            ("jpeg", of(page(&[8; 3], 6, 7))),
            ("chroma without jpeg", of(page(&[8; 3], 6, 1))),
            ("lab", of(page(&[8; 3], 8, 1))),
            ("fax", of(page(&[1], 0, 4))),
            ("profile", of(grey(8).with_bytes(34_675, &[7; 90]))),
            ("orientation", of(grey(8).with(274, &[8]))),
            ("unknown orientation", of(grey(8).with(274, &[9]))),
            ("differences", of(grey(8).with(317, &[2]))),
            ("floating differences", of(grey(8).with(317, &[3]))),
            ("dng", of(grey(8).with_bytes(50_706, &[1, 4, 0, 0]))),
            (
                "thumbnail of a raw file",
                of(grey(8).with(254, &[1]).with(330, &[9])),
            ),
            ("subdirectory of a pyramid", of(grey(8).with(330, &[9]))),
            ("no height", of(without_strips)),
            ("cut", of(grey(8))[..60].to_vec()),
        ],
        expect![[r#"
            bits: Tiff 640x480 Grey 1 lossless
            deep: Tiff 640x480 Grey 16 lossless
            32 bits: Tiff 640x480 Grey 32 lossless unsupported:Tiff
            floating point: Tiff 640x480 Grey 16 lossless unsupported:Tiff
            rgb: Tiff 640x480 Rgb 8 lossless
            unequal bits: Tiff 640x480 Rgb 8 lossless unsupported:Tiff
            alpha: Tiff 640x480 Rgb 8 alpha lossless
            associated alpha: Tiff 640x480 Rgb 16 alpha lossless
            fourth sample: Tiff 640x480 Rgb 8 lossless
            palette: Tiff 640x480 Rgb 8 lossless
            no palette: Tiff 640x480 Rgb 8 lossless unsupported:Tiff
            ink: Tiff 640x480 Cmyk 8 lossless
            other ink: Tiff 640x480 Grey 8 lossless unsupported:Tiff
            jpeg: Tiff 640x480 Ycc 8
            chroma without jpeg: Tiff 640x480 Ycc 8 lossless unsupported:Tiff
            lab: Tiff 640x480 Grey 8 lossless unsupported:Tiff
            fax: Tiff 640x480 Grey 1 lossless unsupported:Tiff
            profile: Tiff 640x480 Grey 8 lossless profile:90
            orientation: Tiff 640x480 Grey 8 Turn270 lossless
            unknown orientation: Tiff 640x480 Grey 8 lossless
            differences: Tiff 640x480 Grey 8 lossless
            floating differences: Tiff 640x480 Grey 8 lossless unsupported:Tiff
            dng: Tiff 640x480 Grey 8 lossless unsupported:CameraRaw
            thumbnail of a raw file: Tiff 640x480 Grey 8 lossless unsupported:CameraRaw
            subdirectory of a pyramid: Tiff 640x480 Grey 8 lossless
            no height: Malformed: picture without pixels
            cut: Truncated: header is cut off
        "#]],
    );
}

#[test]
fn pages_are_counted_within_the_limits() {
    let small = Page::new((1, 1), &[8], 1, 1, vec![vec![0]]);
    let of = |count| Tiff {
        pages: vec![small.clone(); count],
        ..Tiff::default()
    };
    let pages = |file: &[u8]| {
        let facts = probe(file, file.len() as u64).expect("a sound header");
        facts.pages
    };
    assert_eq!(pages(&of(1).to_bytes()), 1);
    assert_eq!(pages(&of(7).to_bytes()), 7);
    assert_eq!(pages(&of(600).to_bytes()), PAGES_MAX);
    let mut file = of(3).to_bytes();
    let len = file.len();
    // The last directory links to the first one.
    let first = file[4..8].to_vec();
    file[len - 4..].copy_from_slice(&first);
    assert_eq!(pages(&file), 3);
    // The last directory links to a place after the end of the file.
    file[len - 4..].copy_from_slice(&[0, 0, 0, 9]);
    assert_eq!(pages(&file), 3);
    for (page, exists) in [(0, false), (1, true), (3, true), (4, false)] {
        let facts = probe_page(&file[..], len as u64, page);
        match facts {
            Ok(facts) => assert!(exists && facts.pages == 3),
            Err(err) => assert!(!exists && err.kind == ProbeErrorKind::NoPage),
        }
    }
    let png = png((1, 1), [8, 2, 0], &[]);
    let second = probe_page(&png[..], png.len() as u64, 2);
    assert_eq!(second.expect_err("one page").kind, ProbeErrorKind::NoPage);
}

/// A file of the worst kind has a page in each block that a read returns.
#[test]
fn scattered_pages_do_not_exceed_the_limits() {
    let page = Page::new((1, 1), &[8], 1, 1, vec![vec![0; 5000]]).with_bytes(700, &[0; 5000]);
    let tiff = Tiff {
        pages: vec![page; 500],
        ..Tiff::default()
    };
    let file = tiff.to_bytes();
    let source = Sparse::new(&file, file.len() as u64);
    let facts = probe_page(&source, file.len() as u64, PAGES_MAX).expect("within the limits");
    assert_eq!(facts.pages, PAGES_MAX);
    assert!(source.count_and_sum().0 <= PROBE_READS_MAX as usize);
}

#[test]
fn tga_is_recognized_only_if_all_fields_fit() {
    let sound = stills::tga(2, 24, 0, &vec![0; 3 * 21 * 13]);
    let patched = |at: usize, value: u8| {
        let mut file = sound.clone();
        file[at] = value;
        file
    };
    let with_footer = [&sound[..], &[0; 100], b"TRUEVISION-XFILE.\0"].concat();
    check(
        &[
            ("sound", sound.clone()),
            ("one byte longer", [&sound[..], &[0]].concat()),
            ("footer", with_footer),
            ("cut", sound[..sound.len() - 1].to_vec()),
            ("unknown type", patched(2, 4)),
            ("palette without entries", patched(1, 1)),
            ("unused field", patched(5, 1)),
            ("unknown depth", patched(16, 23)),
            ("alpha without bits", patched(17, 8)),
            ("unknown bits", patched(17, 0x40)),
            ("right to left", patched(17, 0x10)),
            ("top down", patched(17, 0x20)),
            ("no width", patched(12, 0)),
        ],
        expect![[r#"
            sound: Tga 21x13 Rgb 8 Flip lossless
            one byte longer: Unknown: not a picture
            footer: Tga 21x13 Rgb 8 Flip lossless
            cut: Unknown: not a picture
            unknown type: Unknown: not a picture
            palette without entries: Unknown: not a picture
            unused field: Unknown: not a picture
            unknown depth: Unknown: not a picture
            alpha without bits: Unknown: not a picture
            unknown bits: Unknown: not a picture
            right to left: Tga 21x13 Rgb 8 Turn180 lossless
            top down: Tga 21x13 Rgb 8 lossless
            no width: Unknown: not a picture
        "#]],
    );
}

#[test]
fn resolutions_of_radiance_hdr() {
    let of = |format: &str, resolution: &str| {
        format!("#?RADIANCE\n# made by hand\n{format}\n\n{resolution}\n").into_bytes()
    };
    let rgbe = |resolution| of("FORMAT=32-bit_rle_rgbe", resolution);
    check(
        &[
            ("top down", rgbe("-Y 480 +X 640")),
            ("mirrored", rgbe("-Y 480 -X 640")),
            ("bottom up", rgbe("+Y 480 +X 640")),
            ("turned", rgbe("+Y 480 -X 640")),
            ("columns", rgbe("+X 640 -Y 480")),
            ("columns from the right", rgbe("-X 640 -Y 480")),
            ("columns, bottom up", rgbe("+X 640 +Y 480")),
            ("columns from the right, bottom up", rgbe("-X 640 +Y 480")),
            ("same axis twice", rgbe("-Y 480 +Y 640")),
            ("more words", rgbe("-Y 480 +X 640 +Z 2")),
            ("xyz", of("FORMAT=32-bit_rle_xyze", "-Y 480 +X 640")),
            ("long header", of(&"x=y\n".repeat(1100), "-Y 480 +X 640")),
        ],
        expect![[r#"
            top down: Hdr 640x480 Rgb 8
            mirrored: Hdr 640x480 Rgb 8 Mirror
            bottom up: Hdr 640x480 Rgb 8 Flip
            turned: Hdr 640x480 Rgb 8 Turn180
            columns: Hdr 480x640 Rgb 8 Transpose
            columns from the right: Hdr 480x640 Rgb 8 Turn90
            columns, bottom up: Hdr 480x640 Rgb 8 Turn270
            columns from the right, bottom up: Hdr 480x640 Rgb 8 Transverse
            same axis twice: Malformed: radiance hdr with a broken header
            more words: Malformed: radiance hdr with a broken header
            xyz: Hdr 640x480 Rgb 8 unsupported:Samples
            long header: Malformed: radiance hdr with a broken header
        "#]],
    );
}
