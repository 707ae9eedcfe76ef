//! Scans of libraries with one unusual file: empty, truncated, deeply nested, enormous, or with
//! false lengths. Each scan must stay within its limits and report the file if it cannot be read.
//!
//! The allocator limits the memory. The limit on the CPU time is 40 times the time that is needed
//! to hash as many bytes as a reader may request. On our machines, this limit is about 50 ms.

#![forbid(unsafe_code)]

use std::alloc::System;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap::Cap;
use rustix::time::{ClockId, clock_gettime};
use scan::{Limits, Progress, Report, ScanRequest, scan};
use tags::Splits;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Maximum memory of the scan of one file, in bytes. An allocation beyond this limit fails and
/// aborts the test. The library is not removed in that case, so the file that caused the failure
/// can be inspected.
const BYTES_MAX: usize = 16 << 20;
/// Maximum CPU time of the scan of one file, as a multiple of the time needed to hash all bytes
/// that a reader may request.
const HASHES_MAX: u32 = 40;
/// Number of measurements of each CPU time. The shortest time is used, because other programs on
/// the machine may slow some measurements down.
const ATTEMPTS: usize = 5;
/// Length of an enormous file in bytes. It is just below the limit of 64 GiB.
const ENORMOUS_BYTES: u64 = 60 << 30;

const SOUND: [(&str, &[u8]); 15] = [
    ("flac", include_bytes!("../../tags/testdata/sine.flac")),
    ("mp3", include_bytes!("../../tags/testdata/sine.mp3")),
    ("m4a", include_bytes!("../../tags/testdata/sine.m4a")),
    ("m4b", include_bytes!("../../tags/testdata/sine-alac.m4a")),
    ("ogg", include_bytes!("../../tags/testdata/sine.ogg")),
    ("opus", include_bytes!("../../tags/testdata/sine.opus")),
    ("wav", include_bytes!("../../tags/testdata/sine.wav")),
    ("aiff", include_bytes!("../../tags/testdata/sine.aiff")),
    ("wv", include_bytes!("../../tags/testdata/sine.wv")),
    ("aac", include_bytes!("../../tags/testdata/sine.aac")),
    ("spx", include_bytes!("../../tags/testdata/sine.spx")),
    ("tta", include_bytes!("../../tags/testdata/sine.tta")),
    ("wma", include_bytes!("../../tags/testdata/sine.wma")),
    ("mka", include_bytes!("../../tags/testdata/sine.mka")),
    ("webm", include_bytes!("../../tags/testdata/sine.webm")),
];

/// First bytes of pictures in several formats. They end after the size in pixels.
const PICTURES: [(&str, &[u8]); 5] = [
    (
        "png",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\0\0\0\0\0\0\0\0IDAT\0\0\0\0",
    ),
    (
        "jpg",
        b"\xff\xd8\xff\xe1\0\x10Exif\0\0II*\0\x08\0\0\0\xff\xc0\0\x11\x08\0\x01\0\x01\x03\x01\x11\0\x02\x11\0\x03\x11\0\xff\xd9",
    ),
    (
        "webp",
        b"RIFF\x2a\0\0\0WEBPVP8X\x0a\0\0\0\x08\0\0\0\0\0\0\0\0\0EXIF\x08\0\0\0II*\0\x08\0\0\0",
    ),
    (
        "avif",
        b"\0\0\0\x18ftypavif\0\0\0\0avifmif1\0\0\0\x2cmeta\0\0\0\0\0\0\0\x20iprp\0\0\0\x18ipco\0\0\0\x10ispe\0\0\0\0\0\0\0\x01",
    ),
    (
        "heic",
        b"\0\0\0\x18ftypheic\0\0\0\0heicmif1\0\0\0\x2cmeta\0\0\0\0\0\0\0\x20iprp\0\0\0\x18ipco\0\0\0\x10ispe\0\0\0\0\0\0\0\x01",
    ),
];

/// Temporary folder with a library of one file, removed when dropped.
struct Home(PathBuf);

impl Home {
    fn library(&self) -> PathBuf {
        self.0.join("library")
    }

    fn put(&self, name: &[u8]) -> PathBuf {
        let library = self.library();
        if library.exists() {
            fs::remove_dir_all(&library).expect("a folder of our own");
        }
        fs::create_dir_all(&library).expect("a folder of our own");
        library.join(Path::new(OsStr::from_bytes(name)))
    }

    fn scan(&self) -> Report {
        let (library, index) = (self.library(), self.0.join("index"));
        let order = ScanRequest {
            root: &library,
            folder: &index,
            hidden: &index,
            splits: &Splits::default(),
            limits: &Limits::default(),
            only: &[],
            full: true,
        };
        let (_, report) = scan(&order, None, &Progress::default()).expect("a readable library");
        report
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("the test made it");
    }
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Runs `what` several times and returns the shortest CPU time.
fn took(mut what: impl FnMut()) -> Duration {
    let attempts = (0..ATTEMPTS).map(|_| {
        let before = cpu_time();
        what();
        cpu_time() - before
    });
    attempts.min().expect("more than none")
}

/// Temporary library of one file, and the maximum CPU time of its scan.
struct Bounds {
    home: Home,
    cpu: Duration,
}

impl Bounds {
    fn new() -> Bounds {
        let name = format!("pelton-odd-{}", std::process::id());
        let bytes = vec![1; tags::Limits::default().read_bytes_max as usize];
        let hash = took(|| {
            black_box(blake3::hash(black_box(&bytes)));
        });
        drop(bytes);
        Bounds {
            home: Home(std::env::temp_dir().join(name)),
            cpu: hash * HASHES_MAX,
        }
    }

    /// Scans the file of the library and checks the limits. Returns the reason why the file cannot
    /// be read, if any.
    fn hold(&self, what: &str) -> Option<String> {
        let limited = MEMORY.set_limit(MEMORY.allocated() + BYTES_MAX);
        limited.expect("more than there is now");
        let mut report = Report::default();
        let mut cpu = took_once(|| report = self.home.scan());
        MEMORY.set_limit(usize::MAX).expect("no limit");
        // Pictures are read twice, once for the size and once for the metadata.
        let limits = tags::Limits::default();
        let reads_max = limits.reads_max + image_plan::PROBE_READS_MAX;
        let bytes_max = limits.read_bytes_max + image_plan::PROBE_BYTES_MAX;
        assert!(report.reads <= reads_max.into(), "{what}: {report:?}");
        assert!(report.bytes <= bytes_max, "{what}: {report:?}");
        if self.cpu < cpu {
            cpu = took(|| report = self.home.scan());
        }
        assert!(cpu <= self.cpu, "{what}: {cpu:?} of {:?}", self.cpu);
        let counts = report.counts.expect("an index");
        let known = counts.tracks + counts.photos + counts.playlists;
        let mut faults = report.faults.into_iter();
        let reason = faults.next().map(|fault| fault.reason);
        assert_eq!(
            (known, faults.len()),
            (u32::from(reason.is_none()), 0),
            "{what}"
        );
        assert!(reason.as_deref() != Some(""), "{what}");
        reason
    }

    fn of_bytes(&self, what: &str, ending: &str, bytes: &[u8]) -> Option<String> {
        let path = self.home.put(format!("odd.{ending}").as_bytes());
        fs::write(path, bytes).expect("a folder of our own");
        self.hold(&format!("{ending}, {what}"))
    }

    /// Scans a sparse file that starts with `bytes`. All other bytes of the file are zero.
    fn enormous(&self, ending: &str, bytes: &[u8]) -> Option<String> {
        let path = self.home.put(format!("odd.{ending}").as_bytes());
        fs::write(&path, bytes).expect("a folder of our own");
        let file = File::options().write(true).open(&path);
        let file = file.expect("a folder of our own");
        file.set_len(ENORMOUS_BYTES)
            .expect("a disk with sparse files");
        self.hold(&format!("{ending}, enormous"))
    }
}

fn took_once(what: impl FnOnce()) -> Duration {
    let before = cpu_time();
    what();
    cpu_time() - before
}

/// Returns files that contain more levels of nested parts, or more empty parts or packets, than any
/// reader accepts.
fn cyclic() -> Vec<(&'static str, Vec<u8>)> {
    let many = 100_000;
    let flac = SOUND[0].1;
    let id3 = b"ID3\x04\0\0\0\0\0\x0aTIT2\0\0\0\0\0\0";
    let box_in_box = |kind: &[u8; 4], within: &[u8; 4]| {
        let mut bytes = [&b"\0\0\0\x10ftyp"[..], kind, b"\0\0\0\0"].concat();
        for depth in (0..20_000_u32).rev() {
            bytes.extend((8 * (depth + 1)).to_be_bytes());
            bytes.extend(within);
        }
        bytes
    };
    let page = b"OggS\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\xff";
    let endless_packet: Vec<u8> = (0..4_000)
        .flat_map(|_| [&page[..], &[0xff; 255]].concat())
        .collect();
    let first_pages = &SOUND[4].1[..58];
    vec![
        ("flac", [&flac[..42], &b"\x01\0\0\0".repeat(many)].concat()),
        ("mp3", id3.repeat(many / 10)),
        ("mp3", b"\xff\xfb\x10\xc4".repeat(many)),
        ("m4a", box_in_box(b"M4A ", b"moov")),
        (
            "m4a",
            [&b"\0\0\0\x08ftyp"[..], &b"\0\0\0\x08moov".repeat(many)].concat(),
        ),
        ("ogg", SOUND[4].1[..58].repeat(many / 50)),
        ("ogg", [first_pages, &endless_packet].concat()),
        ("opus", [&SOUND[5].1[..47], &endless_packet].concat()),
        (
            "wav",
            [
                &b"RIFF\xff\xff\xff\xffWAVE"[..],
                &b"LIST\0\0\0\0".repeat(many),
            ]
            .concat(),
        ),
        (
            "aiff",
            [
                &b"FORM\x7f\xff\xff\xffAIFF"[..],
                &b"NAME\0\0\0\0".repeat(many),
            ]
            .concat(),
        ),
        (
            "png",
            [&PICTURES[0].1[..33], &b"\0\0\0\0tEXt\0\0\0\0".repeat(many)].concat(),
        ),
        (
            "jpg",
            [&b"\xff\xd8"[..], &b"\xff\xe1\0\x02".repeat(many)].concat(),
        ),
        (
            "webp",
            [
                &b"RIFF\xff\xff\xff\x7fWEBP"[..],
                &b"EXIF\0\0\0\0".repeat(many),
            ]
            .concat(),
        ),
        ("avif", box_in_box(b"avif", b"meta")),
        ("heic", box_in_box(b"heic", b"iprp")),
        ("m3u", b"a\n".repeat(1_000_000)),
        ("m3u8", "\u{feff}#EXTINF:0,\n".repeat(200_000).into_bytes()),
    ]
}

#[test]
fn no_file_takes_more_than_its_share_and_each_is_reported() {
    let bounds = Bounds::new();
    for (ending, file) in SOUND.into_iter().chain(PICTURES) {
        for (what, bytes) in [
            ("empty", Vec::new()),
            ("text", b"Buy milk.\n".repeat(100)),
            ("zeros", vec![0; 1 << 20]),
            ("ones", vec![0xff; 1 << 20]),
        ] {
            let reason = bounds.of_bytes(what, ending, &bytes);
            assert!(reason.is_some(), "{ending}, {what}: nothing was wrong");
        }
        for cut in [1, 4, 12, 40, 100, file.len() / 2, file.len() - 1] {
            bounds.of_bytes("cut", ending, &file[..cut.min(file.len())]);
        }
        // Scans copies of the file. In each copy, four bytes at another offset are set to the
        // largest number. Some of these bytes are a length field.
        for at in (0..file.len().min(132) - 4).step_by(4) {
            let mut lying = file.to_vec();
            lying[at..at + 4].fill(0xff);
            bounds.of_bytes("lying", ending, &lying);
        }
        bounds.of_bytes("repeated", ending, &file.repeat((1 << 20) / file.len()));
        bounds.enormous(ending, file);
        bounds.enormous(ending, &file[..file.len() / 2]);
    }
    for (ending, bytes) in cyclic() {
        bounds.of_bytes("cyclic", ending, &bytes);
    }
    let reason = bounds.enormous("m3u", b"#EXTM3U\n");
    assert!(reason.is_some(), "an enormous playlist");
    for (ending, file) in SOUND {
        let path = bounds
            .home
            .put(&[b"01 \xff\xfe \xc3.", ending.as_bytes()].concat());
        fs::write(path, file).expect("a folder of our own");
        let reason = bounds.hold(&format!("{ending}, with a name that is no text"));
        assert_eq!(reason, None, "{ending}");
    }
}
