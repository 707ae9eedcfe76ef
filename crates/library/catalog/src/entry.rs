use tags::{Field, Listing, Media, PhotoMetadata, Splits, Tags, Track};

/// File of the library, with its metadata and content.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Path relative to the root of the library, as the file system stores it.
    pub path: Vec<u8>,
    /// Metadata of the file, which change whenever the file changes.
    pub stat: Stat,
    /// Content that was read from the file.
    pub content: Content,
}

/// Metadata that the file system returns without opening the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Stat {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub mtime_ns: i64,
    /// Creation time in nanoseconds since 1970; 0 if the file system does not record it.
    pub born_ns: i64,
}

/// Content of a file of the library, according to its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Music file: its tags and audio properties.
    Music(Box<Media>),
    /// Picture: its size and photo metadata.
    Photo(Photo),
    /// Playlist with its entries. A path of an entry that begins with a slash is relative to the
    /// root of the library.
    Listing(Box<Listing>),
    /// File that cannot be read, with the reason. It is recorded so that later scans do not open it
    /// again.
    Unreadable(String),
}

/// Properties of a picture file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Photo {
    /// Width in pixels, after the orientation is applied.
    pub width_px: u32,
    /// Height in pixels, after the orientation is applied.
    pub height_px: u32,
    /// Capture time, camera, position and places.
    pub metadata: PhotoMetadata,
}

/// Entry with the values that are derived from it. Threads can make drafts independently.
#[derive(Debug)]
pub struct Draft {
    pub(crate) entry: Entry,
    pub(crate) track: Option<Box<Track>>,
}

impl Draft {
    /// Makes the draft of an entry. `splits` contains the separators at which tags are split into
    /// several names.
    #[must_use]
    pub fn new(mut entry: Entry, splits: &Splits) -> Draft {
        entry.trim();
        let track = match &entry.content {
            Content::Music(media) => Some(Box::new(Track::new(media, &entry.path, splits))),
            Content::Photo(_) | Content::Listing(_) | Content::Unreadable(_) => None,
        };
        Draft { entry, track }
    }
}

/// Tag fields that are not stored in the index, since no response contains them.
const LEFT_OUT: &[Field] = &[
    Field::Lyrics,
    Field::Comment,
    Field::Copyright,
    Field::EncodedBy,
];

impl Entry {
    /// Removes the tag fields that are not stored in the index. Entries that were read from an
    /// index have none of them.
    fn trim(&mut self) {
        if let Content::Music(media) = &mut self.content
            && LEFT_OUT.iter().any(|field| media.tags.has(*field))
        {
            let mut kept = Tags::default();
            let values = media.tags.iter();
            values
                .filter(|(field, _)| !LEFT_OUT.contains(field))
                .for_each(|(field, value)| kept.push(field, value));
            media.tags = kept;
        }
    }
}
