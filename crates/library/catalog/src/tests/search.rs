//! Tests of search: whole words, beginnings of words, accents and ranking.

use super::{music, open};
use crate::{Catalog, Entry, Limits, fold};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use tags::Field::{Album, AlbumArtist, Artist, Title};

fn library() -> Vec<Entry> {
    vec![
        music(
            1,
            "1",
            &[(Title, "Jóga"), (Artist, "Björk"), (Album, "Homogenic")],
        ),
        music(
            2,
            "2",
            &[(Title, "Home"), (Artist, "Depeche Mode"), (Album, "Ultra")],
        ),
        music(
            3,
            "3",
            &[
                (Title, "Going Home Again"),
                (Artist, "Guest"),
                (AlbumArtist, "Various"),
                (Album, "Mix"),
            ],
        ),
        music(
            4,
            "4",
            &[(Title, "夜の音楽"), (Artist, "Orchestra"), (Album, "Night")],
        ),
        music(
            5,
            "5",
            &[(Title, "Don't Stop"), (Artist, "Straße"), (Album, "Ærø")],
        ),
    ]
}

fn check(catalog: &Catalog<Vec<u8>>, query: &str, expected: Expect) {
    let found = catalog.search(query, &Limits::default());
    let names = |rows: &[u32], name: &dyn Fn(u32) -> String| {
        let names: Vec<String> = rows.iter().map(|&row| name(row)).collect();
        names.join(", ")
    };
    expected.assert_eq(&format!(
        "{} | {} | {}",
        names(&found.artists, &|row| catalog
            .artist(row)
            .expect("found")
            .name
            .to_owned()),
        names(&found.albums, &|row| catalog
            .album(row)
            .expect("found")
            .title
            .to_owned()),
        names(&found.tracks, &|row| catalog
            .track(row)
            .expect("found")
            .title
            .to_owned()),
    ));
}

#[test]
fn queries() {
    let catalog = open(library());
    check(&catalog, "bjork", expect!["Björk | Homogenic | "]);
    check(&catalog, "BJÖ", expect!["Björk | Homogenic | "]);
    check(&catalog, "home", expect![" |  | Home, Going Home Again"]);
    check(
        &catalog,
        "hom",
        expect![" | Homogenic | Home, Going Home Again"],
    );
    check(&catalog, "again ho", expect![" |  | Going Home Again"]);
    check(&catalog, "guest home", expect![" |  | Going Home Again"]);
    check(&catalog, "音楽", expect![" |  | 夜の音楽"]);
    check(&catalog, "strasse", expect!["Straße | Ærø | "]);
    check(&catalog, "aero", expect![" | Ærø | "]);
    check(&catalog, "dont", expect![" |  | Don't Stop"]);
    // Words of the title find a track, also together with its artist. Words of the artist and of
    // the album find only the album.
    check(&catalog, "home depeche", expect![" |  | Home"]);
    check(&catalog, "joga bjork homo", expect![" |  | Jóga"]);
    check(&catalog, "depeche ultra", expect![" | Ultra | "]);
    check(&catalog, "joga depeche", expect![" |  | "]);
    check(&catalog, "nothing at all", expect![" |  | "]);
    check(&catalog, "", expect![" |  | "]);
    check(&catalog, "\u{301} -- !", expect![" |  | "]);
}

#[test]
fn folding() {
    assert_eq!(fold("  Ünïted—Náțions (Live) "), "united nations live");
    assert_eq!(fold("Cafe\u{301}"), "cafe");
    assert_eq!(fold("ＡＢＣ ½"), "abc 1 2");
    assert_eq!(fold("İstanbul ISTANBUL"), "istanbul istanbul");
    assert_eq!(fold("!!!"), "");
}

#[test]
fn a_search_is_bounded() {
    let entries = (0..300).map(|number| {
        let path = number.to_string();
        music(
            number,
            &path,
            &[(Title, "Same"), (Artist, "Same"), (Album, &path)],
        )
    });
    let catalog = open(entries.collect());
    let limits = Limits {
        candidates_max: 40,
        found_max: 10,
        ..Limits::default()
    };
    let found = catalog.search("s", &limits);
    assert_eq!((found.artists.len(), found.tracks.len()), (1, 10));
}

/// Computes the best score of a word in a text, as documented at `Fact::score`, without an index.
/// `more` is the bonus for words in titles.
fn fit(text: &str, want: &str, more: u32) -> Option<u32> {
    let fitting = (0_u32..)
        .zip(text.split(' '))
        .filter(|(_, word)| word.starts_with(want));
    let scores = fitting.map(|(place, word)| {
        let (whole, part) = (word.len() as u32, want.len() as u32);
        let share = if whole == part { 60 } else { 30 * part / whole };
        share + 10_u32.saturating_sub(place) + more
    });
    scores.max()
}

/// Computes the score of an object with this title and these other names, without an index. Returns
/// `None` if its names lack a word of `wanted`.
fn naive(title: &str, others: &str, wanted: &[&str]) -> Option<u32> {
    let mut score = 0;
    for want in wanted {
        score += fit(title, want, 40).max(fit(others, want, 0))?;
    }
    let is_name = wanted.len() == title.split(' ').count()
        && wanted
            .iter()
            .all(|want| title.split(' ').any(|word| word == *want));
    Some(score * 100 + if is_name { 100_000 } else { 0 } + 99 - title.len() as u32)
}

/// Computes the score of a track without an index. The title of the track has some words of
/// `wanted`, and the title or artist of its album has the others. Returns `None` if a word is
/// missing, or if the track's title has none of the words.
fn naive_with_album(title: &str, album: &str, artist: &str, wanted: &[&str]) -> Option<u32> {
    let own = wanted.iter().map(|want| fit(title, want, 40));
    let own: Vec<Option<u32>> = own.collect();
    let helped = |want: &&str| fit(album, want, 0).or(fit(artist, want, 0)).is_some();
    let mut both = own.iter().zip(wanted);
    let has_all = both.all(|(own, want)| own.is_some() || helped(want));
    let score: u32 = own.iter().flatten().sum();
    (has_all && 0 < score).then(|| score * 100 + 99 - title.len() as u32)
}

proptest! {
    #[test]
    fn a_search_finds_what_comparing_everything_finds(
        songs in prop::collection::vec((words(1..4), words(1..3), words(1..3)), 1..60),
        query in words(1..4), cut in 1..4_usize, found_max in 1..8_usize, candidates_max in 1..3_usize,
    ) {
        let number = 0..;
        let entries = number.zip(&songs).map(|(number, (title, album, artist))| {
            let tags = [(Title, &**title), (Album, album), (Artist, artist), (AlbumArtist, artist)];
            music(number, &number.to_string(), &tags)
        });
        let catalog = open(entries.collect());
        let mut wanted: Vec<&str> = query.split(' ').collect();
        if let Some(last) = wanted.last_mut() {
            *last = &last[..cut.min(last.len())];
        }
        // With 200, the rarest word may have more occurrences than `candidates_max`; the search
        // then checks the other words before it collects candidates. Both 200 and 10,000 exceed the
        // number of matches.
        let candidates_max = if candidates_max == 1 { 200 } else { 10_000 };
        let limits = Limits { found_max, candidates_max, ..Limits::default() };
        let found = catalog.search(&wanted.join(" "), &limits);
        let counts = catalog.counts();
        let best = |rows: u32, score: &dyn Fn(u32) -> Option<u32>| {
            let scored = (0..rows).filter_map(|row| Some((std::cmp::Reverse(score(row)?), row)));
            let mut scored: Vec<_> = scored.collect();
            scored.sort_unstable();
            scored.truncate(found_max);
            scored.into_iter().map(|(_, row)| row).collect::<Vec<u32>>()
        };
        let artists = best(counts.artists, &|row| {
            naive(catalog.artist(row).expect("a row").name, "", &wanted)
        });
        let albums = best(counts.albums, &|row| {
            let album = catalog.album(row).expect("a row");
            naive(album.title, album.artist, &wanted)
        });
        let title = |row| catalog.track(row).expect("a row").title;
        let mut tracks = best(counts.tracks, &|row| naive(title(row), "", &wanted));
        if tracks.is_empty() {
            tracks = best(counts.tracks, &|row| {
                let album = catalog.track(row).expect("a row").album;
                let album = catalog.album(album).expect("a row");
                naive_with_album(title(row), album.title, album.artist, &wanted)
            });
        }
        prop_assert_eq!(found.artists, artists);
        prop_assert_eq!(found.albums, albums);
        prop_assert_eq!(found.tracks, tracks);
    }
}

/// Generates texts in which many words begin with the same letters.
fn words(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec("[ab][abc]{0,3}", count).prop_map(|words| words.join(" "))
}

#[test]
fn signs_are_found_where_a_name_has_nothing_else_and_words_that_they_part() {
    let named = |number, name: &'static str| {
        let path = ["1", "2", "3", "4", "5"][number as usize - 1];
        music(
            number,
            path,
            &[(Title, "Song"), (Artist, name), (Album, "Album")],
        )
    };
    let names = ["!!!", "÷", "AC/DC", "R.E.M.", "방탄소년단"];
    let entries = (1..).zip(names).map(|(number, name)| named(number, name));
    let catalog = open(entries.collect());
    for (query, name) in [
        ("!!!", "!!!"),
        ("!", "!!!"),
        ("÷", "÷"),
        ("acdc", "AC/DC"),
        ("AC DC", "AC/DC"),
        ("ac/dc", "AC/DC"),
        ("rem", "R.E.M."),
        ("방탄", "방탄소년단"),
    ] {
        let found = catalog.search(query, &Limits::default()).artists;
        let found = found
            .iter()
            .filter_map(|&row| Some(catalog.artist(row)?.name));
        assert_eq!(found.collect::<Vec<_>>(), [name], "{query}");
    }
    assert_eq!(catalog.search("¿", &Limits::default()), Default::default());
}

#[test]
fn composers_and_conductors_are_found_with_the_albums_they_are_on() {
    use tags::Field::{Composer, Conductor};
    let catalog = open(vec![music(
        1,
        "1",
        &[
            (Title, "Aria"),
            (Artist, "Glenn Gould"),
            (Album, "Goldberg"),
            (Composer, "Johann Sebastian Bach"),
            (Conductor, "Bruno Walter"),
        ],
    )]);
    for (name, role) in [
        ("bach", tags::Role::Composer),
        ("walter", tags::Role::Conductor),
    ] {
        let found = catalog.search(name, &Limits::default());
        let [row] = found.artists[..] else {
            panic!("{name}: {found:?}");
        };
        let artist = catalog.artist(row).expect("it was found");
        assert_eq!((&artist.albums[..], artist.tracks), (&[0][..], 1), "{name}");
        assert!(artist.has_role(role) && !artist.has_role(tags::Role::Artist));
    }
    let album = catalog.album(0).expect("the only one");
    assert_eq!(
        album.artists.len(),
        1,
        "and still the album is Gould's alone"
    );
}
