//! What pool and zygote tell each other. Both are ours and from one build, and no child holds this socket; a packet
//! that does not parse is still an error and not a panic. Descriptors travel beside these bytes.

/// Longest packet: a report with a text of [`TEXT_BYTES_MAX`].
pub const CONTROL_BYTES_MAX: usize = 8 + TEXT_BYTES_MAX;
/// Longest text of a zygote that does not come up, and longest word to a guest.
pub const TEXT_BYTES_MAX: usize = 1_000;

/// One child, named once and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId(
    /// Counted by the pool.
    pub u64,
);

/// What a zygote found to hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jail {
    /// Tells its filter from others.
    pub filter_hash: u64,
    /// Instructions of the filter.
    pub filter_len: u32,
    /// 0 where the kernel has no Landlock.
    pub landlock_abi: u32,
    /// It, and what it starts, gains no rights by exec.
    pub no_new_privs: bool,
    /// Whether any capability is left.
    pub capabilities: bool,
}

/// How a child ended, as `wait4` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The wait status.
    pub status: i32,
    /// CPU time of its whole life, and of what it waited for.
    pub cpu_us: u64,
    /// Most resident memory.
    pub memory_peak_bytes: u64,
}

/// What a zygote's children are, and how they treat their jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Each child hosts a microVM, for which the device is beside this packet.
    pub machine: bool,
    /// The jobs are for the program beside this packet, and not for the worker itself.
    pub program: bool,
    /// Nothing of a job is left when the next begins.
    pub ephemeral: bool,
    /// Large pages for what is there before a job.
    pub hugepages: bool,
    /// Large pages for what a job takes.
    pub work_hugepages: bool,
    /// Memory before a job, in bytes.
    pub max_memory_bytes: u64,
    /// Memory that a job may take beyond that, in bytes.
    pub max_work_memory_bytes: u64,
    /// Most children alive at one time.
    pub children: u64,
    /// How many [`Command::Word`] follow.
    pub words: u64,
}

/// What a child that stays says when it is ready for its next job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rested {
    /// CPU time since it said so last.
    pub cpu_us: u64,
    /// How long the wipe took.
    pub wipe_us: u64,
    /// Memory that the wipe gave back.
    pub dirty_bytes: u64,
    /// System calls of the job that a guest does not have.
    pub refused_calls: u64,
    /// The wipe left a canary where it was.
    pub leaked: bool,
}

/// What a word to a guest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// The next of its arguments.
    Argument,
    /// The next of its environment.
    Variable,
    /// The name under which it may open the file beside this packet.
    Path,
}

/// Pool to zygote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The first packet. Beside it: a program, then the device, where there are such.
    Start(Start),
    /// Of at most [`TEXT_BYTES_MAX`] bytes.
    Word(Word, Vec<u8>),
    /// Fork a child that serves the socket beside this packet, as soon as there is room for one.
    Fork(SlotId),
}

/// Zygote to pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
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
    /// On a child's own socket.
    Rested(Rested),
    /// Some of a guest's page tables, as text: before [`Report::Ready`].
    Tables(String),
}

const START: u64 = 1;
const FORK: u64 = 2;
const READY: u64 = 3;
const FORKED: u64 = 4;
const REFUSED: u64 = 5;
const REAPED: u64 = 6;
const BROKEN: u64 = 7;
const RESTED: u64 = 8;
const ARGUMENT: u64 = 9;
const VARIABLE: u64 = 10;
const PATH: u64 = 11;
const TABLES: u64 = 12;

impl Command {
    /// Its packet.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Command::Start(start) => words(&[
                START,
                start.flags(),
                start.max_memory_bytes,
                start.max_work_memory_bytes,
                start.children,
                start.words,
            ]),
            Command::Word(Word::Argument, text) => tagged(ARGUMENT, text),
            Command::Word(Word::Variable, text) => tagged(VARIABLE, text),
            Command::Word(Word::Path, text) => tagged(PATH, text),
            Command::Fork(SlotId(slot)) => words(&[FORK, *slot]),
        }
    }

    /// The command of a packet, if that is one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Command> {
        let words = [
            (ARGUMENT, Word::Argument),
            (VARIABLE, Word::Variable),
            (PATH, Word::Path),
        ];
        for (tag, word) in words {
            if let Some(text) = text(tag, bytes) {
                return Some(Command::Word(word, text.to_vec()));
            }
        }
        match *numbers(bytes)?.as_slice() {
            [
                START,
                flags,
                max_memory_bytes,
                max_work_memory_bytes,
                children,
                words,
            ] => Some(Command::Start(Start {
                max_memory_bytes,
                max_work_memory_bytes,
                children,
                words,
                ..Start::from_flags(flags)
            })),
            [FORK, slot] => Some(Command::Fork(SlotId(slot))),
            _ => None,
        }
    }
}

impl Start {
    fn flags(&self) -> u64 {
        let flags = [
            self.machine,
            self.program,
            self.ephemeral,
            self.hugepages,
            self.work_hugepages,
        ];
        let bits = flags.iter().enumerate();
        bits.map(|(bit, set)| u64::from(*set) << bit).sum()
    }

    fn from_flags(flags: u64) -> Start {
        let set = |bit: u32| flags & 1 << bit != 0;
        Start {
            machine: set(0),
            program: set(1),
            ephemeral: set(2),
            hugepages: set(3),
            work_hugepages: set(4),
            max_memory_bytes: 0,
            max_work_memory_bytes: 0,
            children: 0,
            words: 0,
        }
    }
}

impl Report {
    /// Its packet; a text is cut to fit.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
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
            Report::Broken(text) => tagged(BROKEN, text.as_bytes()),
            Report::Tables(text) => tagged(TABLES, text.as_bytes()),
            Report::Rested(rested) => words(&[
                RESTED,
                rested.cpu_us,
                rested.wipe_us,
                rested.dirty_bytes,
                rested.refused_calls,
                u64::from(rested.leaked),
            ]),
        }
    }

    /// The report of a packet, if that is one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Report> {
        if let Some(text) = text(BROKEN, bytes) {
            return Some(Report::Broken(String::from_utf8_lossy(text).into_owned()));
        }
        if let Some(text) = text(TABLES, bytes) {
            return Some(Report::Tables(String::from_utf8_lossy(text).into_owned()));
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
            [RESTED, cpu_us, wipe_us, dirty_bytes, refused_calls, leaked] => {
                Some(Report::Rested(Rested {
                    cpu_us,
                    wipe_us,
                    dirty_bytes,
                    refused_calls,
                    leaked: leaked != 0,
                }))
            }
            _ => None,
        }
    }
}

/// What a worker that cannot come up says, as a report or in plain words.
#[must_use]
pub fn broken_words(bytes: &[u8]) -> String {
    match Report::from_bytes(bytes) {
        Some(Report::Broken(text)) => text,
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// A text behind its tag, cut to fit a packet.
fn tagged(tag: u64, text: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[tag]);
    bytes.extend(text.iter().take(TEXT_BYTES_MAX));
    bytes
}

/// The text of a packet that begins with `tag`.
fn text(tag: u64, bytes: &[u8]) -> Option<&[u8]> {
    let (begin, text) = bytes.split_first_chunk()?;
    (u64::from_le_bytes(*begin) == tag).then_some(text)
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
