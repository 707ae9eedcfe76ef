//! Reply of a command that this process called without a socket.

use bytes::BytesMut;
use resp::{Out, Reply, ReplyLimits};

/// Removes the only reply from an output, and returns the reply. Returns `None` if the reply is too
/// large for [`ReplyLimits`].
pub(crate) fn take_reply(out: &mut Out) -> Option<Reply> {
    if let Some(blob) = out.take_blob() {
        return Some(Reply::Bulk(blob));
    }
    let mut written = BytesMut::from(out.to_bytes());
    out.advance(written.len());
    let reply = Reply::take(&mut written, &ReplyLimits::default());
    reply.ok().flatten()
}
