//! Builder of the index file of a library.

use hashbrown::HashMap;
use tags::{Role, Splits};
use zerocopy::{Immutable, IntoBytes};

use crate::fact::{Fact, Title};
use crate::fold::{fold, joined, searched, words};
use crate::gather::{Library, Song, folder, gather};
use crate::layout::{
    self, AlbumRow, ArtistRow, BODY_START, DeviceRow, FileRow, FolderRow, GenreRow, HEAD_BYTES,
    Head, IdRow, MAGIC, PhotoRow, PlaylistRow, SECTIONS, Section, SectionSpan, TrackRow, VERSION,
    WordRow, pack_date,
};
use crate::photos::{PhotoWords, Photograph, photo_words, photographs};
use crate::strings::Strings;
use crate::sums;
use crate::{Catalog, Content, Draft, Entry, playlists, record};

/// Builds the index of `entries`, which may be in any order. `splits` contains the separators at
/// which tags are split into several names.
///
/// # Panics
/// If two entries have the same path, or if a count or an offset in the index would reach 2³².
#[must_use]
pub fn build(entries: Vec<Entry>, splits: &Splits) -> Vec<u8> {
    let drafts = entries.into_iter().map(|entry| Draft::new(entry, splits));
    let library = Draft::gather(drafts.collect(), splits);
    library.finish(library.rows(), library.words())
}

impl Draft {
    /// Collects all drafts of a library, in any order. All drafts must have been made with
    /// `splits`.
    ///
    /// # Panics
    /// If two drafts have the same path.
    #[must_use]
    pub fn gather(mut drafts: Vec<Draft>, splits: &Splits) -> LibraryDraft {
        drafts.sort_by(|a, b| a.entry.path.cmp(&b.entry.path));
        let (mut entries, mut tracks) = (Vec::with_capacity(drafts.len()), Vec::new());
        for Draft { entry, track } in drafts {
            tracks.extend(track.map(|track| (entries.len(), track)));
            entries.push(entry);
        }
        let twice = entries
            .windows(2)
            .find(|pair: &&[Entry]| pair[0].path == pair[1].path);
        assert!(twice.is_none(), "two entries have the same path");
        let library = gather(&entries, tracks);
        LibraryDraft {
            photos: photographs(&entries),
            entries,
            library,
            splits: layout::hash_of(splits),
        }
    }
}

/// Collected library that is not yet encoded as an index. Two threads can encode it: one makes the
/// rows of the tables, the other makes the words for searches.
pub struct LibraryDraft {
    entries: Vec<Entry>,
    library: Library,
    photos: Vec<Photograph>,
    splits: u64,
}

/// All sections of an index except those for searches by words.
pub struct Rows(Writer);

/// Words of all names, and the objects in whose names they occur.
pub struct Words {
    texts: Vec<Box<str>>,
    postings: Vec<Posting>,
    photos: PhotoWords,
}

impl LibraryDraft {
    /// Returns the rows of files, tracks, albums and all other objects.
    ///
    /// # Panics
    /// If a count or an offset in the index would reach 2³². [`LibraryDraft::words`] and
    /// [`LibraryDraft::finish`] panic in this case, too.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut writer = Writer::new();
        writer.files(&self.entries);
        writer.library(&self.entries, &self.library);
        writer.photos(&self.photos);
        writer.playlists(&self.entries, &self.library);
        let splits = writer.section(Section::Splits);
        splits.extend(self.splits.to_le_bytes());
        Rows(writer)
    }

    /// Returns the words of all names, for searches.
    #[must_use]
    pub fn words(&self) -> Words {
        let photos = photo_words(&self.entries, &self.photos);
        words_of(&self.library).sorted(photos)
    }

    /// Returns the bytes of the complete index.
    #[must_use]
    pub fn finish(&self, rows: Rows, words: Words) -> Vec<u8> {
        let Rows(mut writer) = rows;
        writer.words(words);
        writer.finish()
    }
}

impl<B: AsRef<[u8]> + From<Vec<u8>>> Catalog<B> {
    /// Returns the catalog of a library that contains no files.
    #[must_use]
    pub fn empty() -> Catalog<B> {
        let bytes = build(Vec::new(), &Splits::default());
        Catalog::open(B::from(bytes)).expect("an index that was just built is whole")
    }
}

struct Writer {
    strings: Strings,
    sections: [Vec<u8>; SECTIONS],
    lists: HashMap<Vec<usize>, u32>,
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("counts below 2³²")
}

impl Writer {
    fn new() -> Writer {
        Writer {
            strings: Strings::new(),
            sections: Default::default(),
            lists: HashMap::new(),
        }
    }

    fn section(&mut self, section: Section) -> &mut Vec<u8> {
        &mut self.sections[section as usize]
    }

    fn row<R: IntoBytes + Immutable>(&mut self, section: Section, row: &R) {
        self.section(section).extend_from_slice(row.as_bytes());
    }

    fn text(&mut self, text: &str) -> u32 {
        self.strings.reference(text.as_bytes())
    }

    /// Stores a list of rows and returns a reference to it. Equal lists are stored only once.
    fn list(&mut self, rows: &[usize]) -> u32 {
        if let Some(&known) = self.lists.get(rows) {
            return known;
        }
        let lists = &mut self.sections[Section::Lists as usize];
        let reference = number(lists.len() / 4);
        lists.extend(number(rows.len()).to_le_bytes());
        rows.iter()
            .for_each(|&row| lists.extend(number(row).to_le_bytes()));
        self.lists.insert(rows.to_vec(), reference);
        reference
    }

    fn files(&mut self, entries: &[Entry]) {
        let mut folders: HashMap<&[u8], u32> = HashMap::from([(&b""[..], 0)]);
        self.row(
            Section::Folders,
            &FolderRow {
                parent: 0.into(),
                name: 0.into(),
            },
        );
        let mut devices: Vec<u64> = Vec::new();
        for entry in entries {
            let parent = folder(&entry.path);
            let parent_row = self.folder(&mut folders, parent);
            let name = entry.path[parent.len()..].strip_prefix(b"/");
            let name = self.strings.reference(name.unwrap_or(&entry.path));
            let device = devices
                .iter()
                .position(|device| *device == entry.stat.device);
            let device = device.unwrap_or_else(|| {
                devices.push(entry.stat.device);
                devices.len() - 1
            });
            let record = number(self.sections[Section::Records as usize].len());
            let kind = self.record(entry);
            let device = u16::try_from(device).expect("devices below 2¹⁶");
            let row = FileRow {
                folder: parent_row.into(),
                name: name.into(),
                inode: entry.stat.inode.into(),
                size: entry.stat.size.into(),
                mtime_ns: entry.stat.mtime_ns.into(),
                record: record.into(),
                device: device.into(),
                content: kind,
                issues: has_issues(entry).into(),
                born_ns: entry.stat.born_ns.into(),
            };
            self.row(Section::Files, &row);
        }
        for device in devices {
            let device = device.into();
            self.row(Section::Devices, &DeviceRow { device });
        }
    }

    fn folder<'a>(&mut self, folders: &mut HashMap<&'a [u8], u32>, path: &'a [u8]) -> u32 {
        // First finds the nearest parent folder that has a row, then adds the missing folders below
        // it. Recursion is avoided, since paths may be very deep.
        let mut missing = Vec::new();
        let mut at = path;
        let mut row = loop {
            match folders.get(at) {
                Some(&row) => break row,
                None => {
                    missing.push(at);
                    at = folder(at);
                }
            }
        };
        while let Some(path) = missing.pop() {
            let start = folder(path).len();
            let name = &path[start..];
            let name = self
                .strings
                .reference(name.strip_prefix(b"/").unwrap_or(name));
            let added = FolderRow {
                parent: row.into(),
                name: name.into(),
            };
            self.row(Section::Folders, &added);
            row = number(folders.len());
            folders.insert(path, row);
        }
        row
    }

    fn record(&mut self, entry: &Entry) -> u8 {
        let (out, strings) = (
            &mut self.sections[Section::Records as usize],
            &mut self.strings,
        );
        match &entry.content {
            Content::Music(media) => {
                record::put_media(out, media, strings);
                layout::MUSIC
            }
            Content::Photo(photo) => {
                record::put_photo(out, photo, strings);
                layout::PHOTO
            }
            Content::Listing(listing) => {
                record::put_listing(out, listing, strings);
                layout::LISTING
            }
            Content::Unreadable(reason) => {
                let reason = strings.reference(reason.as_bytes());
                layout::put_number(out, reason.into());
                layout::UNREADABLE
            }
        }
    }

    fn library(&mut self, entries: &[Entry], library: &Library) {
        for song in &library.songs {
            self.track(entries, song);
        }
        self.ids(Section::TrackIds, library.songs.iter().map(|song| song.id));
        for album in &library.albums {
            let flags = if album.compilation {
                layout::COMPILATION
            } else {
                0
            };
            let row = AlbumRow {
                id: album.id.into(),
                title: self.text(&album.title).into(),
                sort: self.text(&album.sort).into(),
                artist: self.text(&album.artist).into(),
                artists: self.list(&album.artists).into(),
                first_track: number(album.first_song).into(),
                tracks: number(album.songs).into(),
                date: pack_date(album.date).into(),
                original_date: pack_date(album.original_date).into(),
                genres: self.list(&album.genres).into(),
                cover: album.cover.map_or(0, |entry| number(entry) + 1).into(),
                flags: u32::from(flags).into(),
                duration_s: u32::try_from(album.duration_s).unwrap_or(u32::MAX).into(),
            };
            self.row(Section::Albums, &row);
        }
        self.ids(
            Section::AlbumIds,
            library.albums.iter().map(|album| album.id),
        );
        for artist in &library.artists {
            let row = ArtistRow {
                id: artist.id.into(),
                name: self.text(&artist.name).into(),
                sort: self.text(&artist.sort).into(),
                albums: self.list(&artist.albums).into(),
                tracks: artist.tracks.into(),
                roles: artist.roles.into(),
            };
            self.row(Section::Artists, &row);
        }
        self.ids(
            Section::ArtistIds,
            library.artists.iter().map(|artist| artist.id),
        );
        for genre in &library.genres {
            let row = GenreRow {
                name: self.text(&genre.name).into(),
                tracks: genre.tracks.into(),
                albums: genre.albums.into(),
            };
            self.row(Section::Genres, &row);
        }
    }

    fn track(&mut self, entries: &[Entry], song: &Song) {
        let track = &song.track;
        let Content::Music(media) = &entries[song.entry].content else {
            unreachable!("songs are made only from music");
        };
        let flags = if track.compilation {
            layout::COMPILATION
        } else {
            0
        } | if track.explicit { layout::EXPLICIT } else { 0 };
        let kbps = (media.audio.bitrate_bps / 1000).min(layout::KBPS_MAX);
        let row = TrackRow {
            id: song.id.into(),
            file: number(song.entry).into(),
            title: self.text(&track.title).into(),
            artist: self.text(&track.artist).into(),
            album: number(song.album).into(),
            artists: self.list(&song.artists).into(),
            genres: self.list(&song.genres).into(),
            duration_ms: u32::try_from(media.audio.duration_ms)
                .unwrap_or(u32::MAX)
                .into(),
            date: pack_date(track.date).into(),
            disc: u8::try_from(track.disc).unwrap_or(u8::MAX),
            codec: media.audio.codec as u8,
            number: track.number.into(),
            kbps_and_flags: (kbps | u32::from(flags) << 24).into(),
        };
        self.row(Section::Tracks, &row);
    }

    fn ids(&mut self, section: Section, ids: impl Iterator<Item = u64>) {
        let mut rows: Vec<(u64, u32)> = ids.zip(0..).collect();
        rows.sort_unstable();
        for (id, row) in rows {
            let (id, row) = (id.into(), row.into());
            self.row(section, &IdRow { id, row });
        }
    }

    fn photos(&mut self, photos: &[Photograph]) {
        for photo in photos {
            let row = PhotoRow {
                id: photo.id.into(),
                taken_s: photo.taken_s.into(),
                file: number(photo.file).into(),
                ratio: photo.ratio.into(),
                flags: photo.flags.into(),
            };
            self.row(Section::Photos, &row);
        }
        self.ids(Section::PhotoIds, photos.iter().map(|photo| photo.id));
    }

    fn playlists(&mut self, entries: &[Entry], library: &Library) {
        let lists = entries.iter().enumerate();
        let lists = lists.filter_map(|(file, entry)| match &entry.content {
            Content::Listing(listing) => Some((file, &entry.path, listing)),
            _ => None,
        });
        let mut rows: HashMap<usize, usize> = HashMap::new();
        let mut found = Vec::new();
        for (file, path, listing) in lists {
            if rows.is_empty() {
                let songs = library.songs.iter().enumerate();
                rows = songs.map(|(row, song)| (song.entry, row)).collect();
            }
            let song = |path: &[u8]| {
                let entry = entries.binary_search_by(|entry| (*entry.path).cmp(path));
                rows.get(&entry.ok()?).copied()
            };
            let (mut tracks, mut missing) = (Vec::new(), Vec::new());
            for (number, listed) in listing.entries.iter().enumerate() {
                let Some(target) = playlists::target(&listed.target) else {
                    continue;
                };
                match playlists::resolve(path, target, song) {
                    Some(row) => tracks.push(row),
                    None => missing.push(number),
                }
            }
            let id = layout::hash(&[b"playlist", path]);
            let name = listing.name.clone();
            let name = name.unwrap_or_else(|| playlists::name(path));
            found.push((id, file, name, tracks, missing));
        }
        found.sort_unstable();
        for (id, file, name, tracks, missing) in found {
            let row = PlaylistRow {
                id: id.into(),
                file: number(file).into(),
                name: self.text(&name).into(),
                tracks: self.list(&tracks).into(),
                missing: self.list(&missing).into(),
            };
            self.row(Section::Playlists, &row);
        }
    }

    fn words(&mut self, words: Words) {
        let Words {
            texts,
            postings,
            photos,
        } = words;
        self.photo_words(photos);
        let mut last = None;
        let mut rows = Vec::with_capacity(postings.len());
        let mut facts = Vec::with_capacity(postings.len());
        for (word, posting, fact) in postings {
            if last != Some(word) {
                let row = WordRow {
                    word: self.text(&texts[word as usize]).into(),
                    first_posting: number(rows.len()).into(),
                };
                self.row(Section::Words, &row);
                last = Some(word);
            }
            rows.push(posting);
            facts.push(fact);
        }
        let end = WordRow {
            word: 0.into(),
            first_posting: number(rows.len()).into(),
        };
        self.row(Section::Words, &end);
        let out = self.section(Section::Postings);
        rows.iter().for_each(|row| out.extend(row.to_le_bytes()));
        let out = self.section(Section::Facts);
        facts
            .iter()
            .for_each(|fact| out.extend(fact.0.to_le_bytes()));
    }

    fn photo_words(&mut self, words: PhotoWords) {
        let end = (Box::from(""), words.postings.len());
        for (word, first) in words.texts.into_iter().chain([end]) {
            let row = WordRow {
                word: self.text(&word).into(),
                first_posting: number(first).into(),
            };
            self.row(Section::PhotoWords, &row);
        }
        let out = self.section(Section::PhotoPostings);
        for row in words.postings {
            out.extend(row.to_le_bytes());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.sections[Section::Strings as usize] = self.strings.bytes;
        let mut at = BODY_START.next_multiple_of(8);
        let mut table = Vec::with_capacity(BODY_START - HEAD_BYTES);
        let mut add = |at: usize, bytes: usize| {
            let place = SectionSpan {
                offset: (at as u64).into(),
                bytes: (bytes as u64).into(),
            };
            table.extend_from_slice(place.as_bytes());
        };
        let (_, sections) = self
            .sections
            .split_last()
            .expect("the last section has the checksums");
        for section in sections {
            add(at, section.len());
            at = (at + section.len()).next_multiple_of(8);
        }
        let body_end = at;
        let sums_bytes = sums::SUM_BYTES * sums::count(body_end - BODY_START);
        add(body_end, sums_bytes);
        let mut out = Vec::with_capacity(body_end + sums_bytes);
        let head = Head {
            magic: *MAGIC,
            version: VERSION.into(),
            sections: number(SECTIONS).into(),
            bytes: ((body_end + sums_bytes) as u64).into(),
            hash: [0; 16],
        };
        out.extend_from_slice(head.as_bytes());
        out.extend(table);
        for section in sections {
            out.resize(out.len().next_multiple_of(8), 0);
            out.extend(section);
        }
        out.resize(body_end, 0);
        let sums = sums::all(&out[BODY_START..]);
        let hash = sums::hash(&out, &sums);
        out.extend(sums);
        out[layout::HASH].copy_from_slice(&hash);
        out
    }
}

fn words_of(library: &Library) -> FoundWords {
    let mut found = FoundWords::default();
    for (row, artist) in library.artists.iter().enumerate() {
        let name = searched(&artist.name);
        found.start_object(layout::ARTIST_KIND, row, &name);
        found.add(&name, true);
        found.add_joined(&artist.name, true);
        found.add(&fold(&artist.sort), false);
    }
    let mut album_artists: Vec<String> = Vec::with_capacity(library.albums.len());
    for (row, album) in library.albums.iter().enumerate() {
        let (title, artist) = (searched(&album.title), searched(&album.artist));
        found.start_object(layout::ALBUM_KIND, row, &title);
        found.add(&title, true);
        found.add_joined(&album.title, true);
        found.add(&artist, false);
        found.add_joined(&album.artist, false);
        album_artists.push(artist);
    }
    for (row, song) in library.songs.iter().enumerate() {
        let title = searched(&song.track.title);
        found.start_object(layout::TRACK_KIND, row, &title);
        found.add(&title, true);
        found.add_joined(&song.track.title, true);
        // A track is not indexed under an artist whose name consists of words of the album artist's
        // name. So a search for this artist finds the artist and the albums, but not every single
        // track.
        let known = &album_artists[song.album];
        let people = song.track.people.iter();
        for person in people.filter(|person| person.role == Role::Artist) {
            let name = searched(&person.name);
            if name != *known && !words(&name).all(|word| words(known).any(|it| it == word)) {
                found.add(&name, false);
                found.add_joined(&person.name, false);
            }
        }
    }
    found
}

/// Occurrence of a word in the names of an object: number of the word; kind and row of the object
/// (packed); and the [`Fact`] from which a match is scored.
type Posting = (u32, u32, Fact);

/// Words of all names, numbered in the order in which they were found.
#[derive(Default)]
struct FoundWords {
    numbers: HashMap<Box<str>, u32>,
    /// Occurrences of the words, in the order of the objects.
    postings: Vec<Posting>,
    /// Object whose words are being added: its kind and row (packed), and the length of its title.
    current: Option<(u32, Title)>,
}

impl FoundWords {
    /// Starts the next object, to which the following words belong.
    fn start_object(&mut self, kind: u32, row: usize, title: &str) {
        let title = Title::new(title, words(title).count());
        self.current = Some((kind << 30 | number(row), title));
    }

    fn add(&mut self, folded: &str, in_title: bool) {
        let (posting, title) = self.current.expect("`start_object` was called first");
        for (place, word) in words(folded).enumerate() {
            let word = match self.numbers.get(word) {
                Some(&known) => known,
                None => {
                    let new = number(self.numbers.len());
                    self.numbers.insert(word.into(), new);
                    new
                }
            };
            self.postings
                .push((word, posting, title.fact(in_title, place)));
        }
    }

    fn add_joined(&mut self, name: &str, in_title: bool) {
        for word in joined(name) {
            self.add(&word, in_title);
        }
    }

    /// Sorts the words, and their occurrences by word. If a word occurs several times in an object,
    /// keeps only the occurrence with the best score.
    fn sorted(self, photos: PhotoWords) -> Words {
        let mut texts: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        texts.sort_unstable();
        let mut places = vec![0; texts.len()];
        for (place, (_, word)) in (0..).zip(&texts) {
            places[*word as usize] = place;
        }
        // This is a counting sort. It keeps the order of the objects for each word.
        let place = |word: u32| places[word as usize] as usize;
        let mut starts = vec![0; texts.len() + 1];
        for (word, ..) in &self.postings {
            starts[place(*word) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut postings = vec![(0, 0, Fact(0)); self.postings.len()];
        for (word, posting, fact) in self.postings {
            let next = &mut starts[place(word)];
            postings[*next] = (places[word as usize], posting, fact);
            *next += 1;
        }
        // Of several occurrences of one word in an object, the first is kept and gets the best
        // score of all.
        postings.dedup_by(|next, best| {
            let is_same = (next.0, next.1) == (best.0, best.1);
            if is_same {
                best.2 = best.2.max(next.2);
            }
            is_same
        });
        let texts = texts.into_iter().map(|(text, _)| text).collect();
        Words {
            texts,
            postings,
            photos,
        }
    }
}

/// Returns whether the file has tags that cannot be read completely.
fn has_issues(entry: &Entry) -> bool {
    matches!(&entry.content, Content::Music(media) if !media.issues.is_empty())
}
