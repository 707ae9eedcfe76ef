use crate::{Error, Tags};

/// Limits on the work for one file, whatever its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of positioned reads.
    pub reads_max: u32,
    /// Bytes of all reads together.
    pub read_bytes_max: u64,
    /// Number of parsed frames, comments, items, boxes and chunks.
    pub parts_max: u32,
    /// Bytes of one value; a longer value, such as lyrics, is truncated.
    pub value_bytes_max: usize,
    /// Bytes of all values together.
    pub text_bytes_max: usize,
    /// Number of values of all fields. The check comes before each frame or comment, so the last
    /// one may exceed it.
    pub values_max: usize,
    /// Number of pictures reported.
    pub pictures_max: usize,
    /// Bytes searched between the tag and the first audio frame of an MP3.
    pub sync_bytes_max: u64,
    /// Bytes of a playlist file.
    pub listing_bytes_max: u64,
    /// Entries of a playlist.
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
    /// Refuses a file whose tags already exceed the limits.
    pub(crate) fn admit(&self, tags: &Tags) -> Result<(), Error> {
        if self.text_bytes_max < tags.text_bytes() {
            return Err(Error::limit("more text than the limit allows"));
        }
        if self.values_max < tags.len() {
            return Err(Error::limit("more values than the limit allows"));
        }
        Ok(())
    }
}
