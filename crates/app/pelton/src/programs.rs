//! Programs of the operator as routes of the server, each run in cells of its own
//! (`[programs.NAME]`, docs/cells.md).
//!
//! Principal type: [`Programs`], a mount of the service.
//!
//! ```text
//! request ─► route ─► unit ─► place (of its `concurrency`) ─► thread ─► cell ─► CGI output
//!                      ├─► next unit of the chain, which gets this output as input ─► …
//!                      └─► the fallback that `on_error` names, if a unit fails
//! ```
//!
//! A request has its whole body before it asks for a cell, and it holds a cell only while a program
//! runs: slow clients and the other programs of a chain occupy none. Threads: cores look the table
//! up and wait; each unit has as many threads as it may run requests at a time; the signals' thread
//! and the thread that polls for changed files boot programs. Locks are held for reads and swaps of
//! pointers, never during a boot or a run.

mod boot;
mod reply;
pub(crate) mod state;
mod status;
mod told;
mod unit;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use server::gate::Users;
use server::mount::{Mount, Mounts};

use boot::{Bootable, Stamp};
use config::{Config, Entry, OnError};
use report::Error;
use status::Status;
use told::Told;
use unit::{Counts, Unit};

/// All programs, and their routes.
pub(crate) struct Programs {
    table: RwLock<Arc<Table>>,
    /// Held while programs boot and the table is replaced, so that one reload runs at a time.
    changing: Mutex<()>,
    backend: sandbox::Backend,
    conversions: Arc<sandbox::Pool>,
}

/// Programs and routes between two reloads.
#[derive(Default)]
struct Table {
    units: BTreeMap<String, Arc<Unit>>,
    /// Sorted by the length of the path, longest first.
    routes: Vec<Arc<Route>>,
}

/// Path prefix, and the programs that handle it.
struct Route {
    name: String,
    path: String,
    /// One program, or the programs of a chain.
    stages: Vec<Arc<Unit>>,
    fallback: Fallback,
    counts: Arc<Counts>,
}

/// Response after a stage has failed, as in [`OnError`].
enum Fallback {
    Tell,
    Input,
    Target(String),
    Program(Arc<Unit>),
}

/// Starts the cells of one program, without reproducers of its failures.
pub(crate) fn alone(
    config: &Config,
    name: &str,
    backend: sandbox::Backend,
) -> Result<sandbox::Pool, Error> {
    let entry = config.programs.named(name).ok_or_else(|| {
        Error::usage(format!("programs.{name}: there is no such table"))
            .hint("--config FILE selects the configuration that has it")
    })?;
    let booted = Bootable::new(entry, config, backend)?.start()?;
    Ok(booted.pool)
}

impl Programs {
    /// Boots all programs of `config`. `conversions` is the pool of workers, whose backend is the
    /// one that [`sandbox::Backend::Auto`] selects on this host.
    pub(crate) fn start(
        config: &Config,
        conversions: Arc<sandbox::Pool>,
    ) -> Result<Arc<Programs>, Error> {
        let programs = Arc::new(Programs {
            table: RwLock::default(),
            changing: Mutex::new(()),
            backend: conversions.posture().backend,
            conversions,
        });
        programs.apply(config)?;
        programs.watch(config.limits.program_check_time.0)?;
        Ok(programs)
    }

    /// Returns the mounts of all routes, and those of the status and the statistics of cells.
    pub(crate) fn mounts(self: &Arc<Programs>) -> Vec<(String, Arc<dyn Mount>)> {
        let told: Arc<dyn Mount> = Arc::new(Told(Arc::clone(self)));
        let status: Arc<dyn Mount> = Arc::new(Status(Arc::clone(self)));
        let mut mounts = vec![
            (told::PATH.to_owned(), told),
            (status::PATH.to_owned(), status),
        ];
        for route in &self.table().routes {
            let programs: Arc<dyn Mount> = Arc::<Programs>::clone(self);
            mounts.push((route.path.clone(), programs));
        }
        mounts
    }

    /// Applies `config`: boots programs that are new or changed. A changed program that fails to
    /// boot keeps running as it was.
    ///
    /// # Errors
    /// If a new program fails to boot. The table does not change then, but programs that were
    /// already replaced stay replaced.
    pub(crate) fn apply(&self, config: &Config) -> Result<(), Error> {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
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
                None => Arc::new(Unit::start(plan)?),
            };
            units.insert(entry.name.clone(), unit);
        }
        let routed = entries.iter().filter(|entry| !entry.route.is_empty());
        let mut routes: Vec<_> = routed.map(|entry| route(entry, &units, &old)).collect();
        routes.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
        let table = Arc::new(Table { units, routes });
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
        Ok(())
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the route that `path` belongs to, if any.
    fn route(&self, path: &str) -> Option<Arc<Route>> {
        let fits = |route: &&Arc<Route>| {
            let below = path.strip_prefix(route.path.as_str());
            below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        };
        self.table().routes.iter().find(fits).map(Arc::clone)
    }

    /// Starts the thread that polls for changed files at the given interval, until the programs are
    /// dropped.
    fn watch(self: &Arc<Programs>, every: Duration) -> Result<(), Error> {
        let programs = Arc::downgrade(self);
        let look = move || {
            let mut seen: BTreeMap<String, Stamp> = BTreeMap::new();
            loop {
                std::thread::sleep(every);
                let Some(programs) = programs.upgrade() else {
                    return;
                };
                programs.look(&mut seen);
            }
        };
        let thread = std::thread::Builder::new().name("programs".to_owned());
        thread
            .spawn(look)
            .map_err(|err| Error::host(format!("watch programs: {err}")))?;
        Ok(())
    }

    /// Boots programs whose files differ from those that run, once a file is unchanged between two
    /// polls, because a copy over it is complete then. `seen` holds the stamps that the last poll
    /// saw of files that differ.
    fn look(&self, seen: &mut BTreeMap<String, Stamp>) {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, unit) in &self.table().units {
            unit.forget_the_past();
            match unit.changed() {
                Some(stamp) if seen.get(name) == Some(&stamp) => {
                    unit.renew_file();
                    seen.remove(name);
                }
                Some(stamp) => {
                    seen.insert(name.clone(), stamp);
                }
                None => {
                    seen.remove(name);
                }
            }
        }
    }
}

fn route(entry: &Entry, units: &BTreeMap<String, Arc<Unit>>, old: &Table) -> Arc<Route> {
    let unit = |name: &str| Arc::clone(units.get(name).expect("named programs exist, as checked"));
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
pub(crate) fn findings(config: &Config) -> impl Iterator<Item = Error> {
    let entries = config.programs.0.iter();
    let programs = entries.filter(|entry| !entry.is_chain());
    programs.filter_map(|entry| boot::check(entry).err())
}

/// Handlers of all requests outside the library.
pub(crate) struct Beside {
    pub(crate) programs: Arc<Programs>,
    /// Mounts that a reload does not change.
    pub(crate) others: Vec<(String, Arc<dyn Mount>)>,
    /// Users that may log in, if any; a reload does not change them.
    pub(crate) users: Option<Arc<dyn Users>>,
}

impl Beside {
    /// Returns all mounts in the form that the service takes.
    pub(crate) fn mounts(&self) -> Mounts {
        let mounts = Mounts::new([self.others.clone(), self.programs.mounts()].concat());
        mounts.with_users(self.users.clone())
    }

    /// Applies another configuration.
    ///
    /// # Errors
    /// If a new program fails to boot, see [`Programs::apply`].
    pub(crate) fn reload(&self, config: &Config) -> Result<(), Error> {
        self.programs.apply(config)
    }
}
