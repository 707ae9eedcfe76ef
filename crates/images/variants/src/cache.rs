//! Variant cache: finished variants and verdicts on disk, within a budget in bytes. The least
//! recently used entries are evicted.
//!
//! ```text
//! variants/ab/cd/KEY-LENGTH.avif         a variant; KEY begins with ab cd
//! variants/ab/cd/KEY-0.larger            a verdict: the result was not smaller than the original
//! variants/tmp/PID-N                     a file that is being written
//! ```
//!
//! A complete file gets its name by `rename`, and the name contains its length: a file that a power
//! cut truncated is removed, not served. The directory may be deleted at any time, even while the
//! server runs.
//!
//! Threads: all cores and conversion threads meet here. The one lock guards the index. It is held
//! for a few map operations and never during I/O; a hit that a core has cached does not need the
//! lock.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use image_plan::{Plan, Target};

use openmetrics::Text;

use crate::clock;
use crate::library::Identity;
use crate::sealed::Sealed;
use crate::shared_index::{Change, SharedEntry, SharedIndex};

/// Version of the encoders; increases whenever the same plan would give different bytes, for
/// example with a new codec or another filter.
pub const ENCODER_VERSION: u32 = 7;
/// Version of the audio encoder; increases whenever the same plan would give different bytes.
const SOUND_VERSION: u32 = 1;
/// Bytes charged per entry for its inode and directory entry.
const ENTRY_BYTES: u64 = 512;
/// Interval between writes of the variants' times of last use to the disk.
const PERSIST_USES: std::time::Duration = std::time::Duration::from_secs(60);
/// Lifetime of a verdict that only memory holds, in milliseconds.
const REMEMBER_MS: u64 = 60_000;
/// Eviction frees space until this many sixteenths of the budget are used.
const EVICT_TO_SIXTEENTHS: u64 = 15;

/// Identity of a variant: the original's version, the plan, and the versions of the encoders.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// Returns the key of `plan` applied to the original `identity`.
    #[must_use]
    pub fn new(identity: &Identity, plan: &Plan) -> Key {
        let mut hash = blake3::Hasher::new();
        hash.update(&ENCODER_VERSION.to_le_bytes());
        hash.update(&identity.to_bytes());
        hash.update(&plan.to_bytes());
        Key::end(&hash)
    }

    /// Returns the key of an audio plan applied to the original `identity`.
    #[must_use]
    pub fn of_sound(identity: &Identity, plan: &audio_plan::Plan) -> Key {
        let mut hash = blake3::Hasher::new();
        hash.update(&SOUND_VERSION.to_le_bytes());
        hash.update(&identity.to_bytes());
        // Audio and picture plans differ in their first bytes and in length, so their keys differ.
        hash.update(&plan.to_bytes());
        Key::end(&hash)
    }

    fn end(hash: &blake3::Hasher) -> Key {
        let mut key = [0; 16];
        hash.finalize_xof().fill(&mut key);
        Key(key)
    }

    /// Parses the hexadecimal form of a key.
    pub fn from_hex(text: &str) -> Option<Key> {
        if text.len() != 32 || text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        u128::from_str_radix(text, 16)
            .ok()
            .map(|value| Key(value.to_be_bytes()))
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Reason why a key has no variant, and why no conversion should be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The result was no smaller than the original.
    Larger,
    /// The conversion at higher effort gave a result that is not smaller than the quick variant,
    /// which was encoded at low effort and remains in the cache.
    Unimproved,
    /// The original cannot be decoded.
    Undecodable,
    /// The original uses a feature that no decoder supports.
    Unsupported,
    /// The job exceeded its memory or time limit. Never written to disk: limits may be higher after
    /// the next start.
    TooCostly,
    /// The encoder failed with the settings of the plan, or a conversion at higher effort crashed
    /// its worker.
    Unencodable,
    /// The worker crashed, hung or violated the protocol. Never written to disk: the server may be
    /// at fault, so the original is tried again later.
    Faulty,
    /// The original crashed too many workers. Never written to disk: the quarantine can be lifted.
    Quarantined,
}

impl Verdict {
    /// Returns whether the verdict concerns one format only, so that another format may work.
    #[must_use]
    pub fn is_of_format(self) -> bool {
        matches!(self, Verdict::TooCostly | Verdict::Unencodable)
    }

    /// Returns whether the worker is at fault, so that the server sends the original instead of an
    /// error.
    #[must_use]
    pub fn is_of_worker(self) -> bool {
        matches!(
            self,
            Verdict::Unencodable | Verdict::Faulty | Verdict::Quarantined
        )
    }
}

/// Content of an index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A picture in this format.
    Picture(Target),
    /// Opus in Ogg.
    Sound,
    /// A verdict instead of a variant.
    Verdict(Verdict),
}

impl Kind {
    /// Verdict that the result was not smaller than the original: the most common verdict, and not
    /// a failure.
    pub const LARGER: Kind = Kind::Verdict(Verdict::Larger);

    const VERDICTS: [(Verdict, &'static str); 8] = [
        (Verdict::Larger, "larger"),
        (Verdict::Unimproved, "unimproved"),
        (Verdict::Undecodable, "undecodable"),
        (Verdict::Unsupported, "unsupported"),
        (Verdict::TooCostly, "costly"),
        (Verdict::Unencodable, "unencodable"),
        (Verdict::Faulty, "faulty"),
        (Verdict::Quarantined, "quarantined"),
    ];

    /// Returns the ending of file names of this kind.
    pub fn extension(self) -> &'static str {
        match self {
            Kind::Picture(target) => target.extension(),
            Kind::Sound => audio_plan::SUFFIX,
            Kind::Verdict(verdict) => {
                let row = Kind::VERDICTS.iter().find(|row| row.0 == verdict);
                row.expect("every verdict has a row").1
            }
        }
    }

    /// Returns the kind whose files have this ending.
    pub fn from_extension(extension: &str) -> Option<Kind> {
        let verdict = Kind::VERDICTS.iter().find(|row| row.1 == extension);
        match verdict {
            Some(row) => Some(Kind::Verdict(row.0)),
            None if extension == audio_plan::SUFFIX => Some(Kind::Sound),
            None => Target::from_extension(extension).map(Kind::Picture),
        }
    }
}

/// Entry of the index; immutable except for its time of last use.
#[derive(Debug)]
pub struct Variant {
    /// Key of the entry.
    pub key: Key,
    /// Format or verdict.
    pub kind: Kind,
    /// Length of the file in bytes; zero for a verdict.
    pub bytes: u64,
    /// Time in milliseconds since 1970 at which the entry expires; only for some verdicts that the
    /// disk does not hold.
    expires_ms: Option<u64>,
    /// Time of last use in milliseconds since 1970. Eviction begins with the smallest.
    used_ms: AtomicU64,
    /// Bytes of the file, while some core holds them.
    body: Mutex<Weak<[u8]>>,
}

impl Variant {
    fn new(key: Key, kind: Kind, bytes: u64, used_ms: u64) -> Variant {
        Variant {
            key,
            kind,
            bytes,
            expires_ms: None,
            used_ms: AtomicU64::new(used_ms),
            body: Mutex::new(Weak::<[u8; 0]>::new()),
        }
    }

    /// Returns whether more effort may improve the entry. Failures do not depend on effort.
    #[must_use]
    pub fn is_useful(&self) -> bool {
        matches!(self.kind, Kind::Picture(_) | Kind::Sound | Kind::LARGER)
    }

    /// Records a use at `now_ms`, in milliseconds since 1970.
    pub fn touch(&self, now_ms: u64) {
        // Most hits of a hot variant fall into the same millisecond. Such hits only load the time,
        // so that the cores can share its cache line.
        if self.used_ms.load(Ordering::Relaxed) < now_ms {
            self.used_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Returns the time of last use, in milliseconds since 1970.
    pub fn used_ms(&self) -> u64 {
        self.used_ms.load(Ordering::Relaxed)
    }

    /// Returns the time at which the entry expires, if it does, in milliseconds since 1970.
    pub fn expires_ms(&self) -> Option<u64> {
        self.expires_ms
    }

    fn charge(&self) -> u64 {
        self.bytes + ENTRY_BYTES
    }

    fn file_name(&self) -> String {
        format!("{}-{}.{}", self.key, self.bytes, self.kind.extension())
    }

    fn from_file_name(name: &str, used_ms: u64) -> Option<Variant> {
        let (stem, extension) = name.rsplit_once('.')?;
        let (key, bytes) = stem.split_once('-')?;
        let variant = Variant::new(
            Key::from_hex(key)?,
            Kind::from_extension(extension)?,
            bytes.parse().ok()?,
            used_ms,
        );
        (variant.file_name() == name).then_some(variant)
    }
}

/// Index of all variants, and their directory.
#[derive(Debug)]
pub struct Variants {
    directory: PathBuf,
    bytes_max: u64,
    index: Mutex<Index>,
    /// True once the directory has been read completely.
    loaded: AtomicBool,
    /// True if the last write succeeded; a change of this state is logged once.
    writable: AtomicBool,
    temporary: AtomicU64,
    evicted: AtomicU64,
    write_errors: AtomicU64,
    /// Shared index that records every change, if any.
    ledger: Option<Arc<SharedIndex>>,
}

#[derive(Debug, Default)]
struct Index {
    entries: HashMap<Key, Arc<Variant>>,
    charged: u64,
}

/// Figures of the cache for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantStats {
    /// Entries in the index.
    pub entries: u64,
    /// Bytes of the budget that the entries use.
    pub bytes: u64,
    /// Entries that were evicted.
    pub evicted: u64,
    /// Variants that could not be written.
    pub write_errors: u64,
}

impl VariantStats {
    /// Writes the metrics of the variant cache.
    pub fn render(&self, text: &mut Text) {
        text.gauge(
            "pelton_variants",
            "variants and verdicts in the index",
            self.entries,
        );
        text.gauge(
            "pelton_variants_bytes",
            "bytes charged for the entries of the index",
            self.bytes,
        );
        text.counter(
            "pelton_variants_evicted",
            "entries evicted to stay within the budget",
            self.evicted,
        );
        text.counter(
            "pelton_variants_write_errors",
            "variants that could not be written to the disk",
            self.write_errors,
        );
    }
}

impl Variants {
    /// Creates an index over `data`/variants with a budget of `bytes_max`. Reads nothing yet: see
    /// [`Variants::load`].
    #[must_use]
    pub fn new(data: &Path, bytes_max: u64) -> Variants {
        Variants {
            directory: data.join("variants"),
            bytes_max,
            index: Mutex::default(),
            loaded: AtomicBool::new(false),
            writable: AtomicBool::new(true),
            temporary: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            write_errors: AtomicU64::new(0),
            ledger: None,
        }
    }

    /// Returns this index, which from now on records every change in the shared index `ledger`, if
    /// there is one.
    #[must_use]
    pub fn recorded(self, ledger: Option<Arc<SharedIndex>>) -> Variants {
        Variants { ledger, ..self }
    }

    fn note(&self, change: impl FnOnce() -> Change) {
        if let Some(ledger) = &self.ledger {
            ledger.note(change());
        }
    }

    /// Returns an identifier of the directory, equal for all processes on this machine that share
    /// it. Creates the directory if necessary. If that fails, the identifier belongs to this
    /// process only.
    pub fn files(&self) -> String {
        // The error is reported when a variant is written.
        drop(fs::create_dir_all(&self.directory));
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        match fs::metadata(&self.directory) {
            Ok(found) => format!("{host}:{}:{}", found.dev(), found.ino()),
            Err(_) => format!("{host}:0:{}", std::process::id()),
        }
    }

    /// Adds to this index `found`, the entry of the shared index for `key`. Another process or an
    /// earlier run created the entry. Returns `None` if the file of the variant cannot be opened.
    /// Blocks.
    pub fn recall(&self, key: &Key, found: SharedEntry, now_ms: u64) -> Option<Arc<Variant>> {
        let SharedEntry { kind, bytes } = found;
        let mut variant = Variant::new(*key, kind, bytes, now_ms);
        match kind {
            // `None` if the file has been removed, or was never on this machine.
            Kind::Picture(_) | Kind::Sound => drop(self.open(&variant).ok()?),
            // A verdict from the shared index is held in memory only. It expires, so that a later
            // request checks the shared index again.
            Kind::Verdict(_) => variant.expires_ms = Some(now_ms + REMEMBER_MS),
        }
        let variant = Arc::new(variant);
        self.add_to_index(Arc::clone(&variant));
        Some(variant)
    }

    /// Looks `key` up in the index.
    ///
    /// # Errors
    /// [`StillLoading`] while the directory has not been read completely. Code that may block then
    /// calls [`Variants::find_on_disk`].
    pub fn find(&self, key: &Key, now_ms: u64) -> Result<Option<Arc<Variant>>, StillLoading> {
        // Reads the flag before the index, so that an entry that the loader adds between the two
        // reads is found below.
        let loaded = self.is_complete();
        let index = self.index();
        let is_unexpired = |variant: &&Arc<Variant>| {
            variant
                .expires_ms
                .is_none_or(|expires_ms| now_ms < expires_ms)
        };
        match index.entries.get(key).filter(is_unexpired) {
            Some(variant) => Ok(Some(Arc::clone(variant))),
            None if loaded => Ok(None),
            None => Err(StillLoading),
        }
    }

    /// Returns whether the index contains all entries of its directory.
    pub fn is_complete(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }

    /// Looks `key` up in the index and, while the index is loading, on the disk.
    pub fn find_on_disk(&self, key: &Key, now_ms: u64) -> Option<Arc<Variant>> {
        if let Ok(known) = self.find(key, now_ms) {
            return known;
        }
        let name = key.to_string();
        let shard_directory = self.shard_directory(key);
        // Without the directory there is no variant: storing a variant creates its directory.
        let entries = fs::read_dir(&shard_directory).ok()?;
        for entry in entries.flatten().filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(name.as_bytes())
        }) {
            self.adopt(&entry);
        }
        self.index().entries.get(key).map(Arc::clone)
    }

    /// Runs the thread of the index: loads the directory, then writes times of last use at
    /// intervals, until all other owners have dropped the index.
    pub fn maintain(self: Arc<Self>) {
        if let Err(err) = self.load() {
            tracing::warn!(directory = %self.directory.display(), %err, "variants cannot be listed");
        }
        let mut since_ms = clock::unix_ms();
        while Arc::strong_count(&self) > 1 {
            std::thread::park_timeout(PERSIST_USES);
            let now_ms = clock::unix_ms();
            self.persist_uses(since_ms);
            since_ms = now_ms;
        }
    }

    /// Loads the whole directory into the index, and removes files that are broken or were left by
    /// a crash.
    ///
    /// # Errors
    /// If the directory exists but cannot be listed. The index then counts as complete, with the
    /// entries that it has.
    pub fn load(&self) -> io::Result<()> {
        let result = self.load_shard_directories();
        self.loaded.store(true, Ordering::Release);
        self.evict();
        result
    }

    fn load_shard_directories(&self) -> io::Result<()> {
        let shard_directories = match fs::read_dir(&self.directory) {
            Ok(shard_directories) => shard_directories,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(err) => return Err(err),
        };
        for shard_directory in shard_directories {
            let shard_directory = shard_directory?;
            if shard_directory.file_name() == "tmp" {
                remove_stale(&shard_directory.path());
                continue;
            }
            for subdirectory in listed(&shard_directory.path()) {
                for entry in listed(&subdirectory.path()) {
                    self.adopt(&entry);
                }
            }
        }
        Ok(())
    }

    /// Adds a file of an earlier run to the index, or removes the file if it is broken or obsolete.
    fn adopt(&self, entry: &fs::DirEntry) {
        let Ok(meta) = entry.metadata() else { return }; // Removed meanwhile.
        let used_ms =
            u64::try_from(meta.mtime()).unwrap_or(0) * 1000 + meta.mtime_nsec() as u64 / 1_000_000;
        let name = entry.file_name();
        match name
            .to_str()
            .and_then(|name| Variant::from_file_name(name, used_ms))
        {
            // An earlier version wrote these verdicts to disk, where they outlived the limits that
            // caused them, so their files are removed.
            Some(variant) if variant.kind == Kind::Verdict(Verdict::TooCostly) => {
                report_removal(&entry.path(), fs::remove_file(entry.path()));
            }
            Some(variant) if variant.bytes == meta.len() => {
                let mut index = self.index();
                // An entry that this run stored is newer than the listing of the directory.
                if !index.entries.contains_key(&variant.key) {
                    index.charged += variant.charge();
                    index.entries.insert(variant.key, Arc::new(variant));
                }
            }
            _ => {
                tracing::warn!(file = %entry.path().display(), "removed a variant with a wrong name or length");
                report_removal(&entry.path(), fs::remove_file(entry.path()));
            }
        }
    }

    /// Stores the result of a conversion.
    ///
    /// # Errors
    /// If the disk refuses the file, or the budget is too small for it. The caller still has the
    /// bytes, and serving continues without the cache.
    pub fn store(
        &self,
        key: Key,
        kind: Kind,
        body: Option<&Sealed>,
        now_ms: u64,
    ) -> io::Result<Arc<Variant>> {
        let bytes = body.map_or(0, |body| body.bytes);
        let variant = Arc::new(Variant::new(key, kind, bytes, now_ms));
        if self.evict_to() < variant.charge() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.write(&variant, body);
        self.note_write(&written);
        written?;
        self.insert(Arc::clone(&variant));
        self.evict();
        Ok(variant)
    }

    fn write(&self, variant: &Variant, body: Option<&Sealed>) -> io::Result<()> {
        let scratch = self.directory.join("tmp");
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = scratch.join(format!("{}-{number}", std::process::id()));
        let made = create(&temporary).and_then(|file| match body {
            Some(body) => copy(body, &file),
            None => Ok(()),
        });
        let shard_directory = self.shard_directory(&variant.key);
        let named = made
            .and_then(|()| fs::create_dir_all(&shard_directory))
            .and_then(|()| {
                // No fsync: a lost variant is converted again, and a truncated one is recognised by
                // its name.
                fs::rename(&temporary, shard_directory.join(variant.file_name()))
            });
        if named.is_err() && temporary.exists() {
            report_removal(&temporary, fs::remove_file(&temporary));
        }
        named
    }

    fn note_write(&self, written: &io::Result<()>) {
        let was_writable = self.writable.swap(written.is_ok(), Ordering::Relaxed);
        match written {
            Ok(()) if !was_writable => tracing::info!("variants can be written again"),
            Ok(()) => {}
            Err(err) => {
                self.write_errors.fetch_add(1, Ordering::Relaxed);
                if was_writable {
                    let directory = self.directory.display();
                    tracing::warn!(%directory, %err, "variants cannot be written; the server continues without the cache");
                }
            }
        }
    }

    /// Stores a verdict in memory only, for a minute.
    pub fn remember(&self, key: Key, verdict: Verdict, now_ms: u64) -> Arc<Variant> {
        let mut variant = Variant::new(key, Kind::Verdict(verdict), 0, now_ms);
        variant.expires_ms = Some(now_ms + REMEMBER_MS);
        let variant = Arc::new(variant);
        self.insert(Arc::clone(&variant));
        variant
    }

    /// Stores the verdict that the conversion for `key` is too costly. The verdict is held in
    /// memory only, since limits may be higher after the next start. It expires at `expires_ms`, if
    /// given.
    pub fn remember_costly(&self, key: Key, now_ms: u64, expires_ms: Option<u64>) -> Arc<Variant> {
        let costly = |expires_ms| {
            let mut variant = Variant::new(key, Kind::Verdict(Verdict::TooCostly), 0, now_ms);
            variant.expires_ms = expires_ms;
            Arc::new(variant)
        };
        // Other processes may have higher limits, so the entry in the shared index expires.
        let shared = costly(Some(now_ms + REMEMBER_MS));
        self.note(|| Change::Kept(shared));
        let variant = costly(expires_ms);
        self.add_to_index(Arc::clone(&variant));
        variant
    }

    fn insert(&self, variant: Arc<Variant>) {
        self.note(|| Change::Kept(Arc::clone(&variant)));
        self.add_to_index(variant);
    }

    fn add_to_index(&self, variant: Arc<Variant>) {
        let mut index = self.index();
        index.charged += variant.charge();
        if let Some(old) = index.entries.insert(variant.key, variant) {
            index.charged -= old.charge();
        }
    }

    /// Opens the file of a variant.
    ///
    /// # Errors
    /// If the file is gone or has another length. The entry is then dropped, and the next request
    /// converts the original again.
    pub fn open(&self, variant: &Variant) -> io::Result<File> {
        let path = self.shard_directory(&variant.key).join(variant.file_name());
        let opened = File::open(&path).and_then(|file| {
            if file.metadata()?.len() == variant.bytes {
                Ok(file)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        });
        opened.inspect_err(|err| {
            // Other errors are failures of the host: the file may be intact, so its entry remains.
            if matches!(
                err.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
            ) {
                self.forget(&variant.key);
            }
        })
    }

    /// Returns the bytes of a variant in memory. All cores that hold them share one copy.
    ///
    /// # Errors
    /// As [`Variants::open`].
    pub fn read(&self, variant: &Variant) -> io::Result<Arc<[u8]>> {
        if let Some(body) = lock(&variant.body).upgrade() {
            return Ok(body);
        }
        let mut bytes = Vec::with_capacity(variant.bytes as usize);
        self.open(variant)?
            .take(variant.bytes)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 != variant.bytes {
            self.forget(&variant.key);
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let body: Arc<[u8]> = bytes.into();
        *lock(&variant.body) = Arc::downgrade(&body);
        Ok(body)
    }

    /// Returns the bytes of a variant that was just converted, from the memory file `sealed`. All
    /// cores that hold the bytes share one copy.
    ///
    /// # Errors
    /// If the host cannot read the memory file.
    pub fn read_sealed(&self, variant: &Variant, sealed: &Sealed) -> io::Result<Arc<[u8]>> {
        if let Some(body) = lock(&variant.body).upgrade() {
            return Ok(body);
        }
        let mut bytes = vec![0; sealed.bytes as usize];
        sealed.file.read_exact_at(&mut bytes, sealed.start)?;
        let body: Arc<[u8]> = bytes.into();
        *lock(&variant.body) = Arc::downgrade(&body);
        Ok(body)
    }

    /// Drops the entry for `key` from the index, but keeps its file.
    pub fn forget(&self, key: &Key) {
        self.note(|| Change::Removed(*key));
        let mut index = self.index();
        if let Some(old) = index.entries.remove(key) {
            index.charged -= old.charge();
        }
    }

    /// Drops the entry for `key` and its file, because an improvement replaced it.
    pub fn remove(&self, key: &Key) {
        let removed = self.index().entries.get(key).map(Arc::clone);
        if let Some(variant) = removed {
            self.forget(key);
            let path = self.shard_directory(key).join(variant.file_name());
            report_removal(&path, fs::remove_file(&path));
        }
    }

    /// Evicts the least recently used entries if the budget is exceeded.
    fn evict(&self) {
        for variant in self.take_evicted() {
            self.evicted.fetch_add(1, Ordering::Relaxed);
            self.note(|| Change::Removed(variant.key));
            let path = self.shard_directory(&variant.key).join(variant.file_name());
            report_removal(&path, fs::remove_file(&path));
        }
    }

    fn take_evicted(&self) -> Vec<Arc<Variant>> {
        let mut index = self.index();
        if index.charged <= self.bytes_max {
            return Vec::new();
        }
        let mut oldest: Vec<_> = index.entries.values().map(Arc::clone).collect();
        oldest.sort_by_key(|variant| variant.used_ms.load(Ordering::Relaxed));
        let goal = self.evict_to();
        let mut evicted = Vec::new();
        for variant in oldest {
            if index.charged <= goal {
                break;
            }
            index.charged -= variant.charge();
            index.entries.remove(&variant.key);
            evicted.push(variant);
        }
        evicted
    }

    /// Returns the number of bytes to which an eviction reduces the cache.
    fn evict_to(&self) -> u64 {
        self.bytes_max / 16 * EVICT_TO_SIXTEENTHS
    }

    /// Writes the times of last use of entries used since `since_ms` into the files' modification
    /// times, so that the order of eviction survives a restart.
    pub fn persist_uses(&self, since_ms: u64) {
        for variant in self.used_since(since_ms) {
            let path = self.shard_directory(&variant.key).join(variant.file_name());
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(variant.used_ms());
            let touched = File::open(&path).and_then(|file| file.set_modified(time));
            if let Err(err) = touched {
                // The file is gone or read-only: the order of eviction after a restart is slightly
                // outdated.
                tracing::debug!(file = %path.display(), %err, "cannot store the time of last use");
            }
        }
    }

    /// Returns the entries that were used since `since_ms`, in milliseconds since 1970.
    pub fn used_since(&self, since_ms: u64) -> Vec<Arc<Variant>> {
        let index = self.index();
        let entries = index.entries.values();
        entries
            .filter(|variant| since_ms <= variant.used_ms())
            .map(Arc::clone)
            .collect()
    }

    /// Returns the figures for the metrics.
    #[must_use]
    pub fn stats(&self) -> VariantStats {
        let index = self.index();
        VariantStats {
            entries: index.entries.len() as u64,
            bytes: index.charged,
            evicted: self.evicted.load(Ordering::Relaxed),
            write_errors: self.write_errors.load(Ordering::Relaxed),
        }
    }

    fn shard_directory(&self, key: &Key) -> PathBuf {
        self.directory
            .join(format!("{:02x}", key.0[0]))
            .join(format!("{:02x}", key.0[1]))
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        lock(&self.index)
    }
}

/// Error of a lookup while the directory has not been read completely: a missing entry may still
/// exist on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StillLoading;

/// Locks `mutex`. A panic ends the process, so a poisoned lock is never observed.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

fn create(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(path.parent().expect("lies in variants/tmp"))?;
            File::create_new(path)
        }
        // An earlier process with the same id left the file, which is overwritten.
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => File::create(path),
        result => result,
    }
}

fn copy(from: &Sealed, to: &File) -> io::Result<()> {
    const SLICE_BYTES: usize = 256 << 10;
    let bytes = from.bytes;
    let mut slice = vec![0; SLICE_BYTES.min(bytes as usize)];
    let mut offset = 0;
    while offset < bytes {
        let wanted = slice.len().min((bytes - offset) as usize);
        from.file
            .read_exact_at(&mut slice[..wanted], from.start + offset)?;
        to.write_all_at(&slice[..wanted], offset)?;
        offset += wanted as u64;
    }
    Ok(())
}

/// Lists a directory of variants. If that fails, for example because a foreign file has its name,
/// logs it and returns nothing, so that the other directories are still loaded.
fn listed(shard_directory: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let entries = fs::read_dir(shard_directory).inspect_err(|err| {
        tracing::warn!(directory = %shard_directory.display(), %err, "directory of variants cannot be listed");
    });
    entries.into_iter().flatten().flatten()
}

fn remove_stale(scratch: &Path) {
    let Ok(entries) = fs::read_dir(scratch) else {
        return;
    };
    let own = format!("{}-", std::process::id());
    for entry in entries.flatten() {
        if !entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(own.as_bytes())
        {
            report_removal(&entry.path(), fs::remove_file(entry.path()));
        }
    }
}

/// Logs a failed removal. A missing file is the desired state.
fn report_removal(path: &Path, removed: io::Result<()>) {
    if let Err(err) = removed
        && err.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(file = %path.display(), %err, "cannot remove the file");
    }
}

#[cfg(test)]
mod tests;
