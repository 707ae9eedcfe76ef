//! Generator of random commands with options. Each line of a grammar describes one command:
//!
//! ```text
//! SET {key} {value} [NX|XX] [EX {seconds}]
//!
//! [a|b] one of them or none · (a|b) one of them · x+ one to three times
//! ```

use fastrand::Rng;

/// One line of the grammar, parsed into the parts of a command.
pub(crate) struct Template(Vec<Part>);

enum Part {
    Word(String),
    /// Name of a placeholder. The caller of [`Template::write`] supplies a value for it.
    Placeholder(String),
    /// Random choice of one template. If the flag is true, the choice may also be empty.
    Choice(Vec<Template>, bool),
    Repeated(Box<Template>),
}

impl Template {
    /// Parses a line of our own grammar. Panics if the line is malformed, because that is a bug.
    pub(crate) fn parse(line: &str) -> Self {
        let mut rest = line;
        let sentence = Self::parse_until(&mut rest, None);
        assert!(rest.is_empty(), "unbalanced: {line}");
        sentence
    }

    fn parse_until(rest: &mut &str, close: Option<char>) -> Self {
        let mut parts = Vec::new();
        loop {
            *rest = rest.trim_start();
            let Some(first) = rest.chars().next() else {
                return Self(parts);
            };
            if Some(first) == close || close.is_some() && first == '|' {
                return Self(parts);
            }
            let part = match first {
                '[' => Self::parse_choice(rest, ']'),
                '(' => Self::parse_choice(rest, ')'),
                _ => {
                    let ends = |letter: char| letter.is_whitespace() || "[]()|+".contains(letter);
                    let end = rest.find(ends).unwrap_or(rest.len());
                    let (word, behind) = rest.split_at(end);
                    *rest = behind;
                    match word
                        .strip_prefix('{')
                        .and_then(|word| word.strip_suffix('}'))
                    {
                        Some(hole) => Part::Placeholder(hole.to_owned()),
                        None => Part::Word(word.to_owned()),
                    }
                }
            };
            let repeated = rest.strip_prefix('+');
            *rest = repeated.unwrap_or(rest);
            parts.push(match repeated {
                Some(_) => Part::Repeated(Box::new(Self(vec![part]))),
                None => part,
            });
        }
    }

    fn parse_choice(rest: &mut &str, close: char) -> Part {
        let mut choices = Vec::new();
        loop {
            *rest = &rest[1..];
            choices.push(Self::parse_until(rest, Some(close)));
            if rest.starts_with(close) {
                *rest = &rest[1..];
                return Part::Choice(choices, close == ']');
            }
            assert!(rest.starts_with('|'), "unclosed: {rest}");
        }
    }

    /// Appends a random command of this form to `to`. `fill` returns a value for the name of a
    /// placeholder.
    pub(crate) fn write(
        &self,
        rng: &mut Rng,
        fill: &mut dyn FnMut(&mut Rng, &str) -> Vec<u8>,
        to: &mut Vec<Vec<u8>>,
    ) {
        for part in &self.0 {
            match part {
                Part::Word(word) => to.push(word.clone().into_bytes()),
                Part::Placeholder(hole) => to.push(fill(rng, hole)),
                Part::Choice(choices, optional) => {
                    if !*optional || rng.bool() {
                        let choice = rng.choice(choices).expect("a choice has alternatives");
                        choice.write(rng, fill, to);
                    }
                }
                Part::Repeated(sentence) => {
                    for _ in 0..rng.usize(1..=3) {
                        sentence.write(rng, fill, to);
                    }
                }
            }
        }
    }
}
