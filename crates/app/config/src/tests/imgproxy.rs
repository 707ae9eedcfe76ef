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
            ("IMGPROXY_JXL_EFFORT", "4"),
            ("IMGPROXY_WORKERS", ""),
        ],
        expect![[r#""#]],
    );
}

#[test]
fn without_a_prefix_nothing_is_an_imgproxy_url() {
    check_variables(
        &[("IMGPROXY_KEY", "00"), ("IMGPROXY_SALT", "01")],
        expect![[r#""#]],
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
        expect![[r#""#]],
    );
    let file = "[imgproxy]\nprefix = \"/\"\npresets = { a = \"w:5\", default = \"q:60\" }\n";
    check(
        Written {
            file: Some(("pelton.toml", file)),
            ..Written::default()
        },
        expect![[r#""#]],
    );
}
