use http1::{Limits, Request};

use super::{is_own_origin, issue, page_path, referring_view, remove, token};

/// Calls `read` with a request that has the header fields `fields`.
fn with<T>(fields: &str, read: impl FnOnce(&Request<'_>) -> T) -> T {
    let text = format!("GET / HTTP/1.1\r\nhost: h:80\r\n{fields}\r\n");
    let request = http1::parse(text.as_bytes(), &Limits::default());
    read(&request.expect("sound").expect("whole"))
}

fn token_of(path: &str, fields: &str, is_secure: bool) -> Option<String> {
    with(fields, |request| {
        token(path, &request.fields(), is_secure).map(str::to_owned)
    })
}

#[test]
fn the_cookie_counts_below_its_path_and_without_authorization() {
    let cookie = "cookie: a=b; pelton=x.1;c=d\r\n";
    let found = |path| token_of(path, cookie, false);
    for path in ["/-/", "/-/api", "/-/file/a.jpg"] {
        assert_eq!(found(path).as_deref(), Some("x.1"), "{path}");
    }
    for path in ["/", "/-", "/a.jpg", "/rest/ping", "//-/api", "/%2d/api"] {
        assert_eq!(found(path), None, "{path}");
    }
    let both = format!("{cookie}Authorization: Basic YTpi\r\n");
    assert_eq!(token_of("/-/api", &both, false), None);
}

#[test]
fn over_tls_only_the_cookie_that_needs_tls_counts() {
    for (fields, plain, secure) in [
        ("", None, None),
        ("cookie: pelton=a\r\n", Some("a"), None),
        ("cookie: __Secure-pelton=b\r\n", Some("b"), Some("b")),
        (
            "cookie: pelton=a; __Secure-pelton=b\r\n",
            Some("b"),
            Some("b"),
        ),
        ("cookie: x=1\r\nCookie: pelton=a\r\n", Some("a"), None),
        ("cookie: pelton=; pelton=a\r\n", None, None),
        ("cookie: Pelton=a; xpelton=a; pelton\r\n", None, None),
        ("cookie: \u{e9}=1; pelton=a\r\n", Some("a"), None),
    ] {
        assert_eq!(
            token_of("/-/api", fields, false).as_deref(),
            plain,
            "{fields}"
        );
        assert_eq!(
            token_of("/-/api", fields, true).as_deref(),
            secure,
            "{fields}"
        );
    }
}

#[test]
fn the_attributes_keep_the_cookie_from_scripts_and_other_sites() {
    assert_eq!(
        issue("t", "/-/", 60, false),
        "pelton=t; Path=/-/; Max-Age=60; HttpOnly; SameSite=Lax"
    );
    assert_eq!(
        issue("t", "/music/-/", 60, true),
        "__Secure-pelton=t; Path=/music/-/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
    );
    assert_eq!(
        remove("/-/", false),
        "pelton=; Path=/-/; Max-Age=0; HttpOnly; SameSite=Lax"
    );
}

#[test]
fn a_proxy_may_serve_the_page_below_a_path_of_its_own() {
    for (referer, page, view) in [
        ("http://h:80/-/", "/-/", Some("/-/")),
        ("http://H:80/-/photos?q=/-/", "/-/", Some("/-/photos")),
        (
            "https://h:80/a/b/-/music/-/x",
            "/a/b/-/",
            Some("/-/music/-/x"),
        ),
        ("http://h:80/a;Domain=x/-/", "/-/", Some("/-/")),
        ("http://h:80/photo.jpg?/-/", "/-/", None),
        ("http://h:80", "/-/", None),
        ("http://h/-/photos", "/-/", None),
        ("http://evil.example/a/-/", "/-/", None),
        ("/-/", "/-/", None),
    ] {
        with(&format!("referer: {referer}\r\n"), |request| {
            let fields = request.fields();
            assert_eq!(page_path(&fields), page, "{referer}");
            let found = referring_view(&fields).map(|(_, view)| view);
            assert_eq!(found, view, "{referer}");
        });
    }
}

#[test]
fn an_own_origin_equals_the_host() {
    for (origin, plain, secure) in [
        ("http://h:80", true, false),
        ("https://h:80", true, true),
        ("https://H:80", true, true),
        ("http://h", false, false),
        ("http://h:81", false, false),
        ("https://x.h:80", false, false),
        ("https://h:80.evil.example", false, false),
        ("app://h:80", false, false),
        ("null", false, false),
        ("h:80", false, false),
        ("", false, false),
    ] {
        assert_eq!(is_own_origin(origin, "h:80", false), plain, "{origin}");
        assert_eq!(is_own_origin(origin, "h:80", true), secure, "{origin}");
    }
}
