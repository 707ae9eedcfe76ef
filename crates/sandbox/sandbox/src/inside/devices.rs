//! Descriptors that the server passes to a zygote before the zygote loses access to files. They
//! refer to `/dev/kvm`, to the executable that launchers or microVMs run, and to the files that the
//! operator's program may read.

use super::command::command;
use super::helper::Host;
use super::jail::{Control, Refusal};
use super::last_message::{EXIT_ABANDONED, exit};
use crate::memfd::dup_above;
use microvm::Kvm;
use microvm::{AllowedFile, Guest, JobProtocol, Plan, StartArguments};
use rustix::net::RecvFlags;
use sandbox_protocol::control::{Command, ProgramText, Start};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, FromRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;

/// Maximum address space of a process that boots or hosts a guest, in addition to the guest's
/// memory: for the process's own code, the program's file, and the guest's page tables.
pub(super) const HOST_BYTES: u64 = 1 << 30;

pub(super) struct Devices {
    /// Descriptor of `/dev/kvm`, if children host microVMs. `program` is then set too.
    pub(super) device: Option<OwnedFd>,
    /// Descriptor of the executable that launchers or microVMs run: the operator's program or, only
    /// in microVMs, the worker.
    pub(super) program: Option<OwnedFd>,
    pub(super) words: StartArguments,
    pub(super) allowed: Vec<AllowedFile>,
}

impl Devices {
    /// Builds the devices from the descriptors of the command `Start`, and receives the strings
    /// that follow it.
    pub(super) fn receive(control: Control, start: &Start, descriptors: Vec<OwnedFd>) -> Devices {
        // All descriptors are moved to high numbers, since a child uses the low ones for other
        // files.
        let mut descriptors = descriptors
            .into_iter()
            .filter_map(|low| dup_above(low.as_fd()).ok());
        let program = (start.program || start.machine).then(|| descriptors.next());
        let device = start.machine.then(|| descriptors.next());
        let (Some(program), Some(device)) = (all(program), all(device)) else {
            exit(EXIT_ABANDONED);
        };
        let (mut words, mut allowed) = (StartArguments::default(), Vec::new());
        for _ in 0..start.words {
            let Ok(Some((Command::ProgramText(kind, word), files))) =
                command(control, RecvFlags::empty())
            else {
                exit(EXIT_ABANDONED);
            };
            match (kind, files.into_iter().next()) {
                (ProgramText::Argument, None) => words.arguments.push(word),
                (ProgramText::Variable, None) => words.environment.push(word),
                (ProgramText::Path, Some(file)) => match dup_above(file.as_fd()) {
                    Ok(file) => allowed.push(AllowedFile { name: word, file }),
                    Err(_) => exit(EXIT_ABANDONED),
                },
                _ => exit(EXIT_ABANDONED),
            }
        }
        Devices {
            device,
            program,
            words,
            allowed,
        }
    }

    pub(super) fn boot(self, start: &Start) -> Result<Host, Refusal> {
        let mut elf = Vec::new();
        let (Some(program), Some(device)) = (self.program, self.device) else {
            exit(EXIT_ABANDONED);
        };
        let mut program = File::from(program);
        let read = program
            .rewind()
            .and_then(|()| program.read_to_end(&mut elf));
        read.map_err(|error| format!("cannot read the program: {error}"))?;
        let protocol = match (start.program, start.ephemeral) {
            (true, true) => JobProtocol::Streams,
            (true, false) => JobProtocol::Records,
            (false, _) => JobProtocol::Jobs,
        };
        let plan = Plan {
            elf: &elf,
            protocol,
            words: self.words,
            allowed: Rc::from(self.allowed),
            boot_bytes_max: start.max_memory_bytes,
            work_bytes_max: start.max_work_memory_bytes,
            hugepages: start.hugepages,
            work_hugepages: start.work_hugepages,
        };
        // SAFETY: `device` is the open `/dev/kvm` that the pool sent, and `into_raw_fd` gives up
        // its ownership, so `Kvm` is the only owner.
        let kvm = unsafe { Kvm::from_raw_fd(device.into_raw_fd()) };
        let guest = Guest::boot(&kvm, plan)?;
        Ok(Host {
            kvm,
            guest,
            ephemeral: start.ephemeral,
        })
    }
}

/// Returns `None` if an expected descriptor is missing, and `Some(None)` if no descriptor was
/// expected. In the argument, the outer option is `Some` if a descriptor was expected, and the
/// inner option is `Some` if that descriptor arrived.
fn all(descriptor: Option<Option<OwnedFd>>) -> Option<Option<OwnedFd>> {
    match descriptor {
        Some(None) => None,
        Some(there) => Some(there),
        None => Some(None),
    }
}
