//! Settings of programs that serve routes, and of chains of programs: the tables `[programs.NAME]`.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::PathBuf;

use toml::de::DeValue;

use super::file;
use super::nearest::nearest;
use super::value::{Bytes, Raw, Timeout, Value, Wrong};

/// Value of `on_error` that selects the request's body as the response.
const INPUT: &str = "input";
/// Maximum number of programs in a chain. Clients would not wait for the response of a longer
/// chain.
const CHAIN_MAX: usize = 16;

/// All configured programs and chains of programs, sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs(pub Vec<Entry>);

/// Settings of one program or chain, from its table `[programs.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name of the program or chain: the last part of the table's name `[programs.NAME]`.
    pub name: String,
    /// Path of the executable. Exactly one of `path` and `programs` is set.
    pub path: PathBuf,
    /// Names of the programs in a chain. The output of each program is the input of the next
    /// program.
    pub programs: Words,
    /// Path prefix of the URLs that the program serves; empty if it has no route. A program without
    /// a route runs only as a part of a chain or as the fallback of another program.
    pub route: String,
    /// Response after a failure, parsed by [`Entry::on_error`].
    pub on_error: String,
    /// Command-line arguments of the program, without its name.
    pub main_arguments: Words,
    /// Environment variables as `NAME=VALUE`, the same for every request.
    pub environment: Words,
    /// Files that the program may read.
    pub allowed_paths: Words,
    /// True if the program's memory is reset after each request.
    pub ephemeral: bool,
    /// Maximum number of concurrent requests.
    pub concurrency: NonZeroU32,
    /// True if code and data are placed in huge pages.
    pub hugepages: bool,
    /// True if the memory of a request is placed in huge pages.
    pub request_hugepages: bool,
    /// True if the page tables of the program's microVM are logged when it boots.
    pub verbose_pagetables: bool,
    /// Time limit for starting the program, including the warm-up.
    pub max_boot_time: Timeout,
    /// Time limit of one request, both by the wall clock and in CPU time.
    pub max_request_time: Timeout,
    /// Maximum memory that the program may use before it gets a request, mainly for its code and
    /// data.
    pub max_memory: Bytes,
    /// Maximum memory that one request may use, in addition to `max_memory`.
    pub max_work_memory: Bytes,
    /// Maximum size of a response.
    pub max_output: Bytes,
    /// Maximum size of the store in which the program keeps state between requests.
    pub max_state: Bytes,
    /// Number of synthetic requests that the program must answer before it gets requests of
    /// clients.
    pub warmup: u32,
}

/// Response after a program has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnError<'a> {
    /// An error response.
    Tell,
    /// A response whose body is a copy of the request's body.
    Input,
    /// The response of the library to a request for this target.
    Target(&'a str),
    /// The response of the program with this name.
    Program(&'a str),
}

/// List of strings, in the order in which the user wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Vec<String>);

impl Entry {
    fn new(name: &str) -> Entry {
        Entry {
            name: name.to_owned(),
            path: PathBuf::new(),
            programs: Words::default(),
            route: String::new(),
            on_error: String::new(),
            main_arguments: Words::default(),
            environment: Words::default(),
            allowed_paths: Words::default(),
            ephemeral: true,
            concurrency: NonZeroU32::new(2).expect("not zero"),
            hugepages: true,
            request_hugepages: true,
            verbose_pagetables: false,
            max_boot_time: Timeout::seconds(16),
            max_request_time: Timeout::seconds(8),
            max_memory: Bytes::mib(256),
            max_work_memory: Bytes::mib(64),
            max_output: Bytes::mib(64),
            max_state: Bytes(0),
            warmup: 1,
        }
    }

    /// Returns whether this is a chain of other programs.
    pub fn is_chain(&self) -> bool {
        !self.programs.0.is_empty()
    }

    /// Returns the response after a failure, as `on_error` selects it.
    pub fn on_error(&self) -> OnError<'_> {
        match self.on_error.as_str() {
            "" => OnError::Tell,
            INPUT => OnError::Input,
            target if target.starts_with('/') => OnError::Target(target),
            program => OnError::Program(program),
        }
    }

    /// Returns a description of the first fault within this entry, if any.
    fn fault(&self) -> Option<String> {
        let has_path = !self.path.as_os_str().is_empty();
        let fault = match () {
            () if self.name == INPUT => {
                "a program cannot have the name \"input\", because on_error = \"input\" sends the \
                 body of the request back"
            }
            () if has_path == self.is_chain() => "exactly one of path and programs must be set",
            () if CHAIN_MAX < self.programs.0.len() => "the chain has more than 16 programs",
            () if !self.ephemeral && 0 < self.max_state.0 => {
                "max_state is only for ephemeral programs: with ephemeral = false a program keeps its own state"
            }
            () if !is_route(&self.route) => {
                "route: expected a path such as \"/x/resize\"; / and paths below /-/ are reserved"
            }
            () if self.environment.0.iter().any(|word| !word.contains('=')) => {
                "environment: expected NAME=VALUE"
            }
            () => return None,
        };
        Some(format!("{}: {fault}", self.name))
    }
}

/// Returns whether `route` is empty or a plain path outside the reserved `/-/`.
fn is_route(route: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let path = route.len() > 1 && route.starts_with('/') && !route.ends_with('/');
    let free = route != "/-" && !route.starts_with("/-/") && !route.contains("//");
    route.is_empty() || path && free && route.bytes().all(plain)
}

impl Programs {
    /// Returns the entry called `name`, if any.
    pub fn named(&self, name: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.name == name)
    }

    /// Returns a description of the first fault, if any: a fault within an entry, or a
    /// contradiction between entries.
    fn fault(&self) -> Option<String> {
        let is_program = |name: &str| self.named(name).is_some_and(|entry| !entry.is_chain());
        let mut routes = BTreeSet::new();
        for entry in &self.0 {
            if let Some(fault) = entry.fault() {
                return Some(fault);
            }
            if !entry.route.is_empty() && !routes.insert(&entry.route) {
                return Some(format!(
                    "{}: another program has the same route",
                    entry.name
                ));
            }
            let fallback = match entry.on_error() {
                OnError::Program(name) => Some(name),
                _ => None,
            };
            let named = entry.programs.0.iter().map(String::as_str).chain(fallback);
            if let Some(name) = named.into_iter().find(|name| !is_program(name)) {
                return Some(format!("{}: no program is called {name}", entry.name));
            }
        }
        None
    }
}

impl Value for Programs {
    const EXPECTED: &'static str = "a table per program: [programs.NAME] in the configuration \
                                    file, { NAME = { path = \"…\", route = \"/x/NAME\" } } in a \
                                    flag or variable";

    fn read(raw: &Raw) -> Result<Programs, Wrong> {
        let tables = match raw {
            Raw::Table(tables) => tables.clone(),
            Raw::Word(word) => match word.to_str().map(str::trim) {
                Some("") => Vec::new(),
                Some(text) => inline(text).ok_or_else(|| Wrong::found(raw))?,
                None => return Err(Wrong::found(raw)),
            },
            _ => return Err(Wrong::found(raw)),
        };
        let entries = tables.iter().map(|(name, table)| entry(name, table));
        let mut programs = Programs(entries.collect::<Result<_, _>>()?);
        programs.0.sort_by(|one, other| one.name.cmp(&other.name));
        match programs.fault() {
            Some(fault) => Err(Wrong::Because(fault)),
            None => Ok(programs),
        }
    }

    fn show(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let tables = self.0.iter().map(|entry| {
            let default = Entry::new(&entry.name);
            let members = MEMBERS.iter().filter_map(|member| {
                let value = (member.show)(entry);
                (value != (member.show)(&default)).then(|| format!("{} = {value}", member.name))
            });
            let members = members.collect::<Vec<_>>().join(", ");
            format!("{} = {{ {members} }}", entry.name)
        });
        format!("{{ {} }}", tables.collect::<Vec<_>>().join(", "))
    }
}

/// Parses the value of a flag or variable, which is an inline TOML table with one table per
/// program. Returns these tables with the names of their programs.
fn inline(text: &str) -> Option<Vec<(String, Raw)>> {
    let value = DeValue::parse(text).ok()?;
    match file::raw(&value) {
        Raw::Table(tables) => Some(tables),
        _ => None,
    }
}

/// Key that the table of a program may contain.
struct Member {
    name: &'static str,
    expected: &'static str,
    set: fn(&mut Entry, &Raw) -> Result<(), Wrong>,
    /// Formats the value as TOML.
    show: fn(&Entry) -> String,
}

macro_rules! members {
    ($($name:ident: $Type:ty, $form:ident;)+) => {
        const MEMBERS: &[Member] = &[$(Member {
            name: stringify!($name),
            expected: <$Type as Value>::EXPECTED,
            set: |entry, raw| {
                entry.$name = Value::read(raw)?;
                Ok(())
            },
            show: |entry| $form(&entry.$name.show()),
        }),+];
    };
}

members! {
    path: PathBuf, quoted;
    programs: Words, bare;
    route: String, quoted;
    on_error: String, quoted;
    main_arguments: Words, bare;
    environment: Words, bare;
    allowed_paths: Words, bare;
    ephemeral: bool, bare;
    concurrency: NonZeroU32, bare;
    hugepages: bool, bare;
    request_hugepages: bool, bare;
    verbose_pagetables: bool, bare;
    max_boot_time: Timeout, quoted;
    max_request_time: Timeout, quoted;
    max_memory: Bytes, measured;
    max_work_memory: Bytes, measured;
    max_output: Bytes, measured;
    max_state: Bytes, measured;
    warmup: u32, bare;
}

fn bare(shown: &str) -> String {
    shown.to_owned()
}

/// Converts a size in the format of [`Value::show`] to TOML. A size with a unit becomes a quoted
/// string, a size without a unit a bare number.
fn measured(shown: &str) -> String {
    match shown.parse::<u64>() {
        Ok(_) => bare(shown),
        Err(_) => quoted(shown),
    }
}

/// Returns `text` as a basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control.is_control() => {
                out.push_str(&format!("\\u{:04x}", u32::from(control)));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}

fn entry(name: &str, table: &Raw) -> Result<Entry, Wrong> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name.is_empty() || !name.bytes().all(plain) {
        let what = format!("{name:?} is not a valid name: use letters, digits, - and _");
        return Err(Wrong::Because(what));
    }
    let Raw::Table(members) = table else {
        let what = format!("{name}: expected a table, found {table}");
        return Err(Wrong::Because(what));
    };
    let mut entry = Entry::new(name);
    for (key, raw) in members {
        let Some(member) = MEMBERS.iter().find(|member| member.name == key) else {
            return Err(Wrong::Because(unknown(name, key)));
        };
        (member.set)(&mut entry, raw).map_err(|wrong| {
            Wrong::Because(match wrong {
                Wrong::Found(found) => {
                    format!("{name}.{key}: expected {}, found {found}", member.expected)
                }
                Wrong::Unsupported(what) | Wrong::Because(what) => format!("{name}.{key}: {what}"),
            })
        })?;
    }
    Ok(entry)
}

fn unknown(name: &str, key: &str) -> String {
    let near = nearest(key, MEMBERS.iter().map(|member| member.name));
    match near {
        Some(near) => format!("{name}: unknown key: {key}; the nearest known key is {near}"),
        None => {
            let known: Vec<_> = MEMBERS.iter().map(|member| member.name).collect();
            format!(
                "{name}: unknown key: {key}; the known keys are {}",
                known.join(", ")
            )
        }
    }
}

impl Value for String {
    const EXPECTED: &'static str = "a string";

    fn read(raw: &Raw) -> Result<String, Wrong> {
        match raw.text() {
            Some(text) if !text.contains('\0') => Ok(text.to_owned()),
            _ => Err(Wrong::found(raw)),
        }
    }

    fn show(&self) -> String {
        self.clone()
    }
}

impl Value for Words {
    const EXPECTED: &'static str = "a list of strings";

    fn read(raw: &Raw) -> Result<Words, Wrong> {
        let elements = match raw {
            Raw::List(elements) => elements.iter().map(String::read).collect(),
            // Environment variables may be written as a table.
            Raw::Table(pairs) => {
                let pair = |(name, value): &(String, Raw)| {
                    String::read(value).map(|value| format!("{name}={value}"))
                };
                pairs.iter().map(pair).collect()
            }
            _ => return Err(Wrong::found(raw)),
        };
        let elements: Result<_, _> = elements;
        elements.map(Words)
    }

    fn show(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|word| quoted(word)).collect();
        format!("[{}]", words.join(", "))
    }
}
