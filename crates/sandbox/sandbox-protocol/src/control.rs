//! Messages between a pool and its zygote, on a socket to which no child of the zygote has access.
//! Both ends are programs of the same build. Even so, a packet that cannot be parsed causes an
//! error, not a panic. Some packets are accompanied by file descriptors.

/// Maximum size of a packet in bytes. The largest packet is a report with a text of
/// [`TEXT_BYTES_MAX`] bytes.
pub const CONTROL_BYTES_MAX: usize = 8 + TEXT_BYTES_MAX;
/// Maximum length in bytes of a text. A text is the reason why a zygote cannot start, or an
/// argument, variable or path of a program.
pub const TEXT_BYTES_MAX: usize = 1_000;

/// Id of one child of a zygote, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlotId(
    /// Serial number of the child in its pool.
    pub u64,
);

/// Isolation mechanisms that are in force for a zygote, as the zygote itself has checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jail {
    /// Hash of the zygote's seccomp filter.
    pub filter_hash: u64,
    /// Number of instructions of the seccomp filter.
    pub filter_len: u32,
    /// ABI version of Landlock; 0 if the kernel has no Landlock.
    pub landlock_abi: u32,
    /// True if neither the zygote nor its descendants can gain privileges by exec.
    pub no_new_privs: bool,
    /// True if the zygote still holds a capability.
    pub capabilities: bool,
}

/// Exit status and resource usage of an ended child, from `wait4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitReport {
    /// Wait status of the child, as `wait4` returns it.
    pub status: i32,
    /// CPU time of the child during its whole life, in microseconds. It includes the CPU time of
    /// the child's own children, if the child waited for their end.
    pub cpu_us: u64,
    /// Maximum resident memory of the child.
    pub memory_peak_bytes: u64,
}

/// Configuration of a zygote: the kind and the limits of its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// True if each child hosts a microVM. `/dev/kvm` accompanies this packet.
    pub machine: bool,
    /// True if jobs run a separate program instead of the worker. The program's file accompanies
    /// this packet.
    pub program: bool,
    /// True if no state of a job is visible to the next job.
    pub ephemeral: bool,
    /// True if huge pages are used for the memory that is allocated before the first job.
    pub hugepages: bool,
    /// True if huge pages are used for the memory that a job allocates.
    pub work_hugepages: bool,
    /// Maximum memory that may be allocated before the first job, in bytes.
    pub max_memory_bytes: u64,
    /// Maximum memory that a job may allocate, in bytes, in addition to `max_memory_bytes`.
    pub max_work_memory_bytes: u64,
    /// Maximum number of children at a time.
    pub children: u64,
    /// Number of [`Command::ProgramText`] packets that follow this one.
    pub words: u64,
}

/// Report that a child is ready for its next job, sent by children that run several jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildReady {
    /// CPU time that the child consumed since its previous report, in microseconds.
    pub cpu_us: u64,
    /// Duration in microseconds of the wipe (the restoring of memory) after the previous job.
    pub wipe_us: u64,
    /// Bytes of memory that the wipe after the previous job freed.
    pub dirty_bytes: u64,
    /// Number of system calls of the previous job that were refused because the microVM does not
    /// implement them.
    pub refused_calls: u64,
    /// True if the wipe after the previous job failed: a test value was written to memory before
    /// the wipe, and was still there after the wipe.
    pub leaked: bool,
}

/// Purpose of a text that is passed to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramText {
    /// Next argument of the command line.
    Argument,
    /// Next variable of the environment.
    Variable,
    /// Name under which the program may open the file that accompanies this packet.
    Path,
}

/// Message from the pool to the zygote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Configuration of the zygote, sent as the first packet. Descriptors accompany this packet if
    /// the zygote needs them: first the file of the program, then `/dev/kvm`.
    Start(Start),
    /// Text of at most [`TEXT_BYTES_MAX`] bytes for the program.
    ProgramText(ProgramText, Vec<u8>),
    /// Order to fork a child as soon as fewer than [`Start::children`] children exist. The child
    /// serves the socket that accompanies this packet.
    Fork(SlotId),
}

/// Message from the zygote to the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// The zygote is jailed, warmed up, and ready for [`Command::Fork`].
    Ready(Jail),
    /// A child was forked; its pidfd accompanies this packet.
    Forked(SlotId),
    /// The zygote could not fork the child for this slot. The number is the `errno` of `fork`.
    Refused(SlotId, i32),
    /// The child ended.
    Reaped(SlotId, ExitReport),
    /// The sender cannot start; the text is the reason. The sender is a child if the report arrives
    /// on the socket of a child, otherwise the zygote.
    Broken(String),
    /// A child is ready for its next job. The child sends this report on its own socket.
    ChildReady(ChildReady),
    /// Part of a guest's page tables, as text for the operator. This report is sent before
    /// [`Report::Ready`].
    Tables(String),
}

const START: u64 = 1;
const FORK: u64 = 2;
const READY: u64 = 3;
const FORKED: u64 = 4;
const REFUSED: u64 = 5;
const REAPED: u64 = 6;
const BROKEN: u64 = 7;
const CHILD_READY: u64 = 8;
const ARGUMENT: u64 = 9;
const VARIABLE: u64 = 10;
const PATH: u64 = 11;
const TABLES: u64 = 12;

impl Command {
    /// Encodes the command as a packet.
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
            Command::ProgramText(ProgramText::Argument, text) => tagged(ARGUMENT, text),
            Command::ProgramText(ProgramText::Variable, text) => tagged(VARIABLE, text),
            Command::ProgramText(ProgramText::Path, text) => tagged(PATH, text),
            Command::Fork(SlotId(slot)) => words(&[FORK, *slot]),
        }
    }

    /// Decodes a packet, if it is a command.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Command> {
        let words = [
            (ARGUMENT, ProgramText::Argument),
            (VARIABLE, ProgramText::Variable),
            (PATH, ProgramText::Path),
        ];
        for (tag, word) in words {
            if let Some(text) = text(tag, bytes) {
                return Some(Command::ProgramText(word, text.to_vec()));
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
    /// Encodes the report as a packet. Its text, if any, is cut at [`TEXT_BYTES_MAX`].
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
            Report::Reaped(SlotId(slot), exit_report) => words(&[
                REAPED,
                *slot,
                exit_report.status as u64,
                exit_report.cpu_us,
                exit_report.memory_peak_bytes,
            ]),
            Report::Broken(text) => tagged(BROKEN, text.as_bytes()),
            Report::Tables(text) => tagged(TABLES, text.as_bytes()),
            Report::ChildReady(child_ready) => words(&[
                CHILD_READY,
                child_ready.cpu_us,
                child_ready.wipe_us,
                child_ready.dirty_bytes,
                child_ready.refused_calls,
                u64::from(child_ready.leaked),
            ]),
        }
    }

    /// Decodes a packet, if it is a report.
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
                ExitReport {
                    status: status as i32,
                    cpu_us,
                    memory_peak_bytes,
                },
            )),
            [
                CHILD_READY,
                cpu_us,
                wipe_us,
                dirty_bytes,
                refused_calls,
                leaked,
            ] => Some(Report::ChildReady(ChildReady {
                cpu_us,
                wipe_us,
                dirty_bytes,
                refused_calls,
                leaked: leaked != 0,
            })),
            _ => None,
        }
    }
}

/// Returns the reason why a worker cannot start, from the bytes of a report or of plain text.
#[must_use]
pub fn broken_reason(bytes: &[u8]) -> String {
    match Report::from_bytes(bytes) {
        Some(Report::Broken(text)) => text,
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Returns a packet that consists of `tag` and of `text`, cut at [`TEXT_BYTES_MAX`].
fn tagged(tag: u64, text: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[tag]);
    bytes.extend(text.iter().take(TEXT_BYTES_MAX));
    bytes
}

/// Returns the text of a packet, if the packet starts with `tag`.
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
