//! Cache of variants (encoded results) on the disk, with a limit on its size in bytes. The least
//! recently used entries are evicted. The cache also contains verdicts, each of which is the reason
//! why an original has no variant.
//!
//! ```text
//! variants/ab/cd/KEY-LENGTH.avif         a variant; KEY begins with ab cd
//! variants/ab/cd/KEY-0.larger            a verdict: the result was not smaller than the original
//! variants/tmp/PID-N                     a file that is being written
//! ```
//!
//! A file is renamed to its final name when it is complete, and the name contains its length. So a
//! file that was truncated by a power failure is detected and removed. The directory may be deleted
//! at any time, even while the server runs.
//!
//! Threads: all cores (pinned threads that serve requests) and all conversion threads share the
//! cache. The one lock guards the index. It is held for a few map operations and never during I/O.
//! A core also has a cache of its own; an entry that is found there needs no lock.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use image_plan::{Plan, Target};
use wall_clock::unix_ms;

use openmetrics::Text;

use crate::library::Identity;
use crate::sealed::Sealed;
use crate::shared_index::{Change, SharedEntry, SharedIndex};

/// Version of the picture encoders. Increased whenever the same plan would produce different bytes,
/// for example with a new codec or another filter.
pub const ENCODER_VERSION: u32 = 7;
/// Version of the audio encoder. Increased whenever the same plan would produce different bytes.
const SOUND_VERSION: u32 = 1;
/// Number of bytes that each file adds to the size of the cache besides its length, for its inode
/// and directory entry.
const ENTRY_BYTES: u64 = 512;
/// Interval at which times of last use are written to the disk.
const PERSIST_USES: std::time::Duration = std::time::Duration::from_secs(60);
/// Lifetime of a verdict (the reason why there is no variant) that is kept only in memory, in
/// milliseconds.
const REMEMBER_MS: u64 = 60_000;
/// Size to which eviction reduces the cache, in sixteenths of the maximum size.
const EVICT_TO_SIXTEENTHS: u64 = 15;

/// Number of bytes at the beginning of a key that depend only on the version of the original.
const ORIGINAL_BYTES: usize = 8;

/// Beginning of the keys of all variants of one version of an original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OriginalKey([u8; ORIGINAL_BYTES]);

impl OriginalKey {
    /// Returns the beginning of the keys of all variants of the original `identity`.
    #[must_use]
    pub fn new(identity: &Identity) -> OriginalKey {
        let mut key = [0; ORIGINAL_BYTES];
        let mut hash = blake3::Hasher::new();
        hash.update(&identity.to_bytes())
            .finalize_xof()
            .fill(&mut key);
        OriginalKey(key)
    }
}

/// Key of a variant. It consists of two hashes: that of the original's version, and that of the
/// original's version, the plan and the version of the encoders. So all variants of an original can
/// be found by the beginning of their keys.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key([u8; 16]);

impl Key {
    /// Returns the key of the variant that `plan` produces from the original `identity`.
    #[must_use]
    pub fn new(identity: &Identity, plan: &Plan) -> Key {
        let mut hash = blake3::Hasher::new();
        hash.update(&ENCODER_VERSION.to_le_bytes());
        hash.update(&identity.to_bytes());
        hash.update(&plan.to_bytes());
        Key::end(identity, &hash)
    }

    /// Returns the key of the variant that an audio plan produces from the original `identity`.
    #[must_use]
    pub fn of_sound(identity: &Identity, plan: &audio_plan::Plan) -> Key {
        let mut hash = blake3::Hasher::new();
        hash.update(&SOUND_VERSION.to_le_bytes());
        hash.update(&identity.to_bytes());
        // Keys of tracks differ from those of pictures, since audio plans and picture plans differ
        // in length and in their first bytes.
        hash.update(&plan.to_bytes());
        Key::end(identity, &hash)
    }

    fn end(identity: &Identity, hash: &blake3::Hasher) -> Key {
        let mut key = [0; 16];
        let (original, rest) = key.split_at_mut(ORIGINAL_BYTES);
        original.copy_from_slice(&OriginalKey::new(identity).0);
        hash.finalize_xof().fill(rest);
        Key(key)
    }

    /// Returns the part of the key that all variants of the same version of an original share.
    fn original(&self) -> OriginalKey {
        let (original, _) = self.0.split_first_chunk().expect("the key is longer");
        OriginalKey(*original)
    }

    /// Parses a key from its 32 hexadecimal digits.
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

/// Reason why there is no variant for a key, so that no conversion should be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The result was not smaller than the original.
    Larger,
    /// A conversion at higher effort did not give a smaller result than the variant that was
    /// encoded at low effort, which remains in the cache.
    Unimproved,
    /// The original cannot be decoded.
    Undecodable,
    /// The original uses a feature that no decoder supports.
    Unsupported,
    /// The job exceeded its memory or time limit. Never written to the disk, since limits may be
    /// higher after the next start.
    TooCostly,
    /// The encoder failed with the settings of the plan, or a conversion at higher effort crashed
    /// its worker.
    Unencodable,
    /// The worker crashed, hung or violated the protocol. Never written to the disk: the server may
    /// be at fault, so the original is tried again later.
    Faulty,
    /// The original crashed workers too often. Never written to the disk, since an operator can
    /// lift the quarantine.
    Quarantined,
}

impl Verdict {
    /// Returns whether the verdict applies to one output format only. A conversion to another
    /// format may then succeed.
    #[must_use]
    pub fn is_of_format(self) -> bool {
        matches!(self, Verdict::TooCostly | Verdict::Unencodable)
    }

    /// Returns whether the worker is at fault and not the original, so that the server may send the
    /// original instead of an error.
    #[must_use]
    pub fn is_of_worker(self) -> bool {
        matches!(
            self,
            Verdict::Unencodable | Verdict::Faulty | Verdict::Quarantined
        )
    }
}

/// Content of an entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A picture in this format.
    Picture(Target),
    /// A track: Opus in Ogg.
    Sound,
    /// No variant, for this reason.
    Verdict(Verdict),
}

impl Kind {
    /// Result that was not smaller than the original. This is the most common reason for a missing
    /// variant and not a failure.
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

    /// Returns the suffix of file names for this kind of content.
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

    /// Returns the kind of content that the suffix of a file name stands for.
    pub fn from_extension(extension: &str) -> Option<Kind> {
        let verdict = Kind::VERDICTS.iter().find(|row| row.1 == extension);
        match verdict {
            Some(row) => Some(Kind::Verdict(row.0)),
            None if extension == audio_plan::SUFFIX => Some(Kind::Sound),
            None => Target::from_extension(extension).map(Kind::Picture),
        }
    }
}

/// Entry of the index. Only its time of last use changes.
#[derive(Debug)]
pub struct Variant {
    /// Key of the entry.
    pub key: Key,
    /// Format of the variant, or the reason why there is no variant.
    pub kind: Kind,
    /// Length of the file in bytes; 0 if there is no variant.
    pub bytes: u64,
    /// Time at which the entry expires, in milliseconds since 1970. Only entries without a variant
    /// can expire.
    expires_ms: Option<u64>,
    /// Time of last use, in milliseconds since 1970. Entries with the earliest times are evicted
    /// first.
    used_ms: AtomicU64,
    /// Content of the file, if any core holds it in memory.
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

    /// Returns whether a conversion at higher effort may give a better result. Returns false for
    /// failures, which do not depend on the effort.
    #[must_use]
    pub fn is_useful(&self) -> bool {
        matches!(self.kind, Kind::Picture(_) | Kind::Sound | Kind::LARGER)
    }

    /// Records a use at `now_ms`, in milliseconds since 1970.
    pub fn touch(&self, now_ms: u64) {
        // Most hits of a popular variant occur in the same millisecond as another hit. These hits
        // only load the time and write nothing, so the time's cache line stays shared by all cores.
        if self.used_ms.load(Ordering::Relaxed) < now_ms {
            self.used_ms.store(now_ms, Ordering::Relaxed);
        }
    }

    /// Returns the time of last use, in milliseconds since 1970.
    pub fn used_ms(&self) -> u64 {
        self.used_ms.load(Ordering::Relaxed)
    }

    /// Returns the time at which the entry expires, in milliseconds since 1970, or `None` if it
    /// does not expire.
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

/// Index of all variants and the directory that contains them.
#[derive(Debug)]
pub struct Variants {
    directory: PathBuf,
    bytes_max: u64,
    index: Mutex<Index>,
    /// True after the whole directory has been read.
    loaded: AtomicBool,
    /// True if the last write succeeded. Only a change of this value is logged.
    writable: AtomicBool,
    temporary: AtomicU64,
    evicted: AtomicU64,
    purged: AtomicU64,
    write_errors: AtomicU64,
    /// Index in a store that is shared by processes, if one is configured. It records every change
    /// of this index.
    shared_index: Option<Arc<SharedIndex>>,
}

#[derive(Debug, Default)]
struct Index {
    entries: HashMap<Key, Arc<Variant>>,
    charged: u64,
}

/// State and counters of the cache, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariantStats {
    /// Number of entries in the index.
    pub entries: u64,
    /// Size of all entries, in bytes.
    pub bytes: u64,
    /// Number of entries that were evicted.
    pub evicted: u64,
    /// Number of entries that were purged.
    pub purged: u64,
    /// Number of variants that could not be written to the disk.
    pub write_errors: u64,
}

impl VariantStats {
    /// Writes the metrics of the variant cache.
    pub fn render(&self, text: &mut Text) {
        text.gauge(
            "pelton_variants",
            "entries of the index: variants, and records of why an original has no variant",
            self.entries,
        );
        text.gauge(
            "pelton_variants_bytes",
            "bytes of variants and of their index entries, which count against the limit of the \
             cache",
            self.bytes,
        );
        text.counter(
            "pelton_variants_evicted",
            "entries of the index evicted to stay within the limit of the cache",
            self.evicted,
        );
        text.counter(
            "pelton_variants_purged",
            "entries of the index that an operator purged",
            self.purged,
        );
        text.counter(
            "pelton_variants_write_errors",
            "variants that could not be written to the disk",
            self.write_errors,
        );
    }
}

impl Variants {
    /// Returns an empty index of the variants in the data directory `data`, which may use
    /// `bytes_max` bytes. [`Variants::load`] reads the existing entries.
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
            purged: AtomicU64::new(0),
            write_errors: AtomicU64::new(0),
            shared_index: None,
        }
    }

    /// Returns this index. From now on, it records its changes in `shared_index`, if any.
    #[must_use]
    pub fn recorded(self, shared_index: Option<Arc<SharedIndex>>) -> Variants {
        Variants {
            shared_index,
            ..self
        }
    }

    fn note(&self, change: impl FnOnce() -> Change) {
        if let Some(shared_index) = &self.shared_index {
            shared_index.note(change());
        }
    }

    /// Returns an identifier of the directory. Processes on this machine that use the same
    /// directory get the same identifier. Creates the directory if necessary. If the creation
    /// fails, the identifier is unique to this process.
    pub fn files(&self) -> String {
        // If this fails, writing a variant fails too and reports the error.
        drop(fs::create_dir_all(&self.directory));
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        match fs::metadata(&self.directory) {
            Ok(found) => format!("{host}:{}:{}", found.dev(), found.ino()),
            Err(_) => format!("{host}:0:{}", std::process::id()),
        }
    }

    /// Adds `found`, which the shared index contains for `key`, to this index. Returns `None` if
    /// the file of the variant cannot be opened. Blocks.
    pub fn recall(&self, key: &Key, found: SharedEntry, now_ms: u64) -> Option<Arc<Variant>> {
        let SharedEntry { kind, bytes } = found;
        let mut variant = Variant::new(*key, kind, bytes, now_ms);
        match kind {
            // The file may have been removed, or may be on another machine.
            Kind::Picture(_) | Kind::Sound => drop(self.open(&variant).ok()?),
            // The reason why there is no variant is kept in memory for a short time only, so that
            // later requests query the shared index again.
            Kind::Verdict(_) => variant.expires_ms = Some(now_ms + REMEMBER_MS),
        }
        let variant = Arc::new(variant);
        self.add_to_index(Arc::clone(&variant));
        Some(variant)
    }

    /// Returns the entry for `key`, if the index contains it.
    ///
    /// # Errors
    /// [`StillLoading`] if the index lacks the entry and the directory has not been read
    /// completely, so that the entry may exist on the disk. Code that may block then calls
    /// [`Variants::find_on_disk`].
    pub fn find(&self, key: &Key, now_ms: u64) -> Result<Option<Arc<Variant>>, StillLoading> {
        // The flag must be read before the index is searched. Otherwise loading could add the entry
        // and finish between the search and the reading of the flag, and the entry would be
        // reported as missing.
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

    /// Returns whether the index contains all entries of the directory.
    pub fn is_complete(&self) -> bool {
        self.loaded.load(Ordering::Acquire)
    }

    /// Returns the entry for `key`, if any. Also searches the directory if the index is not
    /// completely loaded. Blocks.
    pub fn find_on_disk(&self, key: &Key, now_ms: u64) -> Option<Arc<Variant>> {
        if let Ok(known) = self.find(key, now_ms) {
            return known;
        }
        let name = key.to_string();
        let shard_directory = self.shard_directory(key);
        // If the subdirectory does not exist, no variant has been stored in it.
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

    /// Runs the maintenance thread: loads the directory, and then writes times of last use to the
    /// disk at intervals. Returns when all other owners have dropped the index.
    pub fn maintain(self: Arc<Self>) {
        if let Err(err) = self.load() {
            tracing::warn!(directory = %self.directory.display(), %err, "the directory of variants cannot be read; variants on disk are not used");
        }
        let mut since_ms = unix_ms();
        while Arc::strong_count(&self) > 1 {
            std::thread::park_timeout(PERSIST_USES);
            let now_ms = unix_ms();
            self.persist_uses(since_ms);
            since_ms = now_ms;
        }
    }

    /// Loads all files of the directory into the index. Removes invalid files, and incomplete files
    /// of a crashed process.
    ///
    /// # Errors
    /// If the directory exists but cannot be listed. The index then counts as completely loaded.
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

    /// Adds to this index a file that an earlier process has stored. Removes the file if it is
    /// invalid or obsolete.
    fn adopt(&self, entry: &fs::DirEntry) {
        let Ok(meta) = entry.metadata() else { return }; // Removed meanwhile.
        let used_ms =
            u64::try_from(meta.mtime()).unwrap_or(0) * 1000 + meta.mtime_nsec() as u64 / 1_000_000;
        let name = entry.file_name();
        match name
            .to_str()
            .and_then(|name| Variant::from_file_name(name, used_ms))
        {
            // Earlier versions wrote this verdict to the disk, where it stayed even after the
            // limits were increased. Now the verdict is kept in memory only, so its file is
            // removed.
            Some(variant) if variant.kind == Kind::Verdict(Verdict::TooCostly) => {
                report_removal(&entry.path(), fs::remove_file(entry.path()));
            }
            Some(variant) if variant.bytes == meta.len() => {
                let mut index = self.index();
                // If the index already contains the key, its entry is newer than the listing of the
                // directory.
                if !index.entries.contains_key(&variant.key) {
                    index.charged += variant.charge();
                    index.entries.insert(variant.key, Arc::new(variant));
                }
            }
            _ => {
                tracing::warn!(file = %entry.path().display(), "removed a file from the directory of variants, because its name or length is wrong");
                report_removal(&entry.path(), fs::remove_file(entry.path()));
            }
        }
    }

    /// Stores the result of a conversion.
    ///
    /// # Errors
    /// If the file cannot be written, or is larger than the cache. The caller can still send the
    /// bytes.
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
                // No fsync: after a power failure, a lost variant is converted again, and a
                // truncated one is detected by its length.
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
            Ok(()) if !was_writable => tracing::info!("variants can be written to the disk again"),
            Ok(()) => {}
            Err(err) => {
                self.write_errors.fetch_add(1, Ordering::Relaxed);
                if was_writable {
                    let directory = self.directory.display();
                    tracing::warn!(%directory, %err, "variants cannot be written to the disk; the server continues without storing them");
                }
            }
        }
    }

    /// Stores the reason why there is no variant for `key`, in memory only and for one minute.
    pub fn remember(&self, key: Key, verdict: Verdict, now_ms: u64) -> Arc<Variant> {
        let mut variant = Variant::new(key, Kind::Verdict(verdict), 0, now_ms);
        variant.expires_ms = Some(now_ms + REMEMBER_MS);
        let variant = Arc::new(variant);
        self.insert(Arc::clone(&variant));
        variant
    }

    /// Stores in memory that the conversion for `key` is too costly, until `expires_ms` if that is
    /// given. This is not written to the disk, since limits may be higher after the next start.
    pub fn remember_costly(&self, key: Key, now_ms: u64, expires_ms: Option<u64>) -> Arc<Variant> {
        let costly = |expires_ms| {
            let mut variant = Variant::new(key, Kind::Verdict(Verdict::TooCostly), 0, now_ms);
            variant.expires_ms = expires_ms;
            Arc::new(variant)
        };
        // Other processes may have higher limits, so the entry of the shared index always expires.
        let shared = costly(Some(now_ms + REMEMBER_MS));
        self.note(|| Change::Set(shared));
        let variant = costly(expires_ms);
        self.add_to_index(Arc::clone(&variant));
        variant
    }

    fn insert(&self, variant: Arc<Variant>) {
        self.note(|| Change::Set(Arc::clone(&variant)));
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
    /// If the file cannot be opened, or its length differs from that in the index. If the file does
    /// not exist or has the wrong length, the entry is removed from the index, so that the next
    /// request converts the original again.
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
            // Other errors are failures of the host. The file may still be intact, so its entry
            // stays.
            if matches!(
                err.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof
            ) {
                self.forget(&variant.key);
            }
        })
    }

    /// Returns the content of a variant. All cores that hold it in memory share one copy.
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

    /// Returns the content of a variant that was just converted, from the memory file `sealed`. All
    /// cores that hold it in memory share one copy.
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

    /// Removes the entry for `key` from the index, but keeps its file.
    pub fn forget(&self, key: &Key) {
        self.note(|| Change::Removed(*key));
        let mut index = self.index();
        if let Some(old) = index.entries.remove(key) {
            index.charged -= old.charge();
        }
    }

    /// Removes the entry for `key` and its file, because a variant of higher effort has replaced
    /// it.
    pub fn remove(&self, key: &Key) {
        let removed = self.index().entries.get(key).map(Arc::clone);
        if let Some(variant) = removed {
            self.forget(key);
            let path = self.shard_directory(key).join(variant.file_name());
            report_removal(&path, fs::remove_file(&path));
        }
    }

    /// Removes the variants of the given originals from the index and their files from the disk.
    /// Removes all variants if `originals` is `None`. Blocks.
    ///
    /// # Errors
    /// [`StillLoading`] if the directory of variants has not been read completely. Nothing is
    /// removed in this case.
    pub fn purge(&self, originals: Option<&HashSet<OriginalKey>>) -> Result<Purged, StillLoading> {
        if !self.is_complete() {
            return Err(StillLoading);
        }
        let is_wanted = |key: &Key| originals.is_none_or(|wanted| wanted.contains(&key.original()));
        let removed = {
            let mut index = self.index();
            let removed = index.entries.extract_if(|key, _| is_wanted(key));
            let removed: Vec<_> = removed.map(|(_, variant)| variant).collect();
            index.charged -= removed.iter().map(|variant| variant.charge()).sum::<u64>();
            removed
        };
        for variant in &removed {
            // A request may have created the variant again since its entry was removed. Then the
            // shared index keeps the key, and a file of the same name belongs to the new entry.
            let current = self.index().entries.get(&variant.key).map(Arc::clone);
            if current.is_none() {
                self.note(|| Change::Removed(variant.key));
            }
            if current.is_some_and(|it| it.file_name() == variant.file_name()) {
                continue;
            }
            let path = self.shard_directory(&variant.key).join(variant.file_name());
            report_removal(&path, fs::remove_file(&path));
        }
        let purged = Purged {
            entries: removed.len() as u64,
            bytes: removed.iter().map(|variant| variant.bytes).sum(),
        };
        self.purged.fetch_add(purged.entries, Ordering::Relaxed);
        Ok(purged)
    }

    /// Evicts the least recently used entries if the cache is larger than its limit.
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

    /// Returns the size to which eviction reduces the cache, in bytes.
    fn evict_to(&self) -> u64 {
        self.bytes_max / 16 * EVICT_TO_SIXTEENTHS
    }

    /// Writes the times of last use since `since_ms` to the disk, as modification times of the
    /// files. A later process can then evict in the same order.
    pub fn persist_uses(&self, since_ms: u64) {
        for variant in self.used_since(since_ms) {
            let path = self.shard_directory(&variant.key).join(variant.file_name());
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(variant.used_ms());
            let touched = File::open(&path).and_then(|file| file.set_modified(time));
            if let Err(err) = touched {
                // The file may have been removed, or the disk is read-only. Then the order of
                // eviction is less accurate after a restart.
                tracing::debug!(file = %path.display(), %err, "cannot store the time of a variant's last use");
            }
        }
    }

    /// Returns the entries that were used at or after `since_ms`, in milliseconds since 1970.
    pub fn used_since(&self, since_ms: u64) -> Vec<Arc<Variant>> {
        let index = self.index();
        let entries = index.entries.values();
        entries
            .filter(|variant| since_ms <= variant.used_ms())
            .map(Arc::clone)
            .collect()
    }

    /// Returns the state and the counters of the cache, for the metrics.
    #[must_use]
    pub fn stats(&self) -> VariantStats {
        let index = self.index();
        VariantStats {
            entries: index.entries.len() as u64,
            bytes: index.charged,
            evicted: self.evicted.load(Ordering::Relaxed),
            purged: self.purged.load(Ordering::Relaxed),
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

/// Number and total size of the entries that a purge removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Number of entries: variants, and verdicts that say why a picture has no variant.
    pub entries: u64,
    /// Total size of the files, in bytes.
    pub bytes: u64,
}

/// Error of a search while the directory has not been read completely: an entry that the index
/// lacks may exist on the disk.
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
        // The file was left by an earlier process with the same id. Overwrite it.
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

/// Returns the files in one directory of the cache. If the directory cannot be listed, logs the
/// error and returns no entries, so that the other directories can still be loaded. For example, a
/// foreign file may have the name of the directory.
fn listed(shard_directory: &Path) -> impl Iterator<Item = fs::DirEntry> {
    let entries = fs::read_dir(shard_directory).inspect_err(|err| {
        tracing::warn!(directory = %shard_directory.display(), %err, "a folder in the directory of variants cannot be read; its variants are not used");
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

/// Logs an error that occurred when a file was removed. A file that does not exist is not an error.
fn report_removal(path: &Path, removed: io::Result<()>) {
    if let Err(err) = removed
        && err.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(
            file = %path.display(),
            %err,
            "cannot remove a file from the directory of variants"
        );
    }
}

#[cfg(test)]
mod tests;
