use super::*;

#[test]
fn samples_that_look_like_blanks_are_samples() {
    let picture = read(b"P6\n# made by hand\n2 1\n255\n\n \t\r56").expect("it is a PPM");
    assert_eq!(picture.size, Size::new(2, 1));
    assert_eq!(picture.data, b"\n \t\r56");
    assert_eq!(read(&write(&picture)), Some(picture));
}

#[test]
fn grey_becomes_rgb() {
    let picture = read(b"P5 1 2 255\n\x07\x09").expect("it is a PGM");
    assert_eq!(picture.data, [7, 7, 7, 9, 9, 9]);
}

#[test]
fn what_is_no_picture_is_none() {
    for bytes in [
        &b""[..],
        b"P6",
        b"P6 2 1 255\n12345",
        b"P6 2 1 65535\n123456123456",
        b"P4 1 1 255\n1",
        b"P6 99999999999 1 255\n",
    ] {
        assert_eq!(read(bytes), None, "{bytes:?}");
    }
}
