//! Folders of the library as ranges of files. Files are sorted by path, so all files in a folder
//! and its subfolders have consecutive rows.

use std::ops::Range;

use crate::Catalog;
use crate::layout::{FileRow, FolderRow, Section};
use crate::search::partition;

/// Folder of the library, with the rows of its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Rows of all files in the folder and its subfolders.
    pub files: Range<u32>,
    row: u32,
}

impl<B: AsRef<[u8]>> Catalog<B> {
    /// Returns the folder at a path relative to the root, or `None` if the folder and its
    /// subfolders contain no files. The path of the root is empty.
    #[must_use]
    pub fn folder(&self, path: &[u8]) -> Option<Folder> {
        let files = self.files_below(path, 0..self.counts().files);
        if files.is_empty() {
            return None;
        }
        // The row of the folder is found by following the parents of its first file, which may be
        // in a subfolder.
        let (first, _) = self.file(files.start)?;
        let below = first.get(path.len()..)?;
        let below = below.strip_prefix(b"/").unwrap_or(below);
        let mut row = self.parent_of_file(files.start)?;
        for _ in below.iter().filter(|byte| **byte == b'/') {
            row = self.row::<FolderRow>(Section::Folders, row)?.parent.get();
        }
        Some(Folder { files, row })
    }

    /// Returns whether a file is directly in the folder, not in a subfolder.
    #[must_use]
    pub fn is_directly_in(&self, folder: &Folder, file: u32) -> bool {
        self.parent_of_file(file) == Some(folder.row)
    }

    /// Returns the subfolders of `folder`, which is at `path`: their names and the rows of their
    /// files.
    #[must_use]
    pub fn folders_in(&self, path: &[u8], folder: &Folder) -> Vec<(Vec<u8>, Range<u32>)> {
        let mut found = Vec::new();
        let mut at = folder.files.start;
        while at < folder.files.end {
            let start = at;
            at += 1;
            if self.is_directly_in(folder, start) {
                continue;
            }
            let Some((file, _)) = self.file(start) else {
                continue;
            };
            let below = file.get(path.len()..).unwrap_or_default();
            let below = below.strip_prefix(b"/").unwrap_or(below);
            let Some(length) = below.iter().position(|byte| *byte == b'/') else {
                continue;
            };
            let name = below[..length].to_vec();
            let prefix_bytes = file.len() - below.len() + length;
            let files = self.files_below(&file[..prefix_bytes], start..folder.files.end);
            at = files.end.max(at);
            found.push((name, files));
        }
        found
    }

    /// Returns the files of the range `among` that are in the folder at `path` or in its
    /// subfolders.
    fn files_below(&self, path: &[u8], among: Range<u32>) -> Range<u32> {
        if path.is_empty() {
            return among;
        }
        let prefix = [path, b"/"].concat();
        let path_of = |row: u32| self.file(row).map(|(path, _)| path).unwrap_or_default();
        let start = partition(among.clone(), |row| path_of(row) < prefix);
        start..partition(start..among.end, |row| path_of(row).starts_with(&prefix))
    }

    fn parent_of_file(&self, file: u32) -> Option<u32> {
        Some(self.row::<FileRow>(Section::Files, file)?.folder.get())
    }
}
