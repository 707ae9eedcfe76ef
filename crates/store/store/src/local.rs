//! Clients within this process. They send batches of commands to the core and get the replies back
//! without a socket.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use keyspace::Prefetched;
use resp::Reply;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

use crate::client::{ClientKey, Closing, Peer};
use crate::dispatch::{Flow, dispatch};
use crate::effects;
use crate::shared::{ClientGuard, Shared};
use crate::state::State;
use crate::taken_reply::take_reply;

/// Sender of commands to the core. Any other thread can use it.
#[derive(Clone, Debug)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
}

/// Queue of requests that wait for the core.
pub(crate) type Requests = mpsc::Receiver<Request>;

#[derive(Debug)]
pub(crate) enum Request {
    /// Commands that run with no other commands in between. A command that would have to wait gets
    /// an error.
    Batch {
        commands: Vec<Vec<Bytes>>,
        replies: oneshot::Sender<Vec<Reply>>,
    },
    /// `GETORLOCK` on a key of database 0. The reply comes with the deadline of the key's lock, if
    /// the key is locked after the command.
    GetOrLock {
        key: Bytes,
        build: Bytes,
        reply: oneshot::Sender<(Reply, Option<i64>)>,
    },
    /// Releases a client's lock on `key`, which the client holds while it computes the value. A
    /// lock with a deadline other than `until_ms` belongs to another client and is kept.
    ReleaseLock { key: Bytes, until_ms: i64 },
}

/// Options of [`Handle::get_or_compute`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeOptions {
    /// Time for which other callers wait for the caller that computes a missing value. After this
    /// time, one of them computes the value too. At least a millisecond.
    pub build: Duration,
    /// Time to live of the value, at least a millisecond; `None` for no expiry.
    pub keep: Option<Duration>,
}

/// The reason why [`Handle::get_or_compute`] returned no value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError<E> {
    /// The server has stopped.
    #[error("{}", Stopped)]
    Stopped,
    /// The store refused the command with this error text, because the value at the key is not a
    /// string or the memory limit is reached.
    #[error("the store refused the command: {0}")]
    Refused(String),
    /// The caller's own computation failed. The next waiting caller computes the value instead.
    #[error("{0}")]
    Failed(E),
}

impl<E> From<Stopped> for ComputeError<E> {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// Error of a request to a server that has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store has stopped")]
pub struct Stopped;

/// Returns a handle and the queue of its requests. The queue holds at most `waiting_max` batches.
pub(crate) fn channel(waiting_max: usize) -> (Handle, Requests) {
    let (requests, receiver) = mpsc::channel(waiting_max);
    (Handle { requests }, receiver)
}

impl Handle {
    /// Runs commands in order as a new client, without commands of other clients in between.
    /// Returns one reply per command. Blocks until the core has run the commands. A command that
    /// would have to wait, such as BLPOP on an empty list, gets an error.
    ///
    /// # Errors
    /// [`Stopped`]; the commands may or may not have run.
    ///
    /// # Panics
    /// If the calling thread runs asynchronous tasks.
    pub fn run(&self, commands: Vec<Vec<Bytes>>) -> Result<Vec<Reply>, Stopped> {
        let (replies, receiver) = oneshot::channel();
        let request = Request::Batch { commands, replies };
        self.requests.blocking_send(request).map_err(|_| Stopped)?;
        receiver.blocking_recv().map_err(|_| Stopped)
    }

    /// Returns the string at a key of database 0, without copying a large string. If the key does
    /// not exist, sets it to the result of `compute`, and returns that result. Blocks the calling
    /// thread.
    ///
    /// If several callers need the same key, one of them computes its value, and the others wait.
    /// Clients that send `GETORLOCK` over RESP count as callers. If the computation fails, panics
    /// or takes longer than `terms.build`, the next caller computes the value.
    ///
    /// # Errors
    /// [`ComputeError`] says whether the store or `compute` failed.
    ///
    /// # Panics
    /// If the calling thread runs asynchronous tasks.
    pub fn get_or_compute<E>(
        &self,
        key: &Bytes,
        terms: ComputeOptions,
        compute: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, ComputeError<E>> {
        let (reply, until_ms) = self.get_or_lock(key, millis(terms.build))?;
        match reply {
            Reply::Bulk(value) => return Ok(value),
            Reply::Error(text) => return Err(ComputeError::Refused(lossy(&text))),
            _ => {}
        }
        // Setting the key releases the key's lock. If `compute` fails or panics, this guard
        // releases the lock.
        let _lock = until_ms.map(|until_ms| Lock {
            handle: self,
            key,
            until_ms,
        });
        let value = compute().map_err(ComputeError::Failed)?;
        // The memory of a large value is registered, so that the value can be sent to clients on
        // sockets without a copy.
        let value = reactor::zero_copy(BytesMut::from(value));
        let mut set = vec!["SET".into(), key.clone(), value.clone()];
        if let Some(keep) = terms.keep {
            set.extend(["PX".into(), millis(keep)]);
        }
        match self.run(vec![set])?.pop() {
            Some(Reply::Error(text)) => Err(ComputeError::Refused(lossy(&text))),
            _ => Ok(value),
        }
    }

    fn get_or_lock(&self, key: &Bytes, build: Bytes) -> Result<(Reply, Option<i64>), Stopped> {
        let (reply, receiver) = oneshot::channel();
        let key = key.clone();
        let request = Request::GetOrLock { key, build, reply };
        self.requests.blocking_send(request).map_err(|_| Stopped)?;
        receiver.blocking_recv().map_err(|_| Stopped)
    }
}

/// Lock of a key whose value is being computed. Dropping this value releases the lock, unless the
/// lock has expired and another client has acquired it.
struct Lock<'a> {
    handle: &'a Handle,
    key: &'a Bytes,
    until_ms: i64,
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let (key, until_ms) = (self.key.clone(), self.until_ms);
        let request = Request::ReleaseLock { key, until_ms };
        // Sending fails only if the server has stopped. In that case, no client waits for the lock.
        drop(self.handle.requests.blocking_send(request));
    }
}

fn millis(time: Duration) -> Bytes {
    Bytes::from(time.as_millis().max(1).to_string())
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}

/// Runs requests until every handle is dropped.
pub(crate) async fn serve(shared: Rc<Shared>, mut requests: Requests) {
    while let Some(request) = requests.recv().await {
        match request {
            Request::Batch { commands, replies } => {
                let (mut answered, unwritten_indices) = run(&shared, &commands).await;
                if !shared.committed().await {
                    let text = Bytes::from(shared.state.borrow().persist.unwritten_reply());
                    for index in unwritten_indices {
                        answered[index] = Reply::Error(text.clone());
                    }
                }
                // Sending fails if the caller has stopped waiting, which is not an error.
                drop(replies.send(answered));
            }
            Request::GetOrLock { key, build, reply } => {
                let shared = Rc::clone(&shared);
                // The task ends when the command has its reply or the core stops. Each task counts
                // as a client, so `maxclients` bounds the number of tasks.
                spawn_local(async move {
                    let command = ["GETORLOCK".into(), key, build];
                    let answered = run_blocking(&shared, &command).await;
                    let until_ms = shared.state.borrow().keyspace.locked_until(0, &command[1]);
                    // The result of the commit is ignored. `GETORLOCK` changes nothing on disk, so
                    // its reply is valid even if the changes of other commands could not be
                    // written.
                    let _: bool = shared.committed().await;
                    drop(reply.send((answered, until_ms)));
                });
            }
            Request::ReleaseLock { key, until_ms } => {
                let mut state = shared.state.borrow_mut();
                state.keyspace.release_lock(0, &key, until_ms);
                effects::apply(&mut state);
            }
        }
    }
}

/// Registers a client that runs inside this process. The client is removed when the returned
/// `ClientGuard` is dropped.
fn admit(shared: &Rc<Shared>) -> Result<(ClientGuard, ClientKey), Reply> {
    let peer = Peer {
        address: "in-process:0".to_owned(),
        local: "in-process:0".to_owned(),
        descriptor: -1,
        is_local: true,
        is_unix: false,
    };
    let mut state = shared.state.borrow_mut();
    let refused = |text: &'static str| Reply::Error(Bytes::from_static(text.as_bytes()));
    let key = state.admit(peer).map_err(refused)?;
    // Code of this process is trusted and needs no password.
    state.clients[key].authenticated = true;
    Ok((ClientGuard::new(Rc::clone(shared), key), key))
}

/// Removes the reply from a client's output, and returns the reply.
fn take(state: &mut State, key: ClientKey) -> Reply {
    take_reply(&mut state.clients[key].out).unwrap_or(Reply::Null)
}

/// Runs a command that may have to wait.
async fn run_blocking(shared: &Rc<Shared>, command: &[Bytes]) -> Reply {
    match admit(shared) {
        Ok((_guard, key)) => run_until_answered(shared, key, command).await,
        Err(refusal) => refusal,
    }
}

async fn run_until_answered(shared: &Rc<Shared>, key: ClientKey, command: &[Bytes]) -> Reply {
    loop {
        let flow = {
            let state = &mut *shared.state.borrow_mut();
            state.clock.start_turn();
            dispatch(state, key, command, Prefetched::default())
        };
        if flow != Flow::Next {
            until_unblocked(shared, key).await;
        }
        let state = &mut *shared.state.borrow_mut();
        if !state.clients[key].out.is_empty() {
            return take(state, key);
        }
        if state.clients[key].closing != Closing::No {
            return Reply::Error(Bytes::from_static(b"ERR the client was ended"));
        }
    }
}

/// Runs commands. Returns their replies, and the indices of the replies that must not be sent until
/// the changes of their commands are on disk.
async fn run(shared: &Rc<Shared>, commands: &[Vec<Bytes>]) -> (Vec<Reply>, Vec<usize>) {
    let (client_guard, key) = match admit(shared) {
        Ok(admitted) => admitted,
        Err(refusal) => return (vec![refusal; commands.len()], Vec::new()),
    };
    let mut unwritten_indices = Vec::new();
    let mut replies = Vec::with_capacity(commands.len());
    shared.state.borrow_mut().clock.start_turn();
    for (index, args) in commands.iter().enumerate() {
        let flow = dispatch(
            &mut shared.state.borrow_mut(),
            key,
            args,
            Prefetched::default(),
        );
        if flow == Flow::Next && shared.state.borrow().scripts.is_busy() {
            // Other clients get errors until the script has ended.
            until_unblocked(shared, key).await;
        }
        let state = &mut *shared.state.borrow_mut();
        if flow != Flow::Next {
            state.unpark(key);
            state.clients[key].postponed = false;
            replies.push(Reply::Error(Bytes::from_static(
                b"ERR the command would block",
            )));
            continue;
        }
        if !std::mem::take(&mut state.clients[key].unwritten).is_empty() {
            unwritten_indices.push(index);
        }
        replies.push(take(state, key));
    }
    drop(client_guard);
    (replies, unwritten_indices)
}

/// Waits until a client is neither blocked nor postponed, or is closed.
async fn until_unblocked(shared: &Rc<Shared>, key: ClientKey) {
    poll_fn(|context| {
        let client = &mut shared.state.borrow_mut().clients[key];
        if client.blocked_command.is_none() && !client.postponed || client.closing != Closing::No {
            return Poll::Ready(());
        }
        client.waker = Some(context.waker().clone());
        Poll::Pending
    })
    .await;
}
