use std::sync::Arc;

use catalog::Covered;
use image_plan::Placeholder;

use crate::server::Index;

/// What the house offers: the library, and what is done with its files.
pub trait House: Send + Sync {
    /// The index as it is now.
    fn index(&self) -> Arc<Index>;

    /// How far a scan is.
    fn scanning(&self) -> Scanning;

    /// Files and folders that cannot be read, by their paths below the root, and why.
    fn unreadable(&self, index: &Index) -> Vec<(Vec<u8>, String)>;

    /// Has these folders scanned soon, with all below them, by their paths below the root; everything, where none is named.
    fn scan(&self, folders: Vec<Vec<u8>>);

    /// Ends the scan that runs, if one does; the index stays as it is.
    fn cancel_scan(&self);

    /// The target at which the picture of something is served, with this query. May have to take it out of a file.
    fn cover(&self, index: &Index, of: Covered, query: &str) -> Option<String>;

    /// Whether a picture stands for something.
    fn has_cover(&self, index: &Index, of: Covered) -> bool;

    /// What the picture of something looks like, where that is known. May have to take it out of a file.
    fn look(&self, index: &Index, of: Covered) -> Option<Placeholder>;

    /// What the picture at a path of the library looks like, where that is known.
    fn look_of_file(&self, path: &[u8]) -> Option<Placeholder>;

    /// The target at which the picture of this name is served, which [`Store::avatar`](crate::Store::avatar) gives.
    fn avatar(&self, name: &str) -> Option<String>;

    /// The lyrics of a music file, in whatever encoding: those beside it, else all inside. May read it.
    fn lyrics(&self, path: &[u8]) -> Vec<Vec<u8>>;
}

/// How far a scan is, and how changes are seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scanning {
    /// Whether one runs.
    pub active: bool,
    /// Files that it has met, or the last one has.
    pub files: u64,
    /// How many of those that are to be read it has read, once it knows which.
    pub reading: Option<Reading>,
    /// When the last one ended.
    pub ended_ms: Option<i64>,
    /// Why the one after that did not come to an end.
    pub failed: Option<String>,
    /// Folders that changed and are not quiet yet.
    pub unsettled: u64,
    /// How changes are seen.
    pub watch: Watching,
}

/// How far reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Files read.
    pub done: u64,
    /// Of so many.
    pub of: u64,
    /// Files in a second, so far.
    pub per_second: f64,
    /// Until everything is read, should that stay.
    pub left_s: Option<f64>,
}

/// How changes of the library are seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watching {
    /// Not at all.
    #[default]
    Off,
    /// The kernel tells of them.
    Told {
        /// In so many folders.
        folders: u64,
    },
    /// By looking again.
    Looking {
        /// How often.
        every_s: u64,
        /// Why the kernel does not tell.
        why: String,
    },
}
