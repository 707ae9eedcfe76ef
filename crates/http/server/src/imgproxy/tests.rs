use std::path::Path;

use super::*;

/// Key and salt of imgproxy's documentation ("Signing a URL").
const KEY: (&[u8], &[u8]) = (b"secret", b"hello");
const SIGNATURE: &str = "oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8";
const SIGNED: &str =
    "rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png";

fn imgproxy(keys: &[(&[u8], &[u8])], signature_bytes: usize) -> Imgproxy {
    let keys = keys.iter().map(|(key, salt)| SignatureKey::new(key, salt));
    Imgproxy {
        prefix: "/imgproxy".to_owned(),
        keys: keys.collect(),
        signature_bytes,
        trusted_signatures: vec!["trusted".to_owned()],
        rules: ImgproxyRules::default(),
    }
}

#[test]
fn the_published_signature_is_valid() {
    let one = imgproxy(&[KEY], 32);
    assert!(one.is_valid(SIGNATURE, SIGNED));
    assert!(one.is_valid("trusted", SIGNED));
    assert!(!one.is_valid(SIGNATURE, &SIGNED.replace("300", "301")));
    for wrong in [
        "",
        "insecure",
        "oKfU",
        &SIGNATURE[..42],
        &format!("{SIGNATURE}A"),
    ] {
        assert!(!one.is_valid(wrong, SIGNED), "{wrong}");
    }
    let signed = one.sign(&format!("/imgproxy/_/{SIGNED}"));
    assert_eq!(signed, Some(format!("/imgproxy/{SIGNATURE}/{SIGNED}")));
    assert_eq!(one.sign("/other/_/plain/local:///a"), None);
}

#[test]
fn verdicts_for_people() {
    let keyed = imgproxy(&[KEY], 32);
    let verdict = |imgproxy: &Imgproxy, rest: &str, now_unix_s| {
        let signed = keyed.sign(&format!("/imgproxy/_/{rest}")).expect("a key");
        imgproxy.verify(&signed, now_unix_s)
    };
    let (plain, timed) = ("w:5/plain/local:///a", "exp:1000/plain/local:///a");
    assert_eq!(verdict(&keyed, plain, 7), Ok(u64::MAX));
    assert_eq!(verdict(&keyed, timed, 1000), Ok(1001));
    assert_eq!(verdict(&keyed, timed, 1001), Err(Problem::ExpiredUrl));
    let problem = verdict(&keyed, "w:x/plain/local:///a", 7).expect_err("no number");
    assert_eq!(problem.status(), 400);
    assert_eq!(keyed.verify("/imgproxy/_/a", 7), Err(WRONG_SIGNATURE));
    assert_eq!(keyed.verify("/other/_/a", 7), Err(WRONG_SIGNATURE));
    assert_eq!(verdict(&imgproxy(&[], 32), plain, 7), Err(WRONG_SIGNATURE));
}

#[test]
fn several_keys_and_short_signatures_are_valid() {
    let two = imgproxy(&[(b"new", b"salt"), KEY], 32);
    assert!(two.is_valid(SIGNATURE, SIGNED));
    let short = imgproxy(&[KEY], 6);
    assert!(short.is_valid(&SIGNATURE[..8], SIGNED));
    assert!(!short.is_valid(SIGNATURE, SIGNED));
}

#[test]
fn without_keys_only_an_option_is_no_signature() {
    let open = imgproxy(&[], 32);
    assert!(open.is_valid("insecure", SIGNED));
    assert!(!open.is_valid("rs:fill:300:400:0", "plain/local:///a.jpg"));
    assert!(!open.is_valid("", SIGNED));
}

#[test]
fn paths_below_the_prefix() {
    let below = imgproxy(&[], 32);
    assert_eq!(below.path_below("/imgproxy/_/a"), Some("_/a"));
    assert_eq!(below.path_below("/imgproxy2/_/a"), None);
    assert_eq!(below.path_below("/imgproxy"), None);
    let root = Imgproxy {
        prefix: String::new(),
        ..below
    };
    assert_eq!(root.path_below("/_/a"), Some("_/a"));
}

#[test]
fn names_of_downloads() {
    let value = |filename: Option<&str>, is_attachment, media_type| {
        let disposition = Disposition {
            filename: filename.map(str::to_owned),
            is_attachment,
        };
        content_disposition(&disposition, Path::new("dir/a b.jpeg"), media_type)
    };
    assert_eq!(value(None, false, "image/webp"), None);
    for (filename, is_attachment, media_type, expected) in [
        (
            None,
            true,
            "image/webp",
            "attachment; filename*=UTF-8''a%20b.webp",
        ),
        (
            Some("x\"/é"),
            false,
            "image/jpeg",
            "inline; filename*=UTF-8''x%22_%C3%A9.jpg",
        ),
        (
            Some("x"),
            false,
            "text/plain",
            "inline; filename*=UTF-8''x.jpeg",
        ),
    ] {
        let found = value(filename, is_attachment, media_type);
        assert_eq!(found.as_deref(), Some(expected));
    }
}
