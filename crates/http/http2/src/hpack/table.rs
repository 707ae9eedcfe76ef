//! Tables of indexed fields: RFC 7541 §2.3.

use std::collections::VecDeque;

/// Number of bytes that each entry adds to the size of a table, beyond its name and value: RFC 7541
/// §4.1.
pub(super) const ENTRY_BYTES: usize = 32;
/// Default maximum size of a dynamic table: RFC 9113 §6.5.2.
pub(super) const TABLE_BYTES: usize = 4096;

/// Static table, indexed from 1: RFC 7541 appendix A.
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Entry of the dynamic table.
#[derive(Debug)]
struct Entry {
    /// The name, then the value.
    bytes: Box<[u8]>,
    name_bytes: usize,
}

impl Entry {
    fn size(&self) -> usize {
        self.bytes.len() + ENTRY_BYTES
    }
}

/// Dynamic table that a client's blocks refer to, newest entry first.
#[derive(Debug)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    bytes: usize,
    bytes_max: usize,
}

impl Table {
    pub(super) fn new() -> Table {
        Table {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max: TABLE_BYTES,
        }
    }

    /// Returns the name and value of the field at index `number`. The static entries have the
    /// lowest indexes.
    pub(super) fn get(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let index = number.checked_sub(1)?;
        if let Some((name, value)) = STATIC.get(index) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let entry = self.entries.get(index - STATIC.len())?;
        Some(entry.bytes.split_at(entry.name_bytes))
    }

    /// Adds a field and evicts the oldest entries until the table is within its maximum size. An
    /// entry larger than the table leaves it empty.
    pub(super) fn add(&mut self, name: &[u8], value: &[u8]) {
        let entry = Entry {
            bytes: [name, value].concat().into(),
            name_bytes: name.len(),
        };
        self.bytes += entry.size();
        self.entries.push_front(entry);
        self.shrink();
    }

    /// Sets the maximum size, as the client requested.
    pub(super) fn resize(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.bytes_max < self.bytes {
            let oldest = self.entries.pop_back();
            self.bytes -= oldest.map_or(self.bytes, |oldest| oldest.size());
        }
    }
}
