//! Resolution of all inputs into one configuration.
//!
//! ```text
//! default ◄ file ◄ WEBP_…, IMGPROXY_… ◄ PELTON_… ◄ flags (rightmost wins)
//! ```

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use image_plan::Grammar;
use report::Error;

use super::credentials::hide_passwords;
use super::nearest::nearest;
use super::settings::{Config, KEYS, Key};
use super::source::{Assignment, Note, NoteKind, Source};
use super::value::{Queries, Raw, Value, Wrong};
use super::{file, imgproxy, wsg};

/// Environment variables that begin with `PELTON_` but set no setting. `PELTON_CONFIG` is the path
/// of the configuration file. The other variables belong to the build and to upgrades.
const OTHER_VARIABLES: [&str; 4] = [
    "PELTON_CACHE",
    "PELTON_CONFIG",
    "PELTON_UPGRADE",
    "PELTON_WORKER",
];

/// Names and default of the setting `queries`: the name in Pelton, the name in WebP Server Go, and
/// the default in WebP Server Go. If settings of WebP Server Go are used, Pelton sets `queries` to
/// the value `webp-server-go`, which allows its resize parameters. WebP Server Go itself ignores
/// them by default, so Pelton reports the difference.
const QUERIES_OF_WSG: (&str, &str, &str) = ("queries", "ENABLE_EXTRA_PARAMS", "meta-only");

/// Inputs of the configuration, apart from the defaults.
#[derive(Default)]
pub struct Inputs {
    /// Path and text of the configuration file. If the name ends in `.json`, the file is parsed as
    /// a configuration of WebP Server Go, otherwise as TOML.
    pub file: Option<(PathBuf, String)>,
    /// Environment variables. Only variables whose names begin with `PELTON_`, `WEBP_` or
    /// `IMGPROXY_` are read.
    pub variables: Vec<(OsString, OsString)>,
    /// Values from the command line.
    pub flags: Vec<Assignment>,
}

/// Configuration, with the origin of each value.
#[derive(Debug)]
pub struct Resolved {
    /// Values of all settings.
    pub config: Config,
    /// Notes to the operator about settings of WebP Server Go and of imgproxy.
    pub notes: Vec<Note>,
    sources: BTreeMap<&'static str, Source>,
}

impl Resolved {
    /// Returns the origin of the value of `key`.
    pub fn source(&self, key: &Key) -> &Source {
        self.sources.get(key.name).unwrap_or(&Source::Default)
    }

    /// Assigns a value, unless another input has already set the same key.
    pub fn complete(&mut self, one: Assignment) -> Result<(), Error> {
        if self.sources.contains_key(one.key.name) {
            return Ok(());
        }
        (one.key.set)(&mut self.config, &one.raw).map_err(|wrong| refused(&one, wrong))?;
        self.sources.insert(one.key.name, one.source);
        Ok(())
    }
}

/// Resolves the configuration, or returns the errors of all inputs.
pub fn resolve(inputs: Inputs) -> Result<Resolved, Vec<Error>> {
    let mut resolver = Resolver {
        config: Config::default(),
        sources: BTreeMap::new(),
        notes: Vec::new(),
        errors: Vec::new(),
        wsg_file: None,
        wsg_source: None,
        imgproxy_source: None,
    };
    if let Some((path, text)) = inputs.file {
        resolver.file(path, &text);
    }
    resolver.wsg(wsg::variables(&inputs.variables));
    resolver.imgproxy(&inputs.variables);
    resolver.variables(&inputs.variables);
    for flag in inputs.flags {
        resolver.assign(flag);
    }
    resolver.finish()
}

struct Resolver {
    config: Config,
    sources: BTreeMap<&'static str, Source>,
    notes: Vec<Note>,
    errors: Vec<Error>,
    /// Path of the configuration file, if it is a file of WebP Server Go.
    wsg_file: Option<Arc<PathBuf>>,
    /// Origin of the first setting of WebP Server Go that was applied, if any.
    wsg_source: Option<Source>,
    /// Origin of the first setting of imgproxy that was applied, if any.
    imgproxy_source: Option<Source>,
}

impl Resolver {
    fn file(&mut self, path: PathBuf, text: &str) {
        let is_wsg = is_wsg(&path);
        let path = Arc::new(path);
        if is_wsg {
            self.wsg(wsg::file(&path, text));
            self.wsg_file = Some(path);
            return;
        }
        for one in file::read(&path, text) {
            match one {
                Ok(assignment) => self.assign(assignment),
                Err(error) => self.errors.push(error),
            }
        }
    }

    fn wsg(&mut self, given: wsg::WsgSettings) {
        let wsg::Taken {
            assignments,
            notes,
            errors,
        } = given.meaning(self.config.listen);
        let first = assignments.first().map(|one| one.source.clone());
        self.wsg_source = self.wsg_source.take().or(first);
        assignments.into_iter().for_each(|one| self.assign(one));
        self.notes.extend(notes);
        self.errors.extend(errors);
    }

    fn imgproxy(&mut self, variables: &[(OsString, OsString)]) {
        let (assignments, notes) = imgproxy::variables(variables);
        self.imgproxy_source = assignments.first().map(|one| one.source.clone());
        assignments.into_iter().for_each(|one| self.assign(one));
        self.notes.extend(notes);
    }

    fn variables(&mut self, variables: &[(OsString, OsString)]) {
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| name.starts_with("PELTON_")) else {
                continue;
            };
            match KEYS.iter().find(|key| key.variable() == name) {
                Some(key) => self.assign(Assignment {
                    key,
                    raw: Raw::Word(value.clone()),
                    source: Source::Variable(name.to_owned()),
                }),
                None if OTHER_VARIABLES.contains(&name) || is_injected(name) => {}
                None => self.errors.push(unknown_variable(name)),
            }
        }
    }

    fn assign(&mut self, one: Assignment) {
        match (one.key.set)(&mut self.config, &one.raw) {
            Ok(()) => {
                self.sources.insert(one.key.name, one.source);
            }
            Err(wrong) => self.errors.push(refused(&one, wrong)),
        }
    }

    /// Returns notes about the settings that were not given and whose default in Pelton differs
    /// from that in WebP Server Go.
    fn other_defaults(&self) -> Vec<Note> {
        let rows = wsg::OTHER_DEFAULTS.iter();
        rows.filter_map(|row| self.other_default(row)).collect()
    }

    fn other_default(&self, (name, there, default): &(&str, &str, &str)) -> Option<Note> {
        let path = self.wsg_file.as_ref()?.display();
        if self.sources.contains_key(name) {
            return None;
        }
        let key = Key::named(name).expect("the tables of `wsg` contain only known keys");
        let here = (key.show)(&self.config);
        Some(Note {
            kind: NoteKind::Taken,
            text: format!(
                "{path} does not set {there}, so {name} keeps Pelton's default, which is {here}; \
                 the default of WebP Server Go is {default}"
            ),
        })
    }

    /// Selects the query grammar of WebP Server Go if a setting of WebP Server Go was applied: the
    /// operator's web pages then contain queries in that grammar. Does nothing if `queries` or
    /// `strict_query` is set.
    fn queries_of_wsg(&mut self) {
        let is_given = |name| self.sources.contains_key(name);
        if let Some(source) = &self.wsg_source
            && !is_given("queries")
            && !is_given("strict_query")
        {
            self.config.queries = Queries(Grammar::WebpServerGo);
            self.notes.extend(self.other_default(&QUERIES_OF_WSG));
            self.sources.insert("queries", source.clone());
        }
    }

    fn finish(mut self) -> Result<Resolved, Vec<Error>> {
        self.queries_of_wsg();
        if self.errors.is_empty() {
            self.errors.extend(contradictions(&self.config));
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        self.notes.extend(self.other_defaults());
        let unused = imgproxy::unused(&self.config, self.imgproxy_source.as_ref());
        self.notes.extend(unused);
        Ok(Resolved {
            config: self.config,
            notes: self.notes,
            sources: self.sources,
        })
    }
}

/// Returns whether `path` is a configuration file of WebP Server Go. Such files have the extension
/// `.json`; Pelton's own files are TOML.
fn is_wsg(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Returns whether Kubernetes or Docker sets this variable for a service that is called "pelton".
fn is_injected(name: &str) -> bool {
    name == "PELTON_PORT" || name.starts_with("PELTON_PORT_") || name.starts_with("PELTON_SERVICE_")
}

fn unknown_variable(name: &str) -> Error {
    // Compares the names without the prefix `PELTON_`. With this common prefix, all names would
    // look similar.
    let rest = |variable: &str| variable["PELTON_".len()..].to_owned();
    let known: Vec<String> = KEYS.iter().map(|key| rest(&key.variable())).collect();
    let near = nearest(&rest(name), known.iter().map(String::as_str));
    Error::usage(format!("unknown variable: {name}")).hint(match near {
        Some(near) => format!("the nearest known variable is PELTON_{near}"),
        None => {
            "the name of a variable is PELTON_ and the key in capitals, with _ instead of the dot; \
                 pelton check lists every key"
                .to_owned()
        }
    })
}

fn refused(one: &Assignment, wrong: Wrong) -> Error {
    let place = one.source.with_name();
    Error::usage(match wrong {
        Wrong::Found(found) => {
            let found = hide_passwords(&found);
            format!("{place}: expected {}, found {found}", one.key.expected)
        }
        Wrong::Unsupported(what) | Wrong::Because(what) => {
            format!("{place}: {}", hide_passwords(&what))
        }
    })
}

/// Returns an error if two valid settings contradict each other.
fn contradictions(config: &Config) -> Option<Error> {
    let (one, all) = (config.cell.max_work_memory, config.limits.convert_bytes_max);
    (all < one).then(|| {
        Error::usage(format!(
            "cell.max_work_memory is {}, more than limits.convert_bytes_max, which is {}",
            one.show(),
            all.show()
        ))
        .because("a conversion that needs all of cell.max_work_memory could never start")
    })
}

/// Returns the value of a variable, if it is set and not empty.
pub(crate) fn variable<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    let (_, value) = variables.iter().find(|(other, _)| other == name)?;
    Some(value)
        .filter(|value| !value.is_empty())
        .map(OsString::as_os_str)
}
