//! XREAD and XREADGROUP.

use bytes::Bytes;
use resp::{Out, Proto};

use super::stream_groups::{
    consumer_created, consumer_of, journal_claims, journal_position, no_group_to_read,
};
use super::streams::{id_text, parse_count, parse_id, send_entry, send_id, send_range};
use crate::command::Block;
use crate::context::Context;
use crate::fault::Fault;
use crate::stream::{Delivery, Id, Stream};

type Wait = Result<Option<Block>, Fault>;

/// Error of a command that waits in XREADGROUP for a stream that was removed.
const STREAM_VANISHED: &str = "UNBLOCKED the stream key no longer exists";
/// Error of a command that waits in XREADGROUP for a group that was removed.
const GROUP_VANISHED: &str =
    "NOGROUP the consumer group this client was blocked on no longer exists";

/// Group and consumer of XREADGROUP.
#[derive(Clone, Copy)]
struct Reader<'a> {
    group: &'a Bytes,
    consumer: &'a Bytes,
}

/// Record of deliveries by XREADGROUP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acknowledgement {
    /// Delivered entries are pending until XACK.
    Explicit,
    /// `NOACK`: delivered entries are never pending.
    None,
}

/// Entries of one stream that the client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Entries after this id.
    After(Id),
    /// `+`: the last entry.
    Last,
    /// `>`: entries that the group has not read.
    New,
    /// Pending entries of the consumer after this id.
    Pending(Id),
}

/// Options of XREAD and XREADGROUP before the keys.
struct ReadOptions<'a> {
    deadline_ms: Option<u64>,
    blocks: bool,
    count_max: usize,
    reader: Option<Reader<'a>>,
    acknowledgement: Acknowledgement,
    keys: &'a [Bytes],
    /// Index of the first id among the arguments.
    ids_at: usize,
}

impl<'a> ReadOptions<'a> {
    fn parse(cx: &Context<'a>) -> Result<Self, Fault> {
        let args = cx.args;
        let is_group = cx.is(0, "xreadgroup");
        let mut options = Self {
            deadline_ms: None,
            blocks: false,
            count_max: usize::MAX,
            reader: None,
            acknowledgement: Acknowledgement::Explicit,
            keys: &[],
            ids_at: 0,
        };
        let mut at = 1;
        while options.ids_at == 0 {
            let left = args.len().saturating_sub(at + 1);
            if cx.is(at, "block") && 0 < left {
                options.deadline_ms = block_deadline(cx, at + 1)?;
                options.blocks = true;
                at += 2;
            } else if cx.is(at, "count") && 0 < left {
                let count = parse_count(cx, at + 1)?;
                options.count_max = if count == 0 { usize::MAX } else { count };
                at += 2;
            } else if cx.is(at, "streams") && 0 < left {
                options.keys = halve(cx, at + 1)?;
                options.ids_at = at + 1 + options.keys.len();
            } else if cx.is(at, "group") && 1 < left {
                let (group, consumer) = (&args[at + 1], &args[at + 2]);
                options.reader = Some(Reader { group, consumer });
                at += 3;
            } else if cx.is(at, "noack") {
                options.acknowledgement = Acknowledgement::None;
                at += 1;
            } else {
                return Err(Fault::SYNTAX);
            }
            if !is_group && options.reader.is_some() {
                return Err(only_for_groups("GROUP"));
            } else if !is_group && options.acknowledgement == Acknowledgement::None {
                return Err(only_for_groups("NOACK"));
            }
        }
        if is_group && options.reader.is_none() {
            return Err(Fault::of("ERR Missing GROUP option for XREADGROUP"));
        }
        Ok(options)
    }
}

fn only_for_groups(option: &str) -> Fault {
    Fault::new(format!(
        "ERR The {option} option is only supported by XREADGROUP. You called XREAD instead."
    ))
}

/// Parses the timeout after BLOCK. Returns the deadline; `None` for a timeout of 0, which means to
/// wait without limit.
fn block_deadline(cx: &Context<'_>, at: usize) -> Result<Option<u64>, Fault> {
    let timeout_ms = resp::parse_int(&cx.args[at]);
    let timeout_ms =
        timeout_ms.ok_or(Fault::of("ERR timeout is not an integer or out of range"))?;
    if timeout_ms < 0 {
        return Err(Fault::of("ERR timeout is negative"));
    }
    let deadline_ms = cx.now.checked_add(timeout_ms);
    let deadline_ms = deadline_ms.ok_or(Fault::of("ERR timeout is out of range"))?;
    Ok((timeout_ms != 0).then_some(deadline_ms.unsigned_abs()))
}

/// Returns the keys among the arguments from `at` on: their first half.
fn halve<'a>(cx: &Context<'a>, at: usize) -> Result<&'a [Bytes], Fault> {
    let rest = &cx.args[at..];
    if rest.len() % 2 != 0 {
        return Err(Fault::of(
            "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be specified.",
        ));
    }
    Ok(&rest[..rest.len() / 2])
}

/// Parses the id of one stream, which belongs to `key`.
fn position(
    cx: &mut Context<'_>,
    key: &Bytes,
    text: &[u8],
    reader: Option<Reader<'_>>,
) -> Result<Position, Fault> {
    let stream = cx.read_as::<Stream>(key)?;
    if let Some(Reader { group, .. }) = reader {
        if stream.is_none_or(|stream| stream.group(group).is_none()) {
            return Err(no_group_to_read(key, group));
        }
        return match text {
            b">" => Ok(Position::New),
            b"$" => Err(meaningless("$")),
            b"+" => Err(meaningless("+")),
            id => parse_id(id, 0).map(Position::Pending),
        };
    }
    let last_id = stream.map_or(Id::MIN, |stream| stream.last_id);
    match text {
        b"$" => Ok(Position::After(last_id)),
        b"+" if stream.is_some_and(|stream| stream.len() != 0) => Ok(Position::Last),
        b"+" => Ok(Position::After(last_id)),
        b">" => Err(Fault::of(
            "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
        )),
        id => parse_id(id, 0).map(Position::After),
    }
}

fn meaningless(symbol: &str) -> Fault {
    Fault::new(format!(
        "ERR The {symbol} ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by specifying a proper ID, or use the > ID to get new messages. The {symbol} ID would just return an empty result set."
    ))
}
