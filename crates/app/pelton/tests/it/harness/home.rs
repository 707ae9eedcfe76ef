//! Temporary directory of one test: the library in one folder, the server's data in another.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Temporary directory of a test. It is removed when dropped, unless the test failed.
#[derive(Debug)]
pub(crate) struct Home {
    directory: PathBuf,
}

impl Home {
    /// Creates an empty temporary directory, named after the current test.
    pub(crate) fn new() -> Home {
        static HOMES: AtomicUsize = AtomicUsize::new(0);
        let number = HOMES.fetch_add(1, Ordering::Relaxed);
        let thread = thread::current();
        let test = thread.name().unwrap_or("it").replace("::", "-");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{number}"));
        if directory.exists() {
            fs::remove_dir_all(&directory).expect("what an earlier run left can be removed");
        }
        fs::create_dir_all(directory.join("library")).expect("the target directory can be written");
        Home { directory }
    }

    /// Creates a temporary directory whose library contains these originals, as name and content.
    pub(crate) fn with(originals: &[(&str, &[u8])]) -> Home {
        let home = Home::new();
        for (name, bytes) in originals {
            home.put(name, bytes);
        }
        home
    }

    /// Returns the directory of the test, which contains the library and the data directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the folder that is served.
    pub(crate) fn library(&self) -> PathBuf {
        self.directory.join("library")
    }

    /// Returns the data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Writes an original to the library.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let path = self.library().join(name);
        let folder = path.parent().expect("a name lies in the library");
        fs::create_dir_all(folder).expect("the home can be written");
        fs::write(&path, bytes).expect("the home can be written");
    }

    /// Returns all files below `variants`, without those that are still being written.
    pub(crate) fn variants(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.data().join("variants"), &mut found);
        found.retain(|path| !is_temporary(path));
        found
    }

    /// Returns the files that are being written.
    pub(crate) fn temporaries(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.data().join("variants/tmp"), &mut found);
        found
    }
}

fn is_temporary(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("tmp"))
}

/// Adds the paths of the files below `folder` to `found`. Files that vanish meanwhile are skipped.
fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry.path().is_dir() {
            walk(&entry.path(), found);
        } else {
            found.push(entry.path());
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if !thread::panicking() {
            fs::remove_dir_all(&self.directory).expect("nobody uses the home any more");
        }
    }
}
