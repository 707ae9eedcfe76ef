//! Time of searches in generated libraries.

use std::fs;
use std::path::Path;
use std::time::Instant;

use catalog::{Content, Entry, Limits, Stat, build};
use scan::LoadedIndex;
use serde::{Deserialize, Serialize};
use tags::{Audio, AudioHash, Codec, Container, Field, Media, Splits, Tags};
use toolkit::stop::{Stop, at};

use super::arm::cpu_us;
use crate::scratch::Scratch;
use crate::stats::{quantile, sorted};
use crate::table;

/// Maximum size of an index, in bytes per song, so that a million songs take at most 500 MB. The
/// index has the same bytes on disk and in memory.
const SONG_BYTES_MAX: u64 = 500;
/// Number of times an index is loaded.
const LOADS: usize = 15;

#[derive(Deserialize)]
pub(super) struct Definition {
    /// Sizes of the libraries, in songs.
    songs: Vec<u32>,
    queries: usize,
}

/// Wall time and CPU time of one load of an index.
#[derive(Serialize)]
struct Ready {
    us: f64,
    cpu_us: f64,
}

/// Measurements of one library.
#[derive(Serialize)]
pub(super) struct Searches {
    songs: u32,
    index_bytes: usize,
    build_ms: u64,
    /// Durations of all loads of the index. A load ends when the index can be searched.
    ready: Vec<Ready>,
    /// Durations of all queries, in microseconds.
    us: Vec<f64>,
}

pub(super) fn run(definition: &Definition) -> Result<Vec<Searches>, Stop> {
    let mut all = Vec::new();
    for &songs in &definition.songs {
        eprintln!("lab: search in {songs} songs");
        all.push(search(songs, definition.queries)?);
    }
    let rows = all.iter().map(|searches| {
        let us = sorted(&searches.us);
        vec![
            searches.songs.to_string(),
            format!("{:.0}", quantile(&us, 0.5)),
            format!("{:.0}", quantile(&us, 0.99)),
            format!("{:.0}", us[us.len() - 1]),
            format!("{}", searches.index_bytes / searches.songs as usize),
            searches.build_ms.to_string(),
            format!("{:.0}", median(&searches.ready, |ready| ready.us)),
            format!("{:.0}", median(&searches.ready, |ready| ready.cpu_us)),
        ]
    });
    let head = [
        "songs",
        "median µs",
        "p99 µs",
        "longest µs",
        "bytes/song",
        "build ms",
        "ready µs",
        "CPU µs until ready",
    ];
    table::print("Search", &head, &rows.collect::<Vec<_>>());
    Ok(all)
}

fn median(all: &[Ready], of: impl Fn(&Ready) -> f64) -> f64 {
    quantile(&sorted(&all.iter().map(of).collect::<Vec<_>>()), 0.5)
}

fn search(songs: u32, queries: usize) -> Result<Searches, Stop> {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let words: Vec<String> = (0..VOCABULARY).map(|_| chance.word()).collect();
    let entries: Vec<Entry> = (0..songs)
        .map(|number| song(number, &words, &mut chance))
        .collect();
    let started = Instant::now();
    let bytes = build(entries, &Splits::default());
    let build_ms = started.elapsed().as_millis() as u64;
    let scratch = Scratch::new("index")?;
    let file = scratch.join("index");
    fs::write(&file, bytes).map_err(at(&file))?;
    let mut ready = Vec::with_capacity(LOADS);
    for _ in 0..LOADS {
        let (started, before) = (Instant::now(), cpu_us());
        drop(load(scratch.path())?);
        ready.push(Ready {
            us: started.elapsed().as_secs_f64() * 1e6,
            cpu_us: (cpu_us() - before) as f64,
        });
    }
    let loaded = load(scratch.path())?;
    let catalog = loaded.catalog();
    let mut us = Vec::with_capacity(queries);
    for _ in 0..queries {
        let row = chance.below(songs as usize) as u32;
        let track = catalog.track(row).ok_or_else(|| {
            Stop::findings("a track that was just indexed is missing from the index")
        })?;
        let query = query(track.title, &mut chance);
        let started = Instant::now();
        let found = catalog.search(&query, &Limits::default());
        us.push(started.elapsed().as_secs_f64() * 1e6);
        if found.tracks.is_empty() {
            return Err(Stop::findings(format!(
                "the search for {query:?} does not find {:?}",
                track.title
            )));
        }
    }
    let bytes_max = u64::from(songs) * SONG_BYTES_MAX;
    if bytes_max < catalog.bytes().len() as u64 {
        return Err(Stop::findings(format!(
            "an index of {songs} songs takes {} bytes, more than {bytes_max}",
            catalog.bytes().len()
        )));
    }
    Ok(Searches {
        songs,
        index_bytes: catalog.bytes().len(),
        build_ms,
        ready,
        us,
    })
}

/// Loads an index as the server does at its start: maps the file, which is in the page cache, and
/// checks it. The caller's measurement also includes the time to unmap the file.
fn load(folder: &Path) -> Result<LoadedIndex, Stop> {
    let loaded = scan::load(folder).map_err(|err| Stop::host(err.to_string()))?;
    loaded.ok_or_else(|| Stop::findings("the index that was just written cannot be found"))
}

/// Returns a search query of one to four random words of `text`. The last word of the query is
/// truncated.
fn query(text: &str, chance: &mut Chance) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let count = (1 + chance.below(4)).min(words.len());
    let mut picked: Vec<&str> = (0..count)
        .map(|_| words[chance.below(words.len())])
        .collect();
    if let Some(last) = picked.last_mut() {
        // Truncate the last word, because programs search after every letter that a user types.
        *last = &last[..1 + chance.below(last.len())];
    }
    picked.join(" ")
}

/// Number of distinct words in song names. A few words are frequent, most are rare.
const VOCABULARY: usize = 20_000;

fn song(number: u32, words: &[String], chance: &mut Chance) -> Entry {
    let name = |seed: u64, count: usize| {
        let mut own = Chance(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        let names: Vec<&str> = (0..count).map(|_| own.common(words)).collect();
        names.join(" ")
    };
    let (artist, album) = (
        name(u64::from(number / 40) + 1, 2),
        name(u64::from(number / 12) + 1_000_003, 3),
    );
    let title: Vec<&str> = (0..1 + chance.below(4))
        .map(|_| chance.common(words))
        .collect();
    let title = title.join(" ");
    let mut tags = Tags::default();
    let (track, year) = (
        (number % 12 + 1).to_string(),
        (1960 + number / 12 % 60).to_string(),
    );
    for (field, value) in [
        (Field::Title, &title),
        (Field::Artist, &artist),
        (Field::Album, &album),
        (Field::TrackNumber, &track),
        (Field::Date, &year),
    ] {
        tags.push(field, value);
    }
    let media = Media {
        container: Container::Flac,
        audio: Audio {
            codec: Codec::Flac,
            duration_ms: 200_000,
            exact: true,
            sample_rate_hz: 44_100,
            channels: 2,
            bits: 16,
            bitrate_bps: 900_000,
        },
        tags,
        pictures: Vec::new(),
        audio_hash: AudioHash(u64::from(number) << 20 | 1),
        issues: Vec::new(),
    };
    Entry {
        path: format!("{artist}/{album} {}/{track} {title}.flac", number / 12).into_bytes(),
        stat: Stat {
            device: 1,
            inode: number.into(),
            size: 30_000_000,
            mtime_ns: 1_700_000_000_000_000_000,
            born_ns: 1_700_000_000_000_000_000,
        },
        content: Content::Music(Box::new(media)),
    }
}

/// Random number generator xorshift64 (Marsaglia).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 24] = [
            "ba", "be", "da", "do", "el", "fa", "gi", "ha", "in", "ka", "le", "lo", "ma", "mi",
            "na", "on", "pa", "ra", "ri", "sa", "ta", "ur", "vi", "zo",
        ];
        let syllables = (0..2 + self.below(3)).map(|_| SYLLABLES[self.below(SYLLABLES.len())]);
        syllables.collect()
    }

    /// Returns a random word. The first words of the list are far more likely than the last ones.
    fn common<'w>(&mut self, words: &'w [String]) -> &'w str {
        let bound = 1 + self.below(words.len());
        let bound = 1 + self.below(bound);
        &words[self.below(bound)]
    }
}
