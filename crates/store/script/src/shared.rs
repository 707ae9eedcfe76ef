//! State that the functions of this crate share while a script runs, and the exchange of steps with
//! the caller of the engine.

use std::cell::{Cell, RefCell};
use std::fmt;

use mlua::Function;
use resp::Proto;

use crate::fault::Fault;
use crate::function::Registering;
use crate::json_settings::JsonSettings;
use crate::limits::Limits;
use crate::random::Random;
use crate::step::{Input, Step};

/// Flags of `redis.set_repl`: effects of a command go to the journal and to replicas.
pub(crate) const REPL_ALL: i64 = 3;

/// State that the functions of this crate share.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    /// Protocol of the replies of `redis.call`.
    pub(crate) proto: Cell<Proto>,
    /// Flags of `redis.set_repl`.
    pub(crate) repl: Cell<i64>,
    pub(crate) random: RefCell<Random>,
    pub(crate) json: Cell<JsonSettings>,
    /// Functions that the library has registered so far, if one is being loaded.
    pub(crate) registering: RefCell<Option<Registering>>,
    /// Number of the next function that is registered.
    pub(crate) next_function: Cell<i64>,
    /// Name of the command that ends what runs.
    pub(crate) kill_command: Cell<&'static str>,
    /// True if the reply of the script is an error that is in the statistics already.
    pub(crate) error_is_counted: Cell<bool>,
    /// True after SCRIPT KILL, until the script has ended.
    pub(crate) is_killed: Cell<bool>,
    /// Bytes in use after the last full collection of garbage.
    pub(crate) collected_bytes: Cell<usize>,
    /// Steps of native work since the last pause.
    native_steps: Cell<u32>,
    /// Function that suspends the stack of scripts; `None` until the stack runs.
    pub(crate) suspend: RefCell<Option<Function>>,
    pub(crate) outbox: Cell<Option<Step>>,
    pub(crate) inbox: Cell<Option<Input>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(limits: Limits) -> Shared {
        Shared {
            limits,
            proto: Cell::new(Proto::Resp2),
            repl: Cell::new(REPL_ALL),
            random: RefCell::new(Random::default()),
            json: Cell::new(JsonSettings::default()),
            registering: RefCell::new(None),
            next_function: Cell::new(0),
            kill_command: Cell::new("SCRIPT KILL"),
            error_is_counted: Cell::new(false),
            is_killed: Cell::new(false),
            collected_bytes: Cell::new(0),
            native_steps: Cell::new(0),
            suspend: RefCell::new(None),
            outbox: Cell::new(None),
            inbox: Cell::new(None),
        }
    }

    /// Suspends the script until the caller continues it.
    ///
    /// # Errors
    /// The script is killed.
    pub(crate) fn exchange(&self, step: Step) -> mlua::Result<Input> {
        if self.is_killed.get() {
            return Err(self.killed());
        }
        let suspend = self.suspend.borrow().clone();
        let suspend =
            suspend.expect("scripts run on the engine's stack, which has set the function");
        self.outbox.set(Some(step));
        suspend.call::<()>(())?;
        match self.inbox.take() {
            Some(Input::Kill) => {
                self.is_killed.set(true);
                Err(self.killed())
            }
            input => Ok(input.expect("the stack is resumed with an input")),
        }
    }

    /// Returns the error that ends a script.
    pub(crate) fn killed(&self) -> mlua::Error {
        Fault::Killed(self.kill_command.get()).into_lua()
    }

    /// Counts `steps` steps of work outside the virtual machine, and pauses the script when there
    /// were many.
    ///
    /// # Errors
    /// The script is killed.
    pub(crate) fn work(&self, steps: u32) -> mlua::Result<()> {
        let steps = self.native_steps.get().saturating_add(steps);
        if steps < self.limits.native_steps_per_step {
            self.native_steps.set(steps);
            return Ok(());
        }
        self.native_steps.set(0);
        self.exchange(Step::Pause).map(drop)
    }

    /// Prepares the state for the next script.
    pub(crate) fn reset(&self) {
        self.proto.set(Proto::Resp2);
        self.repl.set(REPL_ALL);
        self.json.set(JsonSettings::default());
        self.error_is_counted.set(false);
        self.is_killed.set(false);
        self.native_steps.set(0);
    }
}
