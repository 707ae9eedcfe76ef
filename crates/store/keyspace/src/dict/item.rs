//! Elements of a hash table.

use crate::string::Str;
use crate::text::Key;

/// Element of a hash table. It has a key, and a link: the number of the next slot in its chain.
pub(crate) trait Item: Clone {
    fn key(&self) -> &[u8];
    fn link(&self) -> u32;
    fn set_link(&mut self, link: u32);
    fn heap_bytes(&self) -> usize;
}

/// Element of a hash table that consists of a name and its value.
#[derive(Clone, Debug)]
pub(crate) struct Node<V> {
    pub(crate) name: Key,
    pub(crate) value: V,
    link: u32,
}

impl<V> Node<V> {
    pub(crate) fn new(name: &[u8], value: V) -> Self {
        Self {
            name: Key::new(name),
            value,
            link: 0,
        }
    }
}

impl<V: Payload> Item for Node<V> {
    #[inline]
    fn key(&self) -> &[u8] {
        self.name.bytes()
    }

    #[inline]
    fn link(&self) -> u32 {
        self.link
    }

    #[inline]
    fn set_link(&mut self, link: u32) {
        self.link = link;
    }

    #[inline]
    fn heap_bytes(&self) -> usize {
        self.name.heap_bytes() + self.value.heap_bytes()
    }
}

/// Value of a [`Node`].
pub(crate) trait Payload: Clone {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Payload for () {}

impl Payload for f64 {}

impl Payload for Str {
    fn heap_bytes(&self) -> usize {
        Self::heap_bytes(self)
    }
}
