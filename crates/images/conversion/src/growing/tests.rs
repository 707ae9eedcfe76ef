use std::fs::File;
use std::future::poll_fn;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use audio_plan::{Codec, Gain, Plan};
use reactor::Ended;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use super::{Growing, Pieces};

/// Opus file of three Ogg pages, written by `opusenc`.
const OPUS: &[u8] = include_bytes!("../../../../library/tags/testdata/sine.opus");

/// Returns a memory file of 1 MiB without data, as a worker gets it, and the [`Growing`] that reads
/// from this file.
fn answer() -> (File, Growing) {
    let file = memfd_create("answer", MemfdFlags::CLOEXEC).expect("memory");
    ftruncate(&file, 1 << 20).expect("room");
    let file = File::from(file);
    let plan = Plan {
        codec: Codec::Flac,
        channels: OPUS[37],
        bit_rate_bps: 64_000,
        start_ms: 0,
        duration_ms: 1_000,
        gain: Gain::default(),
        title: String::new(),
        artist: String::new(),
        album: String::new(),
    };
    let growing = Growing::new(file.try_clone().expect("a descriptor"), &plan);
    (file, growing.expect("memory"))
}

fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime.expect("a runtime"), future)
}

/// Returns the end offset of each page of `OPUS`.
fn ends() -> Vec<u64> {
    let begins = OPUS.windows(5).enumerate();
    let begins = begins.filter(|(_, bytes)| bytes == b"OggS\0");
    let mut ends: Vec<u64> = begins.skip(1).map(|(at, _)| at as u64).collect();
    ends.push(OPUS.len() as u64);
    ends
}

#[test]
fn only_complete_pages_are_sent() {
    let (file, growing) = answer();
    assert_eq!(growing.check_progress(), 0);
    for (at, byte) in OPUS.iter().enumerate() {
        file.write_all_at(&[*byte], at as u64).expect("memory");
        let written = at as u64 + 1;
        let whole = ends().into_iter().rfind(|end| *end <= written);
        let believed = growing.check_progress();
        // Unwritten bytes of the memory file read as zeros. So a page that ends with zeros is
        // accepted before these zeros are written.
        let zeros = OPUS[at + 1..].iter().take_while(|byte| **byte == 0).count() as u64;
        let early = ends().into_iter().rfind(|end| *end <= written + zeros);
        assert!(
            [whole, early].contains(&Some(believed).filter(|it| *it != 0)),
            "{written}: {believed}"
        );
    }
    growing.end(Some(OPUS.len() as u64));
    assert_eq!(growing.check_progress(), OPUS.len() as u64);
}

#[test]
fn an_invalid_page_is_never_sent() {
    let (file, growing) = answer();
    let first = ends()[0] as usize;
    let mut bytes = OPUS.to_vec();
    bytes[first + 40] ^= 1;
    file.write_all_at(&bytes, 0).expect("memory");
    assert_eq!(growing.check_progress(), first as u64);
    assert_eq!(growing.check_progress(), first as u64);
}

#[test]
fn changes_after_the_check_are_not_sent() {
    let (file, growing) = answer();
    let first = ends()[0] as usize;
    file.write_all_at(&OPUS[..first], 0).expect("memory");
    assert_eq!(growing.check_progress(), first as u64);
    file.write_all_at(&vec![b'x'; first], 0).expect("memory");
    let mut pieces = Pieces::new(Arc::new(growing));
    let next = run(poll_fn(|context| pieces.poll_next(1 << 20, context)));
    assert_eq!(
        next.expect("what is there"),
        (OPUS[..first].to_vec(), false)
    );
}

#[test]
fn a_client_receives_the_whole_track() {
    let (file, growing) = answer();
    let growing = Arc::new(growing);
    let writer = {
        let growing = Arc::clone(&growing);
        async move {
            for (at, part) in OPUS.chunks(100).enumerate() {
                file.write_all_at(part, at as u64 * 100).expect("memory");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            growing.end(Some(OPUS.len() as u64));
        }
    };
    let reader = async {
        let (mut pieces, mut got) = (Pieces::new(Arc::clone(&growing)), Vec::new());
        loop {
            let next = poll_fn(|context| pieces.poll_next(333, context)).await;
            let (piece, is_last) = next.expect("it comes to its end");
            assert!(piece.len() <= 333);
            got.extend(piece);
            if is_last {
                return got;
            }
        }
    };
    let got = run(async {
        let writing = tokio::task::spawn_local(writer);
        let got = reader.await;
        writing.await.expect("no panic");
        got
    });
    assert_eq!(got, OPUS);
}

#[test]
fn a_failed_track_ends_with_an_error() {
    for end in [None, Some(1)] {
        let (file, growing) = answer();
        let first = ends()[0] as usize;
        file.write_all_at(&OPUS[..first], 0).expect("memory");
        let growing = Arc::new(growing);
        let mut pieces = Pieces::new(Arc::clone(&growing));
        let next = run(poll_fn(|context| pieces.poll_next(1 << 20, context)));
        let (piece, is_last) = next.expect("what is there");
        assert_eq!((&piece[..], is_last), (&OPUS[..first], false));
        growing.end(end);
        let ended = run(poll_fn(|context| pieces.poll_next(1 << 20, context)));
        assert!(matches!(ended, Err(Ended::File(_))), "{ended:?}");
    }
}
