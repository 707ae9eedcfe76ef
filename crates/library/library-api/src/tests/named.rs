use std::sync::Arc;

use catalog::{Catalog, build};
use tags::{Field, Splits};

use super::scene::music;
use crate::derived::Derived;
use crate::index::Index;
use crate::named;

fn index(songs: &[(&str, &str)]) -> Arc<Index> {
    let entries = (1..).zip(songs).map(|(number, &(artist, title))| {
        let fields = [(Field::Artist, artist), (Field::Title, title)];
        music(number, &format!("{number}.flac"), &fields)
    });
    let bytes = build(entries.collect(), &Splits::default());
    Arc::new(Catalog::open(bytes.into()).expect("an index"))
}

#[test]
fn the_song_that_is_written_so_comes_first() {
    let index = index(&[
        ("A", "C"),
        ("A+", "C++"),
        ("A+", "C"),
        ("!!!", "÷"),
        ("???", "÷"),
        ("Björk feat. Guest", "Jóga"),
    ]);
    let song = |artist: &str, title: &str| {
        let track = index.track(named::song(&index, title, artist)?)?;
        Some(format!("{}: {}", track.artist, track.title))
    };
    for (artist, title, expected) in [
        ("A", "C", "A: C"),
        ("a+", "c++", "A+: C++"),
        ("A+", "C", "A+: C"),
        ("", "C++", "A+: C++"),
        ("!!!", "÷", "!!!: ÷"),
        ("???", "÷", "???: ÷"),
        ("guest", "JO\u{301}GA", "Björk feat. Guest: Jóga"),
        ("bjork", "joga", "Björk feat. Guest: Jóga"),
    ] {
        assert_eq!(
            song(artist, title).as_deref(),
            Some(expected),
            "{artist}, {title}"
        );
    }
    assert_eq!(song("¿¿¿", "÷"), None);
    assert_eq!(song("B", "C"), None);
}

#[test]
fn an_artist_is_the_one_who_is_written_so_or_one_alike() {
    let index = index(&[("A", "1"), ("A+", "2"), ("!!!", "3"), ("Björk", "4")]);
    let derived = Derived::new(&index, 1);
    let artist = |name: &str| {
        let row = named::artist(&index, &derived, name)?;
        Some(index.artist(row)?.name.to_owned())
    };
    for (name, expected) in [("a", "A"), ("A+", "A+"), ("!!!", "!!!"), ("bjork", "Björk")] {
        assert_eq!(artist(name).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(artist("???"), None);
}
