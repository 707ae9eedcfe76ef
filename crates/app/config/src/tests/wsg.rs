//! Configurations of WebP Server Go.

use expect_test::expect;

use super::{Written, check, check_json, check_variables, outcome};

#[test]
fn a_stock_file() {
    check_json(
        r#"{
            "HOST": "127.0.0.1",
            "PORT": "4444",
            "QUALITY": "80",
            "IMG_PATH": "./pics",
            "EXHAUST_PATH": "./exhaust",
            "IMG_MAP": {},
            "ALLOWED_TYPES": ["jpg", "png", "jpeg", "gif", "bmp", "svg", "heic", "nef", "webp", "avif", "jxl"],
            "CONVERT_TYPES": ["webp"],
            "STRIP_METADATA": true,
            "ENABLE_EXTRA_PARAMS": false,
            "EXTRA_PARAMS_CROP_INTERESTING": "InterestingAttention",
            "READ_BUFFER_SIZE": 4096,
            "CONCURRENCY": 262144,
            "DISABLE_KEEPALIVE": false,
            "CACHE_TTL": 259200,
            "MAX_CACHE_SIZE": 0
        }"#,
        expect![[r#"
            root = ./pics  from config.json:5
            listen = 127.0.0.1:4444  from config.json:3
            data = ./exhaust  from config.json:6
            quality = 70  from config.json:4
            formats = webp  from config.json:9
            allowed_types =   from config.json:8
            only_types = jpg,png,jpeg,gif,bmp,svg,heic,nef,webp,avif,jxl  from config.json:8
            queries = meta-only  from config.json:11
            img_map =   from config.json:7
            Taken: config.json:4: QUALITY 80 is a quality on WebP's own scale; Pelton uses 70 instead, because a number on Pelton's scale looks the same in every format
            Taken: config.json:6: EXHAUST_PATH is used as the data directory: files that WebP Server Go left there are neither used nor removed
            NoEffect: config.json:12: EXTRA_PARAMS_CROP_INTERESTING has no effect: a crop always keeps the centre of the picture
            NoEffect: config.json:13: READ_BUFFER_SIZE has no effect, as in WebP Server Go
            NoEffect: config.json:14: CONCURRENCY has no effect, as in WebP Server Go
            NoEffect: config.json:15: DISABLE_KEEPALIVE has no effect, as in WebP Server Go
            NoEffect: config.json:16: CACHE_TTL has no effect: remote sources are not supported yet
            Taken: config.json:17: MAX_CACHE_SIZE 0 means no limit in WebP Server Go; in Pelton, limits.variants_bytes_max applies
        "#]],
    );
}

#[test]
fn a_full_file() {
    check_json(
        r#"{
            "host": "", "port": 80, "quality": 100,
            "Img_Path": "/srv/photos", "METADATA_PATH": "./metadata", "REMOTE_RAW_PATH": "./remote-raw",
            "IMG_MAP": { "/a": "/srv/a", "/a/b": "/srv/b", "photos": "/srv/c" },
            "ALLOWED_TYPES": ["jpg", "pdf", "*"],
            "ENABLE_WEBP": true, "ENABLE_AVIF": true, "ENABLE_JXL": true,
            "STRIP_METADATA": false,
            "EXTRA_PARAMS_CROP_INTERESTING": "InterestingEntropy", "ENABLE_EXTRA_PARAMS": true,
            "MAX_CACHE_SIZE": "500"
        }"#,
        expect![[r#"
            root = /srv/photos  from config.json:3
            listen = 0.0.0.0:80  from config.json:2
            quality = 100  from config.json:2
            formats = avif,webp  from config.json:6
            allowed_types = pdf  from config.json:5
            only_types = jpg,pdf  from config.json:5
            queries = webp-server-go  from config.json:8
            img_map = /a/b=/srv/b,/a=/srv/a  from config.json:4
            limits.variants_bytes_max = 500MiB  from config.json:9
            Taken: config.json:2: QUALITY requests lossless WebP and AVIF; quality 100 has the same meaning in Pelton
            NoEffect: config.json:3: METADATA_PATH has no effect: Pelton writes no metadata files
            NoEffect: config.json:3: REMOTE_RAW_PATH has no effect: remote sources are not supported yet
            NoEffect: config.json:4: IMG_MAP has no effect for the prefix "photos", as in WebP Server Go, because the prefix does not begin with a slash
            Unsupported: config.json:6: ENABLE_JXL requests jxl, but JPEG XL output is not supported yet
            Unsupported: config.json:7: STRIP_METADATA false is not supported: conversions always remove EXIF and XMP, but preserve the colours
            Unsupported: config.json:8: EXTRA_PARAMS_CROP_INTERESTING is not supported yet: a crop always keeps the centre of the picture
        "#]],
    );
}

#[test]
fn wrong_values() {
    check_json(
        r#"{
            "HOST": "example.org",
            "PORT": "http",
            "QUALITY": "high",
            "IMG_PATH": "https://example.org/pictures",
            "IMG_MAP": { "/far": "http://example.org" },
            "ALLOWED_TYPES": "jpg",
            "CONVERT_TYPES": ["webp", "bmp"],
            "ENABLE_WEBP": "true",
            "STRIP_METADATA": 1,
            "MAX_CACHE_SIZE": -1,
            "EXHAUST_PATH": "",
            "ALOWED_TYPES": [],
            "PEANUTS": null
        }"#,
        expect![[r#"
            pelton: config.json:6: IMG_MAP: remote sources are not supported yet: /far = "http://example.org"
            pelton: config.json:12: EXHAUST_PATH: expected a path, found ""
            pelton: config.json:13: unknown key: ALOWED_TYPES
            hint:   the nearest known key is ALLOWED_TYPES
            pelton: config.json:14: unknown key: PEANUTS
            hint:   a .json file is read as a configuration of WebP Server Go; Pelton's own format is TOML
            pelton: config.json:2: HOST: expected an IP address or "localhost", found "example.org"
            pelton: config.json:3: PORT: expected a port from 0 to 65535, found "http"
            pelton: config.json:4: QUALITY: expected a whole number, found "high"
            pelton: config.json:5: IMG_PATH: remote sources are not supported yet: "https://example.org/pictures"
            pelton: config.json:7: ALLOWED_TYPES: expected a list of extensions, found "jpg"
            pelton: config.json:8: CONVERT_TYPES: expected a list of "webp", "avif" and "jxl", found "bmp"
            pelton: config.json:9: ENABLE_WEBP: expected true or false, found "true"
            pelton: config.json:10: STRIP_METADATA: expected true or false, found 1
            pelton: config.json:11: MAX_CACHE_SIZE: expected a whole number of megabytes, found -1
        "#]],
    );
}

#[test]
fn formats() {
    // Switches such as ENABLE_WEBP add formats to CONVERT_TYPES. If CONVERT_TYPES is not given, it
    // contains only WebP.
    check_json(
        r#"{ "CONVERT_TYPES": ["avif"], "ENABLE_WEBP": true }"#,
        expect![[r#"
            formats = avif,webp  from config.json:1
            queries = webp-server-go  from config.json:1
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
            Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
        "#]],
    );
    check_json(
        r#"{ "ENABLE_AVIF": true }"#,
        expect![[r#"
            formats = avif,webp  from config.json:1
            queries = webp-server-go  from config.json:1
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
            Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
        "#]],
    );
    check_json(
        r#"{ "ENABLE_AVIF": false }"#,
        expect![[r#"
            formats = webp  from config.json:1
            queries = webp-server-go  from config.json:1
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
            Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
        "#]],
    );
    check_json(
        r#"{ "CONVERT_TYPES": [] }"#,
        expect![[r#"
            formats =   from config.json:1
            queries = webp-server-go  from config.json:1
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
            Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
        "#]],
    );
    check_json(
        "{}",
        expect![[r#"
        Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
        Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
        Taken: config.json does not set CONVERT_TYPES, so formats keeps Pelton's default, which is avif,webp; the default of WebP Server Go is webp
    "#]],
    );
    // The variable replaces both keys of the file.
    check(
        Written {
            file: Some((
                "config.json",
                r#"{ "CONVERT_TYPES": ["webp"], "ENABLE_WEBP": true }"#,
            )),
            variables: &[("WEBP_CONVERT_TYPES", "avif, JXL")],
            ..Written::default()
        },
        expect![[r#"
            formats = avif  from WEBP_CONVERT_TYPES
            queries = webp-server-go  from config.json:1
            Unsupported: WEBP_CONVERT_TYPES requests jxl, but JPEG XL output is not supported yet
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
            Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
        "#]],
    );
}

#[test]
fn quality_is_that_of_webp() {
    let qualities: Vec<String> = ["1", "50", "75", "80", "85", "90", "99", "100", "120"]
        .iter()
        .map(|webp| {
            let variables = &[("WEBP_QUALITY", *webp)];
            let written = Written {
                variables,
                ..Written::default()
            };
            let outcome = outcome(&written);
            let shown = outcome.lines().next().expect("the quality is shown");
            format!("{webp}: {shown}\n")
        })
        .collect();
    expect![[r#"
        1: quality = 10  from WEBP_QUALITY
        50: quality = 45  from WEBP_QUALITY
        75: quality = 64  from WEBP_QUALITY
        80: quality = 70  from WEBP_QUALITY
        85: quality = 76  from WEBP_QUALITY
        90: quality = 84  from WEBP_QUALITY
        99: quality = 98  from WEBP_QUALITY
        100: quality = 100  from WEBP_QUALITY
        120: quality = 100  from WEBP_QUALITY
    "#]]
    .assert_eq(&qualities.concat());
}

#[test]
fn variables() {
    check_variables(
        &[
            ("WEBP_HOST", "0.0.0.0"),
            ("WEBP_IMG_PATH", "/srv/photos"),
            ("WEBP_EXHAUST_PATH", "/srv/exhaust"),
            ("WEBP_QUALITY", ""),
            ("WEBP_ALLOWED_TYPES", "*"),
            ("WEBP_CONVERT_TYPES", "webp,avif"),
            ("WEBP_IMG_MAP", "{}"),
            ("WEBP_ENABLE_EXTRA_PARAMS", "True"),
            ("WEBP_EXTRA_PARAMS_CROP_INTERESTING", "InterestingCentre"),
            ("WEBP_STRIP_METADATA", "true"),
            ("WEBP_READ_BUFFER_SIZE", "4096"),
            ("WEBP_CONCURRENCY", "1"),
            ("WEBP_DISABLE_KEEPALIVE", "true"),
            ("WEBP_CACHE_TTL", "1"),
            ("WEBP_MAX_CACHE_SIZE", "2048"),
            ("WEBP_METADATA_PATH", "/srv/metadata"),
            ("WEBP_MAX_CACHE", "1"),
        ],
        expect![[r#"
            root = /srv/photos  from WEBP_IMG_PATH
            listen = 0.0.0.0:3333  from WEBP_HOST
            data = /srv/exhaust  from WEBP_EXHAUST_PATH
            formats = avif,webp  from WEBP_CONVERT_TYPES
            allowed_types = *  from WEBP_ALLOWED_TYPES
            queries = webp-server-go  from WEBP_IMG_PATH
            limits.variants_bytes_max = 2GiB  from WEBP_MAX_CACHE_SIZE
            NoEffect: WEBP_METADATA_PATH has no effect: WebP Server Go has no such variable
            NoEffect: WEBP_MAX_CACHE has no effect: WebP Server Go has no such variable
            Taken: WEBP_EXHAUST_PATH is used as the data directory: files that WebP Server Go left there are neither used nor removed
            NoEffect: WEBP_IMG_MAP has no effect, as in WebP Server Go
            NoEffect: WEBP_ENABLE_EXTRA_PARAMS has no effect: the value is neither "true" nor "false"
            NoEffect: WEBP_READ_BUFFER_SIZE has no effect, as in WebP Server Go
            NoEffect: WEBP_CONCURRENCY has no effect, as in WebP Server Go
            NoEffect: WEBP_DISABLE_KEEPALIVE has no effect, as in WebP Server Go
            NoEffect: WEBP_CACHE_TTL has no effect: remote sources are not supported yet
        "#]],
    );
    check_variables(
        &[
            ("WEBP_PORT", "tcp://10.0.0.1:80"),
            ("WEBP_IMG_PATH", "http://example.org"),
        ],
        expect![[r#"
            pelton: WEBP_PORT: expected a port from 0 to 65535, found "tcp://10.0.0.1:80"
            pelton: WEBP_IMG_PATH: remote sources are not supported yet: "http://example.org"
        "#]],
    );
}

#[test]
fn host_and_port_are_parts_of_one_key() {
    check(
        Written {
            file: Some(("pelton.toml", "listen = \"10.0.0.1:1000\"")),
            variables: &[("WEBP_PORT", "2000")],
            ..Written::default()
        },
        expect![[r#"
            listen = 10.0.0.1:2000  from WEBP_PORT
            queries = webp-server-go  from WEBP_PORT
        "#]],
    );
    check(
        Written {
            file: Some((
                "config.json",
                "{\n\"HOST\": \"localhost\", \"PORT\": \"1000\"\n}",
            )),
            variables: &[("WEBP_HOST", "::1")],
            ..Written::default()
        },
        expect![[r#"
            listen = [::1]:1000  from WEBP_HOST
            queries = webp-server-go  from config.json:2
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set IMG_PATH, so root keeps Pelton's default, which is .; the default of WebP Server Go is ./pics
            Taken: config.json does not set CONVERT_TYPES, so formats keeps Pelton's default, which is avif,webp; the default of WebP Server Go is webp
        "#]],
    );
}

#[test]
fn of_a_key_given_twice_the_last_holds() {
    check_json(
        "{ \"IMG_PATH\": \"a\",\n\"img_path\": \"b\" }",
        expect![[r#"
            root = b  from config.json:2
            queries = webp-server-go  from config.json:1
            Taken: config.json does not set ENABLE_EXTRA_PARAMS, so queries keeps Pelton's default, which is webp-server-go; the default of WebP Server Go is meta-only
            Taken: config.json does not set HOST, so listen keeps Pelton's default, which is 127.0.0.1:3333; the default of WebP Server Go is 0.0.0.0:3333
            Taken: config.json does not set CONVERT_TYPES, so formats keeps Pelton's default, which is avif,webp; the default of WebP Server Go is webp
        "#]],
    );
}
