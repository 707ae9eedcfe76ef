//! Streams of a connection: the open ones, and a record of recently ended ones.

/// Maximum number of ended streams that are remembered. Late frames for a stream that is no longer
/// remembered are tolerated, except for HEADERS.
const ENDED_MAX: usize = 64;

/// Stream that has not ended on both sides.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: u32,
    /// True if the client has sent its whole request.
    pub(crate) is_request_complete: bool,
    /// Bytes that the client allows us to send. The number can be negative after the client has
    /// shrunk its windows (RFC 9113 §6.9.2).
    pub(crate) window: i64,
    /// Bytes that we allow the client to send.
    pub(crate) allowed: u32,
    /// Bytes that were consumed, but not yet returned to the client's window by a WINDOW_UPDATE.
    pub(crate) unreturned_bytes: u32,
    /// Declared length of the body, minus the bytes received.
    pub(crate) left: Option<u64>,
}

/// Way in which a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Request and response were complete.
    Both,
    /// The client reset the stream.
    ByClient,
    /// We reset the stream; the client may not have received the reset yet.
    ByServer,
    /// Unknown: the stream ended too long ago, or was never opened.
    Unknown,
}

/// Open streams in ascending order of their numbers, and the record of recently ended streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Vec<Stream>,
    /// Ring of recently ended streams; `next` is the index to overwrite.
    ended: Vec<(u32, End)>,
    next: usize,
    /// Highest stream number so far.
    pub(crate) last: u32,
}

impl Streams {
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn is_idle(&self, id: u32) -> bool {
        self.last < id
    }

    pub(crate) fn open(&mut self, stream: Stream) {
        debug_assert!(self.open.last().is_none_or(|last| last.id < stream.id));
        self.open.push(stream);
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Stream> {
        let index = self.index(id)?;
        Some(&self.open[index])
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        let index = self.index(id)?;
        Some(&mut self.open[index])
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.open.iter_mut()
    }

    fn index(&self, id: u32) -> Option<usize> {
        self.open.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    /// Records how a stream ended, and removes it from the open streams, if it is open.
    pub(crate) fn end(&mut self, id: u32, end: End) {
        if let Some(index) = self.index(id) {
            self.open.remove(index);
        }
        if self.ended.len() < ENDED_MAX {
            self.ended.push((id, end));
        } else {
            self.ended[self.next] = (id, end);
        }
        self.next = (self.next + 1) % ENDED_MAX;
    }

    /// Returns how the stream `id` ended. The stream must be neither open nor idle.
    pub(crate) fn end_of(&self, id: u32) -> End {
        let known = self.ended.iter().find(|(ended, _)| *ended == id);
        known.map_or(End::Unknown, |(_, end)| *end)
    }
}
