//! Values of keys.

use crate::hash::Hash;
use crate::list::List;
use crate::memory::reallocate_box;
use crate::set::Set;
use crate::stream::Stream;
use crate::string::Str;
use crate::zset::Zset;

/// Maximum size of a value that a snapshot writes in one piece.
const AT_ONCE_BYTES_MAX: usize = 64 << 10;

/// Maximum number of elements of a collection that is freed immediately.
pub(crate) const AT_ONCE_MAX: usize = 512;
/// A value, which uses 24 bytes plus its heap memory.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Str(Str),
    List(Box<List>),
    Hash(Box<Hash>),
    Set(Box<Set>),
    Zset(Box<Zset>),
    Stream(Box<Stream>),
}

impl Value {
    /// Returns the name of the value's type, which is the reply of TYPE.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Str(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
            Self::Stream(_) => "stream",
        }
    }

    /// Returns the name of the value's encoding, which is the reply of OBJECT ENCODING.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Str(string) => string.encoding(),
            Self::List(list) => list.encoding(),
            Self::Hash(hash) => hash.encoding(),
            Self::Set(set) => set.encoding(),
            Self::Zset(zset) => zset.encoding(),
            Self::Stream(_) => "stream",
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Str(string) => string.heap_bytes(),
            Self::List(list) => list.heap_bytes(),
            Self::Hash(hash) => hash.heap_bytes(),
            Self::Set(set) => set.heap_bytes(),
            Self::Zset(zset) => zset.heap_bytes(),
            Self::Stream(stream) => stream.heap_bytes(),
        }
    }

    /// Returns the heap bytes of the value if it is a blob, else 0.
    #[inline]
    pub(crate) fn blob_bytes(&self) -> usize {
        match self {
            Self::Str(Str::Blob(_)) => self.heap_bytes(),
            _ => 0,
        }
    }

    /// Returns whether this is an empty collection, whose key must be removed.
    pub(crate) fn is_vacant(&self) -> bool {
        match self {
            // A stream without entries is kept, because it has a last id and groups.
            Self::Str(_) | Self::Stream(_) => false,
            Self::List(list) => list.len() == 0,
            Self::Hash(hash) => hash.len() == 0,
            Self::Set(set) => set.len() == 0,
            Self::Zset(zset) => zset.len() == 0,
        }
    }

    /// Returns the number of elements of a collection, or of the parts of a stream that are freed
    /// one by one; 1 for a string.
    #[inline]
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::Str(_) => 1,
            Self::List(list) => list.len(),
            Self::Hash(hash) => hash.len(),
            Self::Set(set) => set.len(),
            Self::Zset(zset) => zset.len(),
            Self::Stream(stream) => stream.parts(),
        }
    }

    /// Frees up to `left` elements of a removed value. Returns whether the value is now small
    /// enough to be dropped.
    pub(crate) fn free_some(&mut self, left: &mut usize) -> bool {
        match self {
            Self::Str(_) => true,
            Self::List(list) => list.free_some(left),
            Self::Hash(hash) => hash.free_some(left),
            Self::Set(set) => set.free_some(left),
            Self::Zset(zset) => zset.free_some(left),
            Self::Stream(stream) => stream.free_some(left),
        }
    }

    /// Reallocates the heap memory of the value. In a large collection, starts with the element at
    /// position `from`, and stops when the work budget `left` is used up. Returns the position at
    /// which the next call continues, or `None` if no elements remain.
    pub(crate) fn reallocate(&mut self, from: usize, left: &mut usize) -> Option<usize> {
        match self {
            Self::Str(string) => {
                string.reallocate();
                None
            }
            Self::List(list) => {
                let limit = list.limit();
                let placeholder = || List::new(limit);
                reallocate_box(list, placeholder).reallocate(from, left)
            }
            Self::Hash(hash) => reallocate_box(hash, Hash::new).reallocate(from, left),
            Self::Set(set) => reallocate_box(set, Set::new).reallocate(from, left),
            Self::Zset(zset) => reallocate_box(zset, Zset::new).reallocate(from, left),
            Self::Stream(stream) => reallocate_box(stream, Stream::new).reallocate(from, left),
        }
    }

    /// Reads the first bytes of the value's heap memory, to bring them into the processor's caches.
    pub(crate) fn touch(&self) -> usize {
        match self {
            Self::Str(string) => string.touch(),
            Self::List(list) => list.len(),
            Self::Hash(hash) => hash.len(),
            Self::Set(set) => set.len(),
            Self::Zset(zset) => zset.len(),
            Self::Stream(stream) => stream.len(),
        }
    }

    /// Returns whether snapshots write the value in parts, so that no single part blocks for long.
    pub(crate) fn has_parts(&self) -> bool {
        let is_divisible = match self {
            Self::Str(_) => false,
            Self::List(_) | Self::Stream(_) => true,
            Self::Hash(hash) => hash.is_table(),
            Self::Set(set) => set.is_table(),
            Self::Zset(zset) => zset.is_table(),
        };
        is_divisible && AT_ONCE_BYTES_MAX < self.heap_bytes()
    }
}

/// Rust type of the content of one kind of [`Value`], such as a list. `of` borrows the content, or
/// returns `None` if the value is of another kind.
pub(crate) trait Kind: Sized {
    fn of(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    fn into_value(self) -> Value;
}

macro_rules! kinds {
    ($($kind:ident: $wrap:expr;)*) => {$(
        impl Kind for $kind {
            fn of(value: &Value) -> Option<&Self> {
                match value {
                    Value::$kind(it) => Some(it),
                    _ => None,
                }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                match value {
                    Value::$kind(it) => Some(it),
                    _ => None,
                }
            }

            fn into_value(self) -> Value {
                Value::$kind($wrap(self))
            }
        }
    )*};
}

kinds! {
    Str: std::convert::identity;
    List: Box::new;
    Hash: Box::new;
    Set: Box::new;
    Zset: Box::new;
    Stream: Box::new;
}
