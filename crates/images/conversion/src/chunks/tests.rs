use std::fs::File;
use std::future::poll_fn;
use std::io::Write;
use std::task::Poll;

use super::{CHUNK_BYTES, Chunks};

/// If the caller reduces `bytes_max` while a read from the disk is in progress, the next piece has
/// at most the reduced number of bytes.
#[test]
fn no_piece_is_larger_than_wanted() {
    let name = format!("origin-chunks-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let written: Vec<u8> = (0..50_000_u32).map(|number| (number / 7) as u8).collect();
    let mut file = File::create_new(&path).expect("a name of our own");
    file.write_all(&written).expect("there is room");
    let file = File::open(&path).expect("just written");
    std::fs::remove_file(&path).expect("just written");
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime").block_on(async {
        let mut chunks = Chunks::new(0..written.len() as u64);
        let mut read = Vec::new();
        for number in 0.. {
            // Before every other call, simulates a read in progress that was started for a whole
            // chunk.
            if number % 2 == 0 && chunks.rest.is_empty() && !chunks.left.is_empty() {
                let (part, offset) = (file.try_clone().expect("a descriptor"), chunks.left.start);
                let bytes = CHUNK_BYTES.min(chunks.left() as usize);
                chunks.reading = Some(tokio::task::spawn_blocking(move || {
                    let mut chunk = vec![0; bytes];
                    std::os::unix::fs::FileExt::read_exact_at(&part, &mut chunk, offset)?;
                    Ok(chunk)
                }));
            }
            let bytes_max = 1 + number * 997 % 9_000;
            let left = chunks.left();
            let chunk = poll_fn(
                |context| match chunks.poll_next(&file, bytes_max, context) {
                    Poll::Ready(chunk) => Poll::Ready(chunk.expect("the disk is sound")),
                    Poll::Pending => Poll::Pending,
                },
            );
            let Some(chunk) = chunk.await else { break };
            assert!(!chunk.is_empty() && chunk.len() <= bytes_max);
            read.extend_from_slice(&chunk);
            assert_eq!(chunks.left(), left - chunk.len() as u64);
        }
        assert!(read == written);
    });
}
