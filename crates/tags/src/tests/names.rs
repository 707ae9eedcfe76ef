//! What tags and paths mean.

use crate::media::{Codec, Container};
use crate::{Date, Field, Media, Splits, Track, from_path};
use expect_test::{Expect, expect};

fn check_path(paths: &[&str], expected: Expect) {
    let lines = paths.iter().map(|path| {
        let from_path::Named {
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
fn dates() {
    let shown = |text| Date::parse(text).map(|date| (date.year, date.month, date.day));
    assert_eq!(shown("1999"), Some((1999, 0, 0)));
    assert_eq!(shown("1999-13-01"), Some((1999, 0, 0)));
    assert_eq!(shown("1999/02/30x"), Some((1999, 2, 30)));
    assert_eq!(shown("99"), None);
    assert_eq!(shown("0000"), None);
    assert_eq!(shown(""), None);
}
