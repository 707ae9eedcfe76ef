//! The table of programs and routes, and its replacement while requests are served.

use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, Entry, OnError};
use report::Error;
use server::mount::Mount;

use super::boot::{self, Bootable, Stamp};
use super::statistics::{self, Statistics};
use super::status::Status;
use super::unit::{Counts, Unit};

/// All programs, and their routes.
pub struct Programs {
    table: RwLock<Arc<Table>>,
    /// Held while programs boot and the table is replaced, so that one reload runs at a time.
    changing: Mutex<()>,
    backend: sandbox::Backend,
    pub(super) conversions: Arc<sandbox::Pool>,
    /// ELF image of the worker, which also loads programs.
    worker: &'static [u8],
}

/// Programs and routes of one configuration. A reload replaces the whole table.
#[derive(Default)]
pub(super) struct Table {
    pub(super) units: BTreeMap<String, Arc<Unit>>,
    /// Routes, longest path first, so that a search finds the most specific route first.
    pub(super) routes: Vec<Arc<Route>>,
}

/// Path prefix, and the programs that handle the requests below it.
pub(super) struct Route {
    pub(super) name: String,
    pub(super) path: String,
    /// Programs that handle a request: one, or several in a chain, in which each program gets the
    /// output of the previous one as its input.
    pub(super) stages: Vec<Arc<Unit>>,
    pub(super) fallback: Fallback,
    pub(super) counts: Arc<Counts>,
}

/// Response to a request whose program failed, as the setting [`OnError`] selects it.
pub(super) enum Fallback {
    Tell,
    Input,
    Target(String),
    Program(Arc<Unit>),
}

/// Starts only the cells of the program `name`, for a replay of a saved job. Failures in these
/// cells are not saved as reproducers.
pub fn alone(
    config: &Config,
    name: &str,
    backend: sandbox::Backend,
    worker: &'static [u8],
) -> Result<sandbox::Pool, Error> {
    let entry = config.programs.named(name).ok_or_else(|| {
        Error::usage(format!(
            "programs.{name}: the configuration has no such table"
        ))
        .hint("give the configuration file that contains the table by --config FILE")
    })?;
    let booted = Bootable::new(entry, config, backend)?.start(worker)?;
    Ok(booted.pool)
}

impl Programs {
    /// Boots all programs of `config`. `conversions` is the pool of workers that convert pictures.
    /// The programs use the backend of this pool, which is never [`sandbox::Backend::Auto`].
    pub fn start(
        config: &Config,
        conversions: Arc<sandbox::Pool>,
        worker: &'static [u8],
    ) -> Result<Arc<Programs>, Error> {
        let programs = Arc::new(Programs {
            table: RwLock::default(),
            changing: Mutex::new(()),
            backend: conversions.posture().backend,
            conversions,
            worker,
        });
        programs.apply(config)?;
        programs.watch(config.limits.program_check_time.0)?;
        Ok(programs)
    }

    /// Returns one mount for each route, one for the status of the cells, and one for their
    /// statistics.
    pub fn mounts(self: &Arc<Programs>) -> Vec<(String, Arc<dyn Mount>)> {
        let statistics: Arc<dyn Mount> = Arc::new(Statistics(Arc::clone(self)));
        let status: Arc<dyn Mount> = Arc::new(Status(Arc::clone(self)));
        let mut mounts = vec![
            (statistics::PATH.to_owned(), statistics),
            (super::status::PATH.to_owned(), status),
        ];
        for route in &self.table().routes {
            let programs: Arc<dyn Mount> = Arc::<Programs>::clone(self);
            mounts.push((route.path.clone(), programs));
        }
        mounts
    }

    /// Applies a new configuration. Boots new programs, and programs whose settings or file have
    /// changed. If a changed program fails to boot, its previous version keeps running.
    ///
    /// # Errors
    /// If a new program fails to boot. The table of routes then stays unchanged, but changed
    /// programs that booted before the failure keep their new version.
    pub fn apply(&self, config: &Config) -> Result<(), Error> {
        let _alone = self.changing.lock();
        let old = self.table();
        let mut units = BTreeMap::new();
        let entries = &config.programs.0;
        for entry in entries.iter().filter(|entry| !entry.is_chain()) {
            let plan = Bootable::new(entry, config, self.backend)?;
            let unit = match old.units.get(&entry.name) {
                Some(unit) => {
                    unit.renew(plan);
                    Arc::clone(unit)
                }
                None => Arc::new(Unit::start(plan, self.worker)?),
            };
            units.insert(entry.name.clone(), unit);
        }
        let routed = entries.iter().filter(|entry| !entry.route.is_empty());
        let mut routes: Vec<_> = routed.map(|entry| route(entry, &units, &old)).collect();
        routes.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
        let table = Arc::new(Table { units, routes });
        *self.table.write() = table;
        Ok(())
    }

    pub(super) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read())
    }

    /// Returns the route that `path` belongs to, if any.
    pub(super) fn route(&self, path: &str) -> Option<Arc<Route>> {
        let fits = |route: &&Arc<Route>| {
            let below = path.strip_prefix(route.path.as_str());
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        self.table().routes.iter().find(fits).map(Arc::clone)
    }

    /// Starts the thread that polls for changed files at the interval `every`. The thread ends
    /// after the programs are dropped.
    fn watch(self: &Arc<Programs>, every: Duration) -> Result<(), Error> {
        let programs = Arc::downgrade(self);
        let poll_files = move || {
            let mut changed_stamps: BTreeMap<String, Stamp> = BTreeMap::new();
            loop {
                std::thread::sleep(every);
                let Some(programs) = programs.upgrade() else {
                    return;
                };
                programs.poll_files(&mut changed_stamps);
            }
        };
        let thread = std::thread::Builder::new().name("programs".to_owned());
        thread
            .spawn(poll_files)
            .map_err(|err| Error::host(format!("cannot watch programs for changes: {err}")))?;
        Ok(())
    }

    /// Boots programs whose files have changed. A program is booted only if two successive polls
    /// find the same changed stamp (identity and version) of its file. While a file is being
    /// copied, its stamp changes from one poll to the next. `changed_stamps` holds the stamps of
    /// the files that the last poll found changed.
    fn poll_files(&self, changed_stamps: &mut BTreeMap<String, Stamp>) {
        let _alone = self.changing.lock();
        for (name, unit) in &self.table().units {
            unit.drop_unused_pools();
            match unit.changed() {
                Some(stamp) if changed_stamps.get(name) == Some(&stamp) => {
                    unit.renew_file();
                    changed_stamps.remove(name);
                }
                Some(stamp) => {
                    changed_stamps.insert(name.clone(), stamp);
                }
                None => {
                    changed_stamps.remove(name);
                }
            }
        }
    }
}

fn route(entry: &Entry, units: &BTreeMap<String, Arc<Unit>>, old: &Table) -> Arc<Route> {
    let unit = |name: &str| {
        Arc::clone(
            units
                .get(name)
                .expect("the configuration was checked: every named program exists"),
        )
    };
    let stages = if entry.is_chain() {
        entry.programs.0.iter().map(|name| unit(name)).collect()
    } else {
        vec![unit(&entry.name)]
    };
    let mut before = old.routes.iter();
    let before = before.find(|route| route.name == entry.name);
    Arc::new(Route {
        name: entry.name.clone(),
        path: entry.route.clone(),
        stages,
        fallback: match entry.on_error() {
            OnError::Tell => Fallback::Tell,
            OnError::Input => Fallback::Input,
            OnError::Target(target) => Fallback::Target(target.to_owned()),
            OnError::Program(name) => Fallback::Program(unit(name)),
        },
        counts: before.map_or_else(Arc::default, |route| Arc::clone(&route.counts)),
    })
}

/// Returns the faults of the configured programs that can be found without running them.
pub fn findings(config: &Config) -> impl Iterator<Item = Error> {
    let entries = config.programs.0.iter();
    let programs = entries.filter(|entry| !entry.is_chain());
    programs.filter_map(|entry| boot::check(entry).err())
}
