//! What the kernel tells of a socket, and is told of it, where the libraries do not.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _};
use std::time::Duration;

/// `struct tcp_info` of linux/tcp.h up to `tcpi_bytes_acked`, which Linux has since 4.1.
#[derive(Clone, Copy)]
#[repr(C)]
struct TcpInfo {
    /// From `tcpi_state` to `tcpi_total_retrans`.
    small: [u32; 26],
    pacing_rates: [u64; 2],
    bytes_acked: u64,
}

/// Bytes of what was sent that the peer has acknowledged since the connection was made.
///
/// # Errors
/// What is asked is no TCP socket.
pub fn acked_bytes(socket: impl AsFd) -> io::Result<u64> {
    let mut info = TcpInfo {
        small: [0; 26],
        pacing_rates: [0; 2],
        bytes_acked: 0,
    };
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: `info` is plain integers and lives through the call, and `length` is its size, of which the kernel fills
    //         no more. Breaks if `length` ever says more than `TcpInfo` holds.
    let asked = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    match asked {
        0 => Ok(info.bytes_acked),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has closing this socket reset it, and drop what the peer has not taken. Else the kernel keeps that, megabytes of it, for
/// minutes after the connection is nobody's, and counts it against no process.
pub fn reset_when_closed(socket: impl AsFd) {
    let told = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
    if let Err(err) = told {
        tracing::debug!(%err, "socket is closed as any other");
    }
}

/// Has the kernel take no more than about `bytes` ahead of what it has sent, on this socket and on those accepted from it:
/// `TCP_NOTSENT_LOWAT`, which Linux has since 3.12. Else it takes up to 4 MiB, from any client that reads nothing.
///
/// # Errors
/// What is told is no TCP socket.
pub(crate) fn set_unsent_max(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    // SAFETY: the kernel reads as many bytes as `bytes` has, which lives through the call. Breaks if the length given is
    //         ever more than its size.
    let told = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            (&raw const bytes).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    match told {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
