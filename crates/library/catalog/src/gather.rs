//! Collection of artists, albums and genres from the tags of the files.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use hashbrown::HashMap;
use tags::{Date, Role, Track};

use crate::layout::{ArtistId, hash};
use crate::name::{identity, order};
use crate::{Content, Entry};

/// Objects of a library that is collected but not yet written. They refer to each other by row.
pub(crate) struct Library {
    pub(crate) songs: Vec<Song>,
    pub(crate) albums: Vec<AlbumRow>,
    pub(crate) artists: Vec<ArtistRow>,
    pub(crate) genres: Vec<GenreRow>,
}

/// Track, while a catalog is being built. Tracks are sorted by album, disc and track number.
pub(crate) struct Song {
    /// Index, among the entries, of the track's file.
    pub(crate) entry: usize,
    pub(crate) id: u64,
    pub(crate) track: Box<Track>,
    pub(crate) album: usize,
    pub(crate) artists: Vec<usize>,
    pub(crate) genres: Vec<usize>,
}

#[derive(Default)]
pub(crate) struct AlbumRow {
    pub(crate) id: u64,
    pub(crate) title: String,
    pub(crate) sort: String,
    pub(crate) artist: String,
    pub(crate) artists: Vec<usize>,
    pub(crate) first_song: usize,
    pub(crate) songs: usize,
    pub(crate) date: Option<Date>,
    pub(crate) original_date: Option<Date>,
    pub(crate) genres: Vec<usize>,
    /// Index, among the entries, of the file that contains the album's cover, if any.
    pub(crate) cover: Option<usize>,
    pub(crate) compilation: bool,
    pub(crate) duration_s: u64,
}

#[derive(Default)]
pub(crate) struct ArtistRow {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) sort: String,
    pub(crate) albums: Vec<usize>,
    pub(crate) tracks: u32,
    /// Set of the roles in which the artist occurs: bit `role as u8` for each role.
    pub(crate) roles: u32,
}

#[derive(Default)]
pub(crate) struct GenreRow {
    pub(crate) name: String,
    pub(crate) tracks: u32,
    pub(crate) albums: u32,
}

/// Beginnings of the names of cover files, in order of preference.
const COVER_NAMES: [&str; 4] = ["cover", "folder", "front", "album"];

/// Collects a library from `entries`, which are sorted by path. `tracks` contains the tracks of the
/// music files in the same order, each with the index of its entry.
pub(crate) fn gather(entries: &[Entry], tracks: Vec<(usize, Box<Track>)>) -> Library {
    let mut songs = songs(entries, tracks);
    number_ids(entries, &mut songs);
    let names = Names::default();
    let ids = ArtistIds::new(&songs, &names);
    let mut artists = order_artists(&songs, &ids);
    let genres = order_genres(&mut songs, &names);
    let mut albums = order_albums(entries, &mut songs, &names);
    let rows: HashMap<u64, usize> = (0..)
        .zip(&artists)
        .map(|(row, artist)| (artist.id, row))
        .collect();
    for song in &mut songs {
        song.artists = ids.rows(&rows, &song.track, Role::Artist);
    }
    for (row, album) in albums.iter_mut().enumerate() {
        let first = &songs[album.first_song];
        album.artists = ids.rows(&rows, &first.track, Role::AlbumArtist);
        let of_songs = &songs[album.first_song..][..album.songs];
        let mut of_album: BTreeSet<usize> = album.artists.iter().copied().collect();
        for &artist in &album.artists {
            artists[artist].roles |= 1 << Role::AlbumArtist as u8;
        }
        for song in of_songs {
            let mut of_song: BTreeSet<usize> = BTreeSet::new();
            for role in [Role::Artist, Role::Composer, Role::Conductor] {
                let named = match role {
                    Role::Artist => song.artists.clone(),
                    role => ids.rows(&rows, &song.track, role),
                };
                for artist in named {
                    artists[artist].roles |= 1 << role as u8;
                    of_song.insert(artist);
                }
            }
            of_song
                .iter()
                .for_each(|&artist| artists[artist].tracks += 1);
            of_album.append(&mut of_song);
        }
        for artist in of_album {
            artists[artist].albums.push(row);
        }
    }
    let mut library = Library {
        songs,
        albums,
        artists,
        genres,
    };
    library.count_genres();
    library
}

fn songs(entries: &[Entry], tracks: Vec<(usize, Box<Track>)>) -> Vec<Song> {
    let songs = tracks.into_iter().map(|(entry, track)| {
        let Content::Music(media) = &entries[entry].content else {
            unreachable!("tracks are made only from music");
        };
        Song {
            entry,
            id: media.audio_hash.0,
            track,
            album: 0,
            artists: Vec::new(),
            genres: Vec::new(),
        }
    });
    songs.collect()
}

/// Assigns ids to tracks. Of several files with the same audio, the one that was created first gets
/// the audio hash as its id. The ids of the other files are derived from the hash and their
/// creation times. So no id depends on tags, and ids depend on paths only if creation times are
/// equal or unknown. If the first file is removed, the next one gets the audio hash as its id.
fn number_ids(entries: &[Entry], songs: &mut [Song]) {
    let mut order: Vec<(u64, i64, usize, usize)> = (0..)
        .zip(&*songs)
        .map(|(row, song)| (song.id, entries[song.entry].stat.born_ns, song.entry, row))
        .collect();
    // If the creation times are equal or unknown, the order of the paths decides, since the entries
    // are sorted by path.
    order.sort_unstable();
    for same in order.chunk_by(|one, next| one.0 == next.0) {
        let first = same[0].1;
        for at_once in same.chunk_by(|one, next| one.1 == next.1) {
            for (place, &(audio_hash, born_ns, _, row)) in (0_u64..).zip(at_once) {
                if (born_ns, place) != (first, 0) {
                    let (audio_hash, born) = (audio_hash.to_le_bytes(), born_ns.to_le_bytes());
                    songs[row].id = hash(&[b"copy", &audio_hash, &born, &place.to_le_bytes()]);
                }
            }
        }
    }
}

/// Ids of artists by their names. The id of an artist is derived from the MusicBrainz id if the
/// files contain exactly one for the name, and otherwise from the name.
struct ArtistIds {
    /// Map from the name, as written in tags, to its MusicBrainz ids. Each is paired with the id of
    /// the artist in the index. `None` stands for files without a MusicBrainz id.
    known: HashMap<String, Vec<(Option<String>, u64)>>,
}

impl ArtistIds {
    fn new(songs: &[Song], names: &Names) -> ArtistIds {
        let mut known: HashMap<String, Vec<(Option<String>, u64)>> = HashMap::new();
        let mut by_name: HashMap<Rc<str>, BTreeSet<String>> = HashMap::new();
        for person in songs.iter().flat_map(|song| &song.track.people) {
            let written = known.entry_ref(&*person.name).or_default();
            if written.iter().any(|(id, _)| *id == person.id) {
                continue;
            }
            written.push((person.id.clone(), 0));
            if let Some(id) = &person.id {
                let ids = by_name.entry(names.key(&person.name)).or_default();
                ids.insert(id.clone());
            }
        }
        for (name, written) in &mut known {
            let key = names.key(name);
            let only = by_name.get(&key).filter(|ids| ids.len() == 1);
            for (given, ours) in written {
                let id = given.as_ref().or_else(|| only.and_then(BTreeSet::first));
                *ours = match id {
                    Some(id) => ArtistId::of_musicbrainz(id).0,
                    None => hash(&[b"artist", key.as_bytes()]),
                };
            }
        }
        ArtistIds { known }
    }

    fn id(&self, person: &tags::Person) -> u64 {
        let mut written = self.known[&person.name].iter();
        let found = written.find(|(id, _)| *id == person.id);
        found.expect("`ArtistIds::new` saw every person").1
    }

    fn rows(&self, rows: &HashMap<u64, usize>, track: &Track, role: Role) -> Vec<usize> {
        let people = track.people.iter().filter(|person| person.role == role);
        let mut found: Vec<usize> = Vec::new();
        for row in people.map(|person| rows[&self.id(person)]) {
            if !found.contains(&row) {
                found.push(row);
            }
        }
        found
    }
}

/// Cache of the forms in which names are compared, since most names occur in many files.
#[derive(Default)]
struct Names(RefCell<HashMap<String, Rc<str>>>);

impl Names {
    fn key(&self, name: &str) -> Rc<str> {
        let mut known = self.0.borrow_mut();
        match known.get(name) {
            Some(key) => Rc::clone(key),
            None => {
                let key: Rc<str> = identity(name).into();
                known.insert(name.to_owned(), Rc::clone(&key));
                key
            }
        }
    }
}

/// Returns whether the list of artists includes people with this role.
fn is_shown(role: Role) -> bool {
    matches!(
        role,
        Role::Artist | Role::AlbumArtist | Role::Composer | Role::Conductor
    )
}

fn order_artists(songs: &[Song], ids: &ArtistIds) -> Vec<ArtistRow> {
    let mut found: HashMap<u64, ArtistRow> = HashMap::new();
    for person in songs.iter().flat_map(|song| &song.track.people) {
        if !is_shown(person.role) {
            continue;
        }
        let id = ids.id(person);
        let artist = found.entry(id).or_insert_with(|| ArtistRow {
            id,
            name: person.name.clone(),
            ..ArtistRow::default()
        });
        if let Some(sort) = &person.sort
            && artist.sort.is_empty()
        {
            artist.sort.clone_from(sort);
        }
    }
    // The artists are sorted by name and id, since the order of a hash map is random.
    let mut artists: Vec<ArtistRow> = found.into_values().collect();
    artists.sort_by_cached_key(|artist| {
        let name = if artist.sort.is_empty() {
            &artist.name
        } else {
            &artist.sort
        };
        (order(name), artist.id)
    });
    artists
}

fn order_genres(songs: &mut [Song], names: &Names) -> Vec<GenreRow> {
    let mut found: HashMap<Rc<str>, GenreRow> = HashMap::new();
    for genre in songs.iter().flat_map(|song| &song.track.genres) {
        found.entry(names.key(genre)).or_insert_with(|| GenreRow {
            name: genre.clone(),
            ..GenreRow::default()
        });
    }
    let mut genres: Vec<(Rc<str>, GenreRow)> = found.into_iter().collect();
    genres.sort_by_cached_key(|(_, genre)| order(&genre.name));
    let rows: HashMap<Rc<str>, usize> = genres
        .iter()
        .map(|(key, _)| Rc::clone(key))
        .zip(0..)
        .collect();
    for song in songs {
        let genres = song.track.genres.iter();
        let genres = genres.map(|genre| rows[&names.key(genre)]);
        song.genres = genres.collect::<BTreeSet<_>>().into_iter().collect();
    }
    genres.into_iter().map(|(_, genre)| genre).collect()
}

/// Sorts the albums by title and the tracks by album, and sets the album of each track.
fn order_albums(entries: &[Entry], songs: &mut [Song], names: &Names) -> Vec<AlbumRow> {
    let mut keys: HashMap<u64, (String, String)> = HashMap::new();
    let ids = songs.iter().map(|song| album_id(entries, song, names));
    let ids: Vec<u64> = ids.collect();
    for (song, &id) in songs.iter().zip(&ids) {
        let track = &song.track;
        let title = track.album_sort.as_ref().or(track.album.as_ref());
        keys.entry(id)
            .or_insert_with(|| title.map_or_else(Default::default, |title| order(title)));
    }
    let mut by_title: Vec<(&(String, String), u64)> =
        keys.iter().map(|(&id, key)| (key, id)).collect();
    by_title.sort_unstable();
    let rows: HashMap<u64, usize> = by_title.iter().map(|&(_, id)| id).zip(0..).collect();
    for (song, id) in songs.iter_mut().zip(&ids) {
        song.album = rows[id];
    }
    songs.sort_by_cached_key(|song| {
        let track = &song.track;
        (song.album, track.disc, track.number, song.entry)
    });
    let photos = cover_files(entries);
    let mut albums: Vec<AlbumRow> = Vec::with_capacity(by_title.len());
    for (at, song) in songs.iter().enumerate() {
        if song.album == albums.len() {
            let (_, id) = by_title[song.album];
            albums.push(album(entries, id, at, song));
        }
        let album = albums
            .last_mut()
            .expect("the first song begins the first album");
        album.songs += 1;
        if let Content::Music(media) = &entries[song.entry].content {
            album.duration_s += media.audio.duration_ms / 1000;
            let beside = photos.get(folder(&entries[song.entry].path)).copied();
            let inside = media.cover().map(|_| song.entry);
            album.cover = album.cover.or(beside).or(inside);
        }
        for &genre in &song.genres {
            if !album.genres.contains(&genre) {
                album.genres.push(genre);
            }
        }
    }
    albums
}

fn album(entries: &[Entry], id: u64, first_song: usize, song: &Song) -> AlbumRow {
    let track = &song.track;
    let title = track.album.clone();
    AlbumRow {
        id,
        title: title.unwrap_or_else(|| {
            let folder = folder(&entries[song.entry].path);
            let name = folder.rsplit(|&byte| byte == b'/').next();
            String::from_utf8_lossy(name.unwrap_or(folder)).into_owned()
        }),
        sort: track.album_sort.clone().unwrap_or_default(),
        artist: track.album_artist.clone(),
        first_song,
        date: track.date,
        original_date: track.original_date,
        compilation: track.compilation,
        ..AlbumRow::default()
    }
}

/// Returns the id of the album of a track. The id is derived from the MusicBrainz id of the release
/// if the tags contain it, else from the names of artist and album, else from the folder.
fn album_id(entries: &[Entry], song: &Song, names: &Names) -> u64 {
    let track = &song.track;
    match (&track.release_id, &track.album) {
        (Some(release), _) => hash(&[b"musicbrainz release", release.as_bytes()]),
        (None, Some(title)) => {
            let (artist, title) = (names.key(&track.album_artist), names.key(title));
            hash(&[b"album", artist.as_bytes(), title.as_bytes()])
        }
        (None, None) => hash(&[b"folder", folder(&entries[song.entry].path)]),
    }
}

pub(crate) fn folder(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte == b'/');
    &path[..end.unwrap_or(0)]
}

/// Returns the cover file of each folder: the picture whose name begins with the earliest item of
/// [`COVER_NAMES`].
fn cover_files(entries: &[Entry]) -> HashMap<&[u8], usize> {
    let mut found: HashMap<&[u8], (usize, usize)> = HashMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if !matches!(entry.content, Content::Photo(_)) {
            continue;
        }
        let folder = folder(&entry.path);
        let name = entry.path[folder.len()..].trim_ascii_start();
        let name = name.strip_prefix(b"/").unwrap_or(name);
        let begins = |word: &&str| {
            name.get(..word.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
        };
        if let Some(rank) = COVER_NAMES.iter().position(begins) {
            let best = found.entry(folder).or_insert((rank, index));
            *best = (*best).min((rank, index));
        }
    }
    found
        .into_iter()
        .map(|(folder, (_, index))| (folder, index))
        .collect()
}

impl Library {
    fn count_genres(&mut self) {
        for genre in self.songs.iter().flat_map(|song| &song.genres) {
            self.genres[*genre].tracks += 1;
        }
        for genre in self.albums.iter().flat_map(|album| &album.genres) {
            self.genres[*genre].albums += 1;
        }
    }
}
