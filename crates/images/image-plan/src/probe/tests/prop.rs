use super::*;
use proptest::prelude::*;
use proptest::{collection, sample};

/// Returns one valid file of each format, with all header parts that the writers support.
fn valid_files() -> Vec<Vec<u8>> {
    let size = (640, 480);
    let icc = segment(0xe2, &[&b"ICC_PROFILE\0\x01\x01"[..], &[7; 90]].concat());
    let table = segment(0xdb, &[&[0][..], &[9; 64]].concat());
    let colours = frame(0xc2, SIZE, &[0x22, 0x11, 0x11]);
    let boxes = [
        ispe(size),
        av1c(0x0c),
        nclx(13, 6),
        iso(b"irot", &[1]),
        iso(b"auxC", &[&[0; 4], ALPHA_URN].concat()),
    ];
    let mut files = vec![
        jpeg(&[segment(0xe1, &exif(true, 6)), icc, table, colours]),
        png(
            size,
            [8, 3, 1],
            &[
                chunk(b"iCCP", &[1; 40]),
                chunk(b"tRNS", &[0]),
                chunk(b"eXIf", &tiff(false, 3)),
            ],
        ),
        gif(SIZE, &[gif_control(1), gif_image(SIZE, &[255, 30])]),
        webp(&[
            vp8x(0x38, size),
            riff(b"ICCP", &[1; 33]),
            vp8(SIZE),
            riff(b"EXIF", &tiff(true, 8)),
        ]),
        webp(&[vp8l(size, true)]),
        avif(4, &boxes),
        bmp(124, &[(18, &[128, 2, 0, 0, 224, 1]), (28, &[32, 0, 3])]),
        b"<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a 'b'>]><svg/>".to_vec(),
    ];
    files.extend(testkit::stills::all().into_iter().map(|(_, file)| file));
    files
}

/// Asserts that a probe stays within its limits on arbitrary bytes.
fn assert_contained(bytes: &[u8], len_bytes: u64) {
    let source = Sparse::new(bytes, len_bytes);
    let probed = probe(&source, len_bytes);
    let (reads, sum) = source.count_and_sum();
    assert!(reads <= PROBE_READS_MAX as usize, "{reads} reads");
    assert!(sum as u64 <= PROBE_BYTES_MAX, "{sum} bytes");
    assert!(
        source
            .reads
            .borrow()
            .iter()
            .all(|read| *read <= PROBE_READ_BYTES_MAX)
    );
    match probed {
        Ok(facts) => {
            assert_ne!(facts.stored.pixels(), 0);
            assert_ne!(facts.jpeg_quality, Some(0));
            // TGA has no magic bytes, and most raw files have those of TIFF.
            let sniffed = Format::sniff(bytes).unwrap_or(Format::Tga);
            let is_raw = sniffed == Format::Tiff && facts.format == Format::Raw;
            assert!(is_raw || facts.format == sniffed, "{facts:?}");
        }
        Err(err) => assert_ne!(err.kind, ProbeErrorKind::Io),
    }
}

#[test]
fn valid_files_are_probed_and_their_truncations_do_not_panic() {
    for bytes in valid_files() {
        assert!(
            probe(bytes.as_slice(), bytes.len() as u64).is_ok(),
            "{}",
            outcome(&bytes)
        );
        for end in 0..bytes.len() {
            assert_contained(&bytes[..end], end as u64);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn damaged_files_do_not_panic(
        file in any::<sample::Index>(),
        damage in collection::vec((any::<sample::Index>(), any::<u8>()), 1..6),
        extra in prop_oneof![Just(0u64), 0..5000u64, Just(1 << 40)],
    ) {
        let mut bytes = file.get(&valid_files()).clone();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        assert_contained(&bytes, bytes.len() as u64 + extra);
    }

    #[test]
    fn random_bytes_after_a_magic_number_do_not_panic(
        file in any::<sample::Index>(),
        keep in 2..24usize,
        rest in collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = file.get(&valid_files()).clone();
        let bytes = [&bytes[..keep.min(bytes.len())], &rest].concat();
        assert_contained(&bytes, bytes.len() as u64);
    }
}
