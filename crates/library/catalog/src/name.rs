//! Names as they are told apart, and as they are sorted. Search compares by [`fold`] instead, which forgives more.

#[cfg(test)]
mod tests;

use unicode_normalization::UnicodeNormalization as _;

use crate::fold;

/// Returns what makes two names one: the name composed (NFC) and without case. Accents, punctuation and spaces tell names
/// apart.
#[must_use]
pub fn identity(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    // Unicode 3.13, canonical caseless matching: decompose, fold case, compose.
    name.nfd().flat_map(without_case).nfc().collect()
}

/// Folds the case of one letter. Lower case alone would leave ẞ apart from ss, and ς from σ.
fn without_case(letter: char) -> impl Iterator<Item = char> {
    // The upper case of the dotless ı is I, whose lower case is another letter.
    let is_dotless = letter == 'ı';
    let lower = letter.to_lowercase();
    let upper = lower.flat_map(move |letter| {
        let upper = (!is_dotless).then(|| letter.to_uppercase());
        let same = is_dotless.then_some(letter);
        upper.into_iter().flatten().chain(same)
    });
    upper.flat_map(char::to_lowercase)
}

/// Returns what a name is sorted by. Names that are equal when folded are in the order of their identities.
pub(crate) fn order(name: &str) -> (String, String) {
    (folded_name(name), identity(name))
}

/// Returns a name without case, accents and punctuation, unless it consists of those.
pub(crate) fn folded_name(name: &str) -> String {
    let folded = fold(name);
    if folded.is_empty() {
        name.to_owned()
    } else {
        folded
    }
}
