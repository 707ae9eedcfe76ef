//! Loads snapshots and the AOF before the server accepts clients.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bytes::{Bytes, BytesMut};
use keyspace::{Keyspace, Outcome, Session, rdb};
use resp::{Out, Parser, Proto};

use super::journal;
use super::journal::Sum;
use super::manifest::{Listed, Manifest};
use super::paths::{Paths, Unwritten};
use crate::Error;
use crate::config::Config;
use crate::functions;
use crate::rename::{NameMeaning, Renames, with_original_name};
use crate::settings::ZERO_COPY_ALLOCATOR;

/// Minimum number of bytes read from a file at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// Maximum length of an annotation line between commands. Redis writes such lines, which contain
/// the time, if `aof-timestamp-enabled` is `yes`.
const ANNOTATION_BYTES_MAX: usize = 1024;

/// First bytes of a snapshot. Valkey writes its own name in the RDB versions that Redis does not
/// have.
const MAGICS: [&[u8]; 2] = [b"REDIS", b"VALKEY"];

/// Returns whether a file with these first bytes is a snapshot.
fn is_snapshot(begin: &[u8]) -> bool {
    MAGICS.iter().any(|magic| begin.starts_with(magic))
}

/// Properties of the loaded files that are needed to start the AOF.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// The AOF's manifest, if the data was loaded from the AOF.
    pub(crate) manifest: Option<Manifest>,
    /// Total length of all AOF files, in bytes.
    pub(crate) journal_bytes: u64,
    /// Length of the AOF's base, in bytes. The growth of the AOF is measured against this length to
    /// decide when to rewrite the AOF.
    pub(crate) base_bytes: u64,
    /// Checksum of the bytes at the end of the last increment that no checksum annotation covers.
    pub(crate) sum: Sum,
    /// The error that prevented the AOF of a Redis version before 7 from being moved, if any. The
    /// AOF was then read in place.
    pub(crate) move_error: Option<Unwritten>,
}

/// Loads the AOF if it is enabled and exists, otherwise the snapshot if it exists.
pub(crate) fn load(config: &Config, keyspace: &mut Keyspace, now_ms: u64) -> Result<Loaded, Error> {
    let paths = Paths::new(config);
    if config.appendonly {
        match adopt_old_journal(&paths) {
            Ok(()) => {}
            Err((path, error)) if journal::is_full(&error) && paths.old_journal.is_file() => {
                let mut replay = Replay::new(config, keyspace, now_ms);
                replay.file(&paths.old_journal, true)?;
                return Ok(Loaded {
                    move_error: Some((path, error)),
                    ..Loaded::default()
                });
            }
            Err((path, error)) => {
                let old = paths.old_journal.display();
                let text = format!(
                    "cannot convert {old} to an AOF with a manifest: {}: {error}",
                    path.display()
                );
                return Err(Error::host(text));
            }
        }
        if paths.manifest.exists() {
            return load_journals(config, &paths, keyspace, now_ms);
        }
    }
    if paths.snapshot.exists() {
        let mut replay = Replay::new(config, keyspace, now_ms);
        replay.snapshot(&paths.snapshot)?;
    }
    Ok(Loaded::default())
}

/// Converts the single AOF file of a Redis version before 7 into the base of the new layout, as
/// Redis 7 does. The manifest lists the file before the file is moved, so after an interruption at
/// any point the next start completes the conversion.
fn adopt_old_journal(paths: &Paths) -> Result<(), Unwritten> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error: io::Error| (path, error)
    };
    let manifest = Manifest {
        base: Some(Listed {
            name: paths.stem.clone(),
            seq: 1,
        }),
        ..Manifest::default()
    };
    let moved = paths.journals.join(&paths.stem);
    let is_old = paths.old_journal.is_file();
    if !paths.manifest.exists() {
        if !is_old && !moved.is_file() {
            return Ok(());
        }
        fs::create_dir_all(&paths.journals).map_err(at(&paths.journals))?;
        journal::replace(&paths.manifest, manifest.print().as_bytes())
            .map_err(at(&paths.manifest))?;
    }
    let is_listed = || {
        let text = fs::read_to_string(&paths.manifest);
        text.is_ok_and(|text| Manifest::parse(&text).as_ref() == Ok(&manifest))
    };
    if is_old && !moved.exists() && is_listed() {
        fs::rename(&paths.old_journal, &moved)
            .and_then(|()| journal::sync_parent(&moved))
            .map_err(at(&moved))?;
    }
    Ok(())
}

fn load_journals(
    config: &Config,
    paths: &Paths,
    keyspace: &mut Keyspace,
    now_ms: u64,
) -> Result<Loaded, Error> {
    let path = &paths.manifest;
    let text = fs::read_to_string(path)
        .map_err(|error| Error::host(format!("cannot read {}: {error}", path.display())))?;
    let manifest = Manifest::parse(&text)
        .map_err(|fault| Error::data(format!("{}: {fault}", path.display())))?;
    let mut replay = Replay::new(config, keyspace, now_ms);
    let mut loaded = Loaded::default();
    // A crash during the rotation to a new increment may truncate the previous file, although the
    // manifest already lists the new, empty increment after it. So a file counts as the last file
    // if only empty files follow it.
    let is_empty =
        |listed: &Listed| fs::metadata(paths.journal(listed)).is_ok_and(|file| file.len() == 0);
    let are_empty = |rest: &[Listed]| rest.iter().all(is_empty);
    if let Some(base) = &manifest.base {
        loaded.base_bytes = replay.file(&paths.journal(base), are_empty(&manifest.increments))?;
        loaded.journal_bytes = loaded.base_bytes;
    }
    for (index, increment) in manifest.increments.iter().enumerate() {
        let is_last = are_empty(&manifest.increments[index + 1..]);
        loaded.journal_bytes += replay.file(&paths.journal(increment), is_last)?;
        loaded.sum = replay.sum;
    }
    loaded.manifest = Some(manifest);
    Ok(loaded)
}

/// Replaces all data with the data of a snapshot in memory.
pub(crate) fn reload(
    keyspace: &mut Keyspace,
    snapshot: &[u8],
    now_ms: u64,
) -> Result<(), rdb::Error> {
    empty(keyspace, now_ms);
    let options = rdb::LoadOptions {
        now_ms,
        check_crc: true,
        skip_expired: true,
    };
    rdb::Loader::new(options).feed(keyspace, &mut BytesMut::from(snapshot))?;
    Ok(())
}

/// Replaces all data with the data of the AOF.
pub(crate) fn reload_journals(
    config: &Config,
    keyspace: &mut Keyspace,
    now_ms: u64,
) -> Result<(), Error> {
    let paths = Paths::new(config);
    if !paths.manifest.exists() {
        return Err(Error::data("the data directory contains no AOF".to_owned()));
    }
    empty(keyspace, now_ms);
    load_journals(config, &paths, keyspace, now_ms).map(drop)
}

fn empty(keyspace: &mut Keyspace, now_ms: u64) {
    let mut session = Session::new();
    session.set_replay(true);
    let flush = [Bytes::from_static(b"FLUSHALL")];
    keyspace.execute(&mut session, &flush, now_ms, &mut Out::new(Proto::Resp2));
    keyspace.set_functions(Vec::new());
    // The data loaded next is on disk already, so the removal of the old data needs no snapshot.
    keyspace.effects.flushed_all = false;
}

/// Loader of files into a keyspace.
struct Replay<'a> {
    keyspace: &'a mut Keyspace,
    session: Session,
    /// Renamed commands. The AOF may contain the new names of commands.
    renames: &'a Renames,
    now_ms: u64,
    check_crc: bool,
    may_cut: bool,
    /// Offset of the first byte that no checksum covers yet.
    summed: u64,
    /// Checksum of the bytes at the end of the file that no checksum annotation covers. Set when
    /// the whole file has been read.
    sum: Sum,
    /// Offset of the incomplete command at which parsing of the file stopped, if any.
    incomplete_at: Option<u64>,
}

impl<'a> Replay<'a> {
    fn new(config: &'a Config, keyspace: &'a mut Keyspace, now_ms: u64) -> Replay<'a> {
        let mut session = Session::new();
        session.set_replay(true);
        Replay {
            keyspace,
            session,
            renames: &config.renames,
            now_ms,
            check_crc: config.rdbchecksum,
            may_cut: config.aof_load_truncated,
            summed: 0,
            sum: Sum::default(),
            incomplete_at: None,
        }
    }

    /// Loads a file that must be a snapshot.
    fn snapshot(&mut self, path: &Path) -> Result<(), Error> {
        let mut begin = Vec::new();
        let bytes = MAGICS[1].len() as u64;
        let read = File::open(path).and_then(|file| file.take(bytes).read_to_end(&mut begin));
        read.map_err(|error| Error::host(format!("cannot read {}: {error}", path.display())))?;
        if !is_snapshot(&begin) {
            let what = match MAGICS.iter().any(|magic| magic.starts_with(&begin)) {
                true => format!("the snapshot is truncated at byte {}", begin.len()),
                false => "the file is not a snapshot: unknown magic number at byte 0".to_owned(),
            };
            return Err(Error::data(format!("{}: {what}", path.display())));
        }
        self.file(path, false).map(drop)
    }

    /// Loads one file: a snapshot, commands, or a snapshot followed by commands. If the file is the
    /// last one and ends in an incomplete command, that command is cut off, provided that the
    /// configuration allows it. Returns the file's length.
    fn file(&mut self, path: &Path, is_last: bool) -> Result<u64, Error> {
        let show = path.display();
        let mut source = Source::open(path)
            .map_err(|error| Error::host(format!("cannot open {show}: {error}")))?;
        let read = |error: io::Error| Error::host(format!("cannot read {show}: {error}"));
        source.fill().map_err(read)?;
        if is_snapshot(&source.input) {
            let mut loader = rdb::Loader::new(rdb::LoadOptions {
                now_ms: self.now_ms,
                check_crc: self.check_crc,
                skip_expired: true,
            })
            .with_blob_freezer(reactor::zero_copy);
            while !loader
                .feed(self.keyspace, &mut source.input)
                .map_err(|error| {
                    Error::data(format!("{show}: at byte {}: {error}", error.offset))
                })?
            {
                if source.fill().map_err(read)? == 0 {
                    let text = format!("{show}: the snapshot is truncated at byte {}", source.read);
                    return Err(Error::data(text));
                }
            }
        }
        self.session = Session::new();
        self.session.set_replay(true);
        let complete_end = self.commands(path, &mut source)?;
        if is_last {
            let unsummed = source.sum(self.summed.min(complete_end), complete_end);
            self.sum = unsummed.map_err(read)?;
        }
        if complete_end == source.read {
            return Ok(complete_end);
        }
        if !is_last || !self.may_cut {
            let text = format!(
                "{show}: the last command begins at byte {complete_end} and is truncated at byte \
                 {}; {}",
                source.read,
                match is_last {
                    true => "set aof-load-truncated yes to drop the truncated command",
                    false =>
                        "more AOF files follow, so no crash truncated this file: it is damaged",
                }
            );
            return Err(Error::data(text));
        }
        self.refuse_damage(path, &source, complete_end)?;
        tracing::warn!(file = %show, at = complete_end, dropped = source.read - complete_end, "the last command of the AOF was truncated by a crash and is dropped");
        let cut = File::options()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(complete_end).and_then(|()| file.sync_all()));
        cut.map_err(|error| {
            Error::host(format!("cannot cut {show} at byte {complete_end}: {error}"))
        })?;
        Ok(complete_end)
    }

    /// Refuses a file with an incomplete command if the bytes after that command show that the file
    /// is damaged. A crash leaves neither a checksum nor a complete command after an incomplete
    /// command.
    fn refuse_damage(&self, path: &Path, source: &Source, complete_end: u64) -> Result<(), Error> {
        let show = path.display();
        let read = |error: io::Error| Error::host(format!("cannot read {show}: {error}"));
        if let Some(at) = source.sum_after(complete_end).map_err(read)? {
            return Err(Error::data(format!(
                "{show}: the command at byte {complete_end} is incomplete, but a checksum follows at byte {at}: the file is \
                 damaged, not truncated by a crash; truncate -s {complete_end} on the file \
                 drops that command and everything after it"
            )));
        }
        let incomplete_at = self.incomplete_at.unwrap_or(source.read);
        if let Some(at) = source.command_after(incomplete_at).map_err(read)? {
            return Err(Error::data(format!(
                "{show}: the command at byte {incomplete_at} is incomplete, but a complete command follows at byte {at}: the file is \
                 damaged, not truncated by a crash; truncate -s {complete_end} on the file drops everything from byte {complete_end} on"
            )));
        }
        Ok(())
    }

    /// Runs the commands of the file up to its end. Returns the offset at which the last complete
    /// command or transaction ends.
    fn commands(&mut self, path: &Path, source: &mut Source) -> Result<u64, Error> {
        let show = path.display();
        let read = |error: io::Error| Error::host(format!("cannot read {show}: {error}"));
        let mut parser = Parser::new(resp::Limits {
            // When the file was written, `proto-max-bulk-len` may have been higher than now.
            bulk_bytes_max: i32::MAX as usize,
            query_bytes_max: usize::MAX,
            ..resp::Limits::default()
        })
        .with_blob_allocator(ZERO_COPY_ALLOCATOR);
        let mut complete_end = source.at();
        self.summed = complete_end;
        self.incomplete_at = None;
        loop {
            if parser.is_between_requests() {
                self.incomplete_at = Some(source.at());
            }
            // An AOF contains no inline commands (without `*`), which the parser would accept.
            let begins = source
                .input
                .first()
                .filter(|_| parser.is_between_requests());
            match begins.copied() {
                None | Some(b'*') => {}
                Some(b'#') if source.has_line(ANNOTATION_BYTES_MAX).map_err(read)? => {
                    self.skip_annotation(path, source)?;
                    if !self.session.in_multi() {
                        complete_end = source.at();
                    }
                    continue;
                }
                Some(b'#') if source.input.len() < ANNOTATION_BYTES_MAX => return Ok(complete_end),
                Some(b'#') => {
                    let at = source.at();
                    let text = format!(
                        "{show}: at byte {at}: an annotation (a line that begins with #) has no end"
                    );
                    return Err(Error::data(text));
                }
                Some(byte) => {
                    let at = source.at();
                    let text = format!(
                        "{show}: at byte {at}: unexpected byte {byte:#04x} instead of a command"
                    );
                    return Err(Error::data(text));
                }
            }
            match parser.next(&mut source.input) {
                Err(error) => {
                    let text = format!("{show}: in the command at byte {complete_end}: {error}");
                    return Err(Error::data(text));
                }
                Ok(true) => {
                    let args = parser.take_args();
                    let at = format!("{show}: the command at byte {complete_end}");
                    self.run(&args)
                        .map_err(|fault| Error::data(format!("{at}: {fault}")))?;
                    if !self.session.in_multi() {
                        complete_end = source.at();
                    }
                }
                Ok(false) => {
                    if source.fill().map_err(read)? == 0 {
                        return Ok(complete_end);
                    }
                }
            }
        }
    }

    /// Skips an annotation line. If it contains a checksum, the checksum must match the bytes since
    /// the previous checksum.
    fn skip_annotation(&mut self, path: &Path, source: &mut Source) -> Result<(), Error> {
        let show = path.display();
        let (summed, at) = (self.summed, source.at());
        let line = source.take_line();
        if !journal::is_sum(&line) {
            return Ok(());
        }
        let sum = source.sum(summed, at);
        let sum = sum.map_err(|error| Error::host(format!("cannot read {show}: {error}")))?;
        if self.check_crc && !sum.matches_line(&line) {
            return Err(Error::data(format!(
                "{show}: checksum mismatch in bytes {summed} to {at}: the file is damaged; \
                 to load it anyway, set `rdbchecksum no`"
            )));
        }
        self.summed = source.at();
        Ok(())
    }

    fn run(&mut self, args: &[Bytes]) -> Result<(), String> {
        if let NameMeaning::Command(own) = self.renames.meaning(&args[0]) {
            return self.run_named(&with_original_name(args, own));
        }
        self.run_named(args)
    }

    fn run_named(&mut self, args: &[Bytes]) -> Result<(), String> {
        let mut out = Out::new(Proto::Resp2);
        let outcome = self
            .keyspace
            .execute(&mut self.session, args, self.now_ms, &mut out);
        if 0 < out.errors() {
            let reply = out.to_bytes();
            let text = String::from_utf8_lossy(&reply);
            return Err(text.trim_start_matches('-').trim_end().to_owned());
        }
        match outcome {
            Outcome::Done | Outcome::Refused | Outcome::Queued => Ok(()),
            Outcome::Exec(commands) => {
                for args in &commands {
                    self.run_named(args)?;
                }
                self.session.exec_done();
                Ok(())
            }
            Outcome::Block(_) => Err(
                "the command can block, but an AOF may not contain commands that block".to_owned(),
            ),
            Outcome::Service(command) if command.name.starts_with("function|") => {
                functions::replay(self.keyspace, args)
            }
            Outcome::Service(command) => Err(format!(
                "'{}' is not a write command, but an AOF may contain only write commands",
                command.name
            )),
        }
    }
}

/// A file that is read piece by piece.
struct Source {
    file: File,
    input: BytesMut,
    /// Number of bytes read from the file.
    read: u64,
}

impl Source {
    fn open(path: &Path) -> io::Result<Source> {
        Ok(Source {
            file: File::open(path)?,
            input: BytesMut::new(),
            read: 0,
        })
    }

    /// Reads the next bytes of the file. Returns their number, which is 0 at the end of the file.
    /// Tries to read at least as many bytes as are still unparsed. So the input about doubles with
    /// each read, and parsing a large value is attempted only a few times.
    fn fill(&mut self) -> io::Result<usize> {
        let old = self.input.len();
        self.input.resize(old + CHUNK_BYTES.max(old), 0);
        let read = self.file.read(&mut self.input[old..]);
        self.input.truncate(old + *read.as_ref().unwrap_or(&0));
        let read = read?;
        self.read += read as u64;
        Ok(read)
    }

    /// Reads until the input contains a line end. Returns false if there is no line end within
    /// `bytes_max` bytes or before the end of the file.
    fn has_line(&mut self, bytes_max: usize) -> io::Result<bool> {
        while self.input.len() < bytes_max && !self.input.contains(&b'\n') {
            if self.fill()? == 0 {
                return Ok(false);
            }
        }
        let mut bytes = self.input.iter().take(bytes_max);
        Ok(bytes.any(|byte| *byte == b'\n'))
    }

    /// Removes a line from the input and returns it.
    fn take_line(&mut self) -> BytesMut {
        let end = self.input.iter().position(|byte| *byte == b'\n');
        self.input.split_to(end.map_or(0, |end| end + 1))
    }

    /// Returns the checksum of the bytes between two offsets of the file.
    fn sum(&self, from: u64, to: u64) -> io::Result<Sum> {
        let mut sum = Sum::default();
        self.read_again(from, to, |_, piece| {
            sum.add(piece);
            true
        })?;
        Ok(sum)
    }

    /// Returns the offset of the first checksum annotation at or after `from`.
    fn sum_after(&self, from: u64) -> io::Result<Option<u64>> {
        const BEFORE: usize = b"\r\n".len();
        const WINDOW: usize = BEFORE + journal::SUM_LINE_BYTES;
        let mut found = None;
        let mut window = Vec::new();
        self.read_again(from, self.read, |at, piece| {
            // The window keeps the end of the previous piece, since an annotation may cross the
            // boundary of two pieces.
            let held = window.len();
            window.extend_from_slice(piece);
            let is_sum =
                |part: &[u8]| part.starts_with(b"\r\n") && journal::is_sum(&part[BEFORE..]);
            let found_at = window.windows(WINDOW).position(is_sum);
            found = found_at.map(|found_at| at - held as u64 + (found_at + BEFORE) as u64);
            window.drain(..window.len().saturating_sub(WINDOW - 1));
            found.is_none()
        })?;
        Ok(found)
    }

    /// Returns the file offset of the first complete command after the start of the incomplete
    /// command at `incomplete_at`. A value may contain bytes that look like a command. So a command
    /// counts only if another command, an annotation or the end of the file follows it.
    fn command_after(&self, incomplete_at: u64) -> io::Result<Option<u64>> {
        const BEFORE: &[u8] = b"\r\n*";
        let mut bytes = vec![0; (self.read - incomplete_at) as usize];
        self.file.read_exact_at(&mut bytes, incomplete_at)?;
        let begins = bytes.windows(BEFORE.len()).enumerate();
        let mut begins = begins.filter_map(|(at, part)| (part == BEFORE).then_some(at + 2));
        let found = begins.find(|begin| {
            let remainder = whole_command(&bytes[*begin..]);
            remainder.is_some_and(|rest| matches!(rest, [] | [b'*' | b'#', ..]))
        });
        Ok(found.map(|at| incomplete_at + at as u64))
    }

    /// Reads the bytes between two offsets of the file again, and passes them to `take` in pieces
    /// until `take` returns false. The first argument of `take` is the offset of the piece.
    fn read_again(
        &self,
        from: u64,
        to: u64,
        mut take: impl FnMut(u64, &[u8]) -> bool,
    ) -> io::Result<()> {
        let mut at = from;
        let mut piece = vec![0; CHUNK_BYTES.min((to - from) as usize)];
        while at < to {
            let room = piece.len().min((to - at) as usize);
            self.file.read_exact_at(&mut piece[..room], at)?;
            if !take(at, &piece[..room]) {
                return Ok(());
            }
            at += room as u64;
        }
        Ok(())
    }

    /// Returns the file offset of the first byte of `input`.
    fn at(&self) -> u64 {
        self.read - self.input.len() as u64
    }
}

/// Removes one command from the front of `bytes`, and returns the rest. Returns `None` if the
/// command is incomplete, or if its name does not consist of letters.
fn whole_command(bytes: &[u8]) -> Option<&[u8]> {
    /// Maximum number of arguments. A command with more arguments counts as incomplete.
    const ARGUMENTS_MAX: usize = 1_024;
    let (count, mut rest) = take_number(bytes, b'*')?;
    if !(1..=ARGUMENTS_MAX).contains(&count) {
        return None;
    }
    for number in 0..count {
        let (length, remainder) = take_number(rest, b'$')?;
        let (argument, remainder) = remainder.split_at_checked(length)?;
        let is_name = !argument.is_empty() && argument.iter().all(u8::is_ascii_alphabetic);
        if number == 0 && !is_name {
            return None;
        }
        rest = remainder.strip_prefix(b"\r\n")?;
    }
    Some(rest)
}

/// Removes the byte `kind`, a number and CRLF from the front of `bytes`. Returns the number and the
/// rest.
fn take_number(bytes: &[u8], kind: u8) -> Option<(usize, &[u8])> {
    const DIGITS_MAX: usize = 10;
    let bytes = bytes.strip_prefix(&[kind])?;
    let end = bytes
        .iter()
        .take(DIGITS_MAX + 1)
        .position(|byte| *byte == b'\r')?;
    let number = str::from_utf8(&bytes[..end]).ok()?.parse().ok()?;
    Some((number, bytes[end..].strip_prefix(b"\r\n")?))
}
