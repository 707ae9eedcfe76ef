//! `conform store-diff`: sends random commands to the keyspace in this process and to redis-server,
//! and compares the two servers reply by reply.
//!
//! The replies to COMMAND INFO and COMMAND DOCS are compared first. Then each reply to a random
//! command must be equal byte for byte. Tables in this file list the exceptions: replies in which
//! the order of elements has no meaning, and times, because the two servers read the clock a moment
//! apart. At intervals, all data of both servers is compared.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use clap::Parser as _;
use fastrand::Rng;
use keyspace::{Keyspace, Limits, Outcome, Session};
use resp::{Out, Proto, Reply, ReplyLimits};
use toolkit::debian;
use toolkit::stop::{EXIT_FINDINGS, Stop};
use wall_clock::unix_ms;

use crate::grammar::Template;
use crate::oracle::Oracle;
use crate::store_table;

/// Arguments after the suite's name.
#[derive(clap::Parser)]
#[command(name = "cargo xtask conform store-diff")]
struct Typed {
    /// Number of commands in each protocol
    #[arg(long, default_value_t = 100_000)]
    commands: u64,
    /// Seed of the random commands, which is printed with the result
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

const GRAMMAR: &str = include_str!("store_diff.txt");
/// Number of commands between two comparisons of all data.
const WHOLE_EVERY: u64 = 5000;
/// Average number of commands per corrupted command, in which an argument is added, removed or
/// replaced by nonsense.
const CORRUPT_EVERY: u32 = 25;
/// Number of recent commands that are remembered. When replies differ, the remembered commands on
/// the same keys are printed, at most [`SHOWN`] of them.
const RECENT: usize = 1000;
const SHOWN: usize = 30;
/// Maximum difference, in milliseconds, between two points in time that count as equal.
const SKEW_MS: i64 = 2500;
/// Pause before a comparison is repeated. A key that had expired on only one server has then
/// expired on both.
const MOMENT: Duration = Duration::from_millis(5);
/// Maximum number of differences. The comparison stops at this number.
const DIFFERENCES_MAX: u64 = 40;

/// Commands whose replies have elements in no particular order. `BY` stands for SORT with the
/// option BY.
const UNORDERED: &[&str] = &[
    "BY",
    "OBJECT",
    "SMEMBERS",
    "SINTER",
    "SUNION",
    "SDIFF",
    "SPOP",
    "SRANDMEMBER",
    "KEYS",
    "HKEYS",
    "HVALS",
    "SCAN",
    "SSCAN",
    "EXEC",
];
/// Commands whose replies have pairs of elements in no particular order.
const UNORDERED_PAIRS: &[&str] = &["HGETALL", "HRANDFIELD", "ZRANDMEMBER", "HSCAN", "ZSCAN"];
/// Commands that changed between Debian's Redis 7.0 and Redis 7.2, which our store follows. In 7.2,
/// these commands check all arguments before they read the key, so that they return an error where
/// 7.0 returns the reply for a missing key. An error that only our store returns is therefore not a
/// difference.
const STRICTER: &[&str] = &["BITPOS", "BITCOUNT", "ZRANK", "ZREVRANK"];
const ENCODINGS: &[&[u8]] = &[b"listpack", b"quicklist", b"hashtable", b"skiplist"];
const TIMES: &[&str] = &["TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"];

/// Fields in the replies of XINFO that depend on the clock, that only Redis 7.2 has, or that
/// describe the tree in which Redis keeps a stream.
const STREAM_TIMES: &[&[u8]] = &[
    b"idle",
    b"inactive",
    b"seen-time",
    b"active-time",
    b"radix-tree-nodes",
];
/// Number of ids of stream entries that the program has made so far.
static NEW_IDS: AtomicU64 = AtomicU64::new(IDS_PER_MS);
/// Number of successive ids with the same time.
const IDS_PER_MS: u64 = 4;
/// Entries per node of a stream on both servers: few, so that trimming removes whole nodes.
const NODE_ENTRIES_MAX: usize = 5;

/// The two servers that are compared, and the commands sent to both.
struct Pair {
    oracle: Oracle,
    keyspace: Keyspace,
    session: Session,
    proto: Proto,
    recent: Vec<String>,
    /// Commands queued in the open transaction.
    queued: Vec<String>,
}

/// Runs the comparison, and prints the differences on stdout.
///
/// # Errors
/// When redis-server cannot be installed or does not run: the host's fault.
pub(crate) fn run(_root: PathBuf, arguments: &[OsString]) -> Result<ExitCode, Stop> {
    let name = OsString::from("store-diff");
    let typed = Typed::try_parse_from(std::iter::once(&name).chain(arguments));
    let Typed { commands, seed } = typed.unwrap_or_else(|err| err.exit());
    debian::ensure(&["redis-server"])?;
    Ok(match compare(commands, seed)? {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_FINDINGS),
    })
}

/// Compares `commands` commands in each protocol, and returns the number of replies that differ.
///
/// # Errors
/// When redis-server does not run.
fn compare(commands: u64, seed: u64) -> Result<u64, Stop> {
    let lines = GRAMMAR
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let sentences: Vec<Template> = lines.map(Template::parse).collect();
    let mut differences = 0;
    for proto in [Proto::Resp2, Proto::Resp3] {
        let mut rng = Rng::with_seed(seed);
        let mut pair = Pair::start(proto)?;
        differences += pair.compare_tables()?;
        for count in 1..=commands {
            let sentence = rng.choice(&sentences).expect("the grammar has lines");
            let mut words = Vec::new();
            sentence.write(&mut rng, &mut fill, &mut words);
            corrupt(&mut rng, &mut words);
            let args: Vec<Bytes> = words.into_iter().map(Bytes::from).collect();
            for creation in consumer_creations(&args) {
                differences += u64::from(!pair.agree(&creation)?);
            }
            differences += u64::from(!pair.agree(&args)?);
            if count % WHOLE_EVERY == 0 || count == commands {
                differences += pair.compare_all()?;
            }
            if DIFFERENCES_MAX <= differences {
                break;
            }
        }
        println!(
            "{proto:?}: {commands} commands with seed {seed}, {differences} differences so far"
        );
    }
    Ok(differences)
}

/// Returns the commands that create the consumer of a command on groups of streams. From Redis 7.2
/// on, such a command creates its consumer itself even if it has no entries for it, as in our
/// store.
fn consumer_creations(args: &[Bytes]) -> Vec<Vec<Bytes>> {
    let after = |word: &str| {
        let mut words = args.iter();
        let found = words.position(|arg| arg.eq_ignore_ascii_case(word.as_bytes()));
        found.map_or(args.len(), |at| at + 1)
    };
    let (keys, group) = match &args[0].to_ascii_uppercase()[..] {
        b"XCLAIM" | b"XAUTOCLAIM" => (args.get(1..2), args.get(2..4)),
        b"XREADGROUP" => {
            let (first, group) = (after("STREAMS"), after("GROUP"));
            let keys = (args.len() - first) / 2;
            (args.get(first..first + keys), args.get(group..group + 2))
        }
        _ => (None, None),
    };
    let (Some(keys), Some(group)) = (keys, group) else {
        return Vec::new();
    };
    let creations = keys.iter().map(|key| {
        let mut call = words(&["XGROUP", "CREATECONSUMER"]);
        call.push(key.clone());
        call.extend_from_slice(group);
        call
    });
    creations.collect()
}

/// Returns a random value for a placeholder of the grammar.
// tidy: long because it is the list of placeholders.
fn fill(rng: &mut Rng, placeholder: &str) -> Vec<u8> {
    let now_ms = unix_ms() as i64;
    let kinds = ["s", "l", "h", "t", "z", "j"];
    let text = match placeholder {
        "key" => format!("{}{}", kinds[rng.usize(..kinds.len())], rng.u8(..4)),
        "str" | "list" | "hash" | "set" | "zset" | "lexset" | "coll" | "stream" => {
            let kind = match placeholder {
                // All members of these sorted sets have the same score, so that the members are
                // ordered by name.
                "lexset" => "x",
                _ if rng.u8(..30) == 0 => kinds[rng.usize(..kinds.len())],
                "str" => "s",
                "list" => "l",
                "hash" => "h",
                "set" => "t",
                "stream" => "j",
                "coll" => ["l", "t", "z"][rng.usize(..3)],
                _ => "z",
            };
            format!("{kind}{}", rng.u8(..4))
        }
        "group" => ["ga", "gb"][rng.usize(..2)].to_owned(),
        "consumer" => ["ca", "cb", "cc"][rng.usize(..3)].to_owned(),
        "newid" => {
            let ms = NEW_IDS.fetch_add(1, Ordering::Relaxed) / IDS_PER_MS;
            format!("{ms}-*")
        }
        "id" => stream_id(rng),
        "xbound" => match rng.u8(..6) {
            0 => "-".to_owned(),
            1 => "+".to_owned(),
            2 => format!("({}", stream_id(rng)),
            _ => stream_id(rng),
        },
        "weight" => format!("w_a{}", rng.u8(..6)),
        "value" => return value(rng),
        "member" | "field" => match rng.u8(..10) {
            0 => "f1".to_owned(),
            1 => "x".repeat(rng.usize(60..70)),
            2 => String::new(),
            _ => format!("{}{}", ["a", "b", "f", "10"][rng.usize(..4)], rng.u8(..12)),
        },
        "int" => match rng.u8(..12) {
            0 => i64::MAX.to_string(),
            1 => i64::MIN.to_string(),
            2 => "0".to_owned(),
            _ => rng.i32(-1000..1000).to_string(),
        },
        "setint" => rng.i32(-100_000..100_000).to_string(),
        "float" | "score" => match rng.u8(..16) {
            0 => "inf".to_owned(),
            1 => "-inf".to_owned(),
            2 => "1e3".to_owned(),
            _ => (f64::from(rng.i16(-40..40)) / 4.0).to_string(),
        },
        "bound" => match rng.u8(..12) {
            0 => "-inf".to_owned(),
            1 => "+inf".to_owned(),
            _ => format!(
                "{}{}",
                ["", "("][rng.usize(..2)],
                f64::from(rng.i16(-40..40)) / 4.0
            ),
        },
        "lex" => match rng.u8(..8) {
            0 => "-".to_owned(),
            1 => "+".to_owned(),
            _ => format!(
                "{}{}{}",
                ["[", "("][rng.usize(..2)],
                ["a", "b", "f"][rng.usize(..3)],
                rng.u8(..12)
            ),
        },
        "index" => rng.i8(-12..12).to_string(),
        "small" => rng.i8(-1..8).to_string(),
        "db" => ["0", "0", "0", "1", "2"][rng.usize(..5)].to_owned(),
        "offset" => rng.i16(-1..300).to_string(),
        "bits" => format!("{}{}", ["u", "i"][rng.usize(..2)], rng.u8(..66)),
        "bitoffset" => format!("{}{}", ["", "#"][rng.usize(..2)], rng.u8(..40)),
        "pattern" => ["*", "?1", "[sl]*", "*a*", "f?", "h[^1]"][rng.usize(..6)].to_owned(),
        "seconds" => [100, 5000, 0, -1, 90][rng.usize(..5)].to_string(),
        "milliseconds" => [100_000, 5_000_000, 0, -1, 90_000][rng.usize(..5)].to_string(),
        "unix" => (now_ms / 1000 + [100, 5000, -100, 90][rng.usize(..4)]).to_string(),
        "unixms" => (now_ms + [100_000, 5_000_000, -100, 90_000][rng.usize(..4)]).to_string(),
        other => unreachable!("unknown placeholder in the grammar: {other}"),
    };
    text.into_bytes()
}

fn value(rng: &mut Rng) -> Vec<u8> {
    match rng.u8(..12) {
        0 => rng.i32(..).to_string().into_bytes(),
        1 => Vec::new(),
        2 => vec![b'v'; rng.usize(1..200)],
        3 => vec![b'w'; rng.usize(16_000..18_000)],
        4 => (0..rng.usize(..12)).map(|_| rng.u8(..)).collect(),
        5 => (f64::from(rng.i16(-400..400)) / 4.0)
            .to_string()
            .into_bytes(),
        _ => format!("{}{}", ["a", "b", "val"][rng.usize(..3)], rng.u8(..6)).into_bytes(),
    }
}

/// Returns an id near those of the latest entries.
fn stream_id(rng: &mut Rng) -> String {
    let last_ms = NEW_IDS.load(Ordering::Relaxed) / IDS_PER_MS;
    let ms = (last_ms + 1).saturating_sub(rng.u64(..12));
    match rng.u8(..4) {
        0 => ms.to_string(),
        _ => format!("{ms}-{}", rng.u64(..IDS_PER_MS)),
    }
}

fn corrupt(rng: &mut Rng, words: &mut Vec<Vec<u8>>) {
    // Some commands are never corrupted, because their replies would then differ. Commands whose
    // names end in RANK accept one more argument in our store than in Redis 7.0. Commands that
    // choose random elements choose different elements on each server if they get fewer arguments.
    let name = String::from_utf8_lossy(&words[0]).into_owned();
    let is_fragile = name.ends_with("RANK") || name.contains("RAND") || name == "SPOP";
    if rng.u32(..CORRUPT_EVERY) != 0 || is_fragile {
        return;
    }
    let at = rng.usize(..words.len());
    match rng.u8(..4) {
        // COMMAND keeps its arguments. Without arguments, it returns the whole table of commands,
        // and our table is shorter than that of Redis.
        0 if 0 < at && words[0] != b"COMMAND" => drop(words.remove(at)),
        1 => words.push(b"extra".to_vec()),
        2 if 0 < at => words[at] = b"nonsense".to_vec(),
        _ => words.push(b"1".to_vec()),
    }
}

impl Pair {
    fn start(proto: Proto) -> Result<Self, Stop> {
        let mut limits = Limits::default();
        limits.encodings.stream_node_entries_max = NODE_ENTRIES_MAX;
        let mut pair = Self {
            oracle: Oracle::start()?,
            keyspace: Keyspace::new(limits, 1),
            session: Session::new(),
            proto,
            recent: Vec::new(),
            queued: Vec::new(),
        };
        let hello = ["HELLO", if proto == Proto::Resp3 { "3" } else { "2" }];
        pair.oracle.ask(&hello.map(Bytes::from))?;
        let entries_max = NODE_ENTRIES_MAX.to_string();
        let set = ["CONFIG", "SET", "stream-node-max-entries", &entries_max];
        pair.oracle.ask(&words(&set))?;
        Ok(pair)
    }

    fn ours(&mut self, args: &[Bytes]) -> Bytes {
        let mut out = Out::new(self.proto);
        self.execute(args, &mut out);
        out.to_bytes()
    }

    fn execute(&mut self, args: &[Bytes], out: &mut Out) {
        // Prefetch the key of the command, as a server prefetches the keys of a pipeline.
        let mut prefetched = Vec::new();
        let calls = std::iter::once(args);
        self.keyspace
            .prefetch(&self.session, calls, &mut prefetched);
        self.session.set_prefetched(prefetched[0]);
        match self
            .keyspace
            .execute(&mut self.session, args, unix_ms(), out)
        {
            Outcome::Done | Outcome::Refused | Outcome::Queued => {}
            Outcome::Exec(commands) => {
                commands.iter().for_each(|args| self.execute(args, out));
                self.session.exec_done();
            }
            other => out.error(format!("unexpected {other:?}")),
        }
    }

    /// Compares the replies of both servers to COMMAND INFO and COMMAND DOCS, for each command of
    /// our store.
    fn compare_tables(&mut self) -> Result<u64, Stop> {
        let mut differences = 0;
        for command in keyspace::commands() {
            let (theirs, ours) = self.both(&["COMMAND", "INFO", command.name])?;
            let mut found = store_table::differences(command.name, &theirs, &ours);
            let (theirs, ours) = self.both(&["COMMAND", "DOCS", command.name])?;
            found.extend(store_table::argument_differences(
                command.name,
                &theirs,
                &ours,
            ));
            for (theirs, ours) in found {
                println!(
                    "--- Redis and Pelton describe {} differently\n\
                     redis:  {theirs}\npelton: {ours}",
                    command.name
                );
                differences += 1;
            }
        }
        Ok(differences)
    }

    /// Sends a command to both servers, and returns their replies.
    fn both(&mut self, line: &[&str]) -> Result<(Reply, Reply), Stop> {
        let ask = words(line);
        let (_, theirs) = self.oracle.ask(&ask)?;
        let mut raw = BytesMut::from(&self.ours(&ask)[..]);
        let ours = Reply::take(&mut raw, &ReplyLimits::default());
        Ok((theirs, ours.ok().flatten().expect("our own reply is whole")))
    }

    /// Sends a command to both servers, and returns whether they agree. A difference is printed,
    /// and both servers are emptied, because otherwise all later replies would differ too.
    fn agree(&mut self, args: &[Bytes]) -> Result<bool, Stop> {
        let Some((theirs, ours)) = self.difference(args)? else {
            return Ok(true);
        };
        self.report(&theirs, &ours);
        for line in [&["DISCARD"][..], &["FLUSHALL"], &["UNWATCH"]] {
            let args: Vec<Bytes> = line.iter().map(|word| Bytes::from(*word)).collect();
            self.oracle.ask(&args)?;
            self.ours(&args);
        }
        Ok(false)
    }

    /// Does the same as [`Self::agree`] for a command that only reads, but sends the command again
    /// after a short pause if the replies differ. A key that expired between the first two replies
    /// has then expired on both servers.
    fn agree_soon(&mut self, args: &[Bytes]) -> Result<bool, Stop> {
        if self.difference(args)?.is_none() {
            return Ok(true);
        }
        sleep(MOMENT);
        self.agree(args)
    }

    /// Sends a command to both servers. Returns their replies if the replies differ in meaning.
    fn difference(&mut self, args: &[Bytes]) -> Result<Option<(Bytes, Bytes)>, Stop> {
        let shown: Vec<String> = args.iter().map(|arg| shorten(arg)).collect();
        self.recent.push(shown.join(" "));
        if RECENT < self.recent.len() {
            self.recent.remove(0);
        }
        let name = String::from_utf8_lossy(&args[0]).to_uppercase();
        let (raw, theirs) = self.oracle.ask(args)?;
        let ours = self.ours(args);
        match raw.as_ref() {
            b"+QUEUED\r\n" => self.queued.push(shown.join(" ")),
            // Only a successful MULTI starts a transaction. MULTI within a transaction is an error,
            // and the open transaction keeps its queued commands.
            b"+OK\r\n" if name == "MULTI" => self.queued.clear(),
            _ => {}
        }
        let has = |word: &str| shown.iter().any(|it| it.eq_ignore_ascii_case(word));
        // SORT with ALPHA in Redis compares strings only up to the first NUL byte, so the order of
        // strings that are equal up to that byte is arbitrary.
        let is_cut = name == "SORT" && has("alpha") && raw.contains(&0);
        let name = match has("by") || is_cut {
            true => "BY",
            false => &name,
        };
        if raw == ours || is_same(name, &theirs, &ours) {
            return Ok(None);
        }
        // The reply has only some of the elements, in no particular order. Any of the elements are
        // correct, so only the numbers of elements must be equal.
        let is_part = (has("nosort") || is_cut) && has("limit");
        if is_part && counts(&raw).is_some_and(|it| Some(it) == counts(&ours)) {
            return Ok(None);
        }
        let is_excused = STRICTER.contains(&name) && ours.starts_with(b"-ERR")
            || name == "EXEC" && self.is_same_transaction(&theirs, &ours);
        Ok((!is_excused).then_some((raw, ours)))
    }

    /// Returns whether the replies to the commands of a transaction have the same meaning, one by
    /// one.
    fn is_same_transaction(&self, theirs: &Reply, ours: &Bytes) -> bool {
        let ours = Reply::take(&mut BytesMut::from(&ours[..]), &ReplyLimits::default());
        let (Reply::Array(theirs), Ok(Some(Reply::Array(ours)))) = (theirs, ours) else {
            return false;
        };
        let is_excused = |command: &str, theirs: &Reply, ours: &Reply| {
            let name = command.split(' ').next().unwrap_or(command).to_uppercase();
            match (theirs, ours) {
                (Reply::Int(theirs), Reply::Int(ours)) => {
                    TIMES.contains(&&*name) && is_near(*theirs, *ours)
                }
                _ if matches!(&*name, "XPENDING" | "XINFO") => {
                    without_times(theirs) == without_times(ours)
                }
                _ => STRICTER.contains(&&*name) && matches!(ours, Reply::Error(_)),
            }
        };
        let mut both = theirs.iter().zip(&ours).zip(&self.queued);
        theirs.len() == ours.len()
            && theirs.len() == self.queued.len()
            && both.all(|((theirs, ours), command)| {
                sorted(theirs, 1) == sorted(ours, 1) || is_excused(command, theirs, ours)
            })
    }

    /// Prints the place where two replies differ, and the earlier commands on the same keys.
    fn report(&mut self, theirs: &[u8], ours: &[u8]) {
        let mut culprit = self.recent.pop().expect("a command was just sent");
        let mut parts = None;
        if culprit.to_uppercase().starts_with("EXEC")
            && let Some((at, left, right)) = first_difference(theirs, ours)
            && let Some(queued) = self.queued.get(at)
        {
            culprit = format!("{queued} (queued)");
            parts = Some((format!("{left:?}"), format!("{right:?}")));
        }
        let keys: Vec<&str> = culprit.split(' ').filter(|word| is_key(word)).collect();
        let shares = |line: &&String| line.split(' ').any(|word| keys.contains(&word));
        let shared: Vec<&String> = self.recent.iter().filter(shares).collect();
        let from = shared.len().saturating_sub(SHOWN);
        println!("--- Redis and Pelton reply differently to {culprit} after these commands:");
        shared[from..]
            .iter()
            .for_each(|line| println!("    {line}"));
        let same = theirs
            .iter()
            .zip(ours)
            .take_while(|(left, right)| left == right)
            .count();
        let from = same.saturating_sub(40);
        let (theirs, ours) =
            parts.unwrap_or_else(|| (shorten(&theirs[from..]), shorten(&ours[from..])));
        println!("redis:  {theirs}\npelton: {ours}");
        self.recent.clear();
    }

    /// Makes each server restore the value of `key` that the other server dumped.
    fn exchange(&mut self, key: &[u8]) -> Result<(), Stop> {
        let dump = call(&["DUMP"], key);
        let (_, theirs) = self.oracle.ask(&dump)?;
        let mut raw = BytesMut::from(&self.ours(&dump)[..]);
        let ours = Reply::take(&mut raw, &ReplyLimits::default());
        if let (Reply::Bulk(theirs), Ok(Some(Reply::Bulk(ours)))) = (theirs, ours) {
            let restore = |payload: Bytes| {
                let mut args = call(&["RESTORE", "0"], COPY);
                args.extend([payload, Bytes::from_static(b"REPLACE")]);
                args
            };
            self.ours(&restore(theirs));
            self.oracle.ask(&restore(ours))?;
        }
        Ok(())
    }

    /// Compares all databases key by key.
    fn compare_all(&mut self) -> Result<u64, Stop> {
        let mut differences = 0;
        let mut ask = |pair: &mut Self, line: &[Bytes]| -> Result<(), Stop> {
            differences += u64::from(!pair.agree_soon(line)?);
            Ok(())
        };
        // DISCARD ends a transaction that the commands left open. Without an open transaction, both
        // servers reply with an error.
        ask(self, &words(&["DISCARD"]))?;
        for db in 0..16 {
            ask(self, &words(&["SELECT", &db.to_string()]))?;
            ask(self, &words(&["KEYS", "*"]))?;
            let (_, keys) = self.oracle.ask(&words(&["KEYS", "*"]))?;
            let Reply::Array(keys) = keys else {
                continue;
            };
            for key in keys {
                let Reply::Bulk(key) = key else {
                    continue;
                };
                for line in READS {
                    ask(self, &call(line, &key))?;
                }
                let mut groups = words(&["XINFO", "STREAM", "FULL", "COUNT", "0"]);
                groups.insert(2, key.clone());
                ask(self, &groups)?;
                self.exchange(&key)?;
                for line in READS {
                    ask(self, &call(line, COPY))?;
                }
                ask(self, &call(&["DEL"], COPY))?;
            }
        }
        ask(self, &words(&["SELECT", "0"]))?;
        Ok(differences)
    }
}

/// Commands that read each key for the comparison.
const READS: &[&[&str]] = &[
    &["TYPE"],
    &["PEXPIRETIME"],
    &["GET"],
    &["LRANGE", "0", "-1"],
    &["HGETALL"],
    &["SMEMBERS"],
    &["ZRANGE", "0", "-1", "WITHSCORES"],
    &["XRANGE", "-", "+"],
];
/// Key under which each server restores the value that the other server dumped.
const COPY: &[u8] = b"copy";

fn words(line: &[&str]) -> Vec<Bytes> {
    let words = line.iter();
    words
        .map(|word| Bytes::copy_from_slice(word.as_bytes()))
        .collect()
}

/// Returns a command with `key` as its first argument.
fn call(line: &[&str], key: &[u8]) -> Vec<Bytes> {
    let mut args = words(line);
    args.insert(1, Bytes::copy_from_slice(key));
    args
}

/// Returns the number of elements if the reply is an array.
fn counts(reply: &[u8]) -> Option<usize> {
    match Reply::take(&mut BytesMut::from(reply), &ReplyLimits::default()) {
        Ok(Some(Reply::Array(elements))) => Some(elements.len()),
        _ => None,
    }
}

/// Returns the first index at which two arrays differ, and the two elements at that index.
fn first_difference(theirs: &[u8], ours: &[u8]) -> Option<(usize, Reply, Reply)> {
    let read = |raw: &[u8]| Reply::take(&mut BytesMut::from(raw), &ReplyLimits::default());
    let (Ok(Some(Reply::Array(theirs))), Ok(Some(Reply::Array(ours)))) = (read(theirs), read(ours))
    else {
        return None;
    };
    let mut both = theirs.into_iter().zip(ours).enumerate();
    both.find(|(_, (left, right))| sorted(left, 1) != sorted(right, 1))
        .map(|(at, (left, right))| (at, left, right))
}

/// Returns whether a word of a command has the form of the grammar's keys.
fn is_key(word: &str) -> bool {
    word.len() == 2
        && word.as_bytes()[0].is_ascii_lowercase()
        && word.as_bytes()[1].is_ascii_digit()
}

/// Returns whether two replies are times that differ only because the two servers read the clock a
/// moment apart. A negative number is not a time.
fn is_near(theirs: i64, ours: i64) -> bool {
    (theirs - ours).abs() <= SKEW_MS && 0 <= theirs && 0 <= ours
}

/// Returns whether two replies to the command `name` have the same meaning, although their bytes
/// differ.
fn is_same(name: &str, theirs: &Reply, ours: &Bytes) -> bool {
    let mut ours = BytesMut::from(&ours[..]);
    let Ok(Some(ours)) = Reply::take(&mut ours, &ReplyLimits::default()) else {
        return false;
    };
    if TIMES.contains(&name) {
        return match (theirs, &ours) {
            (Reply::Int(theirs), Reply::Int(ours)) => is_near(*theirs, *ours),
            _ => false,
        };
    }
    if UNORDERED_PAIRS.contains(&name) {
        return sorted(theirs, 2) == sorted(&ours, 2) || sorted(theirs, 1) == sorted(&ours, 1);
    }
    if matches!(name, "XPENDING" | "XINFO") {
        return without_times(theirs) == without_times(&ours);
    }
    UNORDERED.contains(&name) && sorted(theirs, 1) == sorted(&ours, 1)
}

/// Formats a reply in a form that does not depend on the order of elements: each array is divided
/// into groups of `step` consecutive elements, and the groups are sorted.
fn sorted(reply: &Reply, step: usize) -> String {
    match reply {
        Reply::Array(elements) | Reply::Set(elements) => {
            let step = if elements.len() % step == 0 { step } else { 1 };
            let texts: Vec<String> = elements.iter().map(|it| sorted(it, step)).collect();
            let mut groups: Vec<String> = texts.chunks(step).map(|group| group.join(" ")).collect();
            groups.sort_unstable();
            format!("[{}]", groups.join(", "))
        }
        Reply::Map(pairs) => {
            let mut texts: Vec<String> = pairs.iter().map(|it| format!("{it:?}")).collect();
            texts.sort_unstable();
            format!("{{{}}}", texts.join(", "))
        }
        // All encodings count as equal: Redis 7.0 encodes small lists and sets differently from our
        // store, and its SORT converts a sorted set to a skip list.
        Reply::Bulk(name) if ENCODINGS.contains(&name.as_ref()) => "some encoding".to_owned(),
        // Large numbers in the reply of a transaction are timestamps, which differ between the
        // servers, so they are rounded.
        Reply::Int(number) if 1000 < *number => format!("about {}", number / 10_000_000_000),
        other => format!("{other:?}"),
    }
}

/// Formats a reply of XPENDING or XINFO without the times in it.
fn without_times(reply: &Reply) -> String {
    let is_time =
        |name: &Reply| matches!(name, Reply::Bulk(name) if STREAM_TIMES.contains(&&name[..]));
    match reply {
        // A pending entry: its id, its consumer if the list has several, a time and a count.
        Reply::Array(row) if is_pending(row) => {
            let kept = row.iter().enumerate().filter(|(at, _)| at + 2 != row.len());
            format!("{:?}", kept.map(|it| it.1).collect::<Vec<&Reply>>())
        }
        Reply::Array(elements) => {
            let mut texts = Vec::new();
            let mut rest = elements.iter();
            while let Some(element) = rest.next() {
                match is_time(element) {
                    true => _ = rest.next(),
                    false => texts.push(without_times(element)),
                }
            }
            format!("{texts:?}")
        }
        Reply::Map(pairs) => {
            let kept = pairs.iter().filter(|(name, _)| !is_time(name));
            let texts = kept.map(|(name, value)| format!("{name:?}: {}", without_times(value)));
            format!("{:?}", texts.collect::<Vec<String>>())
        }
        other => format!("{other:?}"),
    }
}

fn is_pending(row: &[Reply]) -> bool {
    matches!(
        row,
        [Reply::Bulk(_), Reply::Int(_), Reply::Int(_)]
            | [Reply::Bulk(_), Reply::Bulk(_), Reply::Int(_), Reply::Int(_)]
    )
}

fn shorten(bytes: &[u8]) -> String {
    let shown = bytes[..bytes.len().min(160)].escape_ascii().to_string();
    if bytes.is_empty() {
        "\"\"".to_owned()
    } else {
        shown
    }
}
