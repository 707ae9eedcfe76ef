/// What a scan may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Folders within each other.
    pub depth_max: usize,
    /// Files of music and pictures.
    pub files_max: usize,
    /// Threads that read, on disks without moving parts; never more than there are cores.
    pub readers: usize,
    /// Threads that read, on a disk that rotates: few requests, in order, are faster than many.
    pub readers_rotating: usize,
    /// Folders that the kernel is asked to watch; it takes about a kilobyte for each.
    pub watches_max: usize,
    /// Changed folders that are told apart until they are quiet; more stand for everything.
    pub folders_max: usize,
    /// Bytes of a picture or a piece of music; larger files are not opened.
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
