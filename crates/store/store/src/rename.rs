//! `rename-command`: new names under which clients call commands.
//!
//! The new names appear only in requests of clients. A request is translated to the original name
//! before any other step, so the AOF, statistics and `COMMAND` use the original names. An AOF that
//! Redis wrote may contain new names, so loading accepts both.

use bytes::Bytes;

/// Names that `rename-command` changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Renames {
    /// Changed names in lower case, each with its meaning in a client's request: the original name
    /// of a command, or `None` if the name no longer means a command.
    names: Vec<(String, Option<&'static str>)>,
}

/// Meaning of a command name in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameMeaning {
    /// The name was not changed. It means the command of this name, if any.
    Itself,
    /// The name means the command with this original name.
    Command(&'static str),
    /// The name means no command.
    Nothing,
}

impl Renames {
    /// Gives the command that clients call `from` the new name `to`. If `to` is empty, clients can
    /// no longer call the command.
    pub(crate) fn add(&mut self, from: &str, to: &str) -> Result<(), String> {
        let original = self
            .command(from)
            .ok_or("No such command in rename-command")?;
        self.set(from, None);
        if to.is_empty() {
            return Ok(());
        }
        if self.command(to).is_some() {
            return Err("Target command name already exists".to_owned());
        }
        self.set(to, Some(original));
        Ok(())
    }

    /// Returns the meaning of a name, ignoring case.
    pub(crate) fn meaning(&self, name: &[u8]) -> NameMeaning {
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
        match found {
            None => NameMeaning::Itself,
            Some((_, None)) => NameMeaning::Nothing,
            Some((_, Some(original))) => NameMeaning::Command(original),
        }
    }

    /// Returns the original name of the command that is called `name`.
    fn command(&self, name: &str) -> Option<&'static str> {
        match self.meaning(name.as_bytes()) {
            NameMeaning::Itself => {
                let args = [Bytes::copy_from_slice(name.as_bytes())];
                keyspace::command(&args).map(|command| command.name)
            }
            NameMeaning::Command(original) => Some(original),
            NameMeaning::Nothing => None,
        }
    }

    fn set(&mut self, name: &str, meaning: Option<&'static str>) {
        let name = name.to_ascii_lowercase();
        self.names.retain(|(known, _)| *known != name);
        self.names.push((name, meaning));
    }
}

/// Returns the arguments, with the command's name replaced by its original name.
pub(crate) fn with_original_name(args: &[Bytes], original: &'static str) -> Vec<Bytes> {
    let mut args = args.to_vec();
    args[0] = Bytes::from_static(original.as_bytes());
    args
}

#[cfg(test)]
mod tests {
    use super::{NameMeaning, Renames};

    #[test]
    fn a_renamed_name_can_be_reused() {
        let mut renames = Renames::default();
        renames.add("FLUSHALL", "").expect("there is one");
        renames
            .add("get", "Fetch")
            .expect("both are as they must be");
        assert_eq!(renames.meaning(b"flushall"), NameMeaning::Nothing);
        assert_eq!(renames.meaning(b"GET"), NameMeaning::Nothing);
        assert_eq!(renames.meaning(b"fetch"), NameMeaning::Command("get"));
        assert_eq!(renames.meaning(b"set"), NameMeaning::Itself);
        renames.add("fetch", "flushall").expect("the name is free");
        assert_eq!(renames.meaning(b"fetch"), NameMeaning::Nothing);
        assert_eq!(renames.meaning(b"FLUSHALL"), NameMeaning::Command("get"));
    }

    #[test]
    fn invalid_renames_get_the_errors_of_redis() {
        let mut renames = Renames::default();
        let none = Err("No such command in rename-command".to_owned());
        for name in ["flushalll", "", "config|get"] {
            assert_eq!(renames.add(name, "x"), none, "{name}");
        }
        renames.add("keys", "").expect("there is one");
        assert_eq!(renames.add("keys", "x"), none);
        let name_in_use = Err("Target command name already exists".to_owned());
        assert_eq!(renames.add("get", "SET"), name_in_use);
    }
}
