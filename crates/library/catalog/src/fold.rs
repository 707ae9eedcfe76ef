#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Returns the text in the form that searches compare: without case and accents, with letters like
/// `ß` replaced by plain letters, and with single spaces between words.
#[must_use]
pub fn fold(text: &str) -> String {
    // Most names are ASCII and need no Unicode tables, which makes searches faster.
    if text.is_ascii() {
        fold_plain(text)
    } else {
        fold_any(text)
    }
}

fn fold_plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for byte in text.bytes() {
        if !byte.is_ascii_alphanumeric() {
            gap |= byte != b'\'';
            continue;
        }
        if gap && !out.is_empty() {
            out.push(' ');
        }
        gap = false;
        out.push(char::from(byte.to_ascii_lowercase()));
    }
    out
}

fn fold_any(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut gap = false;
    for letter in text.nfkd() {
        if is_combining_mark(letter) {
            continue;
        }
        if !letter.is_alphanumeric() {
            // An apostrophe does not separate words, so `don't` is one word.
            gap |= !matches!(letter, '\'' | '’');
            continue;
        }
        if gap && !out.is_empty() {
            out.push(' ');
        }
        gap = false;
        match spelled(letter) {
            Some(spelled) => out.push_str(spelled),
            None => out.extend(
                letter
                    .to_lowercase()
                    .filter(|letter| !is_combining_mark(*letter)),
            ),
        }
    }
    out
}

/// Returns the plain letters for a letter that Unicode cannot decompose, such as `ss` for `ß`.
/// Returns `None` for other letters.
fn spelled(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' | 'ð' | 'Ð' => "d",
        'þ' | 'Þ' => "th",
        'ħ' | 'Ħ' => "h",
        'ı' => "i",
        _ => return None,
    })
}

/// Returns the form of a name that searches compare: the folded name, or the name itself with
/// single spaces if folding leaves nothing, as with `!!!`.
#[must_use]
pub fn searched(name: &str) -> String {
    let folded = fold(name);
    match folded.is_empty() {
        true => name.split_whitespace().collect::<Vec<_>>().join(" "),
        false => folded,
    }
}

/// Returns those parts of a name that punctuation joins, each as one word without the punctuation:
/// `acdc` for `AC/DC` and `AC / DC`, `rem` for `R.E.M.`
pub(crate) fn joined(name: &str) -> Vec<String> {
    if name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b' ')
    {
        return Vec::new();
    }
    let name = name.replace(" / ", "/");
    let parts = name.split_whitespace().map(fold);
    parts
        .filter(|part| part.contains(' '))
        .map(|part| part.replace(' ', ""))
        .collect()
}

/// Returns the words of a folded text. In scripts without spaces, a word begins at every letter.
pub(crate) fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded
        .split(' ')
        .filter(|word| !word.is_empty())
        .flat_map(|word| {
            let every = word.chars().any(is_unspaced);
            let letters = word
                .char_indices()
                .take(if every { UNSPACED_MAX } else { 1 });
            letters.map(move |(at, _)| &word[at..])
        })
}

/// Maximum number of words that are taken from consecutive letters of a script without spaces, in
/// which a word begins at every letter.
const UNSPACED_MAX: usize = 24;

/// Returns whether the letter belongs to a script without spaces, such as kana, Han or Thai.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
