use crate::from_path::{self, PathNames};
use crate::numbering::Numbering;
use crate::{Date, Field, Media, Splits, Tags};
use std::collections::HashSet;

/// Interpreted metadata of a music file: from its tags and, for missing fields, from its path.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "most names say it")]
pub struct Track {
    pub title: String,
    pub title_sort: Option<String>,
    pub subtitle: Option<String>,
    pub album: Option<String>,
    pub album_sort: Option<String>,
    /// Names of the artists, as displayed.
    pub artist: String,
    /// Names of the album's artists, as displayed.
    pub album_artist: String,
    /// All people that the tags name, grouped by role, otherwise in the file's order.
    pub people: Vec<Person>,
    pub genres: Vec<String>,
    pub moods: Vec<String>,
    /// Track number; 0 if unknown.
    pub number: u16,
    /// Number of tracks on the disc; 0 if unknown.
    pub total: u16,
    /// Disc number; 0 if unknown.
    pub disc: u16,
    /// Number of discs; 0 if unknown.
    pub discs: u16,
    pub disc_title: Option<String>,
    pub date: Option<Date>,
    pub original_date: Option<Date>,
    /// Types of the release, such as `album`, `live` or `compilation`, in lower case.
    pub release_types: Vec<String>,
    pub compilation: bool,
    pub explicit: bool,
    /// Beats per minute; 0 if unknown.
    pub bpm: u16,
    /// Gain of the track in 1/100 dB, relative to ReplayGain's reference level.
    pub track_gain_cdb: Option<i16>,
    /// Gain of the album in 1/100 dB, relative to ReplayGain's reference level.
    pub album_gain_cdb: Option<i16>,
    /// Peak of the track in millionths of full scale.
    pub track_peak_ppm: Option<u32>,
    /// Peak of the album in millionths of full scale.
    pub album_peak_ppm: Option<u32>,
    /// MusicBrainz id of the recording.
    pub recording_id: Option<String>,
    /// MusicBrainz id of the track on the release.
    pub release_track_id: Option<String>,
    /// MusicBrainz id of the release.
    pub release_id: Option<String>,
    /// MusicBrainz id of the release group.
    pub release_group_id: Option<String>,
}

/// A person or group that took part in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Role in the recording.
    pub role: Role,
    /// Name as written in the tag.
    pub name: String,
    /// Sort name, if stated.
    pub sort: Option<String>,
    /// MusicBrainz id, if stated.
    pub id: Option<String>,
    /// Instrument, if stated.
    pub part: Option<String>,
}

/// Role of a person or group in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Role {
    Artist = 0,
    AlbumArtist = 1,
    Composer = 2,
    Lyricist = 3,
    Writer = 4,
    Conductor = 5,
    Performer = 6,
    Remixer = 7,
    Arranger = 8,
    Producer = 9,
    Engineer = 10,
    Mixer = 11,
    DjMixer = 12,
}

/// Roles that have a tag field of their own, with this field and the field of their sort names.
const ROLES: &[(Role, Field, Option<Field>)] = &[
    (Role::Composer, Field::Composer, Some(Field::ComposerSort)),
    (Role::Lyricist, Field::Lyricist, None),
    (Role::Writer, Field::Writer, None),
    (Role::Conductor, Field::Conductor, None),
    (Role::Performer, Field::Performer, None),
    (Role::Remixer, Field::Remixer, None),
    (Role::Arranger, Field::Arranger, None),
    (Role::Producer, Field::Producer, None),
    (Role::Engineer, Field::Engineer, None),
    (Role::Mixer, Field::Mixer, None),
    (Role::DjMixer, Field::DjMixer, None),
];

/// Maximum number of genres, of moods, of release types, and of names in one role. Further values
/// are ignored. A file with more values is broken, or was made to exhaust the space of the index.
const NAMES_MAX: usize = 1024;
/// Number of sides of one vinyl record.
const SIDES: u16 = 2;
/// Album artist of a compilation whose tags name no album artist.
const VARIOUS: &str = "Various Artists";
/// Artist of a track whose tags name no artist.
const UNKNOWN: &str = "Unknown Artist";
/// Difference between R128's reference of −23 LUFS and ReplayGain's of −18, in 1/100 dB.
const R128_TO_REPLAYGAIN_CDB: i32 = 500;

impl Track {
    /// Interprets the tags of a file. `path` is the path of the file relative to the library's
    /// root.
    #[must_use]
    pub fn new(media: &Media, path: &[u8], splits: &Splits) -> Track {
        let tags = &media.tags;
        let mut track = Track::default();
        track.texts(tags);
        track.numbers(tags);
        track.loudness(tags);
        let genres = tags.all(Field::Genre);
        let mut known = HashSet::new();
        let genres = genres
            .flat_map(|genre| splits.genres(genre))
            .filter(|part| known.insert(*part));
        track.genres = genres.take(NAMES_MAX).map(str::to_owned).collect();
        track.artists(tags, splits);
        let is_named = !track.title.is_empty()
            && track.album.is_some()
            && !track.artist.is_empty()
            && track.number != 0;
        if !is_named {
            track.complete(from_path::read(path));
        }
        track.album_artists(tags, splits);
        for &(role, field, sort) in ROLES {
            let names: Vec<&str> = tags.all(field).collect();
            let sorts = sort.map_or_else(Vec::new, |sort| tags.all(sort).collect());
            track.people(role, &names, &sorts, &[]);
        }
        track
    }

    fn texts(&mut self, tags: &Tags) {
        let text = |field| tags.first(field).map(str::to_owned);
        self.title = text(Field::Title).unwrap_or_else(String::new);
        self.title_sort = text(Field::TitleSort);
        self.subtitle = text(Field::Subtitle);
        self.album = text(Field::Album);
        self.album_sort = text(Field::AlbumSort);
        self.disc_title = text(Field::DiscSubtitle);
        self.recording_id = text(Field::RecordingId);
        self.release_track_id = text(Field::ReleaseTrackId);
        self.release_id = text(Field::ReleaseId);
        self.release_group_id = text(Field::ReleaseGroupId);
        let moods = tags.all(Field::Mood).take(NAMES_MAX);
        self.moods = moods.map(str::to_owned).collect();
        let types = tags
            .all(Field::ReleaseType)
            .flat_map(|types| types.split([';', '/']));
        let types = types.take(NAMES_MAX);
        self.release_types = types.map(|kind| kind.trim().to_lowercase()).collect();
        let date = |field| tags.all(field).find_map(Date::parse);
        self.date = date(Field::Date).or_else(|| date(Field::ReleaseDate));
        self.original_date = date(Field::OriginalDate);
        let compilation = tags.first(Field::Compilation);
        self.compilation = compilation.is_some_and(|value| value != "0");
        // In tags written by iTunes, 1 and 4 mean explicit, and 2 means clean.
        self.explicit = matches!(tags.first(Field::Explicit), Some("1" | "4"));
    }

    fn numbers(&mut self, tags: &Tags) {
        let numbers = |field, total| {
            let numbering = tags
                .first(field)
                .map_or_else(Numbering::default, Numbering::parse);
            let total = tags.first(total).and_then(|total| total.parse().ok());
            (numbering, total.unwrap_or(numbering.total))
        };
        let (track, total) = numbers(Field::TrackNumber, Field::TrackTotal);
        let (disc, discs) = numbers(Field::DiscNumber, Field::DiscTotal);
        (self.number, self.total) = (track.number, total);
        (self.disc, self.discs) = (if disc.side == 0 { disc.number } else { 0 }, discs);
        if self.disc == 0 {
            self.disc = track.disc;
        }
        if track.side != 0 {
            // Each side of a record counts as a disc, since players sort by disc and number. Some
            // writers start again with side A on the second record.
            let is_again = track.side <= SIDES && 1 < self.disc;
            let before = if is_again {
                (self.disc - 1).saturating_mul(SIDES)
            } else {
                0
            };
            self.disc = before.saturating_add(track.side);
            self.discs = self.discs.saturating_mul(SIDES);
        }
        let bpm = tags.first(Field::Bpm).and_then(|text| {
            let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            decimal(digits)
        });
        // The cast saturates.
        self.bpm = bpm.map_or(0, |bpm| bpm.round() as u16);
    }

    fn loudness(&mut self, tags: &Tags) {
        let number = |field| {
            let text: &str = tags.first(field)?;
            decimal(text)
        };
        let gain = |field, r128| {
            let cdb = number(field).map(|db| db * 100.0).or_else(|| {
                let q8_db: f64 = number(r128)?;
                Some(q8_db / 2.56 + f64::from(R128_TO_REPLAYGAIN_CDB))
            });
            // The cast saturates; no real gain exceeds ±327 dB.
            cdb.map(|cdb| cdb.round() as i16)
        };
        let peak = |field| number(field).map(|peak| (peak * 1e6).round() as u32);
        self.track_gain_cdb = gain(Field::TrackGain, Field::R128TrackGain);
        self.album_gain_cdb = gain(Field::AlbumGain, Field::R128AlbumGain);
        self.track_peak_ppm = peak(Field::TrackPeak);
        self.album_peak_ppm = peak(Field::AlbumPeak);
    }

    fn artists(&mut self, tags: &Tags, splits: &Splits) {
        let shown: Vec<&str> = tags.all(Field::Artist).collect();
        self.artist = shown.join(", ");
        let each: Vec<&str> = tags.all(Field::Artists).collect();
        let names = if each.is_empty() { &shown } else { &each };
        let names: Vec<&str> = names.iter().flat_map(|name| splits.artists(name)).collect();
        if self.artist.is_empty() {
            self.artist = names.join(", ");
        }
        let sorts: Vec<&str> = tags.all(Field::ArtistSort).collect();
        let ids: Vec<&str> = tags.all(Field::ArtistId).flat_map(ids_in).collect();
        self.people(Role::Artist, &names, &sorts, &ids);
    }

    fn album_artists(&mut self, tags: &Tags, splits: &Splits) {
        let shown: Vec<&str> = tags.all(Field::AlbumArtist).collect();
        self.album_artist = shown.join(", ");
        let each: Vec<&str> = tags.all(Field::AlbumArtists).collect();
        let names = if each.is_empty() { &shown } else { &each };
        let names: Vec<&str> = names.iter().flat_map(|name| splits.artists(name)).collect();
        if !names.is_empty() {
            if self.album_artist.is_empty() {
                self.album_artist = names.join(", ");
            }
            let sorts: Vec<&str> = tags.all(Field::AlbumArtistSort).collect();
            let ids: Vec<&str> = tags.all(Field::AlbumArtistId).flat_map(ids_in).collect();
            self.people(Role::AlbumArtist, &names, &sorts, &ids);
        } else if self.compilation {
            self.album_artist = VARIOUS.to_owned();
            self.people(Role::AlbumArtist, &[VARIOUS], &[], &[]);
        } else {
            // The tags name no album artist, so the first artist of the track is used. The other
            // artists may appear on this track only.
            if let Some(first) = self.people.first().cloned() {
                self.album_artist.clone_from(&first.name);
                let role = Role::AlbumArtist;
                self.people.push(Person { role, ..first });
            }
        }
    }

    /// Adds the people of one role. Sort names and ids are used only if there is exactly one per
    /// name.
    fn people(&mut self, role: Role, names: &[&str], sorts: &[&str], ids: &[&str]) {
        let beside = |list: &[&str], index: usize| {
            let found = list.get(index).filter(|_| list.len() == names.len());
            found.map(|&text| text.to_owned())
        };
        for (index, &name) in names.iter().enumerate().take(NAMES_MAX) {
            let (name, part) = match role {
                Role::Performer => instrument(name),
                _ => (name, None),
            };
            self.people.push(Person {
                role,
                name: name.to_owned(),
                sort: beside(sorts, index),
                id: beside(ids, index),
                part: part.map(str::to_owned),
            });
        }
    }

    /// Fills missing fields from the path.
    fn complete(&mut self, named: PathNames) {
        if self.title.is_empty() {
            self.title = named.title;
            self.number = if self.number == 0 {
                named.number.unwrap_or(0)
            } else {
                self.number
            };
        }
        if self.artist.is_empty() {
            self.artist = named.artist.unwrap_or_else(|| UNKNOWN.to_owned());
            let artist = self.artist.clone();
            self.people(Role::Artist, &[&artist], &[], &[]);
        }
        if self.album.is_none() {
            self.album = named.album;
            self.disc = if self.disc == 0 {
                named.disc.unwrap_or(0)
            } else {
                self.disc
            };
            let year = named.year.map(|year| Date {
                year,
                month: 0,
                day: 0,
            });
            self.date = self.date.or(year);
        }
        if self.number == 0 {
            self.number = named.number.unwrap_or(0);
        }
    }
}

/// Parses the number at the start of a text.
fn decimal(text: &str) -> Option<f64> {
    let is_part = |letter| matches!(letter, '0'..='9' | '.' | ',' | '-' | '+');
    let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    // A comma is accepted as the decimal point. A number with two commas or points is rejected.
    let number: f64 = text[..end].replace(',', ".").parse().ok()?;
    number.is_finite().then_some(number)
}

/// Splits a value into ids: ID3v2.3 stores several in one value.
fn ids_in(value: &str) -> impl Iterator<Item = &str> {
    value
        .split(['/', ';'])
        .map(str::trim)
        .filter(|id| !id.is_empty())
}

/// Splits `Name (instrument)` into the name and the instrument.
fn instrument(value: &str) -> (&str, Option<&str>) {
    let split = value
        .strip_suffix(')')
        .and_then(|value| value.rsplit_once(" ("));
    match split {
        Some((name, part)) if !name.is_empty() && !part.is_empty() => (name, Some(part)),
        _ => (value, None),
    }
}
