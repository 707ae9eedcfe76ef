//! Functions of libraries: the first line of a library.

use crate::cache::LoadError;

const BAD_NAME: &str = "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one \
                        character long";

/// First line of a library, `#!lua name=NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryHead {
    /// Name of the library.
    pub name: String,
    /// Length of the line, without the line's end.
    pub bytes: usize,
}

impl LibraryHead {
    /// Parses the first line of a library's code.
    ///
    /// # Errors
    /// The error reply for a line that names no library, or an engine other than Lua.
    pub fn parse(code: &[u8]) -> Result<LibraryHead, LoadError> {
        let fault = |text: &str| LoadError(text.to_owned());
        if !code.starts_with(b"#!") {
            return Err(fault("ERR Missing library metadata"));
        }
        let invalid = "ERR Invalid library metadata";
        let end = memchr::memchr(b'\n', code).ok_or_else(|| fault(invalid))?;
        let words = resp::split_line(&code[..end]).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| fault(invalid))?;
        let mut name = None;
        for word in &words[1..] {
            let value = word
                .split_at_checked(b"name=".len())
                .filter(|(key, _)| key.eq_ignore_ascii_case(b"name="));
            let Some((_, value)) = value else {
                let word = String::from_utf8_lossy(word);
                return Err(LoadError(format!(
                    "ERR Invalid metadata value given: {word}"
                )));
            };
            if name.replace(value).is_some() {
                return Err(fault(
                    "ERR Invalid metadata value, name argument was given multiple times",
                ));
            }
        }
        let name = name.ok_or_else(|| fault("ERR Library name was not given"))?;
        let name = checked_name(name).ok_or_else(|| fault(BAD_NAME))?;
        let engine = &words[0][b"#!".len()..];
        if !engine.eq_ignore_ascii_case(b"lua") {
            let engine = String::from_utf8_lossy(engine);
            return Err(LoadError(format!("ERR Engine '{engine}' not found")));
        }
        Ok(LibraryHead { name, bytes: end })
    }
}

/// Returns the name of a library or function, if it consists of letters, digits and underscores.
fn checked_name(name: &[u8]) -> Option<String> {
    let is_sound = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let text = std::str::from_utf8(name).ok()?;
    (!name.is_empty() && name.iter().all(is_sound)).then(|| text.to_owned())
}
