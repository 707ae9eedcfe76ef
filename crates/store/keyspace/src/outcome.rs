//! Outcome of a command.

use bytes::Bytes;

use crate::command::{Block, Command};

/// State of a command after [`Keyspace::execute`](crate::Keyspace::execute): finished, or to be
/// continued by the caller.
#[derive(Debug)]
pub enum Outcome {
    /// The command ran, and its reply is written.
    Done,
    /// The command did not start; the written reply is an error with the reason.
    Refused,
    /// The command is in the transaction's queue until EXEC.
    Queued,
    /// The command must wait, and no reply is written. The caller must run the command again when
    /// one of the keys becomes ready, or reply with a null array when the deadline has passed.
    Block(Block),
    /// The command concerns connections, files or the server: the caller runs it. The number of its
    /// arguments was checked.
    Service(&'static Command),
    /// The head of the EXEC reply is written. The caller must run these commands in order, then
    /// call [`Session::exec_done`](crate::Session::exec_done).
    Exec(Vec<Vec<Bytes>>),
}
