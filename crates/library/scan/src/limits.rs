/// Limits of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum depth of nested folders.
    pub depth_max: usize,
    /// Maximum number of music files, pictures and playlists, including unreadable ones; a scan
    /// that finds more fails.
    pub files_max: usize,
    /// Maximum number of reader threads on non-rotational disks; also bounded by the number of
    /// cores.
    pub readers: usize,
    /// Maximum number of reader threads on a rotating disk, which serves a few requests in order
    /// faster than many at once.
    pub readers_rotating: usize,
    /// Maximum number of folders watched by inotify; the kernel needs about a kilobyte for each.
    pub watches_max: usize,
    /// Maximum number of changed or requested folders that are tracked individually; above this
    /// limit the whole library is scanned.
    pub folders_max: usize,
    /// Maximum length of a file, in bytes; longer files are not opened.
    pub file_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            depth_max: 64,
            files_max: 4_000_000,
            readers: 32,
            readers_rotating: 2,
            watches_max: 250_000,
            folders_max: 256,
            file_bytes_max: 64 << 30,
        }
    }
}
