//! Plan of a library: its albums, and the names, fields and paths of their songs.

use crate::art::{Art, Cover};
use crate::names;
use crate::random::Random;

/// Kinds of files. The number is the share of albums, in per cent, whose songs are of this kind.
const KINDS: &[(Kind, usize)] = &[
    (Kind::Flac, 60),
    (Kind::Mp3, 25),
    (Kind::Aac, 6),
    (Kind::Alac, 2),
    (Kind::Opus, 3),
    (Kind::Vorbis, 2),
    (Kind::Wav, 1),
    (Kind::Aiff, 1),
];

/// Codec and container of a song's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// FLAC in its own container.
    Flac,
    /// MP3 with ID3 tags.
    Mp3,
    /// AAC in MP4.
    Aac,
    /// Apple Lossless in MP4.
    Alac,
    /// Opus in Ogg.
    Opus,
    /// Vorbis in Ogg.
    Vorbis,
    /// PCM in RIFF.
    Wav,
    /// PCM in AIFF.
    Aiff,
}

impl Kind {
    pub(crate) fn extension(self) -> &'static str {
        match self {
            Kind::Flac => "flac",
            Kind::Mp3 => "mp3",
            Kind::Aac | Kind::Alac => "m4a",
            Kind::Opus => "opus",
            Kind::Vorbis => "ogg",
            Kind::Wav => "wav",
            Kind::Aiff => "aiff",
        }
    }
}

/// Album of the plan: a folder of songs that share a cover.
pub(crate) struct Album {
    seed: u64,
    folder: Vec<u8>,
    pub(crate) songs: Vec<Song>,
}

/// Song of the plan, with all that is needed to write its file.
pub(crate) struct Song {
    pub(crate) kind: Kind,
    pub(crate) path: Vec<u8>,
    /// Stream of random numbers for choices that do not change the expected result, such as
    /// padding, versions of tags, and the order of fields.
    pub(crate) random: Random,
    /// Pairs of a Vorbis comment name and a value, in an order that a tagger would write.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// True if the file contains the cover.
    pub(crate) embeds: bool,
}

/// Returns albums with `tracks` songs in total.
pub(crate) fn albums(seed: u64, tracks: u32) -> impl Iterator<Item = Album> {
    // Real collections have about 45 tracks per artist.
    let artist_count = (tracks as usize / 45).max(3);
    let mut left = tracks as usize;
    let mut number = 0;
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        number += 1;
        let album = album(seed, number, artist_count, left);
        left -= album.songs.len();
        Some(album)
    })
}

fn artist(seed: u64, index: usize) -> (String, String) {
    let mut random = Random::apart(seed, 1 << 40 | index as u64);
    (names::artist(&mut random), uuid(&mut random))
}

fn uuid(random: &mut Random) -> String {
    let (a, b) = (random.next(), random.next());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xffff,
        a & 0xfff,
        b >> 48 & 0xfff,
        b & 0xffff_ffff_ffff
    )
}

/// Properties that all songs of an album share.
struct Shared {
    kind: Kind,
    title: String,
    artist: (String, String),
    various: bool,
    discs: usize,
    per_disc: usize,
    year: usize,
    release_id: Option<String>,
    embeds: bool,
    genre: &'static str,
}

fn album(seed: u64, number: u64, artist_count: usize, left: usize) -> Album {
    let mut random = Random::apart(seed, number);
    let mut draw = random.below(100);
    let kinds = KINDS
        .iter()
        .find(|(_, share)| match draw.checked_sub(*share) {
            Some(rest) => {
                draw = rest;
                false
            }
            None => true,
        });
    let discs = if random.percent(8) {
        random.within(2, 4)
    } else {
        1
    };
    let shared = Shared {
        kind: kinds.map_or(Kind::Flac, |(kind, _)| *kind),
        title: names::title(&mut random),
        artist: {
            // The artist's number is the lower of two random numbers, so that artists with low
            // numbers have many albums, and artists with high numbers have few.
            let (one, two) = (random.below(artist_count), random.below(artist_count));
            artist(seed, one.min(two))
        },
        various: random.percent(4),
        discs,
        per_disc: random.within(6, 18),
        year: random.within(1962, 2025),
        release_id: random.percent(70).then(|| uuid(&mut random)),
        embeds: random.percent(70),
        genre: random.choose(names::GENRES),
    };
    let folder = folder(&shared, &mut random, number);
    let places = (1..=discs).flat_map(|disc| (1..=shared.per_disc).map(move |track| (disc, track)));
    let songs = places.take(left).map(|(disc, track)| {
        let random = Random::apart(seed, number << 16 | (disc << 8 | track) as u64);
        song(
            &shared,
            &folder,
            (disc, track),
            (seed, artist_count),
            random,
        )
    });
    Album {
        seed: random.next(),
        songs: songs.collect(),
        folder,
    }
}

fn folder(shared: &Shared, random: &mut Random, number: u64) -> Vec<u8> {
    let title = names::file_name(&shared.title);
    let artist = if shared.various {
        "Various Artists"
    } else {
        &shared.artist.0
    };
    let artist = names::file_name(artist);
    // The number distinguishes albums that have the same title by chance.
    let folder = match random.below(10) {
        0..7 => format!("{artist}/{} - {title} {number}", shared.year),
        7..9 => format!("{artist}/{title} {number} ({})", shared.year),
        _ => format!("{artist} - {title} {number}"),
    };
    let mut folder = folder.into_bytes();
    if random.below(200) == 0 {
        folder.extend(b" \xe9t\xe9");
    }
    folder
}

fn song(
    shared: &Shared,
    folder: &[u8],
    (disc, track): (usize, usize),
    (seed, artist_count): (u64, usize),
    mut random: Random,
) -> Song {
    let title = names::title(&mut random);
    let mut people = vec![match shared.various {
        true => artist(seed, random.below(artist_count)),
        false => shared.artist.clone(),
    }];
    if random.percent(10) {
        people.push(artist(seed, random.below(artist_count)));
    }
    let shown: Vec<&str> = people.iter().map(|(name, _)| name.as_str()).collect();
    let shown = shown.join(" feat. ");
    let album_artist = if shared.various {
        "Various Artists"
    } else {
        &shared.artist.0
    };
    let mut fields = vec![
        ("title", title.clone()),
        ("artist", shown),
        ("album", shared.title.clone()),
        ("albumartist", album_artist.to_owned()),
        ("tracknumber", track.to_string()),
        ("date", shared.year.to_string()),
        ("genre", shared.genre.to_owned()),
    ];
    if shared.discs != 1 {
        fields.push(("discnumber", disc.to_string()));
    }
    if people.len() != 1 {
        fields.extend(people.iter().map(|(name, _)| ("artists", name.clone())));
    }
    if shared.various {
        fields.push(("compilation", "1".to_owned()));
    }
    if let Some(id) = &shared.release_id {
        fields.push(("musicbrainz_albumid", id.clone()));
        fields.extend(
            people
                .iter()
                .map(|(_, id)| ("musicbrainz_artistid", id.clone())),
        );
        fields.push(("musicbrainz_releasetrackid", uuid(&mut random)));
    }
    extras(&mut fields, &mut random);
    let mut path = folder.to_vec();
    if shared.discs != 1 {
        path.extend(format!("/CD {disc}").as_bytes());
    }
    let file = format!(
        "/{track:02} - {}.{}",
        names::file_name(&title),
        shared.kind.extension()
    );
    path.extend(file.as_bytes());
    Song {
        kind: shared.kind,
        path,
        random,
        fields,
        embeds: shared.embeds,
    }
}

/// Adds fields that only some songs have.
fn extras(fields: &mut Vec<(&'static str, String)>, random: &mut Random) {
    if random.percent(60) {
        let gain = random.below(2000) as f64 / 100.0 - 15.0;
        fields.push(("replaygain_track_gain", format!("{gain:.2} dB")));
    }
    if random.percent(20) {
        fields.push(("composer", names::artist(random)));
    }
    if random.percent(5) {
        let lines: Vec<String> = (0..random.within(8, 60))
            .map(|_| names::title(random))
            .collect();
        fields.push(("lyrics", lines.join("\n")));
    }
}

impl Album {
    /// Returns the album's cover: a copy of a picture of `art`, with a comment that makes the copy
    /// unique.
    pub(crate) fn cover(&self, art: &Art) -> Cover {
        let mut random = Random::new(self.seed);
        let large = random.percent(1);
        art.cover(&mut random, large)
    }

    /// Returns the path and content of the picture file in the album's folder, if the album has
    /// one.
    pub(crate) fn folder_art<'a>(&self, cover: &'a Cover) -> Option<(Vec<u8>, &'a [u8])> {
        let mut random = Random::apart(self.seed, 7);
        let name: &[u8] = if cover.is_png {
            b"/cover.png"
        } else {
            b"/folder.jpg"
        };
        random
            .percent(50)
            .then(|| ([&self.folder[..], name].concat(), &cover.bytes[..]))
    }
}
