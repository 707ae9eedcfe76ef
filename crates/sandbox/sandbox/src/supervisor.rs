//! Supervisor of a pool: starts zygotes, orders forks, receives exit reports, and replaces old or
//! dead zygotes.
//!
//! The supervisor is one thread. While children are ready, no request waits for this thread. It
//! owns the zygotes and the table of children; callers have access only to the queue. A zygote is
//! first booting, then serving, then retired. A dead zygote is kept until its children have ended,
//! because dropping the zygote kills them.

use crate::channel;
use crate::error::{Error, ErrorKind};
use crate::exit::{ExitOutcome, PendingExit};
use crate::place;
use crate::posture::{HugePages, Posture};
use crate::queue::ZygoteFacts;
use crate::shared::Shared;
use crate::slot::{Slot, kill, timespec};
use crate::spawn::Process;
use crate::zygote::{Zygote, ZygoteSource};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use sandbox_protocol::control::{CONTROL_BYTES_MAX, ChildReady, Jail, Report, SlotId};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// First pause after a zygote or a worker failed. Each further failure doubles the pause.
const PAUSE_MIN: Duration = Duration::from_millis(10);

/// Number of forks that are ordered in addition to the maximum number of live children. A zygote
/// that is replaced still makes the forks that were already ordered, so a larger number would delay
/// its end.
const ORDERED_AHEAD: usize = 2;

pub(crate) struct Supervisor {
    shared: Arc<Shared>,
    zygote_source: ZygoteSource,
    /// Sender for the result of the first zygote's start; `None` after the result was sent.
    started: Option<mpsc::SyncSender<Result<(), Error>>>,
    zygotes: Vec<TrackedZygote>,
    children: HashMap<SlotId, Child>,
    /// Children that have not yet reported that they are ready for a job, each with the deadline of
    /// this report.
    unready: Vec<(Slot, Instant)>,
    /// Listing of the page tables of the guest that is being started, which `pelton cell` can
    /// print.
    tables: String,
    slots: u64,
    generations: u64,
    pause: Duration,
    not_before: Instant,
}

struct TrackedZygote {
    zygote: Zygote,
    generation: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Booting { deadline: Instant },
    Serving { forks: u32 },
    Retired,
    Dead,
}

/// A child, from the command to fork it until its exit report.
struct Child {
    generation: u64,
    /// Server's end of the child's socket, until the child is forked.
    socket: Option<OwnedFd>,
    /// Descriptor of the child's process; `None` until the child is forked.
    pidfd: Option<Arc<OwnedFd>>,
    end: Arc<PendingExit>,
    /// CPU time that the child has reported so far.
    cpu_us: u64,
    /// Number of times that the child has reported that it is ready for a job.
    jobs: u64,
}

impl Supervisor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        zygote_source: ZygoteSource,
        started: mpsc::SyncSender<Result<(), Error>>,
    ) -> Supervisor {
        Supervisor {
            shared,
            zygote_source,
            started: Some(started),
            zygotes: Vec::new(),
            children: HashMap::new(),
            unready: Vec::new(),
            tables: String::new(),
            slots: 0,
            generations: 0,
            pause: PAUSE_MIN,
            not_before: Instant::now(),
        }
    }

    /// Supervises the pool until it is dropped, or until its first zygote fails to start.
    pub(crate) fn run(mut self) {
        while !self.shared.queue.is_stopping() {
            let now = Instant::now();
            self.drop_unneeded(now);
            if self.not_before <= now {
                self.boot(now);
                self.refill(now);
            }
            self.wait(now);
            self.read_reports();
            self.take_returned();
            self.reap_orphans();
        }
        drop(self.shared.queue.remove_ready(|_| true));
        for pidfd in self
            .children
            .values()
            .filter_map(|child| child.pidfd.as_ref())
        {
            kill(pidfd);
        }
    }

    /// Starts a zygote if none is serving, or if the serving zygote has made its maximum number of
    /// forks.
    fn boot(&mut self, now: Instant) {
        let enough = self.shared.limits.jobs_per_zygote;
        let fresh = |state| match state {
            State::Booting { .. } => true,
            State::Serving { forks } => forks < enough,
            State::Retired | State::Dead => false,
        };
        if self.zygotes.iter().any(|tracked| fresh(tracked.state)) {
            return;
        }
        match Zygote::start(&self.zygote_source, &self.shared.limits) {
            Ok(zygote) => {
                let longest = u64::from(self.shared.limits.max_boot_time_ms);
                let deadline = now + Duration::from_millis(longest);
                self.generations += 1;
                self.zygotes.push(TrackedZygote {
                    zygote,
                    generation: self.generations,
                    state: State::Booting { deadline },
                });
            }
            Err(errno) => self.fail(Error::host("cannot start the worker", errno)),
        }
    }

    /// Orders forks until [`ORDERED_AHEAD`] more than the maximum number of children are ordered.
    /// These additional orders let the zygote replace an ended child at once, without waiting for a
    /// further command.
    fn refill(&mut self, now: Instant) {
        let wanted = self.shared.limits.children() + ORDERED_AHEAD;
        let Some(tracked) = self.zygotes.iter_mut().find(|tracked| tracked.serves()) else {
            return;
        };
        // Reusable children do not end by themselves. If the children of older zygotes were
        // counted, they would leave no room for children of the new zygote.
        let (reuses_children, newest) = (self.shared.reuses_children, tracked.generation);
        let counts = |child: &&Child| !reuses_children || child.generation == newest;
        while self.children.values().filter(counts).count() < wanted {
            self.slots += 1;
            let slot = SlotId(self.slots);
            let forked = channel::pair().and_then(|(socket, theirs)| {
                tracked.zygote.fork(slot, theirs.as_fd()).map(|()| socket)
            });
            let socket = match forked {
                Ok(socket) => socket,
                // If the zygote's queue of commands is full, its next report triggers another
                // refill. If the zygote is dead, the end of its socket triggers another refill.
                Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => return,
                Err(errno) => {
                    self.shared.queue.lock().zygote.trouble =
                        Some(format!("cannot create a socket: {errno}"));
                    self.not_before = now + PAUSE_MIN;
                    return;
                }
            };
            if let State::Serving { forks } = &mut tracked.state {
                *forks += 1;
            }
            let child = Child {
                generation: tracked.generation,
                socket: Some(socket),
                pidfd: None,
                end: Arc::default(),
                cpu_us: 0,
                jobs: 0,
            };
            self.children.insert(slot, child);
        }
    }

    /// Blocks until a zygote or a child sends a report, a child of a dead zygote ends, the pool
    /// wakes this thread, or a deadline passes.
    fn wait(&self, now: Instant) {
        let wake = self.shared.queue.wake.as_fd();
        let controls = self
            .zygotes
            .iter()
            .filter(|tracked| tracked.state != State::Dead);
        let controls = controls.map(|tracked| tracked.zygote.control());
        let orphans = self.orphans().map(|(_, pidfd)| pidfd);
        let unready = self.unready.iter().map(|(slot, _)| slot.socket.as_fd());
        let mut watched: Vec<_> = [wake]
            .into_iter()
            .chain(controls)
            .chain(orphans)
            .chain(unready)
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        let boots = self
            .zygotes
            .iter()
            .filter_map(|tracked| match tracked.state {
                State::Booting { deadline } => Some(deadline),
                _ => None,
            });
        let pause = Some(self.not_before).filter(|time| now < *time);
        let rests = self.unready.iter().map(|(_, deadline)| *deadline);
        let next = boots.chain(pause).chain(rests).min();
        let timeout = next.map(|time| timespec(time.saturating_duration_since(now)));
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => unreachable!("poll on our own descriptors: {errno}"),
        }
    }

    /// Returns the children whose zygote died before them.
    fn orphans(&self) -> impl Iterator<Item = (SlotId, BorrowedFd<'_>)> {
        let dead = |generation| {
            let mut zygotes = self.zygotes.iter();
            zygotes.any(|tracked| tracked.generation == generation && tracked.state == State::Dead)
        };
        self.children
            .iter()
            .filter(move |(_, child)| dead(child.generation))
            .filter_map(|(id, child)| Some((*id, child.pidfd.as_ref()?.as_fd())))
    }

    /// Processes all pending reports of the zygotes.
    fn read_reports(&mut self) {
        for index in 0..self.zygotes.len() {
            while self.zygotes[index].state != State::Dead {
                match self.zygotes[index].zygote.report() {
                    Ok(Some((report, pidfd))) => self.take(index, report, pidfd),
                    Ok(None) => break,
                    Err(Errno::PIPE | Errno::CONNRESET) => {
                        self.mark_dead(index, worker("exited unexpectedly"))
                    }
                    Err(errno) => self.mark_dead(index, worker(&errno.to_string())),
                }
            }
        }
    }

    fn take(&mut self, index: usize, report: Report, pidfd: Option<OwnedFd>) {
        match report {
            Report::Ready(jail) => self.serve(index, jail),
            Report::Broken(text) => self.mark_dead(index, worker(&text)),
            Report::Forked(id) => {
                let Some(child) = self.children.get_mut(&id) else {
                    return;
                };
                if let (Some(socket), Some(pidfd)) = (child.socket.take(), pidfd) {
                    let pidfd = Arc::new(pidfd);
                    child.pidfd = Some(Arc::clone(&pidfd));
                    let placed = Some(&pidfd).filter(|_| !self.shared.runs_program);
                    let slot = Slot {
                        id,
                        generation: child.generation,
                        socket,
                        process: placed.and_then(|pidfd| place::process(pidfd)),
                        pidfd,
                        end: Arc::clone(&child.end),
                        reduced_weight: None,
                    };
                    if self.shared.reuses_children {
                        self.await_ready(slot);
                    } else {
                        self.shared.queue.push(slot);
                    }
                }
            }
            Report::Refused(id, errno) => {
                self.children.remove(&id);
                let errno = Errno::from_raw_os_error(errno);
                self.shared.queue.lock().zygote.trouble = Some(format!("fork: {errno}"));
                self.back_off();
            }
            Report::Reaped(id, exit_report) => {
                self.withdraw(id);
                self.unready.retain(|(slot, _)| slot.id != id);
                let mut reported_us = 0;
                if let Some(child) = self.children.remove(&id) {
                    child.end.resolve(ExitOutcome::Reaped(exit_report));
                    reported_us = child.cpu_us;
                }
                if !self.shared.reuses_children {
                    self.shared.counters.wipes.add(1);
                }
                self.shared
                    .counters
                    .cpu_us
                    .add(exit_report.cpu_us.saturating_sub(reported_us));
                self.pause = PAUSE_MIN;
            }
            Report::Tables(text) => self.tables.push_str(&text),
            // Only a child may send this report, on its own socket.
            Report::ChildReady(_) => self.mark_dead(
                index,
                worker("the zygote sent a report that only its children may send"),
            ),
        }
    }

    /// Adds the child to the list of those that have not yet reported that they are ready.
    fn await_ready(&mut self, slot: Slot) {
        let longest = self.shared.limits.max_boot_time_ms;
        let deadline = Instant::now() + Duration::from_millis(u64::from(longest));
        self.unready.push((slot, deadline));
    }

    /// Collects the children that finished a job, and queues those that have reported that they are
    /// ready for the next job.
    fn take_returned(&mut self) {
        let returned = self.shared.queue.take_returned();
        returned.into_iter().for_each(|slot| self.await_ready(slot));
        let now = Instant::now();
        for (slot, deadline) in std::mem::take(&mut self.unready) {
            let mut bytes = [0; CONTROL_BYTES_MAX];
            let received = channel::receive(slot.socket.as_fd(), &mut bytes, RecvFlags::DONTWAIT);
            match received.map(|(len, _)| Report::from_bytes(&bytes[..len])) {
                Ok(Some(Report::ChildReady(child_ready))) => self.offer(slot, &child_ready),
                Err(Errno::AGAIN) if now < deadline => self.unready.push((slot, deadline)),
                Ok(Some(Report::Broken(text))) => {
                    slot.kill();
                    self.shared.queue.lock().zygote.trouble = Some(worker(&text).to_string());
                    self.back_off();
                }
                // The child ended, which its zygote reports separately, or it sent an invalid
                // report.
                _ => slot.kill(),
            }
        }
    }

    /// Queues a child that reported that it is ready, unless its zygote is retired.
    fn offer(&mut self, slot: Slot, child_ready: &ChildReady) {
        let counters = &self.shared.counters;
        counters.cpu_us.add(child_ready.cpu_us);
        let Some(child) = self.children.get_mut(&slot.id) else {
            return slot.kill();
        };
        child.cpu_us += child_ready.cpu_us;
        if 0 < child.jobs {
            counters.refused_calls.add(child_ready.refused_calls);
        }
        if 0 < child.jobs && self.shared.limits.ephemeral {
            counters.wipes.add(1);
            counters.wipe_us.add(child_ready.wipe_us);
            counters.dirty_bytes.add(child_ready.dirty_bytes);
        }
        child.jobs += 1;
        if child_ready.leaked {
            counters.wipe_leaks.add(1);
            return slot.kill();
        }
        let Some(tracked) = self.zygotes.iter_mut().find(|tracked| tracked.serves()) else {
            return self.shared.queue.push_again(slot);
        };
        if slot.generation != tracked.generation {
            return slot.kill();
        }
        if let State::Serving { forks } = &mut tracked.state {
            *forks += 1;
        }
        let newest = tracked.generation;
        self.shared.queue.push_again(slot);
        // The new zygote has a ready child, so children of earlier zygotes that have no job are
        // removed.
        let gone = self
            .shared
            .queue
            .remove_ready(|slot| slot.generation < newest);
        gone.iter().for_each(Slot::kill);
    }

    /// Removes from the queue a child that died without having had a job.
    fn withdraw(&self, id: SlotId) {
        drop(self.shared.queue.remove_ready(|slot| slot.id == id));
    }

    /// Makes a ready zygote the serving zygote, and retires the previous one.
    fn serve(&mut self, index: usize, jail: Jail) {
        let limits = &self.shared.limits;
        let process = &self.zygotes[index].zygote.process;
        let posture = posture(process, jail, &self.shared);
        let (given, wanted) = (posture.isolation(), limits.min_isolation);
        if given < wanted {
            let why =
                format!("this host provides isolation {given}, but min_isolation is {wanted}");
            return self.mark_dead(index, Error::new(ErrorKind::Host, why));
        }
        for tracked in self.zygotes.iter_mut().filter(|tracked| tracked.serves()) {
            // If the zygote has already closed its socket, `read_reports` detects that.
            if tracked.zygote.retire().is_ok() {
                self.shared.counters.zygote_renewals.add(1);
            }
            tracked.state = State::Retired;
        }
        self.zygotes[index].state = State::Serving { forks: 0 };
        self.shared.queue.lock().zygote = ZygoteFacts {
            posture: Some(posture),
            page_tables: std::mem::take(&mut self.tables),
            trouble: None,
        };
        if let Some(started) = self.started.take() {
            started
                .send(Ok(()))
                .expect("`Pool::start` waits for the result");
        }
    }

    /// Marks a zygote as dead. Its children continue to run. Forks that it has not made yet are
    /// ordered again from the next zygote.
    fn mark_dead(&mut self, index: usize, error: Error) {
        let tracked = &mut self.zygotes[index];
        let generation = tracked.generation;
        let state = std::mem::replace(&mut tracked.state, State::Dead);
        self.children
            .retain(|_, child| child.generation != generation || child.pidfd.is_some());
        let childless = !self
            .children
            .values()
            .any(|child| child.generation == generation);
        if state == State::Retired && childless {
            return;
        }
        self.shared.counters.zygote_deaths.add(1);
        self.fail(error);
    }

    /// Removes the ended children of dead zygotes, since a dead zygote does not report the end of
    /// its children.
    fn reap_orphans(&mut self) {
        let ended = |pidfd: BorrowedFd<'_>| {
            let mut watched = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
            poll(&mut watched, Some(&timespec(Duration::ZERO))).is_ok_and(|ready| 0 < ready)
        };
        let orphans = self.orphans().filter(|(_, pidfd)| ended(*pidfd));
        let gone: Vec<SlotId> = orphans.map(|(id, _)| id).collect();
        for id in gone {
            self.withdraw(id);
            if let Some(child) = self.children.remove(&id) {
                child.end.resolve(ExitOutcome::Unknown);
            }
            self.shared.counters.wipes.add(1);
        }
    }

    /// Drops dead zygotes without children, and marks zygotes whose boot takes too long as dead.
    fn drop_unneeded(&mut self, now: Instant) {
        let late = |state| matches!(state, State::Booting { deadline } if deadline <= now);
        if let Some(index) = self.zygotes.iter().position(|tracked| late(tracked.state)) {
            let longest = self.shared.limits.max_boot_time_ms;
            let why = format!("the worker was not ready within max_boot_time, {longest} ms");
            self.mark_dead(index, worker(&why));
        }
        let children = &self.children;
        self.zygotes.retain(|tracked| {
            let mut children = children.values();
            tracked.state != State::Dead
                || children.any(|child| child.generation == tracked.generation)
        });
    }

    fn fail(&mut self, error: Error) {
        self.shared.queue.lock().zygote.trouble = Some(error.to_string());
        if let Some(started) = self.started.take() {
            self.shared.queue.stop();
            started
                .send(Err(error))
                .expect("`Pool::start` waits for this");
        }
        self.back_off();
    }

    fn back_off(&mut self) {
        self.not_before = Instant::now() + self.pause;
        let longest = Duration::from_millis(u64::from(self.shared.limits.max_restart_pause_ms));
        self.pause = (self.pause * 2).min(longest);
    }
}

impl TrackedZygote {
    fn serves(&self) -> bool {
        matches!(self.state, State::Serving { .. })
    }
}

fn posture(process: &Process, jail: Jail, shared: &Shared) -> Posture {
    Posture {
        backend: shared.backend,
        fell_back: shared.fell_back.clone(),
        ephemeral: shared.limits.ephemeral,
        namespaces: process.namespaces.clone(),
        own_user: process.own_user,
        filter_hash: jail.filter_hash,
        filter_len: jail.filter_len,
        landlock_abi: Some(jail.landlock_abi).filter(|abi| *abi != 0),
        no_new_privs: jail.no_new_privs,
        no_capabilities: !jail.capabilities,
        hugepages: HugePages::read(shared.limits.hugepages),
    }
}

/// Builds an error that blames the worker. Control characters in `why` are escaped, because a
/// worker may have written `why`, and an operator may read it in a terminal.
fn worker(why: &str) -> Error {
    Error::new(ErrorKind::Worker, format!("worker: {}", why.escape_debug()))
}
