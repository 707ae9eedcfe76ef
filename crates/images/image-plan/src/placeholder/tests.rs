use super::{PLACEHOLDER_BYTES, Placeholder, base64};

const BLURHASH: &str = "LEHV6nWB2yk8pyo0adR*.7kCMdnj";

#[test]
fn a_placeholder_survives_serialization() {
    let placeholder = Placeholder::new([0x0a, 0xff, 0x10], BLURHASH, &[1, 2, 3, 4, 250]);
    let again = Placeholder::from_bytes(&placeholder.to_bytes()).expect("sound");
    assert_eq!(again, placeholder);
    assert_eq!(
        (&*again.colour(), again.blurhash(), &*again.thumbhash()),
        ("#0aff10", BLURHASH, "AQIDBPo=")
    );
}

#[test]
fn malformed_placeholders_are_refused() {
    let sound = Placeholder::new([1, 2, 3], BLURHASH, &[9; 25]).to_bytes();
    assert!(Placeholder::from_bytes(&sound[1..]).is_none());
    // A quote would end the HTML attribute that contains the BlurHash.
    for (at, byte) in [
        (4, b'"'),
        (3, 29),
        (3, 0),
        (3, 27),
        (32, 26),
        (32, 0),
        (PLACEHOLDER_BYTES - 1, 1),
    ] {
        let mut odd = sound;
        odd[at] = byte;
        assert!(Placeholder::from_bytes(&odd).is_none(), "{byte} at {at}");
    }
}

#[test]
fn base64_as_rfc_4648_has_it() {
    let rows =
        ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
    assert_eq!(
        rows,
        [
            "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"
        ]
    );
}
