use expect_test::{Expect, expect};

use super::{music, photo};
use crate::{Catalog, Content, CoverOwner, CoverRules, Entry, Source, build};
use tags::{Field, Splits};

fn song(number: u64, path: &str, album: &str, disc: &str, inside: bool) -> Entry {
    let fields = [
        (Field::Artist, "Band"),
        (Field::Album, album),
        (Field::DiscNumber, disc),
        (Field::Title, path),
    ];
    let mut entry = music(number, path, &fields);
    if let Content::Music(media) = &mut entry.content
        && !inside
    {
        media.pictures.clear();
    }
    entry
}

/// Returns a library with an album of two discs, an album with embedded pictures, an album without
/// pictures, and tracks outside of folders.
fn library() -> Catalog<Vec<u8>> {
    let entries = vec![
        song(1, "Band/Discs/CD1/1.flac", "Discs", "1", true),
        song(2, "Band/Discs/CD2/1.flac", "Discs", "2", false),
        photo(11, "Band/Discs/Front.JPG", None),
        photo(12, "Band/Discs/CD2/disc 2.png", None),
        photo(13, "Band/artist.webp", None),
        photo(14, "Band/aaa/cover.jpg", None),
        song(3, "Band/Inside/1.flac", "Inside", "1", false),
        song(4, "Band/Inside/2.flac", "Inside", "1", true),
        song(5, "Band/Other/1.flac", "Other", "1", false),
        photo(15, "Band/Other/back.jpg", None),
        song(6, "alone.flac", "Zero", "1", false),
    ];
    let bytes = build(entries, &Splits::default());
    Catalog::open(bytes).expect("what was just built")
}

/// Compares the covers that `rules` select for all objects with `expected`.
fn check(rules: &CoverRules, expected: Expect) {
    let library = library();
    let counts = library.counts();
    let albums = (0..counts.albums).flat_map(|row| {
        let discs = if library
            .album(row)
            .is_some_and(|album| album.title == "Discs")
        {
            2
        } else {
            0
        };
        let discs = (1..=discs).map(move |disc| CoverOwner::Disc(row, disc));
        [CoverOwner::Album(row)].into_iter().chain(discs)
    });
    let tracks = (0..counts.tracks).map(CoverOwner::Track);
    let all = (0..counts.artists)
        .map(CoverOwner::Artist)
        .chain(albums)
        .chain(tracks);
    let mut out = String::new();
    for of in all {
        let name = match of {
            CoverOwner::Track(row) => library.track(row).map(|track| track.title.to_owned()),
            CoverOwner::Disc(_, disc) => Some(format!("  disc {disc}")),
            CoverOwner::Album(row) => library.album(row).map(|album| album.title.to_owned()),
            CoverOwner::Artist(row) => library.artist(row).map(|artist| artist.name.to_owned()),
        };
        let found = library.cover(of, rules).map_or("-".to_owned(), |cover| {
            let inside = if cover.inside.is_some() {
                ", inside"
            } else {
                ""
            };
            format!("{}{inside}", String::from_utf8_lossy(&cover.path))
        });
        out += &format!("{}: {found}\n", name.expect("a row that was counted"));
    }
    expected.assert_eq(&out);
}

#[test]
fn pictures_by_the_usual_rules() {
    check(
        &CoverRules::default(),
        expect![[r#"
            Band: Band/artist.webp
            Discs: Band/Discs/Front.JPG
              disc 1: Band/Discs/Front.JPG
              disc 2: Band/Discs/CD2/disc 2.png
            Inside: Band/Inside/2.flac, inside
            Other: Band/Other/back.jpg
            Zero: -
            Band/Discs/CD1/1.flac: Band/Discs/CD1/1.flac, inside
            Band/Discs/CD2/1.flac: Band/Discs/CD2/disc 2.png
            Band/Inside/1.flac: Band/Inside/2.flac, inside
            Band/Inside/2.flac: Band/Inside/2.flac, inside
            Band/Other/1.flac: Band/Other/back.jpg
            alone.flac: -
        "#]],
    );
}

#[test]
fn rules_of_another_order_find_other_pictures() {
    let rules = CoverRules {
        track: vec![Source::Album],
        disc: vec![Source::Any, Source::Embedded],
        album: vec![Source::Embedded, Source::File("back.*".to_owned())],
        artist: vec![Source::Album],
    };
    check(
        &rules,
        expect![[r#"
        Band: Band/Discs/CD1/1.flac, inside
        Discs: Band/Discs/CD1/1.flac, inside
          disc 1: Band/Discs/CD1/1.flac, inside
          disc 2: Band/Discs/CD2/disc 2.png
        Inside: Band/Inside/2.flac, inside
        Other: Band/Other/back.jpg
        Zero: -
        Band/Discs/CD1/1.flac: Band/Discs/CD1/1.flac, inside
        Band/Discs/CD2/1.flac: Band/Discs/CD1/1.flac, inside
        Band/Inside/1.flac: Band/Inside/2.flac, inside
        Band/Inside/2.flac: Band/Inside/2.flac, inside
        Band/Other/1.flac: Band/Other/back.jpg
        alone.flac: -
    "#]],
    );
}

#[test]
fn rules_that_lead_in_circles_find_nothing() {
    let rules = CoverRules {
        track: vec![Source::Disc, Source::Album],
        disc: vec![Source::Disc, Source::Album],
        album: vec![Source::Album, Source::Disc],
        artist: vec![Source::Disc, Source::File("ART*.w*".to_owned())],
    };
    check(
        &rules,
        expect![[r#"
            Band: Band/artist.webp
            Discs: -
              disc 1: -
              disc 2: -
            Inside: -
            Other: -
            Zero: -
            Band/Discs/CD1/1.flac: -
            Band/Discs/CD2/1.flac: -
            Band/Inside/1.flac: -
            Band/Inside/2.flac: -
            Band/Other/1.flac: -
            alone.flac: -
        "#]],
    );
}
