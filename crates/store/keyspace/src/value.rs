//! Values of keys.

use crate::hash::Hash;
use crate::list::List;
use crate::set::Set;
use crate::string::Str;
use crate::zset::Zset;

/// A value: 24 bytes and its heap memory.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Str(Str),
    List(Box<List>),
    Hash(Box<Hash>),
    Set(Box<Set>),
    Zset(Box<Zset>),
}

impl Value {
    /// Returns the type's name for TYPE.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Str(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
            Self::Zset(_) => "zset",
        }
    }

    /// Returns the encoding's name for OBJECT ENCODING.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Str(string) => string.encoding(),
            Self::List(list) => list.encoding(),
            Self::Hash(hash) => hash.encoding(),
            Self::Set(set) => set.encoding(),
            Self::Zset(zset) => zset.encoding(),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Str(string) => string.heap_bytes(),
            Self::List(list) => list.heap_bytes(),
            Self::Hash(hash) => hash.heap_bytes(),
            Self::Set(set) => set.heap_bytes(),
            Self::Zset(zset) => zset.heap_bytes(),
        }
    }

    /// Returns the heap bytes if the value is a blob, else 0.
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
            Self::Str(_) => false,
            Self::List(list) => list.len() == 0,
            Self::Hash(hash) => hash.len() == 0,
            Self::Set(set) => set.len() == 0,
            Self::Zset(zset) => zset.len() == 0,
        }
    }
}

/// A type of value, as a view into [`Value`].
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
}
