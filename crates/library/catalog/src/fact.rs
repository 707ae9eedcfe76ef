//! Facts about a word in a name, in 16 bits: all that a search needs to score a match without
//! reading the name.
//!
//! ```text
//! in the title 1 bit · 10 − place of the word 4 bits · words in title 4 bits · its bytes 7 bits
//! ```
//! Of two facts about the same word and object, the larger one gives the better score.

/// Largest number of words that a fact can hold; longer titles count as this long.
const WORDS_MAX: usize = 15;
/// Largest number of bytes that a fact can hold; longer titles count as this long.
const BYTES_MAX: usize = 99;
/// Number of places that give different scores; all later places score alike.
const PLACES: usize = 10;

/// One word in the title of an object, or in its other names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fact(pub(crate) u16);

/// Bits that all facts about one object share: the length of its title.
#[derive(Clone, Copy)]
pub(crate) struct Title(u16);

impl Title {
    /// Makes the bits from a folded title and its number of words.
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

    /// Returns `PLACES` for the first word, one less for each later word, and 0 from there on.
    fn earliness(self) -> u32 {
        u32::from(self.0 >> 11 & 15)
    }

    pub(crate) fn title_words(self) -> usize {
        usize::from(self.0 >> 7 & 15)
    }

    pub(crate) fn title_bytes(self) -> u32 {
        u32::from(self.0 & 127)
    }

    /// Returns the score of a `word` that begins with `want`. Words of titles score more than those
    /// of other names, whole words more than longer ones, early words more than later ones.
    pub(crate) fn score(self, word: &[u8], want: &[u8]) -> u32 {
        let whole = if word.len() == want.len() {
            60
        } else {
            60 * want.len() as u32 / word.len().max(1) as u32 / 2
        };
        whole + self.earliness() + if self.in_title() { 40 } else { 0 }
    }
}
