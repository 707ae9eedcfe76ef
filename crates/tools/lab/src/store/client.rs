//! Client of a store for tasks that redis-benchmark does not support: filling a store, and checking
//! single replies.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use bytes::BytesMut;
use resp::{Reply, ReplyLimits};
use toolkit::stop::Stop;

/// Read timeout, longer than any command of the benchmark needs.
const PATIENCE: Duration = Duration::from_secs(60);
const READ_BYTES: usize = 64 << 10;
/// Number of pipelined commands while a store is filled.
const BATCH: usize = 1_000;

pub(super) struct Client {
    stream: TcpStream,
    input: BytesMut,
}

impl Client {
    pub(super) fn connect(address: SocketAddr) -> Result<Client, Stop> {
        let opened = TcpStream::connect(address).and_then(|stream| {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            Ok(stream)
        });
        Ok(Client {
            stream: opened.map_err(|err| failed(&err))?,
            input: BytesMut::new(),
        })
    }

    /// Sends one command and reads its reply.
    pub(super) fn ask(&mut self, words: &[impl AsRef<[u8]>]) -> Result<Reply, Stop> {
        let mut request = Vec::new();
        write(&mut request, words);
        self.stream
            .write_all(&request)
            .map_err(|err| failed(&err))?;
        self.reply()
    }

    /// Runs one command for each number below `numbers`, in pipelined batches. Stops at the first
    /// error reply.
    pub(super) fn fill<W: AsRef<[u8]>>(
        &mut self,
        numbers: usize,
        words: impl Fn(usize) -> Vec<W>,
    ) -> Result<(), Stop> {
        let mut request = Vec::new();
        for first in (0..numbers).step_by(BATCH) {
            let batch = first..numbers.min(first + BATCH);
            request.clear();
            for number in batch.clone() {
                write(&mut request, &words(number));
            }
            self.stream
                .write_all(&request)
                .map_err(|err| failed(&err))?;
            for _ in batch {
                if let Reply::Error(text) = self.reply()? {
                    let text = String::from_utf8_lossy(&text);
                    return Err(Stop::findings(format!(
                        "error reply while filling the store: {text}"
                    )));
                }
            }
        }
        Ok(())
    }

    pub(super) fn reply(&mut self) -> Result<Reply, Stop> {
        loop {
            let reply = Reply::take(&mut self.input, &ReplyLimits::default());
            let reply = reply.map_err(|bad| Stop::findings(bad.to_string()))?;
            if let Some(reply) = reply {
                return Ok(reply);
            }
            let held = self.input.len();
            self.input.resize(held + READ_BYTES, 0);
            let read = self.stream.read(&mut self.input[held..]);
            let read = read.map_err(|err| failed(&err))?;
            self.input.truncate(held + read);
            if read == 0 {
                return Err(Stop::findings("the store closed the connection"));
            }
        }
    }
}

fn failed(err: &std::io::Error) -> Stop {
    Stop::findings(format!("the store does not respond: {err}"))
}

fn write(request: &mut Vec<u8>, words: &[impl AsRef<[u8]>]) {
    request.extend_from_slice(format!("*{}\r\n", words.len()).as_bytes());
    for word in words {
        let word = word.as_ref();
        request.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
}
