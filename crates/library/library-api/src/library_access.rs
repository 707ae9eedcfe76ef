use std::io;
use std::ops::Range;
use std::sync::Arc;

use catalog::CoverOwner;
use image_plan::Placeholder;

use crate::index::Index;

/// Interface to the program that uses this crate: the library's index, scans, covers and lyrics.
pub trait LibraryAccess: Send + Sync {
    /// Returns the current index.
    fn index(&self) -> Arc<Index>;

    /// Returns the progress of the running or the last scan.
    fn scanning(&self) -> Scanning;

    /// Returns the files and folders that cannot be read: for each, its path relative to the
    /// library's root, and the reason.
    fn unreadable(&self, index: &Index) -> Vec<(Vec<u8>, String)>;

    /// Requests a scan of these folders and everything below them. Paths are relative to the
    /// library's root. An empty list requests a scan of the whole library.
    fn scan(&self, folders: Vec<Vec<u8>>);

    /// Cancels the running scan, if any; the index stays unchanged.
    fn cancel_scan(&self);

    /// Returns the target (path and query) at which the program serves the cover of the object
    /// `of`, if there is a cover. The target ends with `query`. This may require extracting the
    /// cover from a music file.
    fn cover(&self, index: &Index, of: CoverOwner, query: &str) -> Option<String>;

    /// Returns whether the object `of` has a cover.
    fn has_cover(&self, index: &Index, of: CoverOwner) -> bool;

    /// Returns the placeholder of the cover of the object `of`, if it is known. This may require
    /// extracting the cover from a music file.
    fn placeholder(&self, index: &Index, of: CoverOwner) -> Option<Placeholder>;

    /// Returns the placeholder of the picture at this path of the library, if it is known.
    fn placeholder_of_file(&self, path: &[u8]) -> Option<Placeholder>;

    /// Returns the sorted names of the videos in a folder of the library: the files with one of
    /// `extensions`. Videos are not in the index, so this reads the folder.
    fn videos(&self, folder: &[u8], extensions: &[&str]) -> Vec<Vec<u8>>;

    /// Returns the sorted paths of the videos in a folder of the library and in the folders below
    /// it, as [`LibraryAccess::videos`] does for one folder. Reads a limited number of folders.
    fn videos_below(&self, folder: &[u8], extensions: &[&str]) -> Vec<Vec<u8>>;

    /// Returns the place of the video in the picture at this path of the library, or `None` if the
    /// picture is not a motion photo. Reads the beginning and the end of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn motion(&self, path: &[u8]) -> io::Result<Option<MotionVideo>>;

    /// Returns the target (path and query) of the avatar with this file name, if the avatar exists.
    /// [`Store::avatar`](crate::Store::avatar) returns the file name.
    fn avatar(&self, name: &str) -> Option<String>;

    /// Returns the lyrics of a music file, as bytes in any encoding. If there is a lyrics file
    /// beside the music file, returns only its content. Otherwise, returns all lyrics in the tags.
    /// May read these files.
    fn lyrics(&self, path: &[u8]) -> Vec<Vec<u8>>;
}

/// Place of the video in the file of a motion photo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MotionVideo {
    /// Entity tag of the version of the file in which the video was found.
    pub etag: String,
    /// Range of the file in bytes.
    pub range: Range<u64>,
}

/// Progress of a scan, and the way changes are detected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scanning {
    /// True if a scan is running.
    pub active: bool,
    /// Number of files found by the running scan, or by the last scan if none is running.
    pub files: u64,
    /// Progress of reading files; `None` while no files are being read.
    pub reading: Option<Reading>,
    /// End of the last completed scan, in milliseconds since 1970.
    pub ended_ms: Option<i64>,
    /// Reason why the latest scan failed or was cancelled; `None` if it was completed.
    pub failed: Option<String>,
    /// Number of changed folders that are not scanned yet, because their last change is too recent.
    pub unsettled: u64,
    /// Way in which changes of the library are detected.
    pub watch: Watching,
}

/// Progress of reading files.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Number of files that the scan has read so far.
    pub done: u64,
    /// Number of files that the scan reads in total.
    pub of: u64,
    /// Files read per second, averaged since the reading of files started.
    pub per_second: f64,
    /// Estimated seconds until all files are read, at the average rate so far; `None` before the
    /// first file is read.
    pub left_s: Option<f64>,
}

/// Way in which changes of the library are detected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Watching {
    /// Changes are not detected.
    #[default]
    Off,
    /// The kernel notifies of changes.
    Inotify {
        /// Number of watched folders.
        folders: u64,
    },
    /// Folders are polled.
    Polling {
        /// Poll interval, in seconds.
        every_s: u64,
        /// Reason why the kernel's notifications are not used.
        why: String,
    },
}
