//! Requests to the kernel over netlink. All callers but `ethtool::Ethtool::write` and
//! `queueing::write` only read.

use std::time::{Duration, Instant};

use host_checks::Unread;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR,
    NetlinkBuffer, NlasIterator,
};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

/// Size of the buffer for a datagram. The kernel's datagrams have at most 32 KiB in dumps.
const DATAGRAM_BYTES_MAX: usize = 64 << 10;
/// Maximum number of messages in a reply. A longer reply counts as malformed.
const MESSAGES_MAX: usize = 65_536;
/// Maximum time for which one datagram is awaited.
const WAIT_MAX: Duration = Duration::from_millis(100);
const HEADER_BYTES: usize = 16;

/// Way in which the kernel's reply to a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The kernel acknowledges the request after its reply.
    Acknowledgement,
    /// As `Acknowledgement`, for requests that create an object or replace it.
    Replacement,
    /// The kernel sends all objects, and then the message `NLMSG_DONE`.
    Dump,
    /// As `Dump`, for requests that are not marked as dumps.
    List,
    /// The kernel sends one message. An acknowledgement is not requested, because the kernel would
    /// send it before that message.
    One,
}

/// Message from the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: u16,
    pub(crate) payload: Vec<u8>,
}

/// Socket of one netlink protocol.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    deadline: Instant,
}

impl Netlink {
    /// Opens a socket of the protocol; `None` stands for rtnetlink. Requests fail after `deadline`.
    pub(crate) fn open(protocol: Option<Protocol>, deadline: Instant) -> Result<Netlink, Unread> {
        let family = AddressFamily::NETLINK;
        let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol);
        Ok(Netlink {
            socket: socket.map_err(refusal)?,
            sequence: 0,
            deadline,
        })
    }

    /// Sends a request, and returns the messages of the reply.
    pub(crate) fn ask(
        &mut self,
        kind: u16,
        expect: Expect,
        payload: &[u8],
    ) -> Result<Vec<Message>, Unread> {
        self.sequence += 1;
        let flags = match expect {
            Expect::Acknowledgement => NLM_F_ACK,
            Expect::Replacement => NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
            Expect::Dump => NLM_F_DUMP,
            Expect::List | Expect::One => 0,
        };
        let bytes = request(kind, NLM_F_REQUEST | flags, self.sequence, payload);
        send(&self.socket, &bytes, SendFlags::empty()).map_err(refusal)?;
        let mut reply = Vec::new();
        let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
        while reply.len() < MESSAGES_MAX {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Unread::TimedOut);
            }
            set_socket_timeout(&self.socket, Timeout::Recv, Some(left.min(WAIT_MAX)))
                .map_err(refusal)?;
            let (_, length) = recv(&self.socket, &mut buffer, RecvFlags::TRUNC).map_err(refusal)?;
            let datagram = buffer.get(..length).ok_or(Unread::Malformed)?;
            if split(datagram, self.sequence, expect, &mut reply)? {
                return Ok(reply);
            }
        }
        Err(Unread::Malformed)
    }
}

fn request(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let length = HEADER_BYTES + payload.len();
    let mut bytes = vec![0; length];
    let mut message = NetlinkBuffer::new(&mut bytes);
    message.set_length(u32::try_from(length).expect("requests have less than 100 bytes"));
    message.set_message_type(kind);
    message.set_flags(flags);
    message.set_sequence_number(sequence);
    bytes[HEADER_BYTES..].copy_from_slice(payload);
    bytes
}

/// Adds the messages of a datagram to `reply`. Returns whether the reply is complete.
pub(crate) fn split(
    mut datagram: &[u8],
    sequence: u32,
    expect: Expect,
    reply: &mut Vec<Message>,
) -> Result<bool, Unread> {
    while !datagram.is_empty() {
        let message = NetlinkBuffer::new_checked(datagram).map_err(|_| Unread::Malformed)?;
        let length = message.length() as usize;
        let payload = &datagram[HEADER_BYTES..length];
        let is_ours = message.sequence_number() == sequence;
        match message.message_type() {
            // The reply to an earlier request that timed out.
            _ if !is_ours => {}
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => match error(payload)? {
                None if matches!(expect, Expect::Acknowledgement | Expect::Replacement) => {
                    return Ok(true);
                }
                None => {}
                Some(errno) => return Err(refusal(errno)),
            },
            kind => reply.push(Message {
                kind,
                payload: payload.to_vec(),
            }),
        }
        // The last message may lack its padding.
        match datagram.get(length.next_multiple_of(4)..) {
            Some(rest) => datagram = rest,
            None => break,
        }
    }
    Ok(expect == Expect::One && !reply.is_empty())
}

/// Returns the error in the payload of `NLMSG_ERROR`; `None` if it acknowledges the request. The
/// kernel sends errors as numbers from -4095 to -1.
fn error(payload: &[u8]) -> Result<Option<Errno>, Unread> {
    match number(payload, 0).map(|code| (code as i32).wrapping_neg()) {
        Some(0) => Ok(None),
        Some(code @ 1..4096) => Ok(Some(Errno::from_raw_os_error(code))),
        _ => Err(Unread::Malformed),
    }
}

/// Returns the reason for which the kernel refused a request.
pub(crate) fn refusal(errno: Errno) -> Unread {
    match errno {
        // The audit refuses connections from other user namespaces with this error.
        Errno::PERM | Errno::ACCESS | Errno::CONNREFUSED => Unread::Denied,
        Errno::OPNOTSUPP
        | Errno::PROTONOSUPPORT
        | Errno::AFNOSUPPORT
        | Errno::NOENT
        | Errno::INVAL => Unread::Unsupported,
        Errno::AGAIN => Unread::TimedOut,
        errno => Unread::Errno(errno.raw_os_error()),
    }
}

/// Returns the value of the first attribute of type `kind`, if the bytes have one.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|(found, _)| *found == kind)
        .map(|(_, value)| value)
}

/// Returns the type and the value of each attribute. Malformed bytes end the list.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let found = NlasIterator::new(bytes).map_while(Result::ok);
    found.map(|attribute| {
        let end = usize::from(attribute.length());
        (attribute.kind(), &attribute.into_inner()[4..end])
    })
}

/// Returns the number of 32 bits at `offset`, if the bytes have one.
pub(crate) fn number(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_ne_bytes(*bytes))
}

/// Returns the text of an attribute that ends with a zero byte.
pub(crate) fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// Writes an attribute with its padding.
pub(crate) fn push_attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).expect("requests have less than 100 bytes");
    out.extend(length.to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}
