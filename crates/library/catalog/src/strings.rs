//! Table of the strings of an index, without duplicates.

use hashbrown::HashMap;

use crate::layout::put_number;

/// Table of the strings of an index that is being built.
pub(crate) struct Strings {
    pub(crate) bytes: Vec<u8>,
    known: HashMap<Box<[u8]>, u32>,
}

impl Strings {
    pub(crate) fn new() -> Strings {
        let mut strings = Strings {
            bytes: Vec::new(),
            known: HashMap::new(),
        };
        assert_eq!(strings.reference(b""), 0, "the empty string is the first");
        strings
    }

    /// Returns the offset of a string in the table. Adds the string if it is new.
    ///
    /// # Panics
    /// If all strings together reach 4 GiB.
    pub(crate) fn reference(&mut self, text: &[u8]) -> u32 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let reference =
            u32::try_from(self.bytes.len()).expect("all strings together are below 4 GiB");
        put_number(&mut self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text);
        self.known.insert(text.into(), reference);
        reference
    }
}
