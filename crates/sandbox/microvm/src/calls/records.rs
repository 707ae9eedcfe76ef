//! Requests to a persistent program on its standard input, and its answers on its standard output.
//! [`sandbox_protocol::request_head`] and [`sandbox_protocol::OutputRecord`] describe the format of
//! these records.

use super::linux::{CallResult, Linux, Next, Open, Stop};
use crate::machine::Machine;
use rustix::io::Errno;
use sandbox_protocol::{OutputRecord, REQUEST_HEAD_BYTES};

/// One request and its answer.
#[derive(Clone)]
pub(super) struct Exchange {
    head: [u8; REQUEST_HEAD_BYTES],
    /// Size of the whole request: head, environment and body.
    bytes: u64,
    /// Bytes of the request that the program has read.
    read: u64,
    answer: OutputRecord,
}

impl Linux {
    /// Makes the job's original the next request on the program's standard input. The first
    /// `environment_bytes` bytes of the original are the environment variables.
    pub(crate) fn ask(&mut self, environment_bytes: u32) -> Result<(), Errno> {
        let original = self.len(Open::Original { begin: 0, at: 0 });
        let original_bytes = original.map_err(|_| Errno::IO)?;
        let body_bytes = original_bytes.checked_sub(environment_bytes.into());
        let body_bytes = body_bytes.and_then(|bytes| u32::try_from(bytes).ok());
        self.exchange = Some(Exchange {
            head: sandbox_protocol::request_head(environment_bytes, body_bytes.ok_or(Errno::FBIG)?),
            bytes: REQUEST_HEAD_BYTES as u64 + original_bytes,
            read: 0,
            answer: OutputRecord::default(),
        });
        Ok(())
    }

    /// Completes the read that waited for a request. `wait` is the address and the size of the
    /// buffer of this read. Returns the result of the system call.
    pub(crate) fn hand_over(&mut self, machine: &mut Machine, wait: (u64, u64)) -> i64 {
        match self.read_request(machine, wait) {
            Ok(bytes) => bytes as i64,
            Err(Stop::Errno(errno)) => -i64::from(errno),
            Err(Stop::Next(_) | Stop::Wait(_)) => {
                unreachable!("`ask` has just put an unread request there")
            }
        }
    }

    /// Reads the next piece of the request. A program that has already read the whole request waits
    /// for the next request.
    pub(super) fn read_request(&mut self, machine: &mut Machine, place: (u64, u64)) -> CallResult {
        const HEAD_BYTES: u64 = REQUEST_HEAD_BYTES as u64;
        let (address, bytes) = place;
        let (head, read) = match &self.exchange {
            Some(exchange) if exchange.read < exchange.bytes => (exchange.head, exchange.read),
            _ => return Err(Stop::Next(Next::Wait { address, bytes })),
        };
        let piece = match read.checked_sub(HEAD_BYTES) {
            Some(at) => {
                let original = Open::Original { begin: 0, at: 0 };
                self.read_at(machine, original, at, place)?
            }
            None => {
                let left = &head[read as usize..];
                let bytes = bytes.min(left.len() as u64);
                let place = machine.memory.slice_mut(address, bytes)?;
                place.copy_from_slice(&left[..bytes as usize]);
                bytes
            }
        };
        let exchange = self.exchange.as_mut().expect("found above");
        exchange.read += piece;
        Ok(piece)
    }

    /// Processes the next piece of the answer that the program writes. Once the answer is complete,
    /// stops the guest with [`Next::Answered`], which holds the number that the program's system
    /// call must return.
    pub(super) fn write_answer(&mut self, machine: &mut Machine, place: (u64, u64)) -> CallResult {
        let (address, bytes) = place;
        let violation = |why: &str| Err(Stop::Next(Next::Broken(why.as_bytes().to_vec())));
        let Some(exchange) = &mut self.exchange else {
            return violation("the program wrote a reply without a request");
        };
        let at = exchange.answer.body_bytes();
        let piece = machine.memory.slice(address, bytes)?;
        let Ok(body) = exchange.answer.take(piece) else {
            return violation("the program wrote more bytes than the length that it announced");
        };
        let body_bytes = body.len() as u64;
        let (answer, unread) = (exchange.answer, exchange.read < exchange.bytes);
        if answer
            .announced_bytes()
            .is_some_and(|announced| self.output_bytes_max < announced)
        {
            return Err(Stop::Next(Next::TooLarge));
        }
        self.write_at(machine, at, (address + bytes - body_bytes, body_bytes))?;
        match answer.is_whole() {
            false => Ok(bytes),
            true if unread => violation("the program replied before it had read the whole request"),
            true => Err(Stop::Next(Next::Answered(bytes))),
        }
    }

    /// Sets up the descriptors of a persistent program.
    pub(crate) fn open_records(&mut self) {
        self.open = vec![
            Some(Open::Requests),
            Some(Open::Answers),
            Some(Open::Errors),
        ];
    }
}

/// Computes the result of a vectored call that stopped early. `done` is the number of bytes that
/// the first buffers transferred; the next buffer stopped with `stop`. If `stop` is a wait or an
/// error, and `done` is not 0, the call returns `done`.
pub(super) fn combine_parts(done: u64, stop: Stop) -> CallResult {
    match stop {
        Stop::Next(Next::Answered(bytes)) => Err(Stop::Next(Next::Answered(done + bytes))),
        Stop::Next(Next::Wait { .. }) if 0 < done => Ok(done),
        Stop::Errno(_) if 0 < done => Ok(done),
        stop => Err(stop),
    }
}
