//! HTTP client that sends and receives bytes unchanged.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use super::wait::DEADLINE;

/// Connection to the server.
#[derive(Debug)]
pub(crate) struct Client<S = TcpStream> {
    stream: S,
    unread: Vec<u8>,
}

/// Response to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names and values as the server wrote them.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::over(TcpStream::connect(address).expect("the server listens"))
    }

    /// Creates a client on an existing connection.
    pub(crate) fn over(stream: TcpStream) -> Client {
        stream
            .set_read_timeout(Some(DEADLINE))
            .expect("a socket takes a timeout");
        Client::speaking(stream)
    }

    /// Returns whether bytes of a response have arrived.
    pub(crate) fn has_begun(&mut self) -> bool {
        !self.unread.is_empty() || matches!(self.peek(), Some(1..))
    }

    /// Returns whether the server has closed the connection by now.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.unread.is_empty() && self.peek() == Some(0)
    }

    /// Returns the number of readable bytes, at most 1; 0 is the end of the stream, and `None`
    /// means that nothing has arrived yet.
    fn peek(&self) -> Option<usize> {
        let nonblocking = |on| {
            let set = self.stream.set_nonblocking(on);
            set.expect("a socket can be asked without waiting");
        };
        nonblocking(true);
        let peeked = self.stream.peek(&mut [0]);
        nonblocking(false);
        match peeked {
            Ok(peeked) => Some(peeked),
            Err(err) if err.kind() == ErrorKind::WouldBlock => None,
            Err(err) if is_reset(&err) => Some(0),
            Err(err) => panic!("the connection broke: {err}"),
        }
    }

    /// Shuts down the sending half of the connection; responses can still be read.
    pub(crate) fn end_sending(&self) {
        let ended = self.stream.shutdown(Shutdown::Write);
        ended.expect("the server has not closed yet");
    }
}

impl<S: Read + Write> Client<S> {
    /// Creates a client on a connected stream, whose read timeout the caller has set.
    pub(crate) fn speaking(stream: S) -> Client<S> {
        Client {
            stream,
            unread: Vec::new(),
        }
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    /// Sends bytes unchanged.
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let sent = self.stream.write_all(bytes.as_ref());
        sent.expect("the server takes what is sent");
    }

    /// Sends a request with these field lines, each with its CRLF.
    pub(crate) fn request(&mut self, method: &str, target: &str, fields: &str) {
        self.send(format!(
            "{method} {target} HTTP/1.1\r\nhost: pelton\r\n{fields}\r\n"
        ));
    }

    /// Reads the next response. The method of its request must not be HEAD.
    pub(crate) fn response(&mut self) -> Response {
        let mut response = self.head();
        let length = match response.status {
            204 | 304 => 0,
            _ => response.length(),
        };
        self.read_until(|unread| (length <= unread.len()).then_some(()));
        response.body = self.unread.drain(..length).collect();
        response
    }

    /// Reads the head of the next response, which is the whole response to HEAD.
    pub(crate) fn head(&mut self) -> Response {
        let end = self.read_until(|unread| {
            let end = unread.windows(4).position(|four| four == b"\r\n\r\n");
            end.map(|end| end + 4)
        });
        let head: Vec<u8> = self.unread.drain(..end).collect();
        let head = String::from_utf8(head).expect("heads are ASCII");
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().expect("a head has a status line");
        let status = status
            .strip_prefix("HTTP/1.1 ")
            .expect("HTTP/1.1 is spoken");
        let fields = lines.map(|line| {
            let (name, value) = line
                .split_once(": ")
                .expect("a field has a name and a value");
            (name.to_owned(), value.to_owned())
        });
        Response {
            status: status[..3].parse().expect("a status has three digits"),
            fields: fields.collect(),
            body: Vec::new(),
        }
    }

    /// Waits until the server sends bytes or closes the connection. Returns whether the server
    /// closed the connection without sending more bytes.
    pub(crate) fn is_ended(&mut self) -> bool {
        self.unread.is_empty() && self.read() == 0
    }

    /// Returns all bytes up to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.read() != 0 {}
        std::mem::take(&mut self.unread)
    }

    fn read_until<T>(&mut self, mut find: impl FnMut(&[u8]) -> Option<T>) -> T {
        loop {
            if let Some(found) = find(&self.unread) {
                return found;
            }
            let unread = self.unread.len();
            assert_ne!(self.read(), 0, "the server closed after {unread} bytes");
        }
    }

    /// Reads once, and returns the number of bytes, which is 0 if the connection was closed or
    /// reset.
    fn read(&mut self) -> usize {
        let mut bytes = [0; 64 << 10];
        let read = match self.stream.read(&mut bytes) {
            Err(err) if is_reset(&err) => 0,
            read => read.expect("the server answers in time"),
        };
        self.unread.extend_from_slice(&bytes[..read]);
        read
    }
}

/// Returns whether the error is a reset of the connection. The kernel resets the connections of a
/// killed server.
fn is_reset(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}

impl Response {
    /// Returns the value of the field of this name. Fails if the field occurs twice.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut found = self.fields.iter().filter(|field| field.0 == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert_eq!(found.next(), None, "{name} stands there twice");
        value
    }

    /// Returns the value of a field, or a dash.
    pub(crate) fn or_dash(&self, name: &str) -> &str {
        self.field(name).unwrap_or("-")
    }

    pub(crate) fn content_type(&self) -> &str {
        self.or_dash("content-type")
    }

    pub(crate) fn etag(&self) -> &str {
        self.field("etag").expect("a representation has a tag")
    }

    fn length(&self) -> usize {
        let length = self.field("content-length").expect("bodies have a length");
        length.parse().expect("a length is a number")
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).expect("the body is text")
    }

    /// Probes the header of the picture in the body.
    pub(crate) fn facts(&self) -> image_plan::Facts {
        let facts = image_plan::probe(&self.body[..], self.body.len() as u64);
        facts.expect("the body is a picture")
    }

    /// Returns the displayed width and height of the picture in the body.
    pub(crate) fn size(&self) -> (u32, u32) {
        let size = self.facts().oriented();
        (size.width_px, size.height_px)
    }
}
