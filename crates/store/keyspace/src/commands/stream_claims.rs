//! XCLAIM and XAUTOCLAIM, which give pending entries of a group to another consumer.

use bytes::Bytes;
use resp::Out;

use super::stream_groups::{
    Names, consumer_created, consumer_of, journal_acknowledged, journal_claims, journal_position,
};
use super::streams::{parse_id, parse_start, send_entry, send_id};
use crate::context::Context;
use crate::fault::Fault;
use crate::stream::{ConsumerNumber, Delivery, Group, Id, Stream};

type Done = Result<(), Fault>;

/// Number of entries that XAUTOCLAIM claims without COUNT.
const CLAIMED_DEFAULT: usize = 100;
/// Number of pending entries that XAUTOCLAIM looks at for each entry that it may claim.
const EXAMINED_FACTOR: usize = 10;
/// Maximum of COUNT of XAUTOCLAIM, as in Redis.
const CLAIMED_MAX: i64 = i64::MAX / 16;

/// Form of each claimed entry in the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Entry,
    Id,
}

/// Change that a claim makes to an entry's number of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counting {
    Keep,
    Increment,
    Set(u64),
}

/// Consumer, time and change of the delivery count, the same for all entries that a command claims.
struct Claim<'a> {
    consumer: &'a Bytes,
    time_ms: i64,
    counting: Counting,
    now: i64,
}

/// Entries that a command has claimed.
#[derive(Debug, Default)]
struct Claimed {
    /// Ids of the claimed entries with their numbers of deliveries.
    ids: Vec<(Id, u64)>,
    /// Ids of entries that were pending although the stream no longer has them. The command made
    /// them not pending.
    missing: Vec<Id>,
    has_new_consumer: bool,
}

impl Claimed {
    /// Begins a claim. As in Redis 7.2, its consumer is added to the group if it does not exist
    /// yet, even if no entry is claimed then.
    fn begin(group: &mut Group, claim: &Claim<'_>) -> (Self, ConsumerNumber) {
        let (consumer, has_new_consumer) = consumer_of(group, claim.consumer, claim.now);
        group.set_seen(consumer, claim.now);
        let claimed = Self {
            has_new_consumer,
            ..Self::default()
        };
        (claimed, consumer)
    }

    /// Gives an entry of the stream to the claim's consumer. `before` is the previous delivery of
    /// the entry, if it is pending.
    fn claim(
        &mut self,
        (group, consumer): (&mut Group, ConsumerNumber),
        claim: &Claim<'_>,
        (id, before): (Id, Option<Delivery>),
    ) {
        let count = before.map_or(1, |before| before.count);
        let count = match claim.counting {
            Counting::Keep => count,
            Counting::Increment => count.saturating_add(1),
            Counting::Set(count) => count,
        };
        let time_ms = claim.time_ms;
        group.deliver(
            id,
            Delivery {
                time_ms,
                count,
                consumer,
            },
        );
        group.set_active(consumer, Some(claim.now));
        self.ids.push((id, count));
    }

    /// Removes the pending entry with this id, because the stream no longer has the entry.
    fn forget(&mut self, group: &mut Group, id: Id) {
        if group.acknowledge(id) {
            self.missing.push(id);
        }
    }

    /// Records the changes of the group in the append-only file.
    fn record(&self, cx: &mut Context<'_>, names: Names<'_>, time_ms: i64) {
        if self.has_new_consumer {
            consumer_created(cx, names);
        }
        cx.dirty += (self.ids.len() + self.missing.len()) as u64;
        for same in self.ids.chunk_by(|left, right| left.1 == right.1) {
            let ids: Vec<Id> = same.iter().map(|it| it.0).collect();
            journal_claims(cx, names, &ids, (time_ms, same[0].1));
        }
        journal_acknowledged(cx, names, &self.missing);
    }

    fn send(&self, stream: &Stream, shown: Shown, out: &mut Out) {
        out.array(self.ids.len());
        for &(id, _) in &self.ids {
            if out.is_full() {
                return;
            }
            match shown {
                Shown::Id => send_id(id, out),
                Shown::Entry => {
                    let entry = stream
                        .get(id)
                        .expect("only entries of the stream are claimed");
                    send_entry(&entry, out);
                }
            }
        }
    }
}

/// Options of XCLAIM.
struct ClaimOptions {
    idle_ms_min: i64,
    ids: Vec<Id>,
    time_ms: i64,
    count: Option<u64>,
    is_forced: bool,
    shown: Shown,
    last_id: Id,
}

impl ClaimOptions {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let idle = resp::parse_int(&cx.args[4]);
        let idle = idle.ok_or(Fault::of("ERR Invalid min-idle-time argument for XCLAIM"))?;
        let ids = cx.args[5..].iter().map_while(|text| Id::parse(text, 0));
        let mut options = Self {
            idle_ms_min: idle.max(0),
            ids: ids.collect(),
            time_ms: cx.now,
            count: None,
            is_forced: false,
            shown: Shown::Entry,
            last_id: Id::MIN,
        };
        let mut at = 5 + options.ids.len();
        while at < cx.args.len() {
            at = options.parse_one(cx, at)?;
        }
        // A time in the future or before 1970 is a mistake of the client's clock.
        if !(0..=cx.now).contains(&options.time_ms) {
            options.time_ms = cx.now;
        }
        Ok(options)
    }

    /// Parses the option at `at`, and returns the index of the next one.
    fn parse_one(&mut self, cx: &Context<'_>, at: usize) -> Result<usize, Fault> {
        let value = cx.args.get(at + 1);
        let int = |fault| value.and_then(|text| resp::parse_int(text)).ok_or(fault);
        if cx.is(at, "force") {
            self.is_forced = true;
            return Ok(at + 1);
        } else if cx.is(at, "justid") {
            self.shown = Shown::Id;
            return Ok(at + 1);
        } else if value.is_some() && cx.is(at, "idle") {
            let idle = int(Fault::of("ERR Invalid IDLE option argument for XCLAIM"))?;
            self.time_ms = cx.now.saturating_sub(idle);
        } else if value.is_some() && cx.is(at, "time") {
            self.time_ms = int(Fault::of("ERR Invalid TIME option argument for XCLAIM"))?;
        } else if value.is_some() && cx.is(at, "retrycount") {
            let count = int(Fault::of(
                "ERR Invalid RETRYCOUNT option argument for XCLAIM",
            ))?;
            self.count = u64::try_from(count).ok();
        } else if let Some(id) = value.filter(|_| cx.is(at, "lastid")) {
            self.last_id = parse_id(id, 0)?;
        } else {
            let text: [&[u8]; 3] = [b"ERR Unrecognized XCLAIM option '", &cx.args[at], b"'"];
            return Err(Fault::new(text.concat()));
        }
        Ok(at + 2)
    }

    /// Claims the entries. `existing` says for each id whether the stream has the entry; if not,
    /// the id is removed from the pending entries.
    fn run(&self, group: &mut Group, claim: &Claim<'_>, existing: &[bool]) -> Claimed {
        let (mut claimed, consumer) = Claimed::begin(group, claim);
        for (&id, &exists) in self.ids.iter().zip(existing) {
            let before = group.pending().get(id).copied();
            let is_idle = |before: Delivery| {
                let idle_ms = claim.now.saturating_sub(before.time_ms);
                self.idle_ms_min == 0 || self.idle_ms_min <= idle_ms
            };
            if !exists {
                claimed.forget(group, id);
            } else if before.map_or(self.is_forced, is_idle) {
                claimed.claim((group, consumer), claim, (id, before));
            }
        }
        claimed
    }
}

pub(crate) fn xclaim(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let names = Names::of_group(cx)?;
    let (key, name) = (names.key, names.group);
    let options = ClaimOptions::parse(cx)?;
    let counting = match (options.count, options.shown) {
        (Some(count), _) => Counting::Set(count),
        (None, Shown::Id) => Counting::Keep,
        (None, Shown::Entry) => Counting::Increment,
    };
    let claim = Claim {
        consumer: names.consumer,
        time_ms: options.time_ms,
        counting,
        now: cx.now,
    };
    let claimed = cx.edit::<Stream, _>(key, |stream| {
        let ids = options.ids.iter();
        let existing: Vec<bool> = ids.map(|&id| stream.get(id).is_some()).collect();
        let changed = stream.edit_group(name, |group| {
            let claimed = options.run(group, &claim, &existing);
            let has_moved = group.last_id < options.last_id;
            group.last_id = group.last_id.max(options.last_id);
            let position = has_moved.then_some((group.last_id, group.entries_read));
            (claimed, position)
        });
        let (claimed, position) = changed.expect("seen above");
        claimed.send(stream, options.shown, out);
        (claimed, position)
    })?;
    let (claimed, position) = claimed.expect("seen above");
    claimed.record(cx, names, options.time_ms);
    if let Some(position) = position {
        cx.dirty += 1;
        journal_position(cx, names, position);
    }
    Ok(())
}

/// Arguments of XAUTOCLAIM after the consumer.
struct AutoClaimOptions {
    idle_ms_min: i64,
    start: Id,
    count_max: usize,
    shown: Shown,
}

impl AutoClaimOptions {
    fn parse(cx: &Context<'_>) -> Result<Self, Fault> {
        let idle = resp::parse_int(&cx.args[4]);
        let idle = idle.ok_or(Fault::of(
            "ERR Invalid min-idle-time argument for XAUTOCLAIM",
        ))?;
        let mut options = Self {
            idle_ms_min: idle.max(0),
            start: parse_start(&cx.args[5])?,
            count_max: CLAIMED_DEFAULT,
            shown: Shown::Entry,
        };
        let mut at = 6;
        while at < cx.args.len() {
            if cx.is(at, "count") && at + 1 < cx.args.len() {
                let count = resp::parse_int(&cx.args[at + 1]);
                let count = count.filter(|count| (1..=CLAIMED_MAX).contains(count));
                let count = count.and_then(|count| usize::try_from(count).ok());
                options.count_max = count.ok_or(Fault::of("ERR COUNT must be > 0"))?;
                at += 2;
            } else if cx.is(at, "justid") {
                options.shown = Shown::Id;
                at += 1;
            } else {
                return Err(Fault::SYNTAX);
            }
        }
        Ok(options)
    }

    /// Claims idle entries. Returns them, and the id at which the next call continues.
    fn run(&self, stream: &mut Stream, name: &[u8], claim: &Claim<'_>) -> (Claimed, Id) {
        let group = stream.group(name).expect("the caller found the group");
        let examined_max = self.count_max.saturating_mul(EXAMINED_FACTOR);
        let (mut claims, mut missing) = (Vec::new(), Vec::new());
        let mut last = None;
        for (id, before) in group.pending().iter_from(self.start).take(examined_max) {
            if self.count_max <= claims.len() + missing.len() {
                break;
            }
            last = Some(id);
            let idle_ms = claim.now.saturating_sub(before.time_ms);
            if stream.get(id).is_none() {
                missing.push(id);
            } else if self.idle_ms_min == 0 || self.idle_ms_min <= idle_ms {
                claims.push((id, *before));
            }
        }
        let start = last.map_or(Some(self.start), Id::next);
        let next = start.and_then(|start| group.pending().iter_from(start).next());
        let next = next.map_or(Id::MIN, |(id, _)| id);
        let changed = stream.edit_group(name, |group| {
            let (mut claimed, consumer) = Claimed::begin(group, claim);
            missing.into_iter().for_each(|id| claimed.forget(group, id));
            for (id, before) in claims {
                claimed.claim((group, consumer), claim, (id, Some(before)));
            }
            claimed
        });
        (changed.expect("seen above"), next)
    }
}

pub(crate) fn xautoclaim(cx: &mut Context<'_>, out: &mut Out) -> Done {
    let options = AutoClaimOptions::parse(cx)?;
    let names = Names::of_group(cx)?;
    let (key, name) = (names.key, names.group);
    let claim = Claim {
        consumer: names.consumer,
        time_ms: cx.now,
        counting: match options.shown {
            Shown::Entry => Counting::Increment,
            Shown::Id => Counting::Keep,
        },
        now: cx.now,
    };
    let claimed = cx.edit::<Stream, _>(key, |stream| {
        let (claimed, next) = options.run(stream, name, &claim);
        out.array(3);
        send_id(next, out);
        claimed.send(stream, options.shown, out);
        claimed
    })?;
    let claimed = claimed.expect("seen above");
    out.array(claimed.missing.len());
    for &id in &claimed.missing {
        if out.is_full() {
            break;
        }
        send_id(id, out);
    }
    claimed.record(cx, names, cx.now);
    Ok(())
}
