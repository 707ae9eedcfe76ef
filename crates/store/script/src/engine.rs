//! The engine: the interpreter on its own stack, the scripts that it has compiled, and the script
//! that runs.

use std::fmt;

use bytes::Bytes;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use mlua::Lua;
use resp::Reply;

use crate::cache::{Cache, LoadError, Sha};
use crate::flags::Flags;
use crate::function::{Function, FunctionId};
use crate::interpreter::{self, Parts};
use crate::limits::Limits;
use crate::step::{Input, Job, Step, Suspender, Target};

type Stack = Coroutine<Input, Step, Result<(), String>, DefaultStack>;

/// State of the engine's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Running,
}

/// Interpreter with its cache of scripts. It runs one script at a time.
pub struct Engine {
    limits: Limits,
    lua: Lua,
    parts: Parts,
    cache: Cache,
    /// The interpreter's stack; `None` only while the engine is being dropped.
    stack: Option<Stack>,
    phase: Phase,
    /// Number of scripts that have ended.
    ended: u64,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("Engine");
        it.field("limits", &self.limits).field("cache", &self.cache);
        it.field("phase", &self.phase).finish_non_exhaustive()
    }
}

impl Engine {
    /// Starts an interpreter without scripts.
    ///
    /// # Errors
    /// A text that says which resource is missing.
    pub fn new(limits: Limits) -> Result<Engine, String> {
        let lua = interpreter::new_lua(&limits).map_err(|error| error.to_string())?;
        let parts = Parts::new(&lua, limits).map_err(|error| error.to_string())?;
        let stack = DefaultStack::new(limits.stack_bytes)
            .map_err(|error| format!("cannot allocate the stack on which scripts run: {error}"))?;
        let (own_lua, own_parts) = (lua.clone(), parts.clone());
        let stack = Coroutine::with_stack(stack, move |suspender: &Suspender, first| {
            own_parts.serve(&own_lua, suspender, first)
        });
        Ok(Engine {
            limits,
            lua,
            parts,
            cache: Cache::default(),
            stack: Some(stack),
            phase: Phase::Idle,
            ended: 0,
        })
    }

    /// Returns whether a script is running: it was started and has not ended.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Compiles a script, unless it is cached already, and returns its SHA-1.
    ///
    /// # Errors
    /// The error reply for a script that cannot be compiled.
    pub fn load(&mut self, source: &[u8]) -> Result<Sha, LoadError> {
        assert!(!self.is_running(), "no script is loaded while one runs");
        let sha = Sha::of(source);
        if self.cache.touch(&sha).is_some() {
            return Ok(sha);
        }
        let (flags, head) = Flags::parse(source).map_err(LoadError)?;
        self.parts
            .compile(&self.lua, &sha, &source[head..])
            .map_err(LoadError)?;
        if let Some(dropped) = self.cache.add(sha, source, flags, &self.limits) {
            let forgotten = self.parts.forget(&self.lua, &dropped);
            forgotten.map_err(|error| LoadError(format!("ERR {error}")))?;
        }
        Ok(sha)
    }

    /// Compiles a script as [`Engine::load`] does, and keeps it until [`Engine::flush`].
    ///
    /// # Errors
    /// The error reply for a script that cannot be compiled, or if the cache is full.
    pub fn load_and_keep(&mut self, source: &[u8]) -> Result<Sha, LoadError> {
        let sha = self.load(source)?;
        match self.cache.keep(&sha, &self.limits) {
            true => Ok(sha),
            false => Err(LoadError(
                "ERR the cache of scripts is full, remove scripts with SCRIPT FLUSH".to_owned(),
            )),
        }
    }

    /// Returns the flags of a cached script, and counts as a use of the script.
    pub fn find(&mut self, sha: &Sha) -> Option<Flags> {
        self.cache.touch(sha)
    }

    /// Returns the flags of a cached script.
    #[must_use]
    pub fn flags(&self, sha: &Sha) -> Option<Flags> {
        self.cache.flags(sha)
    }

    /// Returns whether a script is cached.
    #[must_use]
    pub fn contains(&self, sha: &Sha) -> bool {
        self.cache.contains(sha)
    }

    /// Returns whether the last script ended with an error that is in the caller's statistics
    /// already: the error reply of a command that it called.
    #[must_use]
    pub fn error_is_counted(&self) -> bool {
        self.parts.error_is_counted()
    }

    /// Returns the number of cached scripts.
    #[must_use]
    pub fn scripts(&self) -> usize {
        self.cache.len()
    }

    /// Returns the bytes of the sources of all cached scripts.
    #[must_use]
    pub fn source_bytes(&self) -> usize {
        self.cache.source_bytes()
    }

    /// Returns the bytes that the interpreter uses.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.lua.used_memory()
    }

    /// Starts a script.
    ///
    /// # Panics
    /// If a script is running, or this script is not cached.
    #[must_use]
    pub fn start(&mut self, job: Job) -> Step {
        assert!(!self.is_running(), "one script runs at a time");
        if let Target::Script(sha) = &job.target {
            assert!(self.contains(sha), "the script is cached");
        }
        self.phase = Phase::Running;
        self.resume(Input::Run(job))
    }

    /// Starts to load a library of functions. `code` is the library's code from the end of its
    /// first line on. When the last step is [`Step::Done`] with the status OK,
    /// [`Engine::take_registered`] returns the functions.
    ///
    /// # Panics
    /// If a script is running.
    #[must_use]
    pub fn start_load(&mut self, code: Bytes) -> Step {
        assert!(!self.is_running(), "one script runs at a time");
        self.phase = Phase::Running;
        self.resume(Input::Load(code))
    }

    /// Returns the functions of the library that was loaded last. The caller hands each of them to
    /// [`Engine::drop_function`] when the library is removed.
    pub fn take_registered(&mut self) -> Vec<Function> {
        self.parts.take_registered()
    }

    /// Removes a function, which must not be called from then on.
    ///
    /// # Errors
    /// A text that says what is missing.
    pub fn drop_function(&mut self, id: FunctionId) -> Result<(), String> {
        assert!(!self.is_running(), "no function is removed while one runs");
        let dropped = self.parts.drop_function(id);
        dropped.map_err(|error| error.to_string())
    }

    /// Continues a script with the reply of the command that it called.
    #[must_use]
    pub fn answer(&mut self, reply: Reply) -> Step {
        self.resume(Input::Reply(reply))
    }

    /// Continues a script after [`Step::Pause`] or [`Step::Log`].
    #[must_use]
    pub fn go_on(&mut self) -> Step {
        self.resume(Input::GoOn)
    }

    /// Continues a script with the CPU time, in seconds.
    #[must_use]
    pub fn tell_time(&mut self, cpu_seconds: f64) -> Step {
        self.resume(Input::CpuSeconds(cpu_seconds))
    }

    /// Ends a script after [`Step::Pause`], [`Step::Log`], [`Step::Call`] or [`Step::Clock`].
    /// Returns its last step, [`Step::Done`] with an error.
    #[must_use]
    pub fn kill(&mut self) -> Step {
        self.resume(Input::Kill)
    }

    fn resume(&mut self, input: Input) -> Step {
        assert!(self.is_running(), "a script is running");
        let stack = self.stack.as_mut().expect("the engine is not dropped");
        let step = match stack.resume(input) {
            CoroutineResult::Yield(step) => step,
            CoroutineResult::Return(ended) => unreachable!("the interpreter ended: {ended:?}"),
        };
        if matches!(step, Step::Done(_)) {
            self.phase = Phase::Idle;
            self.ended += 1;
            self.parts.clean_up(&self.lua, self.ended);
        }
        step
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let Some(mut stack) = self.stack.take() else {
            return;
        };
        // A stack that never ran has nothing on it.
        if !stack.started() {
            return;
        }
        match self.phase {
            Phase::Idle => {
                let ended = stack.resume(Input::End);
                debug_assert!(matches!(ended, CoroutineResult::Return(Ok(()))));
            }
            // The frames of a suspended script cannot be unwound. The process is about to end, so
            // they are left.
            Phase::Running => std::mem::forget(stack),
        }
    }
}
