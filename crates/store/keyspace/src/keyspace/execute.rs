//! Execution of one command.

use bytes::Bytes;
use resp::Out;

use super::{Keyspace, owned};
use crate::command::{Command, Flags, Handler};
use crate::commands::{server, transactions};
use crate::context::Context;
use crate::fault::Fault;
use crate::outcome::Outcome;
use crate::session::{Queue, Session};
use crate::table;

impl Keyspace {
    /// Runs one command and appends its reply, unless the reply follows later (see [`Outcome`]).
    /// `now_ms` is Unix time in milliseconds.
    pub fn execute(
        &mut self,
        session: &mut Session,
        args: &[Bytes],
        now_ms: u64,
        out: &mut Out,
    ) -> Outcome {
        let prefetched = std::mem::take(&mut session.prefetched);
        let command = match self.admit(session, args, now_ms, prefetched.command) {
            Ok(command) => command,
            Err(fault) => {
                self.refuse(session, &fault, out);
                return Outcome::Refused;
            }
        };
        if let Some(queue) = &mut session.queue
            && !table::runs_at_once(command.name)
        {
            queue.push(command, args.iter().map(owned).collect());
            out.simple("QUEUED");
            return Outcome::Queued;
        }
        let mut context = Context::new(self, session, args, now_ms);
        context.hash = prefetched.hash;
        let result = match command.handler {
            Handler::Run(run) => run(&mut context, out).map(|()| Outcome::Done),
            Handler::Wait(run) => {
                run(&mut context, out).map(|block| block.map_or(Outcome::Done, Outcome::Block))
            }
            Handler::Exec => return transactions::exec(&mut context, out),
            Handler::Service => return Outcome::Service(command),
            // This arm runs a container (a command with subcommands) that was called without a
            // subcommand. Only COMMAND may be called in this way.
            Handler::Container => server::command(&mut context, out).map(|()| Outcome::Done),
            Handler::Help => server::help(&mut context, out).map(|()| Outcome::Done),
        };
        context.finish();
        result.unwrap_or_else(|fault| {
            out.error(fault.text());
            Outcome::Done
        })
    }

    /// Writes the error reply. If a command within a transaction is refused, EXEC fails later; a
    /// refused EXEC ends the transaction.
    fn refuse(&mut self, session: &mut Session, fault: &Fault, out: &mut Out) {
        if session
            .command
            .is_some_and(|command| command.name == "exec")
        {
            self.abort_exec(session, fault.text(), out);
        } else {
            session.abort_multi();
            out.error(fault.text());
        }
    }

    /// Ends the transaction of a client whose EXEC is refused, and writes the error reply. `reason`
    /// is the error for any other command.
    pub fn abort_exec(&mut self, session: &mut Session, reason: &[u8], out: &mut Out) {
        session.queue = None;
        self.watches.unwatch(session.take_watched());
        let reason = reason.strip_prefix(b"ERR ").unwrap_or(reason);
        let abort = b"EXECABORT Transaction discarded because of: ";
        out.error([&abort[..], reason].concat());
    }

    /// Finds the command, or returns the reason why it may neither run nor be queued.
    fn admit(
        &mut self,
        session: &mut Session,
        args: &[Bytes],
        now_ms: u64,
        prefetched: Option<&'static Command>,
    ) -> Result<&'static Command, Fault> {
        session.command = None;
        let command = match prefetched {
            Some(command) => command,
            None => table::resolve(args)?,
        };
        session.command = Some(command);
        if !command.takes(args.len()) {
            return Err(Fault::arity(command.name));
        }
        if session.in_multi() && command.flags.has(Flags::NO_MULTI) {
            return Err(Fault::of("ERR Command not allowed inside a transaction"));
        }
        let queued = session.queue.as_ref().is_some_and(Queue::needs_memory);
        let queues = session.queue.is_some() && !table::runs_at_once(command.name);
        let needs = command.flags.has(Flags::DENYOOM) || queues || command.name == "exec" && queued;
        let denies = needs && !session.replay && !session.in_exec;
        if denies && !self.make_room(now_ms) {
            return Err(Fault::OUT_OF_MEMORY);
        }
        Ok(command)
    }

    /// Resets the session of a client that disconnects or sends RESET.
    pub fn close(&mut self, session: &mut Session) {
        self.watches.unwatch(session.take_watched());
        *session = Session::new();
    }
}
