//! Facts about one word in the names of an artist, album, track or picture, packed into 16 bits. A
//! search can score a match from them, without reading the names.
//!
//! From the highest bit to the lowest:
//!
//! | bits | fact |
//! |---|---|
//! | 1 | whether the word is in the title |
//! | 4 | 10 minus the position of the word in the name: earlier words have larger numbers |
//! | 4 | number of words of the title |
//! | 7 | number of bytes of the title |
//!
//! Of two facts about the same word of the same object, the larger number gives the higher score.

/// Maximum number of title words that a fact can record. Titles with more words get the same score
/// as titles with this number of words.
const WORDS_MAX: usize = 15;
/// Maximum number of title bytes that a fact can record. Titles with more bytes get the same score
/// as titles with this number of bytes.
const BYTES_MAX: usize = 99;
/// Number of word positions, at the start of a name, that have different scores. All later
/// positions have the same score.
const PLACES: usize = 10;

/// Facts about one word in the names of an object, packed as the module describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact(pub(crate) u16);

/// Length of the title of an object, in words and bytes (packed). All facts about the object
/// contain it.
#[derive(Clone, Copy)]
pub(crate) struct Title(u16);

impl Title {
    /// Packs the length of the title `folded` and its number of words.
    pub(crate) fn new(folded: &str, words: usize) -> Title {
        let bytes = folded.len().min(BYTES_MAX);
        Title((words.min(WORDS_MAX) << 7 | bytes) as u16)
    }

    pub(crate) fn fact(self, in_title: bool, place: usize) -> Fact {
        let earliness = PLACES - place.min(PLACES);
        Fact(u16::from(in_title) << 15 | (earliness << 11) as u16 | self.0)
    }
}

impl Fact {
    pub(crate) fn in_title(self) -> bool {
        self.0 >> 15 == 1
    }

    /// Returns the bonus for the position of the word: `PLACES` for the first word of a name, one
    /// less for each later word, at least 0.
    fn earliness(self) -> u32 {
        u32::from(self.0 >> 11 & 15)
    }

    pub(crate) fn title_words(self) -> usize {
        usize::from(self.0 >> 7 & 15)
    }

    pub(crate) fn title_bytes(self) -> u32 {
        u32::from(self.0 & 127)
    }

    /// Returns the score of `word`, a word in the names of an object. `word` begins with `want`, a
    /// word of the query. Words in titles score higher than words in other names, equal words
    /// higher than longer ones, and early words higher than later ones.
    pub(crate) fn score(self, word: &[u8], want: &[u8]) -> u32 {
        let whole = if word.len() == want.len() {
            60
        } else {
            60 * want.len() as u32 / word.len().max(1) as u32 / 2
        };
        whole + self.earliness() + if self.in_title() { 40 } else { 0 }
    }
}
