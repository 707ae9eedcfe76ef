//! Tests of the headers of TIFF, ICO, TGA, QOI, PNM, Radiance HDR, PSD, HEIC and camera raw.

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
            cr2: Raw 21x13 Grey 8 S400 Turn90 q60
            nef: Raw 21x13 Grey 8 S400 q60
            arw: Raw 21x13 Grey 8 S400 q60
            dng: Raw 21x13 Grey 8 S400 q60
            orf: Raw 21x13 Grey 8 S400 q60
            rw2: Raw 21x13 Grey 8 S400 q60
            raf: Raw 21x13 Grey 8 S400 q60
            cr3: Raw 21x13 Grey 8 S400 q60
            heic: Heif 21x13 Grey 8 S400 Turn90 q60
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
            dng: NoPreview: no embedded jpeg preview
            thumbnail of a raw file: Tiff 640x480 Grey 8 lossless unsupported:CameraRaw
            subdirectory of a pyramid: Tiff 640x480 Grey 8 lossless
            no height: Malformed: picture without pixels
            cut: Truncated: the header is cut off
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

/// Returns the bytes of the generated file with this extension.
fn generated(extension: &str) -> Vec<u8> {
    let files = stills::all().into_iter();
    let mut named = files.filter(|(name, _)| *name == extension);
    named.next().expect("a generated file").1
}

/// Returns the file with the first occurrence of `from` replaced by `to`, which is as long.
fn replaced(extension: &str, from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut file = generated(extension);
    let at = file.windows(from.len()).position(|part| part == from);
    let at = at.expect("the file contains the bytes");
    file[at..at + to.len()].copy_from_slice(to);
    file
}

#[test]
fn files_without_a_usable_preview() {
    // Both JPEGs begin with the same bytes; the second one is smaller.
    let without = |extension: &str, count: usize| {
        let mut file = generated(extension);
        for _ in 0..count {
            let at = file
                .windows(4)
                .position(|part| part == [0xff, 0xd8, 0xff, 0xe0]);
            file[at.expect("a preview")] = 0;
        }
        file
    };
    // The JPEG of 21 x 13 pixels states 12 bits per sample, a lossless process, or a height of 0.
    let frame = [0xff, 0xc0, 0, 11, 8, 0, 13, 0, 21];
    let other = |extension: &str, frame_at: usize, value: u8| {
        let mut changed = frame;
        changed[frame_at] = value;
        replaced(extension, &frame, &changed)
    };
    check(
        &[
            ("cr2 with its thumbnail", without("cr2", 1)),
            ("cr2 without previews", without("cr2", 2)),
            ("raf without a preview", without("raf", 1)),
            ("heic without a preview", without("heic", 1)),
            ("cr3 without its small preview", without("cr3", 1)),
            ("cr3 without previews", without("cr3", 2)),
            ("12 bits", other("cr2", 4, 12)),
            ("lossless", other("nef", 1, 0xc3)),
            ("no height", other("arw", 6, 0)),
            ("preview beyond the end", generated("raf")[..150].to_vec()),
            ("directory beyond the end", generated("rw2")[..210].to_vec()),
            ("heic beyond the end", generated("heic")[..250].to_vec()),
            ("sequence", b"\0\0\0\x10ftyphevc\0\0\0\0".to_vec()),
        ],
        expect![[r#"
            cr2 with its thumbnail: Raw 8x8 Grey 8 S400 Turn90 q30
            cr2 without previews: NoPreview: no embedded jpeg preview
            raf without a preview: NoPreview: no embedded jpeg preview
            heic without a preview: NoPreview: no embedded jpeg preview
            cr3 without its small preview: Raw 21x13 Grey 8 S400 q60
            cr3 without previews: NoPreview: no embedded jpeg preview
            12 bits: Raw 8x8 Grey 8 S400 Turn90 q30
            lossless: Raw 8x8 Grey 8 S400 q30
            no height: NoPreview: no embedded jpeg preview
            preview beyond the end: NoPreview: no embedded jpeg preview
            directory beyond the end: NoPreview: no embedded jpeg preview
            heic beyond the end: NoPreview: no embedded jpeg preview
            sequence: NoPreview: no embedded jpeg preview
        "#]],
    );
}

#[test]
fn directories_in_a_loop_are_read_once() {
    // The first directory is its own successor and its own SubIFD.
    let mut file = b"II*\0\x08\0\0\0".to_vec();
    file.extend([3, 0]);
    for (tag, value) in [(271_u16, 0_u32), (330, 8), (50_706, 1)] {
        file.extend(tag.to_le_bytes());
        file.extend([4, 0, 1, 0, 0, 0]);
        file.extend(value.to_le_bytes());
    }
    file.extend([8, 0, 0, 0]);
    let source = Sparse::new(&file, file.len() as u64);
    let err = probe(&source, file.len() as u64).expect_err("no preview");
    assert_eq!(err.kind, ProbeErrorKind::NoPreview);
    assert!(source.count_and_sum().0 <= 2);
}

#[test]
fn avif_with_a_generic_brand_stays_avif() {
    for (brands, format) in [
        (&b"avifmif1"[..], Format::Avif),
        (b"mif1avif", Format::Avif),
        (b"mif1avifheic", Format::Avif),
        (b"mif1heic", Format::Heif),
        (b"heicmif1", Format::Heif),
        (b"mif1miaf", Format::Heif),
        (b"crx isom", Format::Raw),
    ] {
        let (major, others) = brands.split_at(4);
        let size = 16 + others.len() as u32;
        let head = [&size.to_be_bytes()[..], b"ftyp", major, &[0; 4], others].concat();
        assert_eq!(Format::sniff(&head), Some(format), "{brands:?}");
    }
}

#[test]
fn a_preview_is_a_range_of_the_file() {
    for extension in [
        "cr2", "nef", "arw", "dng", "orf", "rw2", "raf", "cr3", "heic",
    ] {
        let file = generated(extension);
        let facts = probe(&file[..], file.len() as u64).expect("a preview");
        let preview = crate::preview(&file, facts.format).expect("a preview");
        let jpeg = &file[preview.offset as usize..][..preview.len_bytes as usize];
        assert_eq!(jpeg[..3], [0xff, 0xd8, 0xff], "{extension}");
        let end = jpeg.windows(2).position(|two| two == [0xff, 0xd9]);
        assert_eq!(end, Some(185), "{extension}");
        assert_eq!(preview.facts, facts, "{extension}");
    }
}
