//! Temporary libraries next to the given library. A temporary library consists of hard links to
//! some files of the given library, or of copies of these files.

use std::fs;
use std::path::{Path, PathBuf};

use toolkit::stop::{Stop, at};

use crate::scratch::Scratch;

/// Creates a temporary folder on the library's file system, so that hard links to its files are
/// possible.
pub(super) fn beside(library: &Path, name: &str) -> Result<Scratch, Stop> {
    let parent = library.parent();
    let parent =
        parent.ok_or_else(|| Stop::usage("--library must be a folder inside another folder"))?;
    Scratch::within(parent, name)
}

/// Links the files with the extension `ending` into `tree`, at the same relative paths. If `ending`
/// is `None`, links all files.
pub(super) fn link(library: &Path, ending: Option<&str>, tree: &Path) -> Result<(), Stop> {
    let mut folders = vec![PathBuf::new()];
    fs::create_dir_all(tree).map_err(at(tree))?;
    while let Some(folder) = folders.pop() {
        let from = library.join(&folder);
        for entry in fs::read_dir(&from).map_err(at(&from))? {
            let entry = entry.map_err(at(&from))?;
            let (path, kind) = (
                folder.join(entry.file_name()),
                entry.file_type().map_err(at(&from))?,
            );
            let has_ending = path
                .extension()
                .and_then(|ending| ending.to_str())
                .is_some_and(|its| ending.is_none_or(|ending| its.eq_ignore_ascii_case(ending)));
            if kind.is_dir() {
                fs::create_dir_all(tree.join(&path)).map_err(at(tree))?;
                folders.push(path);
            } else if kind.is_file() && has_ending {
                let to = tree.join(&path);
                fs::hard_link(entry.path(), &to).map_err(at(&to))?;
            }
        }
    }
    Ok(())
}
