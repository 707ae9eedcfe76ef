use crate::{Error, Tags};

/// Limits on the work for one file, whatever it contains. A file that exceeds a limit is refused,
/// unless the limit states otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of read calls.
    pub reads_max: u32,
    /// Maximum bytes of all reads together.
    pub read_bytes_max: u64,
    /// Maximum number of frames, comments, items, boxes and chunks that are parsed.
    pub parts_max: u32,
    /// Maximum bytes of one tag value; a longer value, such as lyrics, is truncated.
    pub value_bytes_max: usize,
    /// Maximum bytes of all tag values together.
    pub text_bytes_max: usize,
    /// Maximum number of tag values, of all fields together. The limit is checked before each frame
    /// or comment, so the values of the last frame or comment may exceed the limit.
    pub values_max: usize,
    /// Maximum number of pictures reported; further pictures are ignored.
    pub pictures_max: usize,
    /// Maximum bytes that are searched for the first audio frame of an MP3, after its tag.
    pub sync_bytes_max: u64,
    /// Maximum bytes of a playlist file.
    pub listing_bytes_max: u64,
    /// Maximum number of entries of a playlist.
    pub listing_entries_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            reads_max: 512,
            read_bytes_max: 4 << 20,
            parts_max: 4096,
            value_bytes_max: 32 << 10,
            text_bytes_max: 1 << 20,
            values_max: 4096,
            pictures_max: 16,
            sync_bytes_max: 128 << 10,
            listing_bytes_max: 4 << 20,
            listing_entries_max: 50_000,
        }
    }
}

impl Limits {
    /// Returns an error if the tags already exceed the limits.
    pub(crate) fn admit(&self, tags: &Tags) -> Result<(), Error> {
        if self.text_bytes_max < tags.text_bytes() {
            return Err(Error::limit(
                "the tags contain more text than the limit allows",
            ));
        }
        if self.values_max < tags.len() {
            return Err(Error::limit(
                "the tags contain more values than the limit allows",
            ));
        }
        Ok(())
    }
}
