use tags::{Field, Listing, Media, PhotoMetadata, Splits, Tags, Track};

/// File of the library, with the content read from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Path below the library's root, in the bytes of the file system.
    pub path: Vec<u8>,
    /// File metadata, which change whenever the file changes.
    pub stat: Stat,
    /// Content read from the file.
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

/// Content of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Music.
    Music(Box<Media>),
    /// A picture.
    Photo(Photo),
    /// A playlist. The path of an entry that begins with a slash is relative to the library's
    /// root.
    Listing(Box<Listing>),
    /// A file that cannot be read, with the reason; stored so that the file is not opened again.
    Unreadable(String),
}

/// Picture of the library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Photo {
    /// Width after the orientation is applied.
    pub width_px: u32,
    /// Height after the orientation is applied.
    pub height_px: u32,
    /// Capture time, camera and position.
    pub metadata: PhotoMetadata,
}

/// Entry with the values derived from it alone. Drafts can be made in any thread.
#[derive(Debug)]
pub struct Draft {
    pub(crate) entry: Entry,
    pub(crate) track: Option<Box<Track>>,
}

impl Draft {
    /// Derives a draft from an entry; `splits` separate the names in its tags.
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

/// Tag fields that no response needs, and that the index omits.
const LEFT_OUT: &[Field] = &[
    Field::Lyrics,
    Field::Comment,
    Field::Copyright,
    Field::EncodedBy,
];

impl Entry {
    /// Removes the fields that the index leaves out. An entry read from an index has none of them.
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
