use super::write::*;
use super::*;
use expect_test::expect;

const PIXELS: (u32, u32) = (640, 480);

/// Returns an AVIF whose primary item has a size, a configuration and, in addition, `properties`.
fn of(properties: &[Vec<u8>]) -> Vec<u8> {
    let own_properties = [&[ispe(PIXELS), av1c(0x0c)], properties].concat();
    avif(own_properties.len() as u8, &own_properties)
}

#[test]
fn properties() {
    let depth = |bits| avif(2, &[ispe(PIXELS), av1c(bits)]);
    let alpha = |urn: &[u8]| {
        let auxc = iso(b"auxC", &[&[0; 4], urn].concat());
        let both = [ispe(PIXELS), av1c(0x0c), ispe(PIXELS), av1c(0x1c), auxc];
        avif(2, &both)
    };
    let profile = iso(b"colr", &[&b"prof"[..], &[0; 456]].concat());
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
            (
                "grid",
                avif(1, &[ispe(PIXELS), ispe((320, 240)), av1c(0x4c)]),
            ),
            ("profile", of(&[profile])),
            ("sdr", of(&[nclx(13, 6)])),
            ("identity matrix", of(&[nclx(13, 0)])),
            ("pq", of(&[nclx(16, 9)])),
            ("hlg", of(&[nclx(18, 9)])),
            ("aperture", of(&[iso(b"clap", &[0; 32])])),
            ("no size", avif(1, &[av1c(0x0c)])),
            ("no pixels", avif(1, &[ispe((0, 480))])),
            ("short size", avif(1, &[iso(b"ispe", &[0; 8])])),
            ("size of another item", avif(0, &[ispe(PIXELS)])),
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
            aperture: Avif 640x480 Ycc 8 S420 unsupported:Aperture
            no size: Malformed: picture without pixels
            no pixels: Malformed: picture without pixels
            short size: Malformed: a part of the file is shorter than its fields
            size of another item: Malformed: picture without pixels
        "#]],
    );
}

#[test]
fn orientations() {
    let irot = |angle| iso(b"irot", &[angle]);
    let imir = |axis| iso(b"imir", &[axis]);
    check(
        &[
            ("turned", of(&[irot(1)])),
            ("turned twice", of(&[irot(2)])),
            ("turned thrice", of(&[irot(3)])),
            ("flipped", of(&[imir(0)])),
            ("mirrored", of(&[imir(1)])),
            ("turned, then mirrored", of(&[irot(1), imir(1)])),
            ("mirrored, then turned", of(&[imir(1), irot(1)])),
        ],
        expect![[r#"
            turned: Avif 640x480 Ycc 8 S420 Turn270
            turned twice: Avif 640x480 Ycc 8 S420 Turn180
            turned thrice: Avif 640x480 Ycc 8 S420 Turn90
            flipped: Avif 640x480 Ycc 8 S420 Flip
            mirrored: Avif 640x480 Ycc 8 S420 Mirror
            turned, then mirrored: Avif 640x480 Ycc 8 S420 Transverse
            mirrored, then turned: Avif 640x480 Ycc 8 S420 Transpose
        "#]],
    );
}

#[test]
fn wide_numbers() {
    let picture = |version: u8, id: &[u8]| {
        // The property indices have 15 bits. The bit above them marks a property as essential.
        let head = [version, 0, 0, 1, 0, 0, 0, 1];
        let ipma = [&head, id, &[2, 0x80, 2, 0, 1]].concat();
        let ipco = [av1c(0x0c), ispe(PIXELS)].concat();
        let iprp = [iso(b"ipco", &ipco), iso(b"ipma", &ipma)].concat();
        let pitm = iso(b"pitm", &[&[version, 0, 0, 0], id].concat());
        let meta = [&[0; 4], &pitm[..], &iso(b"iprp", &iprp)].concat();
        [ftyp(&[b"avif"]), iso(b"meta", &meta)].concat()
    };
    check(
        &[
            ("long numbers", picture(0, &[0, 9])),
            ("long ids", picture(1, &[0, 0, 0, 9])),
        ],
        expect![[r#"
            long numbers: Avif 640x480 Ycc 8 S420
            long ids: Avif 640x480 Ycc 8 S420
        "#]],
    );
}

#[test]
fn boxes() {
    let head = ftyp(&[b"avif"]);
    let meta = &of(&[])[ftyp(&[b"avif", b"mif1"]).len()..];
    let behind = |more: &[&[u8]]| [&[&head[..]], more].concat().concat();
    let wide = [&[0, 0, 0, 1], &b"free"[..], &24u64.to_be_bytes(), &[0; 8]].concat();
    let to_the_end = [&[0; 4], &meta[4..]].concat();
    let crowd = of(&vec![iso(b"free", &[]); 255]);
    check(
        &[
            ("meta behind a wide box", behind(&[&wide, meta])),
            ("meta to the end of the file", behind(&[&to_the_end])),
            ("no meta", behind(&[])),
            ("empty meta", behind(&[&iso(b"meta", &[])])),
            (
                "box beyond its parent",
                behind(&[b"\0\0\x01\0meta\0\0\0\0"]),
            ),
            (
                "box smaller than its head",
                behind(&[b"\0\0\0\x07meta\0\0\0\0"]),
            ),
            ("too many properties", crowd),
        ],
        expect![[r#"
            meta behind a wide box: Avif 640x480 Ycc 8 S420
            meta to the end of the file: Avif 640x480 Ycc 8 S420
            no meta: Malformed: avif without a picture
            empty meta: Malformed: avif without a picture
            box beyond its parent: Malformed: box that exceeds its parent
            box smaller than its head: Malformed: box that exceeds its parent
            too many properties: Malformed: avif with too many properties
        "#]],
    );
}

#[test]
fn sequences() {
    let head = ftyp(&[b"avis", b"avif"]);
    let meta = &of(&[])[ftyp(&[b"avif", b"mif1"]).len()..];
    let behind = |more: &[&[u8]]| [&[&head[..]], more].concat().concat();
    let track = |tkhd: &[u8]| iso(b"moov", &iso(b"trak", &iso(b"tkhd", tkhd)));
    let sides = [2, 128, 0, 0, 1, 224, 0, 0];
    let sized = track(&[&[0; 76], &sides[..]].concat());
    check(
        &[
            ("sequence", behind(&[&sized])),
            (
                "sequence behind a broken picture",
                behind(&[&iso(b"meta", &[0; 4]), &sized]),
            ),
            ("sequence that is a picture", behind(&[meta])),
            ("sequence of nothing", behind(&[])),
            ("track without a size", behind(&[&track(&[0; 7])])),
        ],
        expect![[r#"
            sequence: Avif 640x480 Ycc 8 animated:1+
            sequence behind a broken picture: Avif 640x480 Ycc 8 animated:1+
            sequence that is a picture: Avif 640x480 Ycc 8 S420 animated:1+
            sequence of nothing: Malformed: avif without a picture
            track without a size: Malformed: a part of the file is shorter than its fields
        "#]],
    );
}

#[test]
fn heic_size_is_read_from_the_same_boxes() {
    let heic = |own_properties: &[Vec<u8>]| {
        let mut file = avif(own_properties.len() as u8, own_properties);
        let at = file.windows(4).position(|brand| brand == b"avif");
        file[at.expect("a brand")..][..4].copy_from_slice(b"heic");
        file
    };
    let size = |file: &[u8]| super::super::heif_size(file, file.len() as u64);
    let turned = heic(&[
        ispe((4032, 3024)),
        iso(b"hvcC", &[0; 23]),
        iso(b"irot", &[1]),
    ]);
    assert_eq!(size(&turned).expect("a sound file"), Size::new(3024, 4032));
    assert!(probe(&turned[..], turned.len() as u64).is_err());
    for broken in [&turned[..40], &heic(&[ispe((0, 480))])] {
        assert_eq!(
            size(broken).expect_err("broken").kind,
            ProbeErrorKind::Malformed
        );
    }
    let text = size(b"no picture").expect_err("no file of this kind");
    assert_eq!(text.kind, ProbeErrorKind::Unknown);
}
