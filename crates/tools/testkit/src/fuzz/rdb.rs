//! Fuzz target for snapshots of the store.

use bytes::BytesMut;
use keyspace::rdb::{Error, LoadOptions, Loader, Options};
use keyspace::{Keyspace, Limits};

/// Current time for the loader. Most expiry times in the corpus are later.
const NOW_MS: u64 = 1_000;

/// Checks `bytes` as a snapshot: either the snapshot is refused with an error at an offset within
/// it, or it is loaded, and the loaded keyspace can be written and loaded again.
pub fn rdb(bytes: &[u8]) {
    let (first, ended) = match load(bytes) {
        Ok(loaded) => loaded,
        Err(error) => return assert!(error.offset <= bytes.len() as u64, "{error}"),
    };
    if !ended {
        return;
    }
    let (mut keyspace, keys) = (first, 0..Limits::default().databases);
    let counts: Vec<_> = keys.map(|db| keyspace.db_figures(db, NOW_MS).0).collect();
    let started = keyspace.start_snapshot(Options {
        version: 10,
        compress: true,
        aof_base: false,
        now_ms: NOW_MS,
    });
    assert!(started, "no other snapshot is in progress");
    let mut written = Vec::new();
    while !keyspace.write_snapshot_part(1024, &mut written) {}
    let (again, ended) = load(&written).expect("a written snapshot is valid");
    assert!(ended, "a written snapshot is complete");
    for (db, count) in counts.into_iter().enumerate() {
        assert_eq!(again.db_figures(db, NOW_MS).0, count);
    }
}

/// Returns the keyspace in the snapshot, and whether the snapshot is complete.
fn load(bytes: &[u8]) -> Result<(Keyspace, bool), Error> {
    let mut keyspace = Keyspace::new(Limits::default(), 7);
    let mut loader = Loader::new(LoadOptions {
        now_ms: NOW_MS,
        // The checksum is ignored, because a fuzzer would never find a valid one.
        check_crc: false,
        skip_expired: false,
    });
    let ended = loader.feed(&mut keyspace, &mut BytesMut::from(bytes))?;
    Ok((keyspace, ended))
}
