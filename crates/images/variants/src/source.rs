//! Open files as inputs of the parsers of pictures and music.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Open file, as an input of the parsers in `tags` and `image_plan`.
#[derive(Debug)]
pub struct FileSource<'f>(pub &'f File);

impl tags::ReadAt for FileSource<'_> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self.0, buf, offset)
    }
}
