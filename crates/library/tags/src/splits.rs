/// How one value that names several is cut, and what is never cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splits {
    /// What stands between two artists; case does not matter.
    pub artists: Vec<String>,
    /// What stands between two genres.
    pub genres: Vec<String>,
    /// Names with a separator in them, which stay whole; case does not matter.
    pub exceptions: Vec<String>,
}

impl Default for Splits {
    /// Spaces around them keep `AC/DC` and `Earth, Wind & Fire` whole; a name with such a separator takes an exception.
    fn default() -> Splits {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Splits {
            artists: words(&[" feat. ", " ft. ", " featuring ", "; ", " / "]),
            genres: words(&[";", " / "]),
            exceptions: words(&["AC / DC", "Kairon; IRSE!", "LOONA / yyxy"]),
        }
    }
}

impl Splits {
    pub(crate) fn artists<'a>(&self, value: &'a str) -> Vec<&'a str> {
        self.cut(value, &self.artists)
    }

    pub(crate) fn genres<'a>(&self, value: &'a str) -> Vec<&'a str> {
        self.cut(value, &self.genres)
    }

    fn cut<'a>(&self, value: &'a str, separators: &[String]) -> Vec<&'a str> {
        let mut parts = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < value.len() {
            let begins_name = at == start;
            let whole = self.exceptions.iter().find(|name| {
                begins_name && begins(value, at, name) && ends(value, at + name.len(), separators)
            });
            if let Some(name) = whole {
                at += name.len();
            } else if let Some(separator) = separators.iter().find(|word| begins(value, at, word)) {
                parts.push(&value[start..at]);
                at += separator.len();
                start = at;
            } else {
                at += value[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        parts.push(&value[start..]);
        let parts = parts.into_iter().map(str::trim);
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        // Nothing but separators is a name, too.
        if parts.is_empty() { vec![value] } else { parts }
    }
}

fn begins(value: &str, at: usize, word: &str) -> bool {
    let (value, word) = (&value.as_bytes()[at..], word.as_bytes());
    // Asked at every letter of every name: most differ in the first.
    let (Some(first), Some(found)) = (word.first(), value.first()) else {
        return false;
    };
    let begun = value.get(..word.len());
    found.eq_ignore_ascii_case(first) && begun.is_some_and(|begun| begun.eq_ignore_ascii_case(word))
}

/// Whether a name may end here: at the value's end, or before a separator.
fn ends(value: &str, at: usize, separators: &[String]) -> bool {
    at == value.len() || separators.iter().any(|word| begins(value, at, word))
}
