//! Timeline: all photographs of the library in the order of capture, except pictures beside tracks,
//! which are covers in most cases.

use std::ops::Range;

use bytes::Bytes;
use catalog::{Catalog, Month};

/// Photographs of the timeline, sorted once by time and once by file. Computed once per index.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Rows of photographs, in the order of capture.
    rows: Vec<u32>,
    /// Pairs of the file and the row of a photograph, sorted by file.
    files: Vec<(u32, u32)>,
}

impl Timeline {
    pub(crate) fn new(index: &Catalog<Bytes>) -> Timeline {
        let photos = (0..index.counts().photos).filter_map(|row| {
            let photo = index.photo(row)?;
            (!photo.is_beside_music).then_some((photo.file, row))
        });
        let mut files: Vec<(u32, u32)> = photos.collect();
        let rows = files.iter().map(|(_, row)| *row).collect();
        files.sort_unstable();
        Timeline { rows, files }
    }

    /// Returns the rows of all photographs, in the order of capture.
    pub(crate) fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the photographs whose files are in the range `files`, as pairs of file and row.
    pub(crate) fn among(&self, files: &Range<u32>) -> &[(u32, u32)] {
        let place = |file: u32| self.files.partition_point(|(known, _)| *known < file);
        &self.files[place(files.start)..place(files.end)]
    }

    /// Returns the photographs that match all words of the query, in the order of capture.
    pub(crate) fn find(index: &Catalog<Bytes>, query: &str) -> Vec<u32> {
        let mut rows = index.find_photos(query);
        // Photographs beside music are not in the timeline. Checking this property costs less than
        // searching the timeline for each row.
        rows.retain(|row| {
            index
                .photo(*row)
                .is_some_and(|photo| !photo.is_beside_music)
        });
        rows
    }

    /// Returns whether the timeline contains the photograph in this row.
    pub(crate) fn has(&self, row: u32) -> bool {
        self.rows.binary_search(&row).is_ok()
    }
}

/// Returns the photographs in `rows` that were taken in this month. `rows` must be in the order of
/// capture.
pub(crate) fn in_month<'r>(index: &Catalog<Bytes>, rows: &'r [u32], month: Month) -> &'r [u32] {
    let taken = index.photos_between(month.start_s()..month.next().start_s());
    let place = |end: u32| rows.partition_point(|row| *row < end);
    &rows[place(taken.start)..place(taken.end)]
}

/// Returns the months in which the photographs in `rows` were taken, each with its number of
/// photographs, the latest month first. `rows` must be in the order of capture.
pub(crate) fn months(index: &Catalog<Bytes>, mut rows: &[u32]) -> Vec<(Month, u32)> {
    let mut months = Vec::new();
    while let Some((last, rest)) = rows.split_last() {
        let Some(photo) = index.photo(*last) else {
            rows = rest;
            continue;
        };
        let (month, _) = Month::of(photo.taken_s);
        // Count at least one photograph, so that the loop ends even if a broken index is not
        // sorted.
        let count = in_month(index, rows, month).len().clamp(1, rows.len());
        months.push((month, count as u32));
        rows = &rows[..rows.len() - count];
    }
    months
}
