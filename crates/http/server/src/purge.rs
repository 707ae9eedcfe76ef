//! Purge: removal of variants from the cache on request of an operator.

use std::collections::HashSet;

use variants::cache::{OriginalKey, Purged, StillLoading};
use variants::library::{LibraryPath, Wait};

use crate::service::Service;

impl Service {
    /// Removes the variants of the file at `path`, or of all files below the folder at `path`. If
    /// `path` is `None`, removes all variants.
    ///
    /// With a `path`, variants of deleted files and of earlier versions stay until they are
    /// evicted; no request can reach them. Each core may still send a purged variant from memory
    /// for up to `revalidate_after_ms` plus half a second. Blocks.
    ///
    /// # Errors
    /// [`StillLoading`] if the index of variants is not complete yet.
    pub fn purge(&self, path: Option<&LibraryPath>) -> Result<Purged, StillLoading> {
        let originals = path.map(|path| self.originals(path));
        self.variants().purge(originals.as_ref())
    }

    /// Removes the variants of all files that have `tag`, as [`Service::purge`] does. Returns
    /// `None` if no file or folder has the tag. Blocks.
    ///
    /// # Errors
    /// [`StillLoading`] if the index of variants is not complete yet.
    pub fn purge_tag(&self, tag: &str) -> Result<Option<Purged>, StillLoading> {
        let mut paths = self.settings.tags.paths(tag).peekable();
        if paths.peek().is_none() {
            return Ok(None);
        }
        let originals = paths.flat_map(|path| self.originals(path)).collect();
        self.variants().purge(Some(&originals)).map(Some)
    }

    /// Returns whether a file or folder that clients may request is at `path`. Blocks.
    #[must_use]
    pub fn has_path(&self, path: &LibraryPath) -> bool {
        let library = self.library();
        let exists = library.identify(path, Wait::Allowed).is_ok() || library.is_folder(path);
        exists && !library.is_internal(path)
    }

    fn originals(&self, path: &LibraryPath) -> HashSet<OriginalKey> {
        let library = self.library();
        let files = match library.is_folder(path) {
            true => self.list_files_below(path.as_path()),
            false => vec![path.clone()],
        };
        let identities = files
            .iter()
            .filter_map(|file| library.identify(file, Wait::Allowed).ok());
        identities
            .map(|identity| OriginalKey::new(&identity))
            .collect()
    }
}
