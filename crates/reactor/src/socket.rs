//! What the kernel tells of a socket, where the libraries do not ask for it.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd as _};

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
pub(crate) fn acked_bytes(socket: impl AsFd) -> io::Result<u64> {
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
