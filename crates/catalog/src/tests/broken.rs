//! Indexes that are cut, changed, or made to lie.

use super::{library, shown};
use crate::layout::{HASH, HEAD_BYTES};
use crate::{Catalog, Limits, OpenError, build};
use proptest::prelude::*;
use std::hint::black_box;
use tags::Splits;

fn index() -> Vec<u8> {
    build(library(), &Splits::default())
}

#[test]
fn a_cut_or_changed_index_is_refused() {
    let whole = index();
    for cut in 0..whole.len() {
        assert!(Catalog::open(&whole[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        let expected = match at {
            0..8 => OpenError::NotAnIndex,
            8..16 => OpenError::OtherVersion,
            _ => OpenError::Damaged,
        };
        assert_eq!(Catalog::open(changed).err(), Some(expected), "byte {at}");
    }
}

proptest! {
    /// Whoever can compute the checksum can write anything; it gives wrong answers, and no panic.
    #[test]
    fn a_lying_index_is_harmless(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = index();
        for (at, byte) in edits {
            let at = HEAD_BYTES + at.index(bytes.len() - HEAD_BYTES);
            bytes[at] = byte;
        }
        let hash = blake3::hash(&bytes[HEAD_BYTES..]);
        bytes[HASH].copy_from_slice(&hash.as_bytes()[..HASH.len()]);
        if let Ok(catalog) = Catalog::open(bytes) {
            for row in 0..catalog.counts().files {
                black_box(catalog.entry(row));
            }
            for row in 0..catalog.counts().tracks {
                black_box(catalog.track(row));
            }
            for row in 0..catalog.counts().albums {
                black_box(catalog.album(row));
            }
            for row in 0..catalog.counts().playlists {
                black_box(catalog.playlist(row));
            }
            black_box(catalog.missing().count());
            for row in 0..catalog.counts().artists {
                black_box(catalog.artist(row));
            }
            black_box(catalog.search("b", &Limits::default()));
        }
    }
}

#[test]
fn an_empty_library_is_one() {
    let catalog =
        Catalog::open(build(Vec::new(), &Splits::default())).expect("what was just built");
    assert!(shown(&catalog).starts_with("Counts { files: 0, tracks: 0"));
    assert_eq!(
        catalog.search("a", &Limits::default()),
        crate::Found::default()
    );
}
