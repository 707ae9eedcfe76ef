//! Short strings packed into one allocation: the encoding of small collections.
//!
//! ```text
//! element:  length │ bytes │ length
//! length:   one byte if less than 254, else the byte 254 and four bytes; reversed after the bytes
//! ```
//!
//! The length is stored at both ends of the bytes, so that a walk can start at either end.

use std::ops::Range;

use crate::memory::allocated;
use crate::memory::reallocate_vec;

/// First byte of a length that is stored in five bytes.
const LONG: u8 = 254;

/// A packed sequence of byte strings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    count: u32,
}

/// An element with its offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element<'a> {
    /// Offset of the element's record, an argument of [`Packed::remove`], [`Packed::insert`] and
    /// [`Packed::replace`].
    pub(crate) at: usize,
    pub(crate) bytes: &'a [u8],
}

/// Returns the packed size of a string of `len` bytes, in bytes.
pub(crate) fn record_bytes(len: usize) -> usize {
    len + 2 * length_bytes(len)
}

fn length_bytes(len: usize) -> usize {
    if len < LONG as usize { 1 } else { 5 }
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the total size of all records, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Moves the elements into a new allocation.
    pub(crate) fn reallocate(&mut self) {
        reallocate_vec(&mut self.bytes);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        allocated(self.bytes.capacity())
    }

    pub(crate) fn push_back(&mut self, value: &[u8]) {
        let end = self.bytes.len();
        self.insert(end, value);
    }

    pub(crate) fn push_front(&mut self, value: &[u8]) {
        self.insert(0, value);
    }

    /// Inserts an element before the element at this offset. If `at` is the offset of the end,
    /// appends the new element.
    pub(crate) fn insert(&mut self, at: usize, value: &[u8]) {
        self.put(at..at, value);
        self.count += 1;
    }

    /// Replaces the element at this offset.
    pub(crate) fn replace(&mut self, at: usize, value: &[u8]) {
        let record = self.record(at);
        self.put(record, value);
    }

    pub(crate) fn remove(&mut self, at: usize) {
        let record = self.record(at);
        self.bytes.drain(record);
        self.count -= 1;
    }

    pub(crate) fn remove_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let start = self.offset(range.start);
        let end = self.offset(range.end);
        self.bytes.drain(start..end);
        self.count -= u32::try_from(range.len()).expect("the range is within the count");
    }

    /// Removes the elements from `index` to the end, and returns them.
    pub(crate) fn split_off(&mut self, index: usize) -> Self {
        let at = self.offset(index);
        let count = self.count - u32::try_from(index).expect("the index is within the count");
        self.count -= count;
        let bytes = self.bytes.split_off(at);
        Self { bytes, count }
    }

    /// Releases the spare capacity, if more than half of the capacity is spare.
    pub(crate) fn shrink(&mut self) {
        if self.bytes.len() * 2 < self.bytes.capacity() {
            self.bytes.shrink_to_fit();
        }
    }

    fn put(&mut self, replaced: Range<usize>, value: &[u8]) {
        let mut front = [0; 5];
        let mut back = [0; 5];
        let width = length_bytes(value.len());
        if width == 1 {
            front[0] = value.len() as u8;
            back[0] = value.len() as u8;
        } else {
            let len = u32::try_from(value.len()).expect("packed strings are short");
            front[0] = LONG;
            front[1..].copy_from_slice(&len.to_le_bytes());
            back[..4].copy_from_slice(&len.to_le_bytes());
            back[4] = LONG;
        }
        if replaced.start == self.bytes.len() {
            self.bytes.extend_from_slice(&front[..width]);
            self.bytes.extend_from_slice(value);
            self.bytes.extend_from_slice(&back[..width]);
            return;
        }
        let record = front[..width].iter().chain(value).chain(&back[..width]);
        self.bytes
            .splice(replaced, record.copied().collect::<Vec<u8>>());
    }

    fn record(&self, at: usize) -> Range<usize> {
        let body = self.body(at);
        at..body.end + length_bytes(body.len())
    }

    fn body(&self, at: usize) -> Range<usize> {
        let first = self.bytes[at];
        if first < LONG {
            return at + 1..at + 1 + first as usize;
        }
        let len = u32::from_le_bytes(self.bytes[at + 1..at + 5].try_into().expect("four bytes"));
        at + 5..at + 5 + len as usize
    }

    /// Returns the offset of the element with this index. If `index` is the number of elements,
    /// returns the offset of the end.
    fn offset(&self, index: usize) -> usize {
        if index == self.len() {
            return self.bytes.len();
        }
        self.element(index)
            .expect("the index is within the count")
            .at
    }

    /// Returns the element with this index, found from the nearer end.
    pub(crate) fn element(&self, index: usize) -> Option<Element<'_>> {
        let len = self.len();
        if len <= index {
            None
        } else if index < len / 2 {
            self.iter().nth(index)
        } else {
            self.iter().nth_back(len - 1 - index)
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        self.element(index).map(|element| element.bytes)
    }

    pub(crate) fn iter(&self) -> Iter<'_> {
        Iter {
            packed: self,
            front: 0,
            back: self.bytes.len(),
        }
    }

    /// Iterates over pairs of neighbours: fields with values, or members with scores.
    pub(crate) fn pairs(&self) -> Pairs<'_> {
        Pairs(self.iter())
    }
}

/// Double-ended iterator over the elements.
#[derive(Clone)]
pub(crate) struct Iter<'a> {
    packed: &'a Packed,
    front: usize,
    back: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = Element<'a>;

    #[inline]
    fn next(&mut self) -> Option<Element<'a>> {
        if self.front == self.back {
            return None;
        }
        let at = self.front;
        let body = self.packed.body(at);
        let bytes = &self.packed.bytes[body.clone()];
        self.front = body.end + length_bytes(body.len());
        Some(Element { at, bytes })
    }
}

impl<'a> DoubleEndedIterator for Iter<'a> {
    fn next_back(&mut self) -> Option<Element<'a>> {
        if self.front == self.back {
            return None;
        }
        let bytes = &self.packed.bytes;
        let last = bytes[self.back - 1];
        let end;
        let len;
        if last < LONG {
            end = self.back - 1;
            len = last as usize;
        } else {
            end = self.back - 5;
            let length = bytes[end..end + 4].try_into().expect("four bytes");
            len = u32::from_le_bytes(length) as usize;
        }
        self.back = end - len - length_bytes(len);
        let at = self.back;
        Some(Element {
            at,
            bytes: &bytes[end - len..end],
        })
    }
}

/// Double-ended iterator over pairs of elements.
#[derive(Clone)]
pub(crate) struct Pairs<'a>(Iter<'a>);

impl<'a> Iterator for Pairs<'a> {
    type Item = (Element<'a>, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        Some((self.0.next()?, self.0.next()?.bytes))
    }
}

impl DoubleEndedIterator for Pairs<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let second = self.0.next_back()?;
        Some((self.0.next_back()?, second.bytes))
    }
}

#[cfg(test)]
mod tests;
