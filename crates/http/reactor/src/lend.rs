//! Memory that is lent to the kernel, so that large values leave without being copied into their socket.
//!
//! ```text
//! allocation  ···│ head value page │ page │ page end │···
//!                └ lent: vmsplice into a pipe of the core, splice from there into the socket
//! ```
//!
//! What is sent around a value may stand around it in memory, too ([`place`]); then it is lent with it, and two system calls
//! send all. Otherwise it is copied into the pipe, as is what shares a page with other memory.
//!
//! The kernel does not copy such pages: sockets refer to them until the client has acknowledged them, long after the call,
//! and long after the value may be gone. So nobody may write to a page that was lent. [`lendable`] sees to that: it takes
//! the bytes over and hands them on read-only, and when nobody uses them any more, the process lets go of the pages that
//! were lent before the allocator gets the memory back; what is written there next goes to new pages. Memory costs a page
//! more, and a value that was never sent is freed as any other: a very large one by a thread of its own.
//!
//! The alternatives were a memory file for each value, whose pages cost twice as much to send and which takes a
//! descriptor, and `MSG_ZEROCOPY`, which copies on a loopback and tells of each end by a message that must be read.
//!
//! Which memory that is stands in one table of the process, under a lock that is held for an operation on a map only.

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

/// From this length on a value is lent. Below, copying costs less than the three system calls more.
pub const LENT_BYTES_MIN: usize = 64 << 10;

/// What is left of a value is lent from this length on.
const REST_BYTES_MIN: usize = 16 << 10;

/// From this length on memory is freed beside the cores: the kernel takes half a millisecond or more for its pages.
const FREED_BESIDE_BYTES_MIN: usize = 8 << 20;

/// What stands before a value, and what behind it, is copied into the pipe up to this length, so that one call sends all.
const AROUND_BYTES_MAX: usize = 8 << 10;

/// What a pipe is asked to hold; the kernel may refuse, and then it holds 64 KiB.
const PIPE_BYTES: usize = 512 << 10;

/// Memory whose pages may be lent, by its first whole page.
static LENDABLE: Mutex<BTreeMap<usize, Pages>> = Mutex::new(BTreeMap::new());

/// Whole pages within an allocation, as addresses.
#[derive(Debug)]
struct Pages {
    end: usize,
    /// The value among them, and what was written around it. Readable as long as the value is.
    value: Range<usize>,
    written: Range<usize>,
    /// The kernel had some of them.
    lent: bool,
}

fn table() -> MutexGuard<'static, BTreeMap<usize, Pages>> {
    LENDABLE.lock().expect("nobody panics with it")
}

/// The whole pages in memory from one address to another.
fn whole_pages(from: usize, to: usize) -> Range<usize> {
    let page_bytes = rustix::param::page_size();
    from.next_multiple_of(page_bytes)..to / page_bytes * page_bytes
}

fn addresses(bytes: &[u8]) -> Range<usize> {
    let from = bytes.as_ptr().addr();
    from..from + bytes.len()
}

/// Room for a value of so many bytes and two behind it, which [`lendable_within`] is to make read-only: of one that is long
/// enough to be lent, in pages of its own and behind `head`, which is what is sent before it.
pub fn place(head: &[u8], value_bytes: usize) -> BytesMut {
    if value_bytes < LENT_BYTES_MIN {
        return BytesMut::with_capacity(value_bytes + 2);
    }
    let page_bytes = rustix::param::page_size();
    let bytes = (head.len() + value_bytes + 2).next_multiple_of(page_bytes);
    // An allocator that keeps words of its own before a block never begins at a page: one more, less what stands before.
    let mut place = BytesMut::with_capacity(bytes + page_bytes);
    let before = place.as_ptr().align_offset(page_bytes);
    place.resize(before, 0);
    place.advance(before);
    place.extend_from_slice(head);
    place
}

/// Makes bytes read-only, with pages that a [`Lender`] can send without copying; short ones as they are. Nothing is
/// copied. To change them later copies them, as with any other shared bytes.
pub fn lendable(bytes: BytesMut) -> Bytes {
    let value = 0..bytes.len();
    lendable_within(bytes, value)
}

/// The same of the bytes at `value`; what stands around them is there to be sent with them.
///
/// # Panics
/// There are no bytes at `value`.
pub fn lendable_within(mut bytes: BytesMut, value: Range<usize>) -> Bytes {
    if value.len() < LENT_BYTES_MIN {
        return bytes.freeze().slice(value);
    }
    // What is lent is read through an address in the table.
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
    Bytes::from_owner(Lendable {
        bytes,
        value,
        first_page: start,
    })
}

/// Keeps bytes from being written, until their pages are in nobody else's hands.
#[derive(Debug)]
struct Lendable {
    bytes: BytesMut,
    /// Which of them are handed on.
    value: Range<usize>,
    /// Its row in the table.
    first_page: usize,
}

impl AsRef<[u8]> for Lendable {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.value.clone()]
    }
}

impl Drop for Lendable {
    fn drop(&mut self) {
        let pages = table().remove(&self.first_page);
        let Pages { end, lent, .. } = pages.expect("entered when these bytes were taken over");
        let bytes = mem::take(&mut self.bytes);
        let unused = Unused {
            lent: lent.then_some(self.first_page..end),
            bytes,
        };
        if unused.bytes.len() < FREED_BESIDE_BYTES_MIN {
            drop(unused);
        } else {
            // Without that thread it is freed here, as it comes back.
            drop(beside().map(|thread| thread.send(unused)));
        }
    }
}

/// Bytes that nobody uses any more, until they are the allocator's again.
#[derive(Debug)]
struct Unused {
    bytes: BytesMut,
    /// The pages of them that were lent, as addresses.
    lent: Option<Range<usize>>,
}

impl Drop for Unused {
    fn drop(&mut self) {
        let Some(Range { start, end }) = self.lent.take() else {
            return;
        };
        let first: *mut c_void = self.bytes.as_mut_ptr().map_addr(|_| start).cast();
        // SAFETY: these whole pages lie within `bytes`, which this value owns alone and which nobody reads any more: their
        //         content may go. Breaks if `whole_pages` ever reached beyond what it is given.
        let forgotten = unsafe { rustix::mm::madvise(first, end - start, Advice::LinuxDontNeed) };
        if let Err(err) = forgotten {
            // Memory that somebody locked. To lose it is better than to send others what is written there next.
            tracing::warn!(%err, bytes = self.bytes.len(), "memory that was lent to the kernel is lost");
            mem::forget(mem::take(&mut self.bytes));
        }
    }
}

/// The thread that frees what takes long, so that no core does; none where the host gives no thread. It has no end: what
/// it holds is memory, which goes with the process.
fn beside() -> Option<&'static Sender<Unused>> {
    static THREAD: OnceLock<Option<Sender<Unused>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, inbox) = channel::<Unused>();
        let work = move || inbox.iter().for_each(drop);
        let begun = thread::Builder::new().name("free".to_owned()).spawn(work);
        let begun =
            begun.inspect_err(|err| tracing::warn!(%err, "large values are freed on the cores"));
        begun.ok().map(|_| sender)
    });
    thread.as_ref()
}

/// A part of what is sent that can be lent, with what stands around it.
struct Loan<'b> {
    /// All of it, in pages that belong to its value alone.
    memory: &'b [u8],
    /// How many bytes of it stand before the part, and behind it.
    head: usize,
    end: usize,
    /// Which bytes of the part are in there.
    range: Range<usize>,
}

/// What of `part` can be lent, now noted as lent: pages of what [`lendable`] gave, if they are many; and what was written
/// around it, if it is what is sent `before` and `behind` it.
fn lend<'b>(part: &'b [u8], before: &[u8], behind: &[u8]) -> Option<Loan<'b>> {
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
    // SAFETY: both bounds lie within what was written, which stays as it is as long as the value is there, and `part` is of
    //         the value. The address comes from a pointer to all of it whose provenance was exposed.
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
    Some(Loan {
        memory: memory(from, to),
        head,
        end,
        range,
    })
}

/// A socket that pages can be lent to.
pub trait Borrower: AsFd {
    /// As the method of tokio's streams.
    ///
    /// # Errors
    /// The runtime is shutting down.
    fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// As the method of tokio's streams.
    ///
    /// # Errors
    /// Those of `io`.
    fn try_io<R>(&self, interest: Interest, io: impl FnOnce() -> io::Result<R>) -> io::Result<R>;
}

macro_rules! borrowers {
    ($($stream:ident)*) => {$(
        impl Borrower for $stream {
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

borrowers!(TcpStream UnixStream);

/// Sends bytes of [`lendable`] without copying them. One for each core; it takes three descriptors.
#[derive(Debug)]
pub struct Lender {
    /// Empty between calls. None once that could not be had.
    pipe: RefCell<Option<Pipe>>,
}

#[derive(Debug)]
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    /// Where what a socket did not take is dropped.
    nowhere: OwnedFd,
}

impl Lender {
    /// # Errors
    /// The host gives no more descriptors, or has no `/dev/null`.
    pub fn new() -> io::Result<Lender> {
        let (out, into) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let nowhere =
            rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        if let Err(err) = rustix::pipe::fcntl_setpipe_size(&into, PIPE_BYTES) {
            tracing::debug!(%err, "large values are sent in smaller pieces");
        }
        let pipe = Pipe { out, into, nowhere };
        Ok(Lender {
            pipe: RefCell::new(Some(pipe)),
        })
    }

    /// Writes some of `parts` in their order, as `poll_write_vectored` does, but lends large parts that came from
    /// [`lendable`]. `more` tells that others will follow these parts, so that packets are filled.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn poll_write(
        &self,
        stream: &impl Borrower,
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

    /// The first part that can be lent with what stands around it; or everything, if there is none.
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
        let (Some(pipe), Some((index, loan))) = (&*slot, found) else {
            return send(&socket, parts, more);
        };
        let mut before = parts[..index].to_vec();
        if let Some(last) = before.last_mut() {
            let bytes: &[u8] = &parts[index - 1];
            *last = IoSlice::new(&bytes[..bytes.len() - loan.head]);
        }
        before.push(IoSlice::new(&parts[index][..loan.range.start]));
        if AROUND_BYTES_MAX < bytes(&before) {
            return send(&socket, &before, true);
        }
        let mut after = vec![IoSlice::new(&parts[index][loan.range.end..])];
        if let Some(next) = parts.get(index + 1) {
            after.push(IoSlice::new(&next[loan.end..]));
            after.extend_from_slice(&parts[index + 2..]);
        }
        let filled = pipe.fill(&before, loan.memory, small(&after));
        if filled == 0 {
            return send(&socket, parts, more);
        }
        let mut flags = SpliceFlags::NONBLOCK;
        if more || filled < bytes(parts) {
            flags |= SpliceFlags::MORE;
        }
        let sent = rustix::pipe::splice(&pipe.out, None, &socket, None, filled, flags);
        if let Err(err) = pipe.drop_bytes(filled - sent.unwrap_or(0)) {
            // What is in there must not reach anybody else.
            tracing::warn!(%err, "large values are copied from now on");
            *slot = None;
        }
        Ok(sent?)
    }
}

impl Pipe {
    /// Puts bytes into the pipe as far as there is room: the first and the last copied, the pages between them, which were
    /// lent, by reference. How many it has then. What the kernel refuses, it gets by copying.
    fn fill(&self, before: &[IoSlice<'_>], pages: &[u8], after: &[IoSlice<'_>]) -> usize {
        let refused = |err: &Errno| tracing::debug!(%err, "a large value is copied");
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
        // SAFETY: `into` is a pipe's end for writing, so the kernel only reads, and these pages are noted as lent, so that
        //         nobody writes to them as long as the kernel refers to them. Breaks if `pages` are not of `lend`.
        let taken = unsafe { rustix::pipe::vmsplice(&self.into, &parts, SpliceFlags::NONBLOCK) };
        let taken = taken.inspect_err(refused).unwrap_or(0);
        filled += taken;
        if taken == pages.len() && 0 < bytes(after) {
            filled += copy(after);
        }
        filled
    }

    fn drop_bytes(&self, bytes: usize) -> Result<(), Errno> {
        let mut left = bytes;
        while 0 < left {
            let flags = SpliceFlags::NONBLOCK;
            match rustix::pipe::splice(&self.out, None, &self.nowhere, None, left, flags)? {
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

/// The first of these parts, as far as together they are worth copying.
fn small<'p, 'b>(parts: &'p [IoSlice<'b>]) -> &'p [IoSlice<'b>] {
    let mut left = AROUND_BYTES_MAX;
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
        // To send one part costs the kernel less.
        [part] => rustix::net::send(socket, part, flags),
        parts => rustix::net::sendmsg(socket, parts, &mut SendAncillaryBuffer::default(), flags),
    };
    Ok(sent?)
}
