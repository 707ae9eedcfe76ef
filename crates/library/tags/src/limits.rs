use crate::{Error, Tags};

/// What one file may cost, whatever it claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Positioned reads.
    pub reads_max: u32,
    /// Bytes of all reads.
    pub read_bytes_max: u64,
    /// Frames, comments, items, boxes and chunks that are looked at.
    pub parts_max: u32,
    /// Bytes of one value; of a longer one, as lyrics may be, the beginning is kept.
    pub value_bytes_max: usize,
    /// Bytes of all values.
    pub text_bytes_max: usize,
    /// Values of all fields, but for those of the last frame or comment read.
    pub values_max: usize,
    /// Pictures that are reported.
    pub pictures_max: usize,
    /// Bytes between the tag and the first audio frame of an MP3 that are searched.
    pub sync_bytes_max: u64,
    /// Bytes of a playlist.
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
    /// Refuses a file that has more in its tags already.
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
