//! Conversion of pictures into every format, at the low effort of the first response and at the
//! higher effort of the background conversion.
//!
//! `cargo xtask conform pictures` uses all pictures of Debian's wallpaper packages instead of a few
//! generated ones.

use std::fs;
use std::path::Path;

use crate::harness::{Home, Response, Server, eventually, media};

/// Environment variable with folders of pictures, separated by colons.
const FOLDERS: &str = "CONFORM_PICTURES";

const FORMATS: [&str; 4] = ["avif", "webp", "jpeg", "png"];

/// Returns a library, and the names of its pictures.
fn library() -> (Home, Vec<String>) {
    let home = Home::new();
    let mut names = Vec::new();
    match std::env::var(FOLDERS) {
        Ok(folders) => {
            for folder in folders.split(':') {
                collect(Path::new(folder), &home, &mut names);
            }
            assert!(!names.is_empty(), "{folders}: no pictures");
        }
        Err(_) => {
            for (name, picture) in [
                ("photo.jpg", media::photo(400, 300, 1)),
                ("screen.png", media::png(320, 200)),
                // libaom treats this picture as screen content. Its search for equal blocks once
                // took more memory than a job may use.
                ("drawing.png", media::drawing(1700, 1200)),
            ] {
                home.put(name, &picture);
                names.push(name.to_owned());
            }
        }
    }
    names.sort();
    (home, names)
}

/// Copies the supported pictures below `folder` into `home`, and puts a number before each name.
fn collect(folder: &Path, home: &Home, names: &mut Vec<String>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|err| panic!("{}: {err}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder can be read").path();
        // Packages contain symbolic links from one picture's name to another.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect(&path, home, names);
            continue;
        }
        let bytes = fs::read(&path).expect("the picture can be read");
        let facts = image_plan::probe(&bytes[..], bytes.len() as u64);
        if facts.is_ok_and(|facts| facts.unsupported.is_none() && !facts.animated) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let stem = stem.replace(|char: char| !char.is_ascii_alphanumeric(), "_");
            let name = format!("{:03}-{stem}", names.len());
            home.put(&name, &bytes);
            names.push(name);
        }
    }
}

fn is_final(response: &Response) -> bool {
    response.field("cache-control") == Some("public, max-age=86400")
}

#[test]
fn every_picture_is_made_at_every_effort() {
    let (home, names) = library();
    let server = Server::start(&home, &[]);
    for name in &names {
        for format in FORMATS {
            for query in ["", "&w=640"] {
                let target = format!("/{name}?format={format}{query}");
                let quick = server.get(&target);
                assert_eq!(quick.status, 200, "{target}: {}", quick.text());
                eventually(&target, || is_final(&server.get(&target)).then_some(()));
            }
        }
        let metrics = server.metrics();
        let failures = metrics.sum("pelton_conversion_failures_total");
        assert_eq!(failures, 0, "{name}");
        assert_eq!(metrics.get("pelton_conversions_retried_total"), 0, "{name}");
    }
    eprintln!(
        "{} pictures, {} conversions",
        names.len(),
        server.metrics().conversions()
    );
    server.stop();
}

/// A background conversion may produce a larger variant than the quick conversion before it. The
/// larger variant is discarded, since both have the same average quality.
#[test]
fn no_improvement_is_larger_than_what_it_replaces() {
    let home = Home::with(&[("faint.png", &media::faint(900, 700))]);
    let server = Server::start(&home, &[]);
    for target in ["/faint.png?format=avif", "/faint.png?format=avif&w=450"] {
        let quick = server.get(target);
        let last = eventually("it is settled", || {
            let response = server.get(target);
            is_final(&response).then_some(response)
        });
        assert_eq!(last.content_type(), "image/avif", "{target}");
        let (quick_bytes, last_bytes) = (quick.body.len(), last.body.len());
        eprintln!("{target}: {quick_bytes} bytes, then {last_bytes}");
        assert!(last_bytes <= quick_bytes, "{target}");
    }
    server.stop();
}
