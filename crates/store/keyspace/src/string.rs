//! String values: integers, inline bytes, heap bytes, and blobs that are shared with replies.

use bytes::{Bytes, BytesMut};
use resp::{BLOB_BYTES_MIN, Out};

use crate::memory::{allocated, reallocate_box, reallocate_vec};

/// Maximum length of a string that is stored in the value itself.
const TINY: usize = 22;
/// Maximum length of a string that Redis allocates together with its object (`embstr`).
const EMBEDDED_BYTES_MAX: usize = 44;

/// Minimum length of a blob that the kernel can send without copying its bytes.
const ZERO_COPY_BYTES_MIN: usize = 64 << 10;

/// Returns the number of bytes of memory that a blob with `bytes` bytes of content uses, including
/// overhead and reference count.
///
/// From 64 KiB on, a blob has its own pages, from which the kernel can send without a copy. The
/// pages also contain the head and the line end of the reply that sends the blob. Such a blob also
/// has an entry in a B-tree of memory that the kernel may send from; the entry is counted with
/// average fill of the tree's nodes. The pages of a blob that a command built do not contain the
/// head. So such a blob may use one page less than this function returns.
pub(crate) fn blob_bytes(bytes: usize) -> usize {
    const PAGE_BYTES: usize = 4096;
    match bytes {
        ..ZERO_COPY_BYTES_MIN => allocated(bytes) + 48,
        _ => {
            let head = "$".len() + itoa::Buffer::new().format(bytes).len() + "\r\n".len();
            let pages = (head + bytes + "\r\n".len()).next_multiple_of(PAGE_BYTES);
            allocated(pages) + 112
        }
    }
}

/// A string, which uses 24 bytes plus its heap memory.
#[derive(Clone, Debug)]
pub(crate) enum Str {
    /// A string that is the canonical text of an integer, stored as this integer.
    Int(i64),
    Tiny {
        len: u8,
        bytes: [u8; TINY],
    },
    /// Bytes that were set as a whole; shorter than [`BLOB_BYTES_MIN`].
    Short(Box<[u8]>),
    /// Bytes that a command computed or changed in place, with spare capacity; shorter than
    /// [`BLOB_BYTES_MIN`].
    #[expect(
        clippy::box_collection,
        reason = "a value has 24 bytes, its tag included"
    )]
    Raw(Box<Vec<u8>>),
    /// Bytes that replies refer to without a copy; at least [`BLOB_BYTES_MIN`] bytes.
    Blob(Box<Bytes>),
}

impl Str {
    /// Creates a string. A blob keeps the buffer by reference; a shorter string is copied.
    pub(crate) fn new(value: &Bytes) -> Self {
        if BLOB_BYTES_MIN <= value.len() {
            Self::Blob(Box::new(value.clone()))
        } else {
            Self::copied(value)
        }
    }

    /// Creates a string from a slice. The text of an integer is stored as an integer.
    pub(crate) fn copied(value: &[u8]) -> Self {
        if value.len() <= 20
            && let Some(number) = resp::parse_int(value)
        {
            return Self::Int(number);
        }
        Self::text(value)
    }

    /// Creates a string from bytes that a command computed. A string that is too short for a blob
    /// keeps the vector's spare capacity, so that it can grow in place.
    pub(crate) fn raw(bytes: Vec<u8>) -> Self {
        if bytes.len() < BLOB_BYTES_MIN {
            Self::Raw(Box::new(bytes))
        } else {
            Self::Blob(Box::new(Bytes::from(bytes)))
        }
    }

    /// Creates a string that is stored as text, even if it is the text of an integer.
    pub(crate) fn text(value: &[u8]) -> Self {
        if value.len() <= TINY {
            let mut bytes = [0; TINY];
            bytes[..value.len()].copy_from_slice(value);
            let len = value.len() as u8;
            Self::Tiny { len, bytes }
        } else if value.len() < BLOB_BYTES_MIN {
            Self::Short(value.into())
        } else {
            Self::Blob(Box::new(Bytes::copy_from_slice(value)))
        }
    }

    /// Passes the buffer of a blob through `keep`, which returns immutable bytes and must not
    /// change the content.
    pub(crate) fn with_frozen_blob(self, keep: fn(BytesMut) -> Bytes) -> Self {
        match self {
            Self::Blob(bytes) => Self::Blob(Box::new(keep(BytesMut::from(*bytes)))),
            other => other,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Int(number) => itoa::Buffer::new().format(*number).len(),
            Self::Tiny { len, .. } => *len as usize,
            Self::Short(bytes) => bytes.len(),
            Self::Raw(bytes) => bytes.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }

    /// Returns the bytes of the string. The digits of an integer are first written to `buffer`.
    pub(crate) fn bytes<'a>(&'a self, buffer: &'a mut itoa::Buffer) -> &'a [u8] {
        match self {
            Self::Int(number) => buffer.format(*number).as_bytes(),
            Self::Tiny { len, bytes } => &bytes[..*len as usize],
            Self::Short(bytes) => bytes,
            Self::Raw(bytes) => bytes,
            Self::Blob(bytes) => bytes,
        }
    }

    /// Returns the bytes: shared for a blob, else copied.
    pub(crate) fn to_bytes(&self) -> Bytes {
        match self {
            Self::Blob(bytes) => (**bytes).clone(),
            other => Bytes::copy_from_slice(other.bytes(&mut itoa::Buffer::new())),
        }
    }

    #[inline]
    pub(crate) fn send(&self, out: &mut Out) {
        match self {
            Self::Int(number) => out.bulk_int(*number),
            Self::Tiny { len, bytes } => out.bulk(&bytes[..*len as usize]),
            Self::Short(bytes) => out.bulk(bytes),
            Self::Raw(bytes) => out.bulk(bytes),
            Self::Blob(bytes) => out.blob(bytes),
        }
    }

    /// Sends a range of the string; a large range of a blob is sent by reference.
    pub(crate) fn send_range(&self, range: std::ops::Range<usize>, out: &mut Out) {
        match self {
            Self::Blob(bytes) => out.blob(&bytes.slice(range)),
            other => out.bulk(&other.bytes(&mut itoa::Buffer::new())[range]),
        }
    }

    /// Reads the first and the last byte of the string's heap memory, to bring them into the
    /// processor's caches.
    #[inline]
    pub(crate) fn touch(&self) -> usize {
        let ends = |bytes: &[u8]| match bytes {
            [first, .., last] => usize::from(*first) ^ usize::from(*last),
            _ => 0,
        };
        match self {
            Self::Int(_) | Self::Tiny { .. } => 0,
            Self::Short(bytes) => ends(bytes),
            Self::Raw(bytes) => ends(bytes),
            Self::Blob(bytes) => bytes.len(),
        }
    }

    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            other if 20 < other.len() => None,
            other => resp::parse_int(other.bytes(&mut itoa::Buffer::new())),
        }
    }

    /// Applies `change` to the bytes. Bytes that cannot be changed in place are copied first, such
    /// as a blob that is being sent.
    pub(crate) fn modify<R>(&mut self, change: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        if let Self::Raw(bytes) = self {
            let result = change(bytes);
            if BLOB_BYTES_MIN <= bytes.len() {
                let bytes = std::mem::take(&mut **bytes);
                *self = Self::Blob(Box::new(Bytes::from(bytes)));
            }
            return result;
        }
        let mut bytes = match std::mem::replace(self, Self::Int(0)) {
            Self::Blob(bytes) => Vec::from(*bytes),
            other => other.bytes(&mut itoa::Buffer::new()).to_vec(),
        };
        let result = change(&mut bytes);
        *self = if bytes.len() < BLOB_BYTES_MIN {
            Self::Raw(Box::new(bytes))
        } else {
            Self::Blob(Box::new(Bytes::from(bytes)))
        };
        result
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Int(_) | Self::Tiny { .. } => 0,
            Self::Short(bytes) => allocated(bytes.len()),
            Self::Raw(bytes) => allocated(bytes.capacity()) + allocated(size_of::<Vec<u8>>()),
            Self::Blob(bytes) => allocated(size_of::<Bytes>()) + blob_bytes(bytes.len()),
        }
    }

    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            Self::Int(_) => "int",
            Self::Tiny { .. } => "embstr",
            Self::Short(bytes) if bytes.len() <= EMBEDDED_BYTES_MAX => "embstr",
            Self::Short(_) | Self::Raw(_) | Self::Blob(_) => "raw",
        }
    }

    /// Reallocates the string's heap memory. The content of a blob is not moved, because it has its
    /// own pages and may be shared with replies.
    pub(crate) fn reallocate(&mut self) {
        match self {
            Self::Int(_) | Self::Tiny { .. } => {}
            Self::Short(bytes) => *bytes = bytes.clone(),
            Self::Raw(bytes) => reallocate_vec(reallocate_box(bytes, Vec::new)),
            Self::Blob(bytes) => _ = reallocate_box(bytes, bytes::Bytes::new),
        }
    }
}
