//! State of scripts: the interpreter, the requested script and the running one. `run_script` runs
//! them.

use std::time::Instant;

use bytes::Bytes;
use keyspace::{Command, Session};
use script::{Engine, Flags, Job, Limits, Sha};

use crate::client::ClientKey;
use crate::functions::Functions;

/// Interpreter and running script.
#[derive(Debug)]
pub(crate) struct Scripts {
    limits: Limits,
    /// Started by the first command about scripts.
    engine: Option<Engine>,
    pub(crate) functions: Functions,
    pub(crate) running: Option<Running>,
    /// True if the script that ended last replied with an error that is in the statistics already.
    pub(crate) error_is_counted: bool,
    /// Call that the running command requests.
    requested: Option<ScriptCall>,
}

/// Kind of code that a client runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Script,
    /// A function of a library.
    Function,
}

impl Kind {
    /// Returns the reply to most commands while code of this kind runs for too long.
    pub(crate) fn busy_reply(self) -> &'static str {
        match self {
            Kind::Script => {
                "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
            }
            Kind::Function => {
                "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
            }
        }
    }
}

/// A call of a script or function by a client.
#[derive(Debug)]
pub(crate) struct ScriptCall {
    /// EVAL, FCALL or a command like them.
    pub(crate) command: &'static Command,
    pub(crate) kind: Kind,
    pub(crate) job: Job,
    pub(crate) flags: Flags,
    /// The call of a function, for FUNCTION STATS; empty for a script.
    pub(crate) words: Vec<Bytes>,
}

/// The running script or function.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) caller: ClientKey,
    pub(crate) command: &'static Command,
    pub(crate) kind: Kind,
    /// The call of a function; empty for a script.
    pub(crate) words: Vec<Bytes>,
    /// Session of the script's commands; `None` while one of them runs.
    pub(crate) session: Option<Session>,
    pub(crate) is_read_only: bool,
    /// True if the script may change data although memory is short.
    pub(crate) allows_oom: bool,
    /// True if data exceeded its memory limit when the script started.
    pub(crate) is_out_of_memory: bool,
    /// True if the script has called a command that may change data.
    pub(crate) has_written: bool,
    /// True if the script has run for so long that other clients are served meanwhile.
    pub(crate) is_busy: bool,
    pub(crate) is_killed: bool,
    /// True if the client gets no reply, because of `CLIENT REPLY`.
    pub(crate) is_silent: bool,
    /// True if the client has disconnected.
    pub(crate) has_left: bool,
    /// True if the server stops when the script has ended.
    pub(crate) stops_afterwards: bool,
    /// Commands that follow in the same transaction.
    pub(crate) rest: Option<Vec<Vec<Bytes>>>,
    pub(crate) started: Instant,
}

/// End of a script that other clients have noticed.
pub(crate) struct Ended {
    pub(crate) command: &'static Command,
    /// Commands that follow in the same transaction, if the script belongs to one.
    pub(crate) rest: Option<Vec<Vec<Bytes>>>,
}

/// Result of SCRIPT KILL or FUNCTION KILL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    Done,
    /// No script runs for so long that it could be killed.
    NotBusy,
    /// The script has changed data.
    HasWritten,
    /// The other command ends what is running.
    OtherKind(Kind),
}

impl Scripts {
    pub(crate) fn new(limits: Limits) -> Scripts {
        Scripts {
            limits,
            engine: None,
            functions: Functions::new(limits),
            running: None,
            error_is_counted: false,
            requested: None,
        }
    }

    /// Returns the interpreter, which is started if needed.
    ///
    /// # Errors
    /// The error reply if the interpreter cannot be started.
    pub(crate) fn engine(&mut self) -> Result<&mut Engine, String> {
        match &mut self.engine {
            Some(engine) => Ok(engine),
            none => {
                let engine = Engine::new(self.limits);
                let engine = engine.map_err(|text| format!("ERR cannot run scripts: {text}"))?;
                Ok(none.insert(engine))
            }
        }
    }

    /// Returns the flags that the script or function of a call declares; none for other commands,
    /// and for calls that will fail.
    pub(crate) fn declared_flags(&self, command: &Command, args: &[Bytes]) -> Flags {
        let engine = self.engine.as_ref();
        let flags = match command.name {
            "eval" | "eval_ro" => Flags::of_source(&args[1]),
            "evalsha" | "evalsha_ro" => {
                let sha = Sha::parse(&args[1]);
                sha.and_then(|sha| engine?.flags(&sha))
            }
            "fcall" | "fcall_ro" => self.functions.find(&args[1]).map(|it| it.flags),
            _ => None,
        };
        flags.unwrap_or_default()
    }

    /// Returns the interpreter, if it was started.
    pub(crate) fn started_engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Ends the interpreter. All scripts in its cache are lost.
    pub(crate) fn flush(&mut self) {
        self.engine = None;
    }

    /// Requests a call of a script, which runs when the handler of the running command returns.
    pub(crate) fn request(&mut self, call: ScriptCall) {
        self.requested = Some(call);
    }

    /// Removes the requested call, if there is one.
    #[inline]
    pub(crate) fn take_request(&mut self) -> Option<ScriptCall> {
        self.requested.take()
    }

    /// Returns whether a script has run for so long that other clients are served meanwhile.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.is_busy)
    }

    /// Returns whether a command of a script is running.
    pub(crate) fn runs_command(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|running| running.session.is_none())
    }

    /// Ends the running script or function at its next step, if it has changed no data.
    pub(crate) fn kill(&mut self, kind: Kind) -> Kill {
        match &mut self.running {
            Some(running) if running.kind != kind => Kill::OtherKind(running.kind),
            Some(running) if running.has_written => Kill::HasWritten,
            Some(running) if running.is_busy => {
                running.is_killed = true;
                Kill::Done
            }
            _ => Kill::NotBusy,
        }
    }

    /// Records that a client has disconnected. Returns whether its script is running, so that the
    /// client must be kept until the script has ended.
    pub(crate) fn note_departure(&mut self, key: ClientKey) -> bool {
        match &mut self.running {
            Some(running) if running.caller == key => {
                running.has_left = true;
                true
            }
            _ => false,
        }
    }

    /// Records commands that run when the running script has ended: the rest of its transaction.
    pub(crate) fn run_afterwards(&mut self, commands: Vec<Vec<Bytes>>) {
        let running = self.running.as_mut().expect("a script is running");
        running.rest = Some(commands);
    }

    /// Postpones the stop of the server until the running script has ended. A script that has
    /// changed no data is ended. Returns `false` if no script is running.
    pub(crate) fn stop_afterwards(&mut self) -> bool {
        let Some(running) = &mut self.running else {
            return false;
        };
        running.stops_afterwards = true;
        running.is_killed |= !running.has_written;
        true
    }

    /// Returns the running script.
    pub(crate) fn running_mut(&mut self) -> &mut Running {
        self.running.as_mut().expect("a script is running")
    }

    /// Returns the interpreter of the running script or function.
    pub(crate) fn running_engine(&mut self) -> &mut Engine {
        match self.running_mut().kind {
            Kind::Script => self.engine.as_mut().expect("a script is running"),
            Kind::Function => self.functions.engine_of_function(),
        }
    }
}
