//! Tests of indexes that are truncated, modified or forged.

use super::{library, music, shown};
use crate::layout::{BODY_START, HASH, HEAD_BYTES, SECTIONS};
use crate::sums;
use crate::{Catalog, Limits, OpenError, build};
use proptest::prelude::*;
use std::hint::black_box;
use tags::{Field, Splits};

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

/// Updates the checksums and the hash of a modified index. Does nothing if the section of the
/// checksums is invalid.
fn seal(bytes: &mut [u8]) {
    let at = HEAD_BYTES + 16 * (SECTIONS - 1);
    let stored = u64::from_le_bytes(*bytes[at..].first_chunk().expect("a table"));
    let end = usize::try_from(stored).unwrap_or(usize::MAX);
    let Some(body) = bytes.get(BODY_START..end) else {
        return;
    };
    let sums = sums::all(body);
    let Some(place) = bytes.get_mut(end..end + sums.len()) else {
        return;
    };
    place.copy_from_slice(&sums);
    let hash = sums::hash(bytes, &sums);
    bytes[HASH].copy_from_slice(&hash);
}

#[test]
fn every_block_of_a_large_index_is_checked() {
    let songs = (1..20_000).map(|number| {
        let title = format!("Song {number}");
        let album = format!("Album {}", number / 10);
        let fields = [(Field::Title, &title[..]), (Field::Album, &album)];
        music(number, &format!("{album}/{title}.flac"), &fields)
    });
    let whole = build(songs.collect(), &Splits::default());
    let mut asked = Vec::new();
    let opened = Catalog::open_by(&whole[..], |count, is_whole| {
        asked.extend(0..count);
        (0..count).all(is_whole)
    });
    assert!(opened.is_ok() && 3 < asked.len());
    for block in asked {
        let mut changed = whole.clone();
        changed[BODY_START + (block << 20)] ^= 1;
        let opened = Catalog::open_by(&changed[..], |count, is_whole| {
            let damaged: Vec<usize> = (0..count).filter(|number| !is_whole(*number)).collect();
            assert_eq!(damaged, [block]);
            damaged.is_empty()
        });
        assert_eq!(opened.err(), Some(OpenError::Damaged));
    }
}

proptest! {
    /// An attacker can forge an index by updating its checksums. A forged index may give wrong
    /// results, but causes no panic.
    #[test]
    fn a_lying_index_is_harmless(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
    ) {
        let mut bytes = index();
        for (at, byte) in edits {
            let at = HEAD_BYTES + at.index(bytes.len() - HEAD_BYTES);
            bytes[at] = byte;
        }
        seal(&mut bytes);
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
