//! Address spaces of the sampled processes, and the executable files mapped into them.
//!
//! A process that forks without executing a file, as a zygote does, leaves its address space to its
//! child. So the mappings of a child that has already ended are known from its parent.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use framehop::{
    CacheNative, MayAllocateDuringUnwind, Module, UnwindRegsNative, Unwinder as _, UnwinderNative,
};
use host::{CpuSample, Registers};
use object::read::ReadCache;
use rustix::io::Errno;

use crate::elf::{self, Outline};
use crate::profile::{Image, Location};
use crate::stacks::{DEPTH_MAX, Place};

/// Maximum number of mappings of a process that are kept.
const MAPPINGS_MAX: usize = 1_024;
/// Maximum size of the list of a process's mappings. The kernel's default limit of 65,530 mappings
/// gives at most about 10 MiB.
const MAPS_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of issues that a profile reports.
const ISSUES_MAX: usize = 16;
/// Images that exist from the start.
const KERNEL: u32 = 0;
const UNKNOWN: u32 = 1;

/// Executable file that the caller has in memory, such as the worker, which is a memory file.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Name that the profile shows.
    pub name: &'static str,
    /// Beginning of the path in `/proc/PID/maps`.
    pub path: &'static str,
    /// The file as it is executed.
    pub elf: &'static [u8],
    /// ELF file with the names of its functions, compressed by zlib. May be empty.
    pub symbols: &'static [u8],
}

/// Address spaces by process.
pub(crate) struct Spaces<'a> {
    proc: PathBuf,
    known: &'a [Known],
    /// Process id of the server.
    server: u32,
    images: Vec<Loaded>,
    /// Image of the server's program, once it is known.
    program: Option<u32>,
    /// Images by path, device and inode.
    by_file: HashMap<(String, String, u64), u32>,
    spaces: HashMap<u32, Rc<Space>>,
    issues: Vec<String>,
    cache: CacheNative<MayAllocateDuringUnwind>,
}

/// Address space.
pub(crate) struct Space {
    mappings: Vec<Mapping>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
}

/// Executable part of an address space.
struct Mapping {
    range: Range<u64>,
    image: u32,
    /// Difference between addresses in memory and in the file.
    bias: u64,
}

/// Image whose names can be looked up.
struct Loaded {
    name: String,
    outline: Option<Outline>,
    names: Names,
}

/// File with the names of functions.
enum Names {
    None,
    File(ReadCache<File>),
    /// Symbols compressed by zlib.
    Compressed(&'static [u8]),
}

impl<'a> Spaces<'a> {
    /// Creates a table that contains no address space yet.
    pub(crate) fn new(proc: &Path, known: &'a [Known], server: u32) -> Spaces<'a> {
        let nameless = |name: &str| Loaded {
            name: name.to_owned(),
            outline: None,
            names: Names::None,
        };
        Spaces {
            proc: proc.to_owned(),
            known,
            server,
            images: vec![nameless("[kernel]"), nameless("[unknown]")],
            program: None,
            by_file: HashMap::new(),
            spaces: HashMap::new(),
            issues: Vec::new(),
            cache: CacheNative::new(),
        }
    }

    /// Reads the mappings of a process, unless they are known.
    pub(crate) fn load(&mut self, process: u32) -> Rc<Space> {
        if let Some(space) = self.spaces.get(&process) {
            return Rc::clone(space);
        }
        let path = self.proc.join(process.to_string()).join("maps");
        let maps = match read_maps(&path) {
            Ok(maps) => maps,
            // A process that has ended has unknown mappings.
            Err(err) if is_ended(&err) => String::new(),
            Err(err) => {
                self.report(format!("{}: {err}", path.display()));
                String::new()
            }
        };
        let mut space = Space {
            mappings: Vec::new(),
            unwinder: UnwinderNative::new(),
        };
        let lines: Vec<Line> = maps.lines().filter_map(Line::parse).collect();
        let executable = self.proc.join(process.to_string()).join("exe");
        let executable = fs::metadata(executable).map(|it| it.ino()).ok();
        let mut files: Vec<(&str, u64)> = Vec::new();
        for line in &lines {
            let is_program = line.is_executable
                || executable == Some(line.inode)
                || self.known.iter().any(|it| line.path.starts_with(it.path));
            let file = (line.device.as_str(), line.inode);
            if MAPPINGS_MAX <= space.mappings.len() || !is_program || files.contains(&file) {
                continue;
            }
            let image = self.image(process, line);
            if process == self.server && executable == Some(line.inode) {
                self.program = Some(image);
            }
            match &self.images[image as usize].outline {
                Some(outline) => {
                    if space.add(image, outline, line) {
                        files.push(file);
                    }
                }
                None => space.mappings.push(Mapping {
                    range: line.range.clone(),
                    image,
                    bias: 0,
                }),
            }
        }
        let space = Rc::new(space);
        self.spaces.insert(process, Rc::clone(&space));
        space
    }

    /// Notes that `child` has the address space of `parent`.
    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        let space = self.load(parent);
        self.spaces.insert(child, space);
    }

    /// Notes that the mappings of a process have changed, or that it has ended.
    pub(crate) fn forget(&mut self, process: u32) {
        self.spaces.remove(&process);
    }

    /// Returns the places of a sample's stack, the innermost first.
    pub(crate) fn unwind(&mut self, sample: &CpuSample) -> Vec<Place> {
        let mut places = Vec::new();
        if sample.is_kernel {
            places.push(Place {
                image: KERNEL,
                address: 0,
            });
        }
        let Some(registers) = sample.registers else {
            return places;
        };
        let space = self.load(sample.process);
        let mut read = |address: u64| {
            let offset = address.checked_sub(registers.sp).ok_or(())?;
            let begin = usize::try_from(offset).map_err(|_| ())?;
            let end = begin.checked_add(8).ok_or(())?;
            let word = sample.stack.get(begin..end).ok_or(())?;
            Ok(u64::from_ne_bytes(word.try_into().map_err(|_| ())?))
        };
        let mut frames =
            space
                .unwinder
                .iter_frames(registers.ip, native(registers), &mut self.cache, &mut read);
        // An error is the normal end of a stack whose outermost functions have no table.
        while places.len() < DEPTH_MAX
            && let Ok(Some(frame)) = frames.next()
        {
            places.push(space.place(frame.address_for_lookup()));
        }
        places
    }

    /// Returns the image of a mapping.
    fn image(&mut self, process: u32, line: &Line) -> u32 {
        let key = (line.path.clone(), line.device.clone(), line.inode);
        if let Some(image) = self.by_file.get(&key) {
            return *image;
        }
        let loaded = match line.inode {
            // No file, such as `[vdso]`.
            0 => Loaded {
                name: line.short_name().to_owned(),
                outline: None,
                names: Names::None,
            },
            _ => self.open(process, line),
        };
        let image = u32::try_from(self.images.len()).expect("each process has few images");
        self.images.push(loaded);
        self.by_file.insert(key, image);
        image
    }

    /// Opens the file of a mapping: the executable of the process, a file that the caller has, or
    /// the file at the path.
    fn open(&self, process: u32, line: &Line) -> Loaded {
        let known = self.known.iter().find(|it| line.path.starts_with(it.path));
        let executable = self.proc.join(process.to_string()).join("exe");
        let executable = File::open(executable).ok().filter(|file| {
            let metadata = file.metadata();
            metadata.is_ok_and(|metadata| metadata.ino() == line.inode)
        });
        let file = match (executable, known) {
            (Some(file), _) => Some(file),
            (None, Some(_)) => None,
            // The path is that of the process, in whose root directory another file may have it.
            // A path of a pipe must not be opened, because that would wait for a writer.
            (None, None) => {
                let is_same =
                    |metadata: fs::Metadata| metadata.is_file() && metadata.ino() == line.inode;
                let is_file = fs::metadata(&line.path).is_ok_and(is_same);
                let file = File::open(&line.path).ok().filter(|_| is_file);
                file.filter(|file| file.metadata().is_ok_and(is_same))
            }
        };
        let name = known
            .map_or(line.short_name(), |known| known.name)
            .to_owned();
        if let Some(file) = file {
            let data = ReadCache::new(file);
            return match Outline::read(&data) {
                Ok(outline) => {
                    let names = names(&outline, data, known);
                    Loaded {
                        name,
                        outline: Some(outline),
                        names,
                    }
                }
                Err(_) => Loaded {
                    name,
                    outline: None,
                    names: Names::None,
                },
            };
        }
        let outline = known.and_then(|known| Outline::read(known.elf).ok());
        Loaded {
            name,
            names: match (&outline, known) {
                (Some(_), Some(known)) => Names::Compressed(known.symbols),
                _ => Names::None,
            },
            outline,
        }
    }

    /// Returns the index of the image that is the server's program, if it is known.
    pub(crate) fn program(&self) -> Option<usize> {
        self.program.map(|image| image as usize)
    }

    /// Notes that some functions cannot be named, and why. Further issues than [`ISSUES_MAX`] are
    /// dropped.
    fn report(&mut self, issue: String) {
        if self.issues.len() < ISSUES_MAX && !self.issues.contains(&issue) {
            self.issues.push(issue);
        }
    }

    /// Takes the reasons why some functions cannot be named.
    pub(crate) fn take_issues(&mut self) -> Vec<String> {
        std::mem::take(&mut self.issues)
    }

    /// Returns the images and the named places. A file that cannot be parsed has no names.
    pub(crate) fn name(&mut self, places: &[Place]) -> (Vec<Image>, Vec<Location>) {
        let mut functions: Vec<Option<String>> = vec![None; places.len()];
        let mut images = Vec::with_capacity(self.images.len());
        let mut issues = Vec::new();
        for (number, image) in (0..).zip(&self.images) {
            let of_image = places.iter().enumerate();
            let (indexes, addresses): (Vec<usize>, Vec<u64>) = of_image
                .filter(|(_, place)| place.image == number)
                .map(|(index, place)| (index, place.address))
                .unzip();
            let names = match addresses.is_empty() {
                true => Vec::new(),
                false => image.names.find(&addresses).unwrap_or_else(|err| {
                    issues.push(format!("{}: {err}", image.name));
                    Vec::new()
                }),
            };
            images.push(Image {
                name: image.name.clone(),
                build_id: image
                    .outline
                    .as_ref()
                    .map_or_else(String::new, |outline| hex::encode(&outline.build_id)),
                has_names: !names.is_empty(),
            });
            for (index, name) in indexes.into_iter().zip(names) {
                functions[index] = name;
            }
        }
        let located = places.iter().zip(functions).map(|(place, function)| {
            let image = place.image as usize;
            Location {
                image,
                address: place.address,
                function: function.unwrap_or_else(|| in_brackets(&images[image].name)),
            }
        });
        let located = located.collect();
        issues.into_iter().for_each(|issue| self.report(issue));
        (images, located)
    }
}

/// Reads the list of a process's mappings.
fn read_maps(path: &Path) -> io::Result<String> {
    let mut maps = String::new();
    let bytes = File::open(path)?
        .take(MAPS_BYTES_MAX)
        .read_to_string(&mut maps)?;
    match (bytes as u64) < MAPS_BYTES_MAX {
        true => Ok(maps),
        false => Err(io::Error::other(format!(
            "the list of mappings is {MAPS_BYTES_MAX} bytes long or longer"
        ))),
    }
}

/// Returns whether a file of a process cannot be read because the process has ended.
fn is_ended(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::SRCH))
}

/// Returns the name of an image in brackets, for code of the image whose function is unknown.
fn in_brackets(name: &str) -> String {
    match name.starts_with('[') {
        true => name.to_owned(),
        false => format!("[{name}]"),
    }
}

/// Chooses the file with the names of an image's functions: the image itself, or the symbols that
/// the caller has of the same build.
fn names(outline: &Outline, data: ReadCache<File>, known: Option<&Known>) -> Names {
    if outline.has_symbols {
        return Names::File(data);
    }
    match known {
        Some(known)
            if !known.symbols.is_empty()
                && Outline::read(known.elf).is_ok_and(|it| it.build_id == outline.build_id) =>
        {
            Names::Compressed(known.symbols)
        }
        _ => Names::None,
    }
}

impl Names {
    /// Returns the name of the function at each address. The list is empty if no names are known.
    fn find(&self, addresses: &[u64]) -> io::Result<Vec<Option<String>>> {
        match self {
            Names::None | Names::Compressed([]) => Ok(Vec::new()),
            Names::File(data) => elf::names(data, addresses).map_err(io::Error::other),
            Names::Compressed(bytes) => {
                let mut symbols = Vec::new();
                let mut reader = flate2::read::ZlibDecoder::new(*bytes);
                io::copy(&mut reader, &mut symbols)?;
                elf::names(symbols.as_slice(), addresses).map_err(io::Error::other)
            }
        }
    }
}

impl Space {
    /// Adds an ELF file that `line` maps a part of. All its segments are added: a worker copies its
    /// code into anonymous memory with large pages, at the addresses where the code was.
    /// Returns whether the file has the part that `line` maps.
    fn add(&mut self, image: u32, outline: &Outline, line: &Line) -> bool {
        let Some(bias) = outline.bias(line.range.start, line.offset) else {
            return false;
        };
        let ranges = outline.segments.iter().map(|segment| {
            let begin = segment.address.wrapping_add(bias);
            begin..begin.saturating_add(segment.bytes)
        });
        // A mapping of the file itself comes before the anonymous memory in its place.
        self.mappings.splice(
            ..0,
            ranges.clone().map(|range| Mapping { range, image, bias }),
        );
        let begin = ranges.clone().map(|range| range.start).min();
        let end = ranges.map(|range| range.end).max();
        if let (Some(begin), Some(end)) = (begin, end) {
            let (name, sections) = (line.path.clone(), outline.sections.clone());
            let module = Module::new(name, begin..end, bias, sections);
            self.unwinder.add_module(module);
        }
        true
    }

    fn place(&self, address: u64) -> Place {
        let mapping = self.mappings.iter().find(|it| it.range.contains(&address));
        match mapping {
            Some(mapping) => Place {
                image: mapping.image,
                address: address.wrapping_sub(mapping.bias),
            },
            // The addresses of unknown code would only split equal stacks.
            None => Place {
                image: UNKNOWN,
                address: 0,
            },
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.ip, registers.sp, registers.fp)
}

#[cfg(target_arch = "aarch64")]
fn native(registers: Registers) -> UnwindRegsNative {
    UnwindRegsNative::new(registers.lr, registers.sp, registers.fp)
}

/// Line of `/proc/PID/maps`.
#[derive(Clone)]
struct Line {
    is_executable: bool,
    range: Range<u64>,
    offset: u64,
    device: String,
    inode: u64,
    path: String,
}

impl Line {
    /// Parses a line.
    fn parse(line: &str) -> Option<Line> {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = after.trim_start_matches(' ');
            word
        };
        let (start, end) = word().split_once('-')?;
        let permissions = word();
        let offset = u64::from_str_radix(word(), 16).ok()?;
        let device = word().to_owned();
        let inode = word().parse().ok()?;
        let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        Some(Line {
            is_executable: permissions.as_bytes().get(2) == Some(&b'x'),
            range,
            offset,
            device,
            inode,
            path: rest.to_owned(),
        })
    }

    /// Returns the last part of the path. Without a file, the name is in brackets, such as
    /// `[vdso]`.
    fn short_name(&self) -> &str {
        let path = self.path.trim_end_matches(" (deleted)");
        match path.rsplit('/').next().unwrap_or(path) {
            "" => "[anonymous]",
            name => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{ISSUES_MAX, Line, Spaces};

    #[test]
    fn mappings_that_cannot_be_read_are_an_issue() {
        // `maps` of process 1 is a folder, and process 2 has ended.
        let proc = std::env::temp_dir().join(format!("profile-spaces-{}", std::process::id()));
        fs::create_dir_all(proc.join("1/maps")).expect("the folder is created");
        let mut spaces = Spaces::new(&proc, &[], 1);
        spaces.load(1);
        spaces.load(2);
        fs::remove_dir_all(&proc).expect("the folder is removed");
        let issue = format!(
            "{}: Is a directory (os error 21)",
            proc.join("1/maps").display()
        );
        assert_eq!(spaces.take_issues(), [issue]);
        assert_eq!(spaces.take_issues(), [""; 0]);
    }

    #[test]
    fn issues_are_reported_once_and_up_to_a_limit() {
        let mut spaces = Spaces::new(Path::new("/absent"), &[], 1);
        for number in (0..40).chain(0..40) {
            spaces.report(number.to_string());
        }
        assert_eq!(spaces.take_issues().len(), ISSUES_MAX);
    }

    #[test]
    fn mappings() {
        let parse = |line| {
            let line = Line::parse(line)?;
            let name = line.short_name().to_owned();
            let range = line.is_executable.then_some(line.range);
            Some((range, line.offset, line.inode, line.path, name))
        };
        assert_eq!(
            parse("7f00-7f80 r-xp 0029e000 00:01 1058                /memfd:worker (deleted)"),
            Some((
                Some(0x7f00..0x7f80),
                0x29_e000,
                1_058,
                "/memfd:worker (deleted)".to_owned(),
                "memfd:worker".to_owned()
            ))
        );
        assert_eq!(
            parse("7f00-7f80 r-xp 00000000 00:00 0                   [vdso]"),
            Some((
                Some(0x7f00..0x7f80),
                0,
                0,
                "[vdso]".to_owned(),
                "[vdso]".to_owned()
            ))
        );
        assert_eq!(
            parse("7f00-7f80 r-xp 00000000 00:00 0 "),
            Some((
                Some(0x7f00..0x7f80),
                0,
                0,
                String::new(),
                "[anonymous]".to_owned()
            ))
        );
        assert_eq!(
            parse("7f00-7f80 rw-p 00000000 00:00 0 [heap]"),
            Some((None, 0, 0, "[heap]".to_owned(), "[heap]".to_owned()))
        );
        assert_eq!(parse("7f00 r-xp"), None);
        assert_eq!(parse(""), None);
    }
}
