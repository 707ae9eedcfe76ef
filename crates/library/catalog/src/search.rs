//! Search by words. An object matches if each word of the query is the beginning of a word in the
//! object's names. The best matches come first.
//!
//! ```text
//! words  …  hom · home · homely …        a prefix matches a range of words and of their postings
//! postings  │ row │ row │ row │          each with a fact (position, title length) to score it
//! ```
//!
//! A posting is an occurrence of a word in the names of an object. For a query of one word, the
//! postings of this word are scanned once, and the best matches are kept. For several words, the
//! objects with the rarest word are candidates. A scan of the postings of each other word then
//! removes the candidates without that word. If no track has all words of the query, a track also
//! matches if its album has the words that the track lacks. So a query of title and artist finds a
//! track, although the name of the artist alone does not return all tracks of the artist. A scan
//! reads six bytes per posting and no names, so even a query of one letter in a million tracks
//! takes a few milliseconds.

use crate::Catalog;
use crate::fact::Fact;
use crate::fold::searched;
use crate::layout::{self, Section, TrackRow, WordRow};
use std::cmp::Reverse;
use std::ops::Range;

/// Limits on the cost and the results of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of words of a query. Further words are ignored.
    pub words_max: usize,
    /// Maximum number of objects, of all kinds together, that a search collects for a query of
    /// several words.
    pub candidates_max: usize,
    /// Maximum number of results for each kind of object.
    pub found_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            words_max: 8,
            candidates_max: 16_000,
            found_max: 250,
        }
    }
}

/// Result of a search: the rows of each kind of object, best match first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Found {
    pub artists: Vec<u32>,
    pub albums: Vec<u32>,
    pub tracks: Vec<u32>,
}

/// Word of a query. `words` is the range of the index words that begin with `text`, and `postings`
/// the range of the occurrences of these index words.
struct QueryWord<'q> {
    text: &'q [u8],
    words: Range<u32>,
    postings: Range<u32>,
}

/// Object that matches all words of the query that were compared so far.
#[derive(Clone, Copy)]
struct Candidate {
    posting: u32,
    score: u32,
    fact: Fact,
    /// True if each query word that was compared so far equals a word of the title, and is not
    /// merely the beginning of one.
    is_whole: bool,
}

impl Candidate {
    fn is_track(&self) -> bool {
        self.posting >> 30 == layout::TRACK_KIND
    }

    /// Returns the rank of the candidate for a query of `words` words. Objects whose title equals
    /// the query rank highest. Other objects are ranked by score, and those of equal score by the
    /// length of the title, shorter titles first.
    fn rank(&self, words: usize) -> u32 {
        let is_name = self.is_whole && self.fact.title_words() == words;
        self.score * 100 + if is_name { 100_000 } else { 0 } + 99 - self.fact.title_bytes().min(99)
    }
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Finds the objects that match all words of the query. An object matches a word of the query
    /// if a word in its names begins with that word.
    #[must_use]
    pub fn search(&self, query: &str, limits: &Limits) -> Found {
        let folded = searched(query);
        let words = folded.split(' ').filter(|word| !word.is_empty());
        let mut wanted: Vec<QueryWord<'_>> = words
            .take(limits.words_max)
            .map(|word| self.wanted(word.as_bytes()))
            .collect();
        wanted.sort_by_key(|word| word.postings.len());
        let found = match &wanted[..] {
            [] => return Found::default(),
            [only] => self.best(only, limits.found_max),
            [rarest, others @ ..] => {
                let mut found = self.match_all(rarest, others, limits);
                if !found.iter().any(Candidate::is_track) {
                    found.append(&mut self.tracks_with_albums(&wanted, limits));
                }
                found
            }
        };
        self.ordered(found, wanted.len(), limits.found_max)
    }

    /// Groups the candidates by kind of object and sorts them by rank.
    fn ordered(&self, found: Vec<Candidate>, words: usize, found_max: usize) -> Found {
        let counts = self.counts();
        let mut kinds = [
            (layout::ARTIST_KIND, counts.artists),
            (layout::ALBUM_KIND, counts.albums),
            (layout::TRACK_KIND, counts.tracks),
        ]
        .map(|(kind, rows)| {
            let of_kind = found.iter().filter(|found| found.posting >> 30 == kind);
            let ranked = of_kind.map(|found| (Reverse(found.rank(words)), row(found.posting)));
            let mut ranked: Vec<_> = ranked.filter(|(_, row)| *row < rows).collect();
            ranked.sort_unstable();
            ranked.truncate(found_max);
            ranked.into_iter().map(|(_, row)| row).collect()
        })
        .into_iter();
        let mut next = || kinds.next().expect("there are three kinds");
        Found {
            artists: next(),
            albums: next(),
            tracks: next(),
        }
    }

    /// Finds the index words that begin with `text`, and their postings.
    fn wanted<'q>(&self, text: &'q [u8]) -> QueryWord<'q> {
        let rows = self.rows::<WordRow>(Section::Words).saturating_sub(1);
        let first = partition(0..rows, |row| self.word(row) < text);
        let last = partition(first..rows, |row| self.word(row).starts_with(text));
        let posting = |row| {
            let found = self.row::<WordRow>(Section::Words, row);
            found.map_or(0, |found| found.first_posting.get())
        };
        let first_posting = posting(first);
        QueryWord {
            text,
            words: first..last,
            postings: first_posting..posting(last).max(first_posting),
        }
    }

    fn word(&self, row: u32) -> &[u8] {
        let found = self.row::<WordRow>(Section::Words, row);
        self.string(found.map_or(0, |found| found.word.get()))
    }

    /// Calls `each` for every posting of the index words that match a word of the query.
    fn sweep(&self, wanted: &QueryWord<'_>, mut each: impl FnMut(Candidate)) {
        let postings = self.section(Section::Postings);
        let facts = self.section(Section::Facts);
        let posting = |row| {
            let found = self.row::<WordRow>(Section::Words, row);
            found.map_or(0, |found| found.first_posting.get())
        };
        for row in wanted.words.clone() {
            let (first, end) = (posting(row), posting(row + 1));
            let word = self.word(row);
            let is_whole = word.len() == wanted.text.len();
            let part = |bytes, width: usize| {
                let range = first as usize * width..end as usize * width;
                <[u8]>::get(bytes, range).unwrap_or_default()
            };
            let postings = part(postings, layout::POSTING_BYTES).as_chunks().0;
            let facts = part(facts, layout::FACT_BYTES).as_chunks().0;
            for (posting, fact) in postings.iter().zip(facts) {
                let fact = Fact(u16::from_le_bytes(*fact));
                each(Candidate {
                    posting: u32::from_le_bytes(*posting),
                    score: fact.score(word, wanted.text),
                    fact,
                    is_whole: is_whole && fact.in_title(),
                });
            }
        }
    }

    /// Returns the best matches of each kind of object for a query of one word.
    fn best(&self, wanted: &QueryWord<'_>, found_max: usize) -> Vec<Candidate> {
        let mut kinds = [const { Vec::new() }; 3];
        let mut least = [0; 3];
        // The buffer has room for more than the results, so that it is rarely pruned. It may
        // contain an object more than once, if several words of the object match.
        let room = 4 * found_max.max(64);
        self.sweep(wanted, |candidate| {
            let kind = (candidate.posting >> 30) as usize;
            let rank = candidate.rank(1);
            if least.get(kind).is_none_or(|least| rank < *least) {
                return;
            }
            let best: &mut Vec<Candidate> = &mut kinds[kind];
            best.push(candidate);
            if best.len() == room {
                least[kind] = keep_best(best, found_max);
            }
        });
        let mut all = Vec::new();
        for mut best in kinds {
            keep_best(&mut best, found_max);
            all.append(&mut best);
        }
        all
    }

    /// Returns the objects that have all words of the query.
    fn match_all(
        &self,
        rarest: &QueryWord<'_>,
        others: &[QueryWord<'_>],
        limits: &Limits,
    ) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        if rarest.postings.len() <= limits.candidates_max {
            self.sweep(rarest, |candidate| candidates.push(candidate));
        } else {
            // There are too many objects with the rarest word, so only those that also have the
            // other words are collected.
            let others: Vec<Rows> = others.iter().map(|other| self.rows_with(other)).collect();
            self.sweep(rarest, |candidate| {
                let has_all = others.iter().all(|rows| rows.has(candidate.posting));
                if has_all && candidates.len() < limits.candidates_max {
                    candidates.push(candidate);
                }
            });
        }
        keep_best_of_each(&mut candidates);
        for other in others {
            self.retain_matching(&mut candidates, other);
        }
        candidates
    }

    /// Removes the candidates that have no match for the query word `other`. Adds the best score of
    /// such a match to each remaining candidate.
    fn retain_matching(&self, candidates: &mut Vec<Candidate>, other: &QueryWord<'_>) {
        let mut rows = self.no_rows();
        candidates.iter().for_each(|it| rows.add(it.posting));
        let mut best: Vec<Option<(u32, Fact, bool)>> = vec![None; candidates.len()];
        self.sweep(other, |found| {
            if !rows.has(found.posting) {
                return;
            }
            let at = candidates.binary_search_by_key(&found.posting, |it| it.posting);
            let Ok(at) = at else { return };
            let new = (found.score, found.fact, found.is_whole);
            if best[at].is_none_or(|(score, ..)| score < found.score) {
                best[at] = Some(new);
            }
        });
        let mut found = best.into_iter();
        candidates.retain_mut(|candidate| {
            let Some((score, _, is_whole)) = found.next().flatten() else {
                return false;
            };
            candidate.score += score;
            candidate.is_whole &= is_whole;
            true
        });
    }

    /// Returns each track that matches at least one word of the query and whose album matches the
    /// other words by its title or artist.
    fn tracks_with_albums(&self, wanted: &[QueryWord<'_>], limits: &Limits) -> Vec<Candidate> {
        if wanted.iter().any(|word| word.postings.is_empty()) {
            return Vec::new();
        }
        let rows: Vec<Rows> = wanted.iter().map(|word| self.rows_with(word)).collect();
        let mut all: Vec<Candidate> = Vec::new();
        for word in wanted {
            let mut tracks = Vec::new();
            self.sweep(word, |found| {
                if !found.is_track() || limits.candidates_max <= tracks.len() {
                    return;
                }
                let Some(album) = self.album_of(row(found.posting)) else {
                    return;
                };
                let has = |rows: &Rows| rows.has(found.posting) || rows.has(album);
                if rows.iter().all(has) {
                    tracks.push(Candidate {
                        is_whole: false,
                        ..found
                    });
                }
            });
            keep_best_of_each(&mut tracks);
            all.append(&mut tracks);
        }
        all.sort_unstable_by_key(|it| it.posting);
        all.dedup_by(|next, first| {
            let is_same = next.posting == first.posting;
            if is_same {
                first.score += next.score;
            }
            is_same
        });
        all
    }

    /// Returns the kind and row of a track's album, packed as in a posting.
    fn album_of(&self, track: u32) -> Option<u32> {
        let album = self.row::<TrackRow>(Section::Tracks, track)?.album.get();
        Some(layout::ALBUM_KIND << 30 | row(album))
    }

    /// Returns the set of objects that match a word of the query.
    fn rows_with(&self, wanted: &QueryWord<'_>) -> Rows {
        let mut rows = self.no_rows();
        self.sweep(wanted, |found| rows.add(found.posting));
        rows
    }

    fn no_rows(&self) -> Rows {
        let counts = self.counts();
        Rows::new([counts.artists, counts.albums, counts.tracks])
    }
}

/// Set of objects of all kinds, with one bit per row.
struct Rows {
    bits: Vec<u64>,
    /// Index of the first bit of each kind of object. The last element is the number of bits.
    starts: [usize; 4],
}

impl Rows {
    fn new(counts: [u32; 3]) -> Rows {
        let mut starts = [0; 4];
        for (kind, count) in counts.into_iter().enumerate() {
            starts[kind + 1] = starts[kind] + count as usize;
        }
        Rows {
            bits: vec![0; starts[3].div_ceil(64)],
            starts,
        }
    }

    /// Returns the index of the bit for a posting. For an invalid posting of a damaged index, the
    /// bit may belong to another object or be outside the set.
    fn place(&self, posting: u32) -> usize {
        let start = self.starts[(posting >> 30) as usize];
        start + row(posting) as usize
    }

    fn add(&mut self, posting: u32) {
        let place = self.place(posting);
        if let Some(word) = self.bits.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    fn has(&self, posting: u32) -> bool {
        let place = self.place(posting);
        let word = self.bits.get(place / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

fn row(posting: u32) -> u32 {
    posting & (u32::MAX >> 2)
}

/// Sorts the candidates by object, and keeps the best one for each object.
fn keep_best_of_each(candidates: &mut Vec<Candidate>) {
    candidates.sort_unstable_by_key(|it| (it.posting, Reverse(it.rank(1))));
    candidates.dedup_by_key(|it| it.posting);
}

/// Keeps the best `found_max` candidates, at most one per object. Returns the minimum rank that
/// another candidate needs to be among them.
fn keep_best(candidates: &mut Vec<Candidate>, found_max: usize) -> u32 {
    keep_best_of_each(candidates);
    if found_max == 0 || candidates.len() <= found_max {
        candidates.truncate(found_max);
        return 0;
    }
    let order = |it: &Candidate| (Reverse(it.rank(1)), it.posting);
    let (_, least, _) = candidates.select_nth_unstable_by_key(found_max - 1, order);
    let least = least.rank(1);
    candidates.truncate(found_max);
    least
}

/// Returns the first row in `rows` for which `before` is false, or the end of `rows`. Searches by
/// bisection, so all rows with `before` true must precede all others.
pub(crate) fn partition(rows: Range<u32>, before: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (rows.start, rows.end);
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
