//! Prefetch: creation of variants ahead of requests, in every enabled format. Prefetched variants
//! are stored under the same keys as variants created on request.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use conversion::convert::{Outcome, Pace, Task, Terms};
use image_plan::{Recipe, Stage};
use variants::cache::{Key, Kind, Verdict};
use variants::library::{Identity, LibraryPath, Mount};
use wall_clock::unix_ms;

use crate::known::{Known, detect};
use crate::service::Service;

/// Maximum depth of folders that are visited. Deeper folders are logged and skipped.
const DEPTH_MAX: usize = 64;

/// Progress of a prefetch, while it runs or at its end.
#[derive(Debug, Default)]
pub struct PrefetchProgress {
    /// Number of originals that were processed, whatever the result.
    pub originals: AtomicU64,
    /// Number of variants created.
    pub created: AtomicU64,
    /// Number of variants that existed already, or were known to be no smaller than the original.
    pub existing: AtomicU64,
    /// Number of conversion results that were no smaller than their original.
    pub not_smaller: AtomicU64,
    /// Number of failed conversions; the log has the reasons.
    pub failed: AtomicU64,
    /// Total bytes of the originals, each added once per created variant.
    pub original_bytes: AtomicU64,
    /// Total bytes of the created variants.
    pub variant_bytes: AtomicU64,
}

impl Service {
    /// Returns every file that clients can request, in order of path.
    #[must_use]
    pub fn list_files(&self) -> Vec<LibraryPath> {
        self.list_files_below(Path::new(""))
    }

    /// Returns every file below `folder` that clients can request, in order of path.
    pub(crate) fn list_files_below(&self, folder: &Path) -> Vec<LibraryPath> {
        let mut found = Vec::new();
        for mount in &self.settings.mounts {
            let prefix = Path::new(mount.prefix.trim_matches('/'));
            match folder.strip_prefix(prefix) {
                Ok(rest) => walk(mount, rest, DEPTH_MAX, &mut found),
                Err(_) if prefix.starts_with(folder) => {
                    walk(mount, Path::new(""), DEPTH_MAX, &mut found);
                }
                Err(_) => {}
            }
        }
        found.retain(|path| !self.library().hides(path));
        found.sort();
        found.dedup();
        found
    }

    /// Creates the missing variants, at low or high effort, for each pair of original and recipe in
    /// `wanted`. Uses as many threads as conversions may run concurrently. Counts the progress in
    /// `progress`, which another thread may read meanwhile. Consecutive recipes of one original
    /// share a decode if possible.
    pub fn prefetch(
        &self,
        wanted: &[(LibraryPath, Recipe)],
        stage: Stage,
        progress: &PrefetchProgress,
    ) {
        let originals: Vec<_> = wanted.chunk_by(|a, b| a.0 == b.0).collect();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..self.settings.flight.concurrency {
                scope.spawn(|| {
                    while let Some(pairs_of_original) =
                        originals.get(next.fetch_add(1, Ordering::Relaxed))
                    {
                        self.prefetch_one(pairs_of_original, stage, progress);
                        progress.originals.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
    }

    /// Creates the missing variants of one original for the recipes in `recipes`, while requests
    /// are served: only on idle cores, and only while no request waits for a conversion. Counts its
    /// progress in `progress`. Creates nothing if `is_cancelled` is true before the start; a
    /// conversion that has started is finished. Blocks.
    pub fn prefetch_when_idle(
        &self,
        path: &LibraryPath,
        recipes: &[Recipe],
        progress: &PrefetchProgress,
        is_cancelled: &AtomicBool,
    ) {
        let (stage, pace) = (Stage::Better, Pace::Idle);
        if let Some((identity, tasks)) = self.missing_tasks(path, recipes, stage, pace, progress)
            && !tasks.is_empty()
        {
            let outcomes = self.flights.convert_when_idle(&tasks, is_cancelled);
            let counted = outcomes.iter();
            counted.for_each(|outcome| progress.count(&identity, outcome));
        }
        progress.originals.fetch_add(1, Ordering::Relaxed);
    }

    /// Creates the missing variants of one original.
    fn prefetch_one(
        &self,
        wanted: &[(LibraryPath, Recipe)],
        stage: Stage,
        progress: &PrefetchProgress,
    ) {
        let path = &wanted[0].0;
        let recipes: Vec<_> = wanted.iter().map(|(_, recipe)| *recipe).collect();
        let missing = self.missing_tasks(path, &recipes, stage, Pace::Awaited, progress);
        let Some((identity, tasks)) = missing.filter(|(_, tasks)| !tasks.is_empty()) else {
            return;
        };
        // No further memory limit is needed here, since the number of threads limits the memory.
        let mut terms = Terms {
            cancel: None,
            reserve_memory: &mut |_| true,
        };
        let outcomes = self.flights.converter().convert_all(&tasks, &mut terms);
        let counted = outcomes.iter();
        counted.for_each(|outcome| progress.count(&identity, outcome));
    }

    /// Returns the identity of one original, and the tasks that create its missing variants.
    /// Returns `None` if the original is not a picture.
    fn missing_tasks(
        &self,
        path: &LibraryPath,
        recipes: &[Recipe],
        stage: Stage,
        pace: Pace,
        progress: &PrefetchProgress,
    ) -> Option<(Identity, Vec<Task>)> {
        let detected = detect(self.library(), path, &self.settings.allowed_types, 1);
        let Ok((Known::Picture(facts), identity)) = detected else {
            return None;
        };
        let mut tasks: Vec<Task> = Vec::new();
        // Keys of the variants that were considered so far. Several requested sizes of a small
        // original lead to the same variant, since pictures are never enlarged, and each variant
        // needs only one task.
        let mut planned = HashSet::new();
        for recipe in recipes {
            let candidates = image_plan::candidates(&facts, recipe, self.settings.formats);
            let recipe = self.planned(*recipe);
            let limits = &self.settings.picture;
            for target in candidates.targets() {
                let plan = |stage| image_plan::plan(&facts, &recipe, target, stage, limits);
                let (Ok(better), Ok(quick)) = (plan(Stage::Better), plan(Stage::Quick)) else {
                    continue;
                };
                let keys = (Key::new(&identity, &better), Key::new(&identity, &quick));
                let (key, plan, replaces) = match stage {
                    Stage::Better => (keys.0, better, Some(keys.1)),
                    Stage::Quick => (keys.1, quick, None),
                };
                if !planned.insert(key) {
                    continue;
                }
                let is_there = |key| {
                    let found = self.variants().find_on_disk(key, unix_ms());
                    found.is_some()
                };
                if is_there(&keys.0) || is_there(&key) {
                    progress.existing.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                tasks.push(Task {
                    key,
                    plan,
                    path: path.clone(),
                    identity,
                    original_competes: candidates.original_competes,
                    replaces: replaces.filter(|quick| *quick != key),
                    pace,
                });
            }
        }
        Some((identity, tasks))
    }
}

impl PrefetchProgress {
    fn count(&self, identity: &Identity, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Cached(variant, _) => match variant.kind {
                Kind::Picture(_) | Kind::Sound => {
                    self.original_bytes
                        .fetch_add(identity.size_bytes, Ordering::Relaxed);
                    self.variant_bytes
                        .fetch_add(variant.bytes, Ordering::Relaxed);
                    &self.created
                }
                Kind::Verdict(Verdict::Larger | Verdict::Unimproved) => &self.not_smaller,
                Kind::Verdict(_) => &self.failed,
            },
            Outcome::Uncached(..) | Outcome::Changed | Outcome::Refused | Outcome::Cancelled => {
                &self.failed
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Adds the files below `folder` of a mount to `found`, without following links to folders.
fn walk(mount: &Mount, folder: &Path, depth: usize, found: &mut Vec<LibraryPath>) {
    let directory = mount.directory.join(folder);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        // The library may consist of several directories with different path prefixes. This folder
        // need not exist in all of them.
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return,
        Err(err) => {
            tracing::warn!(directory = %directory.display(), %err, "the folder cannot be listed");
            return;
        }
    };
    for entry in entries {
        let Ok(entry) =
            entry.inspect_err(|err| tracing::warn!(%err, "the folder cannot be listed completely"))
        else {
            return;
        };
        let path = folder.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth == 0 => {
                tracing::warn!(
                    directory = %directory.display(),
                    "folders are nested too deeply; the subfolders of this folder are skipped"
                );
            }
            Ok(kind) if kind.is_dir() => walk(mount, &path, depth - 1, found),
            Ok(_) => found.extend(LibraryPath::from_relative(
                &Path::new(mount.prefix.trim_matches('/')).join(path),
            )),
            Err(err) => {
                tracing::warn!(
                    path = %path.display(),
                    %err,
                    "the type of a file cannot be read; the file is skipped"
                )
            }
        }
    }
}
