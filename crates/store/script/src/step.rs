//! Messages between a script and the caller of the engine.

use std::fmt;

use bytes::Bytes;
use corosensei::Yielder;
use resp::{Proto, Reply};

use crate::cache::Sha;
use crate::function::FunctionId;

/// A call of a script or function.
#[derive(Clone, Debug)]
pub struct Job {
    /// Code to run.
    pub target: Target,
    /// Elements of the table `KEYS`, or of a function's first argument.
    pub keys: Vec<Bytes>,
    /// Elements of the table `ARGV`, or of a function's second argument.
    pub args: Vec<Bytes>,
}

/// Code that a [`Job`] runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A script, which must be in the engine's cache.
    Script(Sha),
    /// A function of a library, which the engine must have loaded.
    Function {
        /// Number of the function.
        id: FunctionId,
        /// Name of the function, for errors.
        name: String,
    },
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Script(sha) => fmt::Display::fmt(sha, f),
            Target::Function { name, .. } => f.write_str(name),
        }
    }
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

/// Message to the interpreter's stack: code to run or load, or the result of a [`Step`].
pub(crate) enum Input {
    Run(Job),
    /// Code of a library to load, from the end of its first line on.
    Load(Bytes),
    Reply(Reply),
    CpuSeconds(f64),
    GoOn,
    Kill,
    /// The engine is being dropped, and no script runs.
    End,
}

/// Handle by which code on the interpreter's stack suspends it.
pub(crate) type Suspender = Yielder<Input, Step>;
