//! Parser for the syntax texts in the rows of the command table.
//!
//! ```text
//! choice   = sequence *( "|" sequence )
//! sequence = *( "[" choice "]" / "(" choice ")" [ "..." ] / word [ "..." ] )
//! ```
//!
//! Square brackets enclose optional parts, and `...` follows a repeatable part. A word in capitals
//! is a literal token, which names the argument after it. Any other word is an argument's name. If
//! the name does not imply the argument's type, a colon and the type follow the name. If the
//! argument is a literal symbol such as `*`, a colon and the symbol follow its name.

#[cfg(test)]
mod tests;

/// One argument or a group of arguments, in the terms of COMMAND DOCS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Literal token before the argument, or the whole argument if the argument is only a token.
    pub(crate) token: Option<&'static str>,
    pub(crate) is_optional: bool,
    /// True if the argument may be repeated.
    pub(crate) is_multiple: bool,
    /// True if the token is repeated with the argument.
    pub(crate) repeats_token: bool,
    /// Parts of the argument: the members of a group, or the alternatives.
    pub(crate) parts: Vec<Argument>,
}

/// Type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Key,
    Text,
    Integer,
    Double,
    Pattern,
    UnixTime,
    /// A literal token.
    Token,
    /// Alternatives: a call gives exactly one of the argument's parts.
    OneOf,
    /// A group: a call that has this argument gives all of the argument's parts, one after the
    /// other.
    Block,
}

impl Kind {
    const TYPED: [Kind; 6] = [
        Kind::Key,
        Kind::Text,
        Kind::Integer,
        Kind::Double,
        Kind::Pattern,
        Kind::UnixTime,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Text => "string",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::Pattern => "pattern",
            Self::UnixTime => "unix-time",
            Self::Token => "pure-token",
            Self::OneOf => "oneof",
            Self::Block => "block",
        }
    }

    /// Returns the type that an argument's name implies, if a row does not state the type.
    fn of_name(name: &str) -> Kind {
        match name {
            "key" | "key1" | "key2" | "newkey" | "source" | "src" | "destination" | "destkey"
            | "dst" => Self::Key,
            "bit" | "client-id" | "count" | "cursor" | "db" | "decrement" | "destination-db"
            | "end" | "frequency" | "increment" | "index" | "index1" | "index2" | "len"
            | "limit" | "milliseconds" | "num-matches" | "numkeys" | "numlocal" | "numreplicas"
            | "offset" | "port" | "protover" | "rank" | "seconds" | "start" | "stop" | "ttl"
            | "version" | "weight" => Self::Integer,
            "score" | "timeout" => Self::Double,
            "pattern" => Self::Pattern,
            "unix-time-seconds" | "unix-time-milliseconds" => Self::UnixTime,
            _ => Self::Text,
        }
    }
}

/// Parses the syntax text of a row into arguments.
pub(crate) fn arguments(syntax: &'static str) -> Vec<Argument> {
    let mut words = words(syntax).into_iter().peekable();
    let arguments = sequence(&mut words);
    assert!(
        words.next().is_none(),
        "{syntax}: unmatched closing bracket"
    );
    arguments
}

/// Returns the syntax text in the style of HELP, with names in angle brackets.
pub(crate) fn usage(syntax: &'static str) -> String {
    let is_bracket = |letter: char| matches!(letter, '[' | ']' | '(' | ')');
    let words = syntax.split_ascii_whitespace().map(|word| {
        let name = word.trim_matches(is_bracket);
        if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            return word.to_owned();
        }
        let argument = Argument::of_word(name);
        let shown = match argument.token {
            Some(symbol) => symbol.to_owned(),
            None => format!("<{}>", argument.name),
        };
        word.replacen(name, &shown, 1)
    });
    words.collect::<Vec<String>>().join(" ")
}

type Words = std::iter::Peekable<std::vec::IntoIter<&'static str>>;

/// Splits the syntax text into words and brackets.
fn words(syntax: &'static str) -> Vec<&'static str> {
    let is_bracket = |letter: char| matches!(letter, '[' | ']' | '(' | ')');
    let mut words = Vec::new();
    for mut rest in syntax.split_ascii_whitespace() {
        while let Some(at) = rest.find(is_bracket) {
            words.extend((0 < at).then(|| &rest[..at]));
            words.push(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        words.extend((!rest.is_empty()).then_some(rest));
    }
    words
}

fn sequence(words: &mut Words) -> Vec<Argument> {
    let mut found: Vec<Argument> = Vec::new();
    while let Some(word) = words.next_if(|word| !matches!(*word, "]" | ")" | "|")) {
        let argument = match word {
            "[" => Argument {
                is_optional: true,
                ..choice(words, "]")
            },
            "(" => choice(words, ")"),
            "..." => {
                let mut argument = found.pop().expect("`...` follows an argument");
                argument.is_multiple = true;
                argument.repeats_token = argument.token.is_some();
                argument
            }
            word => Argument::of_word(word),
        };
        found.push(argument);
    }
    found
}

/// Parses alternatives up to the closing bracket `end`.
fn choice(words: &mut Words, end: &str) -> Argument {
    let mut alternatives = Vec::new();
    loop {
        alternatives.push(Argument::of_sequence(sequence(words)));
        match words.next() {
            Some("|") => {}
            word => {
                assert_eq!(word, Some(end), "a bracket is closed");
                break;
            }
        }
    }
    match alternatives.len() {
        1 => alternatives.remove(0),
        _ => Argument::of_parts(Kind::OneOf, alternatives),
    }
}

impl Argument {
    fn new(name: String, kind: Kind) -> Argument {
        Argument {
            name,
            kind,
            token: None,
            is_optional: false,
            is_multiple: false,
            repeats_token: false,
            parts: Vec::new(),
        }
    }

    fn of_word(word: &'static str) -> Argument {
        let has = |test: fn(&u8) -> bool| word.bytes().any(|byte| test(&byte));
        if has(u8::is_ascii_uppercase) && !has(u8::is_ascii_lowercase) {
            let name = word.to_ascii_lowercase();
            return Argument {
                token: Some(word),
                ..Argument::new(name, Kind::Token)
            };
        }
        if let Some((name, symbol)) = word.split_once(':')
            && !symbol.contains(|letter: char| letter.is_ascii_alphabetic())
        {
            return Argument {
                token: Some(symbol),
                ..Argument::new(name.to_owned(), Kind::Token)
            };
        }
        let typed = word.rsplit_once(':').and_then(|(name, kind)| {
            let kind = Kind::TYPED.into_iter().find(|it| it.name() == kind)?;
            Some((name, kind))
        });
        let (name, kind) = typed.unwrap_or((word, Kind::of_name(word)));
        Argument::new(name.to_owned(), kind)
    }

    fn of_parts(kind: Kind, parts: Vec<Argument>) -> Argument {
        let names: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
        Argument {
            parts: parts.clone(),
            ..Argument::new(names.join("-"), kind)
        }
    }

    /// Combines the arguments of a sequence into one argument. If the first of them is a token and
    /// the second is not, the others form the argument, and the first becomes its token.
    fn of_sequence(mut parts: Vec<Argument>) -> Argument {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        if parts[0].kind != Kind::Token || parts[1].kind == Kind::Token {
            return Argument::of_parts(Kind::Block, parts);
        }
        let token = parts.remove(0).token;
        let named = match parts.len() {
            1 if !parts[0].is_optional && parts[0].token.is_none() => parts.remove(0),
            _ => Argument::of_parts(Kind::Block, parts),
        };
        Argument { token, ..named }
    }
}
