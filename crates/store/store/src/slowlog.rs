//! The latest commands that were slow.

use std::collections::VecDeque;

use bytes::Bytes;

/// Maximum number of arguments that are kept per command. If a command has more, the last kept
/// argument is replaced by the number of omitted arguments.
const ARGS_MAX: usize = 32;
/// Maximum number of bytes that are kept per argument.
const ARG_BYTES_MAX: usize = 128;

#[derive(Debug)]
pub(crate) struct SlowCommand {
    pub(crate) id: u64,
    pub(crate) unix_secs: u64,
    pub(crate) took_us: u64,
    pub(crate) args: Vec<Bytes>,
    pub(crate) peer: String,
    pub(crate) name: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct Slowlog {
    /// Entries, newest first.
    pub(crate) entries: VecDeque<SlowCommand>,
    next_id: u64,
}

impl Slowlog {
    pub(crate) fn add(&mut self, slow: SlowCommand, entries_max: usize) {
        let id = self.next_id;
        self.next_id += 1;
        self.entries.push_front(SlowCommand { id, ..slow });
        self.entries.truncate(entries_max);
    }
}

/// Returns the arguments in the shortened form that the slow log keeps.
pub(crate) fn shorten(args: &[Bytes]) -> Vec<Bytes> {
    let shown = match ARGS_MAX < args.len() {
        true => ARGS_MAX - 1,
        false => args.len(),
    };
    let mut kept: Vec<Bytes> = args[..shown].iter().map(shorten_arg).collect();
    if shown < args.len() {
        kept.push(format!("... ({} more arguments)", args.len() - shown).into());
    }
    kept
}

fn shorten_arg(arg: &Bytes) -> Bytes {
    match arg.len().checked_sub(ARG_BYTES_MAX) {
        None | Some(0) => Bytes::copy_from_slice(arg),
        Some(more) => {
            let mut text = arg[..ARG_BYTES_MAX].to_vec();
            text.extend_from_slice(format!("... ({more} more bytes)").as_bytes());
            text.into()
        }
    }
}
