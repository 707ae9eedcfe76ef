//! Tests that commands work with both backends of cells. If the host cannot run microVMs, the tests
//! that need microVMs print a message that says so.

use std::fs;
use std::process::{Output, Stdio};

use crate::harness::{Home, media, pelton};

const BACKENDS: [&str; 2] = ["process", "kvm"];

/// Path of the worker, which these tests run as an example of a statically linked program.
const PROGRAM: &str = env!("PELTON_WORKER");

/// Returns the backends that this host supports.
pub(crate) fn backends() -> &'static [&'static str] {
    let device = fs::File::options().read(true).write(true).open("/dev/kvm");
    match device {
        Ok(_) => &BACKENDS,
        Err(err) => {
            eprintln!("pelton: not proved: kvm: open /dev/kvm: {err}");
            &BACKENDS[..1]
        }
    }
}

fn run(home: &Home, words: &[&str]) -> (i32, String, String) {
    let mut command = pelton(home, words);
    command.stdin(Stdio::null());
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes text");
    let code = status.code().expect("the program was not killed");
    (code, text(stdout), text(stderr))
}

/// Checks promise N10 of the specification: every backend yields the same bytes, for pictures that
/// use different code paths of the codecs. The worker's own tests cover conversions without a
/// sandbox.
#[test]
fn n10_every_backend_gives_the_same_bytes() {
    let home = Home::with(&[
        ("photo.jpg", &media::photo(640, 427, 1)),
        ("turned.jpg", &media::turned_photo(96, 64, 6)),
        ("small.jpg", &media::small_photo()),
        ("alpha.png", &media::png(96, 64)),
        ("one.gif", &media::gif(64, 48, 1)),
        ("old.bmp", &media::bmp(50, 40)),
    ]);
    let mut proved = 0;
    for input in [
        "photo.jpg",
        "turned.jpg",
        "small.jpg",
        "alpha.png",
        "one.gif",
        "old.bmp",
    ] {
        for (output, query) in [
            ("a.avif", ""),
            ("a.webp", "w=40"),
            ("a.jpg", "w=30&h=30&fit=cover"),
            ("a.png", "max_width=32"),
        ] {
            let made = backends().iter().map(|backend| {
                let input = format!("library/{input}");
                let words = [
                    "convert",
                    &input,
                    output,
                    "--query",
                    query,
                    "--cell-backend",
                    backend,
                ];
                let (code, _, stderr) = run(&home, &words);
                assert_eq!(code, 0, "{backend}: {stderr}");
                fs::read(home.directory().join(output)).expect("it was written")
            });
            let made: Vec<_> = made.collect();
            assert!(
                made.iter().all(|bytes| *bytes == made[0]),
                "{input} to {output}"
            );
            proved += 1;
        }
    }
    eprintln!(
        "pelton: proved: {}: {proved} answers are equal",
        backends().join(" and ")
    );
}

#[test]
fn run_says_how_a_program_failed_in_every_backend() {
    let home = Home::new();
    for backend in backends() {
        let words = ["run", PROGRAM, "--backend", backend, "--", "what"];
        let (code, stdout, stderr) = run(&home, &words);
        assert_eq!((code, &stdout[..]), (1, ""), "{stderr}");
        assert!(
            stderr.contains("exit code 2: worker: unknown command"),
            "{stderr}"
        );
    }
    let (code, _, stderr) = run(&home, &["run", "/bin/true"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(
        stderr.contains("true: not statically linked: the file requests the interpreter"),
        "{stderr}"
    );
}

#[test]
fn a_server_says_what_stands_around_its_conversions() {
    let home = Home::with(&[("p.jpg", &media::photo(96, 64, 1))]);
    for backend in backends() {
        let server = crate::harness::Server::plain(&home, &["--cell-backend", backend]);
        let response = server.get_as("/p.jpg?w=40", "image/webp");
        assert_eq!((response.status, response.size().0), (200, 40));
        assert_eq!(server.logged("INFO", "cells"), 1);
        server.stop();
    }
}

#[test]
fn page_tables_are_shown_where_there_are_microvms() {
    let home = Home::new();
    if backends().len() == 2 {
        let (code, stdout, stderr) = run(&home, &["cell", "--pagetables"]);
        assert_eq!(code, 0, "{stderr}");
        // The first user page of the worker is a large page of 2 MB, and so is the first page of
        // its code.
        let mut users = stdout.lines().filter(|line| line.ends_with(" user"));
        let first = users.next().expect("it has a program");
        assert!(first.contains(" x 2048 KB "), "{stdout}");
        let code = stdout.lines().find(|line| line.ends_with(" r-x user"));
        assert!(
            code.is_some_and(|line| line.contains(" x 2048 KB ")),
            "{stdout}"
        );
    }
}

/// Checks promise N5 of the specification: the server contains no function of a codec. `cargo xtask
/// tidy` checks that the server's crates do not depend on codecs.
#[test]
fn n5_no_codec_is_linked_into_the_server() {
    const CODECS: [&str; 6] = [
        "aom_codec_encode",
        "dav1d_send_data",
        "WebPEncode",
        "WebPDecode",
        "tj3Compress8",
        "jpeg_start_decompress",
    ];
    let symbols = symbols(env!("CARGO_BIN_EXE_pelton"));
    assert!(symbols.contains("main\0"), "the program's symbols are read");
    for codec in CODECS {
        assert!(!symbols.contains(codec), "{codec}");
    }
}

/// Returns the names in the symbol table of a program, each followed by a zero byte. The worker is
/// embedded in the server as data, so its symbols are not included.
fn symbols(path: &str) -> String {
    const SYMBOLS: u32 = 2;
    let file = fs::read(path).expect("cargo built it");
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"));
    let (table, count) = (
        long(40) as usize,
        file[60] as usize + (file[61] as usize) * 256,
    );
    let section = |number: usize| table + number * 64;
    let mut sections = (0..count).map(section);
    let symbols = sections.find(|at| word(at + 4) == SYMBOLS);
    let names = section(word(symbols.expect("it is not stripped") + 40) as usize);
    let (offset, bytes) = (long(names + 24) as usize, long(names + 32) as usize);
    String::from_utf8_lossy(&file[offset..offset + bytes]).into_owned()
}
