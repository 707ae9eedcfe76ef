/// Rules by which one tag value is split into several names, and exceptions that are never split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splits {
    /// Separators between artists; case is ignored.
    pub artists: Vec<String>,
    /// Separators between genres; case is ignored.
    pub genres: Vec<String>,
    /// Names that contain a separator but must not be split; case is ignored.
    pub exceptions: Vec<String>,
}

impl Default for Splits {
    /// Returns the default rules. Most separators include spaces, so that `AC/DC` stays whole.
    /// Neither a comma nor `&` is a separator, so that `Earth, Wind & Fire` stays whole. A name
    /// that does contain a separator, such as `AC / DC`, needs an exception.
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
        // A value that consists only of separators is kept as a name.
        if parts.is_empty() { vec![value] } else { parts }
    }
}

fn begins(value: &str, at: usize, word: &str) -> bool {
    let (value, word) = (&value.as_bytes()[at..], word.as_bytes());
    // This function is called at every letter of every name. In most calls the first byte differs,
    // so this byte is compared before the whole word.
    let (Some(first), Some(found)) = (word.first(), value.first()) else {
        return false;
    };
    let prefix = value.get(..word.len());
    found.eq_ignore_ascii_case(first)
        && prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(word))
}

/// Returns whether a name may end at the offset `at`: the end of the value or the start of a
/// separator.
fn ends(value: &str, at: usize, separators: &[String]) -> bool {
    at == value.len() || separators.iter().any(|word| begins(value, at, word))
}
