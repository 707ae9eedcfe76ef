//! Variables and settings of imgproxy.

use expect_test::expect;

use super::{Written, check, check_variables};

#[test]
fn variables_set_settings() {
    check_variables(
        &[
            ("IMGPROXY_KEY", "736563726574,00"),
            ("IMGPROXY_SALT", "68656C6C6F,01"),
            ("IMGPROXY_PATH_PREFIX", "/pictures/"),
            ("IMGPROXY_SIGNATURE_SIZE", "8"),
            ("IMGPROXY_PRESETS", "thumb=rs:fill:96:96/q:70, sharp=sh:0.7"),
            ("IMGPROXY_ONLY_PRESETS", "1"),
            ("IMGPROXY_BASE_URL", "local:///photos/"),
            ("IMGPROXY_LOCAL_FILESYSTEM_ROOT", "/srv/photos"),
            ("IMGPROXY_BIND", ":8080"),
            ("IMGPROXY_TTL", "3600"),
            ("IMGPROXY_MAX_SRC_RESOLUTION", "16.8"),
            ("IMGPROXY_QUALITY", "75"),
            ("IMGPROXY_USE_ETAG", "true"),
            ("IMGPROXY_SECRET", "do not show"),
            ("IMGPROXY_SOURCE_URL_QUERY_SEPARATOR", "$"),
            ("IMGPROXY_JXL_EFFORT", "4"),
            ("IMGPROXY_WORKERS", ""),
        ],
        expect![[r#"
            root = /srv/photos  from IMGPROXY_LOCAL_FILESYSTEM_ROOT
            listen = 0.0.0.0:8080  from IMGPROXY_BIND
            quality = 75  from IMGPROXY_QUALITY
            max_age = 1h  from IMGPROXY_TTL
            limits.source_pixels_max = 16800000  from IMGPROXY_MAX_SRC_RESOLUTION
            imgproxy.prefix = /pictures  from IMGPROXY_PATH_PREFIX
            imgproxy.keys = 736563726574,00  from IMGPROXY_KEY
            imgproxy.salts = 68656c6c6f,01  from IMGPROXY_SALT
            imgproxy.signature_size = 8  from IMGPROXY_SIGNATURE_SIZE
            imgproxy.presets = sharp=sh:0.7|thumb=rs:fill:96:96/q:70  from IMGPROXY_PRESETS
            imgproxy.only_presets = true  from IMGPROXY_ONLY_PRESETS
            imgproxy.base_url = local:///photos/  from IMGPROXY_BASE_URL
            Taken: IMGPROXY_QUALITY sets the quality of JPEG: other formats get the quality that looks the same
            NoEffect: IMGPROXY_USE_ETAG has no effect: Pelton always behaves as if this variable were true
            Unsupported: IMGPROXY_SECRET is not supported
            Unsupported: IMGPROXY_SOURCE_URL_QUERY_SEPARATOR is not supported
            NoEffect: IMGPROXY_JXL_EFFORT has no effect: docs/migrate-imgproxy.md lists the variables that Pelton reads
        "#]],
    );
}

#[test]
fn without_a_prefix_nothing_is_an_imgproxy_url() {
    check_variables(
        &[("IMGPROXY_KEY", "00"), ("IMGPROXY_SALT", "01")],
        expect![[r#"
            imgproxy.keys = 00  from IMGPROXY_KEY
            imgproxy.salts = 01  from IMGPROXY_SALT
            Unsupported: IMGPROXY_KEY is set, but has no effect while imgproxy.prefix is off
        "#]],
    );
}

#[test]
fn values_are_checked() {
    check_variables(
        &[
            ("IMGPROXY_KEY", "00,secret"),
            ("IMGPROXY_SIGNATURE_SIZE", "33"),
            ("IMGPROXY_PRESETS", "a=w:5,b=watermark:0.5"),
            ("IMGPROXY_TRUSTED_SIGNATURES", "a/b"),
            ("IMGPROXY_PATH_PREFIX", "pictures"),
        ],
        expect![[r#"
            pelton: IMGPROXY_KEY: 2: the string does not consist of hexadecimal digits
            pelton: IMGPROXY_SIGNATURE_SIZE: expected a whole number from 1 to 32, found "33"
            pelton: IMGPROXY_PRESETS: b: watermark: watermarks are not supported
            pelton: IMGPROXY_TRUSTED_SIGNATURES: expected a list of strings without slashes
            pelton: IMGPROXY_PATH_PREFIX: expected "off" or a path such as "/imgproxy", found "pictures"
        "#]],
    );
    check_variables(
        &[("IMGPROXY_PATH_PREFIX", "/-/pictures")],
        expect![[r#"
            pelton: IMGPROXY_PATH_PREFIX: expected "off" or a path such as "/imgproxy", found "/-/pictures"
        "#]],
    );
    let file = "[imgproxy]\nprefix = \"/\"\npresets = { a = \"w:5\", default = \"q:60\" }\n";
    check(
        Written {
            file: Some(("pelton.toml", file)),
            ..Written::default()
        },
        expect![[r#"
            imgproxy.prefix = /  from pelton.toml:2
            imgproxy.presets = a=w:5|default=q:60  from pelton.toml:3
        "#]],
    );
}
