//! Libraries of functions: their interpreter, and the names by which clients call functions. The
//! keyspace has the sources of the libraries, for snapshots.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use bytes::Bytes;
use keyspace::Keyspace;
use resp::Reply;
use script::{Engine, Function, LibraryHead, Limits, Step};

use crate::script_log;

#[cfg(test)]
mod tests;

/// Time that the code of all libraries of one FUNCTION LOAD or FUNCTION RESTORE may take, as in
/// Redis.
pub(crate) const LOAD_TIME_MAX: Duration = Duration::from_millis(500);
/// Time that the code of each library may take at the start of the store, when the machine may be
/// busy with other starts.
const START_TIME_MAX: Duration = Duration::from_secs(10);
/// Bytes that count for each function besides its name and its description.
const FUNCTION_BYTES: usize = 256;
const TOO_MUCH_CODE: &str = "ERR too much code in libraries, remove libraries with FUNCTION DELETE";
const TIMEOUT: &str = "ERR Error registering functions: ERR FUNCTION LOAD timeout";

/// The loaded libraries, and the interpreter that holds their functions.
#[derive(Debug)]
pub(crate) struct Functions {
    limits: Limits,
    /// Started by the first library.
    engine: Option<Engine>,
    /// Libraries by name.
    libraries: BTreeMap<String, Library>,
    /// Bytes that count for the loaded libraries towards their limit.
    bytes: usize,
    /// Names of libraries by the names of their functions, in lower case.
    owners: HashMap<String, String>,
    /// Libraries of the store's files that could not be loaded.
    unloaded: Vec<Unloaded>,
}

/// A loaded library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) source: Bytes,
    /// Functions, sorted by name.
    pub(crate) functions: Vec<Function>,
}

impl Library {
    /// Returns the bytes that count for the library towards the limit of all libraries.
    fn bytes(&self) -> usize {
        let functions = self.functions.iter().map(|function| {
            let description = function.description.as_ref().map_or(0, Bytes::len);
            FUNCTION_BYTES + function.name.len() + description
        });
        self.source.len() + functions.sum::<usize>()
    }
}

/// A library that could not be loaded. Its source stays in snapshots, since a later version of the
/// store, or the store on another host, may be able to load the library.
#[derive(Debug)]
struct Unloaded {
    /// Name of the library; `None` if the first line of the source is not valid.
    name: Option<String>,
    source: Bytes,
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
            bytes: 0,
            owners: HashMap::new(),
            unloaded: Vec::new(),
        }
    }

    /// Loads the libraries that were read from the store's files. The sources of libraries that
    /// cannot be loaded are kept.
    pub(crate) fn of_sources(limits: Limits, sources: &[Bytes]) -> Functions {
        let mut functions = Functions::new(limits);
        // Added at the end, so that libraries that could not be loaded take no room from others.
        let mut unloaded = Vec::new();
        for source in sources {
            let deadline = Instant::now() + START_TIME_MAX;
            if let Err(fault) = functions.load_until(source, Policy::Append, deadline) {
                let name = parse_head(source).ok().map(|head| head.name);
                tracing::error!(
                    library = name.as_deref().unwrap_or_default(),
                    fault,
                    "cannot load a library of functions; its source is kept"
                );
                let source = source.clone();
                unloaded.push(Unloaded { name, source });
            }
        }
        functions.unloaded = unloaded;
        functions
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

    /// Returns the sources of all libraries, also of those that could not be loaded.
    pub(crate) fn sources(&self) -> Vec<Bytes> {
        let loaded = self.libraries.values().map(|library| &library.source);
        let unloaded = self.unloaded.iter().map(|library| &library.source);
        loaded.chain(unloaded).cloned().collect()
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
        let unloaded = self.unloaded.len();
        self.forget_unloaded(&name);
        let is_removed = self.remove_loaded(&name);
        is_removed || self.unloaded.len() < unloaded
    }

    /// Removes a loaded library. Returns whether it was there.
    fn remove_loaded(&mut self, name: &str) -> bool {
        let Some(library) = self.libraries.remove(name) else {
            return false;
        };
        self.bytes -= library.bytes();
        self.discard(library);
        true
    }

    /// Removes the sources of a library that could not be loaded.
    fn forget_unloaded(&mut self, name: &str) {
        self.unloaded.retain(|it| it.name.as_deref() != Some(name));
    }

    /// Loads a library, and returns its name.
    ///
    /// # Errors
    /// The error reply. The libraries are then as before.
    pub(crate) fn load(&mut self, source: &Bytes, policy: Policy) -> Result<String, String> {
        self.load_until(source, policy, Instant::now() + LOAD_TIME_MAX)
    }

    fn load_until(
        &mut self,
        source: &Bytes,
        policy: Policy,
        deadline: Instant,
    ) -> Result<String, String> {
        let name = self.head(source)?.name;
        if policy == Policy::Append {
            if self.libraries.contains_key(&name) {
                return Err(format!("ERR Library '{name}' already exists"));
            }
            self.check_unloaded(&name)?;
        }
        let added = HashSet::from([name.as_str()]);
        if self.limits.loaded_bytes_max < self.kept_bytes(&added, policy) + source.len() {
            return Err(TOO_MUCH_CODE.to_owned());
        }
        let new = self.compile(source, deadline)?;
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
        let deadline = Instant::now() + time_max;
        let names = self.new_names(sources, policy)?;
        let added: HashSet<&str> = names.iter().map(String::as_str).collect();
        let mut bytes = self.kept_bytes(&added, policy);
        let code: usize = sources.iter().map(Bytes::len).sum();
        if self.limits.loaded_bytes_max < bytes + code {
            return Err(TOO_MUCH_CODE.to_owned());
        }
        let mut new: Vec<(String, Library)> = Vec::new();
        for (name, source) in names.iter().zip(sources) {
            let compiled = match Instant::now() < deadline {
                true => self.compile(source, deadline),
                false => Err(TIMEOUT.to_owned()),
            };
            let fault = match compiled {
                Ok(library) => {
                    bytes += library.bytes();
                    new.push((name.clone(), library));
                    (self.limits.loaded_bytes_max < bytes).then(|| TOO_MUCH_CODE.to_owned())
                }
                Err(text) => Some(text),
            };
            if let Some(text) = fault {
                self.discard_all(new);
                return Err(text);
            }
        }
        self.add(new, policy)
    }

    /// Returns the names of libraries that are loaded together, unless one of the names is taken.
    fn new_names(&self, sources: &[Bytes], policy: Policy) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        let mut taken = HashSet::new();
        for source in sources {
            let name = self.head(source)?.name;
            if !taken.insert(name.clone()) {
                return Err(format!("ERR Library '{name}' already exists"));
            }
            if policy == Policy::Append {
                if self.libraries.contains_key(&name) {
                    return Err(format!("ERR Library {name} already exists"));
                }
                self.check_unloaded(&name)?;
            }
            names.push(name);
        }
        Ok(names)
    }

    /// Checks that `unloaded` has no library of this name, whose source would be lost.
    fn check_unloaded(&self, name: &str) -> Result<(), String> {
        let mut unloaded = self.unloaded.iter();
        match unloaded.any(|library| library.name.as_deref() == Some(name)) {
            true => Err(format!(
                "ERR Library '{name}' already exists, but could not be loaded: replace it with \
                 FUNCTION LOAD REPLACE, or remove it with FUNCTION DELETE"
            )),
            false => Ok(()),
        }
    }

    /// Returns the bytes of the libraries that stay when libraries of these names are added.
    fn kept_bytes(&self, added: &HashSet<&str>, policy: Policy) -> usize {
        if policy == Policy::Flush {
            return 0;
        }
        let replaced = added.iter().filter_map(|name| self.libraries.get(*name));
        let loaded = self.bytes - replaced.map(Library::bytes).sum::<usize>();
        let unloaded = self.unloaded.iter().filter(|library| {
            let name = library.name.as_deref();
            name.is_none_or(|name| !added.contains(name))
        });
        loaded + unloaded.map(|library| library.source.len()).sum::<usize>()
    }

    /// Parses the first line of a library, and checks the length of its name.
    fn head(&self, source: &[u8]) -> Result<LibraryHead, String> {
        let head = parse_head(source)?;
        let bytes_max = self.limits.name_bytes_max;
        match bytes_max < head.name.len() {
            true => Err(format!(
                "ERR the name of a library is longer than {bytes_max} bytes"
            )),
            false => Ok(head),
        }
    }

    /// Runs the code of a library, which registers its functions.
    fn compile(&mut self, source: &Bytes, deadline: Instant) -> Result<Library, String> {
        let head = parse_head(source)?;
        let engine = match &mut self.engine {
            Some(engine) => engine,
            none => {
                let engine = Engine::new(self.limits);
                none.insert(engine.map_err(|text| format!("ERR cannot load functions: {text}"))?)
            }
        };
        let step = engine.start_load(source.slice(head.bytes..));
        let loaded = finish_load(engine, step, deadline);
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

    /// Adds loaded libraries, unless a name is taken or all libraries would exceed their limit.
    fn add(&mut self, new: Vec<(String, Library)>, policy: Policy) -> Result<(), String> {
        if let Some(text) = self.collision(&new, policy) {
            self.discard_all(new);
            return Err(text);
        }
        if policy == Policy::Flush {
            self.unloaded.clear();
            self.bytes = 0;
            let old = std::mem::take(&mut self.libraries);
            self.discard_all(old);
        }
        for (name, library) in new {
            self.forget_unloaded(&name);
            self.remove_loaded(&name);
            self.bytes += library.bytes();
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
        let names: HashSet<&str> = new.iter().map(|(name, _)| name.as_str()).collect();
        let stays = |owner: &String| match policy {
            Policy::Append => true,
            Policy::Replace => !names.contains(owner.as_str()),
            Policy::Flush => false,
        };
        let mut taken: HashSet<String> = HashSet::new();
        for function in new.iter().flat_map(|(_, library)| &library.functions) {
            let key = function.name.to_ascii_lowercase();
            if self.owners.get(&key).is_some_and(stays) || !taken.insert(key) {
                return Some(format!("ERR Function {} already exists", function.name));
            }
        }
        let bytes: usize = new.iter().map(|(_, library)| library.bytes()).sum();
        let bytes = bytes + self.kept_bytes(&names, policy);
        (self.limits.loaded_bytes_max < bytes).then(|| TOO_MUCH_CODE.to_owned())
    }

    /// Removes the functions of libraries that must not be among the loaded ones.
    fn discard_all(&mut self, libraries: impl IntoIterator<Item = (String, Library)>) {
        for (_, library) in libraries {
            self.discard(library);
        }
    }

    /// Removes the functions of a library from the interpreter, and their names. The library must
    /// not be among the loaded ones.
    fn discard(&mut self, library: Library) {
        let engine = self.engine.as_mut().expect("a library was loaded");
        for function in &library.functions {
            if let Err(text) = engine.drop_function(function.id) {
                tracing::error!(text, function = function.name, "cannot free a function");
            }
            // A name of a library that was refused may belong to a loaded library.
            let key = function.name.to_ascii_lowercase();
            let owner = self.owners.get(&key);
            if owner.is_some_and(|owner| !self.libraries.contains_key(owner)) {
                self.owners.remove(&key);
            }
        }
    }
}

fn parse_head(source: &[u8]) -> Result<LibraryHead, String> {
    LibraryHead::parse(source).map_err(|error| error.to_string())
}

/// Runs the code of a library to its end, until `deadline` at most.
fn finish_load(engine: &mut Engine, mut step: Step, deadline: Instant) -> Result<(), String> {
    let mut is_late = false;
    loop {
        step = match step {
            Step::Done(_) if is_late => return Err(TIMEOUT.to_owned()),
            Step::Done(Reply::Error(text)) => {
                return Err(String::from_utf8_lossy(&text).into_owned());
            }
            Step::Done(_) => return Ok(()),
            Step::Pause if Instant::now() < deadline => engine.go_on(),
            Step::Log { level, text } if Instant::now() < deadline => {
                script_log::write(level, &text);
                engine.go_on()
            }
            // The code sees neither commands nor the clock while it is loaded.
            Step::Pause | Step::Log { .. } | Step::Call(_) | Step::Clock => {
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
            // A source whose first line is not valid stays.
            sources.retain(|it| !parse_head(it).is_ok_and(|head| head.name.as_bytes() == name));
        }
        (b"flush", _) => sources.clear(),
        (b"restore", [_, _, payload, policy @ ..]) => {
            // The sizes were checked before the command was journaled.
            let restored = Keyspace::functions_of_payload(payload, usize::MAX)?;
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
