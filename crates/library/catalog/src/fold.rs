#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Text as it is compared: without case and accents, with letters of their own spelled out, and a single space between
/// words.
#[must_use]
pub fn fold(text: &str) -> String {
    // A search folds what each of its candidates is called, and most names are ASCII: no table is asked for those.
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
            // An apostrophe joins: `don't` is one word.
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

/// Letters that no decomposition takes apart.
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

/// Returns a name as it is searched: folded, or its signs where it has nothing else, as `!!!` has.
#[must_use]
pub fn searched(name: &str) -> String {
    let folded = fold(name);
    match folded.is_empty() {
        true => name.split_whitespace().collect::<Vec<_>>().join(" "),
        false => folded,
    }
}

/// Words of a name that signs part and spaces do not, each in one: `acdc` of `AC/DC` and of `AC / DC`, `rem` of `R.E.M.`
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

/// Words of folded text. Where writing has no spaces, every letter may begin one.
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

/// Beginnings in one run of unspaced letters.
const UNSPACED_MAX: usize = 24;

/// Kana, Han, Thai and their like.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{e00}'..='\u{eff}' | '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
