//! Search by words, each the beginning of a word, best first.
//!
//! The rarest word of a query gives the candidates; what they are called tells whether the other words are there too. So
//! a query costs what its rarest word costs, and [`Limits::candidates_max`] bounds that for a query of one letter.

use crate::Catalog;
use crate::fold::{fold, words};
use crate::layout::{self, Section};
use std::ops::Range;

/// What a search may cost and return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Words of a query; more are ignored.
    pub words_max: usize,
    /// Things that are looked at, of each kind.
    pub candidates_max: usize,
    /// Things that are returned, of each kind.
    pub found_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            words_max: 8,
            candidates_max: 4000,
            found_max: 250,
        }
    }
}

/// Rows, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Found {
    pub artists: Vec<u32>,
    pub albums: Vec<u32>,
    pub tracks: Vec<u32>,
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Finds what has, for each word of the query, a word that begins with it.
    #[must_use]
    pub fn search(&self, query: &str, limits: &Limits) -> Found {
        let folded = fold(query);
        let wanted: Vec<&str> = folded.split(' ').filter(|word| !word.is_empty()).collect();
        let wanted = &wanted[..wanted.len().min(limits.words_max)];
        let ranges = wanted.iter().map(|word| self.postings(word));
        let Some(rarest) = ranges.min_by_key(Range::len) else {
            return Found::default();
        };
        let mut candidates = [Vec::new(), Vec::new(), Vec::new()];
        for index in rarest {
            let [posting] = self.numbers(Section::Postings, index).unwrap_or([u32::MAX]);
            let kind = candidates.get_mut((posting >> 30) as usize);
            if let Some(rows) = kind.filter(|rows| rows.len() < limits.candidates_max) {
                rows.push(posting & (u32::MAX >> 2));
            }
        }
        let mut kinds = (0..).zip(candidates).map(|(kind, mut rows)| {
            rows.sort_unstable();
            rows.dedup();
            let scored = rows
                .into_iter()
                .filter_map(|row| Some((self.score(kind, row, wanted)?, row)));
            let mut scored: Vec<(u32, u32)> = scored.collect();
            scored.sort_unstable_by_key(|&(score, row)| (std::cmp::Reverse(score), row));
            scored.truncate(limits.found_max);
            scored.into_iter().map(|(_, row)| row).collect()
        });
        let mut next = || kinds.next().expect("there are three kinds");
        Found {
            artists: next(),
            albums: next(),
            tracks: next(),
        }
    }

    /// Postings of all words that begin so.
    fn postings(&self, start: &str) -> Range<u32> {
        let rows = self
            .rows(Section::Words, layout::WORD_BYTES)
            .saturating_sub(1);
        let word = |row| {
            let [word, _] = self.numbers(Section::Words, row).unwrap_or([0, 0]);
            self.string(word)
        };
        let first = partition(rows, |row| word(row) < start.as_bytes());
        let last = partition(rows, |row| {
            let word = word(row);
            word < start.as_bytes() || word.starts_with(start.as_bytes())
        });
        let posting = |row| {
            self.numbers::<2>(Section::Words, row)
                .map_or(0, |[_, first]| first)
        };
        posting(first)..posting(last.max(first))
    }

    /// How well something fits; nothing when a word is missing. What is called exactly so comes first, then what has the
    /// words whole, early and among few others.
    fn score(&self, kind: u32, row: u32, wanted: &[&str]) -> Option<u32> {
        let (title, others) = match kind {
            layout::ARTIST_KIND => {
                let artist = self.artist(row)?;
                (artist.name, artist.sort)
            }
            layout::ALBUM_KIND => {
                let album = self.album(row)?;
                (album.title, album.artist)
            }
            _ => {
                let track = self.track(row)?;
                (track.title, track.artist)
            }
        };
        let (title, others) = (fold(title), fold(others));
        let mut score = 0;
        for want in wanted {
            let in_title = words(&title)
                .zip(0..)
                .filter(|(word, _)| word.starts_with(want));
            let best = in_title
                .map(|(word, place)| word_score(word, want, place) + 40)
                .max();
            let in_others = words(&others)
                .zip(0..)
                .filter(|(word, _)| word.starts_with(want));
            let other = in_others
                .map(|(word, place)| word_score(word, want, place))
                .max();
            score += best.max(other)?;
        }
        let is_name = words(&title).eq(wanted.iter().copied());
        let length = title.len().min(99) as u32;
        Some(score * 100 + if is_name { 100_000 } else { 0 } + 99 - length)
    }
}

fn word_score(word: &str, want: &str, place: u32) -> u32 {
    let whole = if word.len() == want.len() {
        60
    } else {
        60 * want.len() as u32 / word.len() as u32 / 2
    };
    whole + 10_u32.saturating_sub(place)
}

/// The first row for which `before` is false.
fn partition(rows: u32, before: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
