//! Lua scripts of a Redis-compatible store: EVAL's language, sandbox and conversions. No sockets,
//! no files, no clock, no data.
//!
//! Principal type: [`Engine`]. It compiles scripts and runs one script at a time. The script runs
//! on a stack of its own, which is suspended whenever the script needs something from the caller.
//! Each method that runs the script returns the [`Step`] for which the script is suspended.
//!
//! ```text
//! start ─► Step::Call(args) ─► answer(reply) ─► Step::Pause ─► go_on ─► … ─► Step::Done(reply)
//!           redis.call                           time has passed
//! ```
//!
//! ```
//! use script::{Engine, Job, Limits, Step, Target};
//! use resp::Reply;
//!
//! let mut engine = Engine::new(Limits::default()).expect("memory for an interpreter");
//! let sha = engine.load(b"return redis.call('GET', KEYS[1]) + 1".as_ref()).expect("sound");
//! let (target, keys) = (Target::Script(sha), vec!["n".into()]);
//! let job = Job { target, keys, args: Vec::new() };
//! let Step::Call(call) = engine.start(job) else { panic!("the script calls a command") };
//! assert_eq!(call.args, ["GET", "n"]);
//! assert!(matches!(engine.answer(Reply::Bulk("41".into())), Step::Done(Reply::Int(42))));
//! ```
//!
//! Libraries of functions (FUNCTION LOAD) are loaded by [`Engine::start_load`]. The caller names
//! the functions, and calls them by [`Target::Function`].
//!
//! Sandbox: scripts have Lua 5.1 without files, processes, `debug`, environments and bytecode.
//! Globals and libraries are read-only. The functions whose work the size of their arguments does
//! not bound, such as pattern matching, are written in this crate and let the caller interrupt
//! them.
//!
//! Units and limits: sizes are bytes; [`Limits`] bounds the interpreter's memory, the cache of
//! scripts, and the work between two [`Step::Pause`]. Errors: a faulty script gets the error reply
//! of Redis. Threads: one owner; the stack of a script belongs to the thread that created it.
//! Sources: the Lua 5.1 reference manual; Redis's documentation of scripting, and replies of Redis
//! servers.

#![forbid(unsafe_code)]

mod cache;
mod convert;
mod engine;
mod fault;
mod flags;
mod function;
mod interpreter;
mod json_settings;
mod libraries;
mod limits;
mod number;
mod random;
mod redis;
mod shared;
mod step;
#[cfg(test)]
mod tests;

pub use cache::{LoadError, Sha};
pub use engine::Engine;
pub use flags::Flags;
pub use function::{Function, FunctionId, LibraryHead};
pub use limits::Limits;
pub use step::{Call, Job, Level, Step, Target};
