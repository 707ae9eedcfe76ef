//! Libraries of functions: their interpreter, and the names by which clients call functions. The
//! keyspace has the sources of the libraries, for snapshots.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;
use keyspace::Keyspace;
use resp::Reply;
use script::{Engine, Function, LibraryHead, Limits, Step};

use crate::script_log;

/// Time that the code of a library may take while FUNCTION LOAD or FUNCTION RESTORE runs it, as in
/// Redis.
pub(crate) const LOAD_TIME_MAX: Duration = Duration::from_millis(500);
/// Time that the code of a library may take at the start of the store, when the machine may be
/// busy with other starts.
const START_TIME_MAX: Duration = Duration::from_secs(10);

/// The loaded libraries, and the interpreter that holds their functions.
#[derive(Debug)]
pub(crate) struct Functions {
    limits: Limits,
    /// Started by the first library.
    engine: Option<Engine>,
    /// Libraries by name.
    libraries: BTreeMap<String, Library>,
    /// Names of libraries by the names of their functions, in lower case.
    owners: HashMap<String, String>,
}

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) source: Bytes,
    /// Functions, sorted by name.
    pub(crate) functions: Vec<Function>,
}

/// Treatment of the libraries that are loaded already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// They stay, and a library of the same name is an error.
    Append,
    /// A library of the same name is replaced.
    Replace,
    /// All of them are removed.
    Flush,
}

impl Functions {
    pub(crate) fn new(limits: Limits) -> Functions {
        Functions {
            limits,
            engine: None,
            libraries: BTreeMap::new(),
            owners: HashMap::new(),
        }
    }

    /// Loads the libraries that were read from the store's files.
    ///
    /// # Errors
    /// The reason why a library cannot be loaded.
    pub(crate) fn of_sources(limits: Limits, sources: &[Bytes]) -> Result<Functions, String> {
        let mut functions = Functions::new(limits);
        functions.restore(sources, Policy::Append, START_TIME_MAX)?;
        Ok(functions)
    }

    /// Returns the function that clients call by this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Function> {
        let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
        let library = self.libraries.get(self.owners.get(&name)?)?;
        let mut functions = library.functions.iter();
        functions.find(|function| function.name.eq_ignore_ascii_case(&name))
    }

    /// Returns the libraries with their names, sorted by name.
    pub(crate) fn libraries(&self) -> impl Iterator<Item = (&str, &Library)> {
        let libraries = self.libraries.iter();
        libraries.map(|(name, library)| (name.as_str(), library))
    }

    /// Returns the number of all functions.
    pub(crate) fn count(&self) -> usize {
        self.owners.len()
    }

    /// Returns the sources of all libraries.
    pub(crate) fn sources(&self) -> Vec<Bytes> {
        let libraries = self.libraries.values();
        libraries.map(|library| library.source.clone()).collect()
    }

    /// Returns the interpreter, if it was started.
    pub(crate) fn started_engine(&self) -> Option<&Engine> {
        self.engine.as_ref()
    }

    /// Returns the interpreter of the running function.
    pub(crate) fn engine_of_function(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("a function is running")
    }

    /// Removes all libraries, and ends their interpreter.
    pub(crate) fn flush(&mut self) {
        *self = Functions::new(self.limits);
    }

    /// Removes a library. Returns whether it was there.
    pub(crate) fn delete(&mut self, name: &[u8]) -> bool {
        let name = String::from_utf8_lossy(name);
        match self.libraries.remove(&*name) {
            Some(library) => {
                self.discard(library);
                true
            }
            None => false,
        }
    }

    /// Loads a library, and returns its name.
    ///
    /// # Errors
    /// The error reply. The libraries are then as before.
    pub(crate) fn load(&mut self, source: &Bytes, policy: Policy) -> Result<String, String> {
        let name = parse_head(source)?.name;
        if policy == Policy::Append && self.libraries.contains_key(&name) {
            return Err(format!("ERR Library '{name}' already exists"));
        }
        let new = self.compile(source, LOAD_TIME_MAX)?;
        self.add(vec![(name.clone(), new)], policy)?;
        Ok(name)
    }

    /// Loads libraries together.
    ///
    /// # Errors
    /// The error reply. The libraries are then as before.
    pub(crate) fn restore(
        &mut self,
        sources: &[Bytes],
        policy: Policy,
        time_max: Duration,
    ) -> Result<(), String> {
        let mut new: Vec<(String, Library)> = Vec::new();
        for source in sources {
            let compiled = parse_head(source).and_then(|head| {
                match new.iter().any(|(name, _)| *name == head.name) {
                    true => Err(format!("ERR Library '{}' already exists", head.name)),
                    false => Ok((head.name, self.compile(source, time_max)?)),
                }
            });
            match compiled {
                Ok(library) => new.push(library),
                Err(text) => {
                    new.into_iter()
                        .for_each(|(_, library)| self.discard(library));
                    return Err(text);
                }
            }
        }
        self.add(new, policy)
    }

    /// Runs the code of a library, which registers its functions.
    fn compile(&mut self, source: &Bytes, time_max: Duration) -> Result<Library, String> {
        let head = parse_head(source)?;
        let engine = match &mut self.engine {
            Some(engine) => engine,
            none => {
                let engine = Engine::new(self.limits);
                none.insert(engine.map_err(|text| format!("ERR cannot load functions: {text}"))?)
            }
        };
        let step = engine.start_load(source.slice(head.bytes..));
        let loaded = finish_load(engine, step, time_max);
        let mut library = Library {
            source: source.clone(),
            functions: engine.take_registered(),
        };
        let loaded = loaded.and_then(|()| match library.functions.is_empty() {
            true => Err("ERR No functions registered".to_owned()),
            false => Ok(()),
        });
        if let Err(text) = loaded {
            self.discard(library);
            return Err(text);
        }
        library.functions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(library)
    }

    /// Adds loaded libraries, unless a name is taken or the sources of all libraries would exceed
    /// their limit.
    fn add(&mut self, new: Vec<(String, Library)>, policy: Policy) -> Result<(), String> {
        if let Some(text) = self.collision(&new, policy) {
            new.into_iter()
                .for_each(|(_, library)| self.discard(library));
            return Err(text);
        }
        if policy == Policy::Flush {
            let old = std::mem::take(&mut self.libraries);
            old.into_values().for_each(|library| self.discard(library));
        }
        for (name, library) in new {
            if let Some(old) = self.libraries.remove(&name) {
                self.discard(old);
            }
            for function in &library.functions {
                let key = function.name.to_ascii_lowercase();
                self.owners.insert(key, name.clone());
            }
            self.libraries.insert(name, library);
        }
        Ok(())
    }

    /// Returns the reason why libraries cannot be added, if there is one.
    fn collision(&self, new: &[(String, Library)], policy: Policy) -> Option<String> {
        let is_new = |name: &str| new.iter().any(|(it, _)| it == name);
        let mut taken: Vec<String> = Vec::new();
        let mut bytes: usize = new.iter().map(|(_, library)| library.source.len()).sum();
        for (name, library) in &self.libraries {
            match policy {
                Policy::Append if is_new(name) => {
                    return Some(format!("ERR Library {name} already exists"));
                }
                Policy::Flush => {}
                Policy::Replace if is_new(name) => {}
                Policy::Append | Policy::Replace => {
                    bytes += library.source.len();
                    let names = library.functions.iter();
                    taken.extend(names.map(|it| it.name.to_ascii_lowercase()));
                }
            }
        }
        for function in new.iter().flat_map(|(_, library)| &library.functions) {
            let key = function.name.to_ascii_lowercase();
            if taken.contains(&key) {
                return Some(format!("ERR Function {} already exists", function.name));
            }
            taken.push(key);
        }
        (self.limits.loaded_bytes_max < bytes).then(|| {
            "ERR too much code in libraries, remove libraries with FUNCTION DELETE".to_owned()
        })
    }

    /// Removes the functions of a library from the interpreter, and their names. The library must
    /// not be among the loaded ones.
    fn discard(&mut self, library: Library) {
        let engine = self.engine.as_mut().expect("a library was loaded");
        for function in &library.functions {
            if let Err(text) = engine.drop_function(function.id) {
                tracing::error!(text, function = function.name, "cannot free a function");
            }
        }
        // A name of a library that was refused may belong to a loaded library.
        let libraries = &self.libraries;
        self.owners.retain(|_, owner| libraries.contains_key(owner));
    }
}

fn parse_head(source: &[u8]) -> Result<LibraryHead, String> {
    LibraryHead::parse(source).map_err(|error| error.to_string())
}

/// Runs the code of a library to its end, for at most `time_max`.
fn finish_load(engine: &mut Engine, mut step: Step, time_max: Duration) -> Result<(), String> {
    let started = Instant::now();
    let mut is_late = false;
    loop {
        step = match step {
            Step::Done(_) if is_late => {
                return Err("ERR Error registering functions: ERR FUNCTION LOAD timeout".to_owned());
            }
            Step::Done(Reply::Error(text)) => {
                return Err(String::from_utf8_lossy(&text).into_owned());
            }
            Step::Done(_) => return Ok(()),
            Step::Pause if started.elapsed() < time_max => engine.go_on(),
            Step::Log { level, text } => {
                script_log::write(level, &text);
                engine.go_on()
            }
            // The code sees neither commands nor the clock while it is loaded.
            Step::Pause | Step::Call(_) | Step::Clock => {
                is_late = true;
                engine.kill()
            }
        };
    }
}

/// Applies a journaled FUNCTION command to the sources in the keyspace.
///
/// # Errors
/// The reason why the command is not valid.
pub(crate) fn replay(keyspace: &mut Keyspace, args: &[Bytes]) -> Result<(), String> {
    let subcommand = args
        .get(1)
        .map_or(Vec::new(), |word| word.to_ascii_lowercase());
    let mut sources = keyspace.functions().to_vec();
    let mut put = |source: &Bytes| -> Result<(), String> {
        let name = parse_head(source)?.name;
        sources.retain(|it| parse_head(it).map(|head| head.name) != Ok(name.clone()));
        sources.push(source.clone());
        Ok(())
    };
    match (&subcommand[..], args) {
        (b"load", [_, _, .., source]) => put(source)?,
        (b"delete", [_, _, name]) => {
            sources.retain(|it| parse_head(it).is_ok_and(|head| head.name.as_bytes() != name));
        }
        (b"flush", _) => sources.clear(),
        (b"restore", [_, _, payload, policy @ ..]) => {
            let restored = keyspace.functions_of_payload(payload)?;
            let flushes = policy
                .first()
                .is_some_and(|word| word.eq_ignore_ascii_case(b"flush"));
            if flushes {
                sources.clear();
                sources.extend(restored);
            } else {
                restored.iter().try_for_each(put)?;
            }
        }
        _ => return Err("the command does not change functions".to_owned()),
    }
    keyspace.set_functions(sources);
    Ok(())
}
