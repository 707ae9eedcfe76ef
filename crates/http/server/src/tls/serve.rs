//! One TLS connection: the handshake, then the protocol that the handshake selected.

use std::rc::Rc;
use std::sync::Arc;

use reactor::{Conn, Ended, Wait};
use tokio_rustls::TlsAcceptor;

use super::Tls;
use crate::core::Core;
use crate::exchange::http1;
use crate::h2;
use crate::input::Input;
use crate::metrics::Handshake;
use crate::transport::Secured;

/// Performs the handshake, then serves the protocol that ALPN selected.
pub(crate) async fn serve(core: Rc<Core>, conn: Conn, tls: Arc<Tls>) {
    let listener = conn.listener;
    // The future is boxed, so that the connection holds its memory only during the handshake.
    let Some((protocol, conn)) = Box::pin(handshake(&core, conn, &tls)).await else {
        return;
    };
    match protocol {
        Protocol::Http2 => Box::pin(h2::serve(core, conn, Input::default())).await,
        Protocol::Http1 => http1(core, conn, listener, Input::default()).await,
    }
}

enum Protocol {
    Http1,
    Http2,
}

async fn handshake(core: &Core, conn: Conn, tls: &Tls) -> Option<(Protocol, Conn<Secured>)> {
    conn.deadline.arm(Wait::Handshake);
    let buffer_bytes_max = core.service.settings.limits.tls_buffer_bytes_max;
    let acceptor = TlsAcceptor::from(Arc::clone(&tls.config));
    let (socket, conn) = conn.counted().swap(());
    let mut slot = core.handshakes.begin();
    let accept = acceptor.accept_with(socket, |session| {
        session.set_buffer_limit(Some(buffer_bytes_max));
    });
    let accepted = conn.deadline.within(async {
        tokio::select! {
            biased;
            accepted = accept => accepted.map_err(Ended::Socket),
            () = slot.taken() => Err(Ended::Evicted),
        }
    });
    let metrics = core.service.metrics.core(core.reactor.index());
    let stream = match accepted.await.flatten() {
        Ok(stream) => stream,
        Err(err) => {
            tracing::debug!(peer = %conn.peer, ?err, "TLS handshake failed");
            metrics.record_handshake(Handshake::Failed);
            return None;
        }
    };
    drop(slot);
    let session = stream.get_ref().1;
    metrics.record_handshake(match session.handshake_kind() {
        Some(rustls::HandshakeKind::Resumed) => Handshake::Resumed,
        _ => Handshake::Full,
    });
    let protocol = match session.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    conn.deadline.arm(Wait::FirstByte);
    Some((protocol, conn.swap(Secured::new(stream)).1))
}
