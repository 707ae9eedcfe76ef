//! Clients in this process: batches of commands to the core, their replies back, and no socket.

use std::fmt;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use keyspace::Foreseen;
use resp::{Reply, ReplyLimits};
use tokio::sync::{mpsc, oneshot};

use crate::client::Peer;
use crate::connection::{Place, Shared};
use crate::state::Flow;

/// Runs commands on the core from any other thread.
#[derive(Clone, Debug)]
pub struct Handle {
    requests: mpsc::Sender<Request>,
}

/// Batches that wait for the core.
pub(crate) type Requests = mpsc::Receiver<Request>;

/// One batch.
#[derive(Debug)]
pub(crate) struct Request {
    commands: Vec<Vec<Bytes>>,
    replies: oneshot::Sender<Vec<Reply>>,
}

/// The server has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store has stopped")
    }
}

impl std::error::Error for Stopped {}

/// A handle, and what arrives through it; so many batches may wait.
pub(crate) fn channel(waiting_max: usize) -> (Handle, Requests) {
    let (requests, arriving) = mpsc::channel(waiting_max);
    (Handle { requests }, arriving)
}

impl Handle {
    /// Runs commands in their order as a new client, with nothing in between, and returns as many replies. Blocks until
    /// the core got to it; a command that would wait for something is answered with an error.
    ///
    /// # Errors
    /// [`Stopped`]; whether the commands ran is then not known.
    ///
    /// # Panics
    /// On a thread that runs tasks.
    pub fn run(&self, commands: Vec<Vec<Bytes>>) -> Result<Vec<Reply>, Stopped> {
        let (replies, arriving) = oneshot::channel();
        let request = Request { commands, replies };
        self.requests.blocking_send(request).map_err(|_| Stopped)?;
        arriving.blocking_recv().map_err(|_| Stopped)
    }
}

/// Runs what arrives until every handle is gone.
pub(crate) async fn serve(shared: Rc<Shared>, mut requests: Requests) {
    while let Some(Request { commands, replies }) = requests.recv().await {
        let answered = run(&shared, &commands);
        shared.committed().await;
        // Who does not wait for the answer any more is not told.
        drop(replies.send(answered));
    }
}

fn run(shared: &Rc<Shared>, commands: &[Vec<Bytes>]) -> Vec<Reply> {
    let peer = Peer {
        address: "in-process:0".to_owned(),
        local: "in-process:0".to_owned(),
        descriptor: -1,
        is_local: true,
        is_unix: false,
    };
    let admitted = shared.state.borrow_mut().admit(peer);
    let key = match admitted {
        Ok(key) => key,
        Err(refusal) => {
            let refusal = Reply::Error(Bytes::from_static(refusal.as_bytes()));
            return vec![refusal; commands.len()];
        }
    };
    let place = Place::new(Rc::clone(shared), key);
    let mut state = shared.state.borrow_mut();
    state.clock.begin_turn();
    // Whoever runs the machine runs the password.
    state.clients[key].authenticated = true;
    let replies = commands.iter().map(|args| {
        let flow = state.command(key, args, Foreseen::default());
        if flow != Flow::Next {
            state.unpark(key);
            state.clients[key].postponed = false;
            return Reply::Error(Bytes::from_static(b"ERR the command would wait"));
        }
        let out = &mut state.clients[key].out;
        let mut written = BytesMut::from(out.to_bytes());
        out.advance(written.len());
        let reply = Reply::take(&mut written, &ReplyLimits::default());
        reply.ok().flatten().unwrap_or(Reply::Null)
    });
    let replies = replies.collect();
    drop(state);
    drop(place);
    replies
}
