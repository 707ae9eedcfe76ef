//! State of one client, apart from its socket.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::task::Waker;

use bytes::Bytes;
use keyspace::{Block, Command, Session};
use resp::{Mark, Out, Proto};

/// Index of a client in the table of clients; reused after the client has disconnected.
pub(crate) type ClientKey = usize;

/// Properties of a connection that are known when it is accepted.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The client's address, or the Unix socket's path.
    pub(crate) address: String,
    /// The local address of the connection.
    pub(crate) local: String,
    /// Descriptor number, for `CLIENT LIST`.
    pub(crate) descriptor: i32,
    /// True if the client connects from this machine.
    pub(crate) is_local: bool,
    /// True if the client connects over the Unix socket.
    pub(crate) is_unix: bool,
}

/// Decision whether, and how soon, to close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    No,
    /// Close after the waiting output is written.
    AfterReply,
    Now,
}

/// Mode of `CLIENT REPLY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replies {
    On,
    Off,
    /// The reply of the next command is suppressed.
    SkipNext,
    /// The reply of the current command is suppressed.
    Skip,
}

/// Subscriptions of a client, by kind.
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

/// State of a blocked client: the command that blocked the client, the keys for which the client
/// waits, and its deadline.
#[derive(Debug)]
pub(crate) struct BlockedCommand {
    /// Command name and arguments. The command runs again when one of its keys is ready.
    pub(crate) args: Vec<Bytes>,
    pub(crate) block: Block,
    pub(crate) db: usize,
}

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) peer: Peer,
    pub(crate) session: Session,
    pub(crate) out: Out,
    /// Ranges of `out` that hold replies to commands whose changes may not be on disk yet. While
    /// such ranges exist, no output is sent.
    pub(crate) unwritten: Vec<(Mark, Mark)>,
    /// Sequence number of the client's `FLUSHALL`, while its reply waits for a snapshot of the
    /// emptied databases. `None` if there is no such reply.
    pub(crate) flush: Option<u64>,
    /// Messages to the client that arrived while its own command ran. They are sent after the
    /// command's reply.
    pub(crate) deferred_messages: Out,
    pub(crate) name: Bytes,
    pub(crate) library: (Bytes, Bytes),
    pub(crate) authenticated: bool,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) monitor: bool,
    pub(crate) blocked_command: Option<BlockedCommand>,
    /// True if the client's next command waits for the end of a pause, which CLIENT PAUSE or DEBUG
    /// SLEEP started.
    pub(crate) postponed: bool,
    pub(crate) replies: Replies,
    pub(crate) no_evict: bool,
    pub(crate) no_touch: bool,
    pub(crate) closing: Closing,
    pub(crate) created_ms: u64,
    pub(crate) active_ms: u64,
    /// Unix time, in milliseconds, since which the client's output has exceeded the soft limit of
    /// `client-output-buffer-limit`; `None` while the output is within that limit.
    pub(crate) over_soft_since_ms: Option<u64>,
    /// The client's last command.
    pub(crate) last: Option<&'static Command>,
    /// Number of bytes read that do not form a complete command yet.
    pub(crate) input_bytes: usize,
    /// Bytes of memory that the client's subscriptions use: their names, with overhead.
    pub(crate) subscribed_bytes: usize,
    /// Value of [`Client::held_bytes`] when it was last added to the total of all clients.
    pub(crate) counted_bytes: usize,
    pub(crate) waker: Option<Waker>,
    /// True if another task has changed the client's state since the client's own task last ran.
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
            deferred_messages: Out::new(Proto::Resp2),
            name: Bytes::new(),
            library: (Bytes::new(), Bytes::new()),
            authenticated,
            subscriptions: Subscriptions::default(),
            monitor: false,
            blocked_command: None,
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

    /// Returns the number of bytes of memory that the client uses: waiting output, unparsed input,
    /// queued commands, watched keys and subscriptions. A client that is being closed counts as 0,
    /// because its memory is about to be freed.
    pub(crate) fn held_bytes(&self) -> usize {
        if self.closing == Closing::Now {
            return 0;
        }
        let buffers = self.out.len() + self.deferred_messages.len() + self.input_bytes;
        buffers + self.session.held_bytes() + self.subscribed_bytes + size_of::<Client>()
    }

    /// Wakes the client's task, which then checks for changes.
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
        self.deferred_messages.set_proto(proto);
    }

    /// Appends the deferred messages, which arrived while a command ran, to the output. The output
    /// already contains the command's reply.
    pub(crate) fn append_deferred_messages(&mut self) {
        if !self.deferred_messages.is_empty() {
            self.out.append(&self.deferred_messages);
            self.deferred_messages.advance(self.deferred_messages.len());
        }
    }

    /// Returns whether the client may send only pub/sub commands. This holds for a subscribed RESP2
    /// client, because in RESP2 a message cannot be distinguished from a reply.
    pub(crate) fn only_subscribes(&self) -> bool {
        self.out.proto() == Proto::Resp2 && !self.subscriptions.is_empty()
    }

    pub(crate) fn class(&self) -> &'static str {
        match self.subscriptions.is_empty() {
            true => "normal",
            false => "pubsub",
        }
    }

    /// Returns the flags of `CLIENT LIST`.
    fn flags(&self) -> String {
        let rows = [
            (self.monitor, 'O'),
            (!self.subscriptions.is_empty(), 'P'),
            (self.session.in_multi(), 'x'),
            (self.blocked_command.is_some(), 'b'),
            (self.closing == Closing::AfterReply, 'c'),
            (self.closing == Closing::Now, 'A'),
            (self.peer.is_unix, 'U'),
            (self.no_evict, 'e'),
            (self.no_touch, 'T'),
        ];
        let set: String = rows.iter().filter(|row| row.0).map(|row| row.1).collect();
        if set.is_empty() { "N".to_owned() } else { set }
    }

    /// Returns the line that `CLIENT LIST` shows for this client, without the line end.
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
        written.expect("writing to a string cannot fail");
        line.extend_from_slice(rest.as_bytes());
        line.extend_from_slice(&self.library.0);
        line.extend_from_slice(b" lib-ver=");
        line.extend_from_slice(&self.library.1);
        line
    }
}
