//! The shell of the web page, and the files that it loads.

use std::io::{self, Read as _};

use crate::harness::{Home, Response, Server};

/// Returns the part of `text` between the first `before` and the next `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).expect("the text has the start");
    let (part, _) = rest.split_once(after).expect("the text has the end");
    part
}

/// Returns the nonce that a shell's policy allows scripts to have.
fn nonce(shell: &Response) -> &str {
    let policy = shell.field("content-security-policy").expect("a policy");
    between(policy, "script-src 'nonce-", "'")
}

/// Returns the decoded body of a response.
fn decoded(response: &Response) -> Vec<u8> {
    let mut bytes = Vec::new();
    match response.field("content-encoding") {
        None => bytes.extend(&response.body),
        Some("br") => {
            let mut body = &response.body[..];
            brotli::BrotliDecompress(&mut body, &mut bytes).expect("Brotli");
        }
        Some("gzip") => {
            let mut reader = flate2::read::GzDecoder::new(&response.body[..]);
            reader.read_to_end(&mut bytes).expect("gzip");
        }
        Some(other) => panic!("{other} is not a content encoding of the page"),
    }
    bytes
}

#[test]
fn only_scripts_with_the_nonce_of_the_response_run() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    let [first, second] = ["/-/", "/-/photos"].map(|path| server.get(path));
    for shell in [&first, &second] {
        let policy = shell.field("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'; ",
            "base-uri 'none'; ",
            "frame-ancestors 'none'; ",
            "require-trusted-types-for 'script'; trusted-types service-worker",
        ] {
            assert!(policy.contains(part), "{part}: {policy}");
        }
        for part in ["unsafe-inline", "unsafe-eval", "http:", "https:", "*"] {
            assert!(!policy.contains(part), "{part}: {policy}");
        }
        assert_eq!(nonce(shell).len(), 32);
        let text = shell.text();
        let scripts = text.matches("<script").count();
        let with_nonce = format!("nonce=\"{}\"", nonce(shell));
        assert!(scripts > 0, "{text}");
        assert!(text.matches(&with_nonce).count() >= scripts, "{text}");
    }
    assert_ne!(nonce(&first), nonce(&second));
    server.stop();
}

#[test]
fn files_of_the_page_are_compressed_and_cached_for_ever() {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    let shell = server.get("/-/");
    let version = between(shell.text(), "-/app/", "/");
    let path = format!("/-/app/{version}/app.js");
    let plain = server.get(&path);
    assert_eq!(plain.status, 200);
    assert_eq!(plain.content_type(), "text/javascript; charset=utf-8");
    let caching = Some("public, max-age=31536000, immutable");
    assert_eq!(plain.field("cache-control"), caching);
    for (accepted, coding) in [("gzip", "gzip"), ("gzip, br", "br")] {
        let response = server.send("GET", &path, &format!("accept-encoding: {accepted}\r\n"));
        assert_eq!(response.field("content-encoding"), Some(coding));
        assert_eq!(response.field("vary"), Some("Accept-Encoding"));
        assert!(response.body.len() * 2 < plain.body.len(), "{coding}");
        assert_eq!(decoded(&response), plain.body, "{coding}");
    }
    // An older page must not get files of this one under its own paths.
    assert_eq!(server.get("/-/app/0123456789abcdef/app.js").status, 404);
    assert_eq!(server.get(&format!("/-/app/{version}/none.js")).status, 404);
    server.stop();
}

#[test]
fn the_page_can_be_installed() -> io::Result<()> {
    let home = Home::new();
    let server = Server::plain(&home, &[]);
    assert!(server.get("/-/").text().contains("rel=\"manifest\""));
    let manifest = server.get("/-/manifest.webmanifest");
    assert_eq!(manifest.content_type(), "application/manifest+json");
    let manifest: serde_json::Value = serde_json::from_slice(&manifest.body)?;
    assert_eq!(manifest["display"], "standalone");
    let icons = manifest["icons"].as_array().expect("icons");
    assert!(icons.iter().any(|icon| icon["purpose"] == "maskable"));
    for icon in icons {
        let name = icon["src"].as_str().expect("a relative URL");
        let response = server.get(&format!("/-/{name}"));
        assert_eq!(
            (response.status, response.content_type()),
            (200, "image/png")
        );
        let side = u32::from_be_bytes(response.body[16..20].try_into().expect("four bytes"));
        assert_eq!(icon["sizes"], format!("{side}x{side}"));
    }
    // A new version of the page must reach browsers that have installed it.
    let worker = server.get("/-/service-worker.js");
    assert_eq!(worker.field("cache-control"), Some("no-cache"));
    server.stop();
    Ok(())
}
