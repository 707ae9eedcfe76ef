//! Rows, ids and words of photographs in the index.
//!
//! The id of a photograph is a hash of facts that every scan knows: the size of the file, the
//! capture time, the camera, and the dimensions. If the capture time is unknown, the modification
//! time of the file is used. Of several photographs with the same facts, the file that was modified
//! first gets this id. The ids of the others also depend on their modification times and, if these
//! are equal too, on the order of their paths. See docs/decisions/2026-11-24-ids-of-photographs.md.

use hashbrown::{HashMap, HashSet};
use tags::Place;

use crate::fold::{searched, words};
use crate::gather::folder;
use crate::layout::{BESIDE_MUSIC, hash};
use crate::{Content, Entry, Photo};

/// Photograph whose row is not yet written to the index.
pub(crate) struct Photograph {
    pub(crate) id: u64,
    /// Capture time or, if unknown, modification time of the file, in seconds since 1970.
    pub(crate) taken_s: i64,
    /// Row of the file.
    pub(crate) file: usize,
    /// Aspect ratio: width divided by height, in thousandths; 0 if unknown.
    pub(crate) ratio: u16,
    pub(crate) flags: u16,
}

/// Words of all photographs, with the rows of the photographs in which they occur.
#[derive(Default)]
pub(crate) struct PhotoWords {
    /// Sorted words, each with the index of its first occurrence in `postings`.
    pub(crate) texts: Vec<(Box<str>, usize)>,
    /// Rows of photographs, grouped by word in the order of `texts`, and sorted within each group.
    pub(crate) postings: Vec<u32>,
}

/// Returns the photographs among `entries`, in the order of capture. `entries` must be sorted by
/// path.
pub(crate) fn photographs(entries: &[Entry]) -> Vec<Photograph> {
    let music = entries
        .iter()
        .filter(|entry| matches!(entry.content, Content::Music(_)));
    let music: HashSet<&[u8]> = music.map(|entry| folder(&entry.path)).collect();
    let mut photos: Vec<Photograph> = Vec::new();
    for (file, entry) in entries.iter().enumerate() {
        let Content::Photo(photo) = &entry.content else {
            continue;
        };
        let modified_s = entry.stat.mtime_ns.div_euclid(1_000_000_000);
        let is_beside_music = music.contains(folder(&entry.path));
        photos.push(Photograph {
            id: facts_of(entry, photo),
            taken_s: photo.metadata.taken_local_s.unwrap_or(modified_s),
            file,
            ratio: ratio(photo),
            flags: if is_beside_music { BESIDE_MUSIC } else { 0 },
        });
    }
    part_ids(entries, &mut photos);
    photos.sort_unstable_by_key(|photo| (photo.taken_s, photo.file));
    photos
}

/// Returns a hash of facts that identify a photograph.
fn facts_of(entry: &Entry, photo: &Photo) -> u64 {
    let metadata = &photo.metadata;
    let (kind, time) = match metadata.taken_local_s {
        Some(taken_s) => (0, taken_s),
        None => (1, entry.stat.mtime_ns),
    };
    let mut facts = Vec::with_capacity(32);
    facts.push(kind);
    facts.extend(entry.stat.size.to_le_bytes());
    facts.extend(time.to_le_bytes());
    facts.extend(photo.width_px.to_le_bytes());
    facts.extend(photo.height_px.to_le_bytes());
    let [make, model] = [&metadata.make, &metadata.model].map(|text| text.as_deref().unwrap_or(""));
    hash(&[b"photo", &facts, make.as_bytes(), model.as_bytes()])
}

/// Gives different ids to photographs with the same facts. The photograph whose file was modified
/// first keeps its id.
fn part_ids(entries: &[Entry], photos: &mut [Photograph]) {
    let modified = |photo: &Photograph| entries[photo.file].stat.mtime_ns;
    // If the times are equal, the order of the paths decides, since the entries are sorted by path.
    photos.sort_unstable_by_key(|photo| (photo.id, modified(photo), photo.file));
    for same in photos.chunk_by_mut(|one, next| one.id == next.id) {
        let facts = same[0].id.to_le_bytes();
        let chunks = same.chunk_by_mut(|one, next| modified(one) == modified(next));
        for (chunk, at_once) in chunks.enumerate() {
            for (place, photo) in at_once.iter_mut().enumerate() {
                let path = match (chunk, place) {
                    (0, 0) => continue,
                    (_, 0) => &b""[..],
                    _ => &entries[photo.file].path,
                };
                let time = modified(photo).to_le_bytes();
                photo.id = hash(&[b"photo again", &facts, &time, path]);
            }
        }
    }
}

/// Returns the aspect ratio, width divided by height, in thousandths. Returns 0 if the size is
/// unknown.
fn ratio(photo: &Photo) -> u16 {
    let [width, height] = [photo.width_px, photo.height_px].map(u64::from);
    if width == 0 || height == 0 {
        return 0;
    }
    let ratio = (width * 1000 + height / 2) / height;
    ratio.clamp(1, u16::MAX.into()) as u16
}

/// Returns the words of the paths, cameras and places of photographs. Dates are not included: a
/// search finds the photographs of a date as a range of rows, since rows are sorted by capture
/// time.
pub(crate) fn photo_words(entries: &[Entry], photos: &[Photograph]) -> PhotoWords {
    let mut table = WordTable::default();
    // Many photographs share a folder, a camera or a place, so the words of each of them are
    // computed only once.
    let mut folders: HashMap<&[u8], Vec<u32>> = HashMap::new();
    let mut cameras: HashMap<[Option<&str>; 2], Vec<u32>> = HashMap::new();
    let mut places: HashMap<&Place, Vec<u32>> = HashMap::new();
    for (row, photograph) in (0..).zip(photos) {
        let entry = &entries[photograph.file];
        let Content::Photo(photo) = &entry.content else {
            unreachable!("photographs are made only of photos");
        };
        let parent = folder(&entry.path);
        let known = folders.entry(parent);
        let known = known.or_insert_with(|| table.numbers(&[&String::from_utf8_lossy(parent)]));
        table.postings.extend(known.iter().map(|&word| (word, row)));
        let name = String::from_utf8_lossy(&entry.path[parent.len()..]);
        let name = table.numbers(&[&name]);
        table.postings.extend(name.iter().map(|&word| (word, row)));
        let camera = [
            photo.metadata.make.as_deref(),
            photo.metadata.model.as_deref(),
        ];
        let known = cameras.entry(camera).or_insert_with(|| {
            let texts: Vec<&str> = camera.into_iter().flatten().collect();
            table.numbers(&texts)
        });
        table.postings.extend(known.iter().map(|&word| (word, row)));
        for place in &photo.metadata.places {
            let known = places.entry(place).or_insert_with(|| {
                let names: Vec<&str> = place.names().collect();
                table.numbers(&names)
            });
            table.postings.extend(known.iter().map(|&word| (word, row)));
        }
    }
    table.sorted()
}

/// Numbered words, and their occurrences: pairs of the number of a word and the row of a
/// photograph.
#[derive(Default)]
struct WordTable {
    numbers: HashMap<Box<str>, u32>,
    postings: Vec<(u32, u32)>,
}

impl WordTable {
    /// Returns the numbers of all words of `texts`. Adds words that are new.
    fn numbers(&mut self, texts: &[&str]) -> Vec<u32> {
        let mut found = Vec::new();
        for text in texts {
            for word in words(&searched(text)) {
                let new = u32::try_from(self.numbers.len()).expect("words below 2³²");
                found.push(match self.numbers.get(word) {
                    Some(&known) => known,
                    None => *self.numbers.entry(word.into()).or_insert(new),
                });
            }
        }
        found
    }

    fn sorted(self) -> PhotoWords {
        let mut texts: Vec<(Box<str>, u32)> = self.numbers.into_iter().collect();
        texts.sort_unstable();
        let mut places = vec![0_u32; texts.len()];
        for (place, (_, word)) in (0..).zip(&texts) {
            places[*word as usize] = place;
        }
        let pairs = self.postings.into_iter();
        let mut pairs: Vec<(u32, u32)> = pairs
            .map(|(word, row)| (places[word as usize], row))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut counts = vec![0; texts.len()];
        pairs
            .iter()
            .for_each(|(place, _)| counts[*place as usize] += 1);
        let mut first = 0;
        let texts = texts.into_iter().zip(counts).map(|((text, _), count)| {
            first += count;
            (text, first - count)
        });
        PhotoWords {
            texts: texts.collect(),
            postings: pairs.into_iter().map(|(_, row)| row).collect(),
        }
    }
}
