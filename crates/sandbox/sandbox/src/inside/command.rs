//! Receives the commands that a pool sends to its zygote.

use super::jail::Control;
use crate::channel;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use sandbox_protocol::control::{CONTROL_BYTES_MAX, Command};
use std::os::fd::OwnedFd;

/// Receives the pool's next command. Returns `None` if the pool has closed its socket.
pub(super) fn command(
    control: Control,
    flags: RecvFlags,
) -> Result<Option<(Command, Vec<OwnedFd>)>, Errno> {
    let mut bytes = [0; CONTROL_BYTES_MAX];
    let (len, descriptors) = channel::receive(control, &mut bytes, flags)?;
    if len == 0 {
        return Ok(None);
    }
    let command = Command::from_bytes(&bytes[..len]).ok_or(Errno::BADMSG)?;
    Ok(Some((command, descriptors)))
}
