//! Takes over listening sockets from another process: a service manager, or the server process that
//! this process replaces. The sockets stay open during the handover. So no connection is refused,
//! and no connection that waits to be accepted is lost.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, FromRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::io::FdFlags;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketType, sockopt,
};

use crate::Error;

/// Number of descriptors sent per message. The kernel allows at most 253.
const MESSAGE_DESCRIPTORS: usize = 64;
/// Maximum number of descriptors that are accepted from another process. A server with two
/// addresses and 256 cores passes half as many.
const DESCRIPTORS_MAX: usize = 1024;
/// Number of the first descriptor that a service manager passes, according to sd_listen_fds(3).
const MANAGER_FIRST: i32 = 3;

/// Takes the listening sockets that a service manager passed to this process (`LISTEN_PID`,
/// `LISTEN_FDS`). Returns an empty list if no sockets were passed, and on every call after the
/// first.
///
/// Call before any other descriptor is opened.
///
/// # Errors
/// A passed descriptor is not a listening TCP socket.
pub fn listeners_from_manager() -> Result<Vec<TcpListener>, Error> {
    static WAS_CALLED: AtomicBool = AtomicBool::new(false);
    let number = |name| -> Option<u32> { std::env::var(name).ok()?.parse().ok() };
    let count = match (number("LISTEN_PID"), number("LISTEN_FDS")) {
        // Child processes inherit the variables, but the descriptors are meant only for the process
        // that `LISTEN_PID` names.
        (Some(pid), Some(count)) if pid == std::process::id() => count,
        _ => return Ok(Vec::new()),
    };
    if WAS_CALLED.swap(true, Relaxed) {
        return Ok(Vec::new());
    }
    (0..count.min(DESCRIPTORS_MAX as u32))
        .map(|index| {
            let number = MANAGER_FIRST + index as i32;
            // SAFETY: LISTEN_PID names this process, so the service manager opened the descriptor
            // `number` for this process. No other code uses the descriptor, because `WAS_CALLED`
            // lets this line be reached only once per descriptor. Breaks if this process opens
            // descriptors before this call and the manager sets LISTEN_FDS too high: one of those
            // descriptors would then be closed here.
            let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
            listener(descriptor).map_err(|source| {
                Error::host(
                    format!("cannot use descriptor {number} of LISTEN_FDS"),
                    source,
                )
            })
        })
        .collect()
}

/// Sends listening sockets to another process.
///
/// # Errors
/// The other process is gone.
pub(crate) fn send_listeners(listeners: &[TcpListener], to: &UnixStream) -> io::Result<()> {
    let count = u32::try_from(listeners.len()).expect("the number of descriptors fits 32 bits");
    let count = count.to_le_bytes();
    let mut none = SendAncillaryBuffer::default();
    rustix::net::sendmsg(to, &[IoSlice::new(&count)], &mut none, SendFlags::NOSIGNAL)?;
    for some in listeners.chunks(MESSAGE_DESCRIPTORS) {
        let descriptors: Vec<_> = some.iter().map(AsFd::as_fd).collect();
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MESSAGE_DESCRIPTORS))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let fits = rights.push(SendAncillaryMessage::ScmRights(&descriptors));
        assert!(
            fits,
            "the buffer has room for MESSAGE_DESCRIPTORS descriptors"
        );
        // Each batch is a message of its own, which must contain at least one byte.
        rustix::net::sendmsg(to, &[IoSlice::new(&[0])], &mut rights, SendFlags::NOSIGNAL)?;
    }
    Ok(())
}

/// Receives the sockets that [`send_listeners`] sends. Blocks until they have arrived.
///
/// # Errors
/// The other process is gone, or sends something else.
pub(crate) fn receive_listeners(from: &UnixStream) -> io::Result<Vec<TcpListener>> {
    let mut count = [0; 4];
    io::Read::read_exact(&mut &*from, &mut count)?;
    let count = u32::from_le_bytes(count) as usize;
    if DESCRIPTORS_MAX < count {
        return Err(io::Error::other(format!(
            "the other process passes {count} sockets, more than the maximum of {DESCRIPTORS_MAX}"
        )));
    }
    let mut listeners = Vec::with_capacity(count);
    while listeners.len() < count {
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MESSAGE_DESCRIPTORS))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let message =
            rustix::net::recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut rights, flags)?;
        if message.bytes == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for passed in rights.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = passed {
                for descriptor in descriptors {
                    listeners.push(listener(descriptor)?);
                }
            }
        }
    }
    Ok(listeners)
}

/// Checks that a descriptor is a listening TCP socket, and sets the options that [`crate::bind`]
/// sets.
fn listener(descriptor: OwnedFd) -> io::Result<TcpListener> {
    let is_listener = sockopt::socket_acceptconn(&descriptor)?
        && sockopt::socket_type(&descriptor)? == SocketType::STREAM;
    if !is_listener {
        return Err(io::Error::other("the descriptor is not a listening socket"));
    }
    rustix::io::fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
    sockopt::set_tcp_nodelay(&descriptor, true)?;
    let listener = TcpListener::from(descriptor);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests;
