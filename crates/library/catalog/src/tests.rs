//! Tests of the catalog. They build small libraries and read, move, tag, search and damage them.

mod broken;
mod cover;
mod photos;
mod search;

use std::collections::{BTreeMap, BTreeSet};

use crate::{Catalog, Content, Entry, Photo, Stat, build};
use expect_test::expect;
use proptest::prelude::*;
use tags::{
    Audio, AudioHash, Codec, Container, Field, Listed, Listing, Media, Mime, PhotoMetadata,
    Picture, PictureKind, Splits, Stored, Tags,
};

/// Returns a music file with tags. Its audio hash and metadata are derived from `number`.
fn music(number: u64, path: &str, fields: &[(Field, &str)]) -> Entry {
    let mut tags = Tags::default();
    fields
        .iter()
        .for_each(|(field, value)| tags.push(*field, value));
    let media = Media {
        container: Container::Flac,
        audio: Audio {
            codec: Codec::Flac,
            duration_ms: 1000 * number,
            exact: true,
            sample_rate_hz: 44_100,
            channels: 2,
            bits: 16,
            bitrate_bps: 900_000,
        },
        tags,
        pictures: vec![Picture {
            kind: PictureKind::FRONT,
            mime: Mime::Jpeg,
            stored: Stored::Plain,
            offset: 1234,
            bytes: 300_000,
            skip: 0,
        }],
        audio_hash: AudioHash(number),
        issues: vec!["an issue".into()],
    };
    entry(number, path, Content::Music(Box::new(media)))
}

fn entry(number: u64, path: &str, content: Content) -> Entry {
    let stat = Stat {
        device: 7,
        inode: number,
        size: 30_000_000 + number,
        mtime_ns: 1_700_000_000_000_000_000 + number as i64,
        born_ns: 1_600_000_000_000_000_000 + number as i64,
    };
    Entry {
        path: path.as_bytes().to_vec(),
        stat,
        content,
    }
}

fn photo(number: u64, path: &str, taken_local_s: Option<i64>) -> Entry {
    let metadata = PhotoMetadata {
        taken_local_s,
        model: Some("Camera".to_owned()),
        ..PhotoMetadata::default()
    };
    let photo = Photo {
        width_px: 640,
        height_px: 480,
        metadata,
    };
    entry(number, path, Content::Photo(photo))
}

fn playlist(number: u64, path: &str, name: Option<&str>, targets: &[&[u8]]) -> Entry {
    let entries = targets.iter().map(|target| Listed {
        target: target.to_vec(),
        title: "As it is listed".to_owned(),
    });
    let listing = Listing {
        name: name.map(str::to_owned),
        entries: entries.collect(),
    };
    entry(number, path, Content::Listing(Box::new(listing)))
}

/// Returns a library that contains two albums (one has a guest artist), pictures, a file that
/// cannot be read, and a playlist.
fn library() -> Vec<Entry> {
    use Field::{Album, AlbumArtist, Artist, ArtistId, Artists, Date, Genre, Title, TrackNumber};
    vec![
        music(
            1,
            "B/Über/2.flac",
            &[
                (Title, "Zweites Lied"),
                (Artist, "Björk"),
                (Album, "Über"),
                (TrackNumber, "2"),
                (Genre, "Pop"),
                (ArtistId, "87c5dedd-371d-4a53-9f7f-80522fb7f3cb"),
                (Date, "1997-09-22"),
            ],
        ),
        music(
            2,
            "B/Über/1.flac",
            &[
                (Title, "Erstes Lied"),
                (Artist, "Björk feat. Guest"),
                (Album, "Über"),
                (TrackNumber, "1"),
                (Artists, "Björk"),
                (Artists, "Guest"),
                (AlbumArtist, "Björk"),
                (Genre, "Pop; Rock"),
                (Date, "1997"),
            ],
        ),
        music(
            3,
            "夜/夜の音楽.mp3",
            &[(Title, "夜の音楽"), (Artist, "AC/DC"), (Album, "Night")],
        ),
        photo(4, "B/Über/cover.jpg", None),
        photo(5, "2003/a.jpg", Some(1_052_749_801)),
        entry(
            6,
            "broken.mp3",
            Content::Unreadable("no mpeg audio frame".to_owned()),
        ),
        playlist(
            7,
            "Lists/Mix.m3u",
            None,
            &[
                "../B/Über/2.flac".as_bytes(),
                b"gone.mp3",
                "/夜/夜の音楽.mp3".as_bytes(),
            ],
        ),
    ]
}

fn open(entries: Vec<Entry>) -> Catalog<Vec<u8>> {
    Catalog::open(build(entries, &Splits::default())).expect("what was just built")
}

fn shown<B: AsRef<[u8]>>(catalog: &Catalog<B>) -> String {
    let mut out = format!("{:?}\n", catalog.counts());
    for row in 0..catalog.counts().artists {
        let artist = catalog.artist(row).expect("a row that was counted");
        out += &format!(
            "artist {row} {}: albums {:?}, {} tracks\n",
            artist.name, artist.albums, artist.tracks
        );
    }
    for row in 0..catalog.counts().albums {
        let album = catalog.album(row).expect("a row that was counted");
        let cover = album.cover.and_then(|file| catalog.file(file));
        let cover = cover.map(|(path, _)| String::from_utf8_lossy(&path).into_owned());
        out += &format!(
            "album {row} {} by {} {:?}: from {} {}, {} s, genres {:?}, cover {cover:?}\n",
            album.title,
            album.artist,
            album.artists,
            album.first_track,
            album.tracks,
            album.duration_s,
            album.genres,
        );
    }
    for row in 0..catalog.counts().tracks {
        let track = catalog.track(row).expect("a row that was counted");
        out += &format!(
            "track {row} {} by {} {:?} on {}: {}.{} {:?} {} ms\n",
            track.title,
            track.artist,
            track.artists,
            track.album,
            track.disc,
            track.number,
            track.date,
            track.duration_ms,
        );
    }
    for row in 0..catalog.counts().genres {
        out += &format!(
            "{:?}\n",
            catalog.genre(row).expect("a row that was counted")
        );
    }
    for row in 0..catalog.counts().playlists {
        let list = catalog.playlist(row).expect("a row that was counted");
        assert_eq!(catalog.playlist_row(list.id), Some(row));
        let path = catalog.file(list.file).expect("a file").0;
        out += &format!(
            "playlist {} in {}: {:?}, {} missing\n",
            list.name,
            path.escape_ascii(),
            list.tracks,
            list.missing
        );
    }
    for row in 0..catalog.counts().photos {
        out += &format!(
            "{:?}\n",
            catalog.photo(row).expect("a row that was counted")
        );
    }
    out
}

/// Golden test: if the bytes of an index change, its format has changed, so `VERSION` must be
/// increased.
#[test]
fn the_bytes_of_an_index_stay_the_same() {
    let bytes = build(library(), &Splits::default());
    let hash = blake3::hash(&bytes);
    assert_eq!(
        (bytes.len(), &hash.to_hex()[..16]),
        (2416, "e75a786b33a91514")
    );
}

#[test]
fn an_artist_of_whom_only_the_name_is_known_has_the_id_of_the_name() {
    let entries = vec![
        music(1, "1.mp3", &[(Field::Artist, "Björk")]),
        music(2, "2.mp3", &[(Field::Artist, "!!!")]),
    ];
    let catalog = open(entries);
    let ids: Vec<_> = (0..2)
        .filter_map(|row| Some(catalog.artist(row)?.id))
        .collect();
    assert_eq!(ids, ["!!!", "BJO\u{308}RK"].map(crate::ArtistId::named));
    assert_ne!(ids[0], crate::ArtistId::named("???"));
}

/// Returns the names of the artists, the titles of the albums and their tracks, and the names of
/// the genres, in the order of the index.
fn names(tracks: &[(&str, &str, &str)]) -> String {
    let entries = tracks.iter().zip(1..);
    let entries = entries.map(|(&(artist, album, genre), number)| {
        let path = format!("{number}.flac");
        let fields = [
            (Field::Artist, artist),
            (Field::Album, album),
            (Field::Genre, genre),
        ];
        music(number, &path, &fields)
    });
    let catalog = open(entries.collect());
    let counts = catalog.counts();
    let artists = (0..counts.artists).filter_map(|row| Some(catalog.artist(row)?.name.to_owned()));
    let albums = (0..counts.albums).filter_map(|row| {
        let album = catalog.album(row)?;
        Some(format!("{}: {}", album.title, album.tracks))
    });
    let genres = (0..counts.genres).filter_map(|row| Some(catalog.genre(row)?.name.to_owned()));
    let lists: [Vec<String>; 3] = [artists.collect(), albums.collect(), genres.collect()];
    lists.map(|list| list.join(" | ") + "\n").concat()
}

#[test]
fn names_that_differ_in_accents_and_punctuation_are_not_one() {
    expect![[r#"
        A | A+ | MO | Mö | MØ | Sunn O | Sunn O)))
        Best: 1 | Best!: 1 | C: 1 | C++: 1 | Live (2001): 1 | Live 2001: 1 | か: 1 | が: 1
        R&B | Rock, Pop | Rock/Pop
    "#]]
    .assert_eq(&names(&[
        ("A", "C", "Rock/Pop"),
        ("A+", "C++", "Rock, Pop"),
        ("Sunn O)))", "Best!", "R&B"),
        ("Sunn O", "Best", "r&b"),
        ("MØ", "Live (2001)", "ROCK/POP"),
        ("MO", "Live 2001", ""),
        ("Mö", "か", ""),
        ("mo\u{308}", "が", ""),
    ]));
}

#[test]
fn names_that_differ_in_case_and_composition_are_one() {
    expect![[r#"
        Straße
        Über: 3
        Straßenmusik
    "#]]
    .assert_eq(&names(&[
        ("Straße", "Über", "Straßenmusik"),
        ("STRASSE", "U\u{308}BER", "STRASSENMUSIK"),
        ("strasse", "über", "straßenmusik"),
    ]));
}

#[test]
fn a_library() {
    expect![[r#"
        Counts { files: 7, tracks: 3, albums: 2, artists: 3, genres: 2, photos: 2, playlists: 1 }
        artist 0 AC/DC: albums [0], 1 tracks
        artist 1 Björk: albums [1], 2 tracks
        artist 2 Guest: albums [1], 1 tracks
        album 0 Night by AC/DC [0]: from 0 1, 3 s, genres [], cover Some("夜/夜の音楽.mp3")
        album 1 Über by Björk [1]: from 1 2, 3 s, genres [0, 1], cover Some("B/Über/cover.jpg")
        track 0 夜の音楽 by AC/DC [0] on 0: 0.0 None 3000 ms
        track 1 Erstes Lied by Björk feat. Guest [1, 2] on 1: 0.1 Some(Date { year: 1997, month: 0, day: 0 }) 2000 ms
        track 2 Zweites Lied by Björk [1] on 1: 0.2 Some(Date { year: 1997, month: 9, day: 22 }) 1000 ms
        Genre { name: "Pop", tracks: 2, albums: 1 }
        Genre { name: "Rock", tracks: 1, albums: 1 }
        playlist Mix in Lists/Mix.m3u: [2, 0], 1 missing
        DatedPhoto { id: PhotoId(1000991677750291601), taken_s: 1052749801, file: 0, ratio: 1333, is_beside_music: false }
        DatedPhoto { id: PhotoId(7453010963525877998), taken_s: 1700000000, file: 3, ratio: 1333, is_beside_music: true }
    "#]].assert_eq(&shown(&open(library())));
}

#[test]
fn entries_come_back_as_they_were() {
    let catalog = open(library());
    let mut entries = library();
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let back: Vec<Entry> = (0..catalog.counts().files)
        .filter_map(|row| catalog.entry(row))
        .collect();
    assert_eq!(back, entries);
    assert_eq!(build(back, &Splits::default()), catalog.bytes());
}

#[test]
fn bit_rates_have_three_bytes_beside_the_flags() {
    let kbps = |bitrate_bps: u32| {
        let mut entry = music(1, "a.dsf", &[(Field::Explicit, "1")]);
        if let Content::Music(media) = &mut entry.content {
            media.audio.bitrate_bps = bitrate_bps;
        }
        let catalog = open(vec![entry]);
        let track = catalog.track(0).expect("one track");
        (track.bitrate_kbps, track.explicit)
    };
    assert_eq!(kbps(135_475_200), (135_475, true));
    assert_eq!(kbps(u32::MAX), (4_294_967, true));
}

#[test]
fn lyrics_are_left_to_the_file() {
    let with = music(
        1,
        "a.flac",
        &[(Field::Title, "A"), (Field::Lyrics, "la la")],
    );
    let without = music(1, "a.flac", &[(Field::Title, "A")]);
    assert_eq!(open(vec![with]).entry(0), Some(without));
}

/// Returns the titles of the tracks that `targets` name as entries of a playlist at `path`. Also
/// returns the entries that name no track.
fn listed(path: &str, targets: &[&[u8]]) -> String {
    let mut entries = library();
    entries.push(music(20, "A/50% & more.mp3", &[(Field::Title, "Half")]));
    entries.push(music(21, "top.mp3", &[(Field::Title, "Top")]));
    entries.push(Entry {
        path: b"A/K\xfchl.mp3".to_vec(),
        ..music(22, "", &[(Field::Title, "Kalt")])
    });
    entries.push(playlist(23, path, Some("P"), targets));
    let catalog = open(entries);
    let mut lists = (0..catalog.counts().playlists).filter_map(|row| catalog.playlist(row));
    let list = lists.find(|list| list.name == "P");
    let tracks = list.expect("the playlist").tracks.into_iter();
    let mut out: Vec<String> = tracks
        .filter_map(|row| Some(catalog.track(row)?.title.to_owned()))
        .collect();
    let missing = catalog.missing().filter(|(of, _)| of == path.as_bytes());
    out.extend(missing.map(|(_, target)| format!("no {target}")));
    out.join("; ")
}

#[test]
fn entries_of_playlists_are_found_however_they_are_written() {
    let check = |path, target: &[u8], expected| assert_eq!(listed(path, &[target]), expected);
    let ueber = "B/Über/1.flac".as_bytes();
    check("all.m3u", ueber, "Erstes Lied");
    check("all.m3u", "./B//x/../Über/1.flac".as_bytes(), "Erstes Lied");
    check(
        "C/D/all.m3u",
        "../../B/Über/1.flac".as_bytes(),
        "Erstes Lied",
    );
    check("C/all.m3u", "/B/Über/1.flac".as_bytes(), "Erstes Lied");
    check("B/all.m3u", "Über\\1.flac".as_bytes(), "Erstes Lied");
    check("B/all.m3u", b"\xdcber/1.flac", "Erstes Lied");
    check("B/all.m3u", b"\xdcber\\1.flac", "Erstes Lied");
    check("B/all.m3u", b"%C3%9Cber/1.flac", "Erstes Lied");
    check("A/all.m3u", b"50% & more.mp3", "Half");
    check("A/all.m3u", b"50%25%20&%20more.mp3", "Half");
    // The library has a file whose name is encoded in Latin-1, not in UTF-8.
    check("A/all.m3u", b"K\xfchl.mp3", "Kalt");
    // Byte order marks inside the text, as they occur in concatenated playlists, are ignored.
    check("A/all.m3u", "\u{feff}50% & more.mp3".as_bytes(), "Half");
    check("A/all.m3u", "\u{feff}".as_bytes(), "");
    check("A/all.m3u", "\u{feff}\u{feff} #EXTM3U".as_bytes(), "");
    check("A/all.m3u", b"../top.mp3", "Top");
}

#[test]
fn entries_of_playlists_that_match_no_track_are_listed() {
    let check = |path, target: &[u8], expected| assert_eq!(listed(path, &[target]), expected);
    check("A/all.m3u", b"../../top.mp3", "no ../../top.mp3");
    check("A/all.m3u", b"top.mp3", "no top.mp3");
    check(
        "all.m3u",
        "B/Über/cover.jpg".as_bytes(),
        "no B/Über/cover.jpg",
    );
    check(
        "all.m3u",
        b"https://radio.example/",
        "no https://radio.example/",
    );
    check("all.m3u", b"C:\\K\xfc.mp3", "no C:\\Kü.mp3");
    check("all.m3u", b"..", "no ..");
    let twice: [&[u8]; 4] = [b"top.mp3", b"gone", b"top.mp3", b"away"];
    assert_eq!(listed("all.m3u", &twice), "Top; Top; no gone; no away");
}

#[test]
fn ids_survive_moves_and_new_tags() {
    let before = open(vec![music(
        1,
        "old/a.flac",
        &[(Field::Title, "A"), (Field::Album, "X")],
    )]);
    let after = open(vec![
        music(1, "new/b.flac", &[(Field::Title, "B"), (Field::Album, "X")]),
        music(
            9,
            "aaa.flac",
            &[(Field::Title, "Before all"), (Field::Album, "A")],
        ),
    ]);
    let id = before.track(0).expect("one track").id;
    let row = after.track_row(id).expect("the same audio");
    assert_eq!(after.track(row).expect("a row that was found").title, "B");
    let album = before.album(0).expect("one album").id;
    assert_eq!(after.album_row(album), Some(1));
}

/// Returns the id of each track by its path.
fn ids(catalog: &Catalog<Vec<u8>>) -> BTreeMap<Vec<u8>, u64> {
    let rows = 0..catalog.counts().tracks;
    let tracks = rows.filter_map(|row| catalog.track(row));
    let ids = tracks.map(|track| (catalog.file(track.file).expect("a file").0, track.id.0));
    ids.collect()
}

#[test]
fn a_copy_gets_an_id_of_its_own_and_takes_none() {
    let file = |path: &str, born: i64| {
        let mut file = music(1, path, &[(Field::Title, "A")]);
        file.stat.born_ns += born;
        file
    };
    let (original, copy, other) = (file("z.flac", 0), file("a.flac", 1), file("b.flac", 2));
    let alone = ids(&open(vec![original.clone()]));
    let all = ids(&open(vec![original.clone(), copy.clone(), other.clone()]));
    assert_eq!(all[&b"z.flac"[..]], alone[&b"z.flac"[..]]);
    assert_eq!(all.values().collect::<BTreeSet<_>>().len(), 3);
    // The ids of the other files stay the same if a file is tagged, moved or removed.
    let mut retagged = music(1, "z.flac", &[(Field::Title, "B")]);
    retagged.stat.mtime_ns += 1_000;
    assert_eq!(ids(&open(vec![retagged, copy, other.clone()])), all);
    let moved = file("c.flac", 1);
    let after = ids(&open(vec![original.clone(), moved, other.clone()]));
    assert_eq!(after[&b"c.flac"[..]], all[&b"a.flac"[..]]);
    let without = ids(&open(vec![original, other]));
    assert_eq!(without[&b"b.flac"[..]], all[&b"b.flac"[..]]);
    // If the creation times are unknown, the file whose path sorts first gets the audio hash as its
    // id.
    let unknown = ["b.flac", "a.flac"].map(|path| {
        let mut file = file(path, 0);
        file.stat.born_ns = 0;
        file
    });
    let unknown = ids(&open(unknown.to_vec()));
    assert_eq!(unknown[&b"a.flac"[..]], alone[&b"z.flac"[..]]);
    assert_ne!(unknown[&b"b.flac"[..]], unknown[&b"a.flac"[..]]);
}

#[test]
fn one_id_for_a_name_holds_for_all_its_files() {
    let catalog = open(library());
    let named: Vec<&str> = (0..catalog.counts().artists)
        .filter_map(|row| catalog.artist(row))
        .map(|artist| artist.name)
        .collect();
    assert_eq!(named.iter().filter(|name| **name == "Björk").count(), 1);
}

#[test]
fn a_track_takes_less_than_400_bytes() {
    let words = [
        "Night", "Ocean", "Paper", "Stone", "River", "Glass", "Winter", "Signal",
    ];
    let name = |number: u64| {
        format!(
            "{} {} {number}",
            words[number as usize % 8],
            words[number as usize / 8 % 8]
        )
    };
    let entries: Vec<Entry> = (0..4000)
        .map(|number| {
            let (album, artist) = (name(number / 12), name(number / 40));
            let release = format!("{:08x}-0000-4000-8000-000000000000", number / 12);
            let own = format!("{number:08x}-1111-4111-8111-111111111111");
            let title = name(number * 7);
            let path = format!(
                "{artist}/1999 - {album}/{:02} - {title}.flac",
                number % 12 + 1
            );
            let track = (number % 12 + 1).to_string();
            music(
                number,
                &path,
                &[
                    (Field::Title, &title),
                    (Field::Artist, &artist),
                    (Field::AlbumArtist, &artist),
                    (Field::Album, &album),
                    (Field::TrackNumber, &track),
                    (Field::TrackTotal, "12"),
                    (Field::Date, "1999-05-12"),
                    (Field::Genre, words[number as usize / 40 % 8]),
                    (Field::ReleaseId, &release),
                    (Field::ReleaseTrackId, &own),
                    (Field::RecordingId, &own),
                    (Field::ArtistId, &release),
                    (Field::AlbumArtistId, &release),
                    (Field::Label, &artist),
                    (Field::TrackGain, "-6.10 dB"),
                    (Field::TrackPeak, "0.988"),
                    (Field::AlbumGain, "-7.00 dB"),
                ],
            )
        })
        .collect();
    let bytes = build(entries, &Splits::default()).len();
    assert!(bytes <= 400 * 4000, "{} bytes a track", bytes / 4000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The bytes depend only on the set of entries, not on their order.
    #[test]
    fn order_does_not_matter(
        numbers in proptest::collection::vec((0u64..20, 0usize..5, 0usize..4, 0usize..3), 0..30),
        turn in any::<usize>(),
    ) {
        let names = ["Ä", "B", "a", "C c", "!!!"];
        let albums = ["X", "x", "Y & Z", ""];
        let mut entries: Vec<Entry> = numbers.into_iter().enumerate().map(|(at, (audio_hash, artist, album, form))| {
            let path = format!("{}/{at}", albums[album]);
            let path = path.trim_start_matches('/').to_owned();
            match form {
                0 => photo(audio_hash, &path, (audio_hash % 2 == 0).then_some(audio_hash as i64)),
                1 if audio_hash % 4 == 0 => playlist(audio_hash, &path, None, &[b"1", b"../B/2", names[artist].as_bytes()]),
                _ => music(audio_hash, &path, &[
                    (Field::Artist, names[artist]), (Field::Album, albums[album]), (Field::TrackNumber, "1"),
                ]),
            }
        }).collect();
        let once = build(entries.clone(), &Splits::default());
        let middle = turn.checked_rem(entries.len()).unwrap_or(0);
        entries.rotate_left(middle);
        prop_assert!(once == build(entries, &Splits::default()));
        let catalog = Catalog::open(once).expect("what was just built");
        let back = (0..catalog.counts().files).filter_map(|row| catalog.entry(row)).collect();
        prop_assert!(build(back, &Splits::default()) == catalog.bytes());
    }
}

#[test]
fn ids_of_musicbrainz_come_back_in_their_own_spelling() {
    let spellings = [
        "87c5dedd-371d-4a53-9f7f-80522fb7f3cb",
        "87C5DEDD-371d-4a53-9f7f-80522fb7f3cb",
        "87c5dedd371d4a539f7f80522fb7f3cb",
        "87c5dedd-371d-4a53-9f7f-8052-fb7f3cb",
        "87c5dedd-371d-4a53-9f7f-80522fb7f3cg",
        "87c5dedd-371d-4a53-9f7f-80522fb7f3é",
        "{87c5dedd-371d-4a53-9f7f-80522fb7f3cb",
    ];
    let track = music(
        1,
        "a.flac",
        &spellings.map(|spelling| (Field::ArtistId, spelling)),
    );
    let catalog = open(vec![track.clone()]);
    assert_eq!(catalog.entry(0), Some(track));
}
