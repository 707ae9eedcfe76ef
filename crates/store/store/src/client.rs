//! One client, as everything but its own socket sees it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::task::Waker;

use bytes::Bytes;
use keyspace::{Command, Session};
use resp::{Mark, Out, Proto};

use crate::block::Parked;

/// A client's place in the table of clients; used again after it has left.
pub(crate) type ClientKey = usize;

/// What is known of a connection when it begins.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The client's address, or the socket's path.
    pub(crate) address: String,
    /// The address it connected to.
    pub(crate) local: String,
    /// Number of the descriptor, for `CLIENT LIST`.
    pub(crate) descriptor: i32,
    /// Whether it connects from this machine.
    pub(crate) is_local: bool,
    /// Whether it came over the Unix socket.
    pub(crate) is_unix: bool,
}

/// Whether a client's connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    No,
    /// Once what waits for it is written.
    AfterReply,
    Now,
}

/// `CLIENT REPLY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    On,
    Off,
    /// Off for the command after this one.
    SkipNext,
    /// Off for this command.
    Skip,
}

/// What a client subscribes to.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) channels: BTreeSet<Bytes>,
    pub(crate) patterns: BTreeSet<Bytes>,
    pub(crate) shard_channels: BTreeSet<Bytes>,
}

impl Subscriptions {
    pub(crate) fn count(&self) -> usize {
        self.channels.len() + self.patterns.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count() + self.shard_channels.len() == 0
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) peer: Peer,
    pub(crate) session: Session,
    pub(crate) out: Out,
    /// Replies in `out` that promise changes which may not be on the disk yet. Nothing is sent as long as there are any.
    pub(crate) unwritten: Vec<(Mark, Mark)>,
    /// It emptied all databases, and its reply waits for the snapshot of that.
    pub(crate) flush: Option<u64>,
    /// Messages that came while one of its own commands ran: they follow its reply.
    pub(crate) later: Out,
    pub(crate) name: Bytes,
    pub(crate) library: (Bytes, Bytes),
    pub(crate) authenticated: bool,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) monitor: bool,
    pub(crate) parked: Option<Parked>,
    /// Its next command waits until a pause is over.
    pub(crate) postponed: bool,
    pub(crate) replies: Replies,
    pub(crate) no_evict: bool,
    pub(crate) no_touch: bool,
    pub(crate) closing: Closing,
    pub(crate) created_ms: u64,
    pub(crate) active_ms: u64,
    /// Since when the soft bound of its class has been passed.
    pub(crate) over_soft_since_ms: Option<u64>,
    /// Name of its last command.
    pub(crate) last: Option<&'static Command>,
    /// Bytes read that are no command yet.
    pub(crate) input_bytes: usize,
    /// Bytes of the names it subscribes to, with what surrounds them.
    pub(crate) subscribed_bytes: usize,
    /// What [`Client::held_bytes`] was when it was last added to those of all clients.
    pub(crate) counted_bytes: usize,
    pub(crate) waker: Option<Waker>,
    /// Something outside its own task happened to it.
    pub(crate) woken: bool,
}

impl Client {
    pub(crate) fn new(id: u64, peer: Peer, authenticated: bool, now_ms: u64) -> Client {
        Client {
            id,
            peer,
            session: Session::default(),
            out: Out::new(Proto::Resp2),
            unwritten: Vec::new(),
            flush: None,
            later: Out::new(Proto::Resp2),
            name: Bytes::new(),
            library: (Bytes::new(), Bytes::new()),
            authenticated,
            subscriptions: Subscriptions::default(),
            monitor: false,
            parked: None,
            postponed: false,
            replies: Replies::On,
            no_evict: false,
            no_touch: false,
            closing: Closing::No,
            created_ms: now_ms,
            active_ms: now_ms,
            over_soft_since_ms: None,
            last: None,
            input_bytes: 0,
            subscribed_bytes: 0,
            counted_bytes: 0,
            waker: None,
            woken: false,
        }
    }

    /// Bytes that it holds: what waits for it, what it has sent of a command, and what it has queued, watches or listens to.
    /// One whose connection is to end at once is about to give all that back.
    pub(crate) fn held_bytes(&self) -> usize {
        if self.closing == Closing::Now {
            return 0;
        }
        let buffers = self.out.len() + self.later.len() + self.input_bytes;
        buffers + self.session.held_bytes() + self.subscribed_bytes + size_of::<Client>()
    }

    /// Has its task look at what changed.
    pub(crate) fn wake(&mut self) {
        self.woken = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    pub(crate) fn close(&mut self, closing: Closing) {
        if self.closing != Closing::Now {
            self.closing = closing;
        }
        self.wake();
    }

    pub(crate) fn set_proto(&mut self, proto: Proto) {
        self.out.set_proto(proto);
        self.later.set_proto(proto);
    }

    /// Puts the messages that came while its command ran behind the reply.
    pub(crate) fn append_later(&mut self) {
        if !self.later.is_empty() {
            self.out.append(&self.later);
            self.later.advance(self.later.len());
        }
    }

    /// Whether it may only change what it subscribes to: RESP2 cannot tell a message from a reply.
    pub(crate) fn only_subscribes(&self) -> bool {
        self.out.proto() == Proto::Resp2 && !self.subscriptions.is_empty()
    }

    pub(crate) fn class(&self) -> &'static str {
        match self.subscriptions.is_empty() {
            true => "normal",
            false => "pubsub",
        }
    }

    /// The letters of `CLIENT LIST`.
    fn flags(&self) -> String {
        let rows = [
            (self.monitor, 'O'),
            (!self.subscriptions.is_empty(), 'P'),
            (self.session.in_multi(), 'x'),
            (self.parked.is_some(), 'b'),
            (self.closing == Closing::AfterReply, 'c'),
            (self.closing == Closing::Now, 'A'),
            (self.peer.is_unix, 'U'),
            (self.no_evict, 'e'),
            (self.no_touch, 'T'),
        ];
        let set: String = rows.iter().filter(|row| row.0).map(|row| row.1).collect();
        if set.is_empty() { "N".to_owned() } else { set }
    }

    /// A line of `CLIENT LIST`, without its end.
    pub(crate) fn describe(&self, now_ms: u64) -> Vec<u8> {
        let mut line = format!(
            "id={} addr={} laddr={} fd={} name=",
            self.id, self.peer.address, self.peer.local, self.peer.descriptor
        )
        .into_bytes();
        line.extend_from_slice(&self.name);
        let multi = self.session.multi_len().map_or(-1, |len| len as i64);
        let mut rest = String::new();
        let written = write!(
            rest,
            " age={} idle={} flags={} db={} sub={} psub={} ssub={} multi={multi} qbuf={} qbuf-free=0 \
             argv-mem=0 multi-mem={} rbs=0 rbp=0 obl=0 oll=0 omem={} tot-mem={} events=r cmd={} user=default redir=-1 \
             resp={} lib-name=",
            now_ms.saturating_sub(self.created_ms) / 1000,
            now_ms.saturating_sub(self.active_ms) / 1000,
            self.flags(),
            self.session.db(),
            self.subscriptions.channels.len(),
            self.subscriptions.patterns.len(),
            self.subscriptions.shard_channels.len(),
            self.input_bytes,
            self.session.held_bytes(),
            self.out.len(),
            self.held_bytes(),
            self.last.map_or("NULL", |command| command.name),
            self.out.proto().number(),
        );
        written.expect("a string takes everything");
        line.extend_from_slice(rest.as_bytes());
        line.extend_from_slice(&self.library.0);
        line.extend_from_slice(b" lib-ver=");
        line.extend_from_slice(&self.library.1);
        line
    }
}
