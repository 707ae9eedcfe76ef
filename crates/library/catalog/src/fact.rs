//! What a search needs to know of a word in a name, in 16 bits, so that it reads no name.
//!
//! ```text
//! in the title 1 bit · 10 − place of the word 4 bits · words of the title 4 bits · bytes of the title 7 bits
//! ```
//! Of two facts about one word of one thing, the larger says more for it.

/// Words that a title is told to have at most.
const WORDS_MAX: usize = 15;
/// Bytes that a title is told to have at most.
const BYTES_MAX: usize = 99;
/// Places that make a difference.
const PLACES: usize = 10;

/// One word in a title, or in the other names of what has the title.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact(pub(crate) u16);

/// What all facts about one thing share.
#[derive(Clone, Copy)]
pub(crate) struct Title(u16);

impl Title {
    /// Of a folded title, and how many words it has.
    pub(crate) fn new(folded: &str, words: usize) -> Title {
        let bytes = folded.len().min(BYTES_MAX);
        Title((words.min(WORDS_MAX) << 7 | bytes) as u16)
    }

    pub(crate) fn fact(self, in_title: bool, place: usize) -> Fact {
        let early = PLACES - place.min(PLACES);
        Fact(u16::from(in_title) << 15 | (early << 11) as u16 | self.0)
    }
}

impl Fact {
    pub(crate) fn in_title(self) -> bool {
        self.0 >> 15 == 1
    }

    /// More for words that come early.
    fn early(self) -> u32 {
        u32::from(self.0 >> 11 & 15)
    }

    pub(crate) fn title_words(self) -> usize {
        usize::from(self.0 >> 7 & 15)
    }

    pub(crate) fn title_bytes(self) -> u32 {
        u32::from(self.0 & 127)
    }

    /// How well a word fits of which `want` is the beginning. Words of titles before those of others, whole words before
    /// longer ones, early ones before later ones.
    pub(crate) fn score(self, word: &[u8], want: &[u8]) -> u32 {
        let whole = if word.len() == want.len() {
            60
        } else {
            60 * want.len() as u32 / word.len().max(1) as u32 / 2
        };
        whole + self.early() + if self.in_title() { 40 } else { 0 }
    }
}
