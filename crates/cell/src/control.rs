//! What pool and zygote tell each other. Both are ours and from one build, and no child holds this socket; a packet
//! that does not parse is still an error and not a panic.

use crate::posture::Jail;

/// Longest packet: a report with a text of [`TEXT_BYTES_MAX`].
pub(crate) const CONTROL_BYTES_MAX: usize = 8 + TEXT_BYTES_MAX;
/// Longest text of a zygote that does not come up.
pub(crate) const TEXT_BYTES_MAX: usize = 240;

/// One child, named once and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotId(pub(crate) u64);

/// How a child ended, as `wait4` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The wait status.
    pub(crate) status: i32,
    pub(crate) cpu_us: u64,
    pub(crate) memory_peak_bytes: u64,
}

/// Pool to zygote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// The first packet.
    Start {
        max_memory_bytes: u64,
        /// Most children alive at one time.
        children: u64,
    },
    /// Fork a child that serves the socket beside this packet, as soon as there is room for one.
    Fork(SlotId),
}

/// Zygote to pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// Jailed, warm, and listening for [`Command::Fork`].
    Ready(Jail),
    /// The child's pidfd is beside this packet.
    Forked(SlotId),
    /// `fork` failed with this error number.
    Refused(SlotId, i32),
    /// The child is gone.
    Reaped(SlotId, Ending),
    /// The zygote cannot come up.
    Broken(String),
}

const START: u64 = 1;
const FORK: u64 = 2;
const READY: u64 = 3;
const FORKED: u64 = 4;
const REFUSED: u64 = 5;
const REAPED: u64 = 6;
const BROKEN: u64 = 7;

impl Command {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        match self {
            Command::Start {
                max_memory_bytes,
                children,
            } => words(&[START, max_memory_bytes, children]),
            Command::Fork(SlotId(slot)) => words(&[FORK, slot]),
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Command> {
        match *numbers(bytes)?.as_slice() {
            [START, max_memory_bytes, children] => Some(Command::Start {
                max_memory_bytes,
                children,
            }),
            [FORK, slot] => Some(Command::Fork(SlotId(slot))),
            _ => None,
        }
    }
}

impl Report {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        match self {
            Report::Ready(jail) => words(&[
                READY,
                jail.filter_hash,
                u64::from(jail.filter_len),
                u64::from(jail.landlock_abi),
                u64::from(jail.no_new_privs),
                u64::from(jail.capabilities),
            ]),
            Report::Forked(SlotId(slot)) => words(&[FORKED, *slot]),
            Report::Refused(SlotId(slot), errno) => words(&[REFUSED, *slot, *errno as u64]),
            Report::Reaped(SlotId(slot), ending) => words(&[
                REAPED,
                *slot,
                ending.status as u64,
                ending.cpu_us,
                ending.memory_peak_bytes,
            ]),
            Report::Broken(text) => {
                let mut bytes = words(&[BROKEN]);
                bytes.extend(text.bytes().take(TEXT_BYTES_MAX));
                bytes
            }
        }
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Report> {
        if let Some((tag, text)) = bytes.split_first_chunk()
            && u64::from_le_bytes(*tag) == BROKEN
        {
            return Some(Report::Broken(String::from_utf8_lossy(text).into_owned()));
        }
        match *numbers(bytes)?.as_slice() {
            [
                READY,
                filter_hash,
                filter_len,
                landlock_abi,
                no_new_privs,
                capabilities,
            ] => Some(Report::Ready(Jail {
                filter_hash,
                filter_len: u32::try_from(filter_len).ok()?,
                landlock_abi: u32::try_from(landlock_abi).ok()?,
                no_new_privs: no_new_privs != 0,
                capabilities: capabilities != 0,
            })),
            [FORKED, slot] => Some(Report::Forked(SlotId(slot))),
            [REFUSED, slot, errno] => Some(Report::Refused(SlotId(slot), errno as i32)),
            [REAPED, slot, status, cpu_us, memory_peak_bytes] => Some(Report::Reaped(
                SlotId(slot),
                Ending {
                    status: status as i32,
                    cpu_us,
                    memory_peak_bytes,
                },
            )),
            _ => None,
        }
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn numbers(bytes: &[u8]) -> Option<Vec<u64>> {
    let (chunks, rest) = bytes.as_chunks();
    let numbers = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk));
    rest.is_empty().then(|| numbers.collect())
}

#[cfg(test)]
mod tests;
