//! HTTP/2 client that follows the protocol.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use http::{Method, Request};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::Response;
use super::wait::DEADLINE;

/// Connection to the server.
#[derive(Debug)]
pub(crate) struct Http2 {
    runtime: Runtime,
    sender: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

/// Request that was sent and whose response was not read yet.
#[derive(Debug)]
pub(crate) struct Pending(ResponseFuture);

impl Http2 {
    /// Connects without TLS, by prior knowledge.
    pub(crate) fn connect(address: SocketAddr) -> Http2 {
        let runtime = runtime();
        let stream = runtime.block_on(TcpStream::connect(address));
        Http2::begin(runtime, stream.expect("the server listens"))
    }

    /// Connects over TLS, by ALPN.
    pub(crate) fn secure(address: SocketAddr, config: &Arc<ClientConfig>) -> Http2 {
        let runtime = runtime();
        let stream = runtime.block_on(async {
            let socket = TcpStream::connect(address).await;
            let name = ServerName::try_from("localhost").expect("a name");
            let connector = TlsConnector::from(Arc::clone(config));
            let stream = connector.connect(name, socket.expect("the server listens"));
            stream.await.expect("the server is trusted")
        });
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        Http2::begin(runtime, stream)
    }

    fn begin<S>(runtime: Runtime, stream: S) -> Http2
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        // Use windows that hold all concurrent responses of a test, so that the test can read the
        // responses in any order.
        let builder = h2::client::Builder::new()
            .initial_window_size(1 << 26)
            .initial_connection_window_size(1 << 30)
            .to_owned();
        let begun = runtime.block_on(builder.handshake(stream));
        let (sender, connection) = begun.expect("the server speaks HTTP/2");
        Http2 {
            connection: runtime.spawn(connection),
            runtime,
            sender,
        }
    }

    /// Sends a request with this body and with these fields, which are lines as in
    /// [`super::Client`].
    #[expect(
        clippy::async_yields_async,
        reason = "the response is waited for later"
    )]
    pub(crate) fn ask(&mut self, method: &str, target: &str, fields: &str, body: &[u8]) -> Pending {
        let mut request = Request::builder()
            .method(Method::from_bytes(method.as_bytes()).expect("a method"))
            .uri(format!("http://pelton{target}"));
        for line in fields.lines() {
            let (name, value) = line.split_once(": ").expect("a name and a value");
            request = request.header(name, value);
        }
        let request = request.body(()).expect("a request");
        let sent = self.runtime.block_on(async {
            let ready = timeout(DEADLINE, self.sender.clone().ready()).await;
            let mut sender = ready.expect("in time").expect("the connection is sound");
            let (response, mut stream) = sender
                .send_request(request, body.is_empty())
                .expect("the connection is sound");
            if !body.is_empty() {
                let sent = stream.send_data(Bytes::copy_from_slice(body), true);
                sent.expect("the connection is sound");
            }
            response
        });
        Pending(sent)
    }

    /// Reads the whole response.
    pub(crate) fn response(&mut self, pending: Pending) -> Result<Response, h2::Error> {
        let reading = async {
            let (head, mut body) = pending.0.await?.into_parts();
            let mut bytes = Vec::new();
            while let Some(part) = body.data().await {
                let part = part?;
                body.flow_control().release_capacity(part.len())?;
                bytes.extend_from_slice(&part);
            }
            let fields = head.headers.iter().map(|(name, value)| {
                let value = value.to_str().expect("fields are ASCII");
                (name.as_str().to_owned(), value.to_owned())
            });
            Ok(Response {
                status: head.status.as_u16(),
                fields: fields.collect(),
                body: bytes,
            })
        };
        let read = self
            .runtime
            .block_on(async { timeout(DEADLINE, reading).await });
        read.expect("the server answers in time")
    }

    /// Sends a request without a body, and reads its response.
    pub(crate) fn send(&mut self, method: &str, target: &str, fields: &str) -> Response {
        let pending = self.ask(method, target, fields, b"");
        self.response(pending).expect("the stream is answered")
    }

    /// Waits until the server ends the connection.
    pub(crate) fn ended(self) -> Result<(), h2::Error> {
        let Http2 {
            runtime,
            connection,
            sender,
        } = self;
        drop(sender);
        let ended = runtime.block_on(async { timeout(DEADLINE, connection).await });
        ended
            .expect("the server ends it in time")
            .expect("no panic")
    }
}

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}
