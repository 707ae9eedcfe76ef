//! Finished profile: the input of all formats.

use std::time::{Duration, SystemTime};

/// CPU profile of a server and its workers.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Time at which the samples began.
    pub begin: SystemTime,
    /// Time for which samples were taken.
    pub duration: Duration,
    /// Samples per second and CPU.
    pub frequency_hz: u64,
    /// Executable files, and parts of memory that no file backs.
    pub images: Vec<Image>,
    /// Index of the image that is the server's program, if it is known.
    pub program: Option<usize>,
    /// Places in these images.
    pub places: Vec<Location>,
    /// Distinct stacks with their counts.
    pub stacks: Vec<Stack>,
    /// Samples that the kernel dropped because they were not read in time.
    pub lost: u64,
    /// Processes that the kernel refused to sample.
    pub refused: usize,
    /// True if time in the kernel is sampled too.
    pub has_kernel: bool,
    /// Reasons why some functions have no names, such as a file that cannot be parsed.
    pub issues: Vec<String>,
}

/// Executable file of the sampled processes, or code that no file contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Name, such as `pelton` or `worker`. In brackets if no file contains the code, such as
    /// `[kernel]`.
    pub name: String,
    /// Build id of the linker in hexadecimal digits; empty if the file has none.
    pub build_id: String,
    /// True if the names of its functions are known.
    pub has_names: bool,
}

/// Place in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Index of the image.
    pub image: usize,
    /// Address in the numbering of the image.
    pub address: u64,
    /// Name of the function. If it is unknown, the name of the image in brackets.
    pub function: String,
}

/// Distinct stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Kind of process that the stack is of.
    pub group: Group,
    /// Indexes of places, the innermost frame first. A sample whose frames could not be kept has
    /// none.
    pub frames: Vec<usize>,
    /// Number of samples.
    pub count: u64,
}

/// Kind of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// The server itself, which speaks HTTP.
    Server,
    /// Processes that the server started: zygotes, workers, helpers of microVMs and programs.
    Workers,
}

impl Group {
    /// Returns the name that profiles show as the outermost frame.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Group::Server => "server",
            Group::Workers => "workers",
        }
    }
}

impl Profile {
    /// Returns the number of samples.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|stack| stack.count).sum()
    }

    /// Returns the names of a stack's functions, the outermost first, below the name of its group.
    pub(crate) fn names<'a>(&'a self, stack: &'a Stack) -> impl Iterator<Item = &'a str> {
        let frames = stack.frames.iter().rev();
        let kept = frames.map(|index| self.places[*index].function.as_str());
        let missing = stack.frames.is_empty().then_some("[not kept]");
        std::iter::once(stack.group.name())
            .chain(missing)
            .chain(kept)
    }
}
