//! Tests of the interpretation of tags and paths.

use crate::media::{Codec, Container};
use crate::{Date, Field, Media, Splits, Track, from_path};
use expect_test::{Expect, expect};

fn check_path(paths: &[&str], expected: Expect) {
    let lines = paths.iter().map(|path| {
        let from_path::PathNames {
            title,
            number,
            disc,
            album,
            artist,
            year,
        } = from_path::read(path.as_bytes());
        let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let count = |count: Option<u16>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
        format!(
            "{path}: {} | {} | {} | {}.{} | {title}\n",
            text(artist),
            text(album),
            count(year),
            count(disc),
            count(number),
        )
    });
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn paths() {
    check_path(
        &[
            "Artist/1999 - Album/CD 2/07 - Title.flac",
            "Artist/Album (1999)/07. Title.mp3",
            "Artist - Album [2001]/2-07 Title.mp3",
            "Artist/Album/Artist - Title.ogg",
            "Artist - Title.ogg",
            "1979.mp3",
            "99 Luftballons.mp3",
            "some_band/the_album/03_the_song.wav",
            "Artist/2112/01 2112.flac",
            "deep/er/Artist/Album/disc1/101 x.flac",
            ".mp3",
            "",
        ],
        expect![[r#"
            Artist/1999 - Album/CD 2/07 - Title.flac: Artist | Album | 1999 | 2.7 | Title
            Artist/Album (1999)/07. Title.mp3: Artist | Album | 1999 | -.7 | Title
            Artist - Album [2001]/2-07 Title.mp3: Artist | Album | 2001 | 2.7 | Title
            Artist/Album/Artist - Title.ogg: Artist | Album | - | -.- | Title
            Artist - Title.ogg: Artist | - | - | -.- | Title
            1979.mp3: - | - | - | -.- | 1979
            99 Luftballons.mp3: - | - | - | -.99 | Luftballons
            some_band/the_album/03_the_song.wav: some band | the album | - | -.3 | the song
            Artist/2112/01 2112.flac: Artist | 2112 | - | -.1 | 2112
            deep/er/Artist/Album/disc1/101 x.flac: Artist | Album | - | 1.101 | x
            .mp3: - | - | - | -.- | .mp3
            : - | - | - | -.- | 
        "#]],
    );
    assert_eq!(from_path::read(b"\xff\xfe/01 \xff.mp3").title, "\u{fffd}");
}

fn media(tags: &[(Field, &str)]) -> Media {
    let mut media = Media::new(Container::Flac, Codec::Flac);
    for (field, value) in tags {
        media.tags.push(*field, value);
    }
    media
}

fn people(tags: &[(Field, &str)], splits: &Splits) -> String {
    let track = Track::new(&media(tags), b"x.flac", splits);
    let people = track.people.iter().map(|person| {
        let sort = person
            .sort
            .as_deref()
            .map_or_else(String::new, |sort| format!(" ({sort})"));
        let id = person
            .id
            .as_deref()
            .map_or_else(String::new, |id| format!(" #{id}"));
        let part = person
            .part
            .as_deref()
            .map_or_else(String::new, |part| format!(" on {part}"));
        format!("{:?} {}{sort}{id}{part}\n", person.role, person.name)
    });
    format!(
        "{} | {}\n{}",
        track.artist,
        track.album_artist,
        people.collect::<String>()
    )
}

#[test]
fn artists() {
    let splits = Splits {
        exceptions: vec!["Hall; Oates".to_owned()],
        ..Splits::default()
    };
    expect![[r#"
        A feat. B; C | A
        Artist A
        Artist B
        Artist C
        AlbumArtist A
    "#]]
    .assert_eq(&people(&[(Field::Artist, "A feat. B; C")], &splits));
    expect![[r#"
        AC/DC & Friends | Various Artists
        Artist AC/DC (ACDC) #1
        Artist Friends (Friends) #2
        AlbumArtist Various Artists
        Composer Bob
        Performer Ann on guitar
    "#]]
    .assert_eq(&people(
        &[
            (Field::Artist, "AC/DC & Friends"),
            (Field::Artists, "AC/DC"),
            (Field::Artists, "Friends"),
            (Field::ArtistSort, "ACDC"),
            (Field::ArtistSort, "Friends"),
            (Field::ArtistId, "1; 2"),
            (Field::AlbumArtist, "Various Artists"),
            (Field::Performer, "Ann (guitar)"),
            (Field::Composer, "Bob"),
        ],
        &splits,
    ));
    expect![[r#"
        hall; oates; X | hall; oates
        Artist hall; oates
        Artist X
        AlbumArtist hall; oates
    "#]]
    .assert_eq(&people(&[(Field::Artist, "hall; oates; X")], &splits));
    expect![[r#"
        Solo | Various Artists
        Artist Solo
        AlbumArtist Various Artists
    "#]]
    .assert_eq(&people(
        &[(Field::Artist, "Solo"), (Field::Compilation, "1")],
        &splits,
    ));
    expect![[r#"
        Unknown Artist | Unknown Artist
        Artist Unknown Artist
        AlbumArtist Unknown Artist
    "#]]
    .assert_eq(&people(&[], &splits));
}

#[test]
fn bands_with_a_separator_in_their_name_stay_whole() {
    let artists = |value: &str| {
        let media = media(&[(Field::Artist, value)]);
        let people = Track::new(&media, b"x.flac", &Splits::default()).people;
        let artists = people.into_iter();
        let artists = artists.filter(|person| person.role == crate::Role::Artist);
        artists.map(|person| person.name).collect::<Vec<_>>()
    };
    assert_eq!(artists("AC / DC"), ["AC / DC"]);
    assert_eq!(artists("ac / dc feat. Bon"), ["ac / dc", "Bon"]);
    assert_eq!(artists("Ann / AC / DC"), ["Ann", "AC / DC"]);
    assert_eq!(artists("Ann / Bob"), ["Ann", "Bob"]);
    assert_eq!(artists("AC / DCX"), ["AC", "DCX"]);
}

#[test]
fn names_of_a_role_have_an_end() {
    let names: Vec<String> = (0..5000).map(|number| number.to_string()).collect();
    let tags = [
        (Field::Artist, &*names.join("; ")),
        (Field::Genre, &names.join(";")),
    ];
    let track = Track::new(&media(&tags), b"", &Splits::default());
    let artists = track
        .people
        .iter()
        .filter(|one| one.role == crate::Role::Artist);
    assert_eq!(artists.count(), 1024);
    assert_eq!(track.genres, names[..1024]);
}

#[test]
fn numbers_and_loudness() {
    let track = Track::new(
        &media(&[
            (Field::TrackNumber, "3/12"),
            (Field::DiscNumber, "2"),
            (Field::DiscTotal, "4"),
            (Field::Date, "2003-05-12T00:00:00"),
            (Field::OriginalDate, "1979"),
            (Field::TrackGain, "-6.10 dB"),
            (Field::TrackPeak, "0.988"),
            (Field::R128AlbumGain, "-256"),
            (Field::Genre, "Rock; Pop"),
            (Field::Genre, "Rock"),
            (Field::ReleaseType, "Album; Live"),
        ]),
        b"x.flac",
        &Splits::default(),
    );
    assert_eq!(
        (track.number, track.total, track.disc, track.discs),
        (3, 12, 2, 4)
    );
    assert_eq!(
        track.date,
        Some(Date {
            year: 2003,
            month: 5,
            day: 12
        })
    );
    assert_eq!(
        track.original_date,
        Some(Date {
            year: 1979,
            month: 0,
            day: 0
        })
    );
    assert_eq!(track.track_gain_cdb, Some(-610));
    assert_eq!(track.track_peak_ppm, Some(988_000));
    assert_eq!(track.album_gain_cdb, Some(400));
    assert_eq!(track.genres, ["Rock", "Pop"]);
    assert_eq!(track.release_types, ["album", "live"]);
}

#[test]
fn a_decimal_comma_is_a_point_and_no_number_is_read_by_half() {
    let loudness = |gain: &str, peak: &str| {
        let media = media(&[(Field::TrackGain, gain), (Field::TrackPeak, peak)]);
        let track = Track::new(&media, b"x.flac", &Splits::default());
        (track.track_gain_cdb, track.track_peak_ppm)
    };
    assert_eq!(loudness("-6,50 dB", "0,98"), (Some(-650), Some(980_000)));
    assert_eq!(loudness("+1.5dB", "1"), (Some(150), Some(1_000_000)));
    assert_eq!(loudness("-1,006.50 dB", "0,9,8"), (None, None));
}

#[test]
fn a_date_that_is_none_leaves_the_next_one() {
    let tags = [(Field::Date, "unknown"), (Field::Date, "May 2001")];
    let track = Track::new(&media(&tags), b"x.flac", &Splits::default());
    assert_eq!(
        track.date.map(|date| (date.year, date.month)),
        Some((2001, 5))
    );
}

#[test]
fn places_on_discs_and_records() {
    let place = |number: &str, disc: &str| {
        let tags = [(Field::TrackNumber, number), (Field::DiscNumber, disc)];
        let track = Track::new(&media(&tags), b"x.flac", &Splits::default());
        (track.disc, track.number, track.total)
    };
    assert_eq!(place("3/12", ""), (0, 3, 12));
    assert_eq!(place("03 of 12", "2/2"), (2, 3, 12));
    assert_eq!(place("Track 7", "CD 2"), (2, 7, 0));
    assert_eq!(place("#7", "Disc 1 of 3"), (1, 7, 0));
    assert_eq!(place("2-05", ""), (2, 5, 0));
    assert_eq!(place("12.5", ""), (0, 12, 0));
    assert_eq!(place("-1", ""), (0, 0, 0));
    assert_eq!(place("70000", "x"), (0, 0, 0));
    // Sides of vinyl records. Their letters continue over all records, or restart on each record.
    assert_eq!(place("A1", ""), (1, 1, 0));
    assert_eq!(place("b2", "1/1"), (2, 2, 0));
    assert_eq!(place("C-3", "2"), (3, 3, 0));
    assert_eq!(place("A3", "2"), (3, 3, 0));
    assert_eq!(place("B", ""), (2, 1, 0));
}

#[test]
fn beats_have_a_unit_or_none() {
    let bpm = |text: &str| {
        let media = media(&[(Field::Bpm, text)]);
        Track::new(&media, b"x.flac", &Splits::default()).bpm
    };
    assert_eq!(bpm("128"), 128);
    assert_eq!(bpm("128 BPM"), 128);
    assert_eq!(bpm("~ 119,6bpm"), 120);
    assert_eq!(bpm("fast"), 0);
    assert_eq!(bpm("-"), 0);
    assert_eq!(bpm("999999999"), u16::MAX);
}

#[test]
fn dates() {
    let shown = |text| Date::parse(text).map(|date| (date.year, date.month, date.day));
    assert_eq!(shown("1999"), Some((1999, 0, 0)));
    assert_eq!(shown("1999-13-01"), Some((1999, 0, 0)));
    assert_eq!(shown("1999/02/30x"), Some((1999, 2, 30)));
    assert_eq!(shown("1999-2003"), Some((1999, 0, 0)));
    assert_eq!(shown("20030512"), Some((2003, 5, 12)));
    assert_eq!(shown("20030512T101500"), Some((2003, 5, 12)));
    assert_eq!(shown("200305"), Some((2003, 5, 0)));
    assert_eq!(shown("20030000"), Some((2003, 0, 0)));
    assert_eq!(shown("12052003"), Some((2003, 0, 0)));
    assert_eq!(shown("05/06/2001"), Some((2001, 0, 0)));
    assert_eq!(shown("13/06/2001"), Some((2001, 6, 13)));
    assert_eq!(shown("06-13-2001"), Some((2001, 6, 13)));
    assert_eq!(shown("05/05/2001"), Some((2001, 5, 5)));
    assert_eq!(shown("12.05.2003"), Some((2003, 5, 12)));
    assert_eq!(shown("May 2001"), Some((2001, 5, 0)));
    assert_eq!(shown("5 Sept 2001"), Some((2001, 9, 5)));
    assert_eq!(shown("December 24, 2001 10:30"), Some((2001, 12, 24)));
    assert_eq!(shown("2001 May 5"), Some((2001, 5, 5)));
    assert_eq!(shown("2001年5月6日"), Some((2001, 5, 6)));
    assert_eq!(shown("Remastered 2001"), Some((2001, 0, 0)));
    assert_eq!(shown("Vol 3, 1999"), Some((1999, 0, 0)));
    assert_eq!(shown("℗ 1999 (2001)"), Some((1999, 0, 0)));
    assert_eq!(shown("99"), None);
    assert_eq!(shown("5/6/01"), None);
    assert_eq!(shown("00000000"), None);
    assert_eq!(shown("12345"), None);
    assert_eq!(shown("May"), None);
    assert_eq!(shown("0000"), None);
    assert_eq!(shown(""), None);
}
