//! Words, beginnings of words, accents, and what comes first.

use super::{music, open};
use crate::{Catalog, Entry, Limits, fold};
use expect_test::{Expect, expect};
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
