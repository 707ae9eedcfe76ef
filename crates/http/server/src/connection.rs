//! Detection of a connection's protocol.

use std::rc::Rc;
use std::sync::Arc;

use reactor::{Conn, Ended};

use crate::core::Core;
use crate::exchange::http1;
use crate::input::Input;
use crate::scheme::Scheme;
use crate::{h2, tls};

/// Serves `conn` with HTTP or HTTPS, as its listener requires, until the client or the server
/// closes the connection.
pub async fn serve(core: Rc<Core>, mut conn: Conn) {
    // Each future is boxed. Otherwise every connection would reserve memory for the largest of
    // them.
    if let Scheme::Https(tls) = core.scheme(conn.listener) {
        let tls = Arc::clone(tls);
        return Box::pin(tls::serve::serve(core, conn, tls)).await;
    }
    match detect_protocol(&mut conn).await {
        Ok(DetectedProtocol::Http1(input)) => {
            let listener = conn.listener;
            Box::pin(http1(core, conn, listener, input)).await;
        }
        Ok(DetectedProtocol::Http2(input)) => {
            Box::pin(h2::serve(core, conn.counted(), input)).await;
        }
        Err(_) => {}
    }
}

/// Protocol that the first bytes of a connection indicate.
enum DetectedProtocol {
    Http1(Input),
    Http2(Input),
}

/// Reads until the first bytes show the client's protocol, which then applies to the whole
/// connection.
async fn detect_protocol(conn: &mut Conn) -> Result<DetectedProtocol, Ended> {
    let mut input = Input::default();
    loop {
        let ended = input.read(conn).await? == 0;
        let bytes = input.bytes();
        let compared = bytes.len().min(h2::PREFACE.len());
        // No request of HTTP/1.1 begins like the preface of HTTP/2, which was designed so that
        // HTTP/1.1 servers reject it.
        if ended || bytes[..compared] != h2::PREFACE[..compared] {
            return Ok(DetectedProtocol::Http1(input));
        }
        if compared == h2::PREFACE.len() {
            return Ok(DetectedProtocol::Http2(input));
        }
    }
}
