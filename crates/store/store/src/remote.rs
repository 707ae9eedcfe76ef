//! Client of a store in another process. The client has one connection, which is opened on demand
//! and closed after the first error.

mod url;

use parking_lot::Mutex;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use resp::{Reply, ReplyLimits};

pub use url::{Url, UrlError};

/// Number of bytes read from the socket at a time.
const READ_BYTES: usize = 16 << 10;

/// A client of a Redis-compatible store.
///
/// Any thread can use the client. Only one batch of commands is in progress at a time; other
/// batches wait.
#[derive(Debug)]
pub struct Remote {
    url: Url,
    patience: Duration,
    connection: Mutex<Option<Connection>>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    input: BytesMut,
}

impl Remote {
    /// Creates a client without opening a connection. `patience` is the maximum time for
    /// connecting, and separately for each batch of commands.
    pub fn new(url: Url, patience: Duration) -> Remote {
        Remote {
            url,
            patience,
            connection: Mutex::default(),
        }
    }

    /// Runs commands in order and returns one reply per command. Blocks the calling thread.
    ///
    /// # Errors
    /// The store cannot be reached, rejects the user or password, or sends an invalid reply. Even
    /// then, some of the commands may have run.
    pub fn run(&self, commands: &[Vec<Bytes>]) -> io::Result<Vec<Reply>> {
        let mut connection_slot = self.connection.lock();
        let mut connection = match connection_slot.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let replies = connection.run(commands, Instant::now() + self.patience)?;
        *connection_slot = Some(connection);
        Ok(replies)
    }

    fn connect(&self) -> io::Result<Connection> {
        let deadline = Instant::now() + self.patience;
        let mut failed = io::Error::new(
            io::ErrorKind::NotFound,
            "no address was found for the host name",
        );
        for address in (self.url.host.as_str(), self.url.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => return self.greet(stream, deadline),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn greet(&self, stream: TcpStream, deadline: Instant) -> io::Result<Connection> {
        stream.set_nodelay(true)?;
        let input = BytesMut::new();
        let mut connection = Connection { stream, input };
        for reply in connection.run(&self.url.handshake_commands(), deadline)? {
            if let Reply::Error(text) = reply {
                return Err(io::Error::other(
                    String::from_utf8_lossy(&text).into_owned(),
                ));
            }
        }
        Ok(connection)
    }
}

impl Connection {
    fn run(&mut self, commands: &[Vec<Bytes>], deadline: Instant) -> io::Result<Vec<Reply>> {
        let mut request = Vec::new();
        for command in commands {
            write!(request, "*{}\r\n", command.len())?;
            for word in command {
                write!(request, "${}\r\n", word.len())?;
                request.extend_from_slice(word);
                request.extend_from_slice(b"\r\n");
            }
        }
        self.stream.set_write_timeout(Some(left(deadline)?))?;
        self.stream.write_all(&request)?;
        commands.iter().map(|_| self.reply(deadline)).collect()
    }

    fn reply(&mut self, deadline: Instant) -> io::Result<Reply> {
        loop {
            let reply = Reply::take(&mut self.input, &ReplyLimits::default());
            if let Some(reply) = reply.map_err(io::Error::other)? {
                return Ok(reply);
            }
            self.stream.set_read_timeout(Some(left(deadline)?))?;
            let held = self.input.len();
            self.input.resize(held + READ_BYTES, 0);
            let read = self.stream.read(&mut self.input[held..]);
            self.input
                .truncate(held + read.as_ref().map_or(0, |read| *read));
            if read? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Returns the time left until `deadline`, or a timeout error.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}
