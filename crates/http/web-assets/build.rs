//! Compresses the files of `web/dist`, and writes the table that embeds them.

#![allow(missing_docs, reason = "a build script has no documentation")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;

const IN_MEMORY: &str = "writing to memory cannot fail";

fn main() {
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let dist = manifest.join("../../../web/dist");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut names: Vec<String> = fs::read_dir(&dist)
        .expect("web/dist exists; `cargo xtask web` makes it")
        .map(|entry| entry.expect("web/dist can be listed").file_name())
        .map(|name| name.into_string().expect("names in web/dist are UTF-8"))
        .collect();
    names.sort();
    let mut all = blake3::Hasher::new();
    let mut table = String::from("const FILES: &[Embedded] = &[\n");
    for name in &names {
        let path = dist.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let bytes = fs::read(&path).expect("files of web/dist can be read");
        all.update(name.as_bytes()).update(&[0]).update(&bytes);
        let gzip = embedded(&out, name, "gz", &bytes, gzip(&bytes));
        let brotli = embedded(&out, name, "br", &bytes, brotli(&bytes));
        writeln!(
            table,
            "    Embedded {{ name: {name:?}, identity: include_bytes!({path:?}), gzip: {gzip}, brotli: {brotli} }},"
        )
        .expect(IN_MEMORY);
    }
    table.push_str("];\n");
    let version = &all.finalize().to_hex()[..16];
    writeln!(table, "const VERSION: &str = {version:?};").expect(IN_MEMORY);
    fs::write(out.join("files.rs"), table).expect("OUT_DIR can be written");
}

/// Writes a compressed file, and returns the Rust expression that embeds the file. If compression
/// saves less than a tenth of the bytes, writes no file and returns `None` as text.
fn embedded(out: &Path, name: &str, coding: &str, identity: &[u8], coded: Vec<u8>) -> String {
    if identity.len() - identity.len() / 10 < coded.len() {
        return "None".to_owned();
    }
    let path = out.join(format!("{name}.{coding}"));
    fs::write(&path, coded).expect("OUT_DIR can be written");
    format!("Some(include_bytes!({path:?}))")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect(IN_MEMORY);
    encoder.finish().expect(IN_MEMORY)
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let params = BrotliEncoderParams {
        quality: 11,
        size_hint: bytes.len(),
        ..BrotliEncoderParams::default()
    };
    let mut out = Vec::new();
    brotli::BrotliCompress(&mut &*bytes, &mut out, &params).expect(IN_MEMORY);
    out
}
