use tags::{Field, Listing, Media, PhotoMetadata, Splits, Tags, Track};

/// A file of the library, and what it said when it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Below the library's root, as the file system has it.
    pub path: Vec<u8>,
    /// Tells whether the file is still the one that was read.
    pub stat: Stat,
    /// What was in it.
    pub content: Content,
}

/// What the file system says of a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Stat {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub mtime_ns: i64,
    /// When the file was made; 0 where the file system does not say.
    pub born_ns: i64,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Music.
    Music(Box<Media>),
    /// A picture.
    Photo(Photo),
    /// A playlist. A target that begins with a slash begins at the library's root.
    Listing(Box<Listing>),
    /// Something that cannot be read, and why; remembered so that it is not opened again.
    Unreadable(String),
}

/// A picture of the library.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Photo {
    /// Upright.
    pub width_px: u32,
    /// Upright.
    pub height_px: u32,
    /// What the camera wrote down.
    pub shot: PhotoMetadata,
}

/// An entry on its way into an index, with what depends on it alone: any thread may make that.
#[derive(Debug)]
pub struct Draft {
    pub(crate) entry: Entry,
    pub(crate) track: Option<Box<Track>>,
}

impl Draft {
    /// Reads out of an entry what it is.
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

/// Fields that no answer is made from; whoever wants them reads the file again.
const LEFT_OUT: &[Field] = &[
    Field::Lyrics,
    Field::Comment,
    Field::Copyright,
    Field::EncodedBy,
];

impl Entry {
    /// Leaves out what the index does not keep. An entry that came out of an index stays as it is.
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
