use tags::{Field, Listing, Media, Shot, Tags};

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
    pub shot: Shot,
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
    pub(crate) fn trim(&mut self) {
        if let Content::Music(media) = &mut self.content
            && media
                .tags
                .iter()
                .any(|(field, _)| LEFT_OUT.contains(&field))
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
