//! Sends and receives packets with file descriptors over `SOCK_SEQPACKET` sockets, for the pool and
//! its workers.

use rustix::cmsg_space;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Maximum number of descriptors per packet: a job's original, its output, and its stream to a
/// service.
pub(crate) const DESCRIPTORS_MAX: usize = 3;

/// Creates a pair of connected sockets. Both are closed on exec.
pub(crate) fn pair() -> Result<(OwnedFd, OwnedFd), Errno> {
    let flags = SocketFlags::CLOEXEC;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Sends one packet. If the peer is gone, the function returns `EPIPE` and raises no signal.
pub(crate) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
    flags: SendFlags,
) -> Result<(), Errno> {
    assert!(descriptors.len() <= DESCRIPTORS_MAX, "{descriptors:?}");
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        let fits = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        assert!(fits, "the buffer has room for DESCRIPTORS_MAX descriptors");
    }
    let parts = [IoSlice::new(bytes)];
    let flags = flags | SendFlags::NOSIGNAL;
    let sent = retry_on_intr(|| sendmsg(socket, &parts, &mut ancillary, flags))?;
    assert_eq!(sent, bytes.len(), "a packet is sent whole or not at all");
    Ok(())
}

/// Receives one packet into `bytes`, with its descriptors. Returns length 0 if the peer is gone,
/// and fails with `EMSGSIZE` if the packet does not fit.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    flags: RecvFlags,
) -> Result<(usize, Vec<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received =
        retry_on_intr(|| recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags))?;
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received
        .flags
        .intersects(ReturnFlags::TRUNC | ReturnFlags::CTRUNC)
    {
        return Err(Errno::MSGSIZE);
    }
    Ok((received.bytes, descriptors))
}
