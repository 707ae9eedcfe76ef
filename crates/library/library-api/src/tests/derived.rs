use std::sync::Arc;

use catalog::{Catalog, Entry, build};
use tags::{Field, Splits};

use super::scene::music;
use crate::derived::Derived;

const NOW_MS: i64 = 1_800_000_000_000;

/// Returns a music file of an album, with these times of modification and creation.
fn album(number: u64, title: &str, changed_ms: i64, born_ms: i64) -> Entry {
    let mut entry = music(number, &format!("{title}/1.flac"), &[(Field::Album, title)]);
    (entry.stat.mtime_ns, entry.stat.born_ns) = (changed_ms * 1_000_000, born_ms * 1_000_000);
    entry
}

#[test]
fn a_file_from_the_future_is_as_new_as_it_was_made() {
    let year_ms = 31_556_952_000;
    let library = vec![
        album(1, "Old", NOW_MS - 2 * year_ms, 0),
        album(2, "New", NOW_MS - 1_000, 0),
        album(3, "Ahead", NOW_MS + 86_400_000, 0),
        album(4, "2096", NOW_MS + 70 * year_ms, NOW_MS - year_ms),
        album(5, "2097", NOW_MS + 71 * year_ms, 0),
        album(6, "2098", NOW_MS + 72 * year_ms, NOW_MS + year_ms),
    ];
    let index = Catalog::open(build(library, &Splits::default()).into()).expect("an index");
    let derived = Derived::new(&Arc::new(index), NOW_MS);
    let newest = derived.newest.iter().map(|&row| {
        let album = derived.index.album(row).expect("a row that was counted");
        let age_ms = NOW_MS - derived.album_ms[row as usize];
        format!("{}: {}", album.title, age_ms / year_ms)
    });
    assert_eq!(
        newest.collect::<Vec<_>>(),
        [
            "Ahead: 0", "New: 0", "2096: 1", "Old: 2", "2097: 57", "2098: 57"
        ]
    );
    assert_eq!(derived.changed_ms, NOW_MS);
}
