/// Limits of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum depth of nested folders in the library.
    pub depth_max: usize,
    /// Maximum number of music files, pictures and playlists, including unreadable ones. A scan
    /// that finds more files fails.
    pub files_max: usize,
    /// Maximum number of threads that read files from non-rotational disks. The number of cores is
    /// also a limit.
    pub readers: usize,
    /// Maximum number of threads that read files from a rotating disk. Such a disk is faster with a
    /// few requests in order than with many at once.
    pub readers_rotating: usize,
    /// Maximum number of folders that are watched with inotify. The kernel needs about 1 kB for
    /// each.
    pub watches_max: usize,
    /// Maximum number of changed or requested folders that are scanned separately. If there are
    /// more, the whole library is scanned.
    pub folders_max: usize,
    /// Maximum length of a file in bytes. Longer files are not opened.
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
