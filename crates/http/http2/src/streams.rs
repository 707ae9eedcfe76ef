//! The streams of a connection: those that are open, and what is known of those that were.

/// Ended streams whose end is known; of those before, a late frame is not worth a quarrel.
const ENDED_MAX: usize = 64;

/// A stream that has not ended on both sides.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: u32,
    /// The client has sent everything.
    pub(crate) has_come: bool,
    /// What the client allows us; less than nothing after it shrank its windows (RFC 9113 §6.9.2).
    pub(crate) window: i64,
    /// What we allow the client.
    pub(crate) allowed: u32,
    /// What it was allowed once and has been read since.
    pub(crate) to_allow: u32,
    /// What its head said of its body, less what came.
    pub(crate) left: Option<u64>,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Answered whole, and asked whole.
    Both,
    /// The client gave it up.
    Theirs,
    /// We did; the client may not know yet.
    Ours,
    /// Too long ago to be known, or never opened.
    Unknown,
}

/// Streams in the order of their numbers, which grow.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    open: Vec<Stream>,
    /// Those that ended last; the next one goes to `next`.
    ended: Vec<(u32, End)>,
    next: usize,
    /// The highest number so far.
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

    /// Ends a stream, whether or not it was open.
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

    /// How a stream that is neither open nor idle ended.
    pub(crate) fn how_ended(&self, id: u32) -> End {
        let known = self.ended.iter().find(|(ended, _)| *ended == id);
        known.map_or(End::Unknown, |(_, end)| *end)
    }
}
