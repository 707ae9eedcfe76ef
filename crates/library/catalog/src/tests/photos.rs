//! Tests of photographs: their ids, the words by which a search finds them, and whether their
//! folders contain music.

use super::{music, photo};
use crate::{Catalog, Content, Entry, PhotoId, build};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tags::{Exposure, Place, Splits};

fn open(entries: &[Entry]) -> Catalog<Vec<u8>> {
    Catalog::open(build(entries.to_vec(), &Splits::default())).expect("an index just built")
}

/// Returns the path of each photograph by its id.
fn ids(entries: &[Entry]) -> BTreeMap<PhotoId, String> {
    let catalog = open(entries);
    let rows = 0..catalog.counts().photos;
    let found: Vec<_> = rows
        .map(|row| {
            let photo = catalog.photo(row).expect("a row that was counted");
            assert_eq!(catalog.photo_row(photo.id), Some(row));
            let (path, _) = catalog.file(photo.file).expect("a file");
            (photo.id, String::from_utf8(path).expect("text"))
        })
        .collect();
    let ids: BTreeMap<_, _> = found.iter().cloned().collect();
    assert_eq!(ids.len(), found.len(), "two photographs have the same id");
    ids
}

fn at(path: &str, entry: &Entry) -> Entry {
    Entry {
        path: path.as_bytes().to_vec(),
        ..entry.clone()
    }
}

#[test]
fn an_id_survives_moves_and_changes_with_the_content() {
    for taken_s in [Some(1_052_749_801), None] {
        let one = photo(5, "2003/a.jpg", taken_s);
        let id = *ids(std::slice::from_ref(&one)).keys().next().expect("one");
        let mut moved = at("b/c.jpg", &one);
        moved.stat.inode = 99;
        moved.stat.born_ns = 7;
        assert_eq!(ids(&[moved])[&id], "b/c.jpg");
        let mut edited = one.clone();
        edited.stat.size += 1;
        assert!(!ids(&[edited]).contains_key(&id));
        let mut touched = one.clone();
        touched.stat.mtime_ns += 1;
        assert_eq!(ids(&[touched]).contains_key(&id), taken_s.is_some());
        let mut other = one.clone();
        let Content::Photo(photo) = &mut other.content else {
            unreachable!("a photo");
        };
        photo.width_px += 1;
        assert!(!ids(&[other]).contains_key(&id));
    }
}

#[test]
fn a_copy_gets_an_id_of_its_own_and_the_original_keeps_its_id() {
    let original = photo(5, "b.jpg", Some(1));
    let id = *ids(std::slice::from_ref(&original))
        .keys()
        .next()
        .expect("one");
    let mut later = at("a.jpg", &original);
    later.stat.mtime_ns += 1;
    let both = ids(&[original.clone(), later.clone()]);
    assert_eq!(both[&id], "b.jpg");
    let of_copy = *both.keys().find(|other| **other != id).expect("two");
    // The id of the copy does not depend on its path: the path matters only for copies with the
    // same modification time.
    later.path = b"c.jpg".to_vec();
    assert_eq!(ids(&[original.clone(), later])[&of_copy], "c.jpg");
    // Copies with the same modification time are ordered by path.
    let same = ["x.jpg", "y.jpg"].map(|path| at(path, &original));
    let all = ids(&[same[1].clone(), original.clone(), same[0].clone()]);
    assert_eq!(all[&id], "b.jpg");
    let of_last = *all.iter().find(|(_, path)| *path == "y.jpg").expect("it").0;
    assert_eq!(ids(&[original, same[1].clone()])[&of_last], "y.jpg");
}

#[test]
fn shapes_exposures_and_covers_are_known() {
    let mut odd = photo(1, "a/1.jpg", Some(5));
    let mut plain = photo(2, "a/2.jpg", Some(6));
    if let (Content::Photo(odd), Content::Photo(plain)) = (&mut odd.content, &mut plain.content) {
        (odd.width_px, odd.height_px) = (100_000, 1);
        plain.height_px = 0;
        let name = |name: &str| Some(name.to_owned());
        plain.metadata.places = vec![
            Place {
                name: name("Bryggen"),
                sublocation: name("Vågen"),
                city: name("Bergen"),
                state: name("Vestland"),
                country: name("Norway"),
            },
            Place {
                city: name("Oslo"),
                ..Place::default()
            },
        ];
        plain.metadata.exposure = Exposure {
            time_ns: Some(4_000_000),
            f_number_e2: Some(280),
            iso: Some(400),
            focal_mm_e2: Some(5050),
        };
    }
    let entries = [
        odd,
        plain.clone(),
        photo(3, "m/cover.jpg", Some(7)),
        photo(4, "m/art/4.jpg", Some(8)),
        music(5, "m/1.flac", &[]),
    ];
    let catalog = open(&entries);
    let photos = (0..4).filter_map(|row| catalog.photo(row));
    let photos: Vec<_> = photos.map(|it| (it.ratio, it.is_beside_music)).collect();
    assert_eq!(
        photos,
        [(65_535, false), (0, false), (1333, true), (1333, false)]
    );
    let file = catalog.photo(1).expect("the second").file;
    assert_eq!(catalog.entry(file), Some(plain));
    let other = open(&entries[1..]);
    assert_ne!(catalog.generation(), other.generation());
    assert_eq!(catalog.generation(), open(&entries).generation());
}

#[test]
fn photographs_are_found_by_path_camera_place_and_date() {
    let day = |text: &str| {
        let mut parts = text.split('-').map(|part| part.parse().expect("a number"));
        let mut next = || -> u16 { parts.next().expect("three numbers") };
        let month = crate::Month::new(next(), next() as u8).expect("a month");
        Some(month.start_s() + (i64::from(next()) - 1) * 86_400)
    };
    let in_city = |city: &str, country: &str, mut entry: Entry| {
        if let Content::Photo(photo) = &mut entry.content {
            photo.metadata.places.push(Place {
                city: Some(city.to_owned()),
                country: Some(country.to_owned()),
                ..Place::default()
            });
        }
        entry
    };
    let entries = [
        photo(1, "Süd/2019-07 Küste/IMG_2041.jpg", day("2019-07-31")),
        in_city(
            "Köln",
            "Deutschland",
            in_city(
                "Saint-Denis",
                "La Réunion",
                photo(2, "Süd/DSC01.JPG", day("2019-07-01")),
            ),
        ),
        photo(3, "Nord/2019/img 3.png", day("2020-02-29")),
        photo(4, "4.jpg", day("2018-12-31")),
        music(5, "Süd/tune.flac", &[(tags::Field::Title, "Kueste")]),
    ];
    let catalog = open(&entries);
    let found = |query: &str| {
        let rows = catalog.find_photos(query).into_iter();
        let inodes = rows.filter_map(|row| Some(catalog.file(catalog.photo(row)?.file)?.1.inode));
        inodes.collect::<Vec<u64>>()
    };
    for (query, expected) in [
        ("", &[4, 2, 1, 3][..]),
        ("sud", &[2, 1]),
        ("SÜD kust", &[1]),
        ("img", &[1, 3]),
        ("img_2041.jpg", &[1]),
        ("2041", &[1]),
        ("camera png", &[3]),
        ("2019", &[2, 1, 3]),
        ("2019-07", &[2, 1]),
        ("2019-07-31", &[1]),
        ("2018", &[4]),
        ("2018 camera", &[4]),
        ("koln", &[2]),
        ("KÖLN deutsch", &[2]),
        ("denis 2019-07 reunion", &[2]),
        ("koln 2018", &[]),
        ("2018 nord", &[]),
        ("tune", &[]),
        ("zzz", &[]),
        ("!!!", &[]),
    ] {
        assert_eq!(found(query), expected, "{query:?}");
    }
    assert!(
        catalog
            .search("img", &crate::Limits::default())
            .tracks
            .is_empty()
    );
}

#[test]
fn folders_are_ranges_of_files() {
    let paths = [
        "a-b/1.jpg",
        "a/2.jpg",
        "a/b/c/3.jpg",
        "a/d/4.jpg",
        "a/e.jpg",
        "z.jpg",
    ];
    let entries = (1..)
        .zip(paths)
        .map(|(number, path)| photo(number, path, None));
    let catalog = open(&entries.collect::<Vec<_>>());
    let shown = |path: &str| {
        let folder = catalog.folder(path.as_bytes())?;
        let inside = catalog.folders_in(path.as_bytes(), &folder).into_iter();
        let inside = inside.map(|(name, files)| format!("{} {files:?}", name.escape_ascii()));
        let files = folder.files.clone();
        let direct = files.filter(|file| catalog.is_directly_in(&folder, *file));
        Some((
            folder.files.clone(),
            direct.collect::<Vec<_>>(),
            inside.collect::<Vec<_>>(),
        ))
    };
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        shown(""),
        Some((0..6, vec![5], names(&["a-b 0..1", "a 1..5"])))
    );
    assert_eq!(
        shown("a"),
        Some((1..5, vec![1, 4], names(&["b 2..3", "d 3..4"])))
    );
    assert_eq!(shown("a/b"), Some((2..3, vec![], names(&["c 2..3"]))));
    assert_eq!(shown("a/b/c"), Some((2..3, vec![2], vec![])));
    for none in ["b", "a/", "a/2.jpg", "a/b/c/d", "/a"] {
        assert_eq!(shown(none), None, "{none}");
    }
}

proptest! {
    /// Each photograph has an id of its own and is found by its words, whatever its metadata.
    #[test]
    fn every_photograph_has_an_id_and_is_found(
        facts in proptest::collection::vec((0u64..3, 0i64..3, 0u64..2, "[a-zÄ夜!]{1,3}"), 1..40),
    ) {
        let entries = facts.iter().enumerate().map(|(at, (size, taken_s, mtime, name))| {
            let taken_s = (*taken_s != 0).then_some(*taken_s);
            let mut entry = photo(*size, &format!("{name}/{at}"), taken_s);
            entry.stat.mtime_ns = *mtime as i64;
            entry
        });
        let entries: Vec<Entry> = entries.collect();
        prop_assert_eq!(ids(&entries).len(), entries.len());
        let catalog = open(&entries);
        for row in 0..catalog.counts().photos {
            let (path, _) = catalog.file(catalog.photo(row).expect("it").file).expect("a file");
            let query = String::from_utf8(path).expect("text").replace('/', " ");
            prop_assert!(catalog.find_photos(&query).contains(&row), "{}", query);
        }
    }
}
