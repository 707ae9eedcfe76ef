use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;

use reactor::Ended;
use variants::library::{Library, Mount};

use super::{Archive, ArchiveFile, Crc};
use crate::problem::Problem;

/// Library in a temporary folder, which is removed on drop.
struct TestLibrary(PathBuf, Arc<Library>);

impl TestLibrary {
    fn new(name: &str, files: &[(&str, &[u8])]) -> TestLibrary {
        let name = format!("pelton-archive-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("a folder of our own");
        for (name, bytes) in files {
            std::fs::write(directory.join(name), bytes).expect("a folder of our own");
        }
        let root = Mount {
            prefix: String::new(),
            directory: directory.clone(),
            is_internal: false,
        };
        let library = Library::open(&[root], &directory.join("none")).expect("a folder");
        TestLibrary(directory, Arc::new(library))
    }

    fn plan(&self, wanted: &[(&str, &str)]) -> Result<Archive, Problem> {
        let wanted = wanted.iter().map(|(path, name)| ArchiveFile {
            path: (*path).to_owned(),
            name: (*name).to_owned(),
        });
        Archive::plan(&self.1, wanted.collect())
    }
}

impl Drop for TestLibrary {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("it was made");
    }
}

/// Returns the whole archive, read in pieces of at most `bytes_max` bytes.
fn send(mut archive: Archive, bytes_max: usize) -> Result<Vec<u8>, Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        let (mut all, length) = (Vec::new(), archive.left());
        loop {
            let piece = poll_fn(|context| archive.poll_next(bytes_max, context)).await?;
            if piece.is_empty() {
                assert_eq!(
                    all.len() as u64,
                    length,
                    "the length that stood in the head"
                );
                return Ok(all);
            }
            assert!(piece.len() <= bytes_max);
            all.extend(piece);
            assert_eq!(archive.left(), length - all.len() as u64);
        }
    })
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> usize {
    let mut number = [0; 8];
    number[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(number) as usize
}

/// Parses an archive by its directory, and returns the names and contents of its members. Panics if
/// a local header contradicts the directory or a checksum is wrong.
fn read(zip: &[u8]) -> Vec<(String, Vec<u8>)> {
    let end = zip.len() - 22;
    assert_eq!(&zip[end..end + 4], b"PK\x05\x06");
    let mut at = number::<4>(zip, end + 16);
    assert_eq!(
        at + number::<4>(zip, end + 12),
        end,
        "the directory ends here"
    );
    let mut members = Vec::new();
    for _ in 0..number::<2>(zip, end + 10) {
        assert_eq!(&zip[at..at + 4], b"PK\x01\x02");
        let (bytes, name_bytes) = (number::<4>(zip, at + 24), number::<2>(zip, at + 28));
        let local = number::<4>(zip, at + 42);
        assert_eq!(&zip[local..local + 4], b"PK\x03\x04");
        assert_eq!(zip[local + 4..local + 30], zip[at + 6..at + 32]);
        let name = &zip[at + 46..][..name_bytes];
        assert_eq!(&zip[local + 30..][..name_bytes], name);
        let body = &zip[local + 30 + name_bytes..][..bytes];
        let mut crc = Crc::new();
        crc.add(body);
        assert_eq!(crc.end() as usize, number::<4>(zip, at + 16));
        let name = String::from_utf8(name.to_vec()).expect("UTF-8");
        members.push((name, body.to_vec()));
        at += 46 + name_bytes;
    }
    members
}

#[test]
fn the_sum_is_that_of_the_standard() {
    let mut crc = Crc::new();
    crc.add(b"1234");
    crc.add(b"56789");
    assert_eq!(crc.end(), 0xcbf4_3926);
}

#[test]
fn files_come_out_as_they_are_in_pieces_of_any_size() {
    let large: Vec<u8> = (0..100_000_u32)
        .map(|at| (at.wrapping_mul(at) >> 5) as u8)
        .collect();
    let test_library = TestLibrary::new("whole", &[("a", b"first"), ("b c", b""), ("d", &large)]);
    let wanted = [("/a", "Disc 1/ä.flac"), ("/b%20c", "empty"), ("/d", "d")];
    let whole = send(test_library.plan(&wanted).expect("they are there"), 1 << 20);
    let whole = whole.expect("nothing changes");
    let read = read(&whole);
    let expected = [
        ("Disc 1/ä.flac", &b"first"[..]),
        ("empty", b""),
        ("d", &large),
    ];
    let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
    assert_eq!(read, expected);
    for bytes_max in [1_000, 16 << 10] {
        let again = send(
            test_library.plan(&wanted).expect("they are there"),
            bytes_max,
        );
        assert!(again.expect("nothing changes") == whole, "{bytes_max}");
    }
}

#[test]
fn a_file_that_changes_ends_it() {
    let test_library = TestLibrary::new("changed", &[("a", b"first"), ("b", b"second")]);
    let missing = test_library.plan(&[("/a", "a"), ("/none", "b")]);
    assert!(matches!(missing, Err(Problem::NotFound)));
    let archive = test_library
        .plan(&[("/a", "a"), ("/b", "b")])
        .expect("both are there");
    std::fs::write(test_library.0.join("b"), b"longer than before").expect("a folder of our own");
    assert!(matches!(send(archive, 1 << 20), Err(Ended::File(_))));
}

#[test]
fn more_than_the_format_holds_is_refused() {
    let test_library = TestLibrary::new("large", &[("a", b"")]);
    let file = std::fs::File::create(test_library.0.join("a")).expect("a folder of our own");
    file.set_len(3 << 30).expect("a file with a hole");
    test_library.plan(&[("/a", "a")]).expect("3 GiB fit");
    for wanted in [vec![("/a", "a"); 2], vec![("/none", "a"); 5_000]] {
        assert!(matches!(
            test_library.plan(&wanted),
            Err(Problem::ArchiveTooLarge)
        ));
    }
}
