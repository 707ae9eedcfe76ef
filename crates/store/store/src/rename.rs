//! `rename-command`: the names that commands go by among the clients of this server.
//!
//! What clients send is translated before anything else looks at it, and nothing but that: journals, statistics and
//! `COMMAND` have the commands' own names. A journal that Redis wrote may have its clients' names, and those are
//! understood beside the others.

use bytes::Bytes;

/// Names that do not mean the command of that name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renames {
    /// Each in small letters, with the command's own name; with none where the command goes by another name or is
    /// taken away.
    names: Vec<(String, Option<&'static str>)>,
}

/// What a name means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The command that is called so, if there is one.
    Itself,
    /// The command of this name.
    Command(&'static str),
    /// None.
    Nothing,
}

impl Renames {
    /// Takes `from` away from a command and gives it the name `to`, unless that is empty.
    ///
    /// # Errors
    /// When there is no command called `from`, or there is one called `to`; in Redis's words.
    pub(crate) fn add(&mut self, from: &str, to: &str) -> Result<(), String> {
        let own = self
            .command(from)
            .ok_or("No such command in rename-command")?;
        self.set(from, None);
        if to.is_empty() {
            return Ok(());
        }
        if self.command(to).is_some() {
            return Err("Target command name already exists".to_owned());
        }
        self.set(to, Some(own));
        Ok(())
    }

    /// What a name means, whatever its case.
    pub(crate) fn meaning(&self, name: &[u8]) -> Meaning {
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
        match found {
            None => Meaning::Itself,
            Some((_, None)) => Meaning::Nothing,
            Some((_, Some(own))) => Meaning::Command(own),
        }
    }

    /// The own name of the command that goes by `name`.
    fn command(&self, name: &str) -> Option<&'static str> {
        match self.meaning(name.as_bytes()) {
            Meaning::Itself => {
                let args = [Bytes::copy_from_slice(name.as_bytes())];
                keyspace::command(&args).map(|command| command.name)
            }
            Meaning::Command(own) => Some(own),
            Meaning::Nothing => None,
        }
    }

    fn set(&mut self, name: &str, meaning: Option<&'static str>) {
        let name = name.to_ascii_lowercase();
        self.names.retain(|(known, _)| *known != name);
        self.names.push((name, meaning));
    }
}

/// The call with its command's own name.
pub(crate) fn with_own_name(args: &[Bytes], own: &'static str) -> Vec<Bytes> {
    let mut args = args.to_vec();
    args[0] = Bytes::from_static(own.as_bytes());
    args
}

#[cfg(test)]
mod tests {
    use super::{Meaning, Renames};

    #[test]
    fn a_name_goes_to_its_new_command_and_may_be_taken_again() {
        let mut renames = Renames::default();
        renames.add("FLUSHALL", "").expect("there is one");
        renames
            .add("get", "Fetch")
            .expect("both are as they must be");
        assert_eq!(renames.meaning(b"flushall"), Meaning::Nothing);
        assert_eq!(renames.meaning(b"GET"), Meaning::Nothing);
        assert_eq!(renames.meaning(b"fetch"), Meaning::Command("get"));
        assert_eq!(renames.meaning(b"set"), Meaning::Itself);
        renames.add("fetch", "flushall").expect("the name is free");
        assert_eq!(renames.meaning(b"fetch"), Meaning::Nothing);
        assert_eq!(renames.meaning(b"FLUSHALL"), Meaning::Command("get"));
    }

    #[test]
    fn what_cannot_be_is_refused_in_the_words_of_redis() {
        let mut renames = Renames::default();
        let none = Err("No such command in rename-command".to_owned());
        for name in ["flushalll", "", "config|get"] {
            assert_eq!(renames.add(name, "x"), none, "{name}");
        }
        renames.add("keys", "").expect("there is one");
        assert_eq!(renames.add("keys", "x"), none);
        let taken = Err("Target command name already exists".to_owned());
        assert_eq!(renames.add("get", "SET"), taken);
    }
}
