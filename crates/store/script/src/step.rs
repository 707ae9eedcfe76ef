//! Messages between a script and the caller of the engine.

use bytes::Bytes;
use corosensei::Yielder;
use resp::{Proto, Reply};

use crate::cache::Sha;

/// A call of a script.
#[derive(Clone, Debug)]
pub struct Job {
    /// The script, which must be in the engine's cache.
    pub sha: Sha,
    /// Elements of the table `KEYS`.
    pub keys: Vec<Bytes>,
    /// Elements of the table `ARGV`.
    pub args: Vec<Bytes>,
}

/// Something for which a running script waits.
#[derive(Clone, Debug)]
pub enum Step {
    /// The script calls a command. The caller runs it and calls `Engine::answer`.
    Call(Call),
    /// The script has run for some time. The caller calls `Engine::go_on` or `Engine::kill`.
    Pause,
    /// The script writes a line to the log. The caller calls `Engine::go_on`.
    Log {
        /// Severity that the script chose.
        level: Level,
        /// The line.
        text: String,
    },
    /// The script asks for the CPU time. The caller calls `Engine::tell_time`.
    Clock,
    /// The script has ended with this reply.
    Done(Reply),
}

/// A command that a script calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name and arguments of the command.
    pub args: Vec<Bytes>,
    /// Protocol of the reply.
    pub proto: Proto,
    /// True if the effects of the command belong in the journal. False if the script turned that
    /// off by `redis.set_repl`.
    pub is_journaled: bool,
}

/// Severity of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `redis.LOG_DEBUG`
    Debug,
    /// `redis.LOG_VERBOSE`
    Verbose,
    /// `redis.LOG_NOTICE`
    Notice,
    /// `redis.LOG_WARNING`
    Warning,
}

/// Message to the interpreter's stack: a script to run, or the result of a [`Step`].
pub(crate) enum Input {
    Run(Job),
    Reply(Reply),
    CpuSeconds(f64),
    GoOn,
    Kill,
    /// The engine is being dropped, and no script runs.
    End,
}

/// Handle by which code on the interpreter's stack suspends it.
pub(crate) type Suspender = Yielder<Input, Step>;
