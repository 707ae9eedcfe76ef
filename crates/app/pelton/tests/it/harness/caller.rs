//! HTTP client for load tests. Unlike [`super::Client`], it returns errors instead of failing the
//! test.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::wait::DEADLINE;

/// Connection to the server.
#[derive(Debug)]
pub(crate) struct Caller {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// Response of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// True if the server closes the connection after this response.
    pub(crate) closes: bool,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Caller> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        Ok(Caller {
            stream,
            unread: Vec::new(),
        })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Reads the next response. The method of its request must not be HEAD.
    pub(crate) fn reply(&mut self) -> io::Result<Reply> {
        let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let end = loop {
            let end = self.unread.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end + 4,
                None => self.read()?,
            }
        };
        let head = String::from_utf8_lossy(&self.unread[..end]).into_owned();
        self.unread.drain(..end);
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| broken("no status"))?;
        let field = |name: &str| {
            let mut lines = head.split("\r\n");
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let length = match (status, field("content-length")) {
            (204 | 304, _) => 0,
            (_, Some(length)) => length.parse().map_err(|_| broken("no length"))?,
            (_, None) => return Err(broken("no length")),
        };
        while self.unread.len() < length {
            self.read()?;
        }
        Ok(Reply {
            status,
            closes: field("connection") == Some("close"),
            body: self.unread.drain(..length).collect(),
        })
    }

    /// Closes the connection abruptly: the kernel sends a reset.
    pub(crate) fn reset(self) -> io::Result<()> {
        let now = Some(std::time::Duration::ZERO);
        Ok(rustix::net::sockopt::set_socket_linger(&self.stream, now)?)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut bytes = [0; 32 << 10];
        match self.stream.read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.unread.extend_from_slice(&bytes[..read]);
                Ok(())
            }
        }
    }
}
