//! Search for photographs. Spaces separate the terms of a query, and a photograph matches the query
//! if it matches each term. A term matches in two ways: the term is the year, month or day of the
//! capture; or each word of the term is the beginning of a word in the photograph's path, camera
//! name or place names.
//!
//! A search returns all matches, in the order of capture. A set of photographs has one bit per
//! photograph of the library.

use std::ops::Range;

use zerocopy::little_endian::U32;

use crate::Catalog;
use crate::fold::searched;
use crate::layout::{PhotoRow, Section, WordRow};
use crate::month::seconds_of;

/// Maximum number of terms of a query, and of words of a term. Further terms and words are ignored.
const WORDS_MAX: usize = 8;

/// Set of photographs, with one bit per row of the index.
struct Rows(Vec<u64>);

impl Rows {
    fn new(count: u32) -> Rows {
        Rows(vec![0; (count as usize).div_ceil(64)])
    }

    /// Adds a row to the set. Ignores rows that do not exist, which a damaged index may contain.
    fn add(&mut self, row: u32) {
        if let Some(word) = self.0.get_mut(row as usize / 64) {
            *word |= 1 << (row % 64);
        }
    }

    fn keep(&mut self, other: &Rows) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }

    fn add_all(&mut self, other: &Rows) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    fn to_rows(&self, count: u32) -> Vec<u32> {
        let mut rows = Vec::new();
        for (start, mut word) in (0..).step_by(64).zip(self.0.iter().copied()) {
            while word != 0 {
                rows.push(start + word.trailing_zeros());
                word &= word - 1;
            }
        }
        rows.retain(|row| *row < count);
        rows
    }
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Returns the rows of the photographs that match all terms of the query, in the order of
    /// capture. An empty query matches all photographs.
    #[must_use]
    pub fn find_photos(&self, query: &str) -> Vec<u32> {
        let count = self.counts().photos;
        let mut found: Option<Rows> = None;
        for term in query.split_whitespace().take(WORDS_MAX) {
            let rows = self.photos_of_term(term);
            match &mut found {
                Some(found) => found.keep(&rows),
                None => found = Some(rows),
            }
        }
        found.map_or_else(|| (0..count).collect(), |found| found.to_rows(count))
    }

    /// Returns the rows of the photographs that were taken within this range of seconds since 1970.
    #[must_use]
    pub fn photos_between(&self, seconds: Range<i64>) -> Range<u32> {
        let rows = self.table::<PhotoRow>(Section::Photos);
        let place = |time_s: i64| rows.partition_point(|row| row.taken_s.get() < time_s) as u32;
        let start = place(seconds.start);
        start..place(seconds.end).max(start)
    }

    /// Returns the photographs that match `term`: those taken on the date `term`, if it is a date,
    /// and those whose path, camera and places have, for each word of `term`, a word that begins
    /// with it.
    fn photos_of_term(&self, term: &str) -> Rows {
        let count = self.counts().photos;
        let mut all: Option<Rows> = None;
        let folded = searched(term);
        let words = folded.split(' ').filter(|word| !word.is_empty());
        for word in words.take(WORDS_MAX) {
            let mut rows = Rows::new(count);
            let postings = self.photo_postings(word.as_bytes());
            postings.iter().for_each(|row| rows.add(row.get()));
            match &mut all {
                Some(all) => all.keep(&rows),
                None => all = Some(rows),
            }
        }
        let mut all = all.unwrap_or_else(|| Rows::new(count));
        if let Some(seconds) = seconds_of(term) {
            let mut dated = Rows::new(count);
            self.photos_between(seconds).for_each(|row| dated.add(row));
            all.add_all(&dated);
        }
        all
    }

    /// Returns the rows of all photographs with a word that begins with `text`. The table of
    /// postings is sorted by word, so these rows are one slice of the table.
    fn photo_postings(&self, text: &[u8]) -> &[U32] {
        let words = self.table::<WordRow>(Section::PhotoWords);
        let Some((end, words)) = words.split_last() else {
            return &[];
        };
        let first = words.partition_point(|row| self.string(row.word.get()) < text);
        let with = |row: &WordRow| self.string(row.word.get()).starts_with(text);
        let last = first + words[first..].partition_point(with);
        let posting = |row: usize| words.get(row).unwrap_or(end).first_posting.get() as usize;
        let postings = self.table::<U32>(Section::PhotoPostings);
        postings
            .get(posting(first)..posting(last))
            .unwrap_or_default()
    }
}
