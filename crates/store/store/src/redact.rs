//! Removes passwords from the arguments that SLOWLOG and MONITOR show.

use std::borrow::Cow;

use bytes::Bytes;

/// Text that replaces a password, as in Redis.
const REDACTED: Bytes = Bytes::from_static(b"(redacted)");

/// Settings whose values must not be shown.
const SECRET_SETTINGS: &[&str] = &[
    "requirepass",
    "masterauth",
    "masteruser",
    "primaryauth",
    "primaryuser",
    "tls-key-file-pass",
    "tls-client-key-file-pass",
];

/// Returns the arguments with passwords replaced.
pub(crate) fn redacted(args: &[Bytes]) -> Cow<'_, [Bytes]> {
    let is = |at: usize, word: &str| {
        let arg = args.get(at);
        arg.is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
    };
    let secrets: Vec<usize> = if is(0, "auth") {
        (1..args.len()).collect()
    } else if is(0, "hello") {
        let auth = (2..args.len()).find(|&at| is(at, "auth"));
        auth.map_or(Vec::new(), |at| (at + 1..args.len().min(at + 3)).collect())
    } else if is(0, "config") && is(1, "set") {
        let names = (2..args.len()).step_by(2);
        let secret = names.filter(|&at| SECRET_SETTINGS.iter().any(|name| is(at, name)));
        secret
            .map(|at| at + 1)
            .filter(|&at| at < args.len())
            .collect()
    } else {
        return Cow::Borrowed(args);
    };
    let mut shown = args.to_vec();
    for at in secrets {
        shown[at] = REDACTED;
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::redacted;
    use bytes::Bytes;

    #[test]
    fn passwords_are_redacted() {
        let shown = |line: &str| {
            let args: Vec<Bytes> = line.split(' ').map(|word| word.to_owned().into()).collect();
            redacted(&args).join(&b' ').escape_ascii().to_string()
        };
        for (line, expected) in [
            ("auth pw", "auth (redacted)"),
            ("AUTH user pw", "AUTH (redacted) (redacted)"),
            ("auth", "auth"),
            (
                "HELLO 3 SETNAME n AUTH u pw",
                "HELLO 3 SETNAME n AUTH (redacted) (redacted)",
            ),
            ("hello 2 auth u", "hello 2 auth (redacted)"),
            (
                "config set port 1 RequirePass pw",
                "config set port 1 RequirePass (redacted)",
            ),
            ("config set requirepass", "config set requirepass"),
            ("config get requirepass", "config get requirepass"),
            ("set auth pw", "set auth pw"),
        ] {
            assert_eq!(shown(line), expected);
        }
    }
}
