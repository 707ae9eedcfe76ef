//! Socket options that `std` and tokio do not offer.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _};
use std::time::Duration;

/// `struct tcp_info` of linux/tcp.h up to `tcpi_bytes_acked`, which exists since Linux 4.1.
#[derive(Clone, Copy)]
#[repr(C)]
struct TcpInfo {
    /// The fields from `tcpi_state` to `tcpi_total_retrans`.
    small: [u32; 26],
    pacing_rates: [u64; 2],
    bytes_acked: u64,
}

/// Returns how many of the sent bytes the peer has acknowledged since the connection was opened.
///
/// # Errors
/// `socket` is not a TCP socket.
pub fn acked_bytes(socket: impl AsFd) -> io::Result<u64> {
    let mut info = TcpInfo {
        small: [0; 26],
        pacing_rates: [0; 2],
        bytes_acked: 0,
    };
    let mut length = size_of::<TcpInfo>() as libc::socklen_t;
    // SAFETY: `info` consists of plain integers and outlives the call, and `length` is its size,
    // beyond which the kernel does not write. Breaks if `length` ever exceeds the size of
    // `TcpInfo`.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(info.bytes_acked),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes closing this socket reset the connection and drop the bytes that the peer has not
/// received. Otherwise the kernel keeps these bytes, up to megabytes, for minutes after the close,
/// and charges them to no process.
pub fn reset_when_closed(socket: impl AsFd) {
    let outcome = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
    if let Err(err) = outcome {
        tracing::debug!(%err, "cannot set SO_LINGER; the socket will close without a reset");
    }
}

/// Sets a limit of about `bytes` on the unsent bytes that the kernel buffers for this socket and
/// for each socket accepted from it (`TCP_NOTSENT_LOWAT`, since Linux 3.12). By default, a client
/// that reads nothing can occupy up to 4 MiB of the kernel's memory.
///
/// # Errors
/// `socket` is not a TCP socket.
pub(crate) fn set_unsent_max(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    // SAFETY: the kernel reads `size_of::<u32>()` bytes of `bytes`, which is a `u32` and outlives
    // the call. Breaks if the length passed ever exceeds the size of `bytes`.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            (&raw const bytes).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    };
    match outcome {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
