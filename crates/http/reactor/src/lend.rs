//! Zero-copy writes: large values are sent from memory without being copied into the socket.
//! Instead, the pages of a value are lent: the kernel gets references to the pages.
//!
//! ```text
//! memory  ···│ bytes before, value… │ …value… │ …value, bytes after │···   (│ is a page limit)
//!            └─ lent: vmsplice into the core's pipe, splice from the pipe into the socket ─┘
//! ```
//!
//! The bytes that are sent before and after a value may lie next to the value in memory
//! ([`allocate_buffer`]). They are then lent together with the value, and two system calls send
//! everything. Otherwise these bytes are copied into the pipe. Bytes of the value that share a page
//! with other memory are also copied.
//!
//! The socket refers to a lent page until the client has acknowledged the bytes of the page. This
//! may be long after the call, and long after the value was dropped. So a lent page must never be
//! written to. [`zero_copy`] ensures this: it takes ownership of the bytes and returns them as a
//! read-only value. When the value is dropped, the process first detaches from the lent pages
//! (`MADV_DONTNEED`). Only then does the allocator get the memory back. Later writes thus go to new
//! pages. The cost is one more page of memory per value. A value that was never sent is freed like
//! any other memory. A very large value is freed on a separate thread.
//!
//! Two alternatives were rejected. A file in memory (`memfd_create`) per value uses a descriptor,
//! and its pages cost twice as much to send. `MSG_ZEROCOPY` copies on loopback, and reports each
//! completion in a message that must be read.
//!
//! One table per process records the memory whose pages may be lent. Its lock is held only for one
//! operation on a map.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io::{self, IoSlice};
use std::mem;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, ready};
use std::thread;

use bytes::{Buf, Bytes, BytesMut};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::Advice;
use rustix::net::{SendAncillaryBuffer, SendFlags};
use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags};
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};

use crate::sync::UNPOISONED;

/// Minimum length of a value that is sent without copying. For a shorter value, a copy costs less
/// than the additional system calls.
pub const ZERO_COPY_BYTES_MIN: usize = 64 << 10;

/// Minimum number of bytes that are sent without copying after a partial write. If fewer bytes of
/// the value remain, they are copied.
const REST_BYTES_MIN: usize = 16 << 10;

/// Minimum length of memory that is freed on a separate thread, since the kernel needs at least
/// half a millisecond to free so many pages.
const FREED_ON_THREAD_BYTES_MIN: usize = 8 << 20;

/// Maximum length of the bytes before a value, and of those after it, that are copied into the pipe
/// so that one system call sends them together with the value.
const COPIED_AROUND_BYTES_MAX: usize = 8 << 10;

/// Requested capacity of the pipe. If the kernel refuses, the pipe holds 64 KiB.
const PIPE_BYTES: usize = 512 << 10;

/// Memory whose pages the kernel may refer to while it sends them. The key is the address of the
/// first whole page.
static ZERO_COPY_PAGES: Mutex<BTreeMap<usize, Pages>> = Mutex::new(BTreeMap::new());

/// Whole pages within one allocation, given as addresses.
#[derive(Debug)]
struct Pages {
    end: usize,
    /// Addresses of the value (`value`), and of all initialised bytes (`written`), which are the
    /// value and the bytes around it. Both ranges stay readable while the value exists.
    value: Range<usize>,
    written: Range<usize>,
    /// True if the kernel was given references to some of the pages.
    lent: bool,
}

fn table() -> MutexGuard<'static, BTreeMap<usize, Pages>> {
    ZERO_COPY_PAGES.lock().expect(UNPOISONED)
}

/// Returns the addresses of the whole pages between two addresses.
fn whole_pages(from: usize, to: usize) -> Range<usize> {
    let page_bytes = rustix::param::page_size();
    from.next_multiple_of(page_bytes)..to / page_bytes * page_bytes
}

fn addresses(bytes: &[u8]) -> Range<usize> {
    let from = bytes.as_ptr().addr();
    from..from + bytes.len()
}

/// Allocates a buffer with capacity for a value of `value_bytes` bytes and for a line end (CR LF)
/// after the value. The caller appends the value, then passes the buffer to [`zero_copy_within`].
///
/// If the value is long enough to be sent without copying, the buffer starts at a page boundary and
/// shares no page with other memory. It then already contains `head`, the bytes that are sent
/// before the value. For a shorter value, the buffer is empty.
pub fn allocate_buffer(head: &[u8], value_bytes: usize) -> BytesMut {
    if value_bytes < ZERO_COPY_BYTES_MIN {
        return BytesMut::with_capacity(value_bytes + 2);
    }
    let page_bytes = rustix::param::page_size();
    let bytes = (head.len() + value_bytes + 2).next_multiple_of(page_bytes);
    // An allocator that keeps a header before each block never returns the start of a page, so one
    // page more is allocated, and the bytes before the first page boundary are skipped.
    let mut buffer = BytesMut::with_capacity(bytes + page_bytes);
    let before = buffer.as_ptr().align_offset(page_bytes);
    buffer.resize(before, 0);
    buffer.advance(before);
    buffer.extend_from_slice(head);
    buffer
}

/// Makes `bytes` read-only without copying them. If they are long enough, registers their memory so
/// that a [`ZeroCopyWriter`] can send their pages without copying.
pub fn zero_copy(bytes: BytesMut) -> Bytes {
    let value = 0..bytes.len();
    zero_copy_within(bytes, value)
}

/// Makes the range `value` of `bytes` read-only as [`zero_copy`] does, and returns that range. The
/// bytes before and after the range stay in memory and may be sent together with it.
///
/// # Panics
/// `value` reaches beyond the end of `bytes`.
pub fn zero_copy_within(mut bytes: BytesMut, value: Range<usize>) -> Bytes {
    if value.len() < ZERO_COPY_BYTES_MIN {
        return bytes.freeze().slice(value);
    }
    // `lend` reads this memory through addresses in `ZERO_COPY_PAGES`, which needs exposed
    // provenance.
    let first = bytes.as_mut_ptr().expose_provenance();
    let at = first + value.start..first + value.end;
    assert_eq!(addresses(&bytes[value.clone()]), at);
    let Range { start, end } = whole_pages(first, first + bytes.capacity());
    let pages = Pages {
        end,
        value: at,
        written: first..first + bytes.len(),
        lent: false,
    };
    table().insert(start, pages);
    Bytes::from_owner(ZeroCopyOwner {
        bytes,
        value,
        first_page: start,
    })
}

/// Owner of bytes that must not be written to while the kernel may still refer to their pages.
#[derive(Debug)]
struct ZeroCopyOwner {
    bytes: BytesMut,
    /// Range of `bytes` that readers can access.
    value: Range<usize>,
    /// Key of this memory in `ZERO_COPY_PAGES`.
    first_page: usize,
}

impl AsRef<[u8]> for ZeroCopyOwner {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.value.clone()]
    }
}

impl Drop for ZeroCopyOwner {
    fn drop(&mut self) {
        let pages = table().remove(&self.first_page);
        let Pages { end, lent, .. } = pages.expect("`zero_copy_within` entered this row");
        let bytes = mem::take(&mut self.bytes);
        let unused = Unused {
            lent: lent.then_some(self.first_page..end),
            bytes,
        };
        if unused.bytes.len() < FREED_ON_THREAD_BYTES_MIN {
            drop(unused);
        } else {
            // The thread drops `unused`. If the thread could not be started, `unused` is dropped
            // here.
            drop(freeing_thread().map(|thread| thread.send(unused)));
        }
    }
}

/// Bytes of a dropped value, which wait to be freed.
#[derive(Debug)]
struct Unused {
    bytes: BytesMut,
    /// Address range of the pages that lie entirely within `bytes`. `None` if the kernel never got
    /// a reference to any of these pages.
    lent: Option<Range<usize>>,
}

impl Drop for Unused {
    fn drop(&mut self) {
        let Some(Range { start, end }) = self.lent.take() else {
            return;
        };
        let first: *mut c_void = self.bytes.as_mut_ptr().map_addr(|_| start).cast();
        // SAFETY: these whole pages lie within `bytes`, which this value owns alone and which no
        // code reads any more, so their content may be lost. Breaks if `whole_pages` ever returned
        // addresses outside its arguments.
        let detached = unsafe { rustix::mm::madvise(first, end - start, Advice::LinuxDontNeed) };
        if let Err(err) = detached {
            // `madvise` fails for locked memory (`mlock`). The memory is then leaked. If it were
            // reused, a client that still receives the old value might get bytes of the new
            // content.
            tracing::warn!(%err, bytes = self.bytes.len(), "memory that the kernel still uses cannot be released and is leaked");
            mem::forget(mem::take(&mut self.bytes));
        }
    }
}

/// Returns the channel to the thread that frees large blocks of memory, so that the cores need not
/// free them. Returns `None` if the host cannot create the thread. The process does not wait for
/// the thread before it ends, because the host then frees the memory anyway.
fn freeing_thread() -> Option<&'static Sender<Unused>> {
    static THREAD: OnceLock<Option<Sender<Unused>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, inbox) = channel::<Unused>();
        let work = move || inbox.iter().for_each(drop);
        let spawned = thread::Builder::new().name("free".to_owned()).spawn(work);
        let spawned = spawned.inspect_err(|err| {
            tracing::warn!(
                %err,
                "cannot start the thread that frees large values; the threads of the cores free \
                 them instead"
            )
        });
        spawned.ok().map(|_| sender)
    });
    thread.as_ref()
}

/// Memory that is sent without copying for one of the slices passed to
/// [`ZeroCopyWriter::poll_write`]. The comments on the fields call that slice the part.
struct ZeroCopySegment<'b> {
    /// Memory to send: bytes of the part, and the bytes right before and after the part that are
    /// sent with it.
    memory: &'b [u8],
    /// Number of bytes in `memory` before the part (`head`), and number of bytes after the part
    /// (`end`).
    head: usize,
    end: usize,
    /// Range of the part's bytes that `memory` contains.
    range: Range<usize>,
}

/// Returns the pages of `part` that can be sent without copying, and records that the kernel may
/// refer to them. Returns `None` if `part` is short or does not come from [`zero_copy`]. `before`
/// and `behind` are the bytes that are sent before and after `part`. If the bytes that lie around
/// the value in memory ([`allocate_buffer`]) equal these bytes, they are included.
fn lend<'b>(part: &'b [u8], before: &[u8], behind: &[u8]) -> Option<ZeroCopySegment<'b>> {
    if part.len() < REST_BYTES_MIN {
        return None;
    }
    let all = addresses(part);
    let within = whole_pages(all.start, all.end);
    let mut table = table();
    let (first_page, pages) = table.range_mut(..=within.start).next_back()?;
    let mut from = all.start.max(*first_page);
    let mut to = all.end.min(pages.end);
    if to <= from {
        return None;
    }
    let range = from - all.start..to - all.start;
    // SAFETY: both addresses lie within `pages.written`. The bytes there are initialised and do not
    // change while the value exists; `part` borrows from the value for `'b`. `zero_copy_within` has
    // exposed the provenance of a pointer to these bytes. Breaks if an entry stays in the table
    // after its bytes are freed.
    let memory = |from: usize, to: usize| unsafe {
        std::slice::from_raw_parts::<'b, u8>(ptr::with_exposed_provenance(from), to - from)
    };
    let mut head = 0;
    if all.start == from && from == pages.value.start {
        let start = pages.written.start.max(*first_page);
        if before.ends_with(memory(start, from)) {
            head = from - start;
            from = start;
        }
    }
    let mut end = 0;
    if all.end == to && to == pages.value.end {
        let last = pages.written.end.min(pages.end);
        if behind.starts_with(memory(to, last)) {
            end = last - to;
            to = last;
        }
    }
    pages.lent = true;
    Some(ZeroCopySegment {
        memory: memory(from, to),
        head,
        end,
        range,
    })
}

/// Socket to which pages can be sent without copying.
pub trait ZeroCopySocket: AsFd {
    /// Polls for room in the socket, as `poll_write_ready` of tokio's streams does.
    ///
    /// # Errors
    /// The runtime is shutting down.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Calls `io`, as `try_io` of tokio's streams does.
    ///
    /// # Errors
    /// Errors of `io`.
    fn try_io<R>(&self, interest: Interest, io: impl FnOnce() -> io::Result<R>) -> io::Result<R>;
}

macro_rules! impl_zero_copy_socket {
    ($($stream:ident)*) => {$(
        impl ZeroCopySocket for $stream {
            fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.poll_write_ready(context)
            }

            fn try_io<R>(
                &self,
                interest: Interest,
                io: impl FnOnce() -> io::Result<R>,
            ) -> io::Result<R> {
                self.try_io(interest, io)
            }
        }
    )*};
}

impl_zero_copy_socket!(TcpStream UnixStream);

/// Zero-copy writer for bytes from [`zero_copy`]. Each core has one, which uses three descriptors.
#[derive(Debug)]
pub struct ZeroCopyWriter {
    /// Pipe, which is empty between calls. `None` after a failed attempt to empty it.
    pipe: RefCell<Option<Pipe>>,
}

#[derive(Debug)]
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    /// `/dev/null`, which receives the bytes that a socket did not accept.
    dev_null: OwnedFd,
}

impl ZeroCopyWriter {
    /// Opens the pipe and `/dev/null`.
    ///
    /// # Errors
    /// The host has no descriptors left, or no `/dev/null`.
    pub fn new() -> io::Result<ZeroCopyWriter> {
        let (out, into) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let dev_null =
            rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        if let Err(err) = rustix::pipe::fcntl_setpipe_size(&into, PIPE_BYTES) {
            tracing::debug!(%err, "cannot enlarge the pipe for zero-copy writes; large values are sent in smaller pieces");
        }
        let pipe = Pipe {
            out,
            into,
            dev_null,
        };
        Ok(ZeroCopyWriter {
            pipe: RefCell::new(Some(pipe)),
        })
    }

    /// Writes some of `parts` in order, as `poll_write_vectored` does, but does not copy large
    /// parts that came from [`zero_copy`]. `more` is true if the caller will write further parts.
    /// The kernel then waits for these parts before it sends a packet that is not full.
    ///
    /// # Errors
    /// Errors of the socket.
    pub fn poll_write(
        &self,
        stream: &impl ZeroCopySocket,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
        more: bool,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(stream.poll_write_ready(context))?;
            match stream.try_io(Interest::WRITABLE, || self.write(stream, parts, more)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Looks for the first part that can be sent without copying. Sends this part together with the
    /// bytes around it. If many bytes precede the part, sends only those bytes. If there is no such
    /// part, copies and sends all parts.
    fn write(&self, socket: impl AsFd, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let mut slot = self.pipe.borrow_mut();
        let nothing = IoSlice::new(&[]);
        let around = |index: usize| {
            let before = index
                .checked_sub(1)
                .map_or(&nothing, |before| &parts[before]);
            (before, parts.get(index + 1).unwrap_or(&nothing))
        };
        let mut numbered = parts.iter().enumerate();
        let found = numbered.find_map(|(index, part)| {
            let (before, behind) = around(index);
            Some((index, lend(part, before, behind)?))
        });
        let (Some(pipe), Some((index, segment))) = (&*slot, found) else {
            return send(&socket, parts, more);
        };
        let mut before = parts[..index].to_vec();
        if let Some(last) = before.last_mut() {
            let bytes: &[u8] = &parts[index - 1];
            *last = IoSlice::new(&bytes[..bytes.len() - segment.head]);
        }
        before.push(IoSlice::new(&parts[index][..segment.range.start]));
        if COPIED_AROUND_BYTES_MAX < bytes(&before) {
            return send(&socket, &before, true);
        }
        let mut after = vec![IoSlice::new(&parts[index][segment.range.end..])];
        if let Some(next) = parts.get(index + 1) {
            after.push(IoSlice::new(&next[segment.end..]));
            after.extend_from_slice(&parts[index + 2..]);
        }
        let filled = pipe.fill(&before, segment.memory, small(&after));
        if filled == 0 {
            return send(&socket, parts, more);
        }
        let mut flags = SpliceFlags::NONBLOCK;
        if more || filled < bytes(parts) {
            flags |= SpliceFlags::MORE;
        }
        let sent = rustix::pipe::splice(&pipe.out, None, &socket, None, filled, flags);
        if let Err(err) = pipe.drop_bytes(filled - sent.unwrap_or(0)) {
            // The bytes left in the pipe must not reach another client, so the pipe is closed.
            tracing::warn!(%err, "cannot empty the pipe for zero-copy writes; this core copies large values from now on");
            *slot = None;
        }
        Ok(sent?)
    }
}

impl Pipe {
    /// Fills the pipe as far as it has room. Copies `before` and `after` into the pipe, with
    /// references to `pages` between them. `pages` must come from [`lend`]. Returns the number of
    /// bytes in the pipe. If the number is 0, the caller sends by copying.
    fn fill(&self, before: &[IoSlice<'_>], pages: &[u8], after: &[IoSlice<'_>]) -> usize {
        let refused = |err: &Errno| tracing::debug!(%err, "the kernel refused a zero-copy write; the value is copied");
        let copy = |parts| {
            let copied = rustix::io::writev(&self.into, parts);
            copied.inspect_err(refused).unwrap_or(0)
        };
        let mut filled = match bytes(before) {
            0 => 0,
            _ => copy(before),
        };
        if filled < bytes(before) {
            return filled;
        }
        let parts = [IoSliceRaw::from_slice(pages)];
        // SAFETY: `into` is the write end of a pipe, so the kernel only reads the pages. `lend` has
        // recorded the pages, so they are not written to while the kernel refers to them. Breaks if
        // `pages` did not come from `lend`.
        let inserted = unsafe { rustix::pipe::vmsplice(&self.into, &parts, SpliceFlags::NONBLOCK) };
        let inserted = inserted.inspect_err(refused).unwrap_or(0);
        filled += inserted;
        if inserted == pages.len() && 0 < bytes(after) {
            filled += copy(after);
        }
        filled
    }

    fn drop_bytes(&self, bytes: usize) -> Result<(), Errno> {
        let mut left = bytes;
        while 0 < left {
            let flags = SpliceFlags::NONBLOCK;
            match rustix::pipe::splice(&self.out, None, &self.dev_null, None, left, flags)? {
                0 => return Err(Errno::IO),
                dropped => left -= dropped,
            }
        }
        Ok(())
    }
}

fn bytes(parts: &[IoSlice<'_>]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// Returns the leading parts whose total length is at most `COPIED_AROUND_BYTES_MAX`.
fn small<'p, 'b>(parts: &'p [IoSlice<'b>]) -> &'p [IoSlice<'b>] {
    let mut left = COPIED_AROUND_BYTES_MAX;
    let count = parts.iter().take_while(|part| {
        let fits = part.len() <= left;
        left = left.saturating_sub(part.len());
        fits
    });
    &parts[..count.count()]
}

fn send(socket: impl AsFd, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    let flags = match more {
        true => SendFlags::MORE | SendFlags::NOSIGNAL,
        false => SendFlags::NOSIGNAL,
    };
    let sent = match parts {
        // `send` costs the kernel less than `sendmsg`.
        [part] => rustix::net::send(socket, part, flags),
        parts => rustix::net::sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), flags),
    };
    Ok(sent?)
}
