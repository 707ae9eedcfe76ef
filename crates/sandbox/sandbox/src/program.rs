//! A program that the operator provides, and the files and strings with which a cell starts it.

use crate::contract::{MARK, MARK_GUEST};
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::memfd::{dup_above, program as sealed};
use crate::zygote::{StartText, ZygoteSource};
use microvm::Image;
use rustix::fs::{Mode, OFlags, open};
use sandbox_protocol::control::{ProgramText, TEXT_BYTES_MAX};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

/// Maximum total number of a program's arguments, variables and paths.
const WORDS_MAX: usize = 64;

/// A static program for Linux. An ephemeral program receives a job as its environment and its
/// standard input, and writes the output to its standard output. A persistent program receives and
/// writes records on these streams.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name for messages, and the first argument of the program.
    pub name: String,
    /// Content of the ELF file.
    pub elf: Vec<u8>,
    /// Command-line arguments of the program after its name.
    pub arguments: Vec<String>,
    /// Environment variables as `NAME=value`, the same for every job.
    pub environment: Vec<String>,
    /// Paths of the files that the program may open for reading. The paths are the same in the cell
    /// and on the server.
    pub allowed_paths: Vec<PathBuf>,
}

/// Environment variable that tells a persistent program that its requests arrive as records.
const RECORDS_VARIABLE: &str = "PELTON_REQUESTS=records";

/// Builds the files and strings that each zygote of a pool receives at its start.
pub(crate) fn zygote_source(
    worker: &[u8],
    program: Option<&Program>,
    machine: bool,
    limits: &Limits,
) -> Result<ZygoteSource, Error> {
    let copy =
        |bytes: &[u8]| sealed(bytes).map_err(|errno| Error::host("cannot copy the worker", errno));
    let device = machine.then(device).transpose()?;
    let Some(program) = program else {
        let name = (ProgramText::Argument, b"pelton-worker".to_vec(), None);
        let mark = (
            ProgramText::Variable,
            format!("{MARK}={MARK_GUEST}").into_bytes(),
            None,
        );
        return Ok(ZygoteSource {
            worker: copy(worker)?,
            program: None,
            device,
            words: if machine {
                vec![name, mark]
            } else {
                Vec::new()
            },
        });
    };
    let memory = program.image()?.memory();
    let bytes = memory.end - memory.start;
    if limits.max_memory_bytes < bytes {
        let why =
            format!("the code and data of the program take {bytes} bytes, more than max_memory");
        return Err(program.unfit(&why));
    }
    let mut words = program.words()?;
    if !limits.ephemeral {
        words.push((ProgramText::Variable, RECORDS_VARIABLE.into(), None));
    }
    Ok(ZygoteSource {
        worker: copy(worker)?,
        program: Some(copy(&program.elf)?),
        device,
        words,
    })
}

/// Opens `/dev/kvm` for the helpers, the processes that run microVMs. They run as another user, who
/// may not open this device.
fn device() -> Result<OwnedFd, Error> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device =
        open("/dev/kvm", flags, Mode::empty()).and_then(|device| dup_above(device.as_fd()));
    device.map_err(|errno| Error::host("cannot open /dev/kvm", errno))
}

impl Program {
    /// Checks the ELF headers: a file that passes is expected to run in a cell.
    ///
    /// # Errors
    /// The reason why the file cannot run; the program is at fault.
    pub fn check(&self) -> Result<(), Error> {
        self.image().map(drop)
    }

    fn image(&self) -> Result<Image, Error> {
        Image::parse(&self.elf).map_err(|unfit| self.unfit(&unfit.to_string()))
    }

    fn unfit(&self, why: &str) -> Error {
        Error::new(ErrorKind::Worker, format!("{}: {why}", self.name))
    }

    fn words(&self) -> Result<Vec<StartText>, Error> {
        let mut words = vec![(ProgramText::Argument, self.name.clone().into_bytes(), None)];
        let text = |kind| move |text: &String| (kind, text.clone().into_bytes(), None);
        words.extend(self.arguments.iter().map(text(ProgramText::Argument)));
        words.extend(self.environment.iter().map(text(ProgramText::Variable)));
        for path in &self.allowed_paths {
            let file =
                open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|errno| {
                    Error::host(
                        format!("cannot open {} for {}", path.display(), self.name),
                        errno,
                    )
                })?;
            let name = path.as_os_str().as_encoded_bytes().to_vec();
            words.push((ProgramText::Path, name, Some(file)));
        }
        let fits = |(_, text, _): &StartText| text.len() <= TEXT_BYTES_MAX && !text.contains(&0);
        if WORDS_MAX < words.len() || !words.iter().all(fits) {
            let why = format!(
                "there are more than {WORDS_MAX} arguments, variables and paths, or one of them is longer than {TEXT_BYTES_MAX} bytes"
            );
            return Err(self.unfit(&why));
        }
        Ok(words)
    }
}
