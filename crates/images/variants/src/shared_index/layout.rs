//! Layout of the index of variants that processes share in a Redis-compatible store.
//!
//! ```text
//! pelton:variant:KEY   hash: kind (avif, webp … or the reason why there is no variant), bytes,
//!                      used_ms. If the store was reachable during the conversion, also path,
//!                      width, height, cpu_us.
//!                      Expires when the variant has been unused for `Limits::keep_ms`.
//! pelton:flight:KEY    string: identifier of the directory for the result, a space, path of the
//!                      original. Removed when the conversion ends.
//! pelton:counters      hash: totals of all processes
//! pelton:process:ID    hash: pid, version. Expires a few seconds after the process ends.
//! ```

use std::os::unix::ffi::OsStrExt;

use bytes::Bytes;
use resp::Reply;

use super::{Change, Flight, Lock, SharedEntry, VariantDetails};
use crate::cache::{Key, Kind, Variant};

/// Lifetime of the entry of a process, in seconds, as an argument of `EXPIRE`. A running process
/// renews its entry long before it expires.
const PROCESS_S: &str = "10";

type Command = Vec<Bytes>;

fn command(command: &[&[u8]]) -> Command {
    command
        .iter()
        .map(|word| Bytes::copy_from_slice(word))
        .collect()
}

fn variant(key: &Key) -> String {
    format!("pelton:variant:{key}")
}

fn flight(key: &Key) -> String {
    format!("pelton:flight:{key}")
}

fn named(process: &str) -> String {
    format!("pelton:process:{process}")
}

/// Returns two commands. The first tries to acquire the lock of `key`. The lock expires after
/// `flight.wall_ms_max` milliseconds. The second command reads the entry of `key`. In this order,
/// if another process has just released the lock, the second command finds its result.
pub(super) fn lock_and_find(key: &Key, flight: &Flight<'_>) -> Vec<Command> {
    vec![
        command(&[
            b"SET",
            self::flight(key).as_bytes(),
            &flight.text(),
            b"NX",
            b"GET",
            b"PX",
            flight.wall_ms_max.to_string().as_bytes(),
        ]),
        command(&[b"HMGET", variant(key).as_bytes(), b"kind", b"bytes"]),
    ]
}

/// Parses the first reply to the commands of [`lock_and_find`].
pub(super) fn parse_lock(reply: &Reply, flight: &Flight<'_>) -> Lock {
    let own = |text: &Bytes| text.starts_with(format!("{} ", flight.files).as_bytes());
    match reply {
        Reply::Null => Lock::Ours,
        Reply::Bulk(text) if own(text) => Lock::Shared,
        _ => Lock::Elsewhere,
    }
}

/// Parses the second reply to the commands of [`lock_and_find`]. Returns `None` if there is no
/// entry, or if the entry is invalid.
pub(super) fn parse_entry(reply: &Reply) -> Option<SharedEntry> {
    let Reply::Array(fields) = reply else {
        return None;
    };
    let [Reply::Bulk(kind), Reply::Bulk(bytes)] = &fields[..] else {
        return None;
    };
    let kind = Kind::from_extension(std::str::from_utf8(kind).ok()?)?;
    let bytes = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    let is_sound = match kind {
        Kind::Picture(_) | Kind::Sound => 0 < bytes,
        Kind::Verdict(_) => bytes == 0,
    };
    is_sound.then_some(SharedEntry { kind, bytes })
}

/// Returns the commands that write an entry. In the store, the entry expires at its own deadline if
/// it has one, and otherwise `keep_ms` after its last use.
pub(super) fn set(entry: &Variant, keep_ms: u64) -> [Command; 2] {
    let (name, bytes) = (variant(&entry.key), entry.bytes.to_string());
    let used_ms = entry.used_ms().to_string();
    let fields: [&[u8]; 8] = [
        b"HSET",
        name.as_bytes(),
        b"kind",
        entry.kind.extension().as_bytes(),
        b"bytes",
        bytes.as_bytes(),
        b"used_ms",
        used_ms.as_bytes(),
    ];
    let until_ms = entry.expires_ms().unwrap_or(entry.used_ms() + keep_ms);
    let until_ms = until_ms.to_string();
    let end = command(&[b"PEXPIREAT", name.as_bytes(), until_ms.as_bytes()]);
    [command(&fields), end]
}

/// Returns the commands that write `change` to the store.
pub(super) fn change(change: &Change, keep_ms: u64) -> Vec<Command> {
    match change {
        Change::Set(entry) => set(entry, keep_ms).into(),
        Change::VariantDetails(made) => self::made(made, keep_ms).into(),
        Change::Removed(key) => vec![command(&[b"UNLINK", variant(key).as_bytes()])],
        Change::Ended(key) => vec![command(&[b"UNLINK", flight(key).as_bytes()])],
    }
}

/// Returns the commands that add details to the entry of a variant: its width and height, its CPU
/// time and the path of its original.
fn made(made: &VariantDetails, keep_ms: u64) -> [Command; 2] {
    let name = variant(&made.key);
    let fields = command(&[
        b"HSET",
        name.as_bytes(),
        b"path",
        made.path.as_path().as_os_str().as_bytes(),
        b"width",
        made.width_px.to_string().as_bytes(),
        b"height",
        made.height_px.to_string().as_bytes(),
        b"cpu_us",
        made.cpu_us.to_string().as_bytes(),
    ]);
    // If the store has evicted the entry, `HSET` creates it again without a time to live, which
    // this command sets.
    let keep_ms = keep_ms.to_string();
    let end = command(&[b"PEXPIRE", name.as_bytes(), keep_ms.as_bytes(), b"NX"]);
    [fields, end]
}

/// Returns the commands that increase each counter in the store by the difference between `now` and
/// `before`.
pub(super) fn counts(before: &[(&'static str, u64)], now: &[(&'static str, u64)]) -> Vec<Command> {
    let added = now.iter().enumerate().filter_map(|(index, (name, total))| {
        let added = total - before.get(index).map_or(0, |before| before.1);
        (added != 0).then(|| {
            let added = added.to_string();
            command(&[
                b"HINCRBY",
                b"pelton:counters",
                name.as_bytes(),
                added.as_bytes(),
            ])
        })
    });
    added.collect()
}

/// Returns the commands that register this process in the store.
pub(super) fn process(process: &str) -> Vec<Command> {
    let name = named(process);
    let pid = std::process::id().to_string();
    vec![
        command(&[
            b"HSET",
            name.as_bytes(),
            b"pid",
            pid.as_bytes(),
            b"version",
            env!("CARGO_PKG_VERSION").as_bytes(),
        ]),
        renew(process),
    ]
}

/// Returns the command that extends the lifetime of the entry of this process. The reply is 0 if
/// the store has no such entry.
pub(super) fn renew(process: &str) -> Command {
    command(&[b"EXPIRE", named(process).as_bytes(), PROCESS_S.as_bytes()])
}
